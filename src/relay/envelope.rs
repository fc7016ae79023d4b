//! Reads of a message what the relay needs to know, and nothing that is not there.
//!
//! Pure. One pass over the line, no copy of it: the members at the top, and a few inside
//! `params` ([`super::params`]). What the relay and the host (or the server) could read differently is no message:
//! a member named twice, a member whose name differs from one of ours in letter case only (some
//! decoders take those), an id that is neither a string nor an integer. Numbers are compared by
//! their digits and never turned into a float. Depth costs no stack.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::params::{Name, Params};

/// The longest id, in bytes as written. Ids are kept while a request is open.
pub(super) const MAX_ID_BYTES: usize = 1_024;
/// Members at the top of a message; JSON-RPC has four.
const MAX_MEMBERS: usize = 32;
const OURS: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// The id of a request; equal only to itself: `1` is not `"1"`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Id {
    /// Its decimal digits.
    Integer(String),
    /// The characters, escapes resolved: `"\u0061"` is `"a"`.
    Text(String),
}

impl Id {
    /// The id a JSON value spells; `None` for what MCP allows no id to be: null, true, a
    /// fraction, an exponent, `-0`, an array, or more than [`MAX_ID_BYTES`].
    pub(super) fn read(json: &str) -> Option<Self> {
        if json.len() > MAX_ID_BYTES {
            return None;
        }
        if json.starts_with('"') {
            return serde_json::from_str(json).ok().map(Self::Text);
        }
        let digits = json.strip_prefix('-').unwrap_or(json);
        let whole = digits.bytes().all(|byte| byte.is_ascii_digit());
        let canonical = match digits.as_bytes() {
            [] => false,
            [b'0'] => json == "0",
            [first, ..] => *first != b'0',
        };
        (whole && canonical).then(|| Self::Integer(json.to_owned()))
    }

    /// The id as JSON.
    pub(super) fn json(&self) -> String {
        match self {
            Self::Integer(digits) => digits.clone(),
            Self::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
        }
    }
}

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message<'a> {
    /// Wants an answer.
    Request {
        id: Id,
        method: Cow<'a, str>,
        params: Params<'a>,
    },
    /// Wants none.
    Notification {
        method: Cow<'a, str>,
        params: Params<'a>,
    },
    /// Answers; without an id that a request can have, nobody.
    Response { id: Option<Id>, reply: Reply<'a> },
}

/// What an answer says, as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply<'a> {
    /// The value of `result`.
    Result(&'a str),
    /// The object of `error`.
    Error(&'a str),
}

impl Reply<'_> {
    /// The code of an error, 0 where it has none that is an integer; `None` of a result.
    pub(super) fn code(&self) -> Option<i64> {
        let Self::Error(json) = self else {
            return None;
        };
        Some(
            flagged(json, "code")
                .and_then(|code| code.parse().ok())
                .unwrap_or(0),
        )
    }

    /// Whether it is a result that says `"isError": true`.
    pub(super) fn is_tool_error(&self) -> bool {
        match self {
            Self::Result(json) => flagged(json, "isError") == Some("true"),
            Self::Error(_) => false,
        }
    }
}

/// The value of a member of an object; the last, where it stands there more than once.
fn flagged<'a>(json: &'a str, name: &'static str) -> Option<&'a str> {
    let mut reader = serde_json::Deserializer::from_str(json);
    Member(name).deserialize(&mut reader).ok()?
}

/// Reads the one member of that name, and passes over the others.
struct Member(&'static str);

impl<'de> DeserializeSeed<'de> for Member {
    type Value = Option<&'de str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Member {
    type Value = Option<&'de str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut found = None;
        while let Some(Name(name)) = map.next_key()? {
            if name == self.0 {
                found = Some(map.next_value::<&RawValue>()?.get());
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Why a line is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Malformed {
    #[error("it is empty")]
    Blank,
    #[error("it is not UTF-8")]
    Encoding,
    #[error("it is not JSON")]
    Json,
    #[error("it is a batch")]
    Batch,
    #[error("it is no object")]
    NoObject,
    #[error("a member stands there twice")]
    Twice,
    #[error("a member's name differs from a reserved one in letter case only")]
    Lookalike,
    #[error("it has too many members")]
    TooMany,
    #[error("its jsonrpc is not \"2.0\"")]
    Version,
    #[error("its id is neither a string nor an integer, or too long")]
    Id,
    #[error("it is neither a request nor a notification nor a response")]
    Shape,
}

/// Reads one line, its LF not included.
///
/// # Errors
///
/// Why the line is no message of JSON-RPC 2.0.
pub(super) fn read(line: &[u8]) -> Result<Message<'_>, Malformed> {
    let text = std::str::from_utf8(line).map_err(|_| Malformed::Encoding)?;
    let space = |c: char| matches!(c, ' ' | '\t' | '\r');
    match text.trim_start_matches(space).bytes().next() {
        None => return Err(Malformed::Blank),
        Some(b'{') => {}
        first => {
            let json = serde_json::from_str::<IgnoredAny>(text).is_ok();
            return Err(match first {
                _ if !json => Malformed::Json,
                Some(b'[') => Malformed::Batch,
                _ => Malformed::NoObject,
            });
        }
    }
    let members: Members<'_> = serde_json::from_str(text).map_err(|_| Malformed::Json)?;
    members.message()
}

/// The members at the top, each as JSON.
#[derive(Default)]
struct Members<'a> {
    jsonrpc: Option<&'a str>,
    id: Option<&'a str>,
    method: Option<&'a str>,
    params: Option<Params<'a>>,
    result: Option<&'a str>,
    error: Option<&'a str>,
    others: Vec<Cow<'a, str>>,
    fault: Option<Malformed>,
}

impl<'a> Members<'a> {
    fn message(self) -> Result<Message<'a>, Malformed> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if self.jsonrpc != Some("\"2.0\"") {
            return Err(Malformed::Version);
        }
        let params = self.params.unwrap_or_default();
        if params.is_ambiguous() {
            return Err(Malformed::Twice);
        }
        let error_is_object = self.error.is_none_or(|json| json.starts_with('{'));
        match (self.method, self.result, self.error) {
            (Some(json), None, None) => {
                let method = string(json).ok_or(Malformed::Shape)?;
                let Some(id) = self.id else {
                    return Ok(Message::Notification { method, params });
                };
                let id = Id::read(id).ok_or(Malformed::Id)?;
                Ok(Message::Request { id, method, params })
            }
            (None, Some(json), None) => answer(self.id, Reply::Result(json)),
            (None, None, Some(json)) if error_is_object => answer(self.id, Reply::Error(json)),
            _ => Err(Malformed::Shape),
        }
    }

    fn blame(&mut self, fault: Malformed) {
        self.fault.get_or_insert(fault);
    }

    fn member<M: MapAccess<'a>>(
        &mut self,
        name: Cow<'a, str>,
        map: &mut M,
    ) -> Result<(), M::Error> {
        let twice = match &*name {
            "jsonrpc" => self
                .jsonrpc
                .replace(map.next_value::<&RawValue>()?.get())
                .is_some(),
            "id" => self
                .id
                .replace(map.next_value::<&RawValue>()?.get())
                .is_some(),
            "method" => self
                .method
                .replace(map.next_value::<&RawValue>()?.get())
                .is_some(),
            "params" => self.params.replace(map.next_value()?).is_some(),
            "error" => self
                .error
                .replace(map.next_value::<&RawValue>()?.get())
                .is_some(),
            "result" => self
                .result
                .replace(map.next_value::<&RawValue>()?.get())
                .is_some(),
            _ => {
                map.next_value::<IgnoredAny>()?;
                self.other(name);
                false
            }
        };
        if twice {
            self.blame(Malformed::Twice);
        }
        Ok(())
    }

    fn other(&mut self, name: Cow<'a, str>) {
        if OURS.contains(&fold(&name).as_str()) {
            self.blame(Malformed::Lookalike);
        } else if self.others.contains(&name) {
            self.blame(Malformed::Twice);
        } else if self.others.len() + OURS.len() >= MAX_MEMBERS {
            self.blame(Malformed::TooMany);
        } else {
            self.others.push(name);
        }
    }
}

fn answer<'a>(id: Option<&str>, reply: Reply<'a>) -> Result<Message<'a>, Malformed> {
    let id = match id {
        Some(id) if id.starts_with(['[', '{', 't', 'f']) => return Err(Malformed::Id),
        Some(id) => Id::read(id),
        // An error about a request whose id could not be read has none (2025-11-25).
        None if matches!(reply, Reply::Error(_)) => None,
        None => return Err(Malformed::Shape),
    };
    Ok(Message::Response { id, reply })
}

/// A name as a decoder that ignores letter case sees it (Go's also takes U+017F for s, and the
/// Kelvin sign for k). Names longer than any of ours are cut: they equal none.
fn fold(name: &str) -> String {
    let plain = |c: char| if c == '\u{17f}' { 's' } else { c };
    name.chars()
        .take(9)
        .map(plain)
        .flat_map(char::to_lowercase)
        .collect()
}

/// The characters of a JSON string, borrowed where nothing is escaped.
fn string(json: &str) -> Option<Cow<'_, str>> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        return serde_json::from_str(json).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut members = Members::default();
                while let Some(Name(name)) = map.next_key()? {
                    members.member(name, &mut map)?;
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

#[cfg(test)]
#[path = "envelope_tests.rs"]
mod tests;
