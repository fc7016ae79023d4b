//! Words for a terminal: every character printable (promise S6), every word readable back.
//!
//! Pure. The one place that decides what is printable; whatever shows a person something
//! that a server, a path or an argument wrote goes through here.

use std::path::Path;

/// `text` with every character that does not print made visible: controls, line and paragraph
/// separators, bidi marks, zero-width and tag characters, and what Unicode leaves unassigned or
/// private, as `\u{…}` (`\n`, `\t`, `\r` in their short form). Idempotent but for `\`, which
/// stays as it is, so that paths and patterns read as written.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_printable(character) {
            out.push(character);
        } else {
            out.extend(character.escape_default());
        }
    }
    out
}

/// JSON in which every character prints; those that do not stand in strings only.
#[must_use]
pub fn json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        if character == '\n' || is_printable(character) {
            out.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

/// Whether a character shows as itself and moves nothing else on the line.
#[must_use]
pub fn is_printable(character: char) -> bool {
    match character {
        ' '..='~' => true,
        // Soft hyphen, Arabic letter mark, Mongolian vowel separator, Hangul and Khmer fillers.
        '\u{ad}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' => false,
        '\u{3164}' | '\u{ffa0}' | '\u{2800}' | '\u{34f}' => false,
        // Zero width, bidi, separators, invisible operators, deprecated format characters.
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' => false,
        '\u{2000}'..='\u{200a}' | '\u{a0}' | '\u{1680}' | '\u{3000}' => false,
        // Variation selectors, byte order mark, interlinear annotations, specials.
        '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{ffff}' => false,
        // Shorthand and musical format controls, tags, private use.
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e000}'..='\u{f8ff}' => false,
        '\u{e0000}'.. => false,
        other => !other.is_control(),
    }
}

/// One word of a command line: as it is where nothing in it is special to a reader or a shell,
/// else quoted, with what does not print escaped (`$'…'`). Two different words never look alike.
#[must_use]
pub fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,~^".contains(c);
    if !text.is_empty()
        && text
            .chars()
            .all(|c| plain(c) || (!c.is_ascii() && is_printable(c)))
    {
        return text.to_owned();
    }
    if text.chars().all(is_printable) {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let mut out = String::from("$'");
    for character in text.chars() {
        match character {
            '\'' | '\\' => out.extend(['\\', character]),
            c if is_printable(c) => out.push(c),
            '\n' => out.push_str(r"\n"),
            '\t' => out.push_str(r"\t"),
            '\r' => out.push_str(r"\r"),
            c if u32::from(c) < 0x80 => out.push_str(&format!(r"\x{:02x}", u32::from(c))),
            c => out.push_str(&format!(r"\U{:08x}", u32::from(c))),
        }
    }
    out.push('\'');
    out
}

/// A whole command line, word by word.
#[must_use]
pub fn words<'a>(argv: impl IntoIterator<Item = &'a str>) -> String {
    argv.into_iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Bytes as digits, two each and small, as `sha256sum(1)` writes them.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().saturating_mul(2));
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    text.extend(digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)));
    text
}

/// A number of bytes for a reader: `1.5 MiB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    let unit = [("GiB", 20), ("MiB", 10), ("KiB", 0)]
        .into_iter()
        .find(|(_, shift)| bytes >> shift >= 1 << 10);
    match unit {
        None => format!("{bytes} bytes"),
        Some((unit, shift)) => {
            let tenths = (bytes >> shift).saturating_mul(10) >> 10;
            format!("{}.{} {unit}", tenths / 10, tenths % 10)
        }
    }
}

/// A path as one word; bytes that are no UTF-8 show as `\u{fffd}`.
#[must_use]
pub fn path(path: &Path) -> String {
    word(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_are_two_small_digits_each() {
        assert_eq!(hex(&[0x00, 0x0f, 0xa5, 0xff]), "000fa5ff");
        assert_eq!(hex(&[]), "");
    }

    #[test]
    fn invisible_characters_show() {
        assert_eq!(
            printable("a\u{202e}b\u{200b}c\x1b[31m\n"),
            r"a\u{202e}b\u{200b}c\u{1b}[31m\n"
        );
        assert_eq!(printable("日本 é \\n"), "日本 é \\n");
    }

    #[test]
    fn sizes() {
        for (bytes, said) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1536, "1.5 KiB"),
            (5 << 20, "5.0 MiB"),
            (u64::MAX, "17179869183.9 GiB"),
        ] {
            assert_eq!(size(bytes), said);
        }
    }

    #[test]
    fn words_read_back() {
        assert_eq!(
            words(["a", "b c", "", "it's", "x\ny"]),
            r"a 'b c' '' 'it'\''s' $'x\ny'"
        );
    }

    proptest! {
        #[test]
        fn nothing_unprintable_leaves(text in any::<String>()) {
            prop_assert!(printable(&text).chars().all(is_printable));
            prop_assert!(word(&text).chars().all(is_printable));
        }

        #[test]
        fn different_words_look_different(a in any::<String>(), b in any::<String>()) {
            prop_assert_eq!(a == b, word(&a) == word(&b));
        }
    }
}
