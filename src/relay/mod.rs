//! The relay: passes messages between host and server, and sees to it that a run ends.
//!
//! Stands last on the path of `supervisor run`: launch hands it a running server, it hands back
//! an [`Outcome`]. One thread, one task, no wait without an owner and a limit.
//!
//! - `run` is the loop and `pump` its turns; `host` and `port` read and write; nothing else here
//!   does I/O
//! - bytes → `frame` → line → `envelope` → message → `gate` → [forward | answer | withhold] →
//!   `lane` → bytes
//! - `peer` the same frames and envelopes, for who speaks in a host's place
//! - `reject` what is no message · `salvage` the ids in it · `ledger` the open requests ·
//!   `answer` our own messages
//! - `filter` which tools a run offers
//! - `over` the word that a server is over a limit
//! - `stderr` and `sanitize` the server's words · `shutdown` what is due when · `refuse` a run
//!   that was refused
//!
//! It starts no process, reads no file, writes no record: the caller does that with the outcome.
//! Constants and behaviour are listed in `docs/relay.md`.

pub(crate) mod answer;
mod envelope;
mod error;
pub(crate) mod filter;
mod frame;
mod gate;
mod host;
mod lane;
mod ledger;
mod over;
pub(crate) mod peer;
mod port;
mod pump;
mod refuse;
mod reject;
mod run;
mod salvage;
mod sanitize;
mod shutdown;
mod stderr;

#[cfg(test)]
mod tests;

use std::time::Instant;

use nix::unistd::Pid;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

pub use error::RelayError;
pub use filter::Filter;
pub use host::Host;
pub use over::{Bounds, Over};
pub use refuse::refuse;

/// A server that was started.
#[derive(Debug)]
pub struct Server {
    /// Our end of its stdin.
    pub stdin: ChildStdin,
    /// Our end of its stdout.
    pub stdout: ChildStdout,
    /// Our end of its stderr.
    pub stderr: ChildStderr,
    /// Its main process, which the relay waits for.
    pub process: Child,
    /// The process group (and session) that the main process leads.
    pub group: Pid,
    /// What ends it when it is over a limit.
    pub bounds: Box<dyn Bounds>,
}

/// What the relay must know of the declaration and of `settings.json`.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The person's name for the server.
    pub alias: String,
    /// `relay.max_message_bytes`: the longest line passed on, its line end not counted.
    pub max_message_bytes: usize,
    /// Called once, as soon as the server's process has ended: ends what left its group. What
    /// follows (a host that is slow to read, or to ask why) may take seconds.
    pub after_server: fn(),
    /// Which of the server's tools are offered.
    pub filter: Filter,
}

/// The default of `relay.max_message_bytes`: just under what hosts take.
pub const MAX_MESSAGE_BYTES: usize = 10_000_000;

/// What the server's main process did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// The server was over a limit, and was ended for it.
    Over(Over),
}

/// What passed, and what did not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
    /// Until when the relay could have taken, where somebody waits for our end.
    pub by: Option<Instant>,
    /// What passed.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for the audit log, which comes later")
    )]
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
            (End::ServerClosed, 0) => 1,
            (_, code) => code,
        }
    }
}

/// Why a run was refused, for the host.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// The code of the JSON-RPC error, `-31000-n`.
    pub number: i64,
    /// What and where, one line.
    pub message: String,
    /// Kebab-case.
    pub code: String,
    /// A command to run.
    pub hint: Option<String>,
    /// The exit code of the supervisor.
    pub exit: u8,
}

/// Relays until the run has ended, and the server's process group with it.
///
/// Ends by itself in under 2 s after the host's end of stdin, its closing of our stdout, or a
/// SIGTERM, SIGINT or SIGHUP; and when the server ends, after the host took what it wrote (a host
/// that reads nothing holds that up for 5 s). Must run within a current-thread runtime with I/O
/// and time enabled. Processes that left the group are the caller's to find.
///
/// # Errors
///
/// Where descriptors, signals or the wait for the server fail; the group is killed then too.
pub async fn relay(host: Host, server: Server, settings: &Settings) -> Result<Outcome, RelayError> {
    let group = server.group;
    let run = run::Run::new(host, server, settings);
    let ended = match run {
        Ok(run) => run.outcome().await,
        Err(error) => Err(error),
    };
    if ended.is_err() {
        run::kill_group(group, nix::sys::signal::Signal::SIGKILL);
    }
    ended
}
