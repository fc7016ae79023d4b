//! Two real clients get the same through the supervisor as without it.

use std::process::Command;

use crate::install;
use crate::servers::{path, person};
use crate::support::{TestContext, stderr, stdout};

/// The direct command line of a server, and the one through the supervisor.
pub fn both(context: &TestContext, argv: &[&str]) -> [Vec<String>; 2] {
    let words = [&["add", "real", "--no-inspect", "--"], argv].concat();
    let mut add = context.supervisor(&words);
    add.env("PATH", path());
    let (code, screen) = context.terminal(add, "y");
    assert_eq!(code, 0, "{screen}");
    [
        argv.iter().map(|word| (*word).to_owned()).collect(),
        vec![
            TestContext::program("supervisor"),
            "run".to_owned(),
            "real".to_owned(),
        ],
    ]
}

fn printed(command: &mut Command) -> String {
    let output = command.env("PATH", path()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", stderr(&output));
    stdout(&output)
}

/// Lists tools and calls one with the Inspector, in one era.
fn inspector(argv: &[&str], era: &str, tool: &str, arguments: &[&str]) {
    let context = person();
    let program = install::cache().join("npm/node_modules/.bin/mcp-inspector");
    let home = format!("HOME={}", context.path("home").display());
    let both = both(&context, argv);
    for method in [
        &["tools/list"][..],
        &[
            &["tools/call", "--tool-name", tool, "--tool-arg"],
            arguments,
        ]
        .concat(),
    ] {
        let [direct, through] = both.clone().map(|argv| {
            printed(
                context
                    .command(program.to_str().unwrap())
                    .env("MCP_INSPECTOR_SECRET_STORE", "memory")
                    .args([
                        "--cli",
                        "-e",
                        &home,
                        "--protocol-era",
                        era,
                        "--format",
                        "json",
                        "-q",
                        "--method",
                    ])
                    .args(method)
                    .arg("--")
                    .args(argv),
            )
        });
        assert_eq!(direct, through, "{method:?}");
        assert!(
            direct.contains(if method.len() == 1 { tool } else { "content" }),
            "{direct}"
        );
    }
}

/// Lists tools and calls one with the Python client, in one mode.
fn python(argv: &[&str], mode: &str, tool: &str, arguments: &str) {
    let context = person();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/client.py");
    let [direct, through] = both(&context, argv).map(|argv| {
        let program = install::python("python");
        printed(
            context
                .command(&program)
                .args([script, mode, tool, arguments])
                .args(argv),
        )
    });
    assert_eq!(direct, through);
    assert!(direct.contains(tool), "{direct}");
}

pub fn everything() -> Vec<String> {
    let script = "npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js";
    vec![
        "node".to_owned(),
        install::cache().join(script).to_str().unwrap().to_owned(),
    ]
}

pub fn time() -> Vec<String> {
    vec![
        install::python("mcp-server-time"),
        "--local-timezone".to_owned(),
        "UTC".to_owned(),
    ]
}

pub fn words(argv: &[String]) -> Vec<&str> {
    argv.iter().map(String::as_str).collect()
}

const CONVERT: [&str; 3] = [
    "source_timezone=UTC",
    "time=12:00",
    "target_timezone=Asia/Tokyo",
];
const CONVERT_JSON: &str =
    r#"{"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}"#;

#[test]
fn inspector_legacy_on_everything() {
    inspector(&words(&everything()), "legacy", "echo", &["message=hé"]);
}

#[test]
fn inspector_auto_on_everything() {
    inspector(&words(&everything()), "auto", "echo", &["message=hé"]);
}

#[test]
fn inspector_legacy_on_time() {
    inspector(&words(&time()), "legacy", "convert_time", &CONVERT);
}

#[test]
fn inspector_modern_on_time() {
    inspector(&words(&time()), "modern", "convert_time", &CONVERT);
}

#[test]
fn python_client_legacy_on_everything() {
    python(
        &words(&everything()),
        "legacy",
        "echo",
        r#"{"message": "hé"}"#,
    );
}

#[test]
fn python_client_auto_on_time() {
    python(&words(&time()), "auto", "convert_time", CONVERT_JSON);
}
