//! One unit of work of each pure part of the relay: a stream split, a message read, a call judged.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::frame::{Frame, Inbox};
use super::gate::{Effect, Gate, Moment, Step};
use super::rules::{Action, Permissions, Rule};
use super::{Audit, Breaker, Filter, MAX_MESSAGE_BYTES, Rules, Settings, envelope};
use crate::surface::Kind;
use crate::surface::canonical::Item;

/// How many tools the server lists.
const TOOLS: usize = 20;

/// One direction's bytes.
#[derive(Debug)]
pub struct Lines(Inbox);

impl Default for Lines {
    fn default() -> Self {
        Self(Inbox::new(MAX_MESSAGE_BYTES))
    }
}

impl Lines {
    /// One unit: splits a stream that ends with a line, and says how many bytes of lines it had.
    #[inline(never)]
    pub fn split(&mut self, mut stream: &[u8]) -> usize {
        let mut bytes = 0;
        while !stream.is_empty() {
            let room = self.0.room();
            let count = room.len().min(stream.len());
            let (part, rest) = stream.split_at(count);
            room.split_at_mut(count).0.copy_from_slice(part);
            self.0.filled(count);
            stream = rest;
            while let Some(frame) = self.0.next() {
                if let Frame::Line(range) = frame {
                    bytes += self.0.bytes(range).len();
                }
            }
        }
        bytes
    }
}

/// One unit: reads a message.
#[inline(never)]
#[must_use]
pub fn is_message(line: &[u8]) -> bool {
    envelope::read(line).is_ok()
}

/// A session in which every rule is on, the surface is approved and calls are recorded.
#[derive(Debug)]
pub struct Calls(Gate);

impl Calls {
    /// Such a session, after the handshake and the list of tools. A host may call `tool_0`.
    #[must_use]
    pub fn begun() -> Option<Self> {
        let listed = || (0..TOOLS).map(tool);
        let items = listed().map(|tool| Item::listed(Kind::Tool, tool));
        let surface = items.collect::<Option<_>>()?;
        let settings = Settings {
            alias: "weather".into(),
            max_message_bytes: MAX_MESSAGE_BYTES,
            surface: Some(surface),
            whole: false,
            filter: Filter {
                exclude: vec!["delete_*".parse().ok()?],
                ..Filter::default()
            },
            granted: BTreeSet::new(),
            rules: rules()?,
            seed: [7; 32],
            start_limit: None,
            call_limit: None,
            audit: Audit::Digests,
            breaker: Breaker::default(),
            discover: None,
        };
        let now = Moment {
            at: Instant::now(),
            of_day: Timestamp::UNIX_EPOCH,
        };
        let mut calls = Self(Gate::new(&settings, now));
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "h", "version": "1"}});
        let answer = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}});
        calls.exchange("initialize", &hello, &answer)?;
        calls.up(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        let tools: Vec<Value> = listed().collect();
        calls.exchange("tools/list", &json!({}), &json!({"tools": tools}))?;
        Some(calls)
    }

    /// One unit: a call on its way up and its answer on its way down; whether both pass.
    #[inline(never)]
    pub fn call(&mut self, call: &[u8], answer: &[u8]) -> bool {
        self.up(call) && self.0.server_line(answer) == Step::Forward && !self.effects().is_empty()
    }

    fn up(&mut self, line: &[u8]) -> bool {
        self.0.host_line(line) == Step::Forward
    }

    /// What follows beside the lines; the loop takes it after each.
    fn effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.0.effects)
    }

    fn exchange(&mut self, method: &str, params: &Value, result: &Value) -> Option<()> {
        let ask = json!({"jsonrpc": "2.0", "id": 0, "method": method, "params": params});
        let answer = json!({"jsonrpc": "2.0", "id": 0, "result": result});
        let asked = self.up(ask.to_string().as_bytes());
        let answered = self.0.server_line(answer.to_string().as_bytes()) == Step::Forward;
        self.effects();
        (asked && answered).then_some(())
    }
}

fn tool(number: usize) -> Value {
    json!({
        "name": format!("tool_{number}"),
        "description": "Does what it is asked for, and says what came of it.",
        "inputSchema": {"type": "object", "properties": {"data": {"type": "string"}}},
    })
}

/// A rule of each kind; `tool_0` passes by the last one that it could.
fn rules() -> Option<Rules> {
    let list = |words: &[&str]| -> Option<Vec<Rule>> {
        words.iter().map(|word| word.parse().ok()).collect()
    };
    Some(Rules {
        permissions: Permissions {
            deny: list(&["Mcp(weather:tool_1)", "Mcp(other)"])?,
            ask: list(&["Mcp(weather:tool_2)", "Mcp(other:*)"])?,
            allow: list(&["Mcp(notes)", "Mcp(weather:tool_0)"])?,
            default: Action::Ask,
            ..Permissions::default()
        },
        ..Rules::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_does_its_work() {
        let mut lines = Lines::default();
        let stream = [vec![b'x'; 100_000], b"\n{}\n".to_vec()].concat();
        assert_eq!(lines.split(&stream), stream.len());
        let call = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool_0","arguments":{}}}"#;
        let answer = br#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
        assert!(is_message(call) && is_message(answer));
        let mut calls = Calls::begun().unwrap();
        assert!(calls.call(call, answer) && calls.call(call, answer));
        let denied =
            br#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"tool_1"}}"#;
        assert!(!calls.call(denied, answer));
    }
}
