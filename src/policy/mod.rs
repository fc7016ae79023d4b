//! The administrator's word: which plans may start at all.
//!
//! [`load`] finds the files, by way of `owner`, and `document` reads them into an
//! [`AdminPolicy`]; [`look`] asks this machine for what its rules name, the `subject`; and
//! [`evaluate`](evaluate::evaluate) is pure. What a file says besides is told by `notes`, what
//! other hosts' lists say by [`exchange`]. Nothing here starts anything or gives anything.
//!
//! Place on the path: plan + **policy** → **verdict** → the one gate, `launch::permit`.

pub(crate) mod document;
pub(crate) mod entry;
pub(crate) mod error;
pub(crate) mod evaluate;
pub(crate) mod exchange;
pub(crate) mod floor;
pub(crate) mod host;
pub(crate) mod load;
pub(crate) mod look;
pub(crate) mod notes;
pub(crate) mod owner;
pub(crate) mod problem;
pub(crate) mod subject;
#[cfg(test)]
mod truth;

use std::path::PathBuf;

use serde::Serialize;

pub use error::PolicyError;

use crate::relay::Action;
use entry::{Entry, Sha256};
use floor::{Below, Floors};

/// The merged policy of this machine. Without a file everything not refused elsewhere may start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AdminPolicy {
    /// Every file, in the order they were read.
    files: Vec<PathBuf>,
    /// `None` where no file has an allow list.
    allow: Option<Vec<Rule>>,
    deny: Vec<Rule>,
    /// Those of each file: all must be met, which is the stricter of each.
    floors: Vec<PlacedFloors>,
}

/// An entry and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    entry: Entry,
    /// `allow[0] {"host":"example.com"}`.
    name: String,
    comment: Option<String>,
    file: PathBuf,
    line: usize,
}

/// The floors of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlacedFloors {
    floors: Floors,
    file: PathBuf,
    line: usize,
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
    /// The line it begins at.
    pub line: Option<usize>,
    /// Why, for a reader.
    pub reason: String,
}

/// What floors require of a run: they are held while it lasts, not only looked at before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Required {
    /// The least that becomes of a call of a tool, whatever the person's rules say.
    pub calls: Action,
    /// Texts in results are marked as a server's.
    pub marking: bool,
    /// A surface is offered whole or not at all.
    pub whole: bool,
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

impl Decision {
    /// The word.
    #[must_use]
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allowed",
            Self::Deny => "denied",
        }
    }
}

impl AdminPolicy {
    /// Whether no file is there.
    #[must_use]
    pub(crate) fn is_absent(&self) -> bool {
        self.files.is_empty()
    }

    /// What is said to everything where no file is there.
    fn absent(&self) -> Option<Verdict> {
        let why = "no administrator's policy on this machine";
        self.is_absent()
            .then(|| Verdict::by_none(Decision::Allow, why))
    }

    /// Both policies: lists join, and the floors of both must be met.
    #[must_use]
    pub(crate) fn merged(mut self, other: Self) -> Self {
        self.files.extend(other.files);
        self.allow = match (self.allow, other.allow) {
            (Some(mut own), Some(others)) => {
                own.extend(others);
                Some(own)
            }
            (own, others) => own.or(others),
        };
        self.deny.extend(other.deny);
        self.floors.extend(other.floors);
        self
    }

    /// The strictest of what the files require of a run.
    #[must_use]
    pub(crate) fn required(&self) -> Required {
        let floors = || self.floors.iter().map(|placed| &placed.floors);
        Required {
            calls: floors().filter_map(Floors::calls).max().unwrap_or_default(),
            marking: floors().any(|floors| floors.marking == Some(true)),
            whole: floors().any(|floors| floors.surface.is_some()),
        }
    }

    fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.allow.iter().flatten().chain(&self.deny)
    }

    /// Whether any rule names the content of a program.
    fn names_content(&self) -> bool {
        self.rules().any(|rule| rule.sha256().is_some())
    }

    fn not_denied(&self) -> Verdict {
        let why = "no entry of deny names it, and there is no allow list";
        Verdict {
            file: self.files.first().map(|file| shown(file)),
            ..Verdict::by_none(Decision::Allow, why)
        }
    }

    fn not_allowed(&self, what: &str) -> Verdict {
        let allow = self.allow.iter().flatten();
        let why = match allow.clone().count() {
            0 => "the allow list is empty, so nothing starts".to_owned(),
            count => format!("no entry of allow {what} ({count} looked at)"),
        };
        let file = allow.map(|rule| &rule.file).chain(&self.files).next();
        Verdict {
            rule: Some("allow".to_owned()),
            file: file.map(|file| shown(file)),
            ..Verdict::by_none(Decision::Deny, &why)
        }
    }
}

impl Rule {
    fn verdict(&self, result: Decision, why: &str) -> Verdict {
        Verdict {
            result,
            rule: Some(self.name.clone()),
            file: Some(shown(&self.file)),
            line: Some(self.line),
            reason: with_comment(why, self.comment.as_deref()),
        }
    }

    fn sha256(&self) -> Option<&Sha256> {
        match &self.entry {
            Entry::Program(entry) => entry.sha256.as_ref(),
            Entry::Host(_) => None,
        }
    }
}

impl PlacedFloors {
    fn verdict(&self, below: &Below) -> Verdict {
        Verdict {
            result: Decision::Deny,
            rule: Some(format!("floor {}", below.floor)),
            file: Some(shown(&self.file)),
            line: Some(self.line),
            reason: with_comment(&below.why, self.floors.comment.as_deref()),
        }
    }
}

impl Verdict {
    fn by_none(result: Decision, why: &str) -> Self {
        Self {
            result,
            rule: None,
            file: None,
            line: None,
            reason: why.to_owned(),
        }
    }

    /// Reason, rule and file in one line.
    #[must_use]
    pub(crate) fn told(&self) -> String {
        let mut told = self.reason.clone();
        if let Some(rule) = &self.rule {
            told.push_str(&format!(": {rule}"));
        }
        match (&self.file, self.line) {
            (Some(file), Some(line)) => told.push_str(&format!(", {file} line {line}")),
            (Some(file), None) => told.push_str(&format!(", {file}")),
            (None, _) => {}
        }
        crate::text::printable(&told)
    }
}

fn shown(file: &std::path::Path) -> String {
    file.display().to_string()
}

fn with_comment(why: &str, comment: Option<&str>) -> String {
    match comment {
        Some(comment) => format!("{why} ({comment})"),
        None => why.to_owned(),
    }
}
