//! What an administrator should know of a policy that reads well: entries that are weaker than
//! they look, and the whole in a few numbers. Pure.

use serde::Serialize;

use super::entry::{Entry, ProgramEntry};
use super::{AdminPolicy, PolicyError, Rule, load, shown};

/// `supervisor.policy-check.v1`: a policy that reads.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Checked {
    /// The files it is made of; none where no policy is installed.
    pub(crate) files: Vec<String>,
    /// How many entries of allow there are; nothing where there is no allow list.
    pub(crate) allow: Option<usize>,
    /// How many entries of deny there are.
    pub(crate) deny: usize,
    /// The floors, as `key: value`.
    pub(crate) floors: Vec<String>,
    /// What is weaker than it looks.
    pub(crate) notes: Vec<Note>,
}

/// One thing that is weaker than it looks.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Note {
    pub(crate) rule: String,
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// The policy in force, in numbers: for whoever reports on this machine.
///
/// # Errors
/// As [`load::installed`]: nothing starts then.
pub(crate) fn installed() -> Result<Checked, PolicyError> {
    load::installed().map(|policy| Checked::of(&policy))
}

impl Checked {
    /// A policy in numbers, with its notes.
    #[must_use]
    pub(crate) fn of(policy: &AdminPolicy) -> Self {
        let floors = policy
            .floors
            .iter()
            .flat_map(|placed| placed.floors.listed());
        let allow = policy.allow.iter().flatten();
        Self {
            files: policy.files.iter().map(|file| shown(file)).collect(),
            allow: policy.allow.as_ref().map(Vec::len),
            deny: policy.deny.len(),
            floors: floors.collect(),
            notes: allow
                .flat_map(|rule| told(rule, in_allow))
                .chain(policy.deny.iter().flat_map(|rule| told(rule, in_deny)))
                .collect(),
        }
    }
}

fn told(rule: &Rule, notes: fn(&ProgramEntry) -> Vec<&'static str>) -> Vec<Note> {
    let texts = match &rule.entry {
        Entry::Program(entry) => notes(entry),
        Entry::Host(pattern) if pattern.is_below() && !pattern.name().contains('.') => {
            vec!["it covers every name of a top-level domain"]
        }
        Entry::Host(_) => Vec::new(),
    };
    let note = |text: &str| Note {
        rule: rule.name.clone(),
        file: shown(&rule.file),
        line: rule.line,
        text: text.to_owned(),
    };
    texts.into_iter().map(note).collect()
}

fn in_allow(entry: &ProgramEntry) -> Vec<&'static str> {
    let mut notes = Vec::new();
    match &entry.command {
        None => notes.push("without `command`, any arguments at any place are allowed"),
        Some(command) if command.any_further() => {
            notes.push("`…` allows any further arguments, whatever they make the program do");
        }
        Some(command) => notes.extend(three_dots(command)),
    }
    if entry.env.is_none() {
        notes.push(
            "without `env`, it may be given variables that make it run something else: NODE_OPTIONS, PYTHONPATH, PATH",
        );
    }
    notes
}

fn in_deny(entry: &ProgramEntry) -> Vec<&'static str> {
    let Some(command) = &entry.command else {
        return vec!["a changed byte passes it"];
    };
    let mut notes = Vec::new();
    notes.extend(three_dots(command));
    if !command.any_further() {
        notes.push("without `…` as the last word, one more argument passes it");
    }
    notes
        .push("a copy, an interpreter or `env` in front of it passes; an allow list refuses those");
    notes
}

fn three_dots(command: &super::entry::CommandPattern) -> Option<&'static str> {
    let three = command.words().last().is_some_and(|last| last == "...");
    three.then_some("`...` is a word of three dots; any further arguments are `…`, one character")
}
