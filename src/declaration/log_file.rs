//! Files of the state directory that are written bit by bit: opened for that, found and removed.
//!
//! Trusted by the same rules as the files that are written whole ([`super::file`]).

use std::fs::File;

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::fchmod;
use nix::unistd::{UnlinkatFlags, unlinkat};
use rustix::fs::Dir;

use super::file::{FileError, Folder, PRIVATE};

impl Folder {
    /// A directory of ours inside, made with mode 0700 where it is missing.
    ///
    /// # Errors
    /// A link, another user's, no directory; the system said no.
    pub(crate) fn make(&self, name: &str) -> Result<Self, FileError> {
        let missing = || FileError::io(&self.path().join(name), "made", Errno::ENOENT);
        self.folder(name, true)?.ok_or_else(missing)
    }

    /// Opens a file of ours to read and write it, made with mode 0600 where it is missing; with
    /// `append`, what is written goes to its end.
    ///
    /// # Errors
    /// What is wrong with it; it is left as it is.
    pub(crate) fn open_to_write(&self, name: &str, append: bool) -> Result<File, FileError> {
        let access = if append {
            OFlag::O_RDWR | OFlag::O_APPEND
        } else {
            OFlag::O_RDWR
        };
        let failed = |error| FileError::io(&self.path().join(name), "opened", error);
        loop {
            if let Some(fd) = self.open_file(name, access)? {
                return Ok(File::from(fd));
            }
            let flags = access | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
            match openat(&self.fd, name, flags, PRIVATE) {
                Ok(fd) => {
                    // Whatever the caller's umask takes away.
                    fchmod(&fd, PRIVATE).map_err(failed)?;
                    return Ok(File::from(fd));
                }
                Err(Errno::EEXIST) => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Opens a file of ours to read it; `None` where it is not there.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn open_to_read(&self, name: &str) -> Result<Option<File>, FileError> {
        Ok(self.open_file(name, OFlag::O_RDONLY)?.map(File::from))
    }

    /// The names of what is in it, sorted.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn names(&self) -> Result<Vec<String>, FileError> {
        let failed = |error: rustix::io::Errno| {
            FileError::io(self.path(), "read", Errno::from_raw(error.raw_os_error()))
        };
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.fd).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            names.extend(entry.file_name().to_str().ok().map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }

    /// Removes a file in it, where it is there.
    ///
    /// # Errors
    /// The system said no.
    pub(crate) fn remove(&self, name: &str) -> Result<(), FileError> {
        match unlinkat(&self.fd, name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(error) => Err(FileError::io(&self.path().join(name), "removed", error)),
        }
    }
}
