//! The one input from what keeps a server within its limits: the word that it is over one, which
//! ends the run with that reason.
//!
//! Who watches is the caller's to say: [`Bounds`] is asked whenever the loop turns, wakes it when
//! there is something to look at, and is told when the server's main process has ended.

use std::fmt;
use std::task::{Context, Poll};

use crate::text;

/// What ends a server that is over a limit.
pub trait Bounds: fmt::Debug {
    /// Ready when the server is over a limit, and is to be ended for it.
    fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<Over>;

    /// The server's main process has ended: whether the kernel ended it for a limit. What is left
    /// of the server is ended now.
    fn ended(&mut self) -> Option<Over>;
}

/// The limit that a server is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// Its memory; bytes.
    Memory {
        /// What it may have.
        limit: u64,
    },
    /// Its processes and threads.
    Processes {
        /// How many it may have.
        limit: u64,
    },
    /// It filled a disk; bytes.
    Disk {
        /// What is free there.
        free: u64,
        /// What is to stay free there.
        floor: u64,
    },
}

impl Over {
    /// Kebab-case, as in `docs/exit-codes.md`.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Memory { .. } => "limit-memory",
            Self::Processes { .. } => "limit-processes",
            Self::Disk { .. } => "limit-disk",
        }
    }

    /// The code of the JSON-RPC error.
    pub(super) const fn number(self) -> i64 {
        match self {
            Self::Memory { .. } => -31_124,
            Self::Processes { .. } => -31_125,
            Self::Disk { .. } => -31_126,
        }
    }

    /// What the person may change.
    #[must_use]
    pub(super) fn hint(self, alias: &str) -> String {
        match self {
            Self::Memory { .. } => format!("supervisor set {alias} --limit memory=SIZE"),
            Self::Processes { .. } => format!("supervisor set {alias} --limit processes=N"),
            Self::Disk { .. } => format!("supervisor explain {alias}   # names what it may write"),
        }
    }
}

/// After `since`.
impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory { limit } => {
                write!(f, "it went over its {} of memory", text::size(*limit))
            }
            Self::Processes { limit } => {
                write!(f, "it went on at its {limit} processes and threads")
            }
            Self::Disk { free, floor } => write!(
                f,
                "it filled a disk to {} free, where {} are to stay",
                text::size(*free),
                text::size(*floor)
            ),
        }
    }
}

/// No limit is watched.
#[cfg(test)]
impl Bounds for () {
    fn poll_over(&mut self, _: &mut Context<'_>) -> Poll<Over> {
        Poll::Pending
    }

    fn ended(&mut self) -> Option<Over> {
        None
    }
}
