//! What a server wants of the host: an answer of its person, of its model, its roots.
//!
//! Pure. It travels on two roads: as a request of the server's (legacy), and as an entry of
//! `inputRequests` in a result, or in what is told of a task (modern). The same decision is taken on
//! both: nothing reaches a host that did not declare that it can be asked for it, and nothing that a
//! rule of the person's denies. On the first road the server is answered; on the second the request
//! that the result answers is refused.

use super::Rules;
use super::capabilities::Capabilities;
use super::envelope::{Id, asks};
use super::gate::{CALL, EXCERPT, Effect, Fault, Gate, Step};
use super::ledger::Asked;
use super::refused::{Layer, Refused};
use super::rules::{ELICITATION, ROOTS, SAMPLING};
use super::{answer, era, sanitize, splice};

/// "The user rejected it", as the protocol has it for what a server asks the host for.
const REJECTED: i64 = -1;

/// Why a host is not asked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unwanted {
    reason: &'static str,
    /// A sentence without its end.
    text: String,
    /// For the server, of the legacy era.
    code: i64,
}

impl Unwanted {
    fn refused(&self) -> Refused {
        Refused {
            layer: Layer::Rule,
            reason: self.reason,
            text: self.text.clone(),
        }
    }
}

/// What must be declared for a request, by the name that it has in the protocol; `None` for what is
/// no request to the person, the model or the file system.
fn needs(
    method: &str,
    params: Option<&str>,
) -> Option<Result<(&'static str, Declared), &'static str>> {
    let members = params.map_or_else(Vec::new, splice::members);
    let has = |wanted: &str| members.iter().any(|member| member.is_like(wanted));
    Some(match method {
        ELICITATION => {
            let modes: Vec<Option<String>> = members
                .iter()
                .filter(|member| member.is_like("mode"))
                .map(|member| serde_json::from_str(member.value).ok())
                .collect();
            match modes.as_slice() {
                [] => Ok(("elicitation", |all| all.form)),
                [Some(mode)] if mode == "form" => Ok(("elicitation", |all| all.form)),
                [Some(mode)] if mode == "url" => Ok(("elicitation.url", |all| all.url)),
                _ => Err("asks the person in no known mode"),
            }
        }
        SAMPLING if has("tools") || has("toolChoice") => {
            Ok(("sampling.tools", |all| all.sampling_tools))
        }
        SAMPLING => Ok(("sampling", |all| all.sampling)),
        ROOTS => Ok(("roots", |all| all.roots)),
        _ => return None,
    })
}

type Declared = fn(&Capabilities) -> bool;

impl Gate {
    /// Why a host that declares this is not asked for that.
    fn unwanted(
        &self,
        method: &str,
        params: Option<&str>,
        declared: Capabilities,
    ) -> Option<Unwanted> {
        let alias = &self.alias;
        let unwanted = |reason, text, code| Some(Unwanted { reason, text, code });
        match needs(method, params)? {
            Err(what) => unwanted(
                "capability-unknown",
                format!("{alias} {what}"),
                era::METHOD_NOT_FOUND,
            ),
            Ok((name, is_declared)) if !is_declared(&declared) => unwanted(
                "capability-undeclared",
                format!("{alias} asks the host for {name}, which the host does not declare"),
                era::METHOD_NOT_FOUND,
            ),
            Ok(_) => {
                let problem = match &self.rules {
                    Ok(rules) => denial(rules, alias, method)?,
                    Err(problem) => format!("the rules cannot be read: {problem}"),
                };
                unwanted(
                    "request-denied",
                    format!("{alias} asks the host for {method}, which is denied: {problem}"),
                    REJECTED,
                )
            }
        }
    }

    /// A request of the server's own: what is done in its place, where it is not passed on.
    pub(super) fn kept_from_host(&mut self, line: &[u8], id: &Id, method: &str) -> Option<Step> {
        let text = std::str::from_utf8(line).ok()?;
        let top = splice::members(text);
        let params = top.iter().find(|member| member.is("params"));
        let params = params.map(|member| member.value);
        let unwanted = self.unwanted(method, params, self.host)?;
        self.record_unwanted();
        let line = answer::error(Some(id), unwanted.code, &unwanted.text, None);
        let note = format!(
            "a request of the server's was not passed on: {}",
            unwanted.text
        );
        Some(self.noted(Vec::new(), line, Fault::Unwanted, note))
    }

    /// A result that asks the host for something: why it is not passed on.
    pub(super) fn asks_in_vain(&self, result: &str, declared: Capabilities) -> Option<Unwanted> {
        for requests in splice::members(result).iter().filter(|member| asks(member)) {
            for request in splice::members(requests.value) {
                if let Some(unwanted) = self.asks_unwanted(request.value, declared) {
                    return Some(unwanted);
                }
            }
        }
        None
    }

    fn asks_unwanted(&self, request: &str, declared: Capabilities) -> Option<Unwanted> {
        let members = splice::members(request);
        let all = |wanted: &str| -> Vec<&str> {
            let named = members.iter().filter(|member| member.is_like(wanted));
            named.map(|member| member.value).collect()
        };
        let params = all("params");
        let method = match (all("method").as_slice(), params.as_slice()) {
            ([method], [] | [_]) => serde_json::from_str::<String>(method).ok(),
            _ => None,
        };
        let method = method.unwrap_or_default();
        let params = params.first().copied();
        if needs(&method, params).is_none() {
            let shown = sanitize::excerpt(method.as_bytes(), EXCERPT);
            return Some(Unwanted {
                reason: "capability-unknown",
                text: format!(
                    "{} asks the host for `{shown}`, which is not known",
                    self.alias
                ),
                code: era::METHOD_NOT_FOUND,
            });
        }
        self.unwanted(&method, params, declared)
    }

    /// The answer to a request whose result is not passed on.
    pub(super) fn refuse_result(&mut self, id: &Id, asked: &Asked, unwanted: &Unwanted) -> Step {
        self.record_unwanted();
        let refused = unwanted.refused();
        let line = if asked.method == CALL {
            self.refuse(id, asked, &refused)
        } else {
            let text = format!("supervisor refused the result: {}", unwanted.text);
            let data = answer::Data {
                code: "request-refused",
                hint: None,
                exit: None,
            };
            answer::error(Some(id), answer::REQUEST_REFUSED, &text, Some(data))
        };
        self.answered(line)
    }

    /// A notification of the server's that tells of a task: what is done in its place, where it asks
    /// the host for what it is not to be asked.
    pub(super) fn tells_in_vain(&mut self, line: &[u8]) -> Option<Step> {
        let text = std::str::from_utf8(line).ok()?;
        let top = splice::members(text);
        let params = top.iter().find(|member| member.is("params"))?;
        let unwanted = self.asks_in_vain(params.value, self.last_declared)?;
        self.record_unwanted();
        let note = format!(
            "a notification of the server's was not passed on: {}",
            unwanted.text
        );
        Some(self.noted(Vec::new(), Vec::new(), Fault::Unwanted, note))
    }

    fn record_unwanted(&mut self) {
        let code = "request-refused".to_owned();
        self.effects
            .push(Effect::Event(crate::audit::Event::Refused { code }));
    }
}

/// The rule that denies it, in a sentence.
fn denial(rules: &Rules, alias: &str, method: &str) -> Option<String> {
    let rule = rules.permissions.denies_request(alias, method)?;
    Some(format!(
        "the rule {rule} stands under `deny` in settings.json"
    ))
}

#[cfg(test)]
#[path = "wanted_tests.rs"]
mod tests;
