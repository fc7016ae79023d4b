//! What becomes of each line. The place of every rule (surface, calls, eras, breaker).
//!
//! Pure: a line, the ledgers and the time go in, a [`Step`] comes out; the bytes of what is
//! forwarded are not touched but in a list of tools that is narrowed. It answers what cannot be
//! passed on, keeps from the host what is no message, and lets through one answer a request.
//! A call passes the layers one after the other ([`Gate::refusal`]); the first that refuses it
//! answers. What follows beside the line (events, the breaker, another server) stands in
//! [`Gate::effects`], which the loop empties after each line.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::arguments::Schemas;
use super::breaker::{Breaker, Verdict};
use super::capabilities::Capabilities;
use super::envelope::{self, Id, Malformed, Message, Reply};
use super::era::{self, Discover, Session};
pub(super) use super::fault::Fault;
use super::filter::Filter;
use super::ledger::{Answer, Ledger};
use super::limits::Limits;
use super::params::Params;
use super::pins::Pins;
use super::present::Present;
use super::question::Questions;
use super::reading::Reading;
use super::replay::Replay;
use super::{Counters, End, Exit, Pending, Refusal, Rules, Settings};
use crate::audit::Event;
use crate::declaration::{Category, ItemDigest};
use crate::why::cause::Cause;

/// Requests of the host that may wait for the server.
pub(super) const MAX_ASKED: usize = 4_096;
/// Requests of the server that may wait for the host.
pub(super) const MAX_CALLED: usize = 1_024;
/// Characters of a line that a note shows.
pub(super) const EXCERPT: usize = 160;
pub(super) const CALL: &str = "tools/call";
pub(super) const CANCELLED: &str = "notifications/cancelled";
/// The one request of the host's that the server may cancel (2026-07-28).
pub(super) const LISTEN: &str = "subscriptions/listen";

/// What becomes of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It is passed on, byte for byte.
    Forward,
    /// It is not, and nobody need know: an empty line, a message to a server that is gone.
    Skip,
    /// It is not.
    Withhold(Withheld),
}

/// What follows from a line that is not passed on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Withheld {
    /// Whole lines of ours for the host.
    pub(super) to_host: Vec<u8>,
    /// Whole lines of ours for the server.
    pub(super) to_server: Vec<u8>,
    /// The line belongs into the record of what the server wrote.
    pub(super) quarantine: bool,
    /// What a person is told, the first time that it happens.
    pub(super) note: Option<(Fault, String)>,
}

/// Why the server answers nothing any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Gone {
    /// It ended.
    Ended(Exit),
    /// We ended it, for this reason.
    Stopped(Exit, End),
    /// It lives and closed its stdout.
    Mute,
    /// It did not answer its first request in this time.
    Slow(Duration),
    /// Another takes its place: the host turned to the other era.
    Replaced,
    /// Started again, it answered `initialize` otherwise than before.
    Differs,
    /// It is not started again.
    Refused(Box<Refusal>),
}

/// The time, as the rules need it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    /// For waits.
    pub(super) at: Instant,
    /// For what outlives the run.
    pub(super) of_day: Timestamp,
}

/// What follows beside what is passed on.
#[derive(Debug, PartialEq)]
pub(super) enum Effect {
    /// For the record.
    Event(Event),
    /// The breaker is to be told.
    Verdict(Verdict),
    /// How the server takes `server/discover` is news.
    Discover(Discover),
    /// Lines of ours for the host, before what else follows.
    ToHost(Vec<u8>),
    /// A line for the server: a request of ours, or one of the host's that goes now or in other bytes.
    ToServer(Vec<u8>),
    /// What is withheld of the surface is news.
    Pending(Pending),
    /// The next line is for another server: this one is to go.
    NewServer,
    /// The words said again were answered as before: this is said next.
    Replayed(Vec<u8>),
    /// They were answered otherwise.
    Differs,
    /// A person is told.
    Note(String),
}

/// The state the rules need.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) alias: String,
    pub(super) cap: usize,
    pub(super) now: Moment,
    pub(super) asked: Ledger,
    pub(super) called: Ledger,
    pub(super) session: Session,
    pub(super) replay: Replay,
    pub(super) breaker: Breaker,
    pub(super) limits: Limits,
    /// Deaths since the last answer.
    pub(super) deaths: u32,
    pub(super) filter: Filter,
    /// The categories of tools that may be called; all, where none is named.
    pub(super) granted: BTreeSet<Category>,
    /// What was approved of the server's surface.
    pub(super) pins: Pins,
    /// The approved schemas of the tools that were called, where arguments are checked.
    pub(super) schemas: Schemas,
    /// Whether it is offered whole or not at all.
    pub(super) whole: bool,
    /// What the server lists now.
    pub(super) present: Present,
    /// Our own reading of it.
    pub(super) reading: Reading,
    /// Withheld items that were told of.
    pub(super) told: BTreeSet<ItemDigest>,
    /// What the owner knows to be withheld.
    pub(super) pended: Option<Pending>,
    /// Patterns that match nothing were named.
    pub(super) warned: bool,
    /// The person's rules; or why they cannot be read, and then nothing is called.
    pub(super) rules: Result<Rules, String>,
    pub(super) questions: Questions,
    /// What a legacy host can be asked for.
    pub(super) host: Capabilities,
    /// What it last said that it can be asked for, in either era.
    pub(super) last_declared: Capabilities,
    pub(super) effects: Vec<Effect>,
    /// No server is there: it ended, and the next request has it started again.
    pub(super) away: bool,
    pub(super) gone: Option<Gone>,
    /// Why the server that ended last did not come up, if it did not.
    pub(super) cause: Option<Cause>,
    /// What happened so far.
    pub(super) counters: Counters,
}

impl Gate {
    /// The gate of one run.
    pub(super) fn new(settings: &Settings, now: Moment) -> Self {
        Self {
            alias: settings.alias.clone(),
            cap: settings.max_message_bytes,
            now,
            asked: Ledger::new(MAX_ASKED),
            called: Ledger::new(MAX_CALLED),
            session: Session::new(settings.discover, now.at),
            replay: Replay::default(),
            breaker: settings.breaker,
            limits: Limits::new(settings),
            deaths: 0,
            filter: settings.filter.clone(),
            granted: settings.granted.clone(),
            pins: Pins::new(settings.surface.clone()),
            schemas: Schemas::default(),
            whole: settings.whole,
            present: Present::default(),
            reading: Reading::default(),
            told: BTreeSet::new(),
            pended: None,
            warned: false,
            rules: Ok(settings.rules.clone()),
            questions: Questions::new(settings.seed),
            host: Capabilities::default(),
            last_declared: Capabilities::default(),
            effects: Vec::new(),
            away: false,
            gone: None,
            cause: None,
            counters: Counters::default(),
        }
    }

    /// Requests of the host so far, those answered by the relay not counted.
    pub(super) fn was_asked(&self) -> bool {
        self.asked.entered() > 0 || self.counters.answered_by_relay > 0
    }

    /// A line of the host's, without its LF.
    pub(super) fn host_line(&mut self, line: &[u8]) -> Step {
        let step = match envelope::read(line) {
            Ok(Message::Request { id, method, params }) => self.request(line, id, &method, &params),
            Ok(Message::Response { id, reply }) => self.host_answer(id.as_ref(), &reply),
            Ok(Message::Notification { method, params }) => {
                let unseen = method == CANCELLED && self.host_cancels(&params);
                if unseen || self.gone.is_some() || self.away {
                    Step::Skip
                } else {
                    if method == era::INITIALIZED {
                        self.session.initialized();
                        self.replay.initialized(line);
                    }
                    Step::Forward
                }
            }
            Err(Malformed::Blank) => Step::Skip,
            Err(fault) => self.host_garbage(line, &fault),
        };
        if step == Step::Forward {
            self.counters.from_host += 1;
        }
        step
    }

    fn host_answer(&mut self, id: Option<&Id>, reply: &Reply<'_>) -> Step {
        if let Some(step) = id.and_then(|id| self.person_said(id, reply)) {
            return step;
        }
        match id.map(|id| self.called.settle(id)) {
            Some(Answer::Asked(_) | Answer::Late(_)) if self.gone.is_none() && !self.away => {
                return Step::Forward;
            }
            Some(Answer::Asked(_) | Answer::Late(_) | Answer::Abandoned) => return Step::Skip,
            Some(Answer::Again | Answer::Unasked) | None => {}
        }
        self.counters.dropped_host_answers += 1;
        let note = "an answer of the host's to an id that the server did not ask was dropped";
        self.noted(Vec::new(), Vec::new(), Fault::HostAnswer, note.to_owned())
    }

    /// Whether the server need not know: it never saw the request.
    fn host_cancels(&mut self, params: &Params<'_>) -> bool {
        let Some(id) = params.request() else {
            return false;
        };
        if self.withdraw(&id) {
            return true;
        }
        if self.reading.lets_go(&id) {
            // The server has nothing to answer, not even late.
            if let Answer::Asked(open) = self.asked.settle(&id) {
                self.record_cancelled(&open.asked);
            }
            return true;
        }
        if let Some(asked) = self.asked.cancel(&id) {
            self.record_cancelled(&asked);
        }
        false
    }

    pub(super) fn hint(&self) -> String {
        format!("supervisor why {}", self.alias)
    }

    pub(super) fn answered(&mut self, line: Vec<u8>) -> Step {
        self.counters.answered_by_relay += 1;
        Step::Withhold(Withheld {
            to_host: line,
            ..Withheld::default()
        })
    }

    pub(super) fn noted(
        &mut self,
        to_host: Vec<u8>,
        to_server: Vec<u8>,
        fault: Fault,
        text: String,
    ) -> Step {
        Step::Withhold(Withheld {
            to_host,
            to_server,
            quarantine: false,
            note: Some((fault, text)),
        })
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod rules_tests;
#[cfg(test)]
#[path = "surface_tests.rs"]
mod surface_tests;
#[cfg(test)]
#[path = "gate_tests.rs"]
pub(super) mod tests;
