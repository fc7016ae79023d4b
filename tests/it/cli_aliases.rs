//! Aliases: what may be one, and that each is kept apart. A test's name begins with its row.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::thread;

use crate::judge::{done, printable, refused, refuses};
use crate::support::{TestContext, everybody, stderr, stdout};

fn declare(context: &TestContext, alias: &str) -> std::process::Output {
    context.run(&["add", alias, "--", "/bin/true"])
}

fn declared(context: &TestContext) -> Vec<String> {
    let output = context.run(&["list", "--json"]);
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = list["servers"].as_array().unwrap().iter();
    rows.map(|row| row["alias"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a1_plain_names_are_taken() {
    let context = TestContext::ordinary();
    let longest = "a".repeat(64);
    for alias in ["a", "github", "my-server", "x2", "A_b-9", "0", &longest] {
        done(&declare(&context, alias));
        assert!(declared(&context).iter().any(|name| name == alias));
    }
}

#[test]
fn a2_a3_a4_a6_other_words_are_refused() {
    let context = TestContext::ordinary();
    done(&declare(&context, "one"));
    let long = ["a".repeat(65), "a".repeat(300)];
    let words = [
        "",
        ".",
        "..",
        "a/b",
        "/abs",
        "../a",
        ".hidden",
        "_a",
        "a\nb",
        "a b",
        "a\u{1b}[31mb",
        "a%b",
        "a$(id)",
        "a'b",
        "a\"b",
        "a\\b",
        "a\tb",
        "\u{430}",
        "caf\u{e9}",
        "cafe\u{301}",
        "a\u{202e}b",
        "a\u{200b}",
        "\u{ff41}",
        &long[0],
        &long[1],
    ];
    for word in words {
        refuses(
            &context,
            &["add", word, "--", "/bin/true"],
            2,
            "alias-invalid",
        );
        let output = context.run(&["run", word]);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{word:?} {}",
            stderr(&output)
        );
        printable(&output);
    }
    // A leading dash reads as a flag.
    let output = context.run(&["add", "-a", "--", "/bin/true"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(declared(&context), ["one"]);
}

#[test]
fn a6_bytes_that_are_no_text_are_refused() {
    let context = TestContext::ordinary();
    for command in ["add", "run", "remove", "get", "explain", "approve"] {
        let mut line = context.supervisor(&[command]);
        line.arg(OsStr::from_bytes(b"a\xff"));
        if command == "add" {
            line.args(["--", "/bin/true"]);
        }
        let output = line.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        printable(&output);
    }
    assert!(!context.path("home/.supervisor").exists());
}

#[test]
fn a5_letter_case_is_kept_apart() {
    let context = TestContext::ordinary();
    context.approved("GitHub", &[], &["/bin/true"]);
    done(&context.run(&["add", "github", "--", "/bin/true", "other"]));
    assert_eq!(declared(&context), ["GitHub", "github"]);
    refused(&context.run(&["run", "github"]), 126, "not-approved");
    let (code, _) = context.host("GitHub").end();
    assert_ne!(code, 126);
}

#[test]
fn a7_names_of_commands_and_devices_clash_with_nothing() {
    let context = TestContext::ordinary();
    for alias in ["run", "help", "list", "add", "con", "nul", "version"] {
        done(&context.run(&["add", alias, "--", "/bin/echo", "--help"]));
        done(&context.run(&["get", alias]));
    }
    let said = stdout(&context.run(&["get", "help"]));
    assert!(said.contains("/bin/echo --help"), "{said}");
}

#[test]
fn a8_an_unknown_alias_is_said_and_a_running_one_goes_on() {
    for who in everybody() {
        let context = TestContext::new(who);
        refused(&context.run(&["run", "nobody"]), 2, "unknown-alias");
        let server = TestContext::program("fixture-server");
        context.offered("echo", &[], &[&server, "echo"]);
        let mut host = context.host("echo");
        host.initialize();
        done(&context.run(&["remove", "echo"]));
        let answer = host.request(
            "tools/call",
            &serde_json::json!({"name": "echo", "arguments": {"still": "here"}}),
        );
        assert!(answer.to_string().contains("here"), "{answer}");
        host.end();
        refused(&context.run(&["run", "echo"]), 2, "unknown-alias");
    }
}

#[test]
fn a9_of_two_declarations_one_wins_whole() {
    let context = TestContext::ordinary();
    context.approved("a", &[], &["/bin/true", "first"]);
    done(&context.run(&["add", "a", "--net", "none", "--", "/bin/echo", "second"]));
    let said = stdout(&context.run(&["get", "a"]));
    assert!(
        said.contains("/bin/echo second") && !said.contains("first"),
        "{said}"
    );
    refused(&context.run(&["run", "a"]), 126, "not-approved");
    thread::scope(|scope| {
        for number in 0..4 {
            let context = &context;
            scope.spawn(move || {
                for turn in 0..5 {
                    let word = format!("{number}-{turn}");
                    let name = format!("N{number}={word}");
                    let words = ["add", "both", "-e", &name, "--", "/bin/echo", &word];
                    done(&context.run(&words));
                }
            });
        }
    });
    let text = std::fs::read_to_string(context.path("home/.supervisor/mcp.json")).unwrap();
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let both = &file["mcpServers"]["both"];
    let word = both["args"][0].as_str().unwrap();
    let number = word.split('-').next().unwrap();
    assert_eq!(
        both["env"],
        serde_json::json!({format!("N{number}"): word}),
        "{text}"
    );
}
