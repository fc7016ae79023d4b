//! What servers said beside the protocol in their last runs.
//!
//! `logs/<first 16 digits of the digest>/<run>.log`, mode 0600, the last [`KEPT`] of each
//! declaration: the end of its standard error and of what it wrote to standard output that was no
//! message, at most 64 KiB, every character printable, the values it was given left out. How a
//! run ended is in its receipt.
#![expect(
    clippy::disallowed_methods,
    reason = "the room `launch` writes what a run left and lists it"
)]

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::time::SystemTime;

use nix::libc;

use super::LaunchError;
use super::run_id::RunId;
use crate::declaration::Digest;
use crate::declaration::file::{FileError, Folder, Problem};
use crate::declaration::store::{State, StoreError};
use crate::plan::Person;

const FOLDER: &str = "logs";
/// So many runs of one declaration are kept.
pub(crate) const KEPT: usize = 10;

/// Keeps what a server said in a run, and removes the oldest of its declaration. The disk is not
/// waited for: a host may wait for our end.
///
/// # Errors
/// The directory or a file in it cannot be trusted or written.
pub(crate) fn keep(
    person: &Person,
    digest: &Digest,
    run: RunId,
    text: &str,
) -> Result<(), LaunchError> {
    let kept = || -> Result<(), StoreError> {
        let Some(folder) = folder(&State::open(person)?, digest, true)? else {
            return Ok(());
        };
        let _locked = folder.lock()?;
        let path = folder.path().join(format!("{run}.log"));
        // No other run is called so.
        let made = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path);
        let written = made.and_then(|mut file| file.write_all(text.as_bytes()));
        let doing = "written";
        written.map_err(|error| FileError::new(&path, Problem::Io { doing, error }))?;
        for (_, old) in runs(&folder).into_iter().skip(KEPT) {
            // Another one removed it: as good.
            let _ = fs::remove_file(folder.path().join(format!("{old}.log")));
        }
        Ok(())
    };
    kept().map_err(|error| LaunchError::Log {
        place: crate::text::path(&person.state.join(FOLDER)),
        source: io::Error::other(error),
    })
}

/// What a server said in its last runs, the latest first.
///
/// # Errors
/// The directory or a file in it cannot be trusted or read.
pub(crate) fn read(state: &State, digest: &Digest) -> Result<Vec<(RunId, String)>, StoreError> {
    let Some(folder) = folder(state, digest, false)? else {
        return Ok(Vec::new());
    };
    let mut texts = Vec::new();
    for (_, run) in runs(&folder) {
        if let Some(text) = folder.read(&format!("{run}.log"))? {
            texts.push((run, text));
        }
    }
    Ok(texts)
}

fn folder(state: &State, digest: &Digest, make: bool) -> Result<Option<Folder>, StoreError> {
    let Some(all) = state
        .folder()
        .map(|folder| folder.folder(FOLDER, make))
        .transpose()?
        .flatten()
    else {
        return Ok(None);
    };
    Ok(all.folder(digest.first_16(), make)?)
}

/// The runs in a directory of ours, the latest first. What has another name is not ours.
fn runs(folder: &Folder) -> Vec<(SystemTime, RunId)> {
    let entries = fs::read_dir(folder.path()).into_iter().flatten().flatten();
    let mut found: Vec<(SystemTime, RunId)> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let run = name.to_str()?.strip_suffix(".log")?.parse().ok()?;
            Some((entry.metadata().ok()?.modified().ok()?, run))
        })
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    found
}
