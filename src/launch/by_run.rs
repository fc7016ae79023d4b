//! Folders of the state directory that hold a file for each of the last runs of a declaration:
//! `<folder>/<first 16 digits of the digest>/<run><suffix>`, mode 0600.

use super::run_id::RunId;
use crate::declaration::Digest;
use crate::declaration::file::{FileError, Folder};
use crate::declaration::store::{State, StoreError};

/// Files of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    /// What the folder is called.
    pub(super) folder: &'static str,
    /// How the names of its files end.
    pub(super) suffix: &'static str,
    /// So many of each declaration are kept.
    pub(super) kept: usize,
}

impl Kind {
    /// Keeps what is to be read of a run, in the place of the oldest. The disk is not waited for: a
    /// host waits for our end, and after a power cut the last may be missing, empty or zeros.
    ///
    /// # Errors
    /// The directory or a file in it cannot be trusted or written.
    pub(super) fn keep(
        self,
        state: &State,
        (digest, run): (&Digest, RunId),
        text: &str,
    ) -> Result<(), StoreError> {
        let Some(folder) = self.folder(state, digest, true)? else {
            return Ok(());
        };
        let locked = folder.lock()?;
        let mut names = self.own(locked.names().iter().cloned());
        // Which are the oldest is asked for only where one has to go.
        let over = if names.len() < self.kept {
            None
        } else {
            self.by_age(&folder, &mut names);
            while names.len() > self.kept
                && let Some(old) = names.pop()
            {
                locked.remove(&old)?;
            }
            // Somebody may have removed some meanwhile.
            let is_full = names.len() == self.kept;
            is_full.then(|| names.pop()).flatten()
        };
        Ok(locked.add(&self.name(run), over.as_deref(), text)?)
    }

    /// What was kept of a declaration's last runs, the latest first: each with the name of its file.
    ///
    /// # Errors
    /// The folder cannot be trusted or read.
    pub(super) fn last(self, state: &State, digest: &Digest) -> Result<Vec<Kept>, StoreError> {
        let Some(folder) = self.folder(state, digest, false)? else {
            return Ok(Vec::new());
        };
        let mut names = self.own(folder.names()?);
        self.by_age(&folder, &mut names);
        names.truncate(self.kept);
        let kept = names.into_iter().filter_map(|name| {
            let read = read(&folder, &name).transpose()?;
            Some(Kept {
                run: self.run(&name)?,
                path: crate::text::path(&folder.path().join(name)),
                text: read,
            })
        });
        Ok(kept.collect())
    }

    /// The folder of a declaration, made where that is asked for; `None` where there is none.
    fn folder(
        self,
        state: &State,
        digest: &Digest,
        make: bool,
    ) -> Result<Option<Folder>, StoreError> {
        let all = state
            .folder()
            .map(|folder| folder.folder(self.folder, make));
        match all.transpose()?.flatten() {
            Some(all) => Ok(all.folder(digest.first_16(), make)?),
            None => Ok(None),
        }
    }

    fn name(self, run: RunId) -> String {
        format!("{run}{}", self.suffix)
    }

    /// Whose run a file is of. What has another name is not ours.
    fn run(self, name: &str) -> Option<RunId> {
        name.strip_suffix(self.suffix)?.parse().ok()
    }

    fn own(self, names: impl IntoIterator<Item = String>) -> Vec<String> {
        let names = names.into_iter();
        names.filter(|name| self.run(name).is_some()).collect()
    }

    /// The latest first; without those that are gone.
    fn by_age(self, folder: &Folder, names: &mut Vec<String>) {
        let written = |name: String| Some((folder.written(&name).ok()??, name));
        let mut found: Vec<_> = names.drain(..).filter_map(written).collect();
        found.sort_by(|a, b| b.cmp(a));
        names.extend(found.into_iter().map(|(_, name)| name));
    }
}

/// What was kept of one run.
pub(super) struct Kept {
    pub(super) run: RunId,
    /// Where, as it is shown.
    pub(super) path: String,
    /// What it says; why it cannot be read.
    pub(super) text: Result<String, FileError>,
}

/// The text of a file, if it stands there still: one that has gone meanwhile is written over.
fn read(folder: &Folder, name: &str) -> Result<Option<String>, FileError> {
    let read = folder.read(name);
    match folder.has(name)? {
        true => read,
        false => Ok(None),
    }
}
