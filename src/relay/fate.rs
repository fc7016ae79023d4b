//! The gate's third part: the server's comings and goings, and what time brings.
//!
//! Pure. Whatever becomes of the server, every request that waits for it is answered at once, in
//! our own words; and whether another may take its place is decided here.

use std::time::Duration;

use tokio::time::Instant;

use super::answer::{self, Data};
use super::breaker::Verdict;
use super::envelope::Id;
use super::era::{self, Era};
use super::gate::{EXCERPT, Effect, Gate, Gone, Step};
use super::ledger::Asked;
use super::replay::{self, Differs};
use super::{End, Exit, sanitize, splice};
use crate::audit::Event;
use crate::audit::event::Outcome;
use crate::exit_codes::rpc_number;
use crate::why::cause::Cause;

/// What time brought.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Expired {
    /// Whole lines of ours for the host.
    pub(super) to_host: Vec<u8>,
    /// Whole lines of ours for the server.
    pub(super) to_server: Vec<u8>,
    /// The server has not answered at all and is to be ended.
    pub(super) slow: bool,
}

impl Gate {
    /// Whether a server that ends now is started again when the host asks for something.
    pub(super) fn may_restart(&self) -> bool {
        if self.gone.is_some() {
            return false;
        }
        match self.session.era() {
            Some(Era::Modern) => true,
            Some(Era::Legacy) => self.replay.is_ready() && !self.replay.is_under_way(),
            None => self.session.declined(),
        }
    }

    /// The server ended by itself and may be started again: every request that waits is answered.
    pub(super) fn died(&mut self, exit: Exit) -> Vec<u8> {
        let (turns, news) = self.session.ended(self.asked.waits_for(era::DISCOVER));
        self.effects.extend(news.map(Effect::Discover));
        if !turns {
            return self.fell(&Gone::Ended(exit), ("server-ended", Some(exit)));
        }
        // The host is about to ask in the era that this server knows.
        let mut lines = Vec::new();
        for (id, asked) in self.asked.take() {
            lines.extend(if asked.method == era::DISCOVER {
                self.not_found(&id, &asked.method)
            } else {
                self.record_end(&asked, Outcome::Died, 0);
                self.ended(&id, &asked, &Gone::Ended(exit))
            });
            self.counters.answered_by_relay += 1;
        }
        self.session.forget();
        self.stand_empty();
        lines
    }

    /// The server closed its stdout, is ended for it, and may be started again.
    pub(super) fn muted(&mut self) -> Vec<u8> {
        self.fell(&Gone::Mute, ("stdout-closed", None))
    }

    fn fell(&mut self, gone: &Gone, fault: (&'static str, Option<Exit>)) -> Vec<u8> {
        self.deaths = self.deaths.saturating_add(1);
        self.failed(fault);
        let lines = self.answer_all(gone);
        if self.session.era() != Some(Era::Legacy) {
            self.session.forget();
        }
        self.stand_empty();
        lines
    }

    fn stand_empty(&mut self) {
        self.called.abandon();
        self.forget_surface();
        self.away = true;
    }

    /// The server ended, or has to be ended: that counts.
    pub(super) fn failed(&mut self, (fault, exit): (&'static str, Option<Exit>)) {
        // One that was ended since it did not answer has been counted.
        if !self.limits.was_late() {
            self.effects.push(Effect::Verdict(Verdict::Failed));
        }
        self.effects
            .push(Effect::Event(Event::Fault { fault, exit }));
    }

    /// How long to wait before it is started again.
    pub(super) fn wait(&self) -> Duration {
        replay::wait(self.deaths)
    }

    /// Nothing will be started any more: every open request is answered now, and each later one
    /// when it comes.
    pub(super) fn close(&mut self, gone: Gone) -> Vec<u8> {
        let mut lines = self.answer_all(&gone);
        lines.extend(self.drop_questions(&gone));
        self.forget_surface();
        self.gone = Some(gone);
        lines
    }

    /// Answers every request that waits.
    pub(super) fn answer_all(&mut self, gone: &Gone) -> Vec<u8> {
        let outcome = match gone {
            Gone::Slow(_) => Outcome::Timeout,
            Gone::Refused(_) => Outcome::Error,
            _ => Outcome::Died,
        };
        let mut lines = Vec::new();
        for (id, asked) in self.asked.take() {
            lines.extend(self.ended(&id, &asked, gone));
            self.record_end(&asked, outcome, 0);
            self.counters.answered_by_relay += 1;
        }
        lines
    }

    /// Another process sits there. The host's first words, where it is to hear them again.
    pub(super) fn started(&mut self) -> Option<Vec<u8>> {
        self.away = false;
        self.session.started(self.now.at);
        let words = (self.session.era() == Some(Era::Legacy))
            .then(|| self.replay.begin())
            .flatten();
        // It is started since something is asked of it.
        self.limits.anew(Some(self.now.at));
        words
    }

    /// Nobody waits for an answer of the process that goes.
    pub(super) fn rested(&mut self) {
        self.limits.anew(None);
    }

    /// The process has answered.
    pub(super) fn heard(&mut self) {
        self.limits.heard();
        self.reading.heard(self.now.at);
    }

    /// The answer to the host's first words, said again.
    pub(super) fn replayed(&mut self, line: &[u8], id: &Id) -> Step {
        tracing::debug!(id = %id.json(), "the first words were answered again");
        self.heard();
        self.effects.push(match self.replay.compare(line) {
            Ok(next) => Effect::Replayed(next),
            Err(Differs) => Effect::Differs,
        });
        Step::Skip
    }

    /// When to call [`Gate::expire`].
    pub(super) fn deadline(&self) -> Option<Instant> {
        let start = self.limits.due().filter(|_| !self.away);
        [
            self.asked.deadline(),
            self.questions.deadline(),
            start,
            self.reading.due(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Answers what has waited long enough.
    pub(super) fn expire(&mut self) -> Expired {
        let mut expired = Expired::default();
        if !self.away
            && let Some(limit) = self.limits.expire(self.now.at)
        {
            expired.slow = true;
            expired.to_host = self.answer_all(&Gone::Slow(limit));
            self.effects.push(Effect::Verdict(Verdict::Failed));
        }
        expired.to_host.extend(self.expire_questions());
        while let Some((id, asked)) = self.asked.expire(self.now.at) {
            let limit = asked.limit.unwrap_or_default().as_secs();
            let (alias, what) = (&self.alias, what(&asked));
            let message = format!("server {alias} did not answer {what} within {limit} s");
            let hint = format!("supervisor audit --alias {alias}");
            let data = Data {
                code: "call-timeout",
                hint: Some(&hint),
                exit: None,
            };
            expired.to_host.extend(answer::error(
                Some(&id),
                answer::CALL_TIMEOUT,
                &message,
                Some(data),
            ));
            // What has waited for a reading of ours never reached the server.
            if !self.reading.lets_go(&id) {
                expired
                    .to_server
                    .extend(answer::cancelled(&id, answer::OVERDUE));
            }
            self.effects.push(Effect::Verdict(Verdict::Failed));
            self.record_end(&asked, Outcome::Timeout, 0);
            self.counters.answered_by_relay += 1;
        }
        // After that: what waits for it may have waited long enough by now.
        if self.reading.due().is_some_and(|due| due <= self.now.at) {
            self.effects.push(Effect::Verdict(Verdict::Failed));
            self.read_long_enough();
        }
        expired
    }

    /// A server's error of the protocol in our words, where that is set. Its code stays, and the
    /// versions that a host needs to go on.
    pub(super) fn reworded(&self, id: &Id, asked: &Asked, error: &str) -> Option<Vec<u8>> {
        // Where the rules cannot be read, that may be what they say.
        if self.rules.as_ref().is_ok_and(|rules| !rules.own_words) {
            return None;
        }
        let error = reworded(&self.alias, &what(asked), error);
        let line = format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, id.json());
        Some(line.into_bytes())
    }

    /// What is said of `server/discover` in place of a server that does not know it.
    pub(super) fn not_found(&self, id: &Id, method: &str) -> Vec<u8> {
        let method = sanitize::excerpt(method.as_bytes(), EXCERPT);
        let message = format!("method not found: {method}");
        answer::error(Some(id), era::METHOD_NOT_FOUND, &message, None)
    }

    /// Why the server did not come up, where that is what the host asked for: in our words, read
    /// off the last of its own.
    fn cause_of(&self, asked: &Asked, gone: &Gone) -> Option<Cause> {
        let opening = ["initialize", era::DISCOVER].contains(&asked.method.as_str());
        let ended = matches!(gone, Gone::Ended(_) | Gone::Mute);
        self.cause
            .filter(|_| opening && ended && !self.replay.is_ready())
    }

    /// The answer to a request that the server will not answer.
    pub(super) fn ended(&self, id: &Id, asked: &Asked, gone: &Gone) -> Vec<u8> {
        let alias = &self.alias;
        let (fate, exit) = match gone {
            Gone::Refused(refusal) => return answer::refusal(id, refusal),
            Gone::Ended(exit) => (answer::fate(*exit), Some(exit.code())),
            Gone::Stopped(exit, end) => (answer::stopped(*exit, *end), Some(exit.code())),
            Gone::Mute => ("closed its stdout".to_owned(), None),
            Gone::Slow(limit) => (
                format!("gave no answer within {} s of its start", limit.as_secs()),
                None,
            ),
            Gone::Replaced => (
                "was ended, since the host turned to the other era of the protocol,".to_owned(),
                None,
            ),
            Gone::Differs => (
                "was started again, answered initialize otherwise than the first time, and was ended"
                    .to_owned(),
                None,
            ),
        };
        let cause = self.cause_of(asked, gone);
        let why = cause.map_or_else(String::new, |cause| format!("; {}", cause.text()));
        let asked = what(asked);
        let message = format!("server {alias} {fate} before it answered {asked}{why}");
        let (code, number, hint) = match gone {
            Gone::Slow(_) => ("start-timeout", answer::START_TIMEOUT, self.hint()),
            Gone::Stopped(_, End::Over(over)) => (over.code(), over.number(), over.hint(alias)),
            _ => match cause {
                Some(cause) => (cause.code(), rpc_number(cause.code()), self.hint()),
                None => ("server-ended", answer::SERVER_ENDED, self.hint()),
            },
        };
        let data = Data {
            code,
            hint: Some(&hint),
            exit,
        };
        answer::error(Some(id), number, &message, Some(data))
    }
}

/// "Unsupported protocol version" (2026-07-28), with the versions that are.
const UNSUPPORTED_VERSION: i64 = -32_022;

/// An error object in our words.
fn reworded(alias: &str, what: &str, error: &str) -> serde_json::Value {
    let members = splice::members(error);
    let member = |wanted: &str| members.iter().rfind(|member| member.is(wanted));
    let code: i64 = member("code")
        .and_then(|code| code.value.parse().ok())
        .unwrap_or(0);
    let mut data = serde_json::json!({
        "code": "server-error",
        "hint": format!("supervisor logs {alias}"),
    });
    let versions = member("data").map_or_else(Vec::new, |data| splice::members(data.value));
    let versions = versions.iter().find(|member| member.is("supported"));
    if let (UNSUPPORTED_VERSION, Some(raw)) = (code, versions) {
        let all: Vec<String> = serde_json::from_str(raw.value).unwrap_or_default();
        let plain = |word: &String| {
            word.len() <= 16 && word.chars().all(|c| c.is_ascii_digit() || c == '-')
        };
        let kept: Vec<String> = all.into_iter().filter(plain).collect();
        data = serde_json::json!({"supported": kept});
    }
    let message = format!("server {alias} answered {what} with the error {code}");
    serde_json::json!({"code": code, "message": message, "data": data})
}

/// A request in a sentence.
fn what(asked: &Asked) -> String {
    let method = sanitize::excerpt(asked.method.as_bytes(), EXCERPT);
    let tool = asked.tool.as_ref().map(|name| {
        let name = sanitize::excerpt(name.as_bytes(), EXCERPT);
        format!(" (tool {name})")
    });
    format!("{method}{}", tool.unwrap_or_default())
}
