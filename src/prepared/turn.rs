//! One prepare of a home at a time: two runners that put together the same tree would spoil it.
//!
//! The lock is a byte for each home in one file, so that nothing is left over of homes that are
//! gone; the system lets go of it however a command ends. It bars no run: what was fetched before
//! stays usable meanwhile.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use super::FOLDER;
use super::fetch::Waiting;
use crate::declaration::LaunchDigest;
use crate::declaration::file::FileError;
use crate::declaration::store::State;
use crate::error::Error;
use crate::run::RunError;

const LOCK: &str = ".filling";
/// How often it is looked whether the other is done.
const LOOK: Duration = Duration::from_millis(50);

/// Held while a home is filled.
#[derive(Debug)]
pub(super) struct Turn {
    _lock: OwnedFd,
    /// Another prepare filled this home meanwhile.
    pub(super) waited: bool,
}

impl Turn {
    /// Waits until nobody else fills the home of a declaration, and says so where it has to;
    /// `None` where the person does not wait for that.
    ///
    /// # Errors
    /// The file that is locked is not ours; the system said no.
    pub(super) fn take(
        state: &State,
        launch: &LaunchDigest,
        waiting: &Waiting<'_>,
    ) -> Result<Option<Self>, Error> {
        let at = |error: FileError| RunError::from(error);
        let folder = state.make()?.make(FOLDER).map_err(at)?;
        let lock = folder.lock_file(LOCK).map_err(at)?;
        let failed = |error| at(FileError::io(&folder.path().join(LOCK), "locked", error));
        let mut waited = false;
        while !take(&lock, byte(launch)).map_err(failed)? {
            if !waited {
                (waiting.behind)();
            }
            waited = true;
            if waiting.interrupted.load(Ordering::Relaxed) {
                return Ok(None);
            }
            std::thread::sleep(LOOK);
        }
        Ok(Some(Self {
            _lock: lock,
            waited,
        }))
    }
}

/// Which byte of the file is a home's: no two homes have names that agree in so many digits.
fn byte(launch: &LaunchDigest) -> i64 {
    let digits = launch.home_name().get(..15).unwrap_or_default();
    i64::from_str_radix(digits, 16).unwrap_or_default()
}

/// Whether the lock on a byte could be had. It belongs to this opening of the file, not to the
/// process (`F_OFD_SETLK`), so that nothing else that closes the file lets go of it.
fn take(file: &OwnedFd, byte: i64) -> Result<bool, Errno> {
    let kind = |value: libc::c_int| libc::c_short::try_from(value).map_err(|_| Errno::EINVAL);
    let lock = libc::flock {
        l_type: kind(libc::F_WRLCK)?,
        l_whence: kind(libc::SEEK_SET)?,
        l_start: byte,
        l_len: 1,
        l_pid: 0,
    };
    match fcntl(file, FcntlArg::F_OFD_SETLK(&lock)) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES | Errno::EINTR) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_held_by_one_opening_and_let_go_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let open = || -> OwnedFd {
            let mut file = std::fs::OpenOptions::new();
            file.create(true).truncate(false).read(true).write(true);
            file.open(&path).unwrap().into()
        };
        let (one, two) = (open(), open());
        assert!(take(&one, 7).unwrap());
        assert!(!take(&two, 7).unwrap());
        // Another home's.
        assert!(take(&two, 8).unwrap());
        drop(one);
        assert!(take(&two, 7).unwrap());
    }
}
