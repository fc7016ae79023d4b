//! Reads of a message what the relay needs to know, and nothing that is not there.
//!
//! Pure. One pass over the line, no copy of it: the members at the top, and a few inside
//! `params` ([`super::params`]). What the relay and the host (or the server) could read differently is no message:
//! a member named twice, a member whose name differs from one of ours in letter case only (some
//! decoders take those), an id that is neither a string nor an integer. Numbers are compared by
//! their digits and never turned into a float. Depth costs no stack.

use std::borrow::Cow;

use super::params::Params;
use super::scan::{NotJson, Scan, characters};
use super::splice::{self, Member};

/// The longest id, in bytes as written. Ids are kept while a request is open.
pub(super) const MAX_ID_BYTES: usize = 1_024;
/// Members at the top of a message; JSON-RPC has four.
const MAX_MEMBERS: usize = 32;
const OURS: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// The id of a request; equal only to itself: `1` is not `"1"`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
            return characters(json).ok().map(|id| Self::Text(id.into_owned()));
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

/// What an answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply<'a> {
    /// The value of `result`.
    Result(Found<'a>),
    /// The object of `error`, as JSON.
    Error(&'a str),
}

/// A result, and what the relay looks for in each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Found<'a> {
    /// As JSON.
    pub(super) json: &'a str,
    /// The last `isError` is true.
    tool_error: bool,
    /// It asks the host for something ([`asks`]).
    pub(super) asks: bool,
}

impl<'a> Found<'a> {
    /// Reads the next value.
    fn read(scan: &mut Scan<'a>) -> Result<Self, NotJson> {
        let mut found = Self::default();
        found.json = scan.members(|scan, written| {
            let member = Member {
                name: characters(written).ok(),
                written,
                value: scan.value()?,
            };
            if member.is("isError") {
                found.tool_error = member.value == "true";
            }
            found.asks |= asks(&member);
            Ok(())
        })?;
        Ok(found)
    }
}

/// Whether a member of a result asks the host for something.
pub(super) fn asks(member: &Member<'_>) -> bool {
    member.is_like("inputRequests") && member.value != "null"
}

impl Reply<'_> {
    /// The code of an error, 0 where it has none that is an integer; `None` of a result.
    pub(super) fn code(&self) -> Option<i64> {
        let Self::Error(json) = self else {
            return None;
        };
        let members = splice::members(json);
        let code = members.iter().rfind(|member| member.is("code"));
        Some(code.and_then(|code| code.value.parse().ok()).unwrap_or(0))
    }

    /// Whether it is a result that says `"isError": true`.
    pub(super) fn is_tool_error(&self) -> bool {
        match self {
            Self::Result(found) => found.tool_error,
            Self::Error(_) => false,
        }
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
    #[error("a carriage return stands in it, where some readers end a line")]
    Return,
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
    let text = text.trim_start_matches(space);
    match text.bytes().next() {
        None => return Err(Malformed::Blank),
        Some(b'{') => {}
        first => {
            let mut scan = Scan::new(text);
            let json = scan.value().and_then(|_| scan.end());
            return Err(match first {
                _ if json.is_err() => Malformed::Json,
                Some(b'[') => Malformed::Batch,
                _ => Malformed::NoObject,
            });
        }
    }
    let (mut scan, mut members) = (Scan::new(text), Members::default());
    scan.members(|scan, name| members.member(scan, characters(name)?))
        .map_err(|NotJson| Malformed::Json)?;
    // A part of it could be a message of its own. Nobody ends a line at one before or after it all.
    let returned = scan.returned();
    scan.end().map_err(|NotJson| Malformed::Json)?;
    if returned {
        return Err(Malformed::Return);
    }
    members.message()
}

/// The members at the top, each as JSON.
#[derive(Default)]
struct Members<'a> {
    jsonrpc: Option<&'a str>,
    id: Option<&'a str>,
    method: Option<&'a str>,
    params: Option<Params<'a>>,
    result: Option<Found<'a>>,
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
                let method = characters(json).map_err(|NotJson| Malformed::Shape)?;
                let Some(id) = self.id else {
                    return Ok(Message::Notification { method, params });
                };
                let id = Id::read(id).ok_or(Malformed::Id)?;
                Ok(Message::Request { id, method, params })
            }
            (None, Some(found), None) => answer(self.id, Reply::Result(found)),
            (None, None, Some(json)) if error_is_object => answer(self.id, Reply::Error(json)),
            _ => Err(Malformed::Shape),
        }
    }

    fn blame(&mut self, fault: Malformed) {
        self.fault.get_or_insert(fault);
    }

    fn member(&mut self, scan: &mut Scan<'a>, name: Cow<'a, str>) -> Result<(), NotJson> {
        let twice = match &*name {
            "jsonrpc" => self.jsonrpc.replace(scan.value()?).is_some(),
            "id" => self.id.replace(scan.value()?).is_some(),
            "method" => self.method.replace(scan.value()?).is_some(),
            "params" => self.params.replace(Params::read(scan)?).is_some(),
            "error" => self.error.replace(scan.value()?).is_some(),
            "result" => self.result.replace(Found::read(scan)?).is_some(),
            _ => {
                scan.value()?;
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
        if OURS.iter().any(|ours| splice::alike(&name, ours)) {
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

#[cfg(test)]
#[path = "envelope_tests.rs"]
mod tests;
