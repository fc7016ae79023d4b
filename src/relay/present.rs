//! What the process that runs now lists, as far as it was seen: names, and whether what is said
//! under them was approved.
//!
//! Pure. Lists come page by page, on the host's requests or on ours ([`super::reading`]), and are
//! forgotten when the server says that they changed, or another process takes its place. A list
//! is whole when its pages were seen one after the other up to the last; a cursor that leads back,
//! and more pages than any list has, are an end to it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::Value;

use super::pins::Change;
use crate::audit::verify::sha256;
use crate::declaration::ItemDigest;
use crate::surface::Kind;
use crate::surface::canonical::Item;

/// Pages of one list.
pub(super) const PAGES: usize = 1_000;
/// Names of one list that are remembered; a server with more is no server for a model.
pub(super) const NAMES: usize = 10_000;
/// The longest name that is remembered itself; a longer one by its digest.
const LONGEST: usize = 4_096;
/// Bytes of withheld items of one list that are kept, to be shown to a person.
const KEPT: usize = 2 << 20;

/// The kinds that are listed.
pub(super) const LISTED: [Kind; 4] = [Kind::Tool, Kind::Prompt, Kind::Resource, Kind::Template];

/// A cursor, as far as it must be known again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cursor(String);

impl Cursor {
    /// Of the JSON of a cursor; `None` where it says that nothing follows. A string is known by its
    /// characters, whatever way a host or a server spells them; what is none, as it is written.
    pub(super) fn of(json: &str) -> Option<Self> {
        if json == "null" || json == "\"\"" {
            return None;
        }
        // Spelt in one way, with its quotes: the string "7" is not the number.
        let spelt = serde_json::from_str(json)
            .map_or_else(|_| json.to_owned(), |text| Value::String(text).to_string());
        Some(Self(sha256(spelt.as_bytes())))
    }
}

/// One page of a list.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Page {
    /// Names that are offered, but for what the administrator has withheld with others.
    pub(super) offered: Vec<String>,
    /// What is withheld.
    pub(super) withheld: Vec<(Change, Option<Box<Item>>)>,
    /// Where the next begins.
    pub(super) next: Option<Cursor>,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Offered,
    Withheld(Change),
}

/// What stands under a name now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    /// What was approved.
    Offered,
    /// Something else, or that too.
    Withheld(Change),
    /// The whole list was seen, and nothing does.
    Nothing,
    /// It was not seen.
    Unseen,
}

/// A name, in bounded room.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Name(String),
    /// The digest of a long one.
    Long(String),
}

impl Key {
    fn of(name: &str) -> Self {
        if name.len() > LONGEST {
            Self::Long(sha256(name.as_bytes()))
        } else {
            Self::Name(name.to_owned())
        }
    }
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
enum Chain {
    #[default]
    Nothing,
    Awaits(Cursor),
    Whole,
}

/// One list.
#[derive(Debug, Default)]
pub(super) struct Listed {
    names: BTreeMap<Key, Form>,
    withheld: BTreeMap<ItemDigest, Item>,
    /// Their bytes.
    kept: usize,
    /// An entry cannot be read, or was withheld and is not remembered.
    spoilt: bool,
    chain: Chain,
    /// How far in which walk a cursor was given.
    depths: BTreeMap<Cursor, (u64, usize)>,
    walk: u64,
    /// Rises with each change that the server tells of.
    pub(super) epoch: u64,
}

impl Listed {
    /// What stands under a name.
    pub(super) fn named(&self, name: &str) -> Named {
        match self.names.get(&Key::of(name)) {
            Some(Form::Offered) => Named::Offered,
            Some(Form::Withheld(change)) => Named::Withheld(*change),
            None if self.is_whole() && self.names.len() < NAMES => Named::Nothing,
            None => Named::Unseen,
        }
    }

    /// Whether a tool that is withheld declares an `outputSchema`.
    pub(super) fn is_structured(&self, name: &str) -> bool {
        let mut named = self.withheld().filter(|item| item.name() == name);
        named.any(|item| item.item().get("outputSchema").is_some())
    }

    /// Whether all of it was seen.
    pub(super) fn is_whole(&self) -> bool {
        self.chain == Chain::Whole
    }

    /// Whether [`Listed::names`] are all that it lists.
    pub(super) fn names_all(&self) -> bool {
        let long = |key: &Key| matches!(key, Key::Long(_));
        self.is_whole() && self.names.len() < NAMES && !self.names.keys().any(long)
    }

    /// The names that were seen but for long ones, and whether each is offered.
    pub(super) fn names(&self) -> impl Iterator<Item = (&str, bool)> {
        self.names.iter().filter_map(|(key, form)| match key {
            Key::Name(name) => Some((name.as_str(), *form == Form::Offered)),
            Key::Long(_) => None,
        })
    }

    /// What is withheld, as far as it is kept.
    pub(super) fn withheld(&self) -> impl Iterator<Item = &Item> {
        self.withheld.values()
    }

    /// Whether anything in it is withheld.
    pub(super) fn differs(&self) -> bool {
        let withheld = |form: &Form| matches!(form, Form::Withheld(_));
        self.spoilt || self.names.values().any(withheld)
    }

    /// Its end was not seen.
    pub(super) fn leave_open(&mut self) {
        self.chain = Chain::Nothing;
    }

    /// The server says that it changed: nothing is known of it.
    pub(super) fn renew(&mut self) {
        *self = Self {
            epoch: self.epoch.saturating_add(1),
            ..Self::default()
        };
    }

    /// A page that was asked for by this cursor.
    ///
    /// # Errors
    /// The list has no end.
    pub(super) fn page(&mut self, asked: Option<&Cursor>, page: &Page) -> Result<(), Endless> {
        let continues = match asked {
            None => {
                self.names.clear();
                self.withheld.clear();
                (self.kept, self.spoilt) = (0, false);
                self.walk = self.walk.saturating_add(1);
                let walk = self.walk;
                self.depths
                    .retain(|_, (of, _)| of.saturating_add(1) >= walk);
                true
            }
            Some(cursor) => self.chain == Chain::Awaits(cursor.clone()),
        };
        for name in &page.offered {
            self.note(name, Form::Offered);
        }
        for (change, item) in &page.withheld {
            self.beware_of(*change, item.as_deref());
            item.iter().for_each(|item| self.keep(item));
        }
        let goes_on = page.next.as_ref().map(|next| self.gives(asked, next));
        if continues {
            self.chain = match &page.next {
                None => Chain::Whole,
                Some(next) => Chain::Awaits(next.clone()),
            };
        }
        match goes_on {
            Some(Err(Endless)) => {
                self.chain = Chain::Nothing;
                Err(Endless)
            }
            _ => Ok(()),
        }
    }

    /// What a page of another reading withholds, which goes on.
    pub(super) fn beware(&mut self, page: &Page) {
        for (change, item) in &page.withheld {
            self.beware_of(*change, item.as_deref());
        }
    }

    /// Something is withheld.
    fn beware_of(&mut self, change: Change, item: Option<&Item>) {
        match item {
            Some(item) => self.note(item.name(), Form::Withheld(change)),
            // Without a name it is offered to nobody, then as now.
            None => self.spoilt |= change != Change::Nameless,
        }
    }

    fn note(&mut self, name: &str, form: Form) {
        let withheld = matches!(form, Form::Withheld(_));
        let room = self.names.len() < NAMES;
        match self.names.entry(Key::of(name)) {
            // One form that was not approved is enough: a call names no form.
            Entry::Occupied(mut known) if withheld => {
                known.insert(form);
            }
            Entry::Occupied(_) => {}
            Entry::Vacant(free) if room => {
                free.insert(form);
            }
            Entry::Vacant(_) => self.spoilt |= withheld,
        }
    }

    fn keep(&mut self, item: &Item) {
        let bytes = item.item().to_string().len();
        if self.kept.saturating_add(bytes) <= KEPT {
            self.kept += bytes;
            self.withheld.insert(item.pin().clone(), item.clone());
        }
    }

    /// A cursor was given by a page.
    fn gives(&mut self, asked: Option<&Cursor>, next: &Cursor) -> Result<(), Endless> {
        let first = (self.walk, 0);
        let (walk, depth) = asked
            .and_then(|cursor| self.depths.get(cursor))
            .copied()
            .unwrap_or(first);
        match self.depths.get(next) {
            Some((of, at)) if *of == walk && *at <= depth => return Err(Endless),
            // A later walk came by already.
            Some((of, _)) if *of > walk => return Ok(()),
            _ => {}
        }
        if depth >= PAGES {
            return Err(Endless);
        }
        self.depths
            .insert(next.clone(), (walk, depth.saturating_add(1)));
        Ok(())
    }
}

/// The list leads back to where it was, or has too many pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Endless;

/// All lists of the process that runs now.
#[derive(Debug, Default)]
pub(super) struct Present {
    tools: Listed,
    prompts: Listed,
    resources: Listed,
    templates: Listed,
    /// Its instructions are withheld, and can be read.
    pub(super) instructions: Option<Box<Item>>,
    /// Something was withheld of its opening.
    pub(super) opening: bool,
}

impl Present {
    /// One of them; instructions are no list, and so none that was seen.
    pub(super) fn of(&self, kind: Kind) -> &Listed {
        match kind {
            Kind::Tool | Kind::Instructions => &self.tools,
            Kind::Prompt => &self.prompts,
            Kind::Resource => &self.resources,
            Kind::Template => &self.templates,
        }
    }

    /// The same, to be changed.
    pub(super) fn of_mut(&mut self, kind: Kind) -> &mut Listed {
        match kind {
            Kind::Tool | Kind::Instructions => &mut self.tools,
            Kind::Prompt => &mut self.prompts,
            Kind::Resource => &mut self.resources,
            Kind::Template => &mut self.templates,
        }
    }

    /// Another process takes the place, or none does. What was said at the opening stands until
    /// another is answered.
    pub(super) fn renew(&mut self) {
        for kind in LISTED {
            self.of_mut(kind).renew();
        }
    }

    /// Whether anything that was seen is withheld.
    pub(super) fn differs(&self) -> bool {
        self.opening || LISTED.iter().any(|kind| self.of(*kind).differs())
    }
}

#[cfg(test)]
#[path = "present_tests.rs"]
mod tests;
