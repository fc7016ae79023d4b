//! Calls that wait for the person's word, and what the questions about them are known by.
//!
//! Pure, and bounded in number and bytes. A question of the legacy era is a request of ours to the
//! host, and the call waits here. One of the modern era is a result, and the call ends with it; the
//! host's next attempt brings the answer, and a state that only this run can have given out. Both are
//! named by words that nobody can guess, so that no id of the server's is ever one of them.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::envelope::Id;
use super::ledger::Asked;
use crate::audit::verify::sha256;

/// Questions that may be open at once, of either era.
pub(super) const MOST: usize = 256;
/// Bytes of calls that may wait.
pub(super) const MOST_BYTES: usize = 16 << 20;
/// How every id and state of ours begins.
const PREFIX: &str = "supervisor-";
/// Hexadecimal digits of what cannot be guessed.
const DIGITS: usize = 32;

/// A call of the legacy era that waits.
#[derive(Debug)]
pub(super) struct Held {
    /// As the host wrote it.
    pub(super) line: Vec<u8>,
    pub(super) asked: Asked,
    /// The id of our question to the host.
    pub(super) question: Id,
    due: Option<Instant>,
    order: u64,
}

/// A call of the modern era that was answered with a question.
#[derive(Debug)]
struct Stated {
    state: String,
    tool: String,
    arguments: String,
    /// What the host brought with it for the server: `inputResponses` and `requestState`.
    brought: [Option<String>; 2],
    due: Option<Instant>,
}

/// A call that the person said yes to, which the server answered with questions of its own.
#[derive(Debug)]
struct Continued {
    tool: String,
    arguments: String,
    state: Option<String>,
    due: Option<Instant>,
}

/// All of one run.
#[derive(Debug)]
pub(super) struct Questions {
    seed: [u8; 32],
    count: u64,
    held: BTreeMap<Id, Held>,
    /// Our questions to the host, and the calls they are about.
    put: BTreeMap<Id, Id>,
    bytes: usize,
    stated: VecDeque<Stated>,
    continued: VecDeque<Continued>,
}

impl Questions {
    /// None yet; `seed` is known to nobody else.
    pub(super) fn new(seed: [u8; 32]) -> Self {
        Self {
            seed,
            count: 0,
            held: BTreeMap::new(),
            put: BTreeMap::new(),
            bytes: 0,
            stated: VecDeque::new(),
            continued: VecDeque::new(),
        }
    }

    /// A word that nobody can guess and that is given once.
    pub(super) fn word(&mut self) -> String {
        self.count = self.count.saturating_add(1);
        let hash = sha256(&[&self.seed[..], &self.count.to_le_bytes()].concat());
        let digits: String = hash.chars().take(DIGITS).collect();
        format!("{PREFIX}{digits}")
    }

    /// Such a word that does not stand in a text.
    pub(super) fn seal(&mut self, text: &str) -> String {
        loop {
            let word = self.word();
            if !text.contains(&word) {
                return word;
            }
        }
    }

    /// Holds a call back until the person has said something; the id of the question, or `None`
    /// where too much waits already.
    pub(super) fn hold(
        &mut self,
        id: &Id,
        line: &[u8],
        asked: Asked,
        limit: Duration,
    ) -> Option<Id> {
        let bytes = self.bytes.saturating_add(line.len());
        if self.held.len() >= MOST || bytes > MOST_BYTES {
            return None;
        }
        let question = Id::Text(self.word());
        self.bytes = bytes;
        self.put.insert(question.clone(), id.clone());
        let held = Held {
            line: line.to_owned(),
            question: question.clone(),
            due: asked.since.checked_add(limit),
            order: self.count,
            asked,
        };
        self.held.insert(id.clone(), held);
        Some(question)
    }

    /// Whether a call of that id waits.
    pub(super) fn holds(&self, id: &Id) -> bool {
        self.held.contains_key(id)
    }

    /// The ids of the questions that the host has not answered.
    #[cfg(test)]
    pub(super) fn open(&self) -> impl Iterator<Item = &Id> {
        self.put.keys()
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether an id is one that only a question of ours can have.
    pub(super) fn is_ours(id: &Id) -> bool {
        matches!(id, Id::Text(text) if is_ours(text))
    }

    /// The call that a question was about; it waits no longer.
    pub(super) fn answered(&mut self, question: &Id) -> Option<(Id, Held)> {
        let id = self.put.get(question)?.clone();
        self.release(&id).map(|held| (id, held))
    }

    /// The call waits no longer.
    pub(super) fn release(&mut self, id: &Id) -> Option<Held> {
        let held = self.held.remove(id)?;
        self.put.remove(&held.question);
        self.bytes = self.bytes.saturating_sub(held.line.len());
        Some(held)
    }

    /// When the next of them has waited long enough.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.held.values().filter_map(|held| held.due).min()
    }

    /// One that has waited long enough.
    pub(super) fn expire(&mut self, now: Instant) -> Option<(Id, Held)> {
        let late = |held: &Held| held.due.is_some_and(|due| due <= now);
        let id = self.held.iter().find(|(_, held)| late(held))?.0.clone();
        self.release(&id).map(|held| (id, held))
    }

    /// All that wait, in the order in which they were asked; none waits any longer.
    pub(super) fn take(&mut self) -> Vec<(Id, Held)> {
        self.put.clear();
        self.bytes = 0;
        let mut all: Vec<_> = std::mem::take(&mut self.held).into_iter().collect();
        all.sort_by_key(|(_, held)| held.order);
        all
    }

    /// The state of a question in a result, good once, for the same call, until then.
    pub(super) fn state(
        &mut self,
        (tool, arguments): (&str, &str),
        brought: [Option<&str>; 2],
        due: Option<Instant>,
    ) -> String {
        let state = self.word();
        let stated = Stated {
            state: state.clone(),
            tool: tool.to_owned(),
            arguments: arguments.to_owned(),
            brought: brought.map(|raw| raw.map(str::to_owned)),
            due,
        };
        let size = |one: &Stated| one.brought.iter().flatten().map(String::len).sum::<usize>();
        self.stated.push_back(stated);
        while self.stated.len() > MOST
            || (self.stated.len() > 1 && self.stated.iter().map(size).sum::<usize>() > MOST_BYTES)
        {
            self.stated.pop_front();
        }
        state
    }

    /// What the host had brought with the call that it now attempts again with this state; `None`
    /// where the state was not given out for it, was used, or is too old. It is used up.
    pub(super) fn redeem(
        &mut self,
        state: &str,
        (tool, arguments): (&str, &str),
        now: Instant,
    ) -> Option<[Option<String>; 2]> {
        let at = self.stated.iter().position(|one| one.state == state)?;
        let one = self.stated.remove(at)?;
        let same = one.tool == tool && one.arguments == arguments;
        let late = one.due.is_some_and(|due| due <= now);
        (same && !late).then_some(one.brought)
    }

    /// The server answered a call that the person said yes to with questions of its own, and this
    /// state: the host's next attempt is the same call, until then.
    pub(super) fn goes_on(
        &mut self,
        (tool, arguments): (&str, &str),
        state: Option<&str>,
        due: Option<Instant>,
    ) {
        if self.continued.len() >= MOST {
            self.continued.pop_front();
        }
        self.continued.push_back(Continued {
            tool: tool.to_owned(),
            arguments: arguments.to_owned(),
            state: state.map(|state| sha256(state.as_bytes())),
            due,
        });
    }

    /// Whether a call is such an attempt; it is one once.
    pub(super) fn continues(
        &mut self,
        (tool, arguments): (&str, &str),
        state: Option<&str>,
        now: Instant,
    ) -> bool {
        let state = state.map(|state| sha256(state.as_bytes()));
        let is_it = |one: &Continued| {
            (one.tool.as_str(), one.arguments.as_str()) == (tool, arguments) && one.state == state
        };
        let at = self.continued.iter().position(is_it);
        let found = at.and_then(|at| self.continued.remove(at));
        found.is_some_and(|one| one.due.is_none_or(|due| now < due))
    }
}

/// Whether a word is of the form that only this program gives out.
pub(super) fn is_ours(word: &str) -> bool {
    word.strip_prefix(PREFIX).is_some_and(|digits| {
        digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
