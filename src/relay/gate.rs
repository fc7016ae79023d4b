//! What becomes of each line. The place of every later rule (surface, calls, eras, breaker).
//!
//! Pure: a line and the ledgers go in, a [`Step`] comes out; the bytes of what is forwarded are
//! not touched but in a list of tools that is narrowed. Today it forwards every well-formed message and does what framing itself asks
//! for: answers what cannot be passed on, keeps from the host what is no message, and lets
//! through one answer a request; and leaves out the tools that the run does not offer.

use super::answer::{self, Data};
use super::envelope::{self, Id, Malformed, Message, Params};
use super::filter::{self, Called, Tools};
use super::ledger::{Answer, Full, Ledger, Open};
use super::{Counters, End, Exit, Settings, sanitize};

/// Requests of the host that may wait for the server.
pub(super) const MAX_ASKED: usize = 4_096;
/// Requests of the server that may wait for the host.
pub(super) const MAX_CALLED: usize = 1_024;
/// Characters of a line that a note shows.
pub(super) const EXCERPT: usize = 160;
const CANCELLED: &str = "notifications/cancelled";
/// The one request of the host's that the server may cancel (2026-07-28).
const LISTEN: &str = "subscriptions/listen";

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

/// What can be wrong with a line; each is told once and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    Junk,
    Dropped,
    LongFromServer,
    LongFromHost,
    HostGarbage,
    HostAnswer,
    TooMany,
}

/// Why the server answers nothing any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gone {
    /// It ended.
    Ended(Exit),
    /// We ended it, for this reason.
    Stopped(Exit, End),
    /// It lives and closed its stdout.
    Mute,
}

/// The state the rules need.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) alias: String,
    pub(super) cap: usize,
    pub(super) asked: Ledger,
    pub(super) called: Ledger,
    tools: Tools,
    /// What a person is to be told.
    pub(super) notes: Vec<String>,
    gone: Option<Gone>,
    /// What happened so far.
    pub(super) counters: Counters,
}

impl Gate {
    /// The gate of one run.
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            alias: settings.alias.clone(),
            cap: settings.max_message_bytes,
            asked: Ledger::new(MAX_ASKED),
            called: Ledger::new(MAX_CALLED),
            tools: Tools::new(settings.filter.clone()),
            notes: Vec::new(),
            gone: None,
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
            Ok(_) if self.gone.is_some() => Step::Skip,
            Ok(Message::Notification { method, params }) => {
                if method == CANCELLED
                    && let Some(id) = params.request()
                {
                    self.asked.cancel(&id);
                }
                Step::Forward
            }
            Ok(Message::Response { id }) => self.host_answer(id.as_ref()),
            Err(Malformed::Blank) => Step::Skip,
            Err(fault) => self.host_garbage(line, &fault),
        };
        if step == Step::Forward {
            self.counters.from_host += 1;
        }
        step
    }

    /// A line of the server's, without its LF.
    pub(super) fn server_line(&mut self, line: &[u8]) -> Step {
        let step = match envelope::read(line) {
            Ok(Message::Request { id, method, .. }) => self.call(id, &method),
            Ok(Message::Notification { method, params }) => {
                if method == CANCELLED {
                    self.server_cancels(&params);
                }
                Step::Forward
            }
            Ok(Message::Response { id }) => self.server_answer(line, id.as_ref()),
            Err(Malformed::Blank) => Step::Skip,
            Err(fault) => self.junk(line, &fault.to_string()),
        };
        if step == Step::Forward {
            self.counters.from_server += 1;
        }
        step
    }

    fn request(&mut self, line: &[u8], id: Id, method: &str, params: &Params<'_>) -> Step {
        let tool = if method == "tools/call" {
            params.name()
        } else {
            None
        };
        if let Some(gone) = self.gone {
            return self.answered(self.ended(&id, method, tool.as_deref(), gone));
        }
        if method == "tools/call"
            && self.asked.get(&id).is_none()
            && let Some(refused) = self.refused(line, &id, tool.as_deref())
        {
            return self.answered(refused);
        }
        match self.asked.enter(id.clone(), method, tool) {
            Ok(()) => Step::Forward,
            Err(Full::Taken) => {
                let message =
                    "invalid request: its id is that of a request which still waits for its answer";
                self.answered(answer::error(
                    Some(&id),
                    answer::INVALID_REQUEST,
                    message,
                    None,
                ))
            }
            Err(Full::TooMany) => {
                let message = format!("{MAX_ASKED} requests wait for {} already", self.alias);
                let data = Data {
                    code: "too-many-requests",
                    hint: None,
                    exit: None,
                };
                let line = answer::error(Some(&id), answer::TOO_MANY, &message, Some(data));
                self.noted(line, Vec::new(), Fault::TooMany, message)
            }
        }
    }

    /// The answer to a call of a tool that this run does not offer.
    fn refused(&self, line: &[u8], id: &Id, tool: Option<&str>) -> Option<Vec<u8>> {
        let structured = match self.tools.call(tool) {
            Called::Offered => return None,
            Called::Refused { structured } => structured,
            Called::Unknown => {
                let name = sanitize::excerpt(tool.unwrap_or_default().as_bytes(), EXCERPT);
                let message = format!("unknown tool: {name}");
                return Some(answer::error(
                    Some(id),
                    answer::INVALID_PARAMS,
                    &message,
                    None,
                ));
            }
        };
        let modern = filter::is_modern(line);
        let result = filter::refusal(&self.alias, tool.unwrap_or_default(), structured, modern);
        Some(answer::result(id, &result))
    }

    fn call(&mut self, id: Id, method: &str) -> Step {
        let message = match self.called.enter(id.clone(), method, None) {
            Ok(()) => return Step::Forward,
            Err(Full::Taken) => {
                "its id is that of a request which still waits for its answer".to_owned()
            }
            Err(Full::TooMany) => format!("{MAX_CALLED} requests of the server wait already"),
        };
        let line = answer::error(Some(&id), answer::INVALID_REQUEST, &message, None);
        let note = format!("a request of the server's was not passed on: {message}");
        self.noted(Vec::new(), line, Fault::TooMany, note)
    }

    fn server_answer(&mut self, line: &[u8], id: Option<&Id>) -> Step {
        let lists = id.is_some_and(|id| self.asked.method(id) == Some("tools/list"));
        let why = match id.map(|id| self.asked.settle(id)) {
            Some(Answer::Asked) if lists => return self.listed(line),
            Some(Answer::Asked) => return Step::Forward,
            Some(Answer::Again) => "a second answer to one request was dropped",
            Some(Answer::Unasked) | None => "an answer to an id that nobody asked was dropped",
        };
        self.counters.dropped_answers += 1;
        let note = format!("{why}: {}", sanitize::excerpt(line, EXCERPT));
        self.noted(Vec::new(), Vec::new(), Fault::Dropped, note)
    }

    /// A list of tools: without those that this run does not offer.
    fn listed(&mut self, line: &[u8]) -> Step {
        let narrowed = self.tools.list(line);
        self.notes.extend(self.tools.idle());
        let Some(mut to_host) = narrowed else {
            return Step::Forward;
        };
        to_host.push(b'\n');
        self.counters.from_server += 1;
        Step::Withhold(Withheld {
            to_host,
            ..Withheld::default()
        })
    }

    fn host_answer(&mut self, id: Option<&Id>) -> Step {
        if id.map(|id| self.called.settle(id)) == Some(Answer::Asked) {
            return Step::Forward;
        }
        self.counters.dropped_host_answers += 1;
        let note = "an answer of the host's to an id that the server did not ask was dropped";
        self.noted(Vec::new(), Vec::new(), Fault::HostAnswer, note.to_owned())
    }

    fn server_cancels(&mut self, params: &Params<'_>) {
        let Some(id) = params.request() else { return };
        let listens = self
            .asked
            .get(&id)
            .is_some_and(|open| open.method == LISTEN);
        if !self.called.cancel(&id) && listens {
            self.asked.cancel(&id);
        }
    }

    /// The server answers nothing any more: every open request is answered now, and each later
    /// one when it comes.
    pub(super) fn close(&mut self, gone: Gone) -> Vec<u8> {
        self.gone = Some(gone);
        let mut lines = Vec::new();
        for (id, Open { method, tool, .. }) in self.asked.take() {
            lines.extend(self.ended(&id, &method, tool.as_deref(), gone));
            self.counters.answered_by_relay += 1;
        }
        lines
    }

    fn ended(&self, id: &Id, method: &str, tool: Option<&str>, gone: Gone) -> Vec<u8> {
        let alias = &self.alias;
        let method = sanitize::excerpt(method.as_bytes(), EXCERPT);
        let tool =
            tool.map(|name| format!(" (tool {})", sanitize::excerpt(name.as_bytes(), EXCERPT)));
        let what = format!("{method}{}", tool.unwrap_or_default());
        let (fate, exit) = match gone {
            Gone::Ended(exit) => (answer::fate(exit), Some(exit.code())),
            Gone::Stopped(exit, end) => (answer::stopped(exit, end), Some(exit.code())),
            Gone::Mute => ("closed its stdout".to_owned(), None),
        };
        let message = format!("server {alias} {fate} before it answered {what}");
        let (code, number, hint) = match gone {
            Gone::Stopped(_, End::Over(over)) => (over.code(), over.number(), over.hint(alias)),
            _ => ("server-ended", answer::SERVER_ENDED, self.hint()),
        };
        let data = Data {
            code,
            hint: Some(&hint),
            exit,
        };
        answer::error(Some(id), number, &message, Some(data))
    }

    pub(super) fn hint(&self) -> String {
        format!("supervisor why {}", self.alias)
    }

    fn answered(&mut self, line: Vec<u8>) -> Step {
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
#[path = "gate_tests.rs"]
mod tests;
