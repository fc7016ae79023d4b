//! A server's own words made fit to be shown: nothing in them moves, hides or turns round what
//! stands beside them.
//!
//! Pure. Which characters those are is decided in [`crate::text`]; here bytes that are no UTF-8
//! join them, as `\xff`. A tab stays, and so do variation selectors after a symbol, which make
//! the emoji of log lines.

use crate::text::is_printable;

/// `line` with what does not print escaped.
pub(super) fn line(line: &[u8]) -> String {
    let mut out = String::with_capacity(line.len());
    for chunk in line.utf8_chunks() {
        for character in chunk.valid().chars() {
            if is_printable(character) || matches!(character, '\t' | '\u{fe0e}' | '\u{fe0f}') {
                out.push(character);
            } else {
                out.extend(character.escape_default());
            }
        }
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}

/// The first `most` characters of a line, escaped, with `…` where something is left out.
pub(super) fn excerpt(bytes: &[u8], most: usize) -> String {
    let head = bytes.get(..most.saturating_mul(4)).unwrap_or(bytes);
    let text = line(head);
    let mut out: String = text.chars().take(most).collect();
    if out.len() < text.len() || head.len() < bytes.len() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(
            line(b"\x1b]0;owned\x07\x1b[2Jred\rover"),
            r"\u{1b}]0;owned\u{7}\u{1b}[2Jred\rover"
        );
        assert_eq!(
            line("a\u{202e}gnp.exe \u{9b}31m".as_bytes()),
            r"a\u{202e}gnp.exe \u{9b}31m"
        );
        assert_eq!(line(b"\xff\xfe\xc3 \tok"), "\\xff\\xfe\\xc3 \tok");
        assert_eq!(
            line("é中 ⚠\u{fe0f} C:\\dir".as_bytes()),
            "é中 ⚠\u{fe0f} C:\\dir"
        );
    }

    #[test]
    fn an_excerpt_is_short_whatever_the_line_is() {
        assert_eq!(excerpt(b"hello", 5), "hello");
        assert_eq!(excerpt(b"hello!", 5), "hello…");
        assert!(excerpt(&[0x1b; 1 << 20], 50).chars().count() <= 51);
    }

    proptest! {
        #[test]
        fn what_leaves_is_printable(bytes in proptest::collection::vec(any::<u8>(), 0..99), text in any::<String>()) {
            for input in [&bytes[..], text.as_bytes()] {
                let shown = |c: char| is_printable(c) || matches!(c, '\t' | '\u{fe0e}' | '\u{fe0f}');
                prop_assert!(line(input).chars().all(shown));
            }
        }
    }
}
