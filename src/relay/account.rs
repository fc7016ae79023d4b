//! The gate's account: what is recorded of a call, and what the breaker is told.
//!
//! Pure. A call is recorded once, at its end. Of its arguments there is a digest; themselves only
//! where the declaration asks for them. Nothing that a server wrote is recorded.

use serde_json::Value;

use super::Audit;
use super::asking::is_call;
use super::breaker::{Breaker, Verdict};
use super::envelope::{Id, Reply};
use super::era;
use super::gate::{CALL, Effect, Gate};
use super::ledger::Asked;
use super::refused::Layer;
use crate::audit::Event;
use crate::audit::event::{Call, LONGEST_ARGUMENTS, Outcome};
use crate::audit::verify::sha256;

/// Errors that tell of what was asked, not of who answers: JSON-RPC's own but the internal one,
/// a resource that is not there, a cancelled request, and those of MCP.
fn is_of_the_hosts_making(code: i64) -> bool {
    matches!(code, -32_700 | -32_602..=-32_600 | -32_800 | -32_801 | -32_002 | -32_099..=-32_020)
}

impl Audit {
    /// What is recorded of the arguments of a call.
    pub(super) fn digest(self, arguments: Option<&str>) -> (String, Option<Value>) {
        let json = arguments.unwrap_or("{}");
        let digest = || sha256(json.as_bytes());
        match self {
            Self::Off => (String::new(), None),
            Self::Digests => (digest(), None),
            Self::Arguments if json.len() > LONGEST_ARGUMENTS => (digest(), None),
            // Nested too deep for a value, they stand there as text.
            Self::Arguments => (
                digest(),
                Some(serde_json::from_str(json).unwrap_or_else(|_| Value::from(json))),
            ),
        }
    }
}

impl Gate {
    /// A request was answered by the server; whether that is passed on.
    pub(super) fn settled(
        &mut self,
        line: &[u8],
        id: &Id,
        asked: &mut Asked,
        (reply, passes): (&Reply<'_>, bool),
    ) {
        self.heard();
        let error = reply.code();
        let news = self.session.answered(&asked.method, error, self.now.at);
        self.effects.extend(news.map(Effect::Discover));
        if asked.method == era::INITIALIZE {
            self.replay.answered(line, id);
        }
        match error {
            Some(code) if is_of_the_hosts_making(code) => {}
            Some(_) => self.effects.push(Effect::Verdict(Verdict::Failed)),
            None => {
                self.deaths = 0;
                if self.breaker.failures > 0 && is_call(&asked.method) {
                    self.effects.push(Effect::Verdict(Verdict::Succeeded));
                }
            }
        }
        if passes {
            self.note_round(asked, reply);
        }
        if asked.method == CALL && passes {
            let outcome = match error {
                Some(_) => Outcome::Error,
                None if reply.is_tool_error() => Outcome::ToolError,
                None => Outcome::Ok,
            };
            // It is over: they are needed no more.
            let arguments = std::mem::take(&mut asked.arguments);
            self.record((asked, arguments), outcome, line.len(), (None, None));
        }
    }

    /// The breaker as it is now: told where it opened or closed.
    pub(super) fn turn_breaker(&mut self, breaker: Breaker) {
        let was = std::mem::replace(&mut self.breaker, breaker);
        let left = breaker.left(self.now.of_day);
        let open = |breaker: Breaker| breaker.until.is_some();
        let failures = breaker.failures;
        let state = match (open(was), left) {
            (_, Some(left)) if breaker.until != was.until => {
                let seconds = left.as_secs();
                self.effects.push(Effect::Note(format!(
                    "it failed {failures} times in a row: its calls are refused for {seconds} s"
                )));
                "open"
            }
            (true, None) if !open(breaker) => {
                self.effects
                    .push(Effect::Note("it works again: its calls pass".to_owned()));
                "closed"
            }
            _ => return,
        };
        self.effects
            .push(Effect::Event(Event::Breaker { state, failures }));
    }

    /// An answer that cannot be read, or is too long: an error of the server's making.
    pub(super) fn spoilt(&mut self, asked: &Asked) {
        self.heard();
        self.effects.push(Effect::Verdict(Verdict::Failed));
        self.record_end(asked, Outcome::Error, 0);
    }

    /// A call has ended.
    pub(super) fn record_end(&mut self, asked: &Asked, outcome: Outcome, answer: usize) {
        let arguments = asked.arguments.clone();
        self.record((asked, arguments), outcome, answer, (None, None));
    }

    /// A call was refused by a layer.
    pub(super) fn record_refused(&mut self, asked: &Asked, layer: Layer, reason: &'static str) {
        let arguments = asked.arguments.clone();
        self.record(
            (asked, arguments),
            Outcome::Refused,
            0,
            (Some(layer.as_str()), Some(reason)),
        );
    }

    /// The host waits for a call no longer.
    pub(super) fn record_cancelled(&mut self, asked: &Asked) {
        let arguments = asked.arguments.clone();
        self.record(
            (asked, arguments),
            Outcome::Error,
            0,
            (None, Some("cancelled")),
        );
    }

    fn record(
        &mut self,
        (asked, (arguments_sha256, arguments)): (&Asked, (String, Option<Value>)),
        outcome: Outcome,
        answer: usize,
        (layer, reason): (Option<&'static str>, Option<&'static str>),
    ) {
        if asked.method != CALL || !self.limits.is_audited() {
            return;
        }
        let count = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
        let took = self.now.at.duration_since(asked.since).as_millis();
        self.effects.push(Effect::Event(Event::Call(Box::new(Call {
            tool: asked.tool.clone().unwrap_or_default(),
            arguments_sha256,
            arguments,
            request_bytes: count(asked.bytes),
            response_bytes: count(answer),
            duration_ms: u64::try_from(took).unwrap_or(u64::MAX),
            outcome,
            layer,
            reason,
        }))));
    }
}
