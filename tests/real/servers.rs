//! Each server answers `initialize`, `tools/list` and one `tools/call` as it does unconfined.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::install;
use crate::support::{Host, TestContext, Who, is_root};

/// Real servers run as whoever runs the tests: the caches of npm and uv are theirs.
pub fn person() -> TestContext {
    TestContext::new(if is_root() { Who::Root } else { Who::Ordinary })
}

/// The variables a person would name for a server that fetches, where this machine has them:
/// certificates of its own.
pub fn certificates() -> Vec<String> {
    ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"]
        .into_iter()
        .filter_map(|name| Some(format!("{name}={}", std::env::var(name).ok()?)))
        .collect()
}

/// A server, the flags it is declared with, and a call.
struct Case<'a> {
    argv: &'a [&'a str],
    flags: &'a [&'a str],
    path: String,
    tool: &'a str,
    arguments: Value,
}

impl Case<'_> {
    /// Runs the three requests directly and through the supervisor and compares.
    fn same(&self, context: &TestContext) {
        let mut flags: Vec<&str> = self.flags.to_vec();
        let certificates = certificates();
        for pair in &certificates {
            flags.extend(["-e", pair]);
        }
        // `approved` runs the supervisor with a short PATH of its own; the server's PATH is
        // what the person had at the approval.
        let words = [&["add", "real"], flags.as_slice(), &["--"], self.argv].concat();
        let mut add = context.supervisor(&words);
        add.env("PATH", &self.path);
        let (code, screen) = context.terminal(add, "y");
        assert_eq!(code, 0, "{screen}");

        let mut direct = context.command(self.argv[0]);
        direct.args(&self.argv[1..]).env("PATH", &self.path);
        for pair in &certificates {
            let (name, value) = pair.split_once('=').unwrap();
            direct.env(name, value);
        }
        let mut confined = context.supervisor(&["run", "real"]);
        confined.env("PATH", &self.path);
        let expected = self.answers(direct);
        let got = self.answers(confined);
        assert_eq!(expected, got);
        assert!(
            expected.iter().all(|answer| answer.get("result").is_some()),
            "{expected:?}"
        );
    }

    fn answers(&self, command: Command) -> Vec<Value> {
        let mut host = Host::start(command);
        let answers = vec![
            host.initialize(),
            host.request("tools/list", &json!({})),
            host.request(
                "tools/call",
                &json!({"name": self.tool, "arguments": self.arguments}),
            ),
        ];
        let (code, words) = host.end();
        assert!(code == 0 || code == 143, "{code}: {words}");
        answers
    }
}

/// The caller's own search path: where npx and node are.
pub fn path() -> String {
    std::env::var("PATH").unwrap()
}

#[test]
fn everything_from_npm() {
    Case {
        argv: &[
            "npx",
            "-y",
            "@modelcontextprotocol/server-everything@2026.8.31",
        ],
        flags: &[],
        path: path(),
        tool: "echo",
        arguments: json!({"message": "hé"}),
    }
    .same(&person());
}

#[test]
fn filesystem_from_npm_with_a_directory() {
    let context = person();
    let directory = context.make_directory("notes");
    context.make_file("notes/one.txt", "one");
    let directory = directory.to_str().unwrap();
    Case {
        argv: &[
            "npx",
            "-y",
            "@modelcontextprotocol/server-filesystem@2026.8.31",
            directory,
        ],
        flags: &["--dir", directory],
        path: path(),
        tool: "read_text_file",
        arguments: json!({"path": format!("{directory}/one.txt")}),
    }
    .same(&context);
    let mut host = context.host("real");
    host.initialize();
    let written = json!({"path": format!("{directory}/two.txt"), "content": "two"});
    host.request(
        "tools/call",
        &json!({"name": "write_file", "arguments": written}),
    );
    host.end();
    assert_eq!(
        fs::read_to_string(context.path("notes/two.txt")).unwrap(),
        "two"
    );
}

#[test]
fn memory_from_npm() {
    Case {
        argv: &["npx", "-y", "@modelcontextprotocol/server-memory@2026.8.31"],
        flags: &[],
        path: path(),
        tool: "create_entities",
        arguments: json!({"entities": [{"name": "a", "entityType": "b", "observations": ["c"]}]}),
    }
    .same(&person());
}

#[test]
fn time_from_pypi_by_uvx() {
    let uv = install::cache().join("py/bin");
    Case {
        argv: &["uvx", "mcp-server-time@2026.10.19", "--local-timezone", "UTC"],
        flags: &[],
        path: format!("{}:{}", uv.to_str().unwrap(), path()),
        tool: "convert_time",
        arguments: json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}),
    }
    .same(&person());
}

#[test]
fn git_from_a_venv_reads_a_repository() {
    let context = person();
    let repository = context.make_directory("repository");
    let repository = repository.to_str().unwrap();
    for words in [
        &["init", "--quiet"][..],
        &["commit", "--quiet", "--allow-empty", "-m", "one"],
    ] {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
        install::run(
            context
                .command("git")
                .args(["-C", repository])
                .args(identity)
                .args(words),
        );
    }
    context.make_file("repository/new.txt", "new");
    Case {
        argv: &[
            &install::python("mcp-server-git"),
            "--repository",
            repository,
        ],
        flags: &["--read", repository],
        path: path(),
        tool: "git_status",
        arguments: json!({"repo_path": repository}),
    }
    .same(&context);
}

#[test]
fn a_native_binary() {
    Case {
        argv: &[&TestContext::program("fixture-server"), "echo"],
        flags: &[],
        path: path(),
        tool: "echo",
        arguments: json!({"text": "hé"}),
    }
    .same(&person());
}

/// By another runner each: what is fetched and kept differs, what is answered does not.
fn echoes(argv: &[&str]) {
    Case {
        argv,
        flags: &[],
        path: path(),
        tool: "echo",
        arguments: json!({"message": "hé"}),
    }
    .same(&person());
}

#[test]
fn everything_by_npm_exec() {
    let package = "@modelcontextprotocol/server-everything@2026.8.31";
    echoes(&["npm", "exec", "--yes", "--", package]);
}

#[test]
fn everything_as_a_script_of_node() {
    let package = "npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js";
    let script = install::cache().join(package);
    echoes(&["node", script.to_str().unwrap()]);
}

#[test]
fn sequential_thinking_from_npm() {
    Case {
        argv: &[
            "npx",
            "-y",
            "@modelcontextprotocol/server-sequential-thinking@2026.8.31",
        ],
        flags: &[],
        path: path(),
        tool: "sequentialthinking",
        arguments: json!({"thought": "a", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}),
    }
    .same(&person());
}

/// The time in one zone as in another.
fn converts(argv: &[&str]) {
    let uv = install::cache().join("py/bin");
    Case {
        argv,
        flags: &[],
        path: format!("{}:{}", uv.to_str().unwrap(), path()),
        tool: "convert_time",
        arguments: json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}),
    }
    .same(&person());
}

#[test]
fn time_as_a_module_of_a_venv() {
    let python = install::python("python");
    let zone = ["--local-timezone", "UTC"];
    converts(&[&[python.as_str(), "-m", "mcp_server_time"][..], &zone].concat());
}

#[test]
fn time_by_uv_run() {
    let package = "mcp-server-time==2026.10.19";
    let zone = ["--local-timezone", "UTC"];
    let run = [
        "uv",
        "run",
        "--no-project",
        "--with",
        package,
        "mcp-server-time",
    ];
    converts(&[&run[..], &zone].concat());
}

#[test]
fn time_through_a_shell() {
    let python = install::python("python");
    let script = "exec \"$0\" -m mcp_server_time --local-timezone UTC";
    converts(&["sh", "-c", script, &python]);
}
