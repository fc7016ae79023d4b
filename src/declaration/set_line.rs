//! The grammar of `supervisor set`: the words and flags of `add`, and for each flag one that
//! takes back what it gave. Pure.
//!
//! Place on the path: argv → **edit** → declaration.

use std::collections::BTreeSet;
use std::ffi::OsString;

use super::add_error::AddLineError;
use super::add_flag::Verb;
use super::add_line::Draft;
use super::add_words::Line;
use super::change::ChangeError;
use super::{Alias, Allow, Category, EnvName, Pin};
use crate::confine::Promise;

/// What a line of `set` asks for.
pub(crate) enum Asked {
    /// `-h` or `--help`.
    Help,
    /// A change.
    Set(Box<Edit>),
}

/// What is to be changed. What is taken back goes first.
pub(crate) struct Edit {
    /// Of which declaration.
    pub(crate) alias: Alias,
    /// What it gets.
    pub(super) give: Draft,
    /// What it loses.
    pub(super) take: Taken,
    /// `--enable`, `--disable`.
    pub(super) enabled: Option<bool>,
    /// `--json`.
    pub(crate) json: bool,
    /// Whether the second question is asked too (no `--no-inspect`).
    pub(crate) inspect: bool,
}

/// What the `--no-…` flags name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) env: BTreeSet<EnvName>,
    pub(super) dir: bool,
    pub(super) reads: Vec<String>,
    pub(super) limits: BTreeSet<Limit>,
    pub(super) pin: BTreeSet<Pin>,
    pub(super) without: BTreeSet<Promise>,
    pub(super) allow: BTreeSet<Allow>,
    pub(super) categories: BTreeSet<Category>,
    /// `--no-category all`: every category is granted again.
    pub(super) bound: bool,
    pub(super) headers: Vec<String>,
    pub(super) bearer_env: bool,
}

/// The name of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Limit {
    Memory,
    Processes,
    Files,
    FileSize,
}

/// Reads the words after `set`.
///
/// # Errors
/// The first word that cannot be read, told as `add` tells it; no flag at all.
pub(crate) fn parse(words: &[OsString]) -> Result<Asked, ChangeError> {
    let dashes = words.iter().position(|word| word == "--");
    let ours = dashes.and_then(|at| words.get(..at)).unwrap_or(words);
    let mut line = Line::new(ours, words, true).of(Verb::Set);
    if line.read()? {
        return Ok(Asked::Help);
    }
    if let Some(at) = dashes {
        return Err(ChangeError::Program {
            place: at.saturating_add(1),
        });
    }
    let mut give = line.draft;
    let alias = give.alias.take().ok_or(AddLineError::NoAlias)?;
    let take = std::mem::take(&mut give.take);
    let edit = Edit {
        alias,
        take,
        enabled: give.enabled,
        json: give.json,
        inspect: !give.no_inspect,
        give,
    };
    if edit.is_empty() {
        return Err(ChangeError::Nothing { alias: edit.alias });
    }
    Ok(Asked::Set(Box::new(edit)))
}

impl Edit {
    fn is_empty(&self) -> bool {
        let give = &self.give;
        give.for_stdio.is_none()
            && give.for_http.is_none()
            && give.url.is_none()
            && self.enabled.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &str) -> Result<Asked, ChangeError> {
        let words = words.split(' ').filter(|word| !word.is_empty());
        parse(&words.map(OsString::from).collect::<Vec<_>>())
    }

    fn edit(words: &str) -> Edit {
        match line(words) {
            Ok(Asked::Set(edit)) => *edit,
            Ok(Asked::Help) => panic!("{words}: help"),
            Err(error) => panic!("{words}: {error}"),
        }
    }

    #[test]
    fn what_add_gives_can_be_taken_back() {
        let edit = edit(
            "x -e A=1 B=2 -e C --no-env D --no-dir --no-read /r --no-limit memory,files --no-pin program \
             --no-without P3,R5 --no-allow pty --no-category read-only,additive --category open-world --disable \
             --json",
        );
        assert_eq!(
            (edit.alias.as_str(), edit.give.env.len(), edit.json),
            ("x", 3, true)
        );
        assert_eq!(edit.enabled, Some(false));
        let take = edit.take;
        assert!(take.dir && take.env.len() == 1 && take.reads == ["/r"]);
        assert_eq!(
            (
                take.limits.len(),
                take.pin.len(),
                take.without.len(),
                take.allow.len()
            ),
            (2, 1, 2, 1)
        );
        assert_eq!(
            (
                take.categories.len(),
                take.bound,
                edit.give.categories.len()
            ),
            (2, false, 1)
        );
        assert!(self::edit("x --no-category all").take.bound);
        let Edit { take, .. } =
            self::edit("x --no-header X-Key --no-bearer-env --http https://e.example");
        assert!(take.bearer_env && take.headers == ["X-Key"]);
        assert!(matches!(line("x --help"), Ok(Asked::Help)));
    }

    #[test]
    fn refusals_repeat_no_key() {
        for (words, code) in [
            ("", "alias-missing"),
            ("x", "nothing-to-set"),
            ("x --json", "nothing-to-set"),
            ("x --no-inspect", "nothing-to-set"),
            ("x -- a", "stray-word"),
            ("x --net none -- sk-1", "stray-word"),
            ("x sk-1 --net none", "stray-word"),
            ("x -e NAME sk-1", "env-word"),
            ("x -e 1A=sk-1", "env-word"),
            ("-e K=sk-1 x", "env-before-alias"),
            ("x -e A=sk-1 A=sk-2", "env-twice"),
            ("x --no-env K=sk-1", "flag-value"),
            ("x --no-env", "flag-value-missing"),
            ("x --no-dir=sk-1", "flag-value"),
            ("x --no-limit memory=sk-1", "flag-value"),
            ("x --category sk-1", "flag-value"),
            ("x --category all", "flag-value"),
            ("x --no-category sk-1", "flag-value"),
            ("x --enable --disable", "flag-twice"),
            ("x --no-header K=sk-1", "flag-value"),
            ("x --stdio", "unknown-flag"),
            ("x --scope user", "unknown-flag"),
            ("x --token=sk-1", "unknown-flag"),
        ] {
            let error = line(words).map(|_| ()).expect_err(words);
            assert_eq!(
                (error.code(), error.exit_code()),
                (code, 2),
                "{words}: {error}"
            );
            let said = format!("{error} {error:?} {:?} {:?}", error.hint(), error.place());
            assert!(!said.contains("sk-"), "{words}: {said}");
            assert!(
                error
                    .hint()
                    .is_some_and(|hint| hint.starts_with("supervisor ")),
                "{words}"
            );
        }
    }
}
