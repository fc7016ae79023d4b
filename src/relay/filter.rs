//! Which tools a run offers: the patterns of `run --only`, `tools.include` and `tools.exclude`.
//!
//! Pure. What is not offered is left out of the answers to `tools/list` ([`super::listing`]), and a
//! call to it is answered with a refusal. It narrows what a host is offered and is no boundary
//! for the server, which never notices.

use globset::{Glob, GlobMatcher};

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

    /// The patterns for which there is no match, in words.
    pub(super) fn idle(&self, matches: impl Fn(&Pattern) -> bool) -> Vec<String> {
        self.patterns()
            .filter(|(_, pattern)| !matches(pattern))
            .map(|(place, pattern)| format!("{place} `{}` matches no tool", pattern.text))
            .collect()
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

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
