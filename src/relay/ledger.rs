//! The requests of one side that the other has not answered.
//!
//! Pure, and bounded: in number by its `most`, in size by the longest id and [`MAX_WORD`].

use std::collections::{BTreeMap, VecDeque};

use super::envelope::Id;

/// Characters kept of a method or a tool's name.
const MAX_WORD: usize = 128;
/// Cancelled requests whose answer may still come, and answered ones that are remembered.
const REMEMBERED: usize = 64;

/// A request that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Open {
    /// Its method, cut.
    pub(super) method: String,
    /// The tool it calls, cut.
    pub(super) tool: Option<String>,
    order: u64,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// It was asked, or asked and cancelled; now it is answered.
    Asked,
    /// It was answered before.
    Again,
    /// Nobody asked.
    Unasked,
}

/// One side's requests.
#[derive(Debug)]
pub(super) struct Ledger {
    open: BTreeMap<Id, Open>,
    /// Cancelled: they need no answer and may get one. Oldest first.
    cancelled: VecDeque<(Id, Open)>,
    /// Answered not long ago, so that a second answer can be named as one. Oldest first.
    answered: VecDeque<Id>,
    most: usize,
    entered: u64,
}

impl Ledger {
    /// A ledger of at most `most` waiting requests.
    pub(super) fn new(most: usize) -> Self {
        let (open, cancelled, answered) = (BTreeMap::new(), VecDeque::new(), VecDeque::new());
        Self {
            open,
            cancelled,
            answered,
            most,
            entered: 0,
        }
    }

    /// Enters a request.
    pub(super) fn enter(&mut self, id: Id, method: &str, tool: Option<String>) -> Result<(), Full> {
        if self.open.contains_key(&id) {
            return Err(Full::Taken);
        }
        if self.open.len() >= self.most {
            return Err(Full::TooMany);
        }
        self.entered += 1;
        let tool = tool.map(|name| cut(&name));
        let open = Open {
            method: cut(method),
            tool,
            order: self.entered,
        };
        self.open.insert(id, open);
        Ok(())
    }

    /// An answer came, or is given by the relay.
    pub(super) fn settle(&mut self, id: &Id) -> Answer {
        if let Some((id, _)) = self.open.remove_entry(id) {
            remember(&mut self.answered, id);
            return Answer::Asked;
        }
        if let Some(at) = self.cancelled.iter().position(|(other, _)| other == id) {
            self.cancelled.remove(at);
            return Answer::Asked;
        }
        if self.answered.contains(id) {
            Answer::Again
        } else {
            Answer::Unasked
        }
    }

    /// The request is cancelled: it waits no longer, an answer may still come.
    pub(super) fn cancel(&mut self, id: &Id) -> bool {
        let Some(entry) = self.open.remove_entry(id) else {
            return false;
        };
        remember(&mut self.cancelled, entry);
        true
    }

    /// The waiting request of this id.
    pub(super) fn get(&self, id: &Id) -> Option<&Open> {
        self.open.get(id)
    }

    /// The method of a request that an answer may come to: it waits, or was cancelled.
    pub(super) fn method(&self, id: &Id) -> Option<&str> {
        let cancelled = || self.cancelled.iter().find(|(other, _)| other == id);
        self.open
            .get(id)
            .or_else(|| cancelled().map(|(_, open)| open))
            .map(|open| open.method.as_str())
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

    /// All that wait, in the order in which they were asked; none waits any longer.
    pub(super) fn take(&mut self) -> Vec<(Id, Open)> {
        let mut all: Vec<_> = std::mem::take(&mut self.open).into_iter().collect();
        all.sort_by_key(|(_, open)| open.order);
        all
    }
}

fn cut(word: &str) -> String {
    word.chars().take(MAX_WORD).collect()
}

fn remember<T>(list: &mut VecDeque<T>, one: T) {
    if list.len() >= REMEMBERED {
        list.pop_front();
    }
    list.push_back(one);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(n: u64) -> Id {
        Id::Integer(n.to_string())
    }

    #[test]
    fn each_request_is_answered_once() {
        let mut ledger = Ledger::new(9);
        assert_eq!(ledger.enter(number(1), "m", None), Ok(()));
        assert_eq!(ledger.enter(Id::Text("1".into()), "m", None), Ok(()));
        assert_eq!(ledger.enter(number(1), "m", None), Err(Full::Taken));
        assert_eq!(ledger.settle(&number(1)), Answer::Asked);
        assert_eq!(ledger.settle(&number(1)), Answer::Again);
        assert_eq!(ledger.settle(&number(2)), Answer::Unasked);
        assert_eq!(ledger.only(), Some(Id::Text("1".into())));
        assert_eq!(
            ledger.enter(number(1), "m", None),
            Ok(()),
            "an id may be used anew"
        );
        assert_eq!(ledger.only(), None);
    }

    #[test]
    fn a_cancelled_request_waits_no_longer_and_may_be_answered() {
        let mut ledger = Ledger::new(1);
        for n in 0..200 {
            assert_eq!(ledger.enter(number(n), "m", None), Ok(()));
            assert!(ledger.cancel(&number(n)));
        }
        assert_eq!(ledger.settle(&number(199)), Answer::Asked);
        assert_eq!(ledger.settle(&number(199)), Answer::Unasked);
        assert_eq!(ledger.settle(&number(1)), Answer::Unasked, "forgotten");
        assert!(!ledger.cancel(&number(7)));
        assert!(ledger.take().is_empty());
    }

    #[test]
    fn it_is_bounded_and_keeps_the_order() {
        let mut ledger = Ledger::new(3);
        for n in [30, 4, 100] {
            assert_eq!(
                ledger.enter(number(n), &"m".repeat(500), Some("t".repeat(500))),
                Ok(())
            );
        }
        assert_eq!(ledger.enter(number(5), "m", None), Err(Full::TooMany));
        let all = ledger.take();
        assert_eq!(
            all.iter().map(|(id, _)| id.json()).collect::<Vec<_>>(),
            ["30", "4", "100"]
        );
        assert!(all.iter().all(|(_, open)| open.method.len() == MAX_WORD));
        assert_eq!(ledger.entered(), 3);
    }
}
