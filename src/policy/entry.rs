//! One entry of `allow` or `deny`: a host, or a program with bounds. Pure.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use serde::Deserialize;

use super::host::{HostPattern, NotAHost};
use super::subject::CommandLine;
use crate::declaration::EnvName;

/// The last word of a `command` that stands for any further arguments.
pub(crate) const ANY: &str = "…";

/// What an entry names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A server elsewhere, by its host.
    Host(HostPattern),
    /// A program, and in `allow` what it may be given.
    Program(ProgramEntry),
}

/// A program by its command line, its content, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProgramEntry {
    pub(crate) command: Option<CommandPattern>,
    pub(crate) sha256: Option<Sha256>,
    /// The variables it may be given; any but the loader's where there is no list.
    pub(crate) env: Option<BTreeSet<EnvName>>,
    /// Whether it may be given a directory to write.
    pub(crate) dir: bool,
}

/// A program by its absolute path, and its arguments word for word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandPattern {
    program: PathBuf,
    arguments: Vec<String>,
    any_further: bool,
}

/// The SHA-256 of a file's content, in lower-case hex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sha256(String);

/// Why an entry is of no known form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EntryError {
    /// Nothing is named.
    #[error("an entry names a `host`, a `command`, or a `sha256`")]
    NamesNothing,
    /// A host beside what only a program has.
    #[error("`host` stands alone: the other keys are for programs")]
    HostAndMore,
    /// Not a host.
    #[error(transparent)]
    Host(#[from] NotAHost),
    /// No words.
    #[error("`command` is the program's absolute path and its arguments, a word each")]
    NoWords,
    /// Not an absolute path in its plain form.
    #[error(
        "the program in `command` is an absolute path without `.`, `..` or `//`: what `supervisor get` shows as `runs`"
    )]
    NotAbsolute,
    /// The word for any further arguments, not at the end.
    #[error("`{ANY}` is allowed as the last word only")]
    AnyInside,
    /// Not a hash.
    #[error("`sha256` is 64 hexadecimal digits")]
    Sha256,
    /// Not a name.
    #[error("`{}` in `env` is no name of a variable", crate::text::printable(.0))]
    Variable(String),
}

/// An entry of `allow` as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("oneOf" = one_of(&["sha256", "env", "dir"]))))]
pub(crate) struct AllowShape {
    /// For the reader; shown where the entry decides.
    #[serde(rename = "$comment", default, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub(crate) comment: Option<String>,
    /// A server elsewhere: its host, any port and path. `*.example.com` is what lies below it.
    #[serde(default, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "String"))]
    host: Option<String>,
    /// A program's absolute path and its arguments, word for word; `…` as the last word is any
    /// further arguments.
    #[serde(default, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "Vec<String>", length(min = 1)))]
    command: Option<Vec<String>>,
    /// The SHA-256 of the program's file.
    #[serde(default, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "String", regex(pattern = "^[0-9A-Fa-f]{64}$")))]
    sha256: Option<String>,
    /// The variables it may be given; without this key any but the loader's.
    #[serde(default, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "Vec<EnvName>"))]
    env: Option<Vec<String>>,
    /// Whether it may be given a directory to write; without this key it may.
    #[serde(default, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "bool"))]
    dir: Option<bool>,
}

/// An entry of `deny` as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("oneOf" = one_of(&["sha256"]))))]
pub(crate) struct DenyShape {
    /// For the reader; shown where the entry decides.
    #[serde(rename = "$comment", default, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub(crate) comment: Option<String>,
    /// A server elsewhere: its host, any port and path. `*.example.com` is what lies below it.
    #[serde(default, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "String"))]
    host: Option<String>,
    /// A program's absolute path and its arguments, word for word; `…` as the last word is any
    /// further arguments.
    #[serde(default, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "Vec<String>", length(min = 1)))]
    command: Option<Vec<String>>,
    /// The SHA-256 of the program's file.
    #[serde(default, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "String", regex(pattern = "^[0-9A-Fa-f]{64}$")))]
    sha256: Option<String>,
}

/// A host alone, or a command, a hash, or both.
#[cfg(test)]
fn one_of(not_with_host: &[&str]) -> serde_json::Value {
    let others: Vec<_> = ["command"]
        .iter()
        .chain(not_with_host)
        .map(|key| serde_json::json!({"required": [key]}))
        .collect();
    serde_json::json!([
        {"required": ["host"], "not": {"anyOf": others}},
        {"anyOf": [{"required": ["command"]}, {"required": ["sha256"]}], "not": {"required": ["host"]}},
    ])
}

/// A key that is there holds something: `null` is nothing, and refused.
pub(crate) fn some<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

impl TryFrom<AllowShape> for Entry {
    type Error = EntryError;

    fn try_from(shape: AllowShape) -> Result<Self, EntryError> {
        let AllowShape {
            host,
            command,
            sha256,
            env,
            dir,
            ..
        } = shape;
        if let Some(host) = host {
            let alone = command.is_none() && sha256.is_none() && env.is_none() && dir.is_none();
            return entry_of_host(&host, alone);
        }
        let name = |name: String| {
            name.parse::<EnvName>()
                .map_err(|_| EntryError::Variable(name))
        };
        let env = env.map(|names| names.into_iter().map(name).collect());
        Ok(Self::Program(ProgramEntry {
            env: env.transpose()?,
            dir: dir.unwrap_or(true),
            ..ProgramEntry::named(command, sha256)?
        }))
    }
}

impl TryFrom<DenyShape> for Entry {
    type Error = EntryError;

    fn try_from(shape: DenyShape) -> Result<Self, EntryError> {
        let DenyShape {
            host,
            command,
            sha256,
            ..
        } = shape;
        match host {
            Some(host) => entry_of_host(&host, command.is_none() && sha256.is_none()),
            None => ProgramEntry::named(command, sha256).map(Self::Program),
        }
    }
}

fn entry_of_host(host: &str, alone: bool) -> Result<Entry, EntryError> {
    if alone {
        Ok(Entry::Host(host.parse()?))
    } else {
        Err(EntryError::HostAndMore)
    }
}

impl ProgramEntry {
    /// What names a program, without bounds.
    fn named(command: Option<Vec<String>>, sha256: Option<String>) -> Result<Self, EntryError> {
        if command.is_none() && sha256.is_none() {
            return Err(EntryError::NamesNothing);
        }
        Ok(Self {
            command: command.map(CommandPattern::new).transpose()?,
            sha256: sha256.map(|digits| digits.parse()).transpose()?,
            env: None,
            dir: true,
        })
    }
}

impl CommandPattern {
    /// # Errors
    /// No words, a program by another name than its plain absolute path, `…` before the end.
    pub(crate) fn new(words: Vec<String>) -> Result<Self, EntryError> {
        let mut words = words.into_iter();
        let program = PathBuf::from(words.next().ok_or(EntryError::NoWords)?);
        if !is_plain(&program) {
            return Err(EntryError::NotAbsolute);
        }
        let mut arguments: Vec<String> = words.collect();
        let any_further = arguments.pop_if(|last| last == ANY).is_some();
        if arguments.iter().any(|word| word == ANY) {
            return Err(EntryError::AnyInside);
        }
        Ok(Self {
            program,
            arguments,
            any_further,
        })
    }

    /// Whether a command line is this one, by any name its program has.
    #[must_use]
    pub(crate) fn matches(&self, line: &CommandLine) -> bool {
        let named = line.programs.iter().any(|program| *program == self.program);
        named
            && if self.any_further {
                line.arguments.starts_with(&self.arguments)
            } else {
                line.arguments == self.arguments
            }
    }

    /// Whether further arguments do not matter.
    #[must_use]
    pub(crate) fn any_further(&self) -> bool {
        self.any_further
    }

    /// The words as they are written.
    #[must_use]
    pub(crate) fn words(&self) -> Vec<String> {
        let any = self.any_further.then(|| ANY.to_owned());
        [self.program.to_string_lossy().into_owned()]
            .into_iter()
            .chain(self.arguments.iter().cloned())
            .chain(any)
            .collect()
    }
}

/// An absolute path in the one form that every look-up gives it.
fn is_plain(path: &Path) -> bool {
    let plain: PathBuf = path.components().collect();
    path.is_absolute()
        && plain.as_os_str() == path.as_os_str()
        && path.file_name().is_some()
        && !path.components().any(|part| part == Component::ParentDir)
}

impl FromStr for Sha256 {
    type Err = EntryError;

    fn from_str(word: &str) -> Result<Self, EntryError> {
        if word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            Ok(Self(word.to_ascii_lowercase()))
        } else {
            Err(EntryError::Sha256)
        }
    }
}

impl Sha256 {
    /// The digits.
    #[must_use]
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
