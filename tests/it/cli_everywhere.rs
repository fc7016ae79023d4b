//! What holds for every command: no colour where `NO_COLOR` says so, 80 columns, a closed pipe.

use std::process::{Command, Stdio};

use crate::support::{TestContext, stderr};

/// Every command, each once where it works and once where it does not.
const LINES: [&[&str]; 59] = [
    &[],
    &["--help"],
    &["-h"],
    &["help", "add"],
    &["--version"],
    &["lst"],
    &["add", "--help"],
    &[
        "add",
        "w2",
        "--",
        "/bin/cat",
        "a long argument of many words that has to be wrapped at the margin",
    ],
    &["add", "w2", "-e", "A:1", "--", "/bin/cat"],
    &["approve", "w"],
    &["approve", "nobody"],
    &["run", "w"],
    &["run", "w", "--only", "["],
    &["run", "w", "--digest", "12"],
    &["run", "w", "--dry-run"],
    &["explain", "w"],
    &["explain", "h"],
    &["explain", "nobody"],
    &["why", "w"],
    &["why", "h"],
    &["why", "nobody", "--json"],
    &["logs", "w"],
    &["logs", "nobody"],
    &["prepare", "w"],
    &["prepare", "nobody"],
    &["tools", "w"],
    &["tools", "w", "--pending"],
    &["tools", "nobody"],
    &["rules"],
    &["rules", "--json"],
    &["rules", "deny", "w:x"],
    &["rules", "ask", "nobody"],
    &["ps"],
    &["list"],
    &["list", "--json"],
    &["get", "w"],
    &["get", "nobody", "--json"],
    &["set", "w", "-e", "A=2"],
    &["set", "w", "--help"],
    &["set", "w"],
    &["rename", "nobody", "x"],
    &["audit"],
    &["audit", "verify"],
    &["audit", "verify", "--alias", "w"],
    &["prune"],
    &["remove", "nobody"],
    &["policy"],
    &["policy", "check", "--installed"],
    &["policy", "check", "nowhere.json"],
    &["policy", "test", "nowhere.json", "w"],
    &["policy", "test", "nowhere.json"],
    &["policy", "import", "--from", "claude", "nowhere.json"],
    &["policy", "export", "--to", "windsurf", "nowhere.json"],
    &["try"],
    &["completions", "bash"],
    &["man"],
    &["man", "run"],
    &["doctor"],
    &["doctor", "--verbose", "--json"],
];

fn declared() -> TestContext {
    let context = TestContext::ordinary();
    let words = "word ".repeat(40);
    context.run(&["add", "w", "-e", "A=1", "-e", "B", "--", "/bin/cat", &words]);
    context.run(&["add", "h", "--http", "https://mcp.example.com/mcp"]);
    context
}

#[test]
fn no_command_is_left_out() {
    let output = declared().run(&["--help"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let named = text
        .split("Commands:")
        .nth(1)
        .unwrap()
        .split("Options:")
        .next()
        .unwrap();
    for line in named
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
    {
        let command = line.split_whitespace().next().unwrap();
        assert!(
            LINES.iter().any(|words| words.first() == Some(&command)),
            "{command}"
        );
    }
}

#[test]
fn no_colour_and_eighty_columns() {
    let context = declared();
    for words in LINES {
        let mut command = context.supervisor(words);
        command.env("TERM", "xterm-256color").env("COLUMNS", "80");
        let (code, screen) = context.terminal(command, "n");
        assert!(
            (0..128).contains(&code) && code != 101,
            "{words:?}: {code}: {screen}"
        );
        assert!(!screen.contains('\u{1b}'), "{words:?}: {screen}");
        if matches!(words.first(), Some(&("completions" | "man"))) || words.contains(&"--json") {
            continue; // for programs
        }
        for line in screen.lines() {
            // A word to copy is not broken: a hint, a usage line's own words.
            let breakable = !line.starts_with("hint: ") && !line.contains("wrapped at the margin'");
            assert!(
                line.chars().count() <= 80 || !breakable,
                "{words:?}: {}: {line}",
                line.chars().count()
            );
        }
    }
    // Without NO_COLOR a pipe gets none either.
    for words in LINES
        .into_iter()
        .filter(|words| words.first() != Some(&"try"))
    {
        let output = context
            .supervisor(words)
            .env_remove("NO_COLOR")
            .output()
            .unwrap();
        let both = [output.stdout, output.stderr].concat();
        assert!(!both.contains(&0x1b), "{words:?}");
    }
}

#[test]
fn a_closed_pipe_is_a_quiet_end() {
    let context = declared();
    for words in LINES {
        // Nobody reads: the pipe's other end is gone before the command starts.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = context.supervisor(words);
        let output = command
            .stdin(Stdio::null())
            .stdout(writer)
            .output()
            .unwrap();
        let code = output.status.code();
        assert!(
            code.is_some_and(|code| code != 101 && code < 128),
            "{words:?}: {:?}",
            output.status
        );
        assert!(
            !stderr(&output).contains("panicked"),
            "{words:?}: {}",
            stderr(&output)
        );
        // Both ends of a shell's `| head -1`.
        let mut shell: Command = context.command("/bin/sh");
        shell.args([
            "-c",
            "\"$0\" \"$@\" | head -1",
            &TestContext::program("supervisor"),
        ]);
        let output = shell.args(words).stdin(Stdio::null()).output().unwrap();
        assert!(
            !stderr(&output).contains("panicked"),
            "{words:?}: {}",
            stderr(&output)
        );
    }
}
