use proptest::prelude::*;
use serde_json::value::RawValue;

use super::*;

/// What `serde_json` makes of it: the value as it is written, space around it left out.
fn oracle(text: &str) -> Option<String> {
    let value: Box<RawValue> = serde_json::from_str(text).ok()?;
    Some(value.get().to_owned())
}

fn scanned(text: &str) -> Option<String> {
    let mut scan = Scan::new(text);
    let value = scan.value().ok()?;
    scan.end().ok()?;
    Some(value.to_owned())
}

/// By members, as deep as they go.
fn by_members(text: &str) -> Option<String> {
    fn read<'a>(scan: &mut Scan<'a>) -> Result<&'a str, NotJson> {
        scan.members(|scan, _| read(scan).map(drop))
    }
    let mut scan = Scan::new(text);
    let value = read(&mut scan).ok()?;
    scan.end().ok()?;
    Some(value.to_owned())
}

const GOOD: [&str; 17] = [
    "0",
    "-0",
    "-0.5e-7",
    "1E+2",
    "true",
    "false",
    "null",
    "\"\"",
    "[]",
    "{}",
    " [ ] ",
    "{ }\r",
    "[1,[2,{}],\"]\"]",
    "{\"a\":{\"b\":[]},\"a\":1}",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
    "\"\\ud800\"",
    "\"\u{7f}\u{2028}\"",
];

const BAD: [&str; 42] = [
    "",
    " ",
    "01",
    "-",
    "1.",
    ".5",
    "1e",
    "1e+",
    "+1",
    "tru",
    "truex",
    "nul",
    "\"",
    "\"\\\"",
    "\"\\x\"",
    "\"\\u12g4\"",
    "\"\\u12",
    "\"\t\"",
    "\"\n\"",
    "[",
    "]",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[1 2]",
    "{",
    "{\"a\"",
    "{\"a\":",
    "{\"a\":1",
    "{\"a\":1,",
    "{\"a\":1,}",
    "{a:1}",
    "{\"a\" 1}",
    "{1:1}",
    "[1}",
    "{\"a\":1]",
    "1 1",
    "{}{}",
    "\u{a0}1",
    "'a'",
    "NaN",
];

#[test]
fn it_takes_what_json_is_and_nothing_else() {
    let long = format!("\"{}\\u00e9\"", "é".repeat(100));
    let deep = |depth: usize| "[{\"a\":".repeat(depth) + "1" + &"}]".repeat(depth);
    let (deep, crossed) = (deep(500), deep(40).replacen("}]", "]}", 1));
    let longer = [&*long, &*deep];
    for text in GOOD.into_iter().chain(longer) {
        let value = oracle(text);
        assert!(value.is_some(), "{text}");
        assert_eq!(scanned(text), value, "{text}");
        assert_eq!(by_members(text), value, "{text}");
    }
    for text in BAD.into_iter().chain([&*crossed]) {
        assert_eq!(oracle(text), None, "{text}");
        assert_eq!(scanned(text), None, "{text}");
        assert_eq!(by_members(text), None, "{text}");
    }
}

#[test]
fn members_are_shown_by_name_at_their_values() {
    let text = r#"{"a":{"x":[1,"}"]},"\u0062" : 2 , "c":"three"}"#;
    let mut got = Vec::new();
    let mut scan = Scan::new(text);
    let whole = scan.members(|scan, name| {
        got.push((characters(name)?.into_owned(), scan.value()?));
        Ok(())
    });
    assert_eq!(whole, Ok(text));
    let want = [("a", r#"{"x":[1,"}"]}"#), ("b", "2"), ("c", r#""three""#)];
    assert_eq!(got, want.map(|(name, value)| (name.to_owned(), value)));
    // A name that no character is, is shown as it is written.
    let mut scan = Scan::new(r#"{"\ud800":1}"#);
    let read = scan.members(|scan, name| {
        assert_eq!((name, characters(name)), (r#""\ud800""#, Err(NotJson)));
        scan.value().map(drop)
    });
    assert!(read.is_ok());
    // What is no object has no members, and is passed over all the same.
    let mut scan = Scan::new("[{\"a\":1}]");
    assert_eq!(scan.members(|_, _| Err(NotJson)), Ok("[{\"a\":1}]"));
}

#[test]
fn depth_costs_no_stack() {
    let text = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    assert_eq!(scanned(&text).map(|value| value.len()), Some(2_000_000));
    assert_eq!(scanned(text.trim_end_matches(']')), None);
}

/// Text near JSON: pieces of it, and what breaks it.
fn near() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => prop::sample::select(vec!["{", "}", "[", "]", ",", ":", "\"", "\\", " ", "\"a\":", "1", "-", "0", ".", "e", "true", "null"]),
        2 => prop::sample::select(vec!["\\u00e9", "\\ud800", "\\\"", "é", "\u{1}", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "\"\"", "{}", "[]"]),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// JSON, printed.
fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        ".*".prop_map(Into::into),
    ];
    leaf.prop_recursive(6, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            prop::collection::vec((".{0,20}", inner), 0..5)
                .prop_map(|pairs| serde_json::Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn near_json_it_agrees_with_serde(text in near()) {
        // Names are read by members alone, and one of half a character is none.
        let want = oracle(&text);
        prop_assert_eq!(scanned(&text), want.clone());
        let named = by_members(&text);
        prop_assert!(named == want || (named.is_none() && text.contains("\\ud800")));
    }

    #[test]
    fn what_serde_prints_is_passed_over_whole(value in json(), cut in any::<prop::sample::Index>()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            prop_assert_eq!(scanned(&text), Some(text.clone()));
            prop_assert_eq!(by_members(&text), Some(text.clone()));
            let mut at = cut.index(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let part = text.get(..at).unwrap();
            prop_assert_eq!(scanned(part), oracle(part));
        }
    }
}
