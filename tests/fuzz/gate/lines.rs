//! What lines of ours are.

use super::super::super::envelope::{Message, read};

/// Whether that is a request of ours to the host.
pub fn asks(lines: &[u8]) -> bool {
    let line = lines.strip_suffix(b"\n").unwrap_or_default();
    matches!(read(line), Ok(Message::Request { .. }))
}

/// The ids of whole lines of ours.
pub fn json(lines: &[u8]) -> Vec<String> {
    assert!(lines.is_empty() || lines.ends_with(b"\n"));
    let lines = lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    lines
        .map(|line| match read(line) {
            Ok(Message::Response { id: Some(id), .. } | Message::Request { id, .. }) => id.json(),
            _ => {
                let value: serde_json::Value =
                    serde_json::from_slice(line).expect("our own lines are JSON");
                let id = value.get("id");
                id.map_or_else(|| "null".to_owned(), ToString::to_string)
            }
        })
        .collect()
}
