//! What the tools of a surface are of, and which of that is granted: told at the question, by `tools`,
//! `get` and `explain`, and in a refusal. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::canonical::{Item, Kind, Surface};
use crate::declaration::{Category, Whose, category};

/// The categories of a server's tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Categories {
    tools: BTreeMap<String, (Category, Whose)>,
    granted: BTreeSet<Category>,
}

/// What one tool is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Standing {
    /// Its category.
    pub name: Category,
    /// Whose word that is.
    pub word: Whose,
    /// Whether the declaration grants it.
    pub granted: bool,
}

/// The two sets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sets {
    /// The categories of which tools may be called; every one where the declaration names none.
    pub granted: BTreeSet<Category>,
    /// Those that the approved tools are of.
    pub known: BTreeSet<Category>,
}

impl Categories {
    /// Of the tools of a surface, by the person's words first, under what a declaration grants.
    pub(crate) fn of(
        surface: &Surface,
        word: impl Fn(&str) -> Option<Category>,
        granted: &BTreeSet<Category>,
    ) -> Self {
        let tools = surface.iter().filter(|item| item.kind() == Kind::Tool);
        let category = |tool: &Item| {
            let name = tool.name();
            let forms = surface.forms(Kind::Tool, name).map(Item::item);
            (name.to_owned(), Category::of(word(name), forms))
        };
        Self {
            tools: tools.map(category).collect(),
            granted: granted.clone(),
        }
    }

    /// What a tool is of.
    #[must_use]
    pub fn on(&self, tool: &str) -> Option<Standing> {
        let (name, word) = *self.tools.get(tool)?;
        Some(Standing {
            name,
            word,
            granted: self.granted.is_empty() || self.granted.contains(&name),
        })
    }

    /// Both sets.
    #[must_use]
    pub fn sets(&self) -> Sets {
        let named =
            |category: &Category| self.granted.is_empty() || self.granted.contains(category);
        Sets {
            granted: Category::ALL.into_iter().filter(named).collect(),
            known: self.tools.values().map(|(category, _)| *category).collect(),
        }
    }

    /// Both sets in a sentence; nothing where there is no tool.
    #[must_use]
    pub fn told(&self) -> Option<String> {
        if self.tools.is_empty() {
            return None;
        }
        let (granted, known) = (self.granted(), category::words(&self.sets().known));
        Some(format!(
            "categories of its tools: {known}; granted: {granted}"
        ))
    }

    /// What is granted.
    #[must_use]
    pub fn granted(&self) -> String {
        if self.granted.is_empty() {
            "every one, since none is named".to_owned()
        } else {
            category::words(&self.granted)
        }
    }
}

impl Standing {
    /// It in a sentence.
    #[must_use]
    pub fn told(&self) -> String {
        let (name, whose) = (self.name.as_str(), self.word.told());
        let refused = if self.granted {
            ""
        } else {
            ", not granted: calls are refused"
        };
        format!("category: {name} ({whose}){refused}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn granted_and_known_are_told_apart() {
        let tools = [
            json!({"name": "reads", "annotations": {"readOnlyHint": true}}),
            json!({"name": "adds", "annotations": {"destructiveHint": false, "openWorldHint": false}}),
            json!({"name": "mute"}),
        ];
        let item = |tool| Item::listed(Kind::Tool, tool).unwrap();
        let surface: Surface = tools.into_iter().map(item).collect();
        let said = |tool: &str| (tool == "adds").then_some(Category::OpenWorld);
        let all = Categories::of(&surface, said, &BTreeSet::new());
        assert_eq!(all.sets().granted, BTreeSet::from(Category::ALL));
        let known = [
            Category::ReadOnly,
            Category::OpenWorld,
            Category::Destructive,
        ];
        assert_eq!(all.sets().known, BTreeSet::from(known));
        assert_eq!(
            all.told().unwrap(),
            "categories of its tools: read-only, open-world, destructive; granted: every one, since none is named"
        );
        let granted = BTreeSet::from([Category::ReadOnly, Category::Additive]);
        let some = Categories::of(&surface, said, &granted);
        assert_eq!(some.sets().granted, granted);
        for (tool, told) in [
            ("reads", "category: read-only (the server's own word)"),
            (
                "adds",
                "category: open-world (your word in settings.json), not granted: calls are refused",
            ),
            (
                "mute",
                "category: destructive (the server does not say), not granted: calls are refused",
            ),
        ] {
            assert_eq!(some.on(tool).unwrap().told(), told);
            assert!(all.on(tool).unwrap().granted);
        }
        assert_eq!(some.on("nobody"), None);
        let none = Categories::of(&Surface::default(), said, &granted);
        assert_eq!((none.told(), none.sets().known.len()), (None, 0));
    }
}
