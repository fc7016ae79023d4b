//! Schemas as servers write them, and as one would who means harm.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::tables::{BAD, FURTHER, UNUSABLE};
use super::*;

fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

fn fits(schema: &Value, value: &Value) -> Result<(), Miss> {
    let schema = Schema::compile(schema).unwrap_or_else(|unusable| panic!("{unusable:?}"));
    schema.fits(value, value.to_string().len())
}

fn unfit(schema: &Value, value: &Value) -> (String, String) {
    match fits(schema, value) {
        Err(Miss::Unfit(unfit)) => (unfit.place, unfit.wants),
        other => panic!("{schema} {value}: {other:?}"),
    }
}

#[test]
fn each_keyword_is_held_against_what_it_is_about() {
    let weather = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "lat": {"type": "number", "minimum": -90, "maximum": 90},
            "days": {"type": ["integer", "null"], "multipleOf": 2},
            "unit": {"enum": ["c", "f"]},
            "name": {"type": "string", "minLength": 2, "maxLength": 3, "pattern": "^\\w+$"},
            "tags": {"type": "array", "items": {"$ref": "#/definitions/tag"}, "uniqueItems": true, "maxItems": 2},
            "any": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "one": {"oneOf": [{"type": "number"}, {"minimum": 3}]},
        },
        "definitions": {"tag": {"not": {"const": ""}, "type": "string"}},
        "required": ["lat"],
        "additionalProperties": false,
    });
    for good in [
        json!({"lat": 90, "days": 4.0, "unit": "f", "name": "abc", "tags": ["a", "b"]}),
        json!({"lat": -0.5, "days": null, "any": null, "one": 2}),
    ] {
        assert_eq!(fits(&weather, &good), Ok(()), "{good}");
    }
    for (bad, place, wants) in BAD {
        let bad = value(bad);
        let (at, says) = unfit(&weather, &bad);
        assert_eq!((at.as_str(), says.as_str()), (*place, *wants), "{bad}");
    }
}

#[test]
fn further_keywords() {
    for (schema, good, bad) in FURTHER {
        let (schema, good, bad) = (value(schema), value(good), value(bad));
        assert_eq!(fits(&schema, &good), Ok(()), "{schema} {good}");
        unfit(&schema, &bad);
    }
    let escaped = json!({"$ref": "#/$defs/a~1b%25", "$defs": {"a/b%": {"type": "string"}}});
    assert_eq!(fits(&escaped, &json!("x")), Ok(()));
    assert_eq!(unfit(&escaped, &json!(1)).1, "type: string");
    let older = json!({"$schema": "http://json-schema.org/draft-07/schema#",
        "$ref": "#/definitions/a", "definitions": {"a": true}, "type": "string"});
    assert_eq!(fits(&older, &json!(1)), Ok(()));
}

#[test]
fn what_cannot_be_held_against_anything_is_named_by_its_place() {
    for (schema, place, problem) in UNUSABLE {
        let schema = value(schema);
        let unusable = Schema::compile(&schema).unwrap_err();
        assert_eq!(unusable.place, *place, "{schema}");
        assert!(unusable.problem.contains(problem), "{schema}: {unusable:?}");
    }
}

#[test]
fn a_schema_is_bounded() {
    let many: Vec<Value> = (0..10_001).map(|_| json!(true)).collect();
    let unusable = Schema::compile(&json!({"allOf": many})).unwrap_err();
    assert!(unusable.problem.contains("more than 10000"), "{unusable:?}");
    let patterns: Vec<Value> = (0..101).map(|_| json!({"pattern": "a"})).collect();
    let unusable = Schema::compile(&json!({"allOf": patterns})).unwrap_err();
    assert!(unusable.problem.contains("more than 100"), "{unusable:?}");
}

/// Schemas of a few lines on which other validators overflow their stack, or do not end.
#[test]
fn a_judgement_is_bounded() {
    let chain = |keyword: &str, length: usize| {
        let mut defs = serde_json::Map::new();
        for at in 0..length {
            let next = json!({"$ref": format!("#/$defs/a{}", at + 1)});
            defs.insert(format!("a{at}"), json!({keyword: [next, next]}));
        }
        defs.insert(format!("a{length}"), json!({"type": "string"}));
        json!({"$ref": "#/$defs/a0", "$defs": defs})
    };
    let tree = json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "oneOf": [
        {"properties": {"c": {"$ref": "#/$defs/n"}}}, {"properties": {"c": {"$ref": "#/$defs/n"}}}]}}});
    let mut deep = json!({});
    for _ in 0..60 {
        deep = json!({"c": deep});
    }
    let dear = json!({"items": {"pattern": "^(?:[a-z]{1,60}_){1,30}$"}});
    for (schema, value) in [
        (json!({"$ref": "#"}), json!({})),
        (json!({"not": {"$ref": "#"}}), json!({})),
        (chain("allOf", 40), json!("x")),
        (chain("anyOf", 40), json!(1)),
        (chain("oneOf", 40), json!("x")),
        (chain("allOf", 3_000), json!("x")),
        (tree, deep),
        (dear, Value::from(vec!["a_".repeat(30); 10_000])),
    ] {
        assert_eq!(fits(&schema, &value), Err(Miss::TooMuch), "{schema:.200}");
    }
    // Large and plain is neither.
    let rows: Vec<Value> = (0..5_000)
        .map(|at| json!({"id": at, "text": "x".repeat(100)}))
        .collect();
    let schema = json!({"type": "array", "uniqueItems": true, "items": {"type": "object", "required": ["id"],
        "properties": {"id": {"type": "integer"}, "text": {"type": "string", "pattern": "x$"}}}});
    assert_eq!(fits(&schema, &Value::Array(rows)), Ok(()));
}

#[test]
fn a_pattern_means_what_it_means_in_a_host() {
    for (pattern, good, bad) in [
        ("^\\d+$", "12", "١٢"),
        ("^\\w$", "_", "é"),
        ("^\\s$", "\u{feff}", "\u{85}"),
        ("^.$", "é", "\u{2028}"),
        ("\\bb", "a b", "ab"),
        ("^[\\w.-]+\\/$", "a.b-c/", "é/"),
        ("^[[a]$", "[", "b"),
        ("^[a&&b]$", "&", "c"),
        ("^[^\\d\\s]$", "a", "1"),
        ("^[\\D]$", "a", "1"),
        ("^\\u0041\\x42$", "AB", "ab"),
        ("^(?<year>[0-9]{4})-(?:[0-9])$", "2026-1", "2026"),
        ("^\\p{Lu}$", "É", "é"),
        ("^a$", "a", "a\n"),
        ("^\\-\\.$", "-.", "-a"),
        ("^[\\b]$", "\u{8}", "b"),
    ] {
        let pattern = pattern::Pattern::read(pattern).unwrap_or_else(|| panic!("{pattern}"));
        assert!(pattern.matches(good), "{pattern:?} {good:?}");
        assert!(!pattern.matches(bad), "{pattern:?} {bad:?}");
    }
    for pattern in [
        "(?i)a", "[]a]", "[a--b]", "\\A", "a\\z", "(?<=a)b", "(?P<n>a)", "\\1", "(", "[^]",
    ] {
        assert!(pattern::Pattern::read(pattern).is_none(), "{pattern}");
    }
}

#[test]
fn nothing_of_a_value_is_said() {
    let secret = "sk-0123456789";
    for schema in [
        json!({"type": "number"}),
        json!({"enum": ["a"]}),
        json!({"pattern": "^x"}),
        json!({"maxLength": 3}),
        json!({"const": {"a": 1}}),
        json!({"anyOf": [{"type": "null"}, {"pattern": "^y"}]}),
        json!({"not": {"type": "string"}}),
        json!(false),
    ] {
        let (place, wants) = unfit(&schema, &json!(secret));
        assert!(!wants.contains(secret) && place.is_empty(), "{wants}");
    }
    // Nor does a word of the schema's move what stands beside it.
    let (_, wants) = unfit(&json!({"const": "\u{1b}[2J\u{202e}"}), &json!(1));
    assert!(
        wants
            .chars()
            .all(|one| !one.is_control() && one != '\u{202e}'),
        "{wants}"
    );
}

proptest! {
    /// Whatever a server writes for a schema, and a host for a value: an answer, and no panic.
    #[test]
    fn anything_is_judged(schema in crate::surface::rows::tests::any_json(), value in crate::surface::rows::tests::any_json()) {
        if let Ok(schema) = Schema::compile(&json!({"properties": {"a": schema}})) {
            let _ = schema.fits(&json!({"a": value}), 100);
        }
    }

    /// A value is its own constant, and a number its own bound and multiple.
    #[test]
    fn a_value_is_itself(value in crate::surface::rows::tests::any_json(), number in -1e9..1e9_f64) {
        prop_assert_eq!(fits(&json!({"const": value}), &value), Ok(()));
        prop_assert_eq!(fits(&json!({"minimum": number, "maximum": number}), &json!(number)), Ok(()));
    }

    /// A pattern of plain letters is found where the letters are, and any pattern is read or refused.
    #[test]
    fn plain_patterns_are_texts(plain in "[a-z]{1,5}", text in "[a-z]{0,20}", any in any::<String>()) {
        let pattern = pattern::Pattern::read(&plain).unwrap();
        prop_assert_eq!(pattern.matches(&text), text.contains(&plain));
        let _ = pattern::Pattern::read(&any);
    }
}
