//! The grammar of `supervisor add`: words in, a typed [`AddLine`] out. Pure.
//!
//! Not left to the argument parser of the other commands, since every word may be a key in the
//! wrong place: `-e` takes words up to the next flag, all after the bare `--` is the server's,
//! and a word that cannot be read is told by its place. The flags are those of
//! `supervisor add --help`; a test compares the two.
//!
//! Place on the path: argv → **line** → declaration.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use secrecy::SecretString;

pub use super::add_error::AddLineError;
use super::add_words::Line;
use super::set_line::Taken;
use super::{Alias, Allow, Category, EnvName, Limits, Network, Pin, loader};
use crate::confine::Promise;

/// What a line of `add` asks for.
#[derive(Debug)]
pub enum Asked {
    /// `-h` or `--help`.
    Help,
    /// A server.
    Add(Box<AddLine>),
}

/// A server as the line names it: nothing of it was looked at on this machine.
#[derive(Clone, Debug)]
pub struct AddLine {
    /// Its name.
    pub alias: Alias,
    /// How it is reached.
    pub target: Target,
    /// Which file asks for the server; noted, and without effect in this version.
    pub scope: Option<Scope>,
    /// Whether the second question is asked too (no `--no-inspect`).
    pub inspect: bool,
    /// `--json`.
    pub json: bool,
}

/// How a named server is reached.
#[expect(
    clippy::large_enum_variant,
    reason = "one is at hand at a time, and most are programs"
)]
#[derive(Clone, Debug)]
pub enum Target {
    /// A program.
    Stdio(StdioLine),
    /// A URL.
    Http(HttpLine),
}

/// A program and what the line grants it.
#[derive(Clone, Debug)]
pub struct StdioLine {
    /// The program, never empty.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its variables.
    pub env: BTreeMap<EnvName, Given>,
    /// `--dir`, as written.
    pub dir: Option<String>,
    /// `--read`, as written.
    pub reads: Vec<String>,
    /// `--net`.
    pub network: Network,
    /// `--limit`.
    pub limits: Limits,
    /// `--allow`.
    pub allow: BTreeSet<Allow>,
    /// `--without`.
    pub without: BTreeSet<Promise>,
    /// `--pin`.
    pub pin: BTreeSet<Pin>,
    /// `--category`.
    pub categories: BTreeSet<Category>,
}

/// A server elsewhere.
#[derive(Clone, Debug)]
pub struct HttpLine {
    /// Its URL, checked.
    pub url: String,
    /// `--header`.
    pub headers: BTreeMap<String, SecretString>,
    /// `--bearer-env`.
    pub bearer_env: Option<EnvName>,
}

/// How a variable gets its value.
#[derive(Clone, Debug)]
pub enum Given {
    /// `NAME=VALUE`.
    Stored(SecretString),
    /// `NAME=-`: asked for at the terminal, then stored.
    Ask,
    /// `NAME`: from the caller's environment, at each start.
    Passed,
}

/// The scopes other tools know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// This person, this folder.
    Local,
    /// This person.
    User,
    /// This folder.
    Project,
}

/// Reads the words after `add`.
///
/// # Errors
/// The first word that cannot be read; see [`AddLineError`].
pub fn parse(words: &[OsString]) -> Result<Asked, AddLineError> {
    let dashes = words.iter().position(|word| word == "--");
    let (ours, argv) = match dashes.and_then(|at| words.split_at_checked(at)) {
        Some((ours, rest)) => (ours, rest.get(1..)),
        None => (words, None),
    };
    let mut line = Line::new(ours, words, argv.is_some());
    if line.read()? {
        return Ok(Asked::Help);
    }
    line.draft
        .finish(argv, ours.len())
        .map(|line| Asked::Add(Box::new(line)))
}

/// What was read so far.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) alias: Option<Alias>,
    pub(super) env: BTreeMap<EnvName, Given>,
    pub(super) dir: Option<String>,
    pub(super) reads: Vec<String>,
    pub(super) network: Option<Network>,
    pub(super) limits: Limits,
    pub(super) pin: BTreeSet<Pin>,
    pub(super) without: BTreeSet<Promise>,
    pub(super) allow: BTreeSet<Allow>,
    pub(super) categories: BTreeSet<Category>,
    pub(super) url: Option<String>,
    pub(super) headers: BTreeMap<String, SecretString>,
    pub(super) bearer_env: Option<EnvName>,
    pub(super) http: Option<bool>,
    pub(super) scope: Option<Scope>,
    pub(super) no_inspect: bool,
    pub(super) json: bool,
    /// `set` only: what is taken back.
    pub(super) take: Taken,
    /// `set` only: `--enable` or `--disable`.
    pub(super) enabled: Option<bool>,
    /// The first flag that is for a program only, and for a server elsewhere only.
    pub(super) for_stdio: Option<&'static str>,
    pub(super) for_http: Option<&'static str>,
}

impl Draft {
    fn finish(mut self, argv: Option<&[OsString]>, before: usize) -> Result<AddLine, AddLineError> {
        let alias = self.alias.take().ok_or(AddLineError::NoAlias)?;
        let (scope, inspect, json) = (self.scope, !self.no_inspect, self.json);
        let target = match (self.url.take(), argv) {
            (Some(_), Some(_)) => return Err(AddLineError::UrlAndProgram),
            (None, _) if self.http == Some(true) => return Err(AddLineError::NoUrl),
            (Some(url), None) => Target::Http(self.http_line(url)?),
            (None, None) => {
                return Err(AddLineError::NoProgram);
            }
            (None, Some(argv)) => Target::Stdio(self.stdio_line(argv, before)?),
        };
        Ok(AddLine {
            alias,
            target,
            scope,
            inspect,
            json,
        })
    }

    fn http_line(self, url: String) -> Result<HttpLine, AddLineError> {
        if self.http == Some(false) {
            return Err(AddLineError::NotForHttp {
                flag: "--transport stdio",
            });
        }
        match self.for_stdio {
            Some(flag) => Err(AddLineError::NotForHttp { flag }),
            None => Ok(HttpLine {
                url,
                headers: self.headers,
                bearer_env: self.bearer_env,
            }),
        }
    }

    fn stdio_line(self, argv: &[OsString], before: usize) -> Result<StdioLine, AddLineError> {
        if let Some(flag) = self.for_http {
            return Err(AddLineError::OnlyForHttp { flag });
        }
        if !self.allow.contains(&Allow::LoaderEnv)
            && let Some((name, reason)) = self
                .env
                .keys()
                .find_map(|name| Some((name.clone(), loader::loader(name)?.to_owned())))
        {
            return Err(AddLineError::Loader { name, reason });
        }
        let mut words = argv.iter().enumerate().map(|(index, word)| {
            // The first stands after our words and the `--`.
            let place = before.saturating_add(index).saturating_add(2);
            word.to_str()
                .map(str::to_owned)
                .ok_or(AddLineError::NotUtf8 { place })
        });
        let command = words.next().ok_or(AddLineError::NoProgram)??;
        let args = words.collect::<Result<Vec<_>, _>>()?;
        if command.is_empty() {
            return Err(AddLineError::NoProgram);
        }
        if let Some(engine) = engine(&command, &args) {
            return Err(AddLineError::Engine { engine });
        }
        Ok(StdioLine {
            command,
            args,
            env: self.env,
            dir: self.dir,
            reads: self.reads,
            network: self.network.unwrap_or_default(),
            limits: self.limits,
            allow: self.allow,
            without: self.without,
            pin: self.pin,
            categories: self.categories,
        })
    }
}

/// The container engine that a line starts a container with.
fn engine(command: &str, args: &[String]) -> Option<String> {
    let name = command
        .rsplit('/')
        .next()
        .filter(|name| ["docker", "podman", "nerdctl"].contains(name))?;
    let mut after_flag = false;
    for word in args {
        match word.as_str() {
            "run" => return Some(name.to_owned()),
            "container" => after_flag = false,
            flag if flag.starts_with('-') => after_flag = true,
            _ if after_flag => after_flag = false,
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
#[path = "add_line_tests.rs"]
mod tests;
