//! The requests of one side that the other has not answered.
//!
//! Pure, and bounded: in number by its `most`, in size by the longest id and [`MAX_WORD`].

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::capabilities::Capabilities;
use super::envelope::Id;
use super::present::Cursor;
use crate::surface::Kind;

/// Characters kept of a method or a tool's name.
const MAX_WORD: usize = 128;
/// Cancelled requests whose answer may still come, and answered ones that are remembered.
const REMEMBERED: usize = 64;

/// What there is to know of a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    /// Its method; cut when it is entered.
    pub(super) method: String,
    /// The tool it calls; cut when it is entered.
    pub(super) tool: Option<String>,
    /// It is of the 2026-07-28 era.
    pub(super) modern: bool,
    /// Which page of which list it asks for.
    pub(super) page: Option<Asks>,
    /// What its host can be asked for.
    pub(super) declared: Capabilities,
    /// Under what progress of it is told.
    pub(super) token: Option<Id>,
    /// Bytes of its line.
    pub(super) bytes: usize,
    /// SHA-256 of its arguments, and themselves, as far as they are to be recorded.
    pub(super) arguments: (String, Option<Value>),
    /// SHA-256 of its arguments, where the person was asked about the call and said yes.
    pub(super) consent: Option<String>,
    /// When it was asked.
    pub(super) since: Instant,
    /// How long it may wait, from then and from each progress on.
    pub(super) limit: Option<Duration>,
}

/// A page of a list that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asks {
    /// Of which list.
    pub(super) kind: Kind,
    /// By which cursor.
    pub(super) cursor: Option<Cursor>,
    /// After which change of it.
    pub(super) epoch: u64,
}

/// A request that waits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Open {
    /// What was asked.
    pub(super) asked: Asked,
    order: u64,
    due: Option<Instant>,
    /// Who asked is gone: an answer goes nowhere.
    abandoned: bool,
}

/// Why a request is not entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    /// Its id waits for an answer already.
    Taken,
    /// As many wait as may.
    TooMany,
}

/// What an id stands for when an answer to it comes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    /// It was asked; now it is answered.
    Asked(Box<Open>),
    /// It was asked and cancelled.
    Late(Box<Open>),
    /// Who asked is gone.
    Abandoned,
    /// It was answered before.
    Again,
    /// Nobody asked.
    Unasked,
}

/// One side's requests.
#[derive(Debug)]
pub(super) struct Ledger {
    open: HashMap<Id, Box<Open>>,
    /// Which of them are due when.
    due: BTreeMap<(Instant, u64), Id>,
    /// Which of them tell their progress under what.
    tokens: BTreeMap<Id, Id>,
    /// Cancelled: they need no answer and may get one. Oldest first.
    cancelled: VecDeque<(Id, Box<Open>)>,
    /// Answered not long ago, so that a second answer can be named as one. Oldest first.
    answered: VecDeque<Id>,
    most: usize,
    entered: u64,
}

impl Ledger {
    /// A ledger of at most `most` waiting requests.
    pub(super) fn new(most: usize) -> Self {
        Self {
            open: HashMap::new(),
            due: BTreeMap::new(),
            tokens: BTreeMap::new(),
            cancelled: VecDeque::new(),
            answered: VecDeque::new(),
            most,
            entered: 0,
        }
    }

    /// Whether a request of that id could be entered.
    pub(super) fn has_room(&self, id: &Id) -> Result<(), Full> {
        if self.open.contains_key(id) {
            return Err(Full::Taken);
        }
        if self.open.len() >= self.most {
            return Err(Full::TooMany);
        }
        Ok(())
    }

    /// Enters a request.
    pub(super) fn enter(&mut self, id: Id, mut asked: Asked) -> Result<(), Full> {
        let is_full = self.open.len() >= self.most;
        let vacant = match self.open.entry(id) {
            Entry::Occupied(_) => return Err(Full::Taken),
            Entry::Vacant(_) if is_full => return Err(Full::TooMany),
            Entry::Vacant(vacant) => vacant,
        };
        self.entered += 1;
        asked.method = cut(asked.method);
        asked.tool = asked.tool.map(cut);
        let open = Box::new(Open {
            order: self.entered,
            // A limit beyond all time is none.
            due: asked.limit.and_then(|limit| asked.since.checked_add(limit)),
            abandoned: false,
            asked,
        });
        if let Some(due) = open.due {
            self.due.insert((due, open.order), vacant.key().clone());
            if let Some(token) = open.asked.token.clone() {
                self.tokens.insert(token, vacant.key().clone());
            }
        }
        vacant.insert(open);
        Ok(())
    }

    /// An answer came, or is given by the relay.
    pub(super) fn settle(&mut self, id: &Id) -> Answer {
        if let Some((id, open)) = self.remove(id) {
            remember(&mut self.answered, id);
            return if open.abandoned {
                Answer::Abandoned
            } else {
                Answer::Asked(open)
            };
        }
        if let Some(at) = self.cancelled.iter().position(|(other, _)| other == id)
            && let Some((_, open)) = self.cancelled.remove(at)
        {
            return Answer::Late(open);
        }
        if self.answered.contains(id) {
            Answer::Again
        } else {
            Answer::Unasked
        }
    }

    /// The request is cancelled: it waits no longer, an answer may still come.
    pub(super) fn cancel(&mut self, id: &Id) -> Option<Asked> {
        let entry = self.remove(id)?;
        let asked = entry.1.asked.clone();
        remember(&mut self.cancelled, entry);
        Some(asked)
    }

    fn remove(&mut self, id: &Id) -> Option<(Id, Box<Open>)> {
        let (id, open) = self.open.remove_entry(id)?;
        if let Some(due) = open.due {
            self.due.remove(&(due, open.order));
        }
        if let Some(token) = &open.asked.token {
            self.tokens.remove(token);
        }
        Some((id, open))
    }

    /// The request of that progress token goes on: its time begins anew.
    pub(super) fn progress(&mut self, token: &Id, now: Instant) {
        let Some(id) = self.tokens.get(token) else {
            return;
        };
        if let Some(open) = self.open.get_mut(id)
            && let (Some(due), Some(limit)) = (open.due, open.asked.limit)
            && let Some(later) = now.checked_add(limit)
        {
            self.due.remove(&(due, open.order));
            self.due.insert((later, open.order), id.clone());
            open.due = Some(later);
        }
    }

    /// When the next of them has waited long enough.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.due.keys().next().map(|(due, _)| *due)
    }

    /// One that has waited long enough; it waits no longer, and a late answer is a second one.
    pub(super) fn expire(&mut self, now: Instant) -> Option<(Id, Asked)> {
        let (_, id) = self.due.iter().next().filter(|((due, _), _)| *due <= now)?;
        let id = id.clone();
        let (id, open) = self.remove(&id)?;
        remember(&mut self.answered, id.clone());
        Some((id, open.asked))
    }

    /// Who asked is gone: what is answered now goes nowhere, and its ids are not free before.
    pub(super) fn abandon(&mut self) {
        self.cancelled.clear();
        for open in self.open.values_mut() {
            open.abandoned = true;
        }
    }

    /// The waiting request of this id.
    pub(super) fn get(&self, id: &Id) -> Option<&Asked> {
        self.open.get(id).map(|open| &open.asked)
    }

    /// The number under which the waiting request of this id was entered.
    pub(super) fn number(&self, id: &Id) -> Option<u64> {
        self.open.get(id).map(|open| open.order)
    }

    /// Whether one of that method waits.
    pub(super) fn waits_for(&self, method: &str) -> bool {
        self.open.values().any(|open| open.asked.method == method)
    }

    /// The waiting request, where there is exactly one.
    pub(super) fn only(&self) -> Option<Id> {
        let mut ids = self.open.keys();
        ids.next().filter(|_| ids.next().is_none()).cloned()
    }

    /// Requests ever entered.
    pub(super) fn entered(&self) -> u64 {
        self.entered
    }

    /// All that wait, in the order in which they were asked; none waits any longer, and an answer
    /// to one is a second one.
    pub(super) fn take(&mut self) -> Vec<(Id, Asked)> {
        let mut all: Vec<_> = std::mem::take(&mut self.open).into_iter().collect();
        self.due.clear();
        self.tokens.clear();
        all.sort_by_key(|(_, open)| open.order);
        for (id, _) in all.iter().rev().take(REMEMBERED).rev() {
            remember(&mut self.answered, id.clone());
        }
        all.into_iter().map(|(id, open)| (id, open.asked)).collect()
    }
}

fn cut(word: String) -> String {
    match word.char_indices().nth(MAX_WORD) {
        Some((end, _)) => word.get(..end).unwrap_or_default().to_owned(),
        None => word,
    }
}

fn remember<T>(list: &mut VecDeque<T>, one: T) {
    if list.len() >= REMEMBERED {
        list.pop_front();
    }
    list.push_back(one);
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
