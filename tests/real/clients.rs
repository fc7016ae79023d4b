//! Three real clients get the same through the supervisor as without it.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

use crate::install;
use crate::servers::{path, person};
use crate::support::{TestContext, stderr, stdout};

/// The direct command line of a server, and the one through the supervisor.
pub fn both(context: &TestContext, argv: &[&str]) -> [Vec<String>; 2] {
    let words = [&["add", "real", "--"], argv].concat();
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

/// Lists tools and calls one with a Python client, the SDK's or fastmcp's, in one mode.
fn python(argv: &[&str], [library, mode]: [&str; 2], tool: &str, arguments: &str) {
    let context = person();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/client.py");
    let [direct, through] = both(&context, argv).map(|argv| {
        let program = install::python("python");
        printed(
            context
                .command(&program)
                .args([script, library, mode, tool, arguments])
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

/// `--strict` compares what comes with the schema of the protocol.
#[test]
fn inspector_strict_on_time() {
    let context = person();
    let program = install::cache().join("npm/node_modules/.bin/mcp-inspector");
    let home = format!("HOME={}", context.path("home").display());
    let [direct, through] = both(&context, &words(&time())).map(|argv| {
        let mut inspector = context.command(program.to_str().unwrap());
        inspector
            .env("MCP_INSPECTOR_SECRET_STORE", "memory")
            .args(["--cli", "-e", &home, "--protocol-era", "auto", "--strict"])
            .args(["--format", "json", "-q", "--method", "tools/list", "--"])
            .args(argv);
        printed(&mut inspector)
    });
    assert_eq!(direct, through);
    assert!(direct.contains("convert_time"), "{direct}");
}

#[test]
fn inspector_modern_on_time() {
    inspector(&words(&time()), "modern", "convert_time", &CONVERT);
}

#[test]
fn python_client_legacy_on_everything() {
    python(
        &words(&everything()),
        ["mcp", "legacy"],
        "echo",
        r#"{"message": "hé"}"#,
    );
}

#[test]
fn python_client_auto_on_time() {
    python(
        &words(&time()),
        ["mcp", "auto"],
        "convert_time",
        CONVERT_JSON,
    );
}

#[test]
fn fastmcp_legacy_on_everything() {
    let arguments = r#"{"message": "hé"}"#;
    python(
        &words(&everything()),
        ["fastmcp", "legacy"],
        "echo",
        arguments,
    );
}

#[test]
fn fastmcp_auto_on_time() {
    python(
        &words(&time()),
        ["fastmcp", "auto"],
        "convert_time",
        CONVERT_JSON,
    );
}

/// A page of this machine's own, so that the test needs no other.
fn page() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4_096]);
            let (status, text) = ("200 OK", "User-agent: *\nAllow: /\n");
            let head = "Content-Type: text/plain\r\nConnection: close";
            let length = text.len();
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {length}\r\n\r\n{text}"
            );
        }
    });
    format!(r#"{{"url": "http://{address}/robots.txt", "raw": true}}"#)
}

#[test]
fn python_client_in_both_eras_on_fetch() {
    let fetch = [install::python("mcp-server-fetch")];
    let arguments = page();
    for mode in ["legacy", "auto"] {
        python(&words(&fetch), ["mcp", mode], "fetch", &arguments);
    }
}
