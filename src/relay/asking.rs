//! The gate's way for a request of the host's: the layers that may refuse it, then the server it
//! goes to.
//!
//! Pure. The order is that of the cost: is the server gone, is the id free, does a layer refuse the
//! call, can this server hear that era. Each layer answers in its own words; rules of later layers
//! stand in [`Gate::refusal`] too.

use std::time::Duration;

use super::answer::{self, Data};
use super::consent::Consent;
use super::envelope::Id;
use super::era::{self, Road};
use super::gate::{CALL, Effect, Fault, Gate, Gone, LISTEN, MAX_ASKED, Step, Withheld};
use super::guard::{Pass, Wanted, kind_of};
use super::ledger::{Asked, Asks, Full};
use super::params::Params;
use super::present::Cursor;
use super::reading::Reading;
use super::refused::{self, Grant, Layer, Refused};
use crate::surface::Kind;
use crate::surface::canonical::Item;

impl Gate {
    pub(super) fn request(
        &mut self,
        line: &[u8],
        id: Id,
        method: &str,
        params: &Params<'_>,
    ) -> Step {
        if method == era::INITIALIZE {
            self.host = params.capabilities();
        }
        let mut asked = self.asked_of(line, method, params);
        self.last_declared = asked.declared;
        if Reading::owns(&id) {
            let message = "invalid request: its id is one of the relay's own";
            let line = answer::error(Some(&id), answer::INVALID_REQUEST, message, None);
            return self.answered(line);
        }
        if let Some(gone) = self.gone.clone() {
            let line = self.ended(&id, &asked, &gone);
            return self.answered(line);
        }
        if let Err(full) = self.has_room(&id) {
            return self.full(&id, full);
        }
        if method == CALL {
            if params.has_lookalike() {
                return self.answered(answer::error(
                    Some(&id),
                    answer::INVALID_REQUEST,
                    "invalid request: a member's name differs from a reserved one in letter case only",
                    None,
                ));
            }
            asked.arguments = self.limits.audit.digest(params.arguments());
        }
        let wanted = Wanted::of(method, params, self.whole);
        if let Some(answer) = self.refusal(&id, &asked, wanted.as_ref(), params.arguments()) {
            return self.answered(answer);
        }
        let modern = asked.modern;
        let who = || params.who().filter(|_| modern);
        match self.consent(line, &id, &mut asked, params) {
            Consent::Passes => self.admit(line, id, asked, wanted, who),
            Consent::As(line) => self.admit_as(line, id, asked, wanted, who),
            Consent::Answered(line) => self.answered(line),
            Consent::Waits(question) => Step::Withhold(Withheld {
                to_host: question,
                ..Withheld::default()
            }),
        }
    }

    fn has_room(&self, id: &Id) -> Result<(), Full> {
        if self.questions.holds(id) {
            return Err(Full::Taken);
        }
        self.asked.has_room(id)
    }

    /// Enters a request that nothing refuses, and sees to it that the server can hear it. What it
    /// wants may have to be looked at first; then `who` asks for that, in the era that has this.
    pub(super) fn admit(
        &mut self,
        line: &[u8],
        id: Id,
        mut asked: Asked,
        wanted: Option<Wanted>,
        who: impl FnOnce() -> Option<String>,
    ) -> Step {
        let (method, modern) = (asked.method.as_str(), asked.modern);
        match self.session.request(method, modern, self.now.at) {
            Road::Server => {}
            Road::NewServer => {
                let mut lines = self.answer_all(&Gone::Replaced);
                lines.extend(self.drop_questions(&Gone::Replaced));
                self.called.abandon();
                self.forget_surface();
                self.effects.push(Effect::ToHost(lines));
                self.effects.push(Effect::NewServer);
                self.rested();
            }
            Road::NotFound => {
                let line = self.not_found(&id, method);
                return self.answered(line);
            }
        }
        if method == era::INITIALIZE {
            self.replay.hello(line, &id);
        }
        self.limits.asked(self.now.at);
        if let Some(page) = &mut asked.page {
            // Another process may have come.
            page.epoch = self.present.of(page.kind).epoch;
        }
        if let Err(full) = self.asked.enter(id.clone(), asked) {
            return self.full(&id, full);
        }
        match wanted.filter(|wanted| self.pass(wanted) == Pass::Unseen) {
            Some(wanted) => {
                self.hold(line, id, wanted, who());
                Step::Skip
            }
            None => Step::Forward,
        }
    }

    /// What there is to know of a request.
    fn asked_of(&self, line: &[u8], method: &str, params: &Params<'_>) -> Asked {
        let meta = params.meta();
        Asked {
            method: method.to_owned(),
            tool: (method == CALL).then(|| params.name()).flatten(),
            modern: meta.modern,
            page: kind_of(method).map(|kind| Asks {
                kind,
                cursor: params.cursor().and_then(Cursor::of),
                epoch: self.present.of(kind).epoch,
            }),
            declared: if meta.modern {
                meta.capabilities
            } else {
                self.host
            },
            token: meta.token,
            bytes: line.len(),
            arguments: (String::new(), None),
            consent: None,
            since: self.now.at,
            limit: self.limits.call.filter(|_| method != LISTEN),
        }
    }

    /// A request that cannot be entered.
    fn full(&mut self, id: &Id, full: Full) -> Step {
        if full == Full::Taken {
            let message =
                "invalid request: its id is that of a request which still waits for its answer";
            let line = answer::error(Some(id), answer::INVALID_REQUEST, message, None);
            return self.answered(line);
        }
        let message = format!("{MAX_ASKED} requests wait for {} already", self.alias);
        let data = Data {
            code: "too-many-requests",
            hint: None,
            exit: None,
        };
        let line = answer::error(Some(id), answer::TOO_MANY, &message, Some(data));
        self.noted(line, Vec::new(), Fault::TooMany, message)
    }

    /// The answer to a request that a layer refuses. Each layer looks at calls, and says why.
    pub(super) fn refusal(
        &mut self,
        id: &Id,
        asked: &Asked,
        wanted: Option<&Wanted>,
        arguments: Option<&str>,
    ) -> Option<Vec<u8>> {
        let offered = |name: &String| self.filter.offers(name);
        if let Some(wanted) = wanted {
            let pass = self.pass(wanted);
            if let Wanted::Named(Kind::Tool, name) = wanted
                && asked.method == CALL
                && self.pins.is_given()
                && pass != Pass::Unknown
                && !offered(name)
            {
                let refused = self.filtered(name);
                return Some(self.refuse(id, asked, &refused));
            }
            if let Some(answer) = self.turned_away(id, asked, wanted, pass) {
                return Some(answer);
            }
        }
        if let Some(answer) = self
            .ruled_out(id, asked)
            .or_else(|| self.ungranted(id, asked, wanted))
        {
            return Some(answer);
        }
        if let Some(answer) = self.misfit(id, asked, arguments) {
            return Some(answer);
        }
        let left = self
            .breaker
            .left(self.now.of_day)
            .filter(|_| is_call(&asked.method))?;
        let text = self.broken(left);
        if asked.method == CALL {
            let refused = Refused {
                layer: Layer::Breaker,
                reason: "breaker-open",
                text,
            };
            return Some(self.refuse(id, asked, &refused));
        }
        let hint = self.hint();
        let data = Data {
            code: "breaker-open",
            hint: Some(&hint),
            exit: None,
        };
        Some(answer::error(
            Some(id),
            answer::BREAKER_OPEN,
            &text,
            Some(data),
        ))
    }

    fn filtered(&self, name: &str) -> Refused {
        let (alias, tool) = (&self.alias, refused::shown(name));
        Refused {
            layer: Layer::Filter,
            reason: "tool-filtered",
            text: format!(
                "{alias} does not offer the tool {tool} in this run, so a retry will not help"
            ),
        }
    }

    fn broken(&self, left: Duration) -> String {
        let (alias, failures) = (&self.alias, self.breaker.failures);
        let seconds = left
            .as_secs()
            .saturating_add(1)
            .min(super::breaker::OPEN.as_secs());
        format!(
            "{alias} failed {failures} times in a row and is left alone; a retry will not help yet, wait {seconds} s"
        )
    }

    /// Whether the refusal of a call may carry structured content: no `outputSchema` that a strict
    /// client would hold it against, of the tool as it was approved, or else as it is listed.
    fn is_unstructured(&self, tool: &str) -> bool {
        let plain = |form: &Item| form.item().get("outputSchema").is_none();
        if self.pins.has(Kind::Tool, tool) {
            self.pins.forms(Kind::Tool, tool).all(plain)
        } else {
            !self.present.of(Kind::Tool).is_structured(tool)
        }
    }

    pub(super) fn refuse(&mut self, id: &Id, asked: &Asked, refused: &Refused) -> Vec<u8> {
        self.record_refused(asked, refused.layer, refused.reason);
        answer::result(id, &self.refusal_of(asked, refused, None))
    }

    /// The result that refuses a call.
    pub(super) fn refusal_of(
        &self,
        asked: &Asked,
        refused: &Refused,
        grant: Option<Grant<'_>>,
    ) -> serde_json::Value {
        let tool = asked.tool.as_deref().unwrap_or_default();
        let structured = self.is_unstructured(tool);
        refused.result(tool, grant, (structured, asked.modern))
    }
}

/// Requests that have a server do something; the others only ask what it offers.
pub(super) fn is_call(method: &str) -> bool {
    matches!(
        method,
        CALL | "prompts/get" | "resources/read" | "completion/complete"
    )
}
