//! Every command of the README, in its order, as a new user types it.

use std::fs;

use crate::servers::{certificates, path, person};
use crate::support::{Host, TestContext};

/// The lines that begin with `$ ` in the README's `console` blocks.
fn commands() -> Vec<String> {
    let readme = include_str!("../../README.md");
    let mut inside = false;
    let mut commands = Vec::new();
    for line in readme.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if inside {
            let command = line.strip_prefix("$ ");
            commands.push(
                command
                    .unwrap_or_else(|| panic!("no command: {line}"))
                    .to_owned(),
            );
        }
    }
    commands
}

#[test]
fn every_command_works_in_an_empty_home() {
    let context = person();
    // A user stands in the checkout.
    context.make_directory("work/.git");
    context.make_directory("work/target/release");
    let program = context.path("work/target/release/supervisor");
    fs::copy(TestContext::program("supervisor"), program).unwrap();
    context.make_directory("work/policy");
    let example = include_str!("../../policy/managed.example.json");
    context.make_file("work/policy/managed.example.json", example);
    let commands = commands();
    assert!(commands.len() >= 8, "{commands:?}");
    for line in commands {
        let mut shell = context.command("/bin/sh");
        shell
            .args(["-c", &line])
            .env("PATH", path())
            .env("MCP_INSPECTOR_SECRET_STORE", "memory");
        // Certificates that this machine needs to reach the registry at all.
        for pair in certificates() {
            let (name, value) = pair.split_once('=').unwrap();
            shell.env(name, value);
        }
        let (code, screen) = context.terminal(shell, "y");
        assert_eq!(code, 0, "{line}\n{screen}");
        if line.contains("--method tools/list") {
            assert!(screen.contains("echo"), "{line}\n{screen}");
        }
    }
    // What it declares is what a host can start.
    let mut run = context.supervisor(&["run", "files"]);
    for pair in certificates() {
        let (name, value) = pair.split_once('=').unwrap();
        run.env(name, value);
    }
    let mut host = Host::start(run);
    assert!(host.initialize().get("result").is_some());
    host.end();
}
