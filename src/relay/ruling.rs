//! The gate's layer of rules: what the person and the administrator refuse.
//!
//! Pure. A rule for a whole server refuses whatever it can be asked to do; the others are about calls
//! of tools. Where the rules cannot be read nothing is called: what they say now is not known.

use std::time::Duration;

use super::answer::{self, Data};
use super::asking::is_call;
use super::envelope::Id;
use super::gate::{CALL, Gate};
use super::ledger::Asked;
use super::refused::{self, Layer, Refused};
use super::rules::{Action, By, Decision};
use super::{ASK_LIMIT, Rules};

impl Gate {
    /// The rules as they are now; or why they cannot be read.
    pub(super) fn set_rules(&mut self, rules: Result<Rules, String>) {
        self.rules = rules;
    }

    /// What the rules say of a call. Where they cannot be read nothing gets so far.
    pub(super) fn ruled(&self, tool: &str) -> Decision {
        match &self.rules {
            Ok(rules) => rules.permissions.call(&self.alias, tool),
            Err(_) => Decision {
                action: Action::Deny,
                by: By::Default,
            },
        }
    }

    /// How long a question to the person may wait.
    pub(super) fn ask_limit(&self) -> Duration {
        self.rules
            .as_ref()
            .map_or(ASK_LIMIT, |rules| rules.ask_limit)
    }

    /// The answer to a request that the rules refuse.
    pub(super) fn ruled_out(&mut self, id: &Id, asked: &Asked) -> Option<Vec<u8>> {
        let rules = match &self.rules {
            Ok(rules) => rules,
            Err(problem) if is_call(&asked.method) => {
                let refused = Refused {
                    layer: Layer::Rule,
                    reason: "settings-unreadable",
                    text: format!("the rules cannot be read, so nothing is called: {problem}"),
                };
                return Some(self.refuse_any(id, asked, &refused));
            }
            Err(_) => return None,
        };
        if asked.method == CALL {
            let Some(tool) = &asked.tool else {
                return rules.permissions.rule(&self.alias).then(|| {
                    let message = "the call names no tool";
                    answer::error(Some(id), answer::INVALID_PARAMS, message, None)
                });
            };
            let decision = self.ruled(tool);
            if decision.action != Action::Deny {
                return None;
            }
            let (alias, why, tool) = (&self.alias, why(&decision), refused::shown(tool));
            let refused = Refused {
                layer: layer(&decision),
                reason: "call-denied",
                text: format!(
                    "calls of {tool} of {alias} are denied, since {why}; a retry will not help"
                ),
            };
            return Some(self.refuse(id, asked, &refused));
        }
        let rule = rules.permissions.denies_server(&self.alias)?;
        let text = format!(
            "{} is denied, since the rule {rule} stands under `deny` in settings.json",
            refused::shown(&asked.method)
        );
        let refused = Refused {
            layer: Layer::Rule,
            reason: "call-denied",
            text,
        };
        is_call(&asked.method).then(|| self.refuse_any(id, asked, &refused))
    }

    /// Refuses a call by a result, and another request by an error.
    pub(super) fn refuse_any(&mut self, id: &Id, asked: &Asked, refused: &Refused) -> Vec<u8> {
        if asked.method == CALL {
            return self.refuse(id, asked, refused);
        }
        let hint = "supervisor rules";
        let data = Data {
            code: "denied-by-rule",
            hint: Some(hint),
            exit: None,
        };
        self.effects
            .push(super::gate::Effect::Event(crate::audit::Event::Refused {
                code: "denied-by-rule".to_owned(),
            }));
        let text = format!("supervisor refused the request: {}", refused.text);
        answer::error(Some(id), answer::DENIED_BY_RULE, &text, Some(data))
    }
}

/// Who refuses what a decision leads to.
pub(super) fn layer(decision: &Decision) -> Layer {
    match decision.by {
        By::Floor => Layer::Policy,
        By::Rule(_) | By::Default => Layer::Rule,
    }
}

/// Why, in a sentence.
pub(super) fn why(decision: &Decision) -> String {
    let action = decision.action.as_str();
    match &decision.by {
        By::Rule(rule) => format!("the rule {rule} stands under `{action}` in settings.json"),
        By::Default => format!("`permissions.default` is `{action}` in settings.json"),
        By::Floor => format!("the administrator's floor is `calls: {action}`"),
    }
}
