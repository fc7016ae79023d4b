//! The gate's way to the person: a call under `ask` is put to them through the host's elicitation.
//!
//! Pure. To a legacy host goes a request of ours, and the call waits here while everything else
//! passes. A modern host gets the question as its result, and attempts the call again with the answer,
//! which goes on to the server without what was ours. A yes is to this tool with these arguments,
//! once; all else (no, no answer, an answer that is none) refuses the call. What refuses calls is
//! asked again after the yes, since it may have changed meanwhile.

use serde_json::{Value, json};

use super::answer;
use super::arguments::arguments_of;
use super::envelope::{Id, Reply};
use super::gate::{CALL, Effect, Gate, Gone, Step};
use super::guard::Wanted;
use super::ledger::Asked;
use super::params::Params;
use super::question::{self, Held, Questions};
use super::refused::{self, Layer, Refused};
use super::rules::{Action, By, Decision};
use super::ruling::{layer, why};
use super::word::{KEY, Word, response, rewritten};
use super::{sanitize, splice};
use crate::audit::verify::sha256;

/// Characters of the arguments that a question shows.
const SHOWN: usize = 2_000;

/// What becomes of a call that no layer refused.
pub(super) enum Consent {
    /// It passes as it is.
    Passes,
    /// It passes, in these bytes.
    As(Vec<u8>),
    /// This is the answer to it.
    Answered(Vec<u8>),
    /// It waits; this goes to the host.
    Waits(Vec<u8>),
}

impl Gate {
    /// Whether a call needs the person's word, and how it gets there.
    pub(super) fn consent(
        &mut self,
        line: &[u8],
        id: &Id,
        asked: &mut Asked,
        params: &Params<'_>,
    ) -> Consent {
        if asked.method != CALL {
            return Consent::Passes;
        }
        let decision = self.ruled(asked.tool.as_deref().unwrap_or_default());
        if decision.action != Action::Ask && params.state().is_none() {
            return Consent::Passes;
        }
        let tool = asked.tool.clone().unwrap_or_default();
        let state = params
            .state()
            .and_then(|json| serde_json::from_str::<String>(json).ok());
        // The digest of large arguments takes as long as all else: only where one is compared.
        let arguments = || sha256(params.arguments().unwrap_or("{}").as_bytes());
        if decision.action != Action::Ask {
            // One that was asked about before the rule was taken back.
            return match state.filter(|state| question::is_ours(state)) {
                Some(state) => self.without_ours(line, &state, (&tool, &arguments())),
                None => Consent::Passes,
            };
        }
        let arguments = arguments();
        let call = (tool.as_str(), arguments.as_str());
        if let Some(consent) = self.said(
            (line, id),
            asked,
            params,
            (&decision, call, state.as_deref()),
        ) {
            return consent;
        }
        if !asked.declared.form {
            let refused = self.cannot_ask(&tool, &decision);
            return Consent::Answered(self.refuse(id, asked, &refused));
        }
        let question = self.put(&tool, params.arguments(), &decision);
        if asked.modern {
            // What is ours and was used, or is none, is nothing that the server should see.
            let brought = match state.as_deref() {
                Some(state) if question::is_ours(state) => [None, None],
                _ => [params.responses(), params.state()],
            };
            let due = self.now.at.checked_add(self.ask_limit());
            let state = self.questions.state(call, brought, due);
            let requests = json!({KEY: {"method": "elicitation/create", "params": question}});
            return Consent::Answered(answer::result(
                id,
                &json!({
                    "resultType": "input_required",
                    "inputRequests": requests,
                    "requestState": state,
                }),
            ));
        }
        asked.consent = Some(arguments);
        self.wait_for_word(line, id, asked, &question)
    }

    /// Whether a call that waited needs the person's word by now, and has it not.
    pub(super) fn wants_word(&self, asked: &Asked) -> bool {
        let tool = asked.tool.as_deref().unwrap_or_default();
        asked.method == CALL && asked.consent.is_none() && self.ruled(tool).action == Action::Ask
    }

    /// A call is taken up from its beginning: what it wants was seen meanwhile, so that it waits for
    /// the person alone. The line has its LF.
    pub(super) fn ask_again(&mut self, mut line: Vec<u8>) {
        line.pop();
        match self.host_line(&line) {
            Step::Forward => {
                line.push(b'\n');
                self.effects.push(Effect::ToServer(line));
            }
            Step::Withhold(withheld) => self.effects.push(Effect::ToHost(withheld.to_host)),
            Step::Skip => {}
        }
    }

    /// What the person said of a call already: the answer that it brings, or that they were asked
    /// before the server answered with questions of its own.
    fn said(
        &mut self,
        (line, id): (&[u8], &Id),
        asked: &mut Asked,
        params: &Params<'_>,
        (decision, call, state): (&Decision, (&str, &str), Option<&str>),
    ) -> Option<Consent> {
        let arguments = || Some(call.1.to_owned());
        let Some(ours) = state.filter(|state| question::is_ours(state)) else {
            // A round of the server's, which only the modern era has: the host brings what it was
            // asked for, or the state. Any other call of the same words is another call.
            let is_round = asked.modern && (params.responses().is_some() || state.is_some());
            let goes_on = is_round && self.questions.continues(call, state, self.now.at);
            return goes_on.then(|| {
                asked.consent = arguments();
                Consent::Passes
            });
        };
        let brought = self.questions.redeem(ours, call, self.now.at)?;
        Some(match response(params) {
            Word::Yes => {
                asked.consent = arguments();
                rewritten(line, &brought).map_or(Consent::Passes, Consent::As)
            }
            Word::No(reason) => Consent::Answered(self.refuse_asked(id, asked, decision, reason)),
        })
    }

    fn wait_for_word(&mut self, line: &[u8], id: &Id, asked: &Asked, question: &Value) -> Consent {
        let limit = self.ask_limit();
        match self.questions.hold(id, line, asked.clone(), limit) {
            Some(ours) => Consent::Waits(answer::request(&ours, "elicitation/create", question)),
            None => {
                let waiting = self.questions.len();
                let refused = Refused {
                    layer: Layer::Limit,
                    reason: "too-many-questions",
                    text: format!("{waiting} calls wait for the person's word already"),
                };
                Consent::Answered(self.refuse(id, asked, &refused))
            }
        }
    }

    /// A call that came back with a state of ours, and needs no word any more.
    fn without_ours(&mut self, line: &[u8], state: &str, call: (&str, &str)) -> Consent {
        let brought = self.questions.redeem(state, call, self.now.at);
        rewritten(line, &brought.unwrap_or_default()).map_or(Consent::Passes, Consent::As)
    }

    /// The parameters of our question.
    fn put(&self, tool: &str, arguments: Option<&str>, decision: &Decision) -> Value {
        let (alias, tool) = (&self.alias, refused::shown(tool));
        let arguments = sanitize::excerpt(arguments.unwrap_or("{}").as_bytes(), SHOWN);
        let why = why(decision);
        let message = format!(
            "May {alias} be called?\n\ntool: {tool}\narguments: {arguments}\n\nsupervisor asks, since {why}."
        );
        json!({"message": message, "requestedSchema": {"type": "object", "properties": {}}})
    }

    /// The host's answer to a question of ours, if it is one.
    pub(super) fn person_said(&mut self, id: &Id, reply: &Reply<'_>) -> Option<Step> {
        if !Questions::is_ours(id) {
            return None;
        }
        // One that waits no longer: its answer is nobody's.
        let Some((call, held)) = self.questions.answered(id) else {
            return Some(Step::Skip);
        };
        let word = match reply {
            Reply::Result(found) => Word::of(found.json),
            Reply::Error(_) => Word::No("ask-failed"),
        };
        Some(match word {
            Word::Yes => self.let_through(call, held),
            Word::No(reason) => {
                let tool = held.asked.tool.clone().unwrap_or_default();
                let decision = self.ruled(&tool);
                let line = self.refuse_asked(&call, &held.asked, &decision, reason);
                self.answered(line)
            }
        })
    }

    /// The host's answer to a question of ours that cannot be read: nobody said yes.
    pub(super) fn no_word(&mut self, id: &Id) -> Vec<u8> {
        let found = Questions::is_ours(id).then(|| self.questions.answered(id));
        let Some((call, held)) = found.flatten() else {
            return Vec::new();
        };
        let tool = held.asked.tool.clone().unwrap_or_default();
        let decision = self.ruled(&tool);
        self.counters.answered_by_relay += 1;
        self.refuse_asked(&call, &held.asked, &decision, "ask-failed")
    }

    /// The person said yes to a call that waited.
    fn let_through(&mut self, id: Id, held: Held) -> Step {
        let Held {
            line, mut asked, ..
        } = held;
        asked.since = self.now.at;
        if let Some(gone) = self.gone.clone() {
            let line = self.ended(&id, &asked, &gone);
            return self.answered(line);
        }
        let wanted = Some(Wanted::tool(asked.tool.clone()));
        let arguments = arguments_of(&line);
        if let Some(answer) = self.refusal(&id, &asked, wanted.as_ref(), arguments.as_deref()) {
            return self.answered(answer);
        }
        self.admit_as(line, id, asked, wanted, || None)
    }

    /// Passes a call on in bytes of its own, without its LF.
    pub(super) fn admit_as(
        &mut self,
        mut line: Vec<u8>,
        id: Id,
        asked: Asked,
        wanted: Option<Wanted>,
        who: impl FnOnce() -> Option<String>,
    ) -> Step {
        match self.admit(&line, id, asked, wanted, who) {
            Step::Forward => {
                self.counters.from_host += 1;
                line.push(b'\n');
                self.effects.push(Effect::ToServer(line));
                Step::Skip
            }
            step => step,
        }
    }

    /// The host waits no longer for a call that waits for the person: so does the question.
    pub(super) fn withdraw(&mut self, id: &Id) -> bool {
        let Some(held) = self.questions.release(id) else {
            return false;
        };
        self.record_cancelled(&held.asked);
        let line = answer::cancelled(&held.question, "the call that it was about was cancelled");
        self.effects.push(Effect::ToHost(line));
        true
    }

    /// Refuses the calls that nobody answered in time.
    pub(super) fn expire_questions(&mut self) -> Vec<u8> {
        let mut lines = Vec::new();
        while let Some((id, held)) = self.questions.expire(self.now.at) {
            lines.extend(answer::cancelled(&held.question, answer::OVERDUE));
            let tool = held.asked.tool.clone().unwrap_or_default();
            let decision = self.ruled(&tool);
            lines.extend(self.refuse_asked(&id, &held.asked, &decision, "ask-timeout"));
            self.counters.answered_by_relay += 1;
        }
        lines
    }

    /// Answers every call that waits for the person: the server that it was for will not.
    pub(super) fn drop_questions(&mut self, gone: &Gone) -> Vec<u8> {
        let mut lines = Vec::new();
        for (id, held) in self.questions.take() {
            lines.extend(answer::cancelled(&held.question, "the server is gone"));
            lines.extend(self.ended(&id, &held.asked, gone));
            self.record_end(&held.asked, crate::audit::event::Outcome::Died, 0);
            self.counters.answered_by_relay += 1;
        }
        lines
    }

    /// The server answered a call that the person said yes to: where it has questions of its own, the
    /// host's next attempt is the same call.
    pub(super) fn note_round(&mut self, asked: &Asked, reply: &Reply<'_>) {
        let (Some(arguments), Reply::Result(result), true) = (&asked.consent, reply, asked.modern)
        else {
            return;
        };
        let members = splice::members(result.json);
        let member = |wanted: &str| {
            let found = members.iter().rfind(|member| member.is(wanted));
            found.and_then(|member| serde_json::from_str::<String>(member.value).ok())
        };
        if member("resultType").as_deref() == Some("input_required") {
            let tool = asked.tool.as_deref().unwrap_or_default();
            let due = self.now.at.checked_add(self.ask_limit());
            let state = member("requestState");
            self.questions
                .goes_on((tool, arguments), state.as_deref(), due);
        }
    }

    fn refuse_asked(
        &mut self,
        id: &Id,
        asked: &Asked,
        decision: &Decision,
        reason: &'static str,
    ) -> Vec<u8> {
        let (alias, why) = (&self.alias, why(decision));
        let tool = refused::shown(asked.tool.as_deref().unwrap_or_default());
        let what = match reason {
            "ask-declined" => "the person said no".to_owned(),
            "ask-cancelled" => "the person did not decide".to_owned(),
            "ask-timeout" => {
                format!(
                    "the person did not answer within {} s",
                    self.ask_limit().as_secs()
                )
            }
            _ => "the host brought no answer of the person's".to_owned(),
        };
        let refused = Refused {
            layer: layer(decision),
            reason,
            text: format!(
                "{what} to a call of {tool} of {alias}, which needs their word, since {why}"
            ),
        };
        self.refuse(id, asked, &refused)
    }

    fn cannot_ask(&self, tool: &str, decision: &Decision) -> Refused {
        let (alias, why, tool) = (&self.alias, why(decision), refused::shown(tool));
        let host = "use a host that declares elicitation";
        let cure = match &decision.by {
            By::Floor => host.to_owned(),
            // A rule under `allow` would not win over it.
            By::Rule(rule) => format!(
                "{host}, or take the rule back: supervisor rules drop {}",
                crate::text::word(&rule.typed())
            ),
            By::Default => format!(
                "{host}, or let it pass: supervisor rules allow {}",
                crate::text::word(&format!("{alias}:{tool}"))
            ),
        };
        Refused {
            layer: layer(decision),
            reason: "ask-impossible",
            text: format!(
                "a call of {tool} of {alias} needs the person's word, since {why}, and this host declares no elicitation by which to ask; {cure}"
            ),
        }
    }
}

#[cfg(test)]
#[path = "consent_properties.rs"]
mod properties;
#[cfg(test)]
#[path = "consent_tests.rs"]
pub(super) mod tests;
