//! Flags of `run`'s own: patterns of tools, a pinned digest, a run that leaves nothing.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::schema::said;
use crate::support::{Host, TestContext, stderr};

/// Everything below a directory, with sizes and times.
fn snapshot(directory: &Path) -> Vec<(PathBuf, u64, std::time::SystemTime)> {
    let (mut all, mut waiting) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(path) = waiting.pop() {
        let stat = fs::symlink_metadata(&path).unwrap();
        if stat.is_dir() {
            waiting.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        }
        all.push((path, stat.len(), stat.modified().unwrap()));
    }
    all.sort();
    all
}

fn ran(context: &TestContext, words: &[&str]) -> (Host, Value) {
    let mut host = Host::start(context.supervisor(&[&["run"], words].concat()));
    host.initialize();
    let tools = host.request("tools/list", &json!({}));
    (host, tools)
}

#[test]
fn a_run_offers_what_its_patterns_leave() {
    let context = TestContext::ordinary();
    let server = TestContext::program("fixture-server");
    context.offered("e", &["--net", "none"], &[&server]);
    let (host, whole) = ran(&context, &["e"]);
    host.end();
    let name = whole["result"]["tools"][0]["name"].as_str().unwrap();
    let (mut host, tools) = ran(&context, &["e", "--only", "nothing-like-it"]);
    assert_eq!(tools["result"]["tools"], json!([]));
    let answer = host.request("tools/call", &json!({"name": name, "arguments": {}}));
    let refusal = &answer["result"]["_meta"]["supervisor/refusal"];
    assert_eq!(
        (
            &answer["result"]["isError"],
            &refusal["layer"],
            &refusal["tool"]
        ),
        (&json!(true), &json!("filter"), &json!(name))
    );
    let answer = host.request(
        "tools/call",
        &json!({"name": "no-such-tool", "arguments": {}}),
    );
    assert_eq!(answer["error"]["code"], -32602);
    let (code, words) = host.end();
    assert_eq!(code, 0, "{words}");
    assert!(
        words.contains("--only `nothing-like-it` matches no tool"),
        "{words}"
    );

    let (host, tools) = ran(&context, &["e", "--only", name]);
    assert_eq!(
        tools["result"]["tools"],
        json!([whole["result"]["tools"][0]])
    );
    host.end();
    let (host, tools) = ran(&context, &["e", "--only", "[a-z]*"]);
    assert_eq!(tools, whole, "nothing is left out, and nothing changes");
    assert!(!host.end().1.contains("matches no tool"));
    // The declaration's own filter, which is no part of the digest.
    let file = context.path("home/.supervisor/mcp.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(
        &file,
        text.replacen("\"args\"", "\"tools\": {\"exclude\": [\"*\"]}, \"args\"", 1),
    )
    .unwrap();
    let (host, tools) = ran(&context, &["e"]);
    assert_eq!(tools["result"]["tools"], json!([]));
    host.end();
}

#[test]
fn a_pinned_digest_starts_and_no_other() {
    let context = TestContext::ordinary();
    let server = TestContext::program("fixture-server");
    context.offered("e", &["--net", "none"], &[&server]);
    let digest = said(&context, &["get", "e", "--json"])["digest"]
        .as_str()
        .unwrap()
        .to_owned();
    for pin in [&digest, &digest[..8]] {
        let (host, tools) = ran(&context, &["e", "--digest", pin]);
        assert!(tools["result"].is_object());
        assert_eq!(host.end().0, 0);
    }
    context.at_terminal(&["set", "e", "--net", "full", "--no-inspect"], "y");
    let output = context.run(&["run", "e", "--digest", &digest]);
    assert_eq!(output.status.code(), Some(126));
    assert!(
        stderr(&output).contains("digest-differs"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn an_ephemeral_run_leaves_nothing() {
    let context = TestContext::ordinary();
    let server = TestContext::program("fixture-server");
    context.offered("e", &["--net", "none"], &[&server]);
    let before = snapshot(&context.path("home"));
    let plan = said(
        &context,
        &["run", "e", "--ephemeral", "--dry-run", "--json"],
    );
    let home = PathBuf::from(plan["plan"]["home"].as_str().unwrap());
    assert!(!home.starts_with(context.path("home")) && !home.exists());
    let temporary = |context: &TestContext| {
        let entries = fs::read_dir("/tmp").unwrap().map(|entry| entry.unwrap());
        let own = fs::metadata(context.path("home")).unwrap();
        entries
            .filter(|entry| {
                entry
                    .file_name()
                    .to_string_lossy()
                    .starts_with("supervisor-")
            })
            .filter(|entry| {
                use std::os::unix::fs::MetadataExt;
                entry.metadata().is_ok_and(|stat| stat.uid() == own.uid())
            })
            .count()
    };
    let (host, tools) = ran(&context, &["e", "--ephemeral"]);
    assert!(tools["result"].is_object() && temporary(&context) > 0);
    assert_eq!(host.end().0, 0);
    assert_eq!(snapshot(&context.path("home")), before);
}
