//! Why a surface was not read.

use std::time::Duration;

use super::further::FurtherError;
use crate::declaration::Alias;
use crate::error::REFUSED;
use crate::text;

/// What went wrong between us and a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// No answer.
    #[error("it gave no answer to {method} in {} s", limit.as_secs())]
    Mute {
        /// What was asked.
        method: &'static str,
        /// How long it was waited for.
        limit: Duration,
    },
    /// Answers, and too slowly.
    #[error("it did not say all in {} s", limit.as_secs())]
    Slow {
        /// The time it has after its first answer.
        limit: Duration,
    },
    /// Its process ended.
    #[error("it {0} before it had said all")]
    Ended(String),
    /// It closed its stdout and lives on.
    #[error("it closed its output before it had said all")]
    Closed,
    /// More bytes than are read.
    #[error("it wrote more than {} MiB", limit >> 20)]
    TooMuch {
        /// Bytes.
        limit: u64,
    },
    /// A message that is longer than the relay passes.
    #[error("it wrote a message that is longer than the relay passes")]
    TooLong,
    /// It asks and does not take the answers.
    #[error("it asks us more than it takes answers")]
    Flood,
    /// An error in place of a list.
    #[error("it answers {method} with the error {code}")]
    Refused {
        /// What was asked.
        method: &'static str,
        /// The JSON-RPC code, 0 where there is none.
        code: i64,
    },
    /// An answer of another shape, or that two readers could read differently.
    #[error("its answer to {method} cannot be read: {why}")]
    Unreadable {
        /// What was asked.
        method: &'static str,
        /// Why.
        why: &'static str,
    },
    /// Pages that lead back to one that was read.
    #[error("its pages of {method} go round in a circle")]
    Circle {
        /// What was asked.
        method: &'static str,
    },
    /// More pages than are read.
    #[error("it has more than {limit} pages of {method}")]
    Pages {
        /// What was asked.
        method: &'static str,
        /// How many are read.
        limit: usize,
    },
    /// Messages with headers, as language servers write them.
    #[error("it frames its messages by Content-Length")]
    Framed,
    /// More than is kept.
    #[error("what it offers is more than the {} MiB that are kept of a surface", limit >> 20)]
    TooLarge {
        /// Bytes.
        limit: u64,
    },
    /// The person did not wait.
    #[error("it was interrupted")]
    Interrupted,
}

/// Why there is no surface to ask about.
#[derive(Debug, thiserror::Error)]
pub enum SurfaceError {
    /// The server was started and its surface not read.
    #[error("the surface of {alias} was not read ({reading}): {trouble}")]
    Unread {
        /// Which.
        alias: Alias,
        /// In which era, declaring what.
        reading: String,
        /// What went wrong.
        trouble: Trouble,
        /// The last of what the server said beside the protocol, escaped.
        said: Vec<String>,
    },
    /// The person's own check said nothing.
    #[error(
        "nothing is approved of the surface of {alias}, since the check {} said nothing of it: {why}",
        text::printable(program)
    )]
    Further {
        /// Which server.
        alias: Alias,
        /// Which program.
        program: String,
        /// Why.
        why: FurtherError,
    },
}

impl SurfaceError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unread { .. } => "surface-unread",
            Self::Further { .. } => "check-failed",
        }
    }

    /// 126: nothing was approved.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Unread { .. } | Self::Further { .. } => REFUSED,
        }
    }

    /// The command that asks again.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unread { alias, .. } | Self::Further { alias, .. } => Some(format!(
                "supervisor approve {} --surface   # starts it and asks again",
                text::word(alias.as_str())
            )),
        }
    }
}
