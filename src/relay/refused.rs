//! The refusal of a call: a tool result, not an error of the protocol, so that a model reads it.
//!
//! Pure. The one shape of every layer that refuses (`docs/relay.md`).

use std::collections::BTreeSet;

use serde::Serialize;

use super::gate::EXCERPT;
use super::sanitize;
use crate::declaration::Category;

/// Who refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Layer {
    /// The administrator's floor.
    Policy,
    /// What was approved of what the server says of itself.
    Surface,
    /// `--only`, `tools.include`, `tools.exclude`.
    Filter,
    /// A rule of `settings.json`.
    Rule,
    /// The categories that the declaration grants.
    Category,
    /// The breaker.
    Breaker,
    /// So much, and no more.
    Limit,
}

impl Layer {
    /// The word.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Surface => "surface",
            Self::Filter => "filter",
            Self::Rule => "rule",
            Self::Category => "category",
            Self::Breaker => "breaker",
            Self::Limit => "limit",
        }
    }
}

/// Why a call is not passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) layer: Layer,
    /// Kebab-case.
    pub(super) reason: &'static str,
    /// For a person or a model: what and why, a sentence without its end.
    pub(super) text: String,
}

/// What a call needs, and what is granted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grant<'a> {
    pub(super) requires: Category,
    pub(super) granted: &'a BTreeSet<Category>,
}

/// What a program reads of it.
#[derive(Serialize)]
struct Facts<'a> {
    tool: &'a str,
    refused: bool,
    layer: Layer,
    reason: &'static str,
    requires: Vec<Category>,
    granted: Vec<Category>,
    retry_will_succeed: bool,
}

impl Refused {
    /// The `result` of the call, with what it would need where the layer goes by that: `structured` where the tool is known to declare no
    /// `outputSchema`, `modern` where the request is of the 2026-07-28 era.
    pub(super) fn result(
        &self,
        tool: &str,
        grant: Option<Grant<'_>>,
        (structured, modern): (bool, bool),
    ) -> serde_json::Value {
        let granted = grant.into_iter().flat_map(|grant| grant.granted).copied();
        let facts = Facts {
            tool,
            refused: true,
            layer: self.layer,
            reason: self.reason,
            requires: grant.map(|grant| grant.requires).into_iter().collect(),
            granted: granted.collect(),
            retry_will_succeed: false,
        };
        let (text, layer) = (&self.text, self.layer.as_str());
        let text = format!("supervisor refused the call: {text} ({layer}).");
        let mut result = serde_json::json!({
            "content": [{"type": "text", "text": text}],
            "isError": true,
            "_meta": {"supervisor/refusal": facts},
        });
        if let Some(members) = result.as_object_mut() {
            if structured {
                members.insert("structuredContent".to_owned(), serde_json::json!(facts));
            }
            if modern {
                members.insert("resultType".to_owned(), "complete".into());
            }
        }
        result
    }
}

/// A tool's name in a sentence.
pub(super) fn shown(tool: &str) -> String {
    sanitize::excerpt(tool.as_bytes(), EXCERPT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_the_shape_that_models_and_clients_read() {
        let refused = Refused {
            layer: Layer::Filter,
            reason: "tool-filtered",
            text: "weather does not offer it".to_owned(),
        };
        let result = refused.result("set_x", None, (true, true));
        let facts = &result["_meta"]["supervisor/refusal"];
        assert_eq!(
            (&facts["layer"], &facts["tool"]),
            (&"filter".into(), &"set_x".into())
        );
        assert_eq!(facts["retry_will_succeed"], false);
        assert_eq!(&result["structuredContent"], facts);
        assert_eq!(result["resultType"], "complete");
        assert_eq!(result["isError"], true);
        let plain = refused.result("x", None, (false, false));
        assert!(plain.get("structuredContent").is_none() && plain.get("resultType").is_none());
        assert_eq!(shown("a\u{202e}b"), r"a\u{202e}b");
    }
}
