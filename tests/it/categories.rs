//! Categories of tools, against the program as a person and a host run it.

use serde_json::{Value, json};

use crate::support::described::Described;
use crate::support::{Host, stderr};

fn said() -> Value {
    let schema = json!({"type": "object"});
    json!({
        "eras": ["legacy", "modern"],
        "tools": [
            {"name": "list", "inputSchema": schema, "annotations": {"readOnlyHint": true}},
            {"name": "add", "inputSchema": schema,
             "annotations": {"readOnlyHint": false, "destructiveHint": false, "openWorldHint": false}},
            {"name": "count", "inputSchema": schema, "outputSchema": {"type": "object"}},
        ],
    })
}

fn offered(flags: &[&str]) -> Described {
    Described::offered("notes", flags, &said())
}

/// A run that a host has greeted.
fn greeted(notes: &Described) -> Host {
    let mut host = notes.host();
    host.initialize();
    host
}

fn runs(notes: &Described, words: &[&str]) {
    let output = notes.context.run(words);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

fn call(host: &mut Host, tool: &str) -> Value {
    host.request("tools/call", &json!({"name": tool, "arguments": {}}))
}

fn passes(host: &mut Host, tool: &str) -> bool {
    let answer = call(host, tool);
    let refusal = &answer["result"]["_meta"]["supervisor/refusal"];
    assert!(answer["result"].is_object(), "{answer}");
    refusal.is_null()
}

fn refusal(tool: &str, requires: &str) -> Value {
    json!({
        "tool": tool, "refused": true, "layer": "category", "reason": "category-not-granted",
        "requires": [requires], "granted": ["read-only"], "retry_will_succeed": false,
    })
}

#[test]
fn a_call_outside_the_grant_is_refused_with_what_it_needs_and_what_there_is() {
    let notes = offered(&["--category", "read-only"]);
    let mut host = greeted(&notes);
    let list = host.request("tools/list", &json!({}));
    assert_eq!(list["result"], json!({"tools": said()["tools"]}));
    assert!(passes(&mut host, "list"));
    let answer = call(&mut host, "add");
    let text = "supervisor refused the call: add of notes is of the category additive (the server's own word), and granted are read-only; tools of notes are of read-only, additive, destructive; a retry will not help; to grant it, from the next run on: supervisor set notes --category additive (category).";
    let facts = refusal("add", "additive");
    assert_eq!(
        answer["result"],
        json!({
            "isError": true,
            "content": [{"type": "text", "text": text}],
            "structuredContent": facts,
            "_meta": {"supervisor/refusal": facts},
        })
    );
    // A strict client holds structured content against the schema that the tool declares.
    let answer = call(&mut host, "count");
    assert_eq!(
        answer["result"]["_meta"]["supervisor/refusal"],
        refusal("count", "destructive")
    );
    assert!(answer["result"].get("structuredContent").is_none());
    assert_eq!(host.end().0, 0);
    let mut host = notes.host();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "add", "arguments": {}, "_meta": meta});
    let answer = host.request("tools/call", &params);
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(
        answer["result"]["structuredContent"],
        refusal("add", "additive")
    );
    assert_eq!(host.end().0, 0);
    let told = notes.json(&["audit", "--json", "--outcome", "refused"]);
    let told = told["lines"].as_array().unwrap().iter();
    let told: Vec<(&str, &str)> = told
        .map(|line| {
            (
                line["tool"].as_str().unwrap(),
                line["layer"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("add", "category"),
            ("count", "category"),
            ("add", "category")
        ]
    );
}

#[test]
fn the_persons_word_counts_at_once_and_a_grant_from_the_next_run_on() {
    let notes = offered(&["--category", "read-only"]);
    let mut host = greeted(&notes);
    assert!(!passes(&mut host, "count"));
    runs(&notes, &["rules", "read-only", "notes:count"]);
    assert!(passes(&mut host, "count"));
    runs(&notes, &["rules", "open-world", "notes:list"]);
    assert!(!passes(&mut host, "list"));
    runs(&notes, &["rules", "annotated", "notes:list"]);
    assert!(passes(&mut host, "list"));
    let tools = notes.json(&["tools", "notes", "--json"]);
    assert_eq!(
        tools["categories"],
        json!({"granted": ["read-only"], "known": ["read-only", "additive"]})
    );
    let standing: Vec<&Value> = ["add", "count", "list"]
        .iter()
        .map(|name| {
            let mut items = tools["items"].as_array().unwrap().iter();
            &items.find(|item| item["name"] == *name).unwrap()["category"]
        })
        .collect();
    assert_eq!(
        standing,
        [
            &json!({"name": "additive", "word": "server", "granted": false}),
            &json!({"name": "read-only", "word": "person", "granted": true}),
            &json!({"name": "read-only", "word": "server", "granted": true}),
        ]
    );
    for command in ["get", "explain"] {
        let shown = notes.json(&[command, "notes", "--json"]);
        assert_eq!(shown["categories"], tools["categories"], "{command}");
    }
    runs(&notes, &["set", "notes", "--category", "additive"]);
    assert!(!passes(&mut host, "add"), "the run goes by its start");
    assert_eq!(host.end().0, 0);
    let mut host = greeted(&notes);
    assert!(passes(&mut host, "add"));
    assert_eq!(host.end().0, 0);
    // The last one is not taken back by its name: none named is every one.
    runs(&notes, &["set", "notes", "--no-category", "additive"]);
    let refused = notes
        .context
        .run(&["set", "notes", "--no-category", "read-only"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("last-category"),
        "{}",
        stderr(&refused)
    );
    let mut host = greeted(&notes);
    assert!(!passes(&mut host, "add"));
    assert_eq!(host.end().0, 0);
    runs(&notes, &["set", "notes", "--no-category", "all"]);
    let mut host = greeted(&notes);
    assert!(passes(&mut host, "add"));
    assert_eq!(host.end().0, 0);
}

#[test]
fn another_word_of_the_servers_counts_once_it_was_approved() {
    let notes = offered(&["--category", "read-only"]);
    let mut milder = said();
    milder["tools"][2]["annotations"] = json!({"readOnlyHint": true});
    notes.says(&milder);
    let reason = |host: &mut Host| {
        let answer = call(host, "count");
        answer["result"]["_meta"]["supervisor/refusal"]["reason"].clone()
    };
    let mut host = greeted(&notes);
    host.request("tools/list", &json!({}));
    assert_eq!(reason(&mut host), "surface-changed");
    assert_eq!(host.end().0, 0);
    let (code, screen) = notes.approve_surface("y");
    assert_eq!(code, 0, "{screen}");
    assert!(
        screen.contains("category: read-only (the server's own word)"),
        "{screen}"
    );
    let mut host = greeted(&notes);
    assert!(reason(&mut host).is_null());
    assert_eq!(host.end().0, 0);
}

/// What is no category is an error where it stands, and nothing starts on a guess.
#[test]
fn a_word_that_is_no_category_is_an_error() {
    let notes = offered(&[]);
    let file = notes.context.path("home/.supervisor/mcp.json");
    let good = std::fs::read_to_string(&file).unwrap();
    for bad in [
        json!(["readonly"]),
        json!(["read-only", "read-only"]),
        json!("read-only"),
        json!([7]),
    ] {
        let mut all: Value = serde_json::from_str(&good).unwrap();
        all["mcpServers"]["notes"]["tools"] = json!({"categories": bad});
        std::fs::write(&file, all.to_string()).unwrap();
        let mut host = notes.host();
        let error = host.initialize()["error"].clone();
        assert_eq!(error["data"]["code"], "entry-unusable", "{error}");
        assert!(
            error["message"]
                .as_str()
                .unwrap()
                .contains("`tools` must be"),
            "{error}"
        );
        assert_eq!(host.end().0, 126);
    }
    std::fs::write(&file, good).unwrap();
    notes.context.make_file(
        "home/.supervisor/settings.json",
        "{\"version\":1,\n\"categories\":{\"readonly\":[\"Mcp(notes:list)\"]}}",
    );
    let mut host = notes.host();
    let error = host.initialize()["error"].clone();
    assert_eq!(error["data"]["code"], "settings-unreadable", "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("unknown variant `readonly`") && message.contains("line 2"),
        "{message}"
    );
    assert_eq!(host.end().0, 126);
}
