//! The person's `settings.json`: what the relay is told of its limits, and the rules for calls.
//!
//! Strict: a key that is not known, stands there twice or asks for what this version does not do
//! refuses the file, since a person relies on what they wrote. No file is all defaults. [`watch`]
//! reads it again while a server runs, [`edit`] changes the rules in it.
//!
//! Place on the path: beside the declaration, before **relay**.

pub(crate) mod edit;
pub(crate) mod watch;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::declaration::document::{Unique, place};
use crate::declaration::file::{FileError, Locked};
use crate::declaration::store::State;
use crate::declaration::{Alias, Category};
use crate::error::{Error, REFUSED, USAGE};
use crate::relay::{
    ASK_LIMIT, Action, MAX_MESSAGE_BYTES, Permissions, Rule, RuleError, Rules, Words,
};
use crate::surface::further::Further;
use crate::text;

pub(crate) const FILE: &str = "settings.json";
const VERSION: u32 = 1;
/// Of `relay.max_message_bytes`: below it no server could introduce itself.
const LEAST_MESSAGE: usize = 65_536;
/// Above it the memory that a message takes is no small matter.
const LARGEST_MESSAGE: usize = 100_000_000;

/// Why the settings do not hold.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file cannot be trusted or read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is none of ours.
    #[error("{}: {problem}", text::path(path))]
    Unreadable {
        /// Where.
        path: PathBuf,
        /// What is wrong, with line and column.
        problem: String,
    },
    /// A rule that is to be dropped, and that there is not.
    #[error("no list of {} holds the rule {rule}", text::path(path))]
    NoSuchRule {
        /// Where.
        path: PathBuf,
        /// Which.
        rule: Rule,
    },
    /// The category of what is not one tool.
    #[error("{rule} is not one tool by its whole name, and only such a one has a category")]
    NotATool {
        /// What was named.
        rule: Rule,
    },
    /// A request of a server's that is to be asked about or allowed.
    #[error("{rule} is what a server asks the host for, and can be denied alone")]
    DeniedAlone {
        /// What was named.
        rule: Rule,
    },
}

impl SettingsError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::File(error) => error.code(),
            Self::Unreadable { .. } => "settings-unreadable",
            Self::NoSuchRule { .. } => "no-such-rule",
            Self::NotATool { .. } => "not-a-tool",
            Self::DeniedAlone { .. } => "denied-alone",
        }
    }

    /// The exit code of a command that ends here.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::File(error) => error.exit_code(),
            Self::NoSuchRule { .. } | Self::NotATool { .. } | Self::DeniedAlone { .. } => USAGE,
            Self::Unreadable { .. } => REFUSED,
        }
    }

    /// Which file.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        match self {
            Self::File(error) => Some(text::path(&error.path)),
            Self::Unreadable { path, .. } | Self::NoSuchRule { path, .. } => Some(text::path(path)),
            Self::NotATool { .. } | Self::DeniedAlone { .. } => None,
        }
    }

    /// The next command.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::NoSuchRule { .. } => Some("supervisor rules".to_owned()),
            Self::NotATool { rule } => Some(format!("supervisor tools {}", rule.alias())),
            Self::DeniedAlone { rule } => {
                let word = rule.tool().unwrap_or("*");
                Some(format!("supervisor rules deny {}:{word}", rule.alias()))
            }
            Self::Unreadable { path, .. } => {
                Some(format!("\"${{EDITOR:-vi}}\" {}", text::path(path)))
            }
        }
    }
}

/// What a person set for all servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The longest message that is passed on.
    pub(crate) max_message_bytes: usize,
    /// How long a request may wait, where the declaration says nothing.
    pub(crate) call_timeout: Option<Duration>,
    /// What is ruled of calls, the administrator's word left out.
    pub(crate) rules: Rules,
    /// A further check of a surface, before the person is asked about it.
    pub(crate) check: Option<Further>,
}

/// A list of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum List {
    /// Of those whose calls are treated so.
    Calls(Action),
    /// Of the tools that are of a category, by the person's word.
    Tools(Category),
}

/// A change of the rules.
pub(crate) enum Change<'a> {
    /// This rule stands in this list and in no other of its kind.
    Put(List, &'a Rule),
    /// These stand in none.
    Drop(&'a dyn Fn(List, &Rule) -> bool),
    /// What is ruled of one alias is ruled of another too.
    Copy(&'a Alias, &'a Alias),
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<'a> {
    version: u32,
    #[serde(default)]
    relay: Relay,
    #[serde(default, borrow)]
    permissions: Lists<'a>,
    #[serde(default, borrow)]
    categories: BTreeMap<Category, Vec<&'a RawValue>>,
    #[serde(default)]
    mark_untrusted: bool,
    #[serde(default)]
    own_words: bool,
    #[serde(default)]
    check_arguments: bool,
    check: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Relay {
    max_message_bytes: Option<usize>,
    call_timeout_s: Option<u64>,
    ask_timeout_s: Option<u64>,
}

/// `permissions`; a rule keeps its place, so that one that cannot be read is shown by it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists<'a> {
    #[serde(default, borrow)]
    deny: Vec<&'a RawValue>,
    #[serde(default, borrow)]
    ask: Vec<&'a RawValue>,
    #[serde(default, borrow)]
    allow: Vec<&'a RawValue>,
    #[serde(default)]
    default: Action,
}

impl Settings {
    /// Reads the settings of a state directory.
    ///
    /// # Errors
    /// A file that is none.
    pub(crate) fn read(state: &State) -> Result<Self, SettingsError> {
        let text = match state.folder() {
            Some(folder) => folder.read(FILE)?,
            None => None,
        };
        let path = state.path().join(FILE);
        Self::parse(text.as_deref(), path)
    }

    /// Changes the rules in the file of a state directory, making it where it is missing: under the
    /// lock, whole or not at all, and not where it cannot be read.
    ///
    /// # Errors
    /// As [`Settings::read`]; the system said no.
    pub(crate) fn change(state: &State, change: &Change<'_>) -> Result<usize, Error> {
        Self::change_in(&state.lock()?, change)
    }

    /// The same for who holds the lock.
    ///
    /// # Errors
    /// As [`Settings::change`].
    pub(crate) fn change_in(locked: &Locked<'_>, change: &Change<'_>) -> Result<usize, Error> {
        let path = locked.folder().path().join(FILE);
        let before = locked.folder().read(FILE).map_err(SettingsError::from)?;
        Self::parse(before.as_deref(), path.clone())?;
        let text = before.as_deref();
        let (after, count) = match (change, text) {
            (Change::Put(list, rule), text) => (edit::put(text, *list, rule), 1),
            (_, None) => return Ok(0),
            (Change::Drop(meant), Some(text)) => edit::drop(text, meant),
            (Change::Copy(old, new), Some(text)) => (edit::copy(text, old, new), 0),
        };
        // What is written can be read back.
        Self::parse(Some(&after), path)?;
        if before.as_deref() != Some(after.as_str()) {
            locked.write(FILE, &after).map_err(SettingsError::from)?;
        }
        Ok(count)
    }

    /// The settings of a text.
    ///
    /// # Errors
    /// As [`Settings::read`]; `path` is what the text is told by.
    pub(crate) fn parse(text: Option<&str>, path: PathBuf) -> Result<Self, SettingsError> {
        let mut settings = Self {
            max_message_bytes: MAX_MESSAGE_BYTES,
            call_timeout: None,
            rules: Rules::default(),
            check: None,
        };
        let Some(text) = text else {
            return Ok(settings);
        };
        let unreadable = |problem: String| SettingsError::Unreadable {
            path: path.clone(),
            problem,
        };
        let json = |error: serde_json::Error| unreadable(error.to_string());
        serde_json::from_str::<Unique>(text).map_err(json)?;
        let document: Document<'_> = serde_json::from_str(text).map_err(json)?;
        if document.version != VERSION {
            return Err(unreadable(format!("its version is {}", document.version)));
        }
        if let Some(argv) = document.check {
            let none = "check is a list of words, the first the whole path of a program";
            settings.check = Some(Further::of(argv).ok_or_else(|| unreadable(none.to_owned()))?);
        }
        if let Some(bytes) = document.relay.max_message_bytes {
            if !(LEAST_MESSAGE..=LARGEST_MESSAGE).contains(&bytes) {
                return Err(unreadable(format!(
                    "relay.max_message_bytes is from {LEAST_MESSAGE} to {LARGEST_MESSAGE}"
                )));
            }
            settings.max_message_bytes = bytes;
        }
        let seconds = |name: &str, seconds: Option<u64>| match seconds {
            Some(0) => Err(unreadable(format!("relay.{name} is at least 1"))),
            seconds => Ok(seconds.map(Duration::from_secs)),
        };
        settings.call_timeout = seconds("call_timeout_s", document.relay.call_timeout_s)?;
        let ask_limit = seconds("ask_timeout_s", document.relay.ask_timeout_s)?;
        settings.rules = Rules {
            permissions: document.permissions.read(text).map_err(unreadable)?,
            words: words(&document.categories, text).map_err(unreadable)?,
            ask_limit: ask_limit.unwrap_or(ASK_LIMIT),
            mark_untrusted: document.mark_untrusted,
            own_words: document.own_words,
            check_arguments: document.check_arguments,
        };
        Ok(settings)
    }
}

impl Lists<'_> {
    /// The rules, which stand in `text`.
    fn read(&self, text: &str) -> Result<Permissions, String> {
        let rule = |raw: &&RawValue, requests: bool| {
            let rule = rule(raw, text)?;
            if rule.is_request() && !requests {
                return Err(told(raw, text, &RuleError::Request.to_string()));
            }
            Ok(rule)
        };
        let list = |raws: &[&RawValue], requests: bool| {
            let rules = raws.iter().map(|raw| rule(raw, requests));
            rules.collect::<Result<Vec<_>, _>>()
        };
        Ok(Permissions {
            deny: list(&self.deny, true)?,
            ask: list(&self.ask, false)?,
            allow: list(&self.allow, false)?,
            default: self.default,
            floor: Action::default(),
        })
    }
}

/// What is wrong with a word that stands in `text`.
fn told(raw: &RawValue, text: &str, what: &str) -> String {
    let (line, column) = place(text, raw.get());
    let word = text::printable(raw.get());
    format!("line {line}, column {column}: {word}: {what}")
}

/// The rule that a word is, which stands in `text`.
fn rule(raw: &RawValue, text: &str) -> Result<Rule, String> {
    let word: String =
        serde_json::from_str(raw.get()).map_err(|_| told(raw, text, "a rule is a string"))?;
    word.parse()
        .map_err(|error: RuleError| told(raw, text, &error.to_string()))
}

/// What the person says tools are. One that is said to be two things is neither.
fn words(categories: &BTreeMap<Category, Vec<&RawValue>>, text: &str) -> Result<Words, String> {
    let mut words = Words::default();
    for (category, raws) in categories {
        for raw in raws {
            let rule = rule(raw, text)?;
            if rule.tool().is_none() || rule.is_request() {
                return Err(told(raw, text, &RuleError::NoTool.to_string()));
            }
            if !words.say(rule, *category) {
                return Err(told(raw, text, "the category of that tool is said twice"));
            }
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests;
