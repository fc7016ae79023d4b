//! What happens in a run, as the audit log has it.
//!
//! Pure: types and their JSON. Words of a host's that go in (a tool's name) are cut; words of a
//! server's do not go in.

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
        (Self::Ok.as_str(), Self::Ok),
        (Self::ToolError.as_str(), Self::ToolError),
        (Self::Error.as_str(), Self::Error),
        (Self::Refused.as_str(), Self::Refused),
        (Self::Timeout.as_str(), Self::Timeout),
        (Self::Died.as_str(), Self::Died),
    ];

    /// Its word.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ToolError => "tool-error",
            Self::Error => "error",
            Self::Refused => "refused",
            Self::Timeout => "timeout",
            Self::Died => "died",
        }
    }
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

    #[test]
    fn every_outcome_has_the_word_of_its_json() {
        for (word, outcome) in Outcome::ALL {
            assert_eq!(serde_json::to_value(outcome).unwrap(), word);
            assert_eq!(word.parse(), Ok(outcome));
        }
        assert!("well".parse::<Outcome>().is_err());
    }
}
