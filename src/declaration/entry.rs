//! One entry of `mcp.json` and the [`Declaration`] it holds, both ways. Pure.
//!
//! Reading is strict: a key that is not known, or that holds something else than it should,
//! makes the entry unusable. A message names keys and never repeats what they hold, since that
//! may be a stored value; hence the fields are taken one by one and not by a derived reader,
//! whose messages quote.

use std::collections::{BTreeMap, BTreeSet};

use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::{
    Allow, Declaration, EnvName, Http, Limits, Network, Pin, Read, Server, Stdio, Timeouts, Tools,
};
use super::{loader, url};
use crate::confine::Promise;
use crate::text;

/// The largest bound: whole numbers up to here are exact in every JSON reader (RFC 8785).
pub(crate) const LARGEST: u64 = (1 << 53) - 1;

/// Why an entry is unusable. Says which key, and never what it holds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// The entry's own name.
    #[error("its name is no alias: {}", super::names::NameError::Alias)]
    Alias,
    /// No object.
    #[error("it must be an object")]
    NotAnObject,
    /// A key that no entry has.
    #[error("unknown key `{}`", text::printable(.0))]
    UnknownKey(String),
    /// Neither or both of them.
    #[error("exactly one of `command` and `url` must be there")]
    CommandOrUrl,
    /// `type` says otherwise than the keys.
    #[error("`type` must be \"stdio\" beside `command` and \"http\" beside `url`")]
    Type,
    /// A key that holds what it should not.
    #[error("`{key}` must be {must}")]
    Must {
        /// Which.
        key: &'static str,
        /// What it must be.
        must: &'static str,
    },
    /// A variable stored and passed.
    #[error("`{0}` is both in `env` and in `pass`")]
    StoredAndPassed(EnvName),
    /// A variable the loader acts on.
    #[error("`{0}` is a variable the loader acts on, and `allow` does not hold \"loader-env\"")]
    Loader(EnvName),
    /// The URL.
    #[error("`url`: {0}")]
    Url(#[from] url::UrlError),
}

/// Reads one entry.
///
/// # Errors
/// The first thing wrong with it; see [`EntryError`].
pub(crate) fn parse(value: Value) -> Result<Declaration, EntryError> {
    let Value::Object(keys) = value else {
        return Err(EntryError::NotAnObject);
    };
    let mut fields = Fields(keys);
    let kind = fields.string("type")?;
    let enabled = fields.take("enabled", "true or false")?.unwrap_or(true);
    let server = match (fields.string("command")?, fields.string("url")?) {
        (Some(command), None) if kind.as_deref().is_none_or(|kind| kind == "stdio") => {
            Server::Stdio(stdio(command, &mut fields)?)
        }
        (None, Some(url)) if kind.as_deref().is_none_or(|kind| kind == "http") => {
            Server::Http(http(url, &mut fields)?)
        }
        (Some(_), None) | (None, Some(_)) => return Err(EntryError::Type),
        _ => return Err(EntryError::CommandOrUrl),
    };
    match fields.0.into_iter().next() {
        Some((key, _)) => Err(EntryError::UnknownKey(key)),
        None => Ok(Declaration { server, enabled }),
    }
}

fn stdio(command: String, fields: &mut Fields) -> Result<Stdio, EntryError> {
    let absolute_or_name = !command.contains('/') || command.starts_with('/');
    must(
        "command",
        "the name of a program or an absolute path",
        is_word(&command) && absolute_or_name,
    )?;
    let args: Vec<String> = fields
        .take("args", "a list of strings")?
        .unwrap_or_default();
    must(
        "args",
        "a list of strings without NUL",
        args.iter().all(|word| !word.contains('\0')),
    )?;
    let mut stdio = Stdio::new(command, args);
    stdio.env = fields.env()?;
    stdio.pass = fields.set("pass", "a list of names of variables, each once")?;
    stdio.dir = fields.take("dir", "an absolute path without `.` and `..`")?;
    stdio.reads = fields
        .take::<Vec<Read>>("reads", READS)?
        .unwrap_or_default();
    stdio.network = fields
        .take::<Network>("network", "\"full\" or \"none\"")?
        .unwrap_or_default();
    stdio.limits = fields.take::<Limits>("limits", LIMITS)?.unwrap_or_default();
    must("limits", LIMITS, is_bounded(stdio.limits))?;
    stdio.allow = fields.set::<Allow>(
        "allow",
        "a list of \"loader-env\", \"nested-sandbox\", \"pty\", each once",
    )?;
    stdio.without = fields.set::<Promise>("without", WITHOUT)?;
    must(
        "without",
        WITHOUT,
        stdio
            .without
            .iter()
            .all(|promise| promise.may_be_given_up()),
    )?;
    stdio.pin = fields.set::<Pin>("pin", "a list that holds \"program\", once")?;
    stdio.tools = fields.take::<Tools>("tools", TOOLS)?.unwrap_or_default();
    stdio.timeouts = fields
        .take::<Timeouts>("timeouts", TIMEOUTS)?
        .unwrap_or_default();
    stdio.audit_arguments = fields
        .take("audit_arguments", "true or false")?
        .unwrap_or(false);
    if let Some(name) = stdio.pass.iter().find(|name| stdio.env.contains_key(*name)) {
        return Err(EntryError::StoredAndPassed(name.clone()));
    }
    if !stdio.allow.contains(&Allow::LoaderEnv)
        && let Some(name) = stdio
            .variables()
            .into_iter()
            .find(|name| loader::loader(name).is_some())
    {
        return Err(EntryError::Loader(name));
    }
    Ok(stdio)
}

fn http(url: String, fields: &mut Fields) -> Result<Http, EntryError> {
    url::check(&url)?;
    let mut headers = BTreeMap::new();
    for (name, value) in fields.stored("headers", HEADERS)? {
        let twice = headers
            .keys()
            .any(|known: &String| known.eq_ignore_ascii_case(&name));
        must(
            "headers",
            HEADERS,
            is_header_name(&name) && is_header_value(&value) && !twice,
        )?;
        headers.insert(name, SecretString::from(value));
    }
    let bearer_env = fields.take("bearer_env", "the name of a variable")?;
    Ok(Http {
        url,
        headers,
        bearer_env,
    })
}

const READS: &str = "a list of {\"path\": absolute path, \"why\": \"value\", \"argument\", \"package-root\" or \"flag\"}";
const LIMITS: &str = "an object of `memory`, `processes`, `files`, `file_size`, each a whole number from 1 to 2^53-1";
const WITHOUT: &str = "a list of \"P3\", \"P6\", \"P7\", \"R1\", \"R2\", \"R5\", \"N2\", each once";
const TOOLS: &str = "an object of `include` and `exclude`, each a list of strings, and `categories`, a list of \"read-only\", \"additive\", \"open-world\", \"destructive\", each once";
const TIMEOUTS: &str = "an object of `start_s`, `call_s`, each a whole number from 1";
const HEADERS: &str = "an object of headers, each name once, whose values are text on one line";
const ENV: &str = "an object of variables whose values are strings without NUL";

fn must(key: &'static str, must: &'static str, holds: bool) -> Result<(), EntryError> {
    if holds {
        Ok(())
    } else {
        Err(EntryError::Must { key, must })
    }
}

fn is_word(word: &str) -> bool {
    !word.is_empty() && !word.contains('\0')
}

fn is_bounded(limits: Limits) -> bool {
    let Limits {
        memory,
        processes,
        files,
        file_size,
    } = limits;
    [memory, processes, files, file_size]
        .into_iter()
        .flatten()
        .all(|bound| (1..=LARGEST).contains(&bound))
}

/// Whether a word is the name of an HTTP header (a token of RFC 9110).
pub(crate) fn is_header_name(word: &str) -> bool {
    !word.is_empty()
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c))
}

/// Whether a text may be the value of an HTTP header.
pub(crate) fn is_header_value(text: &str) -> bool {
    text.chars().all(|c| c == '\t' || !c.is_control())
}

struct Fields(Map<String, Value>);

impl Fields {
    fn take<T: DeserializeOwned>(
        &mut self,
        key: &'static str,
        must: &'static str,
    ) -> Result<Option<T>, EntryError> {
        let Some(value) = self.0.remove(key) else {
            return Ok(None);
        };
        // The reader's own message may quote the value.
        serde_json::from_value(value)
            .map(Some)
            .map_err(|_| EntryError::Must { key, must })
    }

    fn string(&mut self, key: &'static str) -> Result<Option<String>, EntryError> {
        self.take(key, "a string")
    }

    fn set<T: DeserializeOwned + Ord>(
        &mut self,
        key: &'static str,
        must: &'static str,
    ) -> Result<BTreeSet<T>, EntryError> {
        let words: Vec<T> = self.take(key, must)?.unwrap_or_default();
        let count = words.len();
        let set: BTreeSet<T> = words.into_iter().collect();
        if set.len() == count {
            Ok(set)
        } else {
            Err(EntryError::Must { key, must })
        }
    }

    fn stored(
        &mut self,
        key: &'static str,
        must: &'static str,
    ) -> Result<BTreeMap<String, String>, EntryError> {
        Ok(self.take(key, must)?.unwrap_or_default())
    }

    fn env(&mut self) -> Result<BTreeMap<EnvName, SecretString>, EntryError> {
        let mut env = BTreeMap::new();
        for (name, value) in self.stored("env", ENV)? {
            let Ok(name) = name.parse::<EnvName>() else {
                let must = "an object whose keys are names of variables";
                return Err(EntryError::Must { key: "env", must });
            };
            must("env", ENV, !value.contains('\0'))?;
            env.insert(name, SecretString::from(value));
        }
        Ok(env)
    }
}

/// The entry of a declaration, as text of `mcp.json`; the only place where stored values are
/// written out. What says no more than the default is left out.
///
/// # Errors
/// None in practice: everything in a declaration has a form in JSON.
pub(crate) fn text(declaration: &Declaration) -> Result<String, serde_json::Error> {
    let enabled = declaration.enabled;
    match &declaration.server {
        Server::Stdio(stdio) => serde_json::to_string_pretty(&StdioEntry {
            command: &stdio.command,
            args: &stdio.args,
            env: Stored(&stdio.env),
            pass: &stdio.pass,
            dir: stdio.dir.as_ref(),
            reads: &stdio.reads,
            network: stdio.network,
            limits: stdio.limits,
            allow: &stdio.allow,
            without: &stdio.without,
            pin: &stdio.pin,
            tools: Some(&stdio.tools).filter(|tools| !is_default(*tools)),
            timeouts: stdio.timeouts,
            enabled,
            audit_arguments: stdio.audit_arguments,
        }),
        Server::Http(http) => serde_json::to_string_pretty(&HttpEntry {
            r#type: "http",
            url: &http.url,
            headers: Stored(&http.headers),
            bearer_env: http.bearer_env.as_ref(),
            enabled,
        }),
    }
}

#[derive(Serialize)]
struct StdioEntry<'a> {
    command: &'a str,
    args: &'a [String],
    #[serde(skip_serializing_if = "Stored::is_empty")]
    env: Stored<'a, EnvName>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pass: &'a BTreeSet<EnvName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dir: Option<&'a super::AbsolutePath>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    reads: &'a [Read],
    #[serde(skip_serializing_if = "is_default")]
    network: Network,
    #[serde(skip_serializing_if = "is_default")]
    limits: Limits,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    allow: &'a BTreeSet<Allow>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    without: &'a BTreeSet<Promise>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pin: &'a BTreeSet<Pin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a Tools>,
    #[serde(skip_serializing_if = "is_default")]
    timeouts: Timeouts,
    #[serde(skip_serializing_if = "is_true")]
    enabled: bool,
    #[serde(skip_serializing_if = "is_false")]
    audit_arguments: bool,
}

#[derive(Serialize)]
struct HttpEntry<'a> {
    r#type: &'static str,
    url: &'a str,
    #[serde(skip_serializing_if = "Stored::is_empty")]
    headers: Stored<'a, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bearer_env: Option<&'a EnvName>,
    #[serde(skip_serializing_if = "is_true")]
    enabled: bool,
}

struct Stored<'a, K>(&'a BTreeMap<K, SecretString>);

impl<K> Stored<'_, K> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K: Serialize> Serialize for Stored<'_, K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(
            self.0
                .iter()
                .map(|(name, value)| (name, value.expose_secret())),
        )
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_true(value: &bool) -> bool {
    *value
}

fn is_false(value: &bool) -> bool {
    !*value
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
