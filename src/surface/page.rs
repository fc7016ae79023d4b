//! One answer of a server, read. Pure.
//!
//! What two readers could read differently is not read: an answer in which an object names a
//! key twice, at any level, is refused whole.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::canonical::{Item, Kind};
use crate::declaration::document::Unique;

/// What a server answered.
#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    /// A result that is an object.
    Result(Value),
    /// An error and its code; 0 where it names none.
    Error(i64),
}

/// One page of a list.
#[derive(Debug, PartialEq)]
pub(super) struct Page {
    /// What can be asked for.
    pub(super) items: Vec<Item>,
    /// Entries that have no name to be asked for by.
    pub(super) nameless: usize,
    /// Where the next page begins.
    pub(super) next: Option<String>,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// Reads the line of an answer.
///
/// # Errors
/// Why it cannot be read.
pub(super) fn reply(line: &[u8]) -> Result<Reply, &'static str> {
    let answer: Answer<'_> = serde_json::from_slice(line).map_err(|_| "it is no answer")?;
    if let Some(error) = answer.error {
        let error: Value = serde_json::from_str(error.get()).unwrap_or_default();
        let code = error.get("code").and_then(Value::as_i64).unwrap_or(0);
        return Ok(Reply::Error(code));
    }
    let text = answer.result.ok_or("it has no result")?.get();
    if serde_json::from_str::<Unique>(text).is_err() {
        return Err("an object names a key twice, or it is nested too deep");
    }
    match serde_json::from_str(text) {
        Ok(result @ Value::Object(_)) => Ok(Reply::Result(result)),
        _ => Err("the result is no object"),
    }
}

/// Reads a page of a list of `kind`.
///
/// # Errors
/// Why it cannot be read.
pub(super) fn page(kind: Kind, mut result: Value) -> Result<Page, &'static str> {
    let list = match kind {
        Kind::Tool => "tools",
        Kind::Prompt => "prompts",
        Kind::Resource => "resources",
        Kind::Template => "resourceTemplates",
        Kind::Instructions => return Err("instructions are no list"),
    };
    let kept = result.get("resultType").and_then(Value::as_str);
    if kept.is_some_and(|word| word != "complete") {
        return Err("the list is not complete");
    }
    let Some(Value::Array(entries)) = result.get_mut(list).map(Value::take) else {
        return Err("it holds no list");
    };
    let count = entries.len();
    let items: Vec<Item> = entries
        .into_iter()
        .filter_map(|entry| Item::listed(kind, entry))
        .collect();
    let next = match result.get("nextCursor") {
        None | Some(Value::Null) => None,
        Some(Value::String(cursor)) if cursor.is_empty() => None,
        Some(Value::String(cursor)) => Some(cursor.clone()),
        Some(_) => return Err("its cursor is no string"),
    };
    Ok(Page {
        nameless: count.saturating_sub(items.len()),
        items,
        next,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers() {
        let read = |text: &str| reply(text.as_bytes());
        assert_eq!(
            read(r#"{"id":1,"result":{"a":1}}"#),
            Ok(Reply::Result(json!({"a": 1})))
        );
        assert_eq!(
            read(r#"{"error":{"code":-32601,"message":"no"}}"#),
            Ok(Reply::Error(-32601))
        );
        assert_eq!(read(r#"{"error":"no"}"#), Ok(Reply::Error(0)));
        for bad in [
            r#"{"id":1,"result":[]}"#.to_owned(),
            r#"{"id":1,"result":{"a":1,"a":1}}"#.to_owned(),
            r#"{"id":1,"result":{"a":[{"b":1,"\u0062":2}]}}"#.to_owned(),
            r#"{"id":1,"result":{"a":"\ud800"}}"#.to_owned(),
            r#"{"id":1}"#.to_owned(),
            format!(
                r#"{{"result":{{"a":{}1{}}}}}"#,
                "[".repeat(9_000),
                "]".repeat(9_000)
            ),
        ] {
            assert!(read(&bad).is_err(), "{bad:.60}");
        }
    }

    #[test]
    fn pages() {
        let read = |result: Value| page(Kind::Tool, result);
        let got = read(json!({"tools": [{"name": "a"}, {}, 7], "nextCursor": "x", "ttlMs": 1}));
        let got = got.unwrap();
        assert_eq!(
            (got.items.len(), got.nameless, got.next),
            (1, 2, Some("x".into()))
        );
        assert_eq!(
            read(json!({"tools": [], "nextCursor": ""})).unwrap().next,
            None
        );
        for bad in [
            json!({}),
            json!({"tools": {}}),
            json!({"tools": [], "nextCursor": 7}),
            json!({"tools": [], "resultType": "input_required"}),
        ] {
            assert!(read(bad).is_err());
        }
    }
}
