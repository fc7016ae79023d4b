//! A regular expression of ECMA-262, put into the words of an engine that needs linear time.
//!
//! Pure. What means something else there is written anew, and what there is no linear way for
//! (looking around, references back) is refused: then the schema cannot be held against anything.

use regex::{Regex, RegexBuilder};

/// Bytes that one pattern may take once compiled, and how dear it is then for each byte of a text: the
/// engine is linear in both.
const COMPILED: [(usize, usize); 2] = [(16 << 10, 1), (256 << 10, 16)];
/// Letters that mean the same behind a backslash in both.
const SAME: &str = "tnvrfxupP";
/// What `\s` matches.
const SPACE: &str = r"\t\n\x0B\x0C\r \u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000\uFEFF";

/// A pattern that matches anywhere in a text.
#[derive(Debug)]
pub(super) struct Pattern {
    regex: Regex,
    text: String,
    weight: usize,
}

impl Pattern {
    /// A pattern as a schema has it; `None` where it cannot be held against a text.
    pub(super) fn read(text: &str) -> Option<Self> {
        let pattern = translated(text)?;
        let built = |(most, weight)| {
            let regex = RegexBuilder::new(&pattern)
                .size_limit(most)
                .dfa_size_limit(most)
                .build();
            regex.ok().map(|regex| (regex, weight))
        };
        let (regex, weight) = COMPILED.into_iter().find_map(built)?;
        Some(Self {
            regex,
            text: text.to_owned(),
            weight,
        })
    }

    /// As the schema has it.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// How dear each byte of a text is.
    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    /// Whether it matches anywhere.
    pub(super) fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

/// The pattern in the engine's own words.
fn translated(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut within = false;
    while let Some(one) = rest.next() {
        match one {
            '\\' => out.push_str(&escape(rest.next()?, within)?),
            '[' if within => out.push_str(r"\["),
            '[' => {
                within = true;
                out.push('[');
                if rest.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                // An empty class: something else there.
                if rest.peek() == Some(&']') {
                    return None;
                }
            }
            ']' => {
                within = false;
                out.push(']');
            }
            // Twice they are operators of sets there.
            '&' | '~' if within => {
                out.push('\\');
                out.push(one);
            }
            '-' if within && rest.peek() == Some(&'-') => return None,
            '.' if !within => out.push_str(r"[^\n\r\u2028\u2029]"),
            '(' if rest.next_if_eq(&'?').is_some() => {
                out.push_str("(?");
                match rest.next()? {
                    ':' => out.push(':'),
                    '<' if !matches!(rest.peek(), Some('=' | '!')) => out.push('<'),
                    _ => return None,
                }
            }
            other => out.push(other),
        }
    }
    (!within).then_some(out)
}

/// What stands behind a backslash.
fn escape(letter: char, within: bool) -> Option<String> {
    let set = |set: &str, inverse: bool| {
        let not = if inverse { "^" } else { "" };
        if within && !inverse {
            set.to_owned()
        } else {
            format!("[{not}{set}]")
        }
    };
    Some(match letter {
        'd' | 'D' => set("0-9", letter == 'D'),
        'w' | 'W' => set("A-Za-z0-9_", letter == 'W'),
        's' | 'S' => set(SPACE, letter == 'S'),
        'b' if within => r"\x08".to_owned(),
        'b' => r"(?-u:\b)".to_owned(),
        '0' => r"\x00".to_owned(),
        letter if SAME.contains(letter) => format!("\\{letter}"),
        // A reference back, a letter that means something to one of the two only.
        letter if letter.is_alphanumeric() => return None,
        letter if letter.is_ascii() => format!("\\{letter}"),
        letter => letter.to_string(),
    })
}
