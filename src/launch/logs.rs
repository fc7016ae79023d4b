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

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

use nix::libc;

use super::run_id::RunId;
use super::{LaunchError, by_run};
use crate::declaration::Digest;
use crate::declaration::file::{FileError, Problem};
use crate::declaration::store::{State, StoreError};

const FOLDER: &str = "logs";
const SUFFIX: &str = ".log";
/// So many runs of one declaration are kept.
pub(crate) const KEPT: usize = 10;

/// Keeps what a server said in a run, and removes the oldest of its declaration. The disk is not
/// waited for: a host may wait for our end.
///
/// # Errors
/// The directory or a file in it cannot be trusted or written.
pub(crate) fn keep(
    state: &State,
    digest: &Digest,
    run: RunId,
    text: &str,
) -> Result<(), LaunchError> {
    let kept = || -> Result<(), StoreError> {
        let Some(folder) = by_run::folder(state, FOLDER, digest, true)? else {
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
        by_run::drop_oldest(&folder, SUFFIX, KEPT);
        Ok(())
    };
    kept().map_err(|error| LaunchError::Log {
        place: crate::text::path(&state.path().join(FOLDER)),
        source: io::Error::other(error),
    })
}

/// What a server said in its last runs, the latest first.
///
/// # Errors
/// The directory or a file in it cannot be trusted or read.
pub(crate) fn read(state: &State, digest: &Digest) -> Result<Vec<(RunId, String)>, StoreError> {
    let Some(folder) = by_run::folder(state, FOLDER, digest, false)? else {
        return Ok(Vec::new());
    };
    let mut texts = Vec::new();
    for (_, run) in by_run::runs(&folder, SUFFIX, KEPT) {
        if let Some(text) = folder.read(&format!("{run}.log"))? {
            texts.push((run, text));
        }
    }
    Ok(texts)
}
