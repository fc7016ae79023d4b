//! The gate's way for a request of the host's: the layers that may refuse it, then the server it
//! goes to.
//!
//! Pure. The order is that of the cost: is the server gone, is the id free, does a layer refuse the
//! call, can this server hear that era. Each layer answers in its own words; rules of later layers
//! stand in [`Gate::refusal`] too.

use std::time::Duration;

use super::answer::{self, Data};
use super::envelope::Id;
use super::era::{self, Road};
use super::filter::Called;
use super::gate::{CALL, Effect, Fault, Gate, Gone, LISTEN, MAX_ASKED, Step};
use super::ledger::{Asked, Full};
use super::params::Params;
use super::refused::{self, Layer, Refused};
use crate::surface::Kind;

impl Gate {
    pub(super) fn request(
        &mut self,
        line: &[u8],
        id: Id,
        method: &str,
        params: &Params<'_>,
    ) -> Step {
        let meta = params.meta();
        let mut asked = Asked {
            method: method.to_owned(),
            tool: (method == CALL).then(|| params.name()).flatten(),
            modern: meta.modern,
            token: meta.token,
            bytes: line.len(),
            arguments: (String::new(), None),
            since: self.now.at,
            limit: self.limits.call.filter(|_| method != LISTEN),
        };
        if let Some(gone) = self.gone.clone() {
            let line = self.ended(&id, &asked, &gone);
            return self.answered(line);
        }
        if let Err(full) = self.asked.has_room(&id) {
            return self.full(&id, full);
        }
        if method == CALL {
            asked.arguments = self.limits.audit.digest(params.arguments());
        }
        if let Some(answer) = self.refusal(&id, &asked) {
            return self.answered(answer);
        }
        match self.session.request(method, meta.modern, self.now.at) {
            Road::Server => {}
            Road::NewServer => {
                let lines = self.answer_all(&Gone::Replaced);
                self.called.abandon();
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
        match self.asked.enter(id.clone(), asked) {
            Ok(()) => Step::Forward,
            Err(full) => self.full(&id, full),
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
    fn refusal(&mut self, id: &Id, asked: &Asked) -> Option<Vec<u8>> {
        let name = asked.tool.as_deref();
        if asked.method == CALL {
            match self.tools.call(name) {
                Called::Offered => {}
                Called::Unknown => {
                    let message =
                        format!("unknown tool: {}", refused::shown(name.unwrap_or_default()));
                    self.record_refused(asked, Layer::Filter, "tool-unknown");
                    return Some(answer::error(
                        Some(id),
                        answer::INVALID_PARAMS,
                        &message,
                        None,
                    ));
                }
                Called::Refused => return Some(self.refuse(id, asked, &self.filtered(name))),
            }
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

    fn filtered(&self, name: Option<&str>) -> Refused {
        let (alias, tool) = (&self.alias, refused::shown(name.unwrap_or_default()));
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

    /// Whether the refusal of a call may carry structured content: what was approved of the tool, or
    /// else what was seen of it, declares no `outputSchema` that a strict client would hold it against.
    fn is_unstructured(&self, tool: &str) -> bool {
        let approved = self.approved.iter();
        let mut forms = approved
            .flat_map(|surface| surface.forms(Kind::Tool, tool))
            .map(|form| form.item().get("outputSchema").is_none())
            .peekable();
        if forms.peek().is_some() {
            return forms.all(|plain| plain);
        }
        self.tools.is_unstructured(tool)
    }

    fn refuse(&mut self, id: &Id, asked: &Asked, refused: &Refused) -> Vec<u8> {
        let tool = asked.tool.as_deref().unwrap_or_default();
        let structured = self.is_unstructured(tool);
        self.record_refused(asked, refused.layer, refused.reason);
        answer::result(id, &refused.result(tool, structured, asked.modern))
    }
}

/// Requests that have a server do something; the others only ask what it offers.
pub(super) fn is_call(method: &str) -> bool {
    matches!(
        method,
        CALL | "prompts/get" | "resources/read" | "completion/complete"
    )
}
