//! `supervisor why`: broken servers, as an ordinary user. Each fails for want of one thing; `why`
//! names it and the flag, or that there is none. Where a flag is named, it is given, and the
//! server works.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::attack::WITHOUT;
use crate::schema;
use crate::support::{Host, TestContext, Who, everybody, stderr, stdout};

mod files;
mod machine;
mod programs;
mod runs;
mod variables;

/// The part of a server that works.
const SERVE: &str = r#"
import json, os, sys
def serve():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "x", "version": "1"}}
        if message["method"] == "tools/list":
            result = {"tools": []}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

/// Declares a server in Python that does this first.
fn python(context: &TestContext, flags: &[&str], first: &str) {
    context.make_directory("servers");
    let script = context.make_file("servers/x.py", &format!("{SERVE}\n{first}\nserve()\n"));
    let script = script.to_str().unwrap();
    context.approved("x", flags, &["/usr/bin/python3", script]);
}

/// Whether it answers when it is started.
fn works(context: &TestContext) -> bool {
    let mut run = context
        .supervisor(&["run", "x"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let mut stdin = run.stdin.take().unwrap();
    // One that has ended takes nothing.
    let _ = writeln!(stdin, "{request}");
    let mut line = String::new();
    let _ = BufReader::new(run.stdout.take().unwrap()).read_line(&mut line);
    drop(stdin);
    run.wait().unwrap();
    let answer: Value = serde_json::from_str(&line).unwrap_or_default();
    answer.get("result").is_some()
}

/// What `why` says of a server that does not work.
fn why(context: &TestContext) -> Value {
    let output = context.run(&["why", "x", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = schema::check(&stdout(&output));
    assert_eq!(report["unseen"], Value::Null, "{report}");
    let mut kept = fs::read_dir(context.path("home/.supervisor/why")).unwrap();
    let kept = kept.next().unwrap().unwrap().path();
    let digest = report["digest"].as_str().unwrap();
    assert!(kept.ends_with(format!("{}.json", &digest[..16])));
    assert_eq!(fs::read_to_string(kept).unwrap(), stdout(&output));
    report
}

/// The causes: kind, what, flags.
fn causes(report: &Value) -> Vec<(String, String, Vec<String>)> {
    let findings = report["findings"].as_array().unwrap();
    findings
        .iter()
        .filter(|finding| finding["cause"] == json!(true))
        .map(|finding| {
            let text = |key: &str| finding[key].as_str().unwrap().to_owned();
            let flags = finding["flags"].as_array().unwrap();
            let flags = flags.iter().map(|flag| flag.as_str().unwrap().to_owned());
            (text("kind"), text("what"), flags.collect())
        })
        .collect()
}

/// A server that does not work, with one cause and the flags for it, works with them.
fn granted(context: &TestContext, kind: &str, what: &str, flags: &[&str]) -> Value {
    assert!(!works(context));
    let report = why(context);
    let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
    let want = [(kind.to_owned(), what.to_owned(), flags)];
    assert_eq!(causes(&report), want, "{report:#}");
    give(context, &report);
    report
}

/// Types the command that `why` names.
fn give(context: &TestContext, report: &Value) {
    let command = report["command"].as_str().unwrap();
    let bin = Path::new(&TestContext::program("supervisor"))
        .parent()
        .unwrap()
        .to_owned();
    // A value that would be asked for is given.
    let command = command
        .replace("=- ", "=value ")
        .trim_end_matches("=-")
        .to_owned()
        + if command.ends_with("=-") {
            "=value"
        } else {
            ""
        };
    let line = command.replacen("supervisor", &bin.join("supervisor").to_string_lossy(), 1);
    let mut shell = context.command("/bin/sh");
    shell.args(["-c", &format!("{line} --no-inspect")]);
    let (code, screen) = context.terminal(shell, "y");
    assert_eq!(code, 0, "{screen}");
    assert!(works(context), "{report:#}");
}

/// A server that does not work, and nothing grants what it lacks.
fn refused(context: &TestContext, kind: &str, what: &str) -> Value {
    assert!(!works(context));
    let report = why(context);
    let found = causes(&report);
    assert_eq!(found.len(), 1, "{report:#}");
    assert_eq!(
        (found[0].0.as_str(), found[0].1.as_str()),
        (kind, what),
        "{report:#}"
    );
    assert!(found[0].2.is_empty(), "{report:#}");
    assert_eq!(report["command"], Value::Null);
    report
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn open_to_all(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
}

fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
