//! Which era of the protocol is spoken, and whether a server that heard one can hear the other.
//!
//! Pure. A server may lock to the era of the first word it hears, or exit on `server/discover`,
//! or never answer it. So the relay has no word of its own for a server that it hands over: the
//! host's first request goes to it as it is, and where the host then turns to the other era,
//! another process takes its place. [`Session`] is told what passes, and says which it is.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// The method that opens the legacy era.
pub(super) const INITIALIZE: &str = "initialize";
/// The method that no legacy server knows.
pub(super) const DISCOVER: &str = "server/discover";
/// What the legacy host says last of its opening.
pub(super) const INITIALIZED: &str = "notifications/initialized";
/// "Method not found": a server that says so to the first word of an era has not taken it up.
pub(super) const METHOD_NOT_FOUND: i64 = -32_601;
/// "Unsupported protocol version" (2026-07-28): likewise.
const UNSUPPORTED_VERSION: i64 = -32_022;
/// Silence on `server/discover` that is shorter may be a slow start.
const SILENCE: Duration = Duration::from_secs(1);

/// The two ways to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// `initialize` first (2024-11-05 to 2025-11-25).
    Legacy,
    /// Each request for itself (2026-07-28).
    Modern,
}

/// What a server does about `server/discover`; remembered from run to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discover {
    /// It answers.
    Answers,
    /// It says that it knows no such method.
    Refuses,
    /// It says nothing.
    Silent,
    /// It exits.
    Exits,
}

impl Discover {
    /// Whether asking it costs the host a time-out, or the process.
    fn is_costly(self) -> bool {
        matches!(self, Self::Silent | Self::Exits)
    }
}

/// Where a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Road {
    /// To the server as it is.
    Server,
    /// To a new one: this has taken up the other era.
    NewServer,
    /// Nowhere: "method not found" is what this server would say, if it said anything.
    NotFound,
}

/// What a process was told so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    /// Nothing.
    Nothing,
    /// A first request of this era, at that time.
    Word(Era, Instant),
    /// That, and it answered with a result.
    Took(Era),
    /// That, and it said that it does not know the era.
    Declined,
}

/// The eras of one run.
#[derive(Debug)]
pub(super) struct Session {
    known: Option<Discover>,
    heard: Heard,
    /// The host ended a legacy opening: from now on it is that server's session.
    settled: bool,
    /// For so long `server/discover` had no answer when the host turned to `initialize`.
    silence: Option<Duration>,
    started: Instant,
}

impl Session {
    /// A session with a fresh server of which this is known.
    pub(super) fn new(known: Option<Discover>, now: Instant) -> Self {
        Self {
            known,
            heard: Heard::Nothing,
            settled: false,
            silence: None,
            started: now,
        }
    }

    /// The era that the server took up, or was spoken to in.
    pub(super) fn era(&self) -> Option<Era> {
        match self.heard {
            Heard::Word(era, _) | Heard::Took(era) => Some(era),
            Heard::Nothing | Heard::Declined => None,
        }
    }

    /// Whether the server said that it does not know the era it was first spoken to in.
    pub(super) fn declined(&self) -> bool {
        self.heard == Heard::Declined
    }

    /// A request of the host's; `modern` where it names its protocol version.
    pub(super) fn request(&mut self, method: &str, modern: bool, now: Instant) -> Road {
        let discover = method == DISCOVER;
        if discover && self.known.is_some_and(Discover::is_costly) {
            return Road::NotFound;
        }
        let era = match method {
            INITIALIZE => Era::Legacy,
            DISCOVER => Era::Modern,
            _ if modern => Era::Modern,
            // It says nothing of its era.
            _ => self.era().unwrap_or(Era::Legacy),
        };
        match self.heard {
            Heard::Word(heard, _) | Heard::Took(heard) if heard == era => return Road::Server,
            Heard::Word(Era::Legacy, _) | Heard::Took(Era::Legacy) if self.settled => {
                return Road::Server;
            }
            Heard::Word(Era::Modern, since) if self.known.is_none() => {
                self.silence = Some(now.duration_since(since));
            }
            _ => {}
        }
        let fresh = matches!(self.heard, Heard::Nothing | Heard::Declined);
        self.heard = Heard::Word(era, now);
        self.settled = false;
        if fresh { Road::Server } else { Road::NewServer }
    }

    /// The host's `notifications/initialized` went to the server.
    pub(super) fn initialized(&mut self) {
        self.settled |= self.era() == Some(Era::Legacy);
    }

    /// The server answered a request of that method: with a result, or with an error's code.
    /// What that tells about it for later runs, where it is news.
    pub(super) fn answered(
        &mut self,
        method: &str,
        error: Option<i64>,
        now: Instant,
    ) -> Option<Discover> {
        let opens = matches!(method, INITIALIZE | DISCOVER);
        match (self.heard, error) {
            (Heard::Word(era, _), None) => self.heard = Heard::Took(era),
            (Heard::Word(..), Some(METHOD_NOT_FOUND | UNSUPPORTED_VERSION)) if opens => {
                self.heard = Heard::Declined;
            }
            _ => {}
        }
        let learnt = match (method, error) {
            (DISCOVER, None) => Discover::Answers,
            (DISCOVER, Some(METHOD_NOT_FOUND)) => Discover::Refuses,
            (INITIALIZE, None) => {
                // A slow start looks like silence, but for its answer being slow too.
                let took = now.duration_since(self.started);
                let silence = self.silence.take()?;
                if silence < SILENCE || silence < took.saturating_mul(2) {
                    return None;
                }
                Discover::Silent
            }
            _ => return None,
        };
        self.learn(learnt)
    }

    /// The server ended by itself, `discover` unanswered: whether that was what it was first
    /// told, so that the host may still turn to `initialize`; and what that tells, if it is news.
    pub(super) fn ended(&mut self, discover: bool) -> (bool, Option<Discover>) {
        if discover && matches!(self.heard, Heard::Word(Era::Modern, _)) {
            return (true, self.learn(Discover::Exits));
        }
        (false, None)
    }

    /// Another process sits in its place, which heard nothing. It takes part in the era the host
    /// speaks as soon as the host's words are repeated to it.
    pub(super) fn started(&mut self, now: Instant) {
        self.started = now;
    }

    /// No process is there that heard anything.
    pub(super) fn forget(&mut self) {
        self.heard = Heard::Nothing;
        self.settled = false;
    }

    fn learn(&mut self, how: Discover) -> Option<Discover> {
        let news = self.known != Some(how);
        self.known = Some(how);
        news.then_some(how)
    }
}

#[cfg(test)]
#[path = "era_tests.rs"]
mod tests;
