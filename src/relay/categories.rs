//! The gate's layer of categories: a call of a tool passes where its category is granted.
//!
//! Pure. What a tool's server says of it is read off what was approved, in whatever form it is listed
//! now; the person's word comes before that, and counts for the next call. Prompts and resources
//! have no category. What is refused stays in the lists: a model is told what the call would need.

use std::collections::BTreeMap;

use super::answer;
use super::envelope::Id;
use super::gate::{CALL, Gate};
use super::guard::{Pass, Wanted};
use super::ledger::Asked;
use super::refused::{self, Grant, Layer, Refused};
use super::rules::Rule;
use crate::declaration::{Category, Whose, category};
use crate::surface::canonical::Item;
use crate::surface::categories::Categories;
use crate::surface::{Kind, Surface};

/// The person's words: the category of a tool, whatever its server says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(BTreeMap<Rule, Category>);

impl Words {
    /// Takes a word on a tool; whether there was none.
    pub(crate) fn say(&mut self, tool: Rule, category: Category) -> bool {
        self.0.insert(tool, category).is_none()
    }

    /// Every word.
    pub(crate) fn listed(&self) -> impl Iterator<Item = (Category, &Rule)> {
        self.0.iter().map(|(rule, category)| (*category, rule))
    }

    /// The word on a tool.
    pub(crate) fn on(&self, alias: &str, tool: &str) -> Option<Category> {
        let mut words = self.0.iter();
        let (_, category) = words.find(|(rule, _)| rule.is_of(alias, tool))?;
        Some(*category)
    }
}

impl Gate {
    /// The answer to a call whose category is not granted.
    pub(super) fn ungranted(
        &mut self,
        id: &Id,
        asked: &Asked,
        wanted: Option<&Wanted>,
    ) -> Option<Vec<u8>> {
        if asked.method != CALL || self.granted.is_empty() {
            return None;
        }
        let Some(tool) = asked.tool.as_deref() else {
            let message = "the call names no tool";
            return Some(answer::error(
                Some(id),
                answer::INVALID_PARAMS,
                message,
                None,
            ));
        };
        let approved = self.pins.has(Kind::Tool, tool);
        if !approved && wanted.is_some_and(|wanted| self.pass(wanted) == Pass::Unseen) {
            // It waits for the list, which says whether there is such a tool, and comes by again.
            return None;
        }
        let words = self.rules.as_ref().map(|rules| &rules.words);
        let word = words.ok().and_then(|words| words.on(&self.alias, tool));
        let forms = self.pins.forms(Kind::Tool, tool).map(Item::item);
        let (category, whose) = Category::of(word, forms);
        if self.granted.contains(&category) {
            return None;
        }
        let refused = self.out_of_category(tool, (category, whose));
        let grant = Grant {
            requires: category,
            granted: &self.granted,
        };
        let result = self.refusal_of(asked, &refused, Some(grant));
        self.record_refused(asked, refused.layer, refused.reason);
        Some(answer::result(id, &result))
    }

    fn out_of_category(&self, tool: &str, (category, whose): (Category, Whose)) -> Refused {
        let (alias, tool) = (&self.alias, refused::shown(tool));
        let (word, whose) = (category.as_str(), whose.told());
        let granted = category::words(&self.granted);
        let known = self.known();
        Refused {
            layer: Layer::Category,
            reason: "category-not-granted",
            text: format!(
                "{tool} of {alias} is of the category {word} ({whose}), and granted are {granted}; tools of {alias} are of {known}; a retry will not help; to grant it, from the next run on: supervisor set {alias} --category {word}"
            ),
        }
    }

    /// The categories that the approved tools are of.
    fn known(&self) -> String {
        let none = Words::default();
        let words = self.rules.as_ref().map_or(&none, |rules| &rules.words);
        let none_approved = Surface::default();
        let approved = self.pins.approved().unwrap_or(&none_approved);
        let word = |tool: &str| words.on(&self.alias, tool);
        let categories = Categories::of(approved, word, &self.granted);
        category::words(&categories.sets().known)
    }
}
