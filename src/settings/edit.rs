//! Changes of the rules in the text of `settings.json`: each a few bytes, the rest as it was written.
//!
//! Pure. A text that cannot be read is not changed. A rule stands in one list for calls, and in one
//! category: put into one, it goes from the others.

use serde_json::value::RawValue;

use super::List;
use crate::declaration::document::Pairs;
use crate::declaration::{Alias, Category};
use crate::relay::{Action, Rule};

/// Every list, with those of one kind beside one another.
fn lists() -> impl Iterator<Item = List> {
    let calls = [Action::Deny, Action::Ask, Action::Allow];
    let tools = Category::ALL.into_iter().map(List::Tools);
    calls.into_iter().map(List::Calls).chain(tools)
}

impl List {
    /// The member of the file that it stands in, and its own name.
    fn place(self) -> (&'static str, &'static str) {
        match self {
            Self::Calls(action) => ("permissions", action.as_str()),
            Self::Tools(category) => ("categories", category.as_str()),
        }
    }
}

const EMPTY: &str = "{\n  \"version\": 1\n}\n";

/// The text with a rule in that list and in no other.
pub(super) fn put(text: Option<&str>, list: List, rule: &Rule) -> String {
    let mut text = text.unwrap_or(EMPTY).to_owned();
    let beside = |other: &List| *other != list && other.place().0 == list.place().0;
    for other in lists().filter(beside) {
        text = without(text, other, &|_, one| one == rule).0;
    }
    if rules(&text, list).iter().any(|(_, one)| one == rule) {
        return text;
    }
    with(&text, list, rule)
}

/// The text without the rules that are meant, and how many those were.
pub(super) fn drop(text: &str, meant: &dyn Fn(List, &Rule) -> bool) -> (String, usize) {
    let mut all = (text.to_owned(), 0);
    for list in lists() {
        let (text, count) = without(all.0, list, meant);
        all = (text, all.1 + count);
    }
    all
}

/// The text with each rule that names an alias said of another one too.
pub(super) fn copy(text: &str, old: &Alias, new: &Alias) -> String {
    let mut out = text.to_owned();
    for list in lists() {
        for (_, rule) in rules(text, list) {
            if rule.alias() == old
                && let Ok(copied) = Rule::of(new.clone(), rule.about())
                && !rules(&out, list).iter().any(|(_, one)| *one == copied)
            {
                out = with(&out, list, &copied);
            }
        }
    }
    out
}

fn quoted(rule: &Rule) -> String {
    serde_json::Value::from(rule.to_string()).to_string()
}

/// Where a piece of a text begins and ends.
fn span(text: &str, piece: &str) -> (usize, usize) {
    let start = piece.as_ptr().addr().saturating_sub(text.as_ptr().addr());
    (start, start.saturating_add(piece.len()))
}

fn member<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let Pairs(members) = serde_json::from_str(json).ok()?;
    let found = members.into_iter().find(|(key, _)| key == name);
    found.map(|(_, value)| value.get())
}

fn array(text: &str, list: List) -> Option<&str> {
    let (kind, name) = list.place();
    member(member(text, kind)?, name)
}

/// The rules of a list, each with its bytes in the text.
fn rules(text: &str, list: List) -> Vec<(&RawValue, Rule)> {
    let raws: Vec<&RawValue> = array(text, list)
        .and_then(|array| serde_json::from_str(array).ok())
        .unwrap_or_default();
    let rule = |raw: &RawValue| serde_json::from_str::<String>(raw.get()).ok()?.parse().ok();
    raws.into_iter()
        .filter_map(|raw| Some((raw, rule(raw)?)))
        .collect()
}

/// The text without those rules of a list, and how many those were.
fn without(mut text: String, list: List, meant: &dyn Fn(List, &Rule) -> bool) -> (String, usize) {
    let mut count = 0;
    loop {
        let all = rules(&text, list);
        let Some(at) = all.iter().position(|(_, rule)| meant(list, rule)) else {
            return (text, count);
        };
        let place = |at: usize| all.get(at).map(|(raw, _)| span(&text, raw.get()));
        let before = at.checked_sub(1).and_then(place);
        let (own, after) = (place(at), place(at.saturating_add(1)));
        let (start, end) = match (before, own, after) {
            (_, Some((start, _)), Some((next, _))) => (start, next),
            (Some((_, last)), Some((_, end)), None) => (last, end),
            (_, Some(own), _) => own,
            (_, None, _) => return (text, count),
        };
        text.replace_range(start..end, "");
        count += 1;
    }
}

/// The text with one more rule at the end of a list.
fn with(text: &str, list: List, rule: &Rule) -> String {
    let (rule, (kind, name)) = (quoted(rule), list.place());
    let all = rules(text, list);
    let mut out = text.to_owned();
    if let Some((last, _)) = all.last() {
        let end = span(text, last.get()).1;
        // As the two before it are kept apart.
        let apart = all
            .iter()
            .rev()
            .nth(1)
            .map(|(raw, _)| span(text, raw.get()).1);
        let apart = apart
            .and_then(|from| text.get(from..span(text, last.get()).0))
            .unwrap_or(", ");
        out.insert_str(end, &format!("{apart}{rule}"));
    } else if let Some(array) = array(text, list) {
        let (start, end) = span(text, array);
        out.replace_range(start..end, &format!("[{rule}]"));
    } else if let Some(lists) = member(text, kind) {
        put_member(
            &mut out,
            span(text, lists),
            &format!("\"{name}\": [{rule}]"),
            4,
        );
    } else {
        let whole = span(text, text.trim());
        let lists = format!("\"{kind}\": {{\n    \"{name}\": [{rule}]\n  }}");
        put_member(&mut out, whole, &lists, 2);
    }
    out
}

/// Puts a member at the end of an object, on a line of its own where the object has several.
fn put_member(text: &mut String, (start, end): (usize, usize), member: &str, indent: usize) {
    let object = text.get(start..end).unwrap_or_default();
    let inner = object.strip_suffix('}').unwrap_or(object);
    let kept = inner.trim_end();
    let comma = if kept == "{" { "" } else { "," };
    let lines = inner.contains('\n');
    let (before, after) = if lines {
        let by = " ".repeat(indent);
        let close = " ".repeat(indent.saturating_sub(2));
        (format!("{comma}\n{by}"), format!("\n{close}"))
    } else {
        let space = if comma.is_empty() { "" } else { " " };
        (format!("{comma}{space}"), String::new())
    };
    let made = format!("{kept}{before}{member}{after}}}");
    text.replace_range(start..end, &made);
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
