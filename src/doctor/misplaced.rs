//! Keys of `settings.json` that would declare a server elsewhere. Pure.
//!
//! Declarations stand in `mcp.json` alone; what other hosts keep in their settings has no effect
//! here, and a person should hear that. A key is named by its path, and nothing of what it holds.

use serde_json::Value;

/// The names that agent hosts declare servers under (`docs/declaration.md`).
const NAMES: [&str; 6] = [
    "mcpServers",
    "mcp_servers",
    "servers",
    "context_servers",
    "contextServers",
    "mcp",
];
/// How deep they are looked for.
const DEPTH: usize = 3;

/// The paths of such keys in the text of a file, in their order.
///
/// # Errors
/// The text is no JSON.
pub fn keys(text: &str) -> Result<Vec<String>, serde_json::Error> {
    let mut found = Vec::new();
    look(&serde_json::from_str(text)?, "", DEPTH, &mut found);
    Ok(found)
}

fn look(value: &Value, above: &str, depth: usize, found: &mut Vec<String>) {
    let Value::Object(entries) = value else {
        return;
    };
    for (key, value) in entries {
        let path = if above.is_empty() {
            key.clone()
        } else {
            format!("{above}.{key}")
        };
        if NAMES.contains(&key.as_str()) || is_server(value) {
            found.push(path);
        } else if let Some(depth) = depth.checked_sub(1) {
            look(value, &path, depth, found);
        }
    }
}

/// Whether a value has the shape of a declared server.
fn is_server(value: &Value) -> bool {
    let text = |name: &str| value.get(name).is_some_and(Value::is_string);
    let words = |name: &str| value.get(name).is_some_and(Value::is_array);
    text("command") && (words("args") || value.get("env").is_some())
        || text("url") && value.get("headers").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_would_declare_a_server_are_named_and_nothing_in_them() {
        let text = r#"{
            "version": 1,
            "permissions": {"deny": ["x"]},
            "mcpServers": {"a": {"command": "secret", "args": []}},
            "mcp": {"servers": {}},
            "editor": {"context_servers": {}},
            "weather": {"command": "npx", "args": ["-y"]},
            "elsewhere": {"url": "https://x", "headers": {}},
            "check": ["command", "args"]
        }"#;
        let mut found = keys(text).unwrap();
        found.sort();
        assert_eq!(
            found,
            [
                "editor.context_servers",
                "elsewhere",
                "mcp",
                "mcpServers",
                "weather"
            ]
        );
        assert!(keys("{}").unwrap().is_empty());
        assert!(keys("[1]").unwrap().is_empty());
        assert!(keys("{").is_err());
    }
}
