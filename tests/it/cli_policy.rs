//! An administrator's word on servers, for real: shown wherever a person looks, told to the host,
//! skipped by no mode. What a deny entry catches and what it does not.

use std::fs;

use serde_json::{Value, json};

use crate::schema;
use crate::support::fleet::{OTHER, fleets};
use crate::support::{TestContext, flat, stderr, stdout};

fn deny_server() -> String {
    let program = TestContext::program("fixture-server");
    json!({"mcp": {"deny": [{"command": [program, "…"], "$comment": "not reviewed"}]}}).to_string()
}

const OURS: &str = "managed.d/50-ours.json";

/// The rule, its comment and its file.
#[track_caller]
fn told_all(text: &str) {
    let text = flat(text);
    for word in [
        "not reviewed",
        "deny[0]",
        "/etc/supervisor/managed.d/50-ours.json",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn a_denied_server_is_told_to_hosts_and_asked_about_nowhere() {
    for (_, fleet) in fleets() {
        fleet.install("managed.json", OTHER);
        fleet.install(OURS, &deny_server());
        for words in [
            &["run", "a"][..],
            &["run", "--ephemeral", "a"],
            &["run", "--only", "*", "a"],
        ] {
            let answer = fleet.answer(words);
            let error = &answer["error"];
            assert_eq!(
                (&error["code"], &error["data"]["code"]),
                (&json!(-31_006), &json!("denied-by-policy"))
            );
            told_all(error["message"].as_str().unwrap());
        }
        // Nothing is asked, though both ends are a terminal.
        for words in [&["approve", "a"][..], &["approve", "a", "--surface"]] {
            let (code, screen) = fleet.context.terminal(fleet.command(words), "y");
            assert_eq!(code, 126, "{screen}");
            told_all(&screen);
            assert!(!screen.contains("[y/N]"), "{screen}");
        }
        let words = [
            "add",
            "c",
            "--",
            &TestContext::program("fixture-server"),
            "flood",
        ];
        let (code, screen) = fleet.context.terminal(fleet.command(&words), "y");
        assert_eq!(code, 0, "{screen}");
        told_all(&screen);
        assert!(
            !screen.contains("[y/N]") && screen.contains("not asked about"),
            "{screen}"
        );
    }
}

#[test]
fn a_denied_server_is_shown_with_the_rule_and_the_file() {
    for (_, fleet) in fleets() {
        fleet.install("managed.json", OTHER);
        fleet.install(OURS, &deny_server());
        let list = fleet.run(&["list"]);
        assert_eq!(list.status.code(), Some(0), "a refused row is no failure");
        told_all(&stdout(&list));
        let list = schema::check(&stdout(&fleet.run(&["list", "--json"])));
        let row = |alias: &str| {
            list["servers"]
                .as_array()
                .unwrap()
                .iter()
                .find(|row| row["alias"] == alias)
                .cloned()
                .unwrap()
        };
        assert_eq!(row("a")["not_started"]["code"], "denied-by-policy");
        assert_eq!(
            row("a")["state"],
            "approved",
            "approvals stay where they are"
        );
        assert_eq!(row("b")["not_started"], Value::Null);

        told_all(&stdout(&fleet.run(&["get", "a"])));
        let get = schema::check(&stdout(&fleet.run(&["get", "a", "--json"])));
        assert_eq!(get["verdict"]["result"], "deny");
        for words in [&["explain", "a"][..], &["run", "--dry-run", "a"]] {
            let output = fleet.run(words);
            told_all(&stdout(&output));
            assert!(stdout(&output).contains("denied"));
        }
        let explained = schema::check(&stdout(&fleet.run(&["explain", "a", "--json"])));
        assert_eq!(
            explained["verdict"]["file"],
            "/etc/supervisor/managed.d/50-ours.json"
        );
        // The other server is as it was, and the first is again once the rule is gone.
        assert!(flat(&stdout(&fleet.run(&["get", "b"]))).contains("allowed by the administrator"));
        fs::remove_file(fleet.at(OURS)).unwrap();
        fleet.starts();
    }
}

#[test]
fn under_an_allow_list_only_what_it_names_starts() {
    for (_, fleet) in fleets() {
        let program = TestContext::program("fixture-server");
        let list = |entries: Value| json!({"mcp": {"allow": entries}}).to_string();
        fleet.install("managed.json", &list(json!([])));
        assert_eq!(
            fleet.answer(&["run", "a"])["error"]["data"]["code"],
            "denied-by-policy"
        );
        let tried = fleet.run(&["try"]);
        assert_eq!(tried.status.code(), Some(126), "{}", stderr(&tried));
        fleet.install(
            "managed.json",
            &list(json!([{"command": [program], "env": [], "dir": false}])),
        );
        fleet.starts();
        assert_eq!(
            fleet.answer(&["run", "b"])["error"]["data"]["code"],
            "denied-by-policy"
        );
        // Lists join.
        fleet.install("managed.d/10.json", &list(json!([])));
        fleet.starts();
    }
}

/// A promise that the person gave up, and an administrator does not give up.
#[test]
fn a_floor_refuses_what_was_approved() {
    for (_, fleet) in fleets() {
        let program = TestContext::program("fixture-server");
        fleet
            .context
            .approved("loose", &["--without", "P7"], &[&program]);
        fleet.install(
            "managed.json",
            r#"{"mcp": {"floor": {"promises": ["P7"]}}}"#,
        );
        let answer = fleet.answer(&["run", "loose"]);
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("floor promises: P7") && message.contains("gives up P7"),
            "{message}"
        );
        fleet.starts();
    }
}

/// A fleet's directory under test reads as the installed one; root's own file passes the check.
#[test]
fn a_laid_down_file_passes_the_check() {
    for (who, fleet) in fleets() {
        fleet.install("managed.json", OTHER);
        for words in [
            &["policy", "check", "--installed"][..],
            &["policy", "check", "--installed", "/etc/supervisor"],
            &[
                "policy",
                "check",
                "--installed",
                "/etc/supervisor/managed.json",
            ],
            &["policy", "check", "/etc/supervisor/managed.json"],
        ] {
            let output = fleet.run(words);
            assert_eq!(
                output.status.code(),
                Some(0),
                "{who:?} {words:?}: {}",
                stderr(&output)
            );
            assert!(stdout(&output).contains("/etc/supervisor/managed.json"));
        }
        let strict = fleet.run(&["policy", "check", "--installed", "--strict"]);
        assert_eq!(strict.status.code(), Some(0), "{}", stdout(&strict));
    }
}

#[test]
fn servers_elsewhere() {
    for (_, fleet) in fleets() {
        let add = |alias: &str, url: &str| fleet.run(&["add", alias, "--http", url]);
        fleet.install("managed.json", r#"{"mcp": {"allow": [{"host": "*.example.com"}], "deny": [{"host": "staging.example.com"}]}}"#);
        let output = add("good", "https://mcp.example.com/mcp");
        assert!(
            flat(&stdout(&output))
                .contains("allowed by the administrator: an entry of allow names its host"),
            "{}",
            stdout(&output)
        );
        for (alias, url, word) in [
            (
                "bad",
                "https://Staging.Example.Com.:8443/x",
                "an entry of deny names its host",
            ),
            ("odd", "https://xn--staging-9ua.example.com/", "two ways"),
            ("other", "https://example.com/", "no entry of allow"),
        ] {
            let output = add(alias, url);
            assert!(
                flat(&stdout(&output)).contains(word),
                "{url}: {}",
                stdout(&output)
            );
            let explained = fleet.run(&["explain", alias]);
            assert!(
                flat(&stdout(&explained)).contains(word),
                "{url}: {}",
                stdout(&explained)
            );
            let explained = schema::check(&stdout(&fleet.run(&["explain", alias, "--json"])));
            assert_eq!(explained["verdict"]["result"], "deny");
            assert_eq!(explained["not_started"]["code"], "denied-by-policy");
            let (code, screen) = fleet
                .context
                .terminal(fleet.command(&["approve", alias]), "y");
            assert!(
                code == 126 && screen.contains("denied-by-policy"),
                "{screen}"
            );
        }
    }
}

/// What `policy test` says of a fleet's file before it is rolled out is what happens after.
#[test]
fn a_test_says_what_will_be() {
    for (_, fleet) in fleets() {
        for (text, starts) in [(deny_server(), false), (OTHER.to_owned(), true)] {
            fleet.context.make_file("work/managed.json", &text);
            let tested = fleet.run(&["policy", "test", "managed.json", "a", "--json"]);
            let verdict = schema::check(&stdout(&tested));
            assert_eq!(verdict["result"] == "allow", starts);
            assert_eq!(tested.status.code(), Some(if starts { 0 } else { 126 }));
            fleet.install("managed.json", &text);
            assert_eq!(fleet.answer(&["run", "a"])["result"].is_object(), starts);
            let explained = schema::check(&stdout(&fleet.run(&["explain", "a", "--json"])));
            for key in ["result", "rule", "reason", "line"] {
                assert_eq!(explained["verdict"][key], verdict[key], "{key}");
            }
        }
    }
}
