//! The administrator's word: which plans may start at all.
//!
//! [`load`] looks for the administrator's files (the only I/O here); [`evaluate`] is pure. The
//! grammar of those files comes with its own issue; until then a file that is there cannot be
//! obeyed, and so nothing starts (promise S3).
//!
//! Place on the path: plan + **policy** → **verdict** → the one gate, `launch::permit`.

pub(crate) mod load;

use serde::Serialize;

use crate::error::REFUSED;
use crate::plan::Plan;

/// The merged policy of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminPolicy {
    /// No file: everything not refused elsewhere may start.
    Absent,
}

/// The policy applied to one plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verdict {
    /// Whether the plan may start.
    pub result: Decision,
    /// The rule that decided, if one did.
    pub rule: Option<String>,
    /// The file it stands in.
    pub file: Option<String>,
    /// Why, for a reader.
    pub reason: String,
}

/// Allowed or denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Decision {
    /// The plan may start.
    Allow,
    /// It may not, whatever was approved.
    Deny,
}

/// Applies the policy to a plan. Pure.
#[must_use]
pub fn evaluate(policy: AdminPolicy, _plan: &Plan) -> Verdict {
    match policy {
        AdminPolicy::Absent => Verdict {
            result: Decision::Allow,
            rule: None,
            file: None,
            reason: "no administrator's policy on this machine".to_owned(),
        },
    }
}

/// Why the policy cannot be obeyed; nothing starts then.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// A policy is there, and this version does not read policies.
    #[error("S3: {file} is there, and this version cannot obey it yet: nothing starts")]
    NotObeyed {
        /// The file or directory found.
        file: String,
    },
    /// It cannot be told whether one is there.
    #[error("S3: cannot tell whether {file} is there: nothing starts")]
    Look {
        /// The file looked for.
        file: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

impl PolicyError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotObeyed { .. } => "policy-not-obeyed",
            Self::Look { .. } => "policy-unreadable",
        }
    }

    /// Always 126.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        REFUSED
    }

    /// What to do.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some("ask the administrator of this machine".to_owned())
    }
}
