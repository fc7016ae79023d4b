//! The relay's own reading of a list, before it passes on a call of something it has not seen
//! listed: what it asks, how far it is, and the requests of the host's that wait for it.
//!
//! Pure. A host may call without listing, and a server may say that its lists changed at any time;
//! either way nobody has looked at what stands under a name now. Ids are words that no request of
//! the host's may begin with, so an answer to one never goes to the host. A reading is bounded in
//! pages, bytes, time and rounds, and what waits for it in bytes: beyond that the host is not read.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::envelope::Id;
use super::guard::Wanted;
use super::present::{Cursor, Listed, Page};
use crate::surface::Kind;

/// What our ids begin with.
pub(super) const PREFIX: &str = "supervisor:surface:";
/// How long a reading may take, from its first request to a process that has answered before.
const LONGEST: Duration = Duration::from_secs(30);
/// Bytes of the answers to one reading.
const BYTES: usize = 64 << 20;
/// Bytes of requests that wait, one more than these apart.
const WAITING: usize = 1 << 20;
/// How often a list is read again because the server says that it changed meanwhile.
const ROUNDS: usize = 3;

/// A request of the host's that waits for a reading.
#[derive(Debug)]
pub(super) struct Held {
    /// Its id, and the number under which it was entered.
    pub(super) id: Id,
    pub(super) number: u64,
    /// Its line, LF included.
    pub(super) line: Vec<u8>,
    /// What it asks for.
    pub(super) wanted: Wanted,
}

/// The page that was asked for.
#[derive(Debug)]
pub(super) struct Asking {
    id: Id,
    pub(super) kind: Kind,
    pub(super) cursor: Option<Cursor>,
    /// What was read of the list before it.
    pub(super) list: Listed,
    /// The change that it is asked after.
    pub(super) epoch: u64,
}

/// A reading, or none.
#[derive(Debug, Default)]
pub(super) struct Reading {
    asking: Option<Asking>,
    todo: BTreeSet<Kind>,
    held: VecDeque<Held>,
    waiting: usize,
    count: u64,
    rounds: usize,
    bytes: usize,
    since: Option<Instant>,
    /// What each request says of itself in the modern era, as JSON.
    pub(super) meta: Option<String>,
}

impl Reading {
    /// Whether one goes on.
    pub(super) fn is_under_way(&self) -> bool {
        self.asking.is_some()
    }

    /// Whether an id is one of ours, answered or not.
    pub(super) fn owns(id: &Id) -> bool {
        matches!(id, Id::Text(text) if text.starts_with(PREFIX))
    }

    /// Whether this is the answer that is waited for.
    pub(super) fn awaits(&self, id: &Id) -> bool {
        self.asking.as_ref().is_some_and(|asking| asking.id == *id)
    }

    /// Whether the host is read no further for now.
    pub(super) fn is_full(&self) -> bool {
        self.waiting > WAITING
    }

    /// These lists are wanted.
    pub(super) fn want(&mut self, kinds: impl IntoIterator<Item = Kind>) {
        let asked = self.asking.as_ref().map(|asking| asking.kind);
        let others = kinds.into_iter().filter(|kind| Some(*kind) != asked);
        self.todo.extend(others);
    }

    /// The server says that this list changed: it is read again, if it is read at all.
    pub(super) fn changed(&mut self, kind: Kind) {
        let under_way = self.asking.is_some();
        if under_way && self.rounds < ROUNDS && !self.todo.contains(&kind) {
            self.rounds += 1;
            self.todo.insert(kind);
        }
    }

    /// Nothing more is wanted.
    pub(super) fn want_no_more(&mut self) {
        self.todo.clear();
        self.rounds = ROUNDS;
    }

    /// The list that is read next.
    pub(super) fn next(&mut self) -> Option<Kind> {
        self.todo.pop_first()
    }

    /// A request waits.
    pub(super) fn hold(&mut self, held: Held) {
        self.waiting = self.waiting.saturating_add(held.line.len());
        self.held.push_back(held);
    }

    /// The requests that wait.
    #[cfg(test)]
    pub(super) fn held_ids(&self) -> impl Iterator<Item = &Id> {
        self.held.iter().map(|held| &held.id)
    }

    /// Whether a request waits.
    pub(super) fn holds(&self, id: &Id) -> bool {
        self.held.iter().any(|held| held.id == *id)
    }

    /// Whether a request waits; it waits no longer then.
    pub(super) fn lets_go(&mut self, id: &Id) -> bool {
        let Some(at) = self.held.iter().position(|held| held.id == *id) else {
            return false;
        };
        if let Some(held) = self.held.remove(at) {
            self.waiting = self.waiting.saturating_sub(held.line.len());
        }
        true
    }

    /// A page is asked for: the line of the request.
    pub(super) fn ask(
        &mut self,
        (kind, method): (Kind, &str),
        cursor: Option<&str>,
        (list, epoch): (Listed, u64),
        since: Option<Instant>,
    ) -> Vec<u8> {
        self.count = self.count.saturating_add(1);
        let id = Id::Text(format!("{PREFIX}{}", self.count));
        let members = [
            cursor.map(|cursor| format!(r#""cursor":{cursor}"#)),
            self.meta.as_ref().map(|meta| format!(r#""_meta":{meta}"#)),
        ];
        let params: Vec<String> = members.into_iter().flatten().collect();
        let (params, name) = (params.join(","), id.json());
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{name},\"method\":\"{method}\",\"params\":{{{params}}}}}\n"
        );
        if self.since.is_none() {
            self.since = since;
        }
        self.asking = Some(Asking {
            id,
            kind,
            cursor: cursor.and_then(Cursor::of),
            list,
            epoch,
        });
        line.into_bytes()
    }

    /// The process has answered: its time runs.
    pub(super) fn heard(&mut self, now: Instant) {
        if self.asking.is_some() && self.since.is_none() {
            self.since = Some(now);
        }
    }

    /// The answer to what was asked came, in so many bytes; `None` beyond what a reading may take.
    pub(super) fn answered(&mut self, bytes: usize) -> Option<Asking> {
        self.bytes = self.bytes.saturating_add(bytes);
        self.asking.take().filter(|_| self.bytes <= BYTES)
    }

    /// What a page for the host withholds of the list that is read.
    pub(super) fn beware(&mut self, kind: Kind, page: &Page) {
        if let Some(asking) = self.asking.as_mut().filter(|asking| asking.kind == kind) {
            asking.list.beware(page);
        }
    }

    /// When its time is up.
    pub(super) fn due(&self) -> Option<Instant> {
        self.asking.as_ref()?;
        self.since?.checked_add(LONGEST)
    }

    /// It is over, well or not: what waited for it.
    pub(super) fn end(&mut self) -> VecDeque<Held> {
        let held = std::mem::take(&mut self.held);
        *self = Self {
            count: self.count,
            ..Self::default()
        };
        held
    }
}
