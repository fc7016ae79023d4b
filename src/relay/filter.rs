//! Which tools a run offers: the patterns of `run --only`, `tools.include` and `tools.exclude`.
//!
//! Pure. What is not offered is left out of the answers to `tools/list`, whose other bytes stay
//! as they are, and a call to it is answered with a refusal. It narrows what a host is offered
//! and is no boundary for the server, which never notices.

use std::collections::BTreeMap;

use globset::{Glob, GlobMatcher};
use serde_json::value::RawValue;

use super::params::Pairs;

/// Names of tools that are remembered; a server with more is no server for a model.
const MOST: usize = 10_000;

/// A glob over names of tools: `*`, `?`, `[a-z]`, `{a,b}`. Letter case matters, and no
/// character of a name is special.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    matcher: GlobMatcher,
}

impl Pattern {
    /// Whether a name is one of those it means.
    pub(crate) fn matches(&self, name: &str) -> bool {
        self.matcher.is_match(name)
    }
}

/// A word that is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PatternError(String);

impl std::str::FromStr for Pattern {
    type Err = PatternError;

    fn from_str(word: &str) -> Result<Self, PatternError> {
        if word.is_empty() {
            return Err(PatternError("a pattern is not empty".to_owned()));
        }
        let glob = Glob::new(word).map_err(|error| PatternError(error.kind().to_string()))?;
        Ok(Self {
            text: word.to_owned(),
            matcher: glob.compile_matcher(),
        })
    }
}

/// What a run offers of a server's tools; everything, unless a pattern says otherwise.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// `run --only`: a tool stays where one of them matches it.
    pub only: Vec<Pattern>,
    /// `tools.include`: the same.
    pub include: Vec<Pattern>,
    /// `tools.exclude`: a tool goes where one of them matches it, unless `include` says what
    /// stays.
    pub exclude: Vec<Pattern>,
}

impl Filter {
    /// Whether a tool of that name is offered.
    pub(super) fn offers(&self, name: &str) -> bool {
        let any = |patterns: &[Pattern]| patterns.iter().any(|one| one.matches(name));
        let declared = match (self.include.as_slice(), self.exclude.as_slice()) {
            ([], exclude) => !any(exclude),
            (include, _) => any(include),
        };
        declared && (self.only.is_empty() || any(&self.only))
    }

    /// Every pattern that is applied, with where it stands.
    fn patterns(&self) -> impl Iterator<Item = (&'static str, &Pattern)> {
        let exclude = if self.include.is_empty() {
            self.exclude.as_slice()
        } else {
            &[]
        };
        [
            ("--only", self.only.as_slice()),
            ("tools.include", &self.include),
            ("tools.exclude", exclude),
        ]
        .into_iter()
        .flat_map(|(place, patterns)| patterns.iter().map(move |one| (place, one)))
    }
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Called {
    /// It is passed on.
    Offered,
    /// The tool is left out.
    Refused,
    /// The tool is left out, and the server's list, which was seen whole, does not name it.
    Unknown,
}

/// A filter, and what was seen of the server's tools.
#[derive(Debug)]
pub(super) struct Tools {
    filter: Filter,
    /// Names, and whether the tool declares an `outputSchema`.
    seen: BTreeMap<String, bool>,
    /// The last page of a list was seen.
    whole: bool,
    /// Patterns that match nothing were named.
    warned: bool,
}

impl Tools {
    /// Nothing seen yet.
    pub(super) fn new(filter: Filter) -> Self {
        Self {
            filter,
            seen: BTreeMap::new(),
            whole: false,
            warned: false,
        }
    }

    /// Whether the refusal of a call may carry structured content: the tool was seen, and declares
    /// no `outputSchema` that a strict client would hold it against.
    pub(super) fn is_unstructured(&self, name: &str) -> bool {
        self.seen.get(name) == Some(&false)
    }

    /// What becomes of a call to a tool; one without a name is the server's to refuse.
    pub(super) fn call(&self, name: Option<&str>) -> Called {
        match name {
            Some(name) if !self.filter.offers(name) => {
                if self.whole && !self.seen.contains_key(name) && self.seen.len() < MOST {
                    Called::Unknown
                } else {
                    Called::Refused
                }
            }
            _ => Called::Offered,
        }
    }

    /// An answer to `tools/list` without what is left out: `None` where all of it stays, and
    /// then its bytes do.
    pub(super) fn list(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(line).ok()?;
        let mut out: Option<String> = None;
        let mut copied = 0;
        let (arrays, more) = arrays(text);
        for array in arrays {
            let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(array.get()) else {
                continue;
            };
            let kept: Vec<&str> = items
                .iter()
                .map(|item| item.get())
                .filter(|item| self.see(item))
                .collect();
            if kept.len() == items.len() {
                continue;
            }
            let start = array
                .get()
                .as_ptr()
                .addr()
                .saturating_sub(text.as_ptr().addr());
            let out = out.get_or_insert_default();
            out.push_str(text.get(copied..start).unwrap_or_default());
            out.push_str(&format!("[{}]", kept.join(",")));
            copied = start.saturating_add(array.get().len());
        }
        self.whole |= !more;
        let mut out = out?;
        out.push_str(text.get(copied..).unwrap_or_default());
        Some(out.into_bytes())
    }

    /// The patterns that match nothing, once a list was seen whole; after that none any more.
    pub(super) fn idle(&mut self) -> Vec<String> {
        if !self.whole || std::mem::replace(&mut self.warned, true) {
            return Vec::new();
        }
        let idle = |pattern: &Pattern| !self.seen.keys().any(|name| pattern.matches(name));
        self.filter
            .patterns()
            .filter(|(_, pattern)| idle(pattern))
            .map(|(place, pattern)| format!("{place} `{}` matches no tool", pattern.text))
            .collect()
    }

    /// Notes a tool of a list; whether it is offered. One whose name could be read in two ways
    /// is offered where every reading is, one without a name never.
    fn see(&mut self, tool: &str) -> bool {
        let Ok(Pairs(members)) = serde_json::from_str::<Pairs<'_>>(tool) else {
            return false;
        };
        let names: Vec<String> = members
            .iter()
            .filter(|(key, _)| key.eq_ignore_ascii_case("name"))
            .filter_map(|(_, value)| serde_json::from_str(value.get()).ok())
            .collect();
        let output = members.iter().any(|(key, _)| key == "outputSchema");
        for name in &names {
            if self.seen.len() < MOST {
                self.seen.insert(name.clone(), output);
            }
        }
        !names.is_empty() && names.iter().all(|name| self.filter.offers(name))
    }
}

/// The arrays of tools in an answer, and whether another page follows.
fn arrays(text: &str) -> (Vec<&RawValue>, bool) {
    let members =
        |json| serde_json::from_str::<Pairs<'_>>(json).map_or_else(|_| Vec::new(), |pairs| pairs.0);
    let (mut arrays, mut more) = (Vec::new(), false);
    for (key, result) in members(text) {
        if key != "result" {
            continue;
        }
        for (key, value) in members(result.get()) {
            if key.eq_ignore_ascii_case("tools") {
                arrays.push(value);
            }
            more |= key == "nextCursor" && value.get() != "null";
        }
    }
    (arrays, more)
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
