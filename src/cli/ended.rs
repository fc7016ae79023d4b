//! What is done when a run has ended: what the server left is told, and the receipt written.

use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::render;
use crate::confine::receipt::{Exit, Started};
use crate::declaration::Alias;
use crate::declaration::store::State;
use crate::launch::receipts::{self, Named};
use crate::launch::search::{HURRIED, Left, Search, UNHURRIED};
use crate::launch::secrets::Hidden;
use crate::launch::{Explanation, logs};
use crate::plan::left::FileKind;
use crate::relay::{self, Outcome};
use crate::text;

/// So many things of a kind are told; the receipt has them all.
const TOLD: usize = 10;
/// How long a reader of standard error is waited for, where a host waits for our end.
const PATIENCE: Duration = Duration::from_millis(50);

/// A run that has begun and is to be recorded.
#[derive(Debug)]
pub(super) struct Record {
    search: Search,
    named: Named,
    hidden: Hidden,
    /// The state directory that keeps the receipt; none where nothing is written there.
    keeper: Option<Rc<State>>,
}

impl Record {
    /// For a run of what was explained, which begins now.
    pub(super) fn begin(explanation: &Explanation, named: Named) -> Self {
        Self {
            search: Search::of(explanation),
            named,
            hidden: Hidden::of(explanation),
            keeper: (!explanation.ephemeral).then(|| explanation.state()),
        }
    }

    /// The run has ended; without an outcome the relay failed, and killed the server. What the
    /// server left is told, then the receipt written.
    ///
    /// # Errors
    /// The exit code where the receipt cannot be written where it should be, which was said.
    pub(super) fn end(self, started: Started, outcome: Option<&Outcome>) -> Result<(), ExitCode> {
        let ended = now();
        let exit = outcome.map_or(Exit::Signal(9), |outcome| match outcome.exit {
            relay::Exit::Code(code) => Exit::Code(code),
            relay::Exit::Signal(number) => Exit::Signal(number),
        });
        let (look, patience) = match outcome.and_then(|outcome| outcome.by) {
            Some(by) => {
                // What the relay did not need of its time is ours.
                let left = by.saturating_duration_since(Instant::now());
                (left.saturating_add(HURRIED), PATIENCE)
            }
            None => (UNHURRIED, UNHURRIED),
        };
        let left = self.search.look(look);
        tell(&started.alias, &left, patience);
        let receipt = started.ended(ended, exit, left.recorded());
        let named = self.named.write(&receipt);
        let said = outcome.map(|outcome| self.hidden.hide(&outcome.tail));
        let kept = self.keeper.map_or(Ok(()), |state| {
            let said = said.filter(|said| !said.is_empty());
            let kept = said.map_or(Ok(()), |said| {
                logs::keep(&state, &receipt.digest, receipt.run, &said)
            });
            receipts::keep(&state, &receipt).and(kept)
        });
        named.and(kept).map_err(|error| {
            let until = Instant::now() + patience;
            render::error_by(&error.into(), until)
        })
    }
}

/// Says on standard error what a server left.
pub(super) fn tell(alias: &Alias, left: &Left, patience: Duration) {
    let until = Instant::now() + patience;
    let note = |words: String| render::note_by(&format!("{alias}: {words}"), until);
    let mut repositories: Vec<String> = left
        .in_dir
        .iter()
        .map(|path| {
            format!(
                "G2: a git repository was left in --dir: {}; {alias} does not start again while it is there",
                text::word(path)
            )
        })
        .collect();
    let fresh = left.in_home.iter().filter(|found| found.fresh);
    repositories.extend(fresh.map(|found| {
        let path = text::word(&found.path);
        format!("G2: a git repository was left in the private home: {path}")
    }));
    let files = left.files.iter().map(|file| {
        let (change, path, why) = (file.change.as_str(), text::word(&file.path), &file.why);
        match file.kind {
            FileKind::Obeyed => format!("G3: {change} while it ran: {path} ({why})"),
            FileKind::Link => format!("G3: a link was {change} while it ran: {path} ({why})"),
        }
    });
    for told in [repositories, files.collect()] {
        let more = told.len().saturating_sub(TOLD);
        told.into_iter().take(TOLD).for_each(&note);
        if more > 0 {
            note(format!("and {more} more; the receipt names them"));
        }
    }
    for words in &left.not_searched {
        note(format!("G2, G3: {words}"));
    }
}

#[expect(clippy::disallowed_methods, reason = "a receipt says when")]
fn now() -> Timestamp {
    Timestamp::now()
}
