//! Changes of a message in a few places; every other byte stays as it was written.
//!
//! Pure. A place is a piece of the text itself, by its address.

use std::borrow::Cow;
use std::ops::Range;

use super::scan::{Scan, characters};

/// A member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member<'a> {
    /// The characters of its name. None where an escape in it stands for half a character: some
    /// readers take that, and it is the name of nothing.
    pub(super) name: Option<Cow<'a, str>>,
    /// Its name as it is written, quotes included.
    pub(super) written: &'a str,
    /// Its value as it is written.
    pub(super) value: &'a str,
}

impl Member<'_> {
    /// Whether that is its name.
    pub(super) fn is(&self, name: &str) -> bool {
        self.name.as_deref() == Some(name)
    }

    /// Whether a reader that ignores letter case takes that for its name.
    pub(super) fn is_like(&self, name: &str) -> bool {
        self.name.as_deref().is_some_and(|own| alike(own, name))
    }
}

/// A character as a decoder that ignores letter case sees it (Go's also takes U+017F for s, and the
/// Kelvin sign for k).
pub(super) fn plain(c: char) -> char {
    match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    }
}

/// Whether such a decoder takes one name for the other.
pub(super) fn alike(one: &str, other: &str) -> bool {
    one.chars().map(plain).eq(other.chars().map(plain))
}

/// The members of an object, in their order; none of what is no object.
pub(super) fn members(json: &str) -> Vec<Member<'_>> {
    let mut members = Vec::new();
    let read = Scan::new(json).members(|scan, written| {
        members.push(Member {
            name: characters(written).ok(),
            written,
            value: scan.value()?,
        });
        Ok(())
    });
    read.map_or_else(|_| Vec::new(), |_| members)
}

/// The members of an object that every reader reads alike: None of one with a name that spells no
/// characters, and of what is no object.
pub(super) fn read(json: &str) -> Option<Vec<Member<'_>>> {
    let members = members(json);
    let alike = members.iter().all(|member| member.name.is_some());
    (alike && json.starts_with('{')).then_some(members)
}

/// An object of these members: names and values, as they are written.
pub(super) fn object<'a>(members: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let written: Vec<String> = members
        .into_iter()
        .map(|(name, value)| format!("{name}:{value}"))
        .collect();
    format!("{{{}}}", written.join(","))
}

/// Where a piece stands in the text that it lies in.
pub(super) fn place(text: &str, piece: &str) -> Range<usize> {
    let start = piece.as_ptr().addr().saturating_sub(text.as_ptr().addr());
    start..start.saturating_add(piece.len())
}

/// A text with some pieces replaced.
#[derive(Debug, Default)]
pub(super) struct Edits {
    /// Where a piece begins and ends, and what takes its place.
    edits: Vec<(usize, usize, String)>,
}

impl Edits {
    /// Nothing replaced.
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Whether there is nothing to replace.
    pub(super) fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// `piece`, which lies in `text`, becomes `new`.
    pub(super) fn replace(&mut self, text: &str, piece: &str, new: String) {
        let Range { start, end } = place(text, piece);
        self.edits.push((start, end, new));
    }

    /// `new` stands before the last byte of `piece`, which lies in `text`: an object's brace.
    pub(super) fn append(&mut self, text: &str, piece: &str, new: String) {
        let end = place(text, piece).end.saturating_sub(1);
        self.edits.push((end, end, new));
    }

    /// The text with all of it done. Pieces do not overlap.
    pub(super) fn done(mut self, text: &str) -> String {
        self.edits.sort_by_key(|(start, end, _)| (*start, *end));
        let mut out = String::with_capacity(text.len());
        let mut copied = 0;
        for (start, end, new) in self.edits {
            out.push_str(text.get(copied..start).unwrap_or_default());
            out.push_str(&new);
            copied = end;
        }
        out.push_str(text.get(copied..).unwrap_or_default());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_the_pieces_stays() {
        let text = r#"{ "a" : 1.0,"b":{"x":[ 1 ]},"c":"\u0041"}"#;
        let all = members(text);
        let mut edits = Edits::new();
        assert!(edits.is_empty());
        edits.replace(text, all[2].value, "null".to_owned());
        edits.replace(text, all[0].value, "[]".to_owned());
        edits.append(text, all[1].value, ",\"y\":0".to_owned());
        assert_eq!(
            edits.done(text),
            r#"{ "a" : [],"b":{"x":[ 1 ],"y":0},"c":null}"#
        );
        assert_eq!(Edits::new().done(text), text);
    }

    #[test]
    fn an_object_is_its_members() {
        let text = r#"{"a\u0020b":1e2,"":{},"\ud800":[]}"#;
        let all = members(text);
        assert!(all[0].is("a b") && all[0].is_like("A B") && all[2].name.is_none());
        assert_eq!((read(text), read("7")), (None, None));
        let pairs = all.iter().map(|member| (member.written, member.value));
        assert_eq!(object(pairs), text);
        assert!(members("[1]").is_empty() && members("7").is_empty());
    }
}
