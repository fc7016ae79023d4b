//! How a run went: what the server did, what began the end, what passed.

use std::time::Instant;

use serde::Serialize;

use super::Over;

/// What the server's main process did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

impl Exit {
    /// The code a shell would show: its own, or 128+n for a signal.
    #[must_use]
    pub fn code(self) -> u8 {
        let code = match self {
            Self::Code(code) => code,
            Self::Signal(number) => number.saturating_add(128),
        };
        u8::try_from(code).unwrap_or(u8::MAX)
    }
}

/// What began the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The host closed our stdin or our stdout.
    HostLeft,
    /// The supervisor got this signal.
    Signalled(i32),
    /// The server ended by itself.
    ServerEnded,
    /// The server closed its stdin or stdout, and was ended for it.
    ServerClosed,
    /// The server ended, and was not started again.
    NotStarted,
    /// The server was over a limit, and was ended for it.
    Over(Over),
}

impl End {
    /// The word of the record.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::HostLeft => "host-left",
            Self::Signalled(_) => "signalled",
            Self::ServerEnded => "server-ended",
            Self::ServerClosed => "server-closed",
            Self::NotStarted => "not-started",
            Self::Over(over) => over.code(),
        }
    }
}

/// What passed, and what did not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Messages of the host's passed on.
    pub from_host: u64,
    /// Messages of the server's passed on.
    pub from_server: u64,
    /// Lines of the server's stdout that were no messages.
    pub junk: u64,
    /// Answers of the server's to ids nobody asked, or a second time.
    pub dropped_answers: u64,
    /// Answers of the host's to ids the server did not ask.
    pub dropped_host_answers: u64,
    /// Lines of the host's that were no messages.
    pub host_garbage: u64,
    /// Lines over the limit, either way.
    pub oversize: u64,
    /// Servers that were started in place of one that ended.
    pub restarts: u64,
    /// Errors given to the host in the server's place.
    pub answered_by_relay: u64,
    /// Answers for the server that it did not take and that were left out.
    pub unsent: u64,
    /// Bytes of the server's stderr.
    pub stderr_bytes: u64,
    /// Those of them that were not shown.
    pub stderr_cut: u64,
}

/// How a run went.
#[derive(Debug)]
pub struct Outcome {
    /// What the server's main process did.
    pub exit: Exit,
    /// What began the end.
    pub end: End,
    /// The exit code of what kept it from being started again.
    pub refused: Option<u8>,
    /// Until when the relay could have taken, where somebody waits for our end.
    pub by: Option<Instant>,
    /// What passed.
    pub counters: Counters,
    /// The last of what the server wrote to stderr, and of what it wrote to stdout that was no
    /// message: escaped, a line each, at most 64 KiB.
    pub tail: String,
}

impl Outcome {
    /// The exit code of `supervisor run`: the server's own, or 1 where it closed its pipes,
    /// had to be ended and then said 0.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match (self.end, self.exit.code()) {
            (End::NotStarted, _) if self.refused.is_some() => self.refused.unwrap_or(1),
            (End::ServerClosed | End::NotStarted, 0) => 1,
            (_, code) => code,
        }
    }
}
