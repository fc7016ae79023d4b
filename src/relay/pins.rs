//! Whether an item that a server lists is one that was approved.
//!
//! Pure. An item is offered where its canonical form is in the approved set, and is withheld
//! otherwise, with how it differs. What two readers could read differently is in no set.

use std::collections::BTreeSet;

use serde_json::Value;

use super::clean;
use crate::declaration::ItemDigest;
use crate::declaration::document::Unique;
use crate::surface::canonical::Item;
use crate::surface::{Kind, Surface};

/// Why an item is withheld.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Nothing of the server was approved.
    Unapproved,
    /// An item of that name was approved, with other content.
    Changed,
    /// The same content was approved under another name.
    Renamed,
    /// Nothing of that name was approved.
    Added,
    /// It cannot be read, or in two ways, or its name has characters that do not show.
    Unreadable,
    /// It has no name to be asked for by.
    Nameless,
    /// It was approved, and the administrator offers all or nothing.
    Whole,
}

impl Change {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unapproved => "unapproved",
            Self::Changed => "changed",
            Self::Renamed => "renamed",
            Self::Added => "added",
            Self::Unreadable => "unreadable",
            Self::Nameless => "nameless",
            Self::Whole => "whole",
        }
    }
}

/// What becomes of an item.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Judged {
    /// It is offered; with what a model reads of it, where something had to be taken out.
    Offered {
        /// By what it is asked for.
        name: String,
        /// In place of its text.
        clean: Option<String>,
    },
    /// It is not.
    Withheld {
        /// Why.
        change: Change,
        /// Itself, as far as it is an item.
        item: Option<Box<Item>>,
    },
}

/// What was approved.
#[derive(Debug, Clone)]
pub(super) struct Pins {
    approved: Option<Surface>,
    /// The approved items without their names.
    contents: BTreeSet<ItemDigest>,
}

impl Pins {
    /// Of one run.
    pub(super) fn new(approved: Option<Surface>) -> Self {
        let items = approved.iter().flat_map(Surface::iter);
        Self {
            contents: items.map(Item::content).collect(),
            approved,
        }
    }

    /// Whether anything was.
    pub(super) fn is_given(&self) -> bool {
        self.approved.is_some()
    }

    /// What was.
    pub(super) fn approved(&self) -> Option<&Surface> {
        self.approved.as_ref()
    }

    /// Every approved form of the item of that kind and name.
    pub(super) fn forms(&self, kind: Kind, name: &str) -> impl Iterator<Item = &Item> {
        let approved = self.approved.iter();
        approved.flat_map(move |surface| surface.forms(kind, name))
    }

    /// Whether an item of that kind and name was approved, whatever is listed now.
    pub(super) fn has(&self, kind: Kind, name: &str) -> bool {
        self.forms(kind, name).next().is_some()
    }

    /// The approved names of that kind.
    pub(super) fn names(&self, kind: Kind) -> impl Iterator<Item = &str> {
        let items = self.approved.iter().flat_map(Surface::iter);
        items
            .filter(move |item| item.kind() == kind)
            .map(Item::name)
    }

    /// An entry of a list, as it is written.
    pub(super) fn entry(&self, kind: Kind, text: &str) -> Judged {
        let none = |change| Judged::Withheld { change, item: None };
        let unique = serde_json::from_str::<Unique>(text).is_ok();
        let Some(value) = serde_json::from_str::<Value>(text).ok().filter(|_| unique) else {
            return none(Change::Unreadable);
        };
        match Item::listed(kind, value) {
            Some(item) => self.judge(item, text),
            None => none(Change::Nameless),
        }
    }

    /// A server's instructions, as they are written.
    pub(super) fn instructions(&self, text: &str) -> Judged {
        match serde_json::from_str::<String>(text) {
            Ok(said) => self.judge(Item::instructions(&said), text),
            Err(_) => Judged::Withheld {
                change: Change::Unreadable,
                item: None,
            },
        }
    }

    fn judge(&self, item: Item, text: &str) -> Judged {
        let withheld = |change, item| Judged::Withheld {
            change,
            item: Some(Box::new(item)),
        };
        let Some(approved) = &self.approved else {
            return withheld(Change::Unapproved, item);
        };
        if !approved.contains(&item) {
            let change = self.change(&item);
            return withheld(change, item);
        }
        if item.name().chars().any(clean::is_hidden) {
            return withheld(Change::Unreadable, item);
        }
        let clean = clean::item(text);
        // Two names of members that differ in such characters only would be one.
        let unique = |clean: &String| serde_json::from_str::<Unique>(clean).is_ok();
        if clean.as_ref().is_some_and(|clean| !unique(clean)) {
            return withheld(Change::Unreadable, item);
        }
        let name = item.name().to_owned();
        Judged::Offered { name, clean }
    }

    fn change(&self, item: &Item) -> Change {
        if self.has(item.kind(), item.name()) {
            Change::Changed
        } else if self.contents.contains(&item.content()) {
            Change::Renamed
        } else {
            Change::Added
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn pins(items: &[Value]) -> Pins {
        let tool = |item: &Value| Item::listed(Kind::Tool, item.clone()).unwrap();
        Pins::new(Some(items.iter().map(tool).collect()))
    }

    fn word(judged: &Judged) -> &'static str {
        match judged {
            Judged::Offered { .. } => "offered",
            Judged::Withheld { change, .. } => change.as_str(),
        }
    }

    #[test]
    fn an_item_is_offered_in_its_approved_forms_alone() {
        let plain = json!({"name": "a", "description": "d", "annotations": {"readOnlyHint": true}});
        let pins = pins(&[plain, json!({"name": "a", "description": "e"})]);
        for (text, want) in [
            (
                r#"{"annotations":{"readOnlyHint":true},"description":"d","name":"a"}"#,
                "offered",
            ),
            (r#"{ "name":"\u0061", "description" : "e" }"#, "offered"),
            (r#"{"name":"a","description":"f"}"#, "changed"),
            (
                r#"{"name":"a","description":"d","annotations":{"readOnlyHint":false}}"#,
                "changed",
            ),
            (r#"{"name":"a","description":"e","_meta":{}}"#, "changed"),
            (
                r#"{"name":"a","description":"e","Description":"x"}"#,
                "changed",
            ),
            (r#"{"name":"b","description":"e"}"#, "renamed"),
            (r#"{"name":"b","description":"g"}"#, "added"),
            (
                r#"{"name":"a","description":"e","description":"x"}"#,
                "unreadable",
            ),
            (
                r#"{"name":"a","description":"x","description":"e"}"#,
                "unreadable",
            ),
            (r#"{"name":"a","name":"b","description":"e"}"#, "unreadable"),
            (r#"{"name":1}"#, "nameless"),
            (r#""a""#, "nameless"),
            (r#"{"name":"a","description":"\ud800"}"#, "unreadable"),
        ] {
            assert_eq!(word(&pins.entry(Kind::Tool, text)), want, "{text}");
        }
        // A prompt of the same words is another thing.
        let text = r#"{"name":"a","description":"e"}"#;
        assert_eq!(word(&pins.entry(Kind::Prompt, text)), "added");
        assert_eq!(word(&pins.instructions("\"e\"")), "added");
        let none = Pins::new(None);
        assert_eq!(word(&none.entry(Kind::Tool, text)), "unapproved");
    }

    #[test]
    fn what_does_not_show_is_taken_out_of_what_is_offered() {
        let pins = pins(&[
            json!({"name": "a", "description": "x\u{200b}y"}),
            json!({"name": "b\u{200b}"}),
            json!({"name": "c", "k": 1, "k\u{200b}": 2}),
        ]);
        let Judged::Offered { clean, .. } =
            pins.entry(Kind::Tool, r#"{"name":"a", "description":"x\u200by"}"#)
        else {
            panic!("withheld");
        };
        assert_eq!(
            clean.as_deref(),
            Some(r#"{"name":"a", "description":"xy"}"#)
        );
        for text in [r#"{"name":"b\u200b"}"#, r#"{"name":"c","k":1,"k\u200b":2}"#] {
            assert_eq!(word(&pins.entry(Kind::Tool, text)), "unreadable");
        }
    }

    proptest! {
        /// Nothing but what was approved is offered, and that however it is spelled.
        #[test]
        fn only_what_was_approved(one in crate::surface::rows::tests::any_json(), other in crate::surface::rows::tests::any_json()) {
            let tool = |said: &Value| json!({"name": "t", "said": said});
            let pins = pins(&[tool(&one)]);
            let pretty = |value| serde_json::to_string_pretty(&tool(value)).unwrap();
            let judged = pins.entry(Kind::Tool, &pretty(&other));
            let offered = matches!(judged, Judged::Offered { .. });
            // Two names of members may become one, and then it is withheld.
            prop_assert!(!offered || one == other);
            let judged = pins.entry(Kind::Tool, &pretty(&one));
            let hidden = clean::item(&pretty(&one)).is_some();
            let offered = matches!(judged, Judged::Offered { .. });
            prop_assert!(offered || hidden);
        }
    }
}
