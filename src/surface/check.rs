//! A look at every text of a surface for what should not be there. Pure; what is looked for is
//! data, `policy/surface-check.json`, each rule with its reason.
//!
//! A help for the eye and no barrier: words can be chosen that no list knows. What it finds is
//! pointed at, and refuses nothing.

use super::canonical::{Item, Kind, Surface};
use super::rows;
use crate::text::is_printable;

/// The longest name under which hosts call a tool, and Gemini's.
const NAME: usize = 64;
/// White space of this length puts what follows it out of sight.
const GAP: usize = 30;
/// Words that `...` may stand for.
const BETWEEN: usize = 4;

/// `policy/surface-check.json`, in its order.
static RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/check.rs"));

/// One rule of the data.
#[derive(Debug)]
struct Rule {
    id: &'static str,
    says: &'static str,
    /// Words: `a|b` is either, `...` up to four of any.
    phrases: &'static [&'static str],
    /// Parts of the text in lower case.
    literals: &'static [&'static str],
}

/// What else is declared here: names a server has no business with.
#[derive(Clone, Debug, Default)]
pub struct Others {
    /// Other aliases.
    pub aliases: Vec<String>,
    /// Tools of other approved surfaces.
    pub tools: Vec<String>,
}

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind of item.
    pub kind: Kind,
    /// Which of its kind, from 1, in the order shown.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// The row.
    pub path: String,
    /// What it does, in our words.
    pub says: String,
    /// The text around it: the server's own words.
    pub excerpt: String,
}

/// Looks at every text; one finding for each rule and row.
#[must_use]
pub fn check(surface: &Surface, others: &Others) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut last = (Kind::Instructions, 0_usize);
    for item in surface.iter() {
        last = if last.0 == item.kind() {
            (last.0, last.1.saturating_add(1))
        } else {
            (item.kind(), 1)
        };
        for (path, text) in rows::texts(item.item()) {
            let words = words(text);
            let own = Some(path.as_str()) == item.kind().key();
            for rule in RULES {
                let others = (!own && rule.id == "names-others").then_some(others);
                let hides = rule.id == "hides";
                if let Some(excerpt) = rule.finds(text, &words, others, hides) {
                    found.push(Finding {
                        kind: item.kind(),
                        number: last.1,
                        name: item.name().to_owned(),
                        path: path.clone(),
                        says: rule.says.to_owned(),
                        excerpt,
                    });
                }
            }
        }
    }
    // A key and what it holds are one row: it is pointed at once.
    found.dedup_by(|next, before| {
        (next.kind, next.number, &next.path, &next.says)
            == (before.kind, before.number, &before.path, &before.says)
    });
    found
}

impl Rule {
    /// The words around the first thing it finds.
    fn finds(
        &self,
        text: &str,
        words: &[Word],
        others: Option<&Others>,
        hides: bool,
    ) -> Option<String> {
        let phrase = self.phrases.iter().find_map(|phrase| find(phrase, words));
        let lower = text.to_lowercase();
        let literal = || {
            let found = self.literals.iter().find_map(|part| lower.find(part));
            // Lower case may be longer; then the place is near enough for an excerpt.
            found.filter(|at| text.is_char_boundary(*at))
        };
        let literal_there = || self.literals.iter().any(|part| lower.contains(part));
        let at = phrase
            .or_else(literal)
            .or_else(|| others.and_then(|others| named(&lower, words, others)))
            .or_else(|| hides.then(|| hidden(text)).flatten());
        match at {
            Some(at) => Some(around(text, at)),
            None => literal_there().then(|| around(text, 0)),
        }
    }
}

/// A word of a text and where it begins.
#[derive(Debug)]
struct Word {
    text: String,
    at: usize,
}

/// The words of a text in lower case: letters and digits, `camelCase` apart, without
/// apostrophes and characters that do not print.
fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let (mut open, mut lower_before) = (false, false);
    for (at, character) in text.char_indices() {
        if matches!(character, '\'' | '’')
            || (!is_printable(character) && !character.is_whitespace())
        {
            continue;
        }
        if !character.is_alphanumeric() {
            (open, lower_before) = (false, false);
            continue;
        }
        if lower_before && character.is_uppercase() {
            open = false;
        }
        lower_before = character.is_lowercase();
        if !open {
            let text = String::new();
            words.push(Word { text, at });
            open = true;
        }
        if let Some(word) = words.last_mut() {
            word.text.extend(character.to_lowercase());
        }
    }
    words
}

/// Where a phrase begins in a text.
fn find(phrase: &str, words: &[Word]) -> Option<usize> {
    let pattern: Vec<&str> = phrase.split(' ').collect();
    (0..words.len()).find_map(|start| {
        let rest = words.get(start..)?;
        matches(&pattern, rest).then(|| rest.first().map(|word| word.at))?
    })
}

fn matches(pattern: &[&str], words: &[Word]) -> bool {
    match (pattern, words) {
        ([], _) => true,
        (["...", rest @ ..], words) => (0..=BETWEEN.min(words.len())).any(|skipped| {
            words
                .get(skipped..)
                .is_some_and(|words| matches(rest, words))
        }),
        ([any, rest @ ..], [word, after @ ..]) => {
            any.split('|').any(|one| one == word.text) && matches(rest, after)
        }
        (_, []) => false,
    }
}

/// Where another server or a tool of one is named.
fn named(lower: &str, words: &[Word], others: &Others) -> Option<usize> {
    let alias = others.aliases.iter().find_map(|alias| {
        let alias = alias.to_lowercase();
        let phrases = [
            format!("{alias} server|mcp|tool|tools"),
            format!("server|mcp|tool|tools {alias}"),
        ];
        phrases.iter().find_map(|phrase| find(phrase, words))
    });
    alias.or_else(|| {
        let telling = |tool: &&String| tool.len() >= 5 && tool.contains(['_', '-']);
        others
            .tools
            .iter()
            .filter(telling)
            .find_map(|tool| whole(lower, &tool.to_lowercase()))
    })
}

/// Where a name stands by itself.
fn whole(text: &str, name: &str) -> Option<usize> {
    let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(name).find_map(|(at, _)| {
        let before = text.get(..at)?.chars().next_back();
        let after = text.get(at.saturating_add(name.len())..)?.chars().next();
        (!before.is_some_and(inside) && !after.is_some_and(inside)).then_some(at)
    })
}

/// Where something is out of sight: a character that does not print, a word of two alphabets,
/// a long gap.
fn hidden(text: &str) -> Option<usize> {
    let (mut gap, mut word) = (0_usize, (false, false));
    for (at, character) in text.char_indices() {
        // A symbol's colour, as in many plain texts.
        let plain = matches!(character, '\n' | '\r' | '\t' | '\u{fe0e}' | '\u{fe0f}');
        if !plain && !is_printable(character) {
            return Some(at);
        }
        gap = if character.is_whitespace() {
            gap.saturating_add(1)
        } else {
            0
        };
        word = if character.is_alphabetic() {
            let latin = character.is_ascii_alphabetic();
            let twin = matches!(character, '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{52f}');
            (word.0 || latin, word.1 || twin)
        } else {
            (false, false)
        };
        if gap >= GAP || word == (true, true) {
            return Some(at);
        }
    }
    None
}

/// A piece of a text around a place.
fn around(text: &str, at: usize) -> String {
    let (before, after) = text.split_at_checked(at).unwrap_or(("", text));
    let before: Vec<char> = before.chars().rev().take(40).collect();
    let cut = if before.len() < 40 { "" } else { "…" };
    let head: String = before.into_iter().rev().collect();
    let tail: String = after.chars().take(100).collect();
    let rest = if tail.len() < after.len() { "…" } else { "" };
    format!("{cut}{head}{tail}{rest}")
}

/// A tool whose name is too long for some host.
#[derive(Clone, Debug, PartialEq)]
pub struct LongName<'a> {
    /// The tool.
    pub tool: &'a Item,
    /// The characters of `mcp__<alias>__<tool>`.
    pub length: usize,
}

/// Tools that some host cannot call: `mcp__<alias>__<tool>` is at most 64 characters, for Gemini
/// 63.
#[must_use]
pub fn long_names<'a>(surface: &'a Surface, alias: &str) -> Vec<LongName<'a>> {
    let around = "mcp__".len() + "__".len() + alias.chars().count();
    let length = |tool: &Item| around.saturating_add(tool.name().chars().count());
    surface
        .iter()
        .filter(|item| item.kind() == Kind::Tool)
        .map(|tool| LongName {
            tool,
            length: length(tool),
        })
        .filter(|name| name.length >= NAME)
        .collect()
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
