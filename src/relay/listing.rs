//! What a server says of itself in one answer, judged item by item, and the answer without what is
//! withheld.
//!
//! Pure. Wherever a list stands in a result it is judged, under any spelling that a decoder takes for
//! its name. Only what is taken out or cleaned changes; every other byte stays.

use std::collections::BTreeSet;
use std::ops::Range;

use super::filter::Filter;
use super::parts::{self, Member};
use super::pins::{Change, Judged, Pins};
use super::present::{Cursor, Page};
use super::splice;
use crate::surface::Kind;
use crate::surface::canonical::Item;

/// By what it is judged.
pub(super) struct Judge<'a> {
    /// What was approved.
    pub(super) pins: &'a Pins,
    /// Which tools this run offers.
    pub(super) filter: &'a Filter,
    /// The administrator has all or nothing offered.
    pub(super) whole: bool,
    /// Something that was seen before is withheld.
    pub(super) differs: bool,
}

/// What becomes of an answer.
#[derive(Debug, Default)]
pub(super) struct Edit {
    parts: Vec<(Range<usize>, String)>,
    members: Vec<Member>,
    /// Which members go.
    cut: Vec<bool>,
    /// The list that was asked for.
    pub(super) page: Page,
    /// Where the cursor of the next page stands.
    cursor: Option<Range<usize>>,
    /// All that was withheld because of what it is.
    pub(super) withheld: Vec<(Change, Option<Box<Item>>)>,
    /// Everything that was withheld.
    pub(super) count: usize,
}

/// The member of a result that holds them.
pub(super) fn member_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Instructions => "instructions",
        Kind::Tool => "tools",
        Kind::Prompt => "prompts",
        Kind::Resource => "resources",
        Kind::Template => "resourceTemplates",
    }
}

/// What stands under a name, as a decoder that ignores letter case takes it.
fn kind_under(name: &str) -> Option<Kind> {
    Kind::ALL
        .into_iter()
        .find(|kind| splice::alike(name, member_of(*kind)))
}

/// Where the result stands in the line of an answer.
pub(super) fn result_of(text: &str) -> Option<Range<usize>> {
    let members = parts::members(text, &parts::whole(text));
    let result = members.into_iter().find(|member| member.is("result"))?;
    text.get(result.value.clone())?
        .starts_with('{')
        .then_some(result.value)
}

impl Judge<'_> {
    /// Judges all that a result says of the server.
    pub(super) fn edit(&self, text: &str, result: &Range<usize>, asked: Option<Kind>) -> Edit {
        let edit = self.part(text, result, asked);
        if !self.whole || self.differs || !edit.differs() {
            return edit;
        }
        // What stands before it in the same answer goes too.
        let none = Judge {
            differs: true,
            ..*self
        };
        none.part(text, result, asked)
    }

    fn part(&self, text: &str, result: &Range<usize>, asked: Option<Kind>) -> Edit {
        let mut edit = Edit {
            members: parts::members(text, result),
            ..Edit::default()
        };
        for member in edit.members.clone() {
            let kind = member.name.as_deref().and_then(kind_under);
            let goes = kind == Some(Kind::Instructions) && self.words(text, &member, &mut edit);
            edit.cut.push(goes);
            match kind {
                None if member.is("nextCursor") => {
                    edit.page.next = text.get(member.value.clone()).and_then(Cursor::of);
                    edit.cursor = Some(member.value);
                }
                None | Some(Kind::Instructions) => {}
                Some(kind) => {
                    let mut page = Page::default();
                    self.list(text, (kind, &member.value), &mut page, &mut edit);
                    edit.withheld.extend(page.withheld.iter().cloned());
                    if asked == Some(kind) {
                        edit.page.offered.append(&mut page.offered);
                        edit.page.withheld.append(&mut page.withheld);
                    }
                }
            }
        }
        edit
    }

    /// Instructions; whether they go.
    fn words(&self, text: &str, member: &Member, edit: &mut Edit) -> bool {
        let json = text.get(member.value.clone()).unwrap_or_default();
        if json == "\"\"" {
            return false;
        }
        match self.pins.instructions(json) {
            Judged::Offered { clean, .. } if !self.differs => {
                edit.parts
                    .extend(clean.map(|clean| (member.value.clone(), clean)));
                return false;
            }
            Judged::Offered { .. } => {}
            Judged::Withheld { change, item } => edit.withheld.push((change, item)),
        }
        edit.count += 1;
        true
    }

    /// The entries of a list, and what takes their place.
    fn list(
        &self,
        text: &str,
        (kind, list): (Kind, &Range<usize>),
        page: &mut Page,
        edit: &mut Edit,
    ) {
        let Some(entries) = parts::elements(text, list) else {
            // What is no list holds nothing that could be offered.
            edit.parts.push((list.clone(), "[]".to_owned()));
            return;
        };
        let count = entries.len();
        let judged: Vec<(&str, Judged)> = entries
            .into_iter()
            .filter_map(|entry| text.get(entry))
            .map(|entry| (entry, self.pins.entry(kind, entry)))
            .collect();
        let two = twofold(&judged);
        let (mut kept, mut same) = (Vec::new(), true);
        for (entry, judged) in judged {
            match judged {
                Judged::Offered { name, clean } if !two.contains(&name) => {
                    if self.differs {
                        edit.count += 1;
                    } else if kind != Kind::Tool || self.filter.offers(&name) {
                        same &= clean.is_none();
                        kept.push(clean.unwrap_or_else(|| entry.to_owned()));
                    }
                    // It is listed, whatever else is withheld: so it is not gone.
                    page.offered.push(name);
                }
                Judged::Offered { .. } => edit.count += 1,
                Judged::Withheld { change, item } => {
                    edit.count += 1;
                    page.withheld.push((change, item));
                }
            }
        }
        if kept.len() != count || !same {
            edit.parts
                .push((list.clone(), format!("[{}]", kept.join(","))));
        }
    }
}

/// Names under which something is withheld: what else stands under one of them is not offered
/// either, since a call names no form.
fn twofold(judged: &[(&str, Judged)]) -> BTreeSet<String> {
    let withheld = |(_, judged): &(&str, Judged)| match judged {
        Judged::Withheld {
            item: Some(item), ..
        } => Some(item.name().to_owned()),
        _ => None,
    };
    judged.iter().filter_map(withheld).collect()
}

impl Edit {
    /// Whether anything in it is not what was approved. What has no name is offered to nobody, then
    /// as now.
    pub(super) fn differs(&self) -> bool {
        let differs = |(change, _): &(Change, _)| *change != Change::Nameless;
        self.withheld.iter().any(differs)
    }

    /// The cursor of the next page, as it is written.
    pub(super) fn next<'a>(&self, text: &'a str) -> Option<&'a str> {
        self.page.next.as_ref()?;
        text.get(self.cursor.clone()?)
    }

    /// Nothing follows, whatever the answer says.
    pub(super) fn ends(&mut self) {
        let cursor = self
            .members
            .iter()
            .position(|member| member.is("nextCursor"));
        if let Some(cut) = cursor.and_then(|at| self.cut.get_mut(at)) {
            *cut = true;
        }
    }

    /// The line in its place, with that in its `_meta`; `None` where all of it stays.
    pub(super) fn line(
        mut self,
        text: &str,
        result: &Range<usize>,
        meta: Option<&str>,
    ) -> Option<String> {
        self.cut_members();
        if self.parts.is_empty() {
            return None;
        }
        self.parts
            .extend(meta.and_then(|meta| self.meta(text, result, meta)));
        self.parts.sort_by_key(|(part, _)| (part.start, part.end));
        Some(parts::replaced(text, &self.parts))
    }

    /// Takes the members that go out, with the comma on one side of them.
    fn cut_members(&mut self) {
        let mut kept: Option<&Member> = None;
        let mut members = self.members.iter().zip(&self.cut).peekable();
        while let Some((member, cut)) = members.next() {
            if !cut {
                kept = Some(member);
                continue;
            }
            let mut end = member.value.end;
            while let Some((more, _)) = members.next_if(|(_, cut)| **cut) {
                end = more.value.end;
            }
            let part = match (kept, members.peek()) {
                (Some(before), _) => before.value.end..end,
                (None, Some((after, _))) => member.key.start..after.key.start,
                (None, None) => member.key.start..end,
            };
            // What was changed in it goes with it.
            self.parts
                .retain(|(inner, _)| inner.start < part.start || inner.end > part.end);
            self.parts.push((part, String::new()));
        }
    }

    /// A member of `_meta`, in the one there is or in one of its own.
    fn meta(
        &self,
        text: &str,
        result: &Range<usize>,
        meta: &str,
    ) -> Option<(Range<usize>, String)> {
        let own = self.members.iter().find(|member| member.is("_meta"));
        let (object, before, after) = match own {
            Some(member) => (member.value.clone(), String::new(), ""),
            None => (result.clone(), "\"_meta\":{".to_owned(), "}"),
        };
        let at = object.start.saturating_add(1);
        if !text.get(object.clone())?.starts_with('{') {
            return None;
        }
        let alone = match own {
            Some(_) => parts::members(text, &object).is_empty(),
            None => self.cut.iter().all(|cut| *cut),
        };
        let comma = if alone { "" } else { "," };
        Some((at..at, format!("{before}{meta}{after}{comma}")))
    }
}

#[cfg(test)]
#[path = "listing_tests.rs"]
mod tests;
