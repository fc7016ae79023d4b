//! The words of `supervisor add` before the bare `--`: flags, their values, the alias. Pure.

use std::ffi::OsString;

use secrecy::SecretString;

use super::add_error::AddLineError;
use super::add_flag::{Flag, Verb, split_flag};
use super::add_line::{Draft, Given, Scope};
use super::add_value as value;
use super::{Allow, EnvName, url};
use crate::text;

/// The words, read from left to right.
pub(super) struct Line<'a> {
    words: &'a [OsString],
    all: &'a [OsString],
    at: usize,
    dashes: bool,
    verb: Verb,
    pub(super) draft: Draft,
}

impl<'a> Line<'a> {
    /// The words before `--`, all words, and whether there is a bare `--` at all.
    pub(super) fn new(words: &'a [OsString], all: &'a [OsString], dashes: bool) -> Self {
        Self {
            words,
            all,
            at: 0,
            dashes,
            verb: Verb::Add,
            draft: Draft::default(),
        }
    }

    /// The same words, of another command.
    pub(super) fn of(mut self, verb: Verb) -> Self {
        self.verb = verb;
        self
    }

    /// Reads every word before `--`; `true` where help is asked for.
    pub(super) fn read(&mut self) -> Result<bool, AddLineError> {
        while let Some(word) = self.next() {
            let place = self.at;
            let Some(word) = word.to_str() else {
                return Err(self.not_utf8(place));
            };
            if word.len() > 1 && word.starts_with('-') {
                let (flag, name, attached) = split_flag(word, place, self.verb)?;
                if flag == Flag::Help {
                    return Ok(true);
                }
                self.flag(flag, name, attached, place)?;
            } else {
                self.positional(word, place)?;
            }
        }
        Ok(false)
    }

    fn next(&mut self) -> Option<&'a OsString> {
        let word = self.words.get(self.at)?;
        self.at = self.at.saturating_add(1);
        Some(word)
    }

    fn not_utf8(&self, place: usize) -> AddLineError {
        if self.draft.alias.is_none() {
            AddLineError::Alias { place }
        } else {
            AddLineError::NotUtf8 { place }
        }
    }

    fn positional(&mut self, word: &str, place: usize) -> Result<(), AddLineError> {
        let Some(alias) = &self.draft.alias else {
            self.draft.alias = Some(word.parse().map_err(|_| AddLineError::Alias { place })?);
            return Ok(());
        };
        let is_url = word.starts_with("http://") || word.starts_with("https://");
        if self.dashes || self.draft.url.is_some() {
            Err(AddLineError::Stray { place })
        } else if self.draft.http == Some(true) || (is_url && self.names_http()) {
            self.set_url(word, place)
        } else if is_url {
            let corrected = format!(
                "supervisor add {alias} --http {}",
                text::word(&masked(word))
            );
            Err(AddLineError::NoDashes { corrected })
        } else {
            Err(AddLineError::NoDashes {
                corrected: self.corrected(place),
            })
        }
    }

    /// Whether `--transport http` stands further on.
    fn names_http(&self) -> bool {
        self.words.windows(2).any(|pair| {
            matches!(pair, [flag, value] if (flag == "-t" || flag == "--transport") && value == "http")
        }) || self.words.iter().any(|word| word == "--transport=http" || word == "-thttp")
    }

    /// The line with `--` before the word at `place`, and what follows an `=` left out.
    fn corrected(&self, place: usize) -> String {
        let mut words = vec!["supervisor".to_owned(), "add".to_owned()];
        for (index, word) in self.all.iter().enumerate() {
            if index.saturating_add(1) == place {
                words.push("--".to_owned());
            }
            words.push(text::word(&masked(&word.to_string_lossy())));
        }
        words.join(" ")
    }

    /// The value of a flag: attached to it, or the next word.
    fn value(
        &mut self,
        name: &'static str,
        attached: Option<&'a str>,
    ) -> Result<(&'a str, usize), AddLineError> {
        if let Some(value) = attached {
            return Ok((value, self.at));
        }
        match self.words.get(self.at) {
            Some(word) if !word.as_encoded_bytes().starts_with(b"-") => {
                self.at = self.at.saturating_add(1);
                word.to_str()
                    .map(|word| (word, self.at))
                    .ok_or(AddLineError::NotUtf8 { place: self.at })
            }
            _ => Err(AddLineError::NoValue { flag: name }),
        }
    }

    fn flag(
        &mut self,
        flag: Flag,
        name: &'static str,
        attached: Option<&'a str>,
        place: usize,
    ) -> Result<(), AddLineError> {
        if flag.is_for_program() {
            self.draft.for_stdio.get_or_insert(name);
        } else if flag.is_for_http() {
            self.draft.for_http.get_or_insert(name);
        }
        match (flag, attached) {
            (Flag::Env, attached) => return self.env(attached, place),
            (Flag::NoInspect, None) => self.draft.no_inspect = true,
            (Flag::Json, None) => self.draft.json = true,
            (Flag::Stdio, None) => {}
            (Flag::AllowLoaderEnv, None) => {
                self.draft.allow.insert(Allow::LoaderEnv);
            }
            (Flag::NoDir, None) => self.draft.take.dir = true,
            (Flag::NoBearerEnv, None) => self.draft.take.bearer_env = true,
            (Flag::Enable | Flag::Disable, None) => {
                let enabled = Some(flag == Flag::Enable);
                if self
                    .draft
                    .enabled
                    .is_some_and(|before| Some(before) != enabled)
                {
                    return Err(AddLineError::Twice { flag: name, place });
                }
                self.draft.enabled = enabled;
            }
            (flag, Some(_)) if flag.is_bare() => {
                return Err(AddLineError::Value {
                    flag: name,
                    place,
                    must: "no value",
                });
            }
            _ => {
                let (word, place) = self.value(name, attached)?;
                return self.valued(flag, name, word, place);
            }
        }
        Ok(())
    }

    /// Flags with a value: those given once here, the others in [`Line::added`].
    fn valued(
        &mut self,
        flag: Flag,
        name: &'static str,
        word: &str,
        place: usize,
    ) -> Result<(), AddLineError> {
        let bad = |must| AddLineError::Value {
            flag: name,
            place,
            must,
        };
        let draft = &mut self.draft;
        let again = match flag {
            Flag::Http => return self.set_url(word, place),
            Flag::Dir => draft.dir.replace(path(word).ok_or(bad(PATH))?).is_some(),
            Flag::Net => draft
                .network
                .replace(value::net(word).ok_or(bad(value::NET))?)
                .is_some(),
            Flag::Scope => draft
                .scope
                .replace(scope(word).ok_or(bad(SCOPE))?)
                .is_some(),
            Flag::Transport => draft
                .http
                .replace(is_http(word).ok_or(bad(TRANSPORT))?)
                .is_some(),
            Flag::BearerEnv => {
                let name = word.parse().map_err(|_| bad(BEARER))?;
                draft.bearer_env.replace(name).is_some()
            }
            Flag::Header => {
                let (header, value) = value::header(word).ok_or(bad(value::HEADER))?;
                let known = draft
                    .headers
                    .keys()
                    .any(|known| known.eq_ignore_ascii_case(&header));
                draft.headers.insert(header, SecretString::from(value));
                known
            }
            _ => return self.added(flag, word, bad),
        };
        if again {
            Err(AddLineError::Twice { flag: name, place })
        } else {
            Ok(())
        }
    }

    /// Flags whose values add up.
    fn added(
        &mut self,
        flag: Flag,
        word: &str,
        bad: impl Fn(&'static str) -> AddLineError,
    ) -> Result<(), AddLineError> {
        let draft = &mut self.draft;
        match flag {
            Flag::Read => draft.reads.push(path(word).ok_or(bad(PATH))?),
            Flag::Limit => {
                draft.limits = value::limits(draft.limits, word).ok_or(bad(value::LIMIT))?;
            }
            Flag::Pin => draft.pin.extend(value::pin(word).ok_or(bad(value::PIN))?),
            Flag::Without => {
                draft
                    .without
                    .extend(value::without(word).ok_or(bad(value::WITHOUT))?);
            }
            Flag::Allow => draft
                .allow
                .extend(value::allow(word).ok_or(bad(value::ALLOW))?),
            Flag::Category => draft
                .categories
                .extend(value::categories(word).ok_or(bad(value::CATEGORY))?),
            _ => return self.taken(flag, word, bad),
        }
        Ok(())
    }

    /// Flags of `set` that take back what another one gave.
    fn taken(
        &mut self,
        flag: Flag,
        word: &str,
        bad: impl Fn(&'static str) -> AddLineError,
    ) -> Result<(), AddLineError> {
        let take = &mut self.draft.take;
        match flag {
            Flag::NoEnv => drop(take.env.insert(word.parse().map_err(|_| bad(BEARER))?)),
            Flag::NoRead => take.reads.push(path(word).ok_or(bad(PATH))?),
            Flag::NoLimit => {
                take.limits
                    .extend(value::limit_names(word).ok_or(bad(value::LIMIT_NAMES))?);
            }
            Flag::NoPin => take.pin.extend(value::pin(word).ok_or(bad(value::PIN))?),
            Flag::NoWithout => {
                take.without
                    .extend(value::without(word).ok_or(bad(value::WITHOUT))?);
            }
            Flag::NoAllow => {
                take.allow
                    .extend(value::allow(word).ok_or(bad(value::ALLOW))?);
            }
            Flag::NoCategory if word == "all" => take.bound = true,
            Flag::NoCategory => {
                take.categories
                    .extend(value::categories(word).ok_or(bad(value::NO_CATEGORY))?);
            }
            Flag::NoHeader => {
                let name = value::header_name(word).ok_or(bad("the name of a header"))?;
                take.headers.push(name);
            }
            _ => {}
        }
        Ok(())
    }

    fn set_url(&mut self, word: &str, place: usize) -> Result<(), AddLineError> {
        url::check(word).map_err(|problem| AddLineError::Url { place, problem })?;
        match self.draft.url.replace(word.to_owned()) {
            Some(_) => Err(AddLineError::Twice {
                flag: "--http",
                place,
            }),
            None => Ok(()),
        }
    }

    /// `-e`: every word up to the next flag.
    fn env(&mut self, attached: Option<&'a str>, place: usize) -> Result<(), AddLineError> {
        if self.draft.alias.is_none() {
            return Err(AddLineError::EnvBeforeAlias { place });
        }
        self.draft.for_stdio.get_or_insert("-e");
        let mut words: Vec<(usize, Option<&'a str>)> = attached
            .map(|word| (place, Some(word)))
            .into_iter()
            .collect();
        while let Some(word) = self.words.get(self.at)
            && !(word.len() > 1 && word.as_encoded_bytes().starts_with(b"-"))
        {
            self.at = self.at.saturating_add(1);
            words.push((self.at, word.to_str()));
        }
        let alone = words.len() == 1;
        if words.is_empty() {
            return Err(AddLineError::EnvNoWord { place });
        }
        for (place, word) in words {
            let unreadable = AddLineError::EnvWord {
                place,
                alone,
                dashes: self.dashes,
            };
            let (name, given) = word
                .and_then(|word| variable(word, alone))
                .ok_or(unreadable)?;
            if self.draft.env.contains_key(&name) {
                return Err(AddLineError::EnvTwice { name, place });
            }
            self.draft.env.insert(name, given);
        }
        Ok(())
    }
}

const PATH: &str = "a path (one that looks like NAME=VALUE is written ./NAME=VALUE)";
const SCOPE: &str = "local, user or project";
const TRANSPORT: &str = "stdio or http";
const BEARER: &str = "the name of a variable";

fn path(word: &str) -> Option<String> {
    (!word.is_empty() && !value::is_pair(word)).then(|| word.to_owned())
}

fn is_http(word: &str) -> Option<bool> {
    match word {
        "stdio" => Some(false),
        "http" => Some(true),
        _ => None,
    }
}

fn scope(word: &str) -> Option<Scope> {
    Some(match word {
        "local" => Scope::Local,
        "user" => Scope::User,
        "project" => Scope::Project,
        _ => return None,
    })
}

fn variable(word: &str, alone: bool) -> Option<(EnvName, Given)> {
    match word.split_once('=') {
        Some((name, "-")) => Some((name.parse().ok()?, Given::Ask)),
        Some((name, value)) => Some((name.parse().ok()?, Given::Stored(SecretString::from(value)))),
        None if alone => Some((word.parse().ok()?, Given::Passed)),
        None => None,
    }
}

/// What follows an `=` left out.
fn masked(word: &str) -> String {
    word.split_once('=')
        .map_or_else(|| word.to_owned(), |(name, _)| format!("{name}=…"))
}
