//! The bundled server: MCP over stdio, tools `greet` and `attempt`.
#![expect(
    clippy::disallowed_methods,
    reason = "the bundled server looks at where it runs"
)]

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use serde_json::{Value, json};

use super::attempt::Attempt;

/// The hidden command that starts it.
pub const ARGUMENT: &str = "__server";

/// Serves until its input ends.
pub fn main() -> ExitCode {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let Some(answer) = answer(&line) else {
            continue;
        };
        if writeln!(out, "{answer}")
            .and_then(|()| out.flush())
            .is_err()
        {
            break;
        }
    }
    ExitCode::SUCCESS
}

/// The answer to one line, if it asks for one.
fn answer(line: &str) -> Option<Value> {
    let message: Value = serde_json::from_str(line).ok()?;
    let id = message.get("id")?;
    let result = match message.get("method").and_then(Value::as_str)? {
        "initialize" => json!({
            "protocolVersion": message.pointer("/params/protocolVersion").cloned().unwrap_or_else(|| json!("2025-06-18")),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "supervisor-try", "version": env!("CARGO_PKG_VERSION")},
        }),
        "ping" => json!({}),
        "tools/list" => json!({"tools": [
            {"name": "greet", "description": "Says where it runs", "inputSchema": {"type": "object"}},
            {"name": "attempt", "description": "Attacks what it is told to", "inputSchema": {
                "type": "object",
                "properties": {"what": {"type": "string"}, "target": {"type": "string"}},
                "required": ["what", "target"],
            }},
        ]}),
        "tools/call" => call(message.get("params")?),
        _ => {
            let error = json!({"code": -32601, "message": "method not found"});
            return Some(json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
    };
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

fn call(params: &Value) -> Value {
    match params.get("name").and_then(Value::as_str) {
        Some("greet") => text(&greeting()),
        Some("attempt") => attempt(params.get("arguments")),
        _ => json!({"isError": true, "content": [{"type": "text", "text": "no such tool"}]}),
    }
}

fn attempt(arguments: Option<&Value>) -> Value {
    let parsed = arguments.and_then(|arguments| {
        let what: Attempt = serde_json::from_value(arguments.get("what")?.clone()).ok()?;
        Some((what, arguments.get("target")?.as_str()?))
    });
    match parsed {
        Some((what, target)) => {
            let outcome = what.run(target);
            let mut result = text(&outcome.detail);
            if let (Some(result), Ok(outcome)) =
                (result.as_object_mut(), serde_json::to_value(&outcome))
            {
                result.insert("structuredContent".to_owned(), outcome);
            }
            result
        }
        None => json!({"isError": true, "content": [{"type": "text", "text": "no such attempt"}]}),
    }
}

fn greeting() -> String {
    let home = std::env::var("HOME").unwrap_or_else(|_| "none".to_owned());
    let names: Vec<String> = std::env::vars_os()
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .collect();
    format!(
        "hello from process {}, home {home}, {} variables",
        std::process::id(),
        names.len()
    )
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}
