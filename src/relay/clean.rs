//! What is taken out of a text before a model reads it: ANSI sequences, control characters, bidi
//! marks, zero-width and tag characters. None of them shows, and each may say what a person did
//! not see.
//!
//! Pure. Line feeds, tabs, the return before a line feed and the two selectors of emoji stay, and so
//! do spaces of any width: they are seen. A text without such characters keeps its bytes.

use super::parts;

/// The JSON of an item with every string in it cleaned, names of members too; `None` where
/// nothing had to be taken out.
pub(super) fn item(json: &str) -> Option<String> {
    let mut edits = Vec::new();
    let mut from = 0;
    while let Some(start) = json.get(from..).and_then(|rest| rest.find('"')) {
        let start = from.saturating_add(start);
        let end = string_end(json, start);
        let part = json.get(start..end)?;
        // An escape may stand for a character that is taken out, plain ASCII does not.
        if (part.contains('\\') || !part.is_ascii() || part.contains('\u{7f}'))
            && let Ok(text) = serde_json::from_str::<String>(part)
            && let Some(clean) = text_of(&text)
        {
            edits.push((start..end, serde_json::Value::from(clean).to_string()));
        }
        from = end;
    }
    (!edits.is_empty()).then(|| parts::replaced(json, &edits))
}

/// Where the string ends that begins there.
fn string_end(json: &str, start: usize) -> usize {
    let mut at = start.saturating_add(1);
    let bytes = json.as_bytes();
    loop {
        match bytes.get(at) {
            Some(b'"') => return at.saturating_add(1),
            Some(b'\\') => at = at.saturating_add(2),
            Some(_) => at = at.saturating_add(1),
            None => return json.len(),
        }
    }
}

/// A text without what does not show; `None` where there is nothing of it.
pub(super) fn text_of(text: &str) -> Option<String> {
    let (mut clean, mut changed) = (String::new(), false);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let taken = sequence(rest).unwrap_or_else(|| {
            let kept = !is_hidden(first) && (first != '\r' || rest.starts_with("\r\n"));
            if kept { 0 } else { first.len_utf8() }
        });
        if taken == 0 {
            clean.push(first);
        }
        changed |= taken > 0;
        rest = rest.get(taken.max(first.len_utf8())..).unwrap_or_default();
    }
    changed.then_some(clean)
}

/// Bytes of the ANSI sequence that a text begins with. One without an end is only its head.
fn sequence(text: &str) -> Option<usize> {
    let (head, kind) = match text.strip_prefix('\u{1b}') {
        Some(rest) => {
            let kind = rest.chars().next()?;
            (1 + kind.len_utf8(), kind)
        }
        // The same in one character.
        None => match text.chars().next()? {
            '\u{9b}' => (2, '['),
            '\u{9d}' => (2, ']'),
            '\u{90}' => (2, 'P'),
            '\u{98}' => (2, 'X'),
            '\u{9e}' => (2, '^'),
            '\u{9f}' => (2, '_'),
            _ => return None,
        },
    };
    let body = text.get(head..)?;
    let length = match kind {
        '[' => {
            let parameters = body.bytes().take_while(|byte| matches!(byte, 0x20..=0x3f));
            let count = parameters.count();
            let ends = matches!(body.as_bytes().get(count), Some(0x40..=0x7e));
            if ends { count + 1 } else { 0 }
        }
        ']' | 'P' | 'X' | '^' | '_' => string_of(body).unwrap_or(0),
        ' '..='/' => {
            let more = body.bytes().take_while(|byte| matches!(byte, 0x20..=0x2f));
            let count = more.count();
            let ends = matches!(body.as_bytes().get(count), Some(0x30..=0x7e));
            if ends { count + 1 } else { 0 }
        }
        '0'..='~' => 0,
        // It escapes nothing.
        _ => return Some(1),
    };
    Some(head.saturating_add(length))
}

/// Bytes up to the end of a control string: BEL, or ST in either spelling.
fn string_of(body: &str) -> Option<usize> {
    let ends = ["\u{7}", "\u{1b}\\", "\u{9c}"];
    let end = |word: &&str| body.find(*word).map(|at| at.saturating_add(word.len()));
    ends.iter().filter_map(end).min()
}

/// Whether a character does not show: controls, bidi marks, what has no width, tags.
pub(super) fn is_hidden(character: char) -> bool {
    match character {
        '\n' | '\t' | '\r' => false,
        // Soft hyphen, grapheme joiner, Arabic letter mark; fillers; Mongolian selectors.
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => {
            true
        }
        '\u{180b}'..='\u{180f}' | '\u{3164}' | '\u{ffa0}' => true,
        // Zero width, marks and embeddings of direction, invisible operators, isolates.
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        // Selectors but the two of emoji, byte order mark, annotations.
        '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' => true,
        // Format controls of shorthand and music, tags, more selectors.
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        other => other.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_does_not_show_is_taken_out() {
        for (text, clean) in [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;owned\u{7}a\u{1b}]8;;http://e\u{1b}\\b", "ab"),
            ("\u{9b}1;2Hx\u{9d}t\u{9c}y", "xy"),
            ("\u{1b}]never ends", "never ends"),
            ("a\u{1b}[12\u{1b}", "a12"),
            ("\u{1b}(Ba\u{1b}cb\u{1b}\u{1b}[1mc", "abc"),
            (
                "a\u{200b}b\u{202e}c\u{2066}d\u{feff}e\u{e0041}f\u{fe01}g",
                "abcdefg",
            ),
            ("a\rb\u{0}\u{8}c\u{7f}\u{85}", "abc"),
            ("a\u{1b}\u{200b}[31m", "a[31m"),
        ] {
            assert_eq!(text_of(text).as_deref(), Some(clean), "{text:?}");
        }
        for plain in [
            "a\r\n\tb",
            "日本\u{3000}語",
            "❤\u{fe0f} é",
            "a\u{a0}b\u{2028}",
        ] {
            assert_eq!(text_of(plain), None, "{plain:?}");
        }
    }

    #[test]
    fn an_item_keeps_its_other_bytes() {
        let json = r#"{ "a\u200b" :1.0, "b":["x", "\u001b[1mbold" ],"c":"\\\"é" }"#;
        let want = r#"{ "a" :1.0, "b":["x", "bold" ],"c":"\\\"é" }"#;
        assert_eq!(item(json).as_deref(), Some(want));
        assert_eq!(item(want), None);
        assert_eq!(item("{\"a\":\"\u{202e}\"}").as_deref(), Some(r#"{"a":""}"#));
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left(text in ".*|(\u{1b}|\u{9b}|\\[|\\]|[a-z;]|\u{7}|\u{200b}|\r|\n)*") {
            let clean = text_of(&text).unwrap_or_else(|| text.clone());
            prop_assert!(!clean.chars().any(is_hidden));
            prop_assert_eq!(text_of(&clean), None);
            let json = serde_json::json!({"k": text}).to_string();
            let json = item(&json).unwrap_or(json);
            let read: serde_json::Value = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(&read["k"], &clean);
        }
    }
}
