//! What happens in a run, as the audit log has it.
//!
//! Pure: types and their JSON. Words of a host's that go in (a tool's name) are cut; words of a
//! server's do not go in.

use std::io::Write as _;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::relay::{Counters, Exit};

/// The version of a line.
pub const VERSION: u32 = 1;
/// Arguments of more bytes are not kept, whatever the declaration asks for.
pub const LONGEST_ARGUMENTS: usize = 65_536;

/// How a call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A result.
    Ok,
    /// A result with `isError`.
    ToolError,
    /// An error of the protocol, the server's or the relay's.
    Error,
    /// It was not passed on.
    Refused,
    /// The time ran out.
    Timeout,
    /// The server ended before it answered.
    Died,
}

impl Outcome {
    /// Every one, with its word.
    pub const ALL: [(&'static str, Self); 6] = [
        ("ok", Self::Ok),
        ("tool-error", Self::ToolError),
        ("error", Self::Error),
        ("refused", Self::Refused),
        ("timeout", Self::Timeout),
        ("died", Self::Died),
    ];
}

impl std::str::FromStr for Outcome {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(name, _)| *name == word);
        let names = Self::ALL.map(|(name, _)| name).join(", ");
        found
            .map(|(_, outcome)| *outcome)
            .ok_or_else(|| format!("an outcome is one of {names}"))
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Event {
    /// A server was started, confined.
    Start {
        /// The program.
        program: String,
        /// How often it was started before in this run.
        restart: u64,
    },
    /// A run did not start.
    Refused {
        /// The code of the error.
        code: String,
    },
    /// A call of a tool, at its end.
    Call(Box<Call>),
    /// Something a server says of itself is not what was approved, each once a run.
    Surface {
        /// What it is.
        kind: &'static str,
        /// How it differs.
        change: &'static str,
        /// Its name, where one like that was approved.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Its pin.
        sha256: String,
    },
    /// The breaker opened, or closed.
    Breaker {
        /// `open` or `closed`.
        state: &'static str,
        /// Failures in a row.
        failures: u32,
    },
    /// The server broke the protocol or ended, each kind once a run; how often is in `stop`.
    Fault {
        /// Which.
        fault: &'static str,
        /// How it ended, where it did.
        #[serde(skip_serializing_if = "Option::is_none")]
        exit: Option<Exit>,
    },
    /// The end of a run.
    Stop {
        /// How the server ended.
        exit: Exit,
        /// What began the end.
        reason: &'static str,
        /// What passed.
        #[serde(flatten)]
        counters: Counters,
    },
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Call {
    /// Its name, at most 128 characters of it.
    pub tool: String,
    /// SHA-256 of the arguments' JSON as the host wrote it; of `{}` where there are none.
    pub arguments_sha256: String,
    /// The arguments, where the declaration asks for them and they are not too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// The line of the request.
    pub request_bytes: u64,
    /// The line of the answer; 0 where the server gave none.
    pub response_bytes: u64,
    /// From the one to the other.
    pub duration_ms: u64,
    /// How it went.
    pub outcome: Outcome,
    /// Which layer refused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<&'static str>,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
}

impl Event {
    /// The word of a line's `event`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Start { .. } => "start",
            Self::Refused { .. } => "refused",
            Self::Call(_) => "call",
            Self::Surface { .. } => "surface",
            Self::Breaker { .. } => "breaker",
            Self::Fault { .. } => "fault",
            Self::Stop { .. } => "stop",
        }
    }
}

/// Whose run an event is of.
#[derive(Clone, Debug)]
pub struct Run {
    /// The run.
    pub run: String,
    /// The person's name for the server.
    pub alias: String,
    /// The digest of its declaration; none where it was refused before that was known.
    pub digest: Option<String>,
}

impl Run {
    /// The members that every line of the run has, as JSON between commas.
    ///
    /// # Errors
    /// None that can happen: every value is a string.
    pub fn members(&self) -> Result<String, serde_json::Error> {
        let digest = match &self.digest {
            Some(digest) => format!(r#","digest":{}"#, serde_json::to_string(digest)?),
            None => String::new(),
        };
        let run = serde_json::to_string(&self.run)?;
        let alias = serde_json::to_string(&self.alias)?;
        Ok(format!(r#""run":{run},"alias":{alias}{digest}"#))
    }
}

/// Appends the line of an event, its LF included; `run` are the members of [`Run::members`].
///
/// # Errors
/// None that can happen: every value is a string, a number or JSON.
pub fn line(
    into: &mut Vec<u8>,
    (event, time): (&Event, Timestamp),
    run: &str,
    (seq, prev): (u64, &str),
) -> Result<(), serde_json::Error> {
    let name = event.name();
    write!(
        into,
        r#"{}"time":"{time:.3}",{run},"event":"{name}","prev":"#,
        beginning(seq)
    )
    .map_err(serde_json::Error::io)?;
    serde_json::to_writer(&mut *into, prev)?;
    // Every event has members, which are the line's: a comma stands for their bracket.
    let body = into.len();
    serde_json::to_writer(&mut *into, event)?;
    if let Some(bracket) = into.get_mut(body) {
        *bracket = b',';
    }
    into.push(b'\n');
    Ok(())
}

/// How the line of that number begins, and no other.
pub(super) fn beginning(seq: u64) -> String {
    format!("{{\"v\":{VERSION},\"seq\":{seq},")
}

/// A line as it is read: what all have, and the rest by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Line {
    /// The version.
    pub v: u32,
    /// Its number, from 1.
    pub seq: u64,
    /// When.
    #[cfg_attr(test, schemars(with = "String"))]
    pub time: Timestamp,
    /// The run.
    pub run: String,
    /// The alias.
    pub alias: String,
    /// The digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What happened.
    pub event: String,
    /// SHA-256 of the line before, its LF not included.
    pub prev: String,
    /// What belongs to that event.
    #[serde(flatten)]
    pub rest: serde_json::Map<String, Value>,
}

impl Line {
    /// A member of that event that is text.
    #[must_use]
    pub fn text(&self, member: &str) -> Option<&str> {
        self.rest.get(member).and_then(Value::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Run {
        Run {
            run: "0123456789abcdef".into(),
            alias: "weather".into(),
            digest: Some("ab".repeat(32)),
        }
    }

    #[test]
    fn a_line_has_the_documented_shape() {
        let call = Event::Call(Box::new(Call {
            tool: "get\u{1b}".into(),
            arguments_sha256: "00".into(),
            arguments: None,
            request_bytes: 10,
            response_bytes: 20,
            duration_ms: 3,
            outcome: Outcome::ToolError,
            layer: None,
            reason: None,
        }));
        let time = Timestamp::from_millisecond(1_800_000_000_005).unwrap();
        let mut bytes = Vec::new();
        let members = run().members().unwrap();
        line(&mut bytes, (&call, time), &members, (7, "ff")).unwrap();
        let want = format!(
            r#"{{"v":1,"seq":7,"time":"2027-01-15T08:00:00.005Z","run":"0123456789abcdef","alias":"weather","digest":"{}","event":"call","prev":"ff","tool":"get\u001b","arguments_sha256":"00","request_bytes":10,"response_bytes":20,"duration_ms":3,"outcome":"tool-error"}}"#,
            "ab".repeat(32)
        );
        assert_eq!(String::from_utf8(bytes.clone()).unwrap(), want + "\n");
        let read: Line = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(
            (read.seq, read.time, read.text("outcome")),
            (7, time, Some("tool-error"))
        );
    }

    #[test]
    fn every_outcome_has_the_word_of_its_json() {
        for (word, outcome) in Outcome::ALL {
            assert_eq!(serde_json::to_value(outcome).unwrap(), word);
            assert_eq!(word.parse(), Ok(outcome));
        }
        assert!("well".parse::<Outcome>().is_err());
    }
}
