//! What is read of a line is what a reader of all of it reads; nothing is read in two ways.
//!
//! The input up to its first LF is a line.

use serde_json::Value;

use super::super::envelope::{Id, Message, Reply, read};
use super::super::salvage::Salvage;
use super::driver::signature;

pub fn target(input: &[u8]) -> u64 {
    let line = input
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let whole = Salvage::of(line);
    let mut portions = Salvage::default();
    for byte in line {
        portions.feed(&[*byte]);
    }
    assert_eq!(
        (whole.ids(), whole.likeness()),
        (portions.ids(), portions.likeness())
    );
    let value: Option<Value> = serde_json::from_slice(line).ok();
    match read(line) {
        Err(fault) => signature(format!("{fault:?}").as_bytes()),
        Ok(message) => {
            // A value that a plain reader does not get is nested too deep for it, or has a number
            // that it has no form for.
            if let Some(value) = &value {
                same(&message, value);
            }
            if let Some(id) = id(&message) {
                assert_eq!(
                    whole.ids(),
                    std::slice::from_ref(id),
                    "what is salvaged is what is read"
                );
                assert_eq!(
                    Id::read(&id.json()).as_ref(),
                    Some(id),
                    "and what is written"
                );
            }
            signature(shape(&message).as_bytes())
        }
    }
}

fn id<'a>(message: &'a Message<'_>) -> Option<&'a Id> {
    match message {
        Message::Request { id, .. } => Some(id),
        Message::Response { id, .. } => id.as_ref(),
        Message::Notification { .. } => None,
    }
}

fn shape(message: &Message<'_>) -> String {
    match message {
        Message::Request { id, params, .. } => {
            let meta = params.meta();
            let id = matches!(id, Id::Text(_));
            format!(
                "q{id}{}{}{meta:?}",
                params.name().is_some(),
                params.arguments().is_some()
            )
        }
        Message::Notification { params, .. } => {
            format!(
                "n{}{}",
                params.request().is_some(),
                params.progress().is_some()
            )
        }
        Message::Response { id, reply } => {
            format!(
                "r{}{:?}{}",
                id.is_some(),
                reply.code().map(i64::signum),
                reply.is_tool_error()
            )
        }
    }
}

/// Compares with a reader that takes the last of two equal members.
fn same(message: &Message<'_>, value: &Value) {
    assert_eq!(value["jsonrpc"], "2.0");
    let method = |method: &str| assert_eq!(value["method"], method);
    match message {
        Message::Request {
            method: name,
            params,
            ..
        } => {
            method(name);
            let name = params.name();
            assert!(name.is_none() || value["params"]["name"] == Value::from(name));
        }
        Message::Notification { method: name, .. } => {
            method(name);
            assert!(value.get("id").is_none());
        }
        Message::Response { reply, .. } => {
            assert!(value.get("method").is_none());
            let tool_error = value["result"]["isError"] == true;
            match reply {
                Reply::Result(_) => assert_eq!(reply.is_tool_error(), tool_error),
                Reply::Error(_) => assert!(value["error"].is_object()),
            }
        }
    }
    if let Some(Id::Text(text)) = id(message) {
        assert_eq!(value["id"], **text);
    }
}
