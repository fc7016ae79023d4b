//! What was written on its way to the disk, which takes as long as the rest of a run's end.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::error::AuditError;

/// Bytes of the stack of the thread that waits for the disk.
const STACK: usize = 64 << 10;

/// What was written on its way to the disk.
#[derive(Debug)]
#[must_use]
pub struct Syncing(Option<(PathBuf, Synced)>);

#[derive(Debug)]
enum Synced {
    /// By a thread, which does no more.
    Soon(JoinHandle<io::Result<()>>),
    Now(io::Result<()>),
}

impl Syncing {
    /// Nothing was written.
    pub(super) const fn nothing() -> Self {
        Self(None)
    }

    /// Has a file reach the disk, beside what the caller does.
    pub(super) fn begin(path: PathBuf, file: File) -> Self {
        let file = Arc::new(file);
        let theirs = Arc::clone(&file);
        let sync = move || theirs.sync_data();
        let thread = thread::Builder::new().stack_size(STACK).spawn(sync);
        // It begins at once, where it was put behind this one on its processor.
        thread::yield_now();
        // Where the person may have no more threads it takes its time here.
        let synced = thread.map_or_else(|_| Synced::Now(file.sync_data()), Synced::Soon);
        Self(Some((path, synced)))
    }

    /// Waits until it is there.
    ///
    /// # Errors
    /// The system says that it is not.
    pub fn synced(self) -> Result<(), AuditError> {
        let Some((path, synced)) = self.0 else {
            return Ok(());
        };
        let synced = match synced {
            Synced::Now(synced) => synced,
            Synced::Soon(thread) => {
                let ended = || {
                    Err(io::Error::other(
                        "the thread that waits for the disk has ended",
                    ))
                };
                thread.join().unwrap_or_else(|_| ended())
            }
        };
        synced.map_err(|source| AuditError::Write { path, source })
    }
}
