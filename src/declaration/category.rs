//! The categories of tools: what a call may do at the worst, of four kinds. Pure.
//!
//! A tool is of one category: the person's word for it, else what its annotations say, which is the
//! server's own word and proves nothing. A declaration grants categories, and a call of a tool of
//! another one is refused. Names of tools would go stale in a grant; what a tool that comes later may
//! do is known when its surface is approved.

use std::collections::BTreeSet;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// What calls of a tool may do; the later, the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Category {
    /// They change nothing.
    ReadOnly,
    /// They add, change nothing that is there, and reach nothing outside the server's own domain.
    Additive,
    /// They add, and what they reach is open: others, the web.
    OpenWorld,
    /// They may change or delete what is there; or nobody says what they do.
    Destructive,
}

/// Whose word a category is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Whose {
    /// The person's, in `settings.json`.
    Person,
    /// The server's own, in the tool's annotations.
    Server,
    /// Nobody's: nothing is said, or nothing that can be read.
    Nobody,
}

/// A word that is no category.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a category is read-only, additive, open-world or destructive")]
pub struct CategoryError;

impl Category {
    /// Every one, the mildest first.
    pub const ALL: [Self; 4] = [
        Self::ReadOnly,
        Self::Additive,
        Self::OpenWorld,
        Self::Destructive,
    ];

    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Additive => "additive",
            Self::OpenWorld => "open-world",
            Self::Destructive => "destructive",
        }
    }

    /// What a tool, as its server lists it, says of itself, and whether it says anything.
    ///
    /// A hint that is left out has the protocol's default (not read-only, destructive, open). One that
    /// is neither true nor false spoils all of them; of two that contradict each other the worse holds.
    #[must_use]
    pub fn said(tool: &Value) -> (Self, Whose) {
        let hint = |name: &str| match tool.get("annotations").and_then(|said| said.get(name)) {
            None => Ok(None),
            Some(Value::Bool(hint)) => Ok(Some(*hint)),
            Some(_) => Err(()),
        };
        let (Ok(read_only), Ok(destructive), Ok(open)) = (
            hint("readOnlyHint"),
            hint("destructiveHint"),
            hint("openWorldHint"),
        ) else {
            return (Self::Destructive, Whose::Nobody);
        };
        let category = match (read_only, destructive, open) {
            (None, None, None) => return (Self::Destructive, Whose::Nobody),
            (Some(true), None | Some(false), _) => Self::ReadOnly,
            (_, None | Some(true), _) => Self::Destructive,
            (_, Some(false), None | Some(true)) => Self::OpenWorld,
            (_, Some(false), Some(false)) => Self::Additive,
        };
        (category, Whose::Server)
    }

    /// Of a tool that was approved in these forms, the person's word for it first. A server may show
    /// another form to another client, so the worst of them holds; of none, nothing is known.
    pub(crate) fn of<'a>(
        word: Option<Self>,
        forms: impl IntoIterator<Item = &'a Value>,
    ) -> (Self, Whose) {
        if let Some(word) = word {
            return (word, Whose::Person);
        }
        let said = forms.into_iter().map(Self::said);
        said.max_by_key(|(category, _)| *category)
            .unwrap_or((Self::Destructive, Whose::Nobody))
    }
}

impl Whose {
    /// It in a sentence about a tool.
    #[must_use]
    pub fn told(self) -> &'static str {
        match self {
            Self::Person => "your word in settings.json",
            Self::Server => "the server's own word",
            Self::Nobody => "the server does not say",
        }
    }
}

impl FromStr for Category {
    type Err = CategoryError;

    fn from_str(word: &str) -> Result<Self, CategoryError> {
        Self::ALL
            .into_iter()
            .find(|category| category.as_str() == word)
            .ok_or(CategoryError)
    }
}

/// Them in a row.
pub(crate) fn words(categories: &BTreeSet<Category>) -> String {
    let words: Vec<&str> = categories.iter().map(|one| one.as_str()).collect();
    words.join(", ")
}

/// Reads a list of categories, each once.
pub(super) fn once<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeSet<Category>, D::Error> {
    let list = Vec::<Category>::deserialize(from)?;
    let count = list.len();
    let set: BTreeSet<Category> = list.into_iter().collect();
    if set.len() == count {
        Ok(set)
    } else {
        Err(serde::de::Error::custom("a category stands there twice"))
    }
}

#[cfg(test)]
#[path = "category_tests.rs"]
mod tests;
