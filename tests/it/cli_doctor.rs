//! `supervisor doctor`: every promise held and shown on this machine, where it has what that
//! takes; nothing left behind; what is declared, and where declarations have no effect.

use std::fs;

use serde_json::Value;

use crate::schema;
use crate::support::{TestContext, Who, everybody, is_root, stderr, stdout};

fn promises(said: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = said["promises"].as_array().unwrap();
    let pair = |promise: &Value| (text(&promise["id"]), text(&promise["verdict"]));
    all.iter().map(pair).collect()
}

#[test]
fn every_promise_is_held_and_shown() {
    for who in everybody() {
        let context = TestContext::new(who);
        // Its own directory for temporary files shows what stays.
        let temporary = context.make_directory("outside/temporary");
        let mut command = context.supervisor(&["doctor", "--json"]);
        let output = command.env("TMPDIR", &temporary).output().unwrap();
        assert_eq!(
            fs::read_dir(&temporary).unwrap().count(),
            0,
            "something stays"
        );
        let said = schema::check(&stdout(&output));
        let namespaces = said["machine"]["namespaces"] == true;
        for (id, verdict) in promises(&said) {
            // What takes namespaces is not claimed where they are refused.
            let wanted = verdict == "held" || !namespaces && verdict == "unheld";
            assert!(wanted, "{who:?}: {id} is {verdict}: {said}");
        }
        assert_eq!(said["held"], namespaces, "{said}");
        assert_eq!(output.status.success(), namespaces);
        let state = context.path("home/.supervisor");
        assert!(!state.exists(), "it makes no state of the person's");
    }
}

#[test]
fn a_page_names_the_machine_and_each_promise() {
    let context = TestContext::ordinary();
    let output = context.run(&["doctor", "--verbose"]);
    let said = stdout(&output);
    for word in [
        "kernel",
        "Landlock",
        "namespaces",
        "P1 held",
        "S6 held",
        "read a private key",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert!(
        said.lines().all(|line| line.chars().count() <= 80),
        "{said}"
    );
}

#[test]
fn without_namespaces_it_says_what_is_not_held_and_what_would_change_that() {
    let context = TestContext::ordinary();
    let output = context
        .without_namespaces(&["doctor", "--json"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = schema::check(&stdout(&output));
    let of = |wanted: &str| -> Vec<String> {
        let all = promises(&said).into_iter();
        all.filter(|(_, verdict)| verdict == wanted)
            .map(|(id, _)| id)
            .collect()
    };
    assert_eq!(of("unheld"), ["P3", "P6", "P7", "R1", "R2", "R5"]);
    assert_eq!(of("broken"), [""; 0], "{said}");
    // The filter that refuses them here sets no_new_privs before anything of ours: nothing is
    // gained alone either, and that is said.
    assert_eq!(of("unshown"), ["R3"], "{said}");
    assert!(said["cure"].is_string() && said["machine"]["namespaces_refused"].is_string());
    // Each that is not held is seen to be open.
    for promise in said["promises"].as_array().unwrap() {
        let attacks = promise["attacks"].as_array().unwrap();
        let through = attacks.iter().any(|attack| {
            let runs = attack["confined"].as_array().unwrap();
            runs.iter().any(|run| run["result"] == "succeeded")
        });
        assert_eq!(through, promise["verdict"] == "unheld", "{promise}");
    }
}

/// As root nobody can give up what is missing then: the machine is stated, and why nothing starts.
#[test]
fn where_no_server_starts_it_says_why() {
    if !is_root() {
        return;
    }
    let context = TestContext::new(Who::Root);
    let output = context
        .without_namespaces(&["doctor", "--json"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = schema::check(&stdout(&output));
    assert_eq!(said["refused"]["code"], "promise-unheld");
    assert_eq!(promises(&said), []);
    assert!(said["cure"].is_string());
}

#[test]
fn declarations_are_listed_and_misplaced_ones_named() {
    let context = TestContext::ordinary();
    let probe = TestContext::program("fixture-probe");
    context.approved("probe", &[], &[&probe, "see", "/"]);
    context.make_file(
        "home/.supervisor/settings.json",
        r#"{"version": 1, "mcpServers": {"hidden-name": {"command": "hidden-program"}}}"#,
    );
    let output = context.run(&["doctor"]);
    let said = stdout(&output);
    assert!(said.contains("probe   stdio   approved"), "{said}");
    assert!(said.contains("`mcpServers` in settings.json"), "{said}");
    assert!(!said.contains("hidden"), "{said}");
    let listed: Value = serde_json::from_slice(&context.run(&["list", "--json"]).stdout).unwrap();
    let output = context.run(&["doctor", "--json"]);
    let said = schema::check(&stdout(&output));
    assert_eq!(said["declarations"]["servers"], listed["servers"]);
    assert_eq!(
        said["declarations"]["misplaced"],
        serde_json::json!(["mcpServers"])
    );
}

#[test]
fn a_declaration_that_cannot_be_used_fails_it() {
    for text in [
        r#"{"version": 1, "mcpServers": {"a": {"command": ["not", "a", "word"]}}}"#,
        r#"{"version": 1, "mcpServers": "#,
    ] {
        let context = TestContext::ordinary();
        assert!(
            context
                .run(&["add", "b", "--", "/bin/cat"])
                .status
                .success()
        );
        context.make_file("home/.supervisor/mcp.json", text);
        let output = context.run(&["doctor", "--json"]);
        assert_eq!(output.status.code(), Some(1), "{text}");
        let declared = &schema::check(&stdout(&output))["declarations"];
        let row = &declared["servers"][0]["state"];
        assert!(
            row == "unusable" || declared["problem"].is_string(),
            "{text}"
        );
    }
}
