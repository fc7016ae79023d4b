//! The policy applied to a subject. Pure.
//!
//! Deny wins; then an allow list, if there is one, must have an entry; then every floor of every
//! file must be met. So the order of files and entries decides nothing but which rule is named.

use crate::declaration::{EnvName, loader};
use crate::text;

use super::entry::{Entry, ProgramEntry};
use super::host::{self, UrlHost};
use super::subject::{ProgramSubject, Subject};
use super::{AdminPolicy, Decision, Rule, Verdict};

/// What the administrator says to a subject.
#[must_use]
pub(crate) fn evaluate(policy: &AdminPolicy, subject: &Subject) -> Verdict {
    if let Some(allowed) = policy.absent() {
        return allowed;
    }
    match subject {
        Subject::Url(url) => evaluate_host(policy, &host::of_url(url)),
        Subject::Program(program) => evaluate_program(policy, program),
    }
}

fn evaluate_host(policy: &AdminPolicy, host: &UrlHost) -> Verdict {
    let pattern = |rule: &&Rule| match &rule.entry {
        Entry::Host(pattern) => pattern.matches(host),
        Entry::Program(_) => false,
    };
    if let Some(rule) = policy.deny.iter().find(pattern) {
        return rule.verdict(Decision::Deny, "an entry of deny names its host");
    }
    let names_host = |rule: &&Rule| matches!(rule.entry, Entry::Host(_));
    if !matches!(host, UrlHost::Plain(_))
        && let Some(rule) = policy.deny.iter().find(names_host)
    {
        let why = "its host can be read in two ways, and deny names hosts";
        return rule.verdict(Decision::Deny, why);
    }
    let Some(allow) = &policy.allow else {
        return policy.not_denied();
    };
    match allow.iter().find(pattern) {
        Some(rule) => rule.verdict(Decision::Allow, "an entry of allow names its host"),
        None if matches!(host, UrlHost::Plain(_)) => policy.not_allowed("names its host"),
        None => policy.not_allowed("names its host as it is spelled; it can be read in two ways"),
    }
}

fn evaluate_program(policy: &AdminPolicy, subject: &ProgramSubject) -> Verdict {
    if let Some((rule, why)) = policy
        .deny
        .iter()
        .find_map(|rule| Some((rule, denies(rule, subject)?)))
    {
        return rule.verdict(Decision::Deny, why);
    }
    let mut allowed = policy.not_denied();
    let mut pinned = false;
    if let Some(allow) = &policy.allow {
        let judged = || {
            allow
                .iter()
                .filter_map(|rule| Some((rule, bounds(rule, subject)?)))
        };
        let mut fitting = judged().filter(|(_, excess)| excess.is_none());
        match (
            fitting.next(),
            judged().find_map(|(rule, excess)| Some((rule, excess?))),
        ) {
            (Some((rule, _)), _) => {
                allowed = rule.verdict(Decision::Allow, "an entry of allow names it");
                let names_content = |(rule, _): (&Rule, _)| rule.sha256().is_some();
                pinned = rule.sha256().is_some() || fitting.any(names_content);
            }
            (None, Some((rule, excess))) => return rule.verdict(Decision::Deny, &excess),
            (None, None) => return policy.not_allowed("names its command line"),
        }
    }
    let below = policy
        .floors
        .iter()
        .find_map(|placed| Some((placed, placed.floors.first_below(subject, pinned)?)));
    match below {
        Some((placed, below)) => placed.verdict(&below),
        None => allowed,
    }
}

/// Why an entry of deny refuses a program.
fn denies(rule: &Rule, subject: &ProgramSubject) -> Option<&'static str> {
    let Entry::Program(entry) = &rule.entry else {
        return None;
    };
    let why = match &entry.command {
        None => "an entry of deny names its content",
        Some(command) if command.matches(&subject.found) => "an entry of deny names it",
        Some(command) if subject.further.iter().any(|line| command.matches(line)) => {
            "an entry of deny names what it leads to"
        }
        Some(_) => return None,
    };
    match (&entry.sha256, &subject.sha256) {
        (None, _) => Some(why),
        (Some(named), Some(content)) => (named.as_str() == content).then_some(why),
        // Whether it is denied cannot be told.
        (Some(_), None) => Some("an entry of deny names a content, and its own is not known"),
    }
}

/// Nothing where an entry of allow does not name a program; where it does, how the program
/// exceeds its bounds, if it does.
#[expect(
    clippy::option_option,
    reason = "named or not; within its bounds or not"
)]
fn bounds(rule: &Rule, subject: &ProgramSubject) -> Option<Option<String>> {
    let Entry::Program(entry) = &rule.entry else {
        return None;
    };
    let command = entry.command.as_ref();
    if !command.is_none_or(|command| command.matches(&subject.found)) {
        return None;
    }
    let has_it = |named: &super::entry::Sha256| Some(named.as_str()) == subject.sha256.as_deref();
    if !entry.sha256.as_ref().is_none_or(has_it) {
        // By its content alone: another program.
        return command.map(|_| Some("an entry of allow names it with another content".to_owned()));
    }
    Some(excess(entry, subject))
}

/// In what a program exceeds what an entry lets it be given.
fn excess(entry: &ProgramEntry, subject: &ProgramSubject) -> Option<String> {
    let named = |name: &EnvName| entry.env.as_ref().is_some_and(|env| env.contains(name));
    for name in subject.variables.iter().filter(|name| !named(name)) {
        if loader::loader(name).is_some() {
            return Some(format!(
                "{name} acts on the loader, and the entry's `env` does not name it"
            ));
        }
        if *name == EnvName::path() {
            continue;
        }
        if entry.env.is_some() {
            return Some(format!(
                "it is given {name}, which the entry's `env` does not name"
            ));
        }
    }
    if entry.env.is_some()
        && !named(&EnvName::path())
        && let Some(open) = &subject.open_path
    {
        return Some(format!(
            "its PATH holds {}, which is not root's alone, and the entry's `env` does not name PATH",
            text::path(open)
        ));
    }
    (subject.dir && !entry.dir)
        .then(|| "it is given a --dir, and the entry says `dir: false`".to_owned())
}
