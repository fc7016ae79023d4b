//! What servers said beside the protocol in their last runs.
//!
//! `logs/<first 16 digits of the digest>/<run>.log`, mode 0600, the last ten of each
//! declaration: the end of its standard error and of what it wrote to standard output that was no
//! message, at most 64 KiB, every character printable, the values it was given left out. How a
//! run ended is in its receipt.

use std::io;

use super::LaunchError;
use super::by_run::{Kept, Kind};
use super::run_id::RunId;
use crate::declaration::Digest;
use crate::declaration::store::{State, StoreError};

const LOGS: Kind = Kind {
    folder: "logs",
    suffix: ".log",
    kept: 10,
};

/// Keeps what a server said in a run, in the place of the oldest of its declaration.
///
/// # Errors
/// The directory or a file in it cannot be trusted or written.
pub(crate) fn keep(
    state: &State,
    digest: &Digest,
    run: RunId,
    text: &str,
) -> Result<(), LaunchError> {
    LOGS.keep(state, (digest, run), text)
        .map_err(|error| LaunchError::Log {
            place: crate::text::path(&state.path().join(LOGS.folder)),
            source: io::Error::other(error),
        })
}

/// What a server said in its last runs, the latest first.
///
/// # Errors
/// The directory or a file in it cannot be trusted or read.
pub(crate) fn read(state: &State, digest: &Digest) -> Result<Vec<(RunId, String)>, StoreError> {
    let last = LOGS.last(state, digest)?.into_iter();
    let read = last.map(|Kept { run, text, .. }| Ok((run, text?)));
    read.collect()
}
