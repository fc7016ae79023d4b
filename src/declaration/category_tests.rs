//! The table of the derivation, whole, and what the person's word and several forms do to it.

use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;

const HINTS: [&str; 3] = ["readOnlyHint", "destructiveHint", "openWorldHint"];

/// A tool with these hints: `t`, `f`, left out.
fn tool(hints: &str) -> Value {
    let mut said = Map::new();
    for (name, hint) in HINTS.into_iter().zip(hints.chars()) {
        match hint {
            't' => drop(said.insert(name.to_owned(), true.into())),
            'f' => drop(said.insert(name.to_owned(), false.into())),
            _ => {}
        }
    }
    json!({"name": "x", "annotations": said})
}

#[test]
fn every_combination_of_hints() {
    // readOnlyHint, destructiveHint, openWorldHint
    let table = [
        ("---", "destructive"),
        ("--t", "destructive"),
        ("--f", "destructive"),
        ("-t-", "destructive"),
        ("-tt", "destructive"),
        ("-tf", "destructive"),
        ("-f-", "open-world"),
        ("-ft", "open-world"),
        ("-ff", "additive"),
        ("f--", "destructive"),
        ("f-t", "destructive"),
        ("f-f", "destructive"),
        ("ft-", "destructive"),
        ("ftt", "destructive"),
        ("ftf", "destructive"),
        ("ff-", "open-world"),
        ("fft", "open-world"),
        ("fff", "additive"),
        ("t--", "read-only"),
        ("t-t", "read-only"),
        ("t-f", "read-only"),
        ("tf-", "read-only"),
        ("tft", "read-only"),
        ("tff", "read-only"),
        // They contradict each other.
        ("tt-", "destructive"),
        ("ttt", "destructive"),
        ("ttf", "destructive"),
    ];
    assert_eq!(table.len(), 27);
    for (hints, want) in table {
        let (category, whose) = Category::said(&tool(hints));
        assert_eq!(category.as_str(), want, "{hints}");
        assert_eq!(whose == Whose::Nobody, hints == "---", "{hints}");
    }
    // The protocol's defaults, said, are what is left out; but that a contradiction is said.
    for (hints, said) in [
        ("---", "ftt"),
        ("-f-", "fft"),
        ("f-f", "ftf"),
        ("t-f", "tff"),
    ] {
        assert_eq!(
            Category::said(&tool(hints)).0,
            Category::said(&tool(said)).0
        );
    }
}

#[test]
fn what_cannot_be_read_says_nothing() {
    for annotations in [
        json!(null),
        json!([]),
        json!("readOnlyHint"),
        json!({}),
        json!({"title": "Reads"}),
        json!({"ReadOnlyHint": true}),
        json!({"readOnlyHint": "true"}),
        json!({"readOnlyHint": 1}),
        json!({"readOnlyHint": null}),
        json!({"readOnlyHint": true, "destructiveHint": "false"}),
        json!({"readOnlyHint": true, "openWorldHint": 0}),
        json!({"destructiveHint": false, "openWorldHint": []}),
    ] {
        let tool = json!({"name": "x", "annotations": annotations});
        assert_eq!(
            Category::said(&tool),
            (Category::Destructive, Whose::Nobody),
            "{tool}"
        );
    }
    let outside = json!({"name": "x", "readOnlyHint": true, "_meta": {"readOnlyHint": true}});
    assert_eq!(Category::said(&outside).1, Whose::Nobody);
}

#[test]
fn the_persons_word_wins_and_of_several_forms_the_worst() {
    let (mild, worse) = (tool("t--"), tool("-f-"));
    assert_eq!(
        Category::of(None, [&mild, &worse, &mild]),
        (Category::OpenWorld, Whose::Server)
    );
    assert_eq!(
        Category::of(Some(Category::ReadOnly), [&worse]),
        (Category::ReadOnly, Whose::Person)
    );
    assert_eq!(
        Category::of(None, []),
        (Category::Destructive, Whose::Nobody)
    );
}

#[test]
fn a_word_is_read_back() {
    for category in Category::ALL {
        assert_eq!(category.as_str().parse(), Ok(category));
        assert_eq!(json!(category), category.as_str());
    }
    for bad in ["", "readonly", "Read-Only", "read_only", "*", "all"] {
        assert_eq!(bad.parse::<Category>(), Err(CategoryError), "{bad}");
    }
}

proptest! {
    /// Whatever stands in a tool, it is of one category, and no milder for a further form of it.
    #[test]
    fn no_form_makes_a_tool_milder(
        one in crate::surface::rows::tests::any_json(),
        hints in "[tf-]{3}",
    ) {
        let one = json!({"name": "x", "annotations": one});
        let other = tool(&hints);
        let (both, _) = Category::of(None, [&one, &other]);
        prop_assert!(both >= Category::said(&one).0 && both >= Category::said(&other).0);
    }
}
