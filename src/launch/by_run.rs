//! Folders of the state directory that hold a file for each of the last runs of a declaration:
//! `<folder>/<first 16 digits of the digest>/<run><suffix>`.
#![expect(clippy::disallowed_methods, reason = "lists what runs left")]

use std::fs::{self, DirEntry};
use std::time::SystemTime;

use super::run_id::RunId;
use crate::declaration::Digest;
use crate::declaration::file::Folder;
use crate::declaration::store::{State, StoreError};

/// The folder of a declaration, made where that is asked for; `None` where there is none.
///
/// # Errors
/// It cannot be trusted, read or made.
pub(super) fn folder(
    state: &State,
    name: &str,
    digest: &Digest,
    make: bool,
) -> Result<Option<Folder>, StoreError> {
    let all = state.folder().map(|folder| folder.folder(name, make));
    match all.transpose()?.flatten() {
        Some(all) => Ok(all.folder(digest.first_16(), make)?),
        None => Ok(None),
    }
}

/// The runs that have a file there, the latest first, at most so many. What has another name is not
/// ours.
pub(super) fn runs(folder: &Folder, suffix: &str, kept: usize) -> Vec<(SystemTime, RunId)> {
    let mut found: Vec<(SystemTime, RunId)> = entries(folder, suffix)
        .filter_map(|(entry, run)| Some((entry.metadata().ok()?.modified().ok()?, run)))
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    found.truncate(kept);
    found
}

/// Removes the files of the oldest runs, so that so many are left.
pub(super) fn drop_oldest(folder: &Folder, suffix: &str, kept: usize) {
    // Which are the oldest is asked for only where there are more.
    if entries(folder, suffix).count() <= kept {
        return;
    }
    for (_, old) in runs(folder, suffix, usize::MAX).into_iter().skip(kept) {
        // Another one removed it: as good.
        let _ = fs::remove_file(folder.path().join(format!("{old}{suffix}")));
    }
}

fn entries(folder: &Folder, suffix: &str) -> impl Iterator<Item = (DirEntry, RunId)> {
    let entries = fs::read_dir(folder.path()).into_iter().flatten().flatten();
    entries.filter_map(move |entry| {
        let run = entry
            .file_name()
            .to_str()?
            .strip_suffix(suffix)?
            .parse()
            .ok()?;
        Some((entry, run))
    })
}
