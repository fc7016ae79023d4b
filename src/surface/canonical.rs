//! What is pinned: items, each by the hash of its canonical form, and the set of them. Pure.
//!
//! The bytes are written down in `docs/surface.md`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::declaration::{ItemDigest, SurfaceDigest};

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// What the server tells a model at the start of a session.
    Instructions,
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
    /// A resource.
    Resource,
    /// A resource template.
    Template,
}

impl Kind {
    /// Every one.
    pub const ALL: [Self; 5] = [
        Self::Instructions,
        Self::Tool,
        Self::Prompt,
        Self::Resource,
        Self::Template,
    ];

    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::Template => "template",
        }
    }

    /// The key of an item by which it is asked for; instructions have none.
    #[must_use]
    pub fn key(self) -> Option<&'static str> {
        match self {
            Self::Instructions => None,
            Self::Tool | Self::Prompt => Some("name"),
            Self::Resource => Some("uri"),
            Self::Template => Some("uriTemplate"),
        }
    }
}

/// One thing a server offers, as it said it.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    kind: Kind,
    name: String,
    item: Value,
    pin: ItemDigest,
}

impl Item {
    /// An item from the object a server listed; `None` where it has no name to ask for it by.
    #[must_use]
    pub fn listed(kind: Kind, item: Value) -> Option<Self> {
        let name = item.as_object()?.get(kind.key()?)?.as_str()?.to_owned();
        Some(Self::new(kind, name, item))
    }

    /// A server's instructions.
    #[must_use]
    pub fn instructions(text: &str) -> Self {
        let item = json!({ "instructions": text });
        Self::new(Kind::Instructions, String::new(), item)
    }

    fn new(kind: Kind, name: String, item: Value) -> Self {
        let pin = ItemDigest::of(&json!({"kind": kind, "name": name, "item": item}));
        Self {
            kind,
            name,
            item,
            pin,
        }
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The name, URI or URI template; empty for instructions. The server's own word.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All of it.
    #[must_use]
    pub fn item(&self) -> &Value {
        &self.item
    }

    /// Its pin.
    #[must_use]
    pub fn pin(&self) -> &ItemDigest {
        &self.pin
    }

    /// What it says apart from the name it is asked for by.
    pub(crate) fn content(&self) -> ItemDigest {
        ItemDigest::of(&json!({"kind": self.kind, "item": self.nameless()}))
    }

    /// The same without the name it is asked for by.
    #[must_use]
    pub(super) fn nameless(&self) -> Value {
        let mut item = self.item.clone();
        if let (Some(object), Some(key)) = (item.as_object_mut(), self.kind.key()) {
            object.remove(key);
        }
        item
    }
}

/// A set of items: each once, in the order of kind, name and pin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    /// The forms of each: a server may show one that goes by what the client declares.
    items: BTreeMap<(Kind, String), BTreeMap<ItemDigest, Item>>,
}

impl Surface {
    /// Puts an item in; one that is there stays once.
    pub fn insert(&mut self, item: Item) {
        let key = (item.kind, item.name.clone());
        let forms = self.items.entry(key).or_default();
        forms.insert(item.pin.clone(), item);
    }

    /// Every item.
    pub fn iter(&self) -> impl Iterator<Item = &Item> {
        self.items.values().flat_map(BTreeMap::values)
    }

    /// Every form of the item of that kind and name.
    pub fn forms(&self, kind: Kind, name: &str) -> impl Iterator<Item = &Item> {
        let forms = self.items.get(&(kind, name.to_owned()));
        forms.into_iter().flat_map(BTreeMap::values)
    }

    /// How many items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.values().map(BTreeMap::len).sum()
    }

    /// Whether the same item is in it.
    #[must_use]
    pub fn contains(&self, item: &Item) -> bool {
        self.forms(item.kind, &item.name)
            .any(|form| form.pin == item.pin)
    }

    /// The digest of the set.
    #[must_use]
    pub fn digest(&self) -> SurfaceDigest {
        let mut pins: Vec<&str> = self.iter().map(|item| item.pin.as_str()).collect();
        pins.sort_unstable();
        SurfaceDigest::of(&json!(pins))
    }
}

impl FromIterator<Item> for Surface {
    fn from_iter<I: IntoIterator<Item = Item>>(items: I) -> Self {
        let mut surface = Self::default();
        items.into_iter().for_each(|item| surface.insert(item));
        surface
    }
}

/// An item as it stands in a file, its pin beside it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    kind: Kind,
    name: String,
    sha256: ItemDigest,
    item: Value,
}

impl From<&Item> for Written {
    fn from(item: &Item) -> Self {
        Self {
            kind: item.kind,
            name: item.name.clone(),
            sha256: item.pin.clone(),
            item: item.item.clone(),
        }
    }
}

impl Written {
    /// The item, where it hashes to its pin.
    pub(crate) fn read(self) -> Option<Item> {
        let item = Item::new(self.kind, self.name, self.item);
        (item.pin == self.sha256).then_some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tool(item: Value) -> Item {
        Item::listed(Kind::Tool, item).unwrap()
    }

    /// Two vectors, as `docs/surface.md` has them.
    #[test]
    fn vectors() {
        let echo = tool(json!({"name": "echo", "description": "Says it again"}));
        let said = Item::instructions("Be brief.");
        let docs = include_str!("../../docs/surface.md");
        let surface: Surface = [echo.clone(), said.clone()].into_iter().collect();
        for digest in [
            echo.pin().as_str(),
            said.pin().as_str(),
            surface.digest().as_str(),
            Surface::default().digest().as_str(),
        ] {
            assert!(docs.contains(digest), "{digest}");
        }
    }

    #[test]
    fn order_of_keys_and_of_items_does_not_count() {
        let one: Value = serde_json::from_str(r#"{"name":"a","x":1.0,"y":[2,1]}"#).unwrap();
        let two: Value = serde_json::from_str(r#"{"y":[2,1],"x":1,"name":"a"}"#).unwrap();
        assert_eq!(tool(one.clone()).pin(), tool(two).pin());
        let (a, b) = (tool(one), tool(json!({"name": "b"})));
        let first: Surface = [a.clone(), b.clone(), a.clone()].into_iter().collect();
        let second: Surface = [b, a].into_iter().collect();
        assert_eq!((first.len(), first.digest()), (2, second.digest()));
    }

    #[test]
    fn what_cannot_be_asked_for_is_no_item() {
        for bad in [json!({}), json!({"name": 1}), json!("a"), json!(["name"])] {
            assert_eq!(Item::listed(Kind::Tool, bad), None);
        }
        assert_eq!(Item::listed(Kind::Resource, json!({"name": "a"})), None);
        // A prompt is no tool, though it be the same object.
        let object = json!({"name": "a"});
        let prompt = Item::listed(Kind::Prompt, object.clone()).unwrap();
        assert_ne!(tool(object).pin(), prompt.pin());
    }

    proptest! {
        /// Any other text is another pin.
        #[test]
        fn a_pin_is_of_its_text(a in any::<String>(), b in any::<String>()) {
            let pin = |text: &str| tool(json!({"name": "t", "description": text})).pin().clone();
            prop_assert_eq!(a == b, pin(&a) == pin(&b));
        }
    }
}
