//! The truth table of `docs/policy.md`, and what holds of every policy.
//!
//! `SUPERVISOR_WRITE=1 cargo test --lib generated` writes the table anew.
#![expect(clippy::disallowed_methods, reason = "tests read and write files")]

use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::document::parse;
use super::evaluate::evaluate;
use super::subject::{CommandLine, ProgramSubject, RunnerSubject, Subject};
use super::{AdminPolicy, Decision, Verdict};
use crate::confine::Promise;
use crate::declaration::Network;

/// The policy of these files, as they are read one after the other.
fn policy(files: &[Value]) -> AdminPolicy {
    let read = files.iter().enumerate().map(|(index, file)| {
        let name = format!("{index}.json");
        parse(&file.to_string(), Path::new(&name), None).unwrap_or_else(|error| panic!("{error}"))
    });
    read.fold(AdminPolicy::default(), AdminPolicy::merged)
}

fn plain() -> ProgramSubject {
    ProgramSubject {
        found: CommandLine {
            programs: ["/usr/bin/server".into()].into(),
            arguments: vec!["--all".to_owned()],
        },
        further: Vec::new(),
        sha256: Some("1".repeat(64)),
        variables: ["KEY".parse().unwrap()].into(),
        open_path: None,
        dir: false,
        network: Network::None,
        without: [].into(),
        pinned: true,
        runner: None,
        landlock_abi: Some(6),
    }
}

fn judged(files: &[Value], subject: &Subject) -> Verdict {
    evaluate(&policy(files), subject)
}

const MATCHES: &str = "names it";
const OTHER: &str = "names another";

/// One row a combination: what the lists hold, and what comes of it.
fn programs() -> Vec<[String; 5]> {
    let it = json!({"command": ["/usr/bin/server", "--all"]});
    let other = json!({"command": ["/usr/bin/other"]});
    let bound = json!({"command": ["/usr/bin/server", "--all"], "env": []});
    let allow = [
        ("none", None),
        ("empty", Some(vec![])),
        (OTHER, Some(vec![other.clone()])),
        ("names it, less than it is given", Some(vec![bound])),
        (MATCHES, Some(vec![it.clone()])),
    ];
    let deny = [("none", vec![]), (OTHER, vec![other]), (MATCHES, vec![it])];
    let floors = [
        ("none", json!({})),
        ("met", json!({"network": "none"})),
        ("not met", json!({"landlock_abi": 7})),
    ];
    let mut rows = Vec::new();
    for (allow_is, allow) in &allow {
        for (deny_is, deny) in &deny {
            for (floor_is, floor) in &floors {
                let mut mcp = json!({"deny": deny, "floor": floor});
                if let Some(allow) = allow {
                    mcp["allow"] = json!(allow);
                }
                let verdict = judged(&[json!({"mcp": mcp})], &Subject::Program(Box::new(plain())));
                rows.push(row([allow_is, deny_is, floor_is], &verdict));
            }
        }
    }
    rows
}

fn hosts() -> Vec<[String; 5]> {
    let it = json!({"host": "*.example.com"});
    let other = json!({"host": "example.org"});
    let allow = [
        ("none", None),
        ("empty", Some(vec![])),
        (OTHER, Some(vec![other.clone()])),
        (MATCHES, Some(vec![it.clone()])),
    ];
    let deny = [("none", vec![]), (OTHER, vec![other]), (MATCHES, vec![it])];
    let urls = [
        ("one reading", "https://mcp.example.com/mcp"),
        ("two readings", "https://mcp.example.com\\@example.net/mcp"),
    ];
    let mut rows = Vec::new();
    for (allow_is, allow) in &allow {
        for (deny_is, deny) in &deny {
            for (host_is, url) in &urls {
                let mut mcp = json!({"deny": deny});
                if let Some(allow) = allow {
                    mcp["allow"] = json!(allow);
                }
                let verdict = judged(&[json!({"mcp": mcp})], &Subject::Url((*url).to_owned()));
                rows.push(row([allow_is, deny_is, host_is], &verdict));
            }
        }
    }
    rows
}

fn row(given: [&str; 3], verdict: &Verdict) -> [String; 5] {
    let rule = verdict.rule.as_deref().unwrap_or("no rule");
    let rule = rule.split([' ', '[']).next().unwrap();
    let rule = if verdict.rule.is_none() {
        "no rule"
    } else {
        rule
    };
    let [allow, deny, third] = given.map(str::to_owned);
    [
        allow,
        deny,
        third,
        format!("**{}**", verdict.result.as_str()),
        rule.to_owned(),
    ]
}

fn table(third: &str, rows: &[[String; 5]]) -> String {
    let mut out =
        format!("| allow | deny | {third} | result | by |\n| --- | --- | --- | --- | --- |\n");
    for row in rows {
        out.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    out
}

#[test]
fn generated_truth_table_of_the_docs() {
    let (start, end) = ("<!-- generated: truth -->\n", "<!-- end -->\n");
    let made = format!(
        "\nA program:\n\n{}\nA server elsewhere:\n\n{}\n",
        table("floor", &programs()),
        table("host", &hosts())
    );
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/policy.md");
    let page = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = page.split_once(start).unwrap();
    let (held, after) = rest.split_once(end).unwrap();
    if std::env::var_os("SUPERVISOR_WRITE").is_some() {
        std::fs::write(&file, format!("{before}{start}{made}{end}{after}")).unwrap();
    } else {
        assert_eq!(held, made, "SUPERVISOR_WRITE=1 cargo test --lib generated");
    }
}

/// Deny wins, an allow list must name it, and every floor must be met.
#[test]
fn the_table_is_what_was_meant() {
    for [allow, deny, floor, result, by] in programs() {
        let expected = match (deny.as_str(), allow.as_str(), floor.as_str()) {
            (MATCHES, _, _) => ("**denied**", "deny"),
            (_, "empty" | OTHER | "names it, less than it is given", _) => ("**denied**", "allow"),
            (_, _, "not met") => ("**denied**", "floor"),
            (_, MATCHES, _) => ("**allowed**", "allow"),
            _ => ("**allowed**", "no rule"),
        };
        assert_eq!(
            (result.as_str(), by.as_str()),
            expected,
            "{allow} {deny} {floor}"
        );
    }
    for [allow, deny, host, result, by] in hosts() {
        let expected = match (deny.as_str(), allow.as_str(), host.as_str()) {
            (MATCHES, _, _) | (OTHER, _, "two readings") => ("**denied**", "deny"),
            (_, "none", _) => ("**allowed**", "no rule"),
            (_, MATCHES, "one reading") => ("**allowed**", "allow"),
            _ => ("**denied**", "allow"),
        };
        assert_eq!(
            (result.as_str(), by.as_str()),
            expected,
            "{allow} {deny} {host}"
        );
    }
}

fn allowed(files: &[Value], subject: &Subject) -> bool {
    judged(files, subject).result == Decision::Allow
}

mod properties;
