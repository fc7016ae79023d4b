//! The second question: when it is asked, and what an answer leaves.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::support::described::{Described, state, tool};
use crate::support::{TestContext, stderr};

#[test]
fn a_no_to_the_second_leaves_the_first() {
    let (said, screen) =
        Described::uninspected("said", &json!({"tools": [tool("one", "The first")]}));
    assert_eq!(screen.matches("[y/N]").count(), 1, "{screen}");
    assert_eq!(said.state(), ("approved".into(), "unapproved".into()));
    // Nothing is left open but the second question.
    let (code, screen) = said.context.at_terminal(&["approve", "said"], "n");
    assert_eq!(code, 126, "{screen}");
    assert!(
        !screen.contains("Use this MCP server?") && screen.contains("answered-no"),
        "{screen}"
    );
    assert_eq!(said.state(), ("approved".into(), "unapproved".into()));
    let (code, screen) = said.context.at_terminal(&["approve", "said"], "y");
    assert_eq!(code, 0, "{screen}");
    assert_eq!(said.state(), ("approved".into(), "approved".into()));
    let (code, screen) = said.context.at_terminal(&["approve", "said"], "y");
    assert!(
        code == 0 && screen.contains("approved as it stands"),
        "{screen}"
    );
    let (code, screen) = said.approve_surface("n");
    assert!(
        code == 0 && screen.contains("is what was approved"),
        "{screen}"
    );
}

#[test]
fn the_same_line_again_asks_what_is_still_open() {
    let said = Described::new("said", &json!({"tools": [tool("one", "The first")]}));
    let text = fs::read_to_string(&said.file).unwrap();
    // It cannot say what it offers: the yes to the first question stays.
    fs::write(&said.file, "no JSON").unwrap();
    let (_, screen) = said.add(&[], "y");
    assert!(screen.contains("Use this MCP server?"), "{screen}");
    assert_eq!(said.state(), ("approved".into(), "unapproved".into()));
    fs::write(&said.file, text).unwrap();
    let (code, screen) = said.add(&[], "y");
    assert!(
        code == 0 && screen.contains("approved as it stands"),
        "{screen}"
    );
    assert!(
        !screen.contains("Use this MCP server?") && screen.contains("Offer this surface"),
        "{screen}"
    );
    assert_eq!(said.state(), ("approved".into(), "approved".into()));
    let (_, screen) = said.add(&[], "y");
    assert!(!screen.contains("[y/N]"), "{screen}");
}

#[test]
fn without_a_terminal_nothing_is_asked() {
    let (said, _) = Described::uninspected("said", &json!({"tools": []}));
    for words in [&["approve", "said", "--surface"][..], &["approve", "said"]] {
        let output = said.context.run(words);
        assert_eq!(output.status.code(), Some(126));
        assert!(
            stderr(&output).contains("supervisor approve said --surface"),
            "{output:?}"
        );
    }
    assert!(said.surface().is_none());
}

#[test]
fn the_first_question_comes_first() {
    let said = Described::new("said", &json!({"tools": []}));
    let (_, screen) = said.add(&[], "n");
    assert_eq!(screen.matches("[y/N]").count(), 1, "{screen}");
    let (code, screen) = said.approve_surface("y");
    assert!(code == 126 && screen.contains("not-approved"), "{screen}");
    assert_eq!(said.state(), ("unapproved".into(), "unknown".into()));
}

#[test]
fn a_name_too_long_for_a_host_is_named() {
    let long = "x".repeat(60);
    let said = Described::new(
        "said",
        &json!({"tools": [tool(&long, "Long"), tool("short", "Short")]}),
    );
    let (_, screen) = said.add(&[], "n");
    assert!(
        !screen.contains("in at most 64"),
        "nothing is started after a no: {screen}"
    );
    let (_, screen) = said.context.at_terminal(&["approve", "said"], "y");
    assert!(
        screen.contains("at most 64 characters") && screen.contains("(71)"),
        "{screen}"
    );
}

/// Ctrl-C while a server is asked ends the reading, and not the command without a word.
#[test]
fn an_interrupt_ends_the_reading_only() {
    let context = TestContext::ordinary();
    let server = ["/bin/sh", "-c", "echo > \"$HOME\"/up; exec sleep 1000"];
    context.approved("mute", &[], &server);
    // The shell interrupts the command, as a terminal does at Ctrl-C, once the server runs.
    let supervisor = TestContext::program("supervisor");
    let script = format!(
        "(until [ -e \"$HOME\"/.supervisor/home/*/up ]; do sleep 0.1; done; kill -INT $$) &
         exec {supervisor} approve mute --surface"
    );
    let mut shell: Command = context.command("/bin/sh");
    shell.args(["-c", &script]);
    let (code, screen) = context.terminal(shell, "y");
    assert!(
        code == 126 && screen.contains("interrupted"),
        "{code} {screen}"
    );
    assert_eq!(
        state(&context, "mute"),
        ("approved".into(), "unapproved".into())
    );
}
