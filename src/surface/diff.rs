//! A surface beside the one that was approved. Pure.

use std::collections::BTreeMap;

use super::canonical::{Item, Kind, Surface};
use super::rows::{self, Said};

/// What differs. Items that are the same in both stand in none of the lists.
#[derive(Debug, Default, PartialEq)]
pub struct Diff<'a> {
    /// New.
    pub added: Vec<&'a Item>,
    /// Gone.
    pub removed: Vec<&'a Item>,
    /// The same content under another name: before, now.
    pub renamed: Vec<(&'a Item, &'a Item)>,
    /// The same name with other content: before, now.
    pub changed: Vec<(&'a Item, &'a Item)>,
    /// How many are the same.
    pub same: usize,
}

/// One value of a changed item.
#[derive(Debug, PartialEq, Eq)]
pub struct Change {
    /// The path that leads to it.
    pub path: String,
    /// What stood there.
    pub before: Option<Said>,
    /// What stands there.
    pub now: Option<Said>,
}

impl Diff<'_> {
    /// Whether nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.removed.is_empty()
            && self.renamed.is_empty()
            && self.changed.is_empty()
    }

    /// Whether something says the same as before in another order, character for character: so
    /// does what goes through a set, whose order is another at each start.
    #[must_use]
    pub fn is_reordered(&self) -> bool {
        let letters = |item: &Item| {
            let mut letters: Vec<char> = item.item().to_string().chars().collect();
            letters.sort_unstable();
            letters
        };
        let mut changed = self.changed.iter();
        changed.any(|(before, now)| letters(before) == letters(now))
    }
}

/// Compares two surfaces.
#[must_use]
pub fn diff<'a>(before: &'a Surface, now: &'a Surface) -> Diff<'a> {
    let gone = |item: &&Item| !now.contains(item);
    let new = |item: &&Item| !before.contains(item);
    let mut removed: Vec<&Item> = before.iter().filter(gone).collect();
    let mut added: Vec<&Item> = now.iter().filter(new).collect();
    let named = |one: &Item, other: &Item| one.kind() == other.kind() && one.name() == other.name();
    let changed = pairs(&mut removed, &mut added, named);
    let alike = |one: &Item, other: &Item| {
        one.kind() == other.kind()
            && one.kind() != Kind::Instructions
            && one.nameless() == other.nameless()
    };
    let renamed = pairs(&mut removed, &mut added, alike);
    let differ = added.len() + renamed.len() + changed.len();
    Diff {
        same: now.len().saturating_sub(differ),
        added,
        removed,
        renamed,
        changed,
    }
}

/// Takes the pairs that belong together out of both lists.
fn pairs<'a>(
    removed: &mut Vec<&'a Item>,
    added: &mut Vec<&'a Item>,
    belong: impl Fn(&Item, &Item) -> bool,
) -> Vec<(&'a Item, &'a Item)> {
    let mut found = Vec::new();
    removed.retain(|before| {
        let Some(at) = added.iter().position(|now| belong(before, now)) else {
            return true;
        };
        found.push((*before, added.remove(at)));
        false
    });
    found
}

/// The values in which two items differ.
#[must_use]
pub fn changes(before: &Item, now: &Item) -> Vec<Change> {
    let mut all: BTreeMap<String, (Option<Said>, Option<Said>)> = BTreeMap::new();
    for (path, said) in rows::leaves(before.item()) {
        all.entry(path).or_default().0 = Some(said);
    }
    for (path, said) in rows::leaves(now.item()) {
        all.entry(path).or_default().1 = Some(said);
    }
    all.into_iter()
        .filter(|(_, (before, now))| before != now)
        .map(|(path, (before, now))| Change { path, before, now })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn surface(items: &[(Kind, Value)]) -> Surface {
        let listed = |(kind, item): &(Kind, Value)| Item::listed(*kind, item.clone()).unwrap();
        items.iter().map(listed).collect()
    }

    #[test]
    fn each_kind_of_difference_has_its_list() {
        let tool =
            |name: &str, text: &str| (Kind::Tool, json!({"name": name, "description": text}));
        let before = surface(&[
            tool("same", "s"),
            tool("old", "moved"),
            tool("gone", "g"),
            tool("other", "one"),
            (Kind::Prompt, json!({"name": "same"})),
        ]);
        let now = surface(&[
            tool("same", "s"),
            tool("new", "moved"),
            tool("come", "c"),
            tool("other", "two"),
            (Kind::Prompt, json!({"name": "same"})),
        ]);
        let diff = diff(&before, &now);
        let names = |items: &[&Item]| -> Vec<String> {
            items.iter().map(|item| item.name().to_owned()).collect()
        };
        assert_eq!(names(&diff.added), ["come"]);
        assert_eq!(names(&diff.removed), ["gone"]);
        assert_eq!(
            (diff.renamed.len(), diff.changed.len(), diff.same),
            (1, 1, 2)
        );
        assert_eq!(diff.renamed[0].1.name(), "new");
        let (was, is) = diff.changed[0];
        let want = Change {
            path: "description".into(),
            before: Some(Said::Text("one".into())),
            now: Some(Said::Text("two".into())),
        };
        assert_eq!(changes(was, is), [want]);
        assert!(!diff.is_empty() && super::diff(&now, &now).is_empty());
    }
}
