//! What the last runs of a server saw of its surface that is not what was approved:
//! `pending/<digest>.json` of the state directory.
//!
//! A run writes it when what it withholds is news; `supervisor tools ALIAS --pending` and the rows
//! of `list`, `get` and `ps` read it, so that nothing has to be started to see it. Each list stands
//! as the last run that saw it left it. An answer to the second question forgets all of it; a run
//! that goes by an answer before may write it anew, so what is approved now is passed over where it
//! is read.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::RunError;
use super::written::{self, OfDeclaration, VERSION};
use crate::declaration::Digest;
use crate::declaration::file::Folder;
use crate::declaration::store::State;
use crate::relay::Pending;
use crate::surface::canonical::{Item, Written};
use crate::surface::{Kind, Surface};

/// The folder of the files.
pub(crate) const FOLDER: &str = "pending";
/// How long another run that writes is waited for: messages stand still meanwhile.
const PATIENCE: Duration = Duration::from_millis(200);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WaitingFile {
    version: u32,
    digest: Digest,
    seen: Timestamp,
    withheld: Vec<Written>,
    gone: Vec<Gone>,
}

impl OfDeclaration for WaitingFile {
    fn of(&self) -> (u32, &Digest) {
        (self.version, &self.digest)
    }
}

/// Something that was approved and is not listed any more.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Gone {
    kind: Kind,
    name: String,
}

/// What waits for an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Waiting {
    /// When it was seen last.
    pub(crate) seen: Timestamp,
    withheld: Vec<Item>,
    gone: BTreeSet<Gone>,
}

impl Waiting {
    /// What the server would be approved for, as far as runs saw it: what was approved, without what
    /// is not listed any more, and with what is withheld.
    pub(crate) fn surface(&self, approved: &Surface) -> Surface {
        let withheld = |kind, name: &str| {
            let mut withheld = self.withheld.iter();
            withheld.any(|item| item.kind() == kind && item.name() == name)
        };
        let stays = |item: &&Item| {
            let gone = Gone {
                kind: item.kind(),
                name: item.name().to_owned(),
            };
            !self.gone.contains(&gone) && !withheld(item.kind(), item.name())
        };
        let kept = approved.iter().filter(stays);
        kept.chain(&self.withheld).cloned().collect()
    }

    /// How many items are withheld.
    pub(crate) fn withheld(&self) -> usize {
        self.withheld.len()
    }

    /// The same, as another run saw it.
    fn after(mut self, pending: &Pending, now: Timestamp) -> Self {
        let seen: BTreeSet<Kind> = pending
            .withheld
            .iter()
            .map(Item::kind)
            .chain(pending.whole.iter().copied())
            .collect();
        self.withheld.retain(|item| !seen.contains(&item.kind()));
        self.withheld.extend(pending.withheld.iter().cloned());
        self.gone.retain(|gone| !pending.whole.contains(&gone.kind));
        let gone = pending.gone.iter().cloned();
        self.gone
            .extend(gone.map(|(kind, name)| Gone { kind, name }));
        self.seen = now;
        self
    }

    /// What of it still waits, where this is approved: a run that began before may have withheld
    /// what is approved since, and miss what is not any more.
    fn but(mut self, approved: &Surface) -> Self {
        self.withheld.retain(|item| !approved.contains(item));
        let named = |gone: &Gone| approved.forms(gone.kind, &gone.name).next().is_some();
        self.gone.retain(named);
        self
    }

    fn is_empty(&self) -> bool {
        self.withheld.is_empty() && self.gone.is_empty()
    }
}

fn name(digest: &Digest) -> String {
    format!("{digest}.json")
}

/// What waits for an answer of that declaration, beside what is approved of its surface now; `None`
/// where nothing does.
///
/// # Errors
/// A file that cannot be trusted or read.
pub(crate) fn read(
    state: &State,
    digest: &Digest,
    approved: Option<&Surface>,
) -> Result<Option<Waiting>, RunError> {
    let Some(folder) = folder(state)? else {
        return Ok(None);
    };
    let waiting = read_in(&folder, digest)?.map(|waiting| match approved {
        Some(approved) => waiting.but(approved),
        None => waiting,
    });
    Ok(waiting.filter(|waiting| !waiting.is_empty()))
}

/// Where the files stand, if any was written.
fn folder(state: &State) -> Result<Option<Folder>, RunError> {
    Ok(match state.folder() {
        Some(folder) => folder.folder(FOLDER, false)?,
        None => None,
    })
}

fn read_in(folder: &Folder, digest: &Digest) -> Result<Option<Waiting>, RunError> {
    let name = name(digest);
    let Some(file) = written::read::<WaitingFile>(folder, &name, digest)? else {
        return Ok(None);
    };
    let withheld: Option<Vec<Item>> = file.withheld.into_iter().map(Written::read).collect();
    let Some(withheld) = withheld else {
        let problem = "an item does not hash to its pin".to_owned();
        return Err(written::unreadable(folder, &name, problem));
    };
    Ok(Some(Waiting {
        seen: file.seen,
        withheld,
        gone: file.gone.into_iter().collect(),
    }))
}

/// Keeps what a run saw.
///
/// # Errors
/// As [`read`]; it cannot be written.
pub(crate) fn saw(
    state: &State,
    digest: &Digest,
    pending: &Pending,
    now: Timestamp,
) -> Result<(), RunError> {
    let before = match folder(state)? {
        Some(folder) => read_in(&folder, digest)?,
        None => None,
    };
    if before.is_none() && pending.withheld.is_empty() && pending.gone.is_empty() {
        return Ok(());
    }
    let folder = state.make()?.make(FOLDER)?;
    let locked = folder.lock_within(PATIENCE)?;
    let none = Waiting {
        seen: now,
        withheld: Vec::new(),
        gone: BTreeSet::new(),
    };
    // Another run may have written since.
    let waiting = read_in(&folder, digest)?.unwrap_or(none);
    let waiting = waiting.after(pending, now);
    let file = WaitingFile {
        version: VERSION,
        digest: digest.clone(),
        seen: now,
        withheld: waiting.withheld.iter().map(Written::from).collect(),
        gone: waiting.gone.into_iter().collect(),
    };
    Ok(locked.write(&name(digest), &written::text(&file)?)?)
}

/// It was answered.
///
/// # Errors
/// The system said no.
pub(crate) fn forget(state: &State, digest: &Digest) -> Result<(), RunError> {
    let Some(folder) = folder(state)? else {
        return Ok(());
    };
    // The lock of `saw`: a run that is writing has read what is removed here.
    let locked = folder.lock_within(PATIENCE)?;
    Ok(locked.remove(&name(digest))?)
}

#[cfg(test)]
#[path = "pending_tests.rs"]
mod tests;
