//! The commands that change and look: set, rename, remove, prune, `--json`.

use std::fs;

use serde_json::{Value, json};

use crate::schema::{self, said};
use crate::support::{Host, TestContext, stderr, stdout};

fn state(context: &TestContext, alias: &str) -> (String, Value) {
    let row = said(context, &["get", alias, "--json"]);
    (
        row["state"].as_str().unwrap().to_owned(),
        row["changed"].clone(),
    )
}

fn homes(context: &TestContext) -> Vec<String> {
    let Ok(entries) = fs::read_dir(context.path("home/.supervisor/home")) else {
        return Vec::new();
    };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.ends_with(".digest")).collect()
}

/// A run that a host has greeted.
fn used(context: &TestContext, alias: &str) -> Host {
    let mut host = context.host(alias);
    host.initialize();
    host
}

#[test]
fn a_rotated_value_needs_no_new_yes_and_a_widening_does() {
    let context = TestContext::ordinary();
    let server = TestContext::program("fixture-server");
    context.approved(
        "weather",
        &["-e", "KEY=sk-old", "--net", "none"],
        &[&server],
    );
    let (code, screen) = context.at_terminal(&["set", "weather", "-e", "KEY=sk-new"], "n");
    assert_eq!(code, 0, "{screen}");
    assert!(
        !screen.contains("[y/N]") && !screen.contains("sk-"),
        "{screen}"
    );
    assert!(
        screen.contains("new values: KEY") && screen.contains("approved as it stands"),
        "{screen}"
    );
    let file = fs::read_to_string(context.path("home/.supervisor/mcp.json")).unwrap();
    assert!(file.contains("sk-new") && !file.contains("sk-old"));

    let (code, screen) = context.at_terminal(&["set", "weather", "--net", "full"], "n");
    assert_eq!(code, 0, "{screen}");
    assert!(
        screen.contains("changed: network") && screen.contains("[y/N]"),
        "{screen}"
    );
    assert_eq!(
        state(&context, "weather"),
        ("changed".to_owned(), json!(["network"]))
    );
    // Set back, it is what was approved.
    let (_, screen) = context.at_terminal(&["set", "weather", "--net", "none"], "n");
    assert!(!screen.contains("[y/N]"), "{screen}");
    assert_eq!(state(&context, "weather").0, "approved");
    // Several at once, and yes.
    let (code, screen) = context.at_terminal(
        &[
            "set",
            "weather",
            "--no-env",
            "KEY",
            "--allow",
            "pty",
            "--no-inspect",
        ],
        "y",
    );
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("changed: variables, allow"), "{screen}");
    assert_eq!(state(&context, "weather").0, "approved");
}

#[test]
fn directories_and_reads_are_recorded_as_add_records_them() {
    let context = TestContext::ordinary();
    let (one, two) = (
        context.make_directory("work/one"),
        context.make_directory("work/two"),
    );
    let file = context.make_file("outside/file", "x");
    let file = file.to_str().unwrap();
    context.run(&[
        "add",
        "x",
        "--dir",
        "one",
        "-e",
        &format!("CONFIG={file}"),
        "--",
        "/bin/cat",
    ]);
    let row = said(&context, &["get", "x", "--json"]);
    assert_eq!(row["dir"], json!(one));
    assert_eq!(row["reads"], json!([{"path": file, "why": "value"}]));
    context.run(&[
        "set",
        "x",
        "--dir",
        "two",
        "-e",
        "CONFIG=none",
        "--read",
        file,
    ]);
    let row = said(&context, &["get", "x", "--json"]);
    assert_eq!(row["dir"], json!(two));
    assert_eq!(row["reads"], json!([{"path": file, "why": "flag"}]));
    let output = context.run(&[
        "set",
        "x",
        "--no-dir",
        "--no-read",
        "../outside/file",
        "--json",
    ]);
    let row = schema::check(&stdout(&output));
    assert_eq!(row["set"], json!(["dir", "reads"]));
    let git = context.make_directory("work/repository/.git");
    let output = context.run(&["set", "x", "--dir", git.parent().unwrap().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(126), "{}", stderr(&output));
    assert_eq!(said(&context, &["get", "x", "--json"])["dir"], Value::Null);
}

#[test]
fn a_new_name_keeps_approval_and_home() {
    let context = TestContext::ordinary();
    let server = TestContext::program("fixture-server");
    context.approved("old", &["--net", "none"], &[&server]);
    used(&context, "old").end();
    let before = homes(&context);
    assert_eq!(before.len(), 1);
    said(&context, &["rename", "old", "new", "--json"]);
    assert_eq!(state(&context, "new").0, "approved");
    assert_eq!(context.run(&["get", "old"]).status.code(), Some(2));
    used(&context, "new").end();
    assert_eq!(homes(&context), before);
    let approved = fs::read_to_string(context.path("home/.supervisor/approved")).unwrap();
    assert!(
        approved.trim_end().ends_with(" new") && !approved.contains(" old"),
        "{approved}"
    );
}

#[test]
fn homes_go_when_nothing_declares_them_and_nothing_runs_in_them() {
    let context = TestContext::ordinary();
    let server = TestContext::program("fixture-server");
    for alias in ["one", "two"] {
        context.approved(alias, &["--net", "none"], &[&server]);
    }
    let host = used(&context, "one");
    assert!(
        said(&context, &["get", "one", "--json"])["home_bytes"]
            .as_u64()
            .unwrap()
            > 0
    );
    assert_eq!(
        said(&context, &["remove", "one", "--home", "--json"])["home"],
        "shared"
    );
    assert_eq!(
        said(&context, &["remove", "two", "--home", "--json"])["home"],
        "in-use"
    );
    let found = said(&context, &["prune", "--json", "--yes"]);
    assert_eq!(found["found"][0]["kind"], "home");
    assert_eq!(
        (&found["found"][0]["in_use"], &found["found"][0]["removed"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(homes(&context).len(), 1);
    host.end();
    // Nobody to ask: shown, and left.
    let output = context.run(&["prune"]);
    assert!(
        stdout(&output).contains("supervisor prune --yes"),
        "{}",
        stdout(&output)
    );
    assert_eq!(homes(&context).len(), 1);
    let (code, screen) = context.at_terminal(&["prune"], "n");
    assert_eq!((code, homes(&context).len()), (0, 1), "{screen}");
    let (code, screen) = context.at_terminal(&["prune"], "y");
    assert_eq!((code, homes(&context).len()), (0, 0), "{screen}");
    // The home, and the receipts of the runs in it.
    assert!(screen.contains("removed 2"), "{screen}");

    context.approved("one", &["--net", "none"], &[&server]);
    used(&context, "one").end();
    assert_eq!(
        said(&context, &["remove", "one", "--home", "--json"])["home"],
        "removed"
    );
    assert!(homes(&context).is_empty());
}

#[test]
fn prune_leaves_what_is_declared_and_what_it_cannot_know() {
    let context = TestContext::ordinary();
    context.approved("kept", &[], &["/bin/cat"]);
    context.approved("changed", &[], &["/bin/cat", "-u"]);
    context.run(&["set", "changed", "--net", "none"]);
    let digest = "a".repeat(64);
    for name in ["approvals", "surface", "breaker", "receipts"] {
        context.make_directory(&format!("home/.supervisor/{name}"));
    }
    context.make_file(&format!("home/.supervisor/approvals/{digest}.json"), "{}");
    context.make_file(&format!("home/.supervisor/surface/{digest}.json"), "{}");
    context.make_file(&format!("home/.supervisor/breaker/{digest}"), "{}");
    context.make_directory("home/.supervisor/receipts/aaaaaaaaaaaaaaaa");
    context.make_file("home/.supervisor/receipts/notes.txt", "mine");
    let file = context.path("home/.supervisor/mcp.json");
    let whole = fs::read_to_string(&file).unwrap();
    fs::write(&file, whole.replace("\"args\": []", "\"args\": 7")).unwrap();
    let output = context.run(&["prune", "--yes", "--json"]);
    assert_eq!(output.status.code(), Some(126));
    assert_eq!(
        schema::check(&stdout(&output))["error"]["code"],
        "entry-unusable"
    );
    fs::write(&file, whole).unwrap();
    let found = said(&context, &["prune", "--yes", "--json"]);
    let kinds: Vec<&str> = found["found"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["approval", "surface", "record", "record"]);
    assert!(
        found["found"]
            .as_array()
            .unwrap()
            .iter()
            .all(|one| one["removed"] == true)
    );
    assert_eq!(state(&context, "kept").0, "approved");
    assert_eq!(
        state(&context, "changed"),
        ("changed".to_owned(), json!(["network"]))
    );
    assert!(context.path("home/.supervisor/receipts/notes.txt").exists());
    assert_eq!(said(&context, &["prune", "--json"])["found"], json!([]));
}

#[test]
fn every_object_is_what_its_schema_says() {
    let context = TestContext::ordinary();
    let server = TestContext::program("fixture-server");
    said(
        &context,
        &[
            "add", "p", "--json", "-e", "K=1", "--limit", "files=99", "--", &server,
        ],
    );
    said(
        &context,
        &[
            "add",
            "h",
            "--json",
            "--http",
            "https://e.example/",
            "-H",
            "A=b",
        ],
    );
    said(
        &context,
        &["add", "n", "--json", "--", "npx", "-y", "thing@1.2.3"],
    );
    for words in [
        &["list", "--json"][..],
        &["get", "p", "--json"],
        &["get", "h", "--json"],
        &["get", "n", "--json"],
        &["get", "x", "--json"],
        &["explain", "p", "--json"],
        &["explain", "h", "--json"],
        &["run", "p", "--dry-run", "--json"],
        &["set", "p", "--net", "none", "--json"],
        &["set", "p", "--json"],
        &["rename", "p", "q", "--json"],
        &["remove", "q", "--json"],
        &["prune", "--json"],
        &["try", "--json"],
    ] {
        said(&context, words);
    }
    let file = context.path("home/.supervisor/mcp.json");
    fs::write(&file, "{\n  \"version\": 1,\n  oops\n}\n").unwrap();
    let error = said(&context, &["get", "h", "--json"]);
    let place = error["error"]["where"].as_str().unwrap();
    assert!(place.ends_with("/.supervisor/mcp.json:3:3"), "{place}");
}
