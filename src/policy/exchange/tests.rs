//! What other hosts' lists become, and what is said of the rest.

use std::path::{Path, PathBuf};

use super::*;
use crate::policy::document::parse;

fn find(name: &str) -> Option<PathBuf> {
    (name == "npx").then(|| PathBuf::from("/usr/bin/npx"))
}

/// The policy's `mcp`, and what was said, which stands in its comment too.
fn imported(from: Host, text: &str) -> (Value, Vec<String>) {
    let done = import(from, text, &find).unwrap();
    parse(&done.text, Path::new("imported"), None).unwrap();
    let file: Value = serde_json::from_str(&done.text).unwrap();
    let said: Vec<String> = done.said.iter().map(Said::line).collect();
    let comment = file.get("$comment").cloned().unwrap_or_else(|| json!([]));
    assert_eq!(comment, json!(said));
    (file["mcp"].clone(), said)
}

#[test]
fn lists_of_claude_and_vscode() {
    let allow = json!([
        {"serverCommand": ["npx", "-y", "server@1.0.0"]},
        {"serverCommand": ["/opt/x", "--all"]},
        {"serverCommand": ["uvx", "other"]},
        {"serverCommand": ["/usr/bin/supervisor", "run", "weather"]},
        {"serverUrl": "https://mcp.example.com/*"},
        {"serverUrl": "https://*.example.org:8443/v1/mcp"},
        {"serverUrl": "https://mcp-*.example.com/*"},
        {"serverName": "github"},
    ]);
    let deny = json!([{"serverUrl": "https://staging.example.com/*"}]);
    let expected = json!({
        "allow": [
            {"command": ["/usr/bin/npx", "-y", "server@1.0.0"]},
            {"command": ["/opt/x", "--all"]},
            {"host": "mcp.example.com"},
            {"host": "*.example.org"},
        ],
        "deny": [{"host": "staging.example.com"}],
    });
    let claude = json!({"allowedMcpServers": allow, "deniedMcpServers": deny, "allowManagedMcpServersOnly": true, "model": "x"});
    let vscode = json!({"ChatAllowedMcpServers": allow.to_string(), "ChatDeniedMcpServers": deny});
    for (host, text) in [(Host::Claude, claude), (Host::Vscode, vscode)] {
        let (mcp, said) = imported(host, &text.to_string());
        assert_eq!(mcp, expected);
        let lost = |what: &str| {
            said.iter()
                .any(|line| line.starts_with("not expressed") && line.contains(what))
        };
        for what in ["uvx", "weather", "mcp-*", "github"] {
            assert!(lost(what), "{what}: {said:?}");
        }
        assert!(
            said.iter()
                .any(|line| line.contains("/v1/mcp") && line.contains("any port and path"))
        );
    }
}

#[test]
fn an_empty_list_and_none() {
    for (text, mcp) in [
        (r#"{"allowedMcpServers": []}"#, json!({"allow": []})),
        (
            r#"{"allowedMcpServers": [{"serverName": "a"}]}"#,
            json!({"allow": []}),
        ),
        (r#"{"model": "x"}"#, json!({})),
    ] {
        assert_eq!(imported(Host::Claude, text).0, mcp);
    }
    let (mcp, _) = imported(Host::Vscode, r#"{"ChatMCP": "off"}"#);
    assert_eq!(mcp, json!({"allow": []}));
    let (mcp, said) = imported(Host::Vscode, r#"{"chat.mcp.access": "registryOnly"}"#);
    assert_eq!(mcp, json!({}));
    assert!(said[0].starts_with("not expressed"));
}

#[test]
fn other_shapes_are_refused() {
    for text in [
        "[]",
        "{",
        r#"{"allowedMcpServers": {}}"#,
        r#"{"allowedMcpServers": [{}]}"#,
        r#"{"allowedMcpServers": [{"serverName": "a", "serverUrl": "b"}]}"#,
        r#"{"allowedMcpServers": [{"serverCommand": []}]}"#,
        r#"{"allowedMcpServers": [{"serverCommand": "npx"}]}"#,
        r#"{"deniedMcpServers": [{"server": "a"}]}"#,
    ] {
        assert!(import(Host::Claude, text, &find).is_err(), "{text}");
    }
    for text in [
        "[mcp_servers",
        "mcp_servers = 1",
        "[mcp_servers.a]",
        "[mcp_servers.a.identity]\nargs = []",
    ] {
        assert!(import(Host::Codex, text, &find).is_err(), "{text}");
    }
    for text in [
        "[]",
        r#"{"a": {}}"#,
        r#"{"a": {"command": "x", "cwd": "/"}}"#,
    ] {
        assert!(import(Host::Windsurf, text, &find).is_err(), "{text}");
    }
}

#[test]
fn requirements_of_codex() {
    let text = r#"
allowed_approval_policies = ["on-request"]
[mcp_servers.docs]
identity = { command = "npx" }
[mcp_servers.remote.identity]
url = "https://example.com/mcp"
[mcp_servers.gone]
identity = { command = "uvx" }
"#;
    let (mcp, said) = imported(Host::Codex, text);
    let expected = json!({"allow": [{"command": ["/usr/bin/npx", "…"]}, {"host": "example.com"}]});
    assert_eq!(mcp, expected);
    assert!(
        said.iter()
            .any(|line| line.starts_with("not expressed") && line.contains("uvx"))
    );
    assert_eq!(
        imported(Host::Codex, "[mcp_servers]").0,
        json!({"allow": []})
    );
    assert_eq!(imported(Host::Codex, "").0, json!({}));
}

#[test]
fn ids_of_windsurf() {
    let text = json!({
        "a": {"command": "^npx$", "args": ["-y", r"server@1\.0\.0"]},
        "b": {"command": "npx", "args": ["-y", "server(@.*)?"]},
        "c": {"serverUrl": r"https://example\.com/mcp"},
    });
    let (mcp, said) = imported(Host::Windsurf, &text.to_string());
    let expected = json!({"allow": [{"command": ["/usr/bin/npx", "-y", "server@1.0.0"]}, {"host": "example.com"}]});
    assert_eq!(mcp, expected);
    assert!(
        said.iter()
            .any(|line| line.starts_with("not expressed: b:"))
    );
}

const POLICY: &str = r#"{"mcp": {
  "allow": [
    {"host": "*.example.com"},
    {"command": ["/usr/bin/npx", "-y", "a@1.0.0"], "env": ["KEY"], "dir": false},
    {"command": ["/usr/bin/uvx", "…"]}
  ],
  "deny": [{"sha256": "0000000000000000000000000000000000000000000000000000000000000000"}],
  "floor": {"network": "none"}
}}"#;

fn exported(to: Host, aliases: &[&str]) -> (String, Vec<Said>) {
    let policy = parse(POLICY, Path::new("policy"), None).unwrap();
    let aliases: Vec<Alias> = aliases.iter().map(|alias| alias.parse().unwrap()).collect();
    let through = Through {
        supervisor: "/usr/bin/supervisor",
        aliases: &aliases,
    };
    let done = export(&policy, to, &through).unwrap();
    (done.text, done.said)
}

fn lost(said: &[Said]) -> Vec<&str> {
    said.iter()
        .filter(|said| said.lost)
        .map(|said| said.what.as_str())
        .collect()
}

#[test]
fn to_claude_and_vscode() {
    let (text, said) = exported(Host::Claude, &[]);
    let file: Value = serde_json::from_str(&text).unwrap();
    let hosts = [
        json!({"serverUrl": "https://*.example.com/*"}),
        json!({"serverUrl": "http://*.example.com/*"}),
    ];
    let mut allow = hosts.to_vec();
    allow.push(json!({"serverCommand": ["/usr/bin/npx", "-y", "a@1.0.0"]}));
    assert_eq!(
        file,
        json!({"allowManagedMcpServersOnly": true, "allowedMcpServers": allow})
    );
    assert_eq!(lost(&said).len(), 3, "{said:?}");
    assert!(
        said.iter()
            .any(|said| !said.lost && said.how.contains("env, dir"))
    );

    let (text, _) = exported(Host::Vscode, &["weather"]);
    let file: Value = serde_json::from_str(&text).unwrap();
    let mut allow = vec![json!({"serverCommand": ["/usr/bin/supervisor", "run", "weather"]})];
    allow.extend(hosts);
    assert_eq!(file, json!({"ChatAllowedMcpServers": allow}));
}

#[test]
fn to_codex_and_windsurf() {
    let (text, said) = exported(Host::Codex, &["weather"]);
    assert_eq!(
        text,
        "[mcp_servers.weather]\nidentity = { command = \"/usr/bin/supervisor\" }\n"
    );
    // Every entry and floor is told.
    assert_eq!(lost(&said).len(), 5);
    assert_eq!(exported(Host::Codex, &[]).0, "[mcp_servers]\n");
    let (text, said) = exported(Host::Windsurf, &["weather"]);
    let file: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        file,
        json!({"weather": {"command": "/usr/bin/supervisor", "args": ["run", "weather"]}})
    );
    assert_eq!(lost(&said).len(), 5);
}

/// What is imported of an export is no more than there was.
#[test]
fn there_and_back() {
    let (text, _) = exported(Host::Claude, &[]);
    let (mcp, _) = imported(Host::Claude, &text);
    let expected = json!({"allow": [
        {"host": "*.example.com"},
        {"command": ["/usr/bin/npx", "-y", "a@1.0.0"]},
    ]});
    assert_eq!(mcp, expected);
}
