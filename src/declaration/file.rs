//! The one way in and out of files in the state directory: checked reading, atomic writing.
//!
//! Every name is looked up below the directory's own descriptor, so that nothing swaps the
//! directory in between. A file that is a link, has a second name, belongs to another user,
//! is open to others, is no regular file or is too large is refused and left as it is; the
//! error's hint is the command that repairs it.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, Flock, FlockArg, OFlag, openat, renameat};
use nix::sys::stat::{FileStat, Mode, SFlag, fchmod, fstat, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, fsync, geteuid, unlinkat};

pub use super::file_error::{FileError, Problem};

/// The largest file that is read; `mcp.json` with ten thousand servers is smaller.
pub(super) const LARGEST: u64 = 16 << 20;
/// How long a command waits for another one that is writing.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
const LOCK: &str = ".lock";

/// A directory of ours, held open.
#[derive(Debug)]
pub(crate) struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Holds a directory open; `path` is resolved and no link. `None` where nothing is there.
    ///
    /// # Errors
    /// It is no directory, or cannot be opened.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, FileError> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        match nix::fcntl::open(path, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(Self {
                fd,
                path: path.to_owned(),
            })),
            Err(Errno::ENOENT) => Ok(None),
            Err(Errno::ENOTDIR | Errno::ELOOP) => Err(FileError::new(path, Problem::NotADirectory)),
            Err(error) => Err(FileError::io(path, "opened", error)),
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that it is the person's. Open to others, it is closed to them: `true` says so.
    ///
    /// # Errors
    /// Another user's directory.
    pub(crate) fn own(&self) -> Result<bool, FileError> {
        let stat =
            fstat(&self.fd).map_err(|error| FileError::io(&self.path, "looked at", error))?;
        if stat.st_uid != geteuid().as_raw() {
            return Err(FileError::new(&self.path, Problem::Owner(stat.st_uid)));
        }
        if stat.st_mode & 0o777 == 0o700 {
            return Ok(false);
        }
        fchmod(&self.fd, Mode::S_IRWXU)
            .map_err(|error| FileError::io(&self.path, "closed to others", error))?;
        Ok(true)
    }

    /// A directory of ours inside, made with mode 0700 where it is missing and `make` says so.
    ///
    /// # Errors
    /// A link, another user's, no directory.
    pub(crate) fn folder(&self, name: &str, make: bool) -> Result<Option<Self>, FileError> {
        let path = self.path.join(name);
        if make {
            match mkdirat(&self.fd, name, Mode::S_IRWXU) {
                Ok(()) | Err(Errno::EEXIST) => {}
                Err(error) => return Err(FileError::io(&path, "made", error)),
            }
        }
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let fd = match openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::ENOENT) => return Ok(None),
            Err(Errno::ENOTDIR | Errno::ELOOP) => {
                return Err(FileError::new(&path, self.why_no_folder(name)));
            }
            Err(error) => return Err(FileError::io(&path, "opened", error)),
        };
        let folder = Self { fd, path };
        folder.own()?;
        Ok(Some(folder))
    }

    fn why_no_folder(&self, name: &str) -> Problem {
        match fstatat(&self.fd, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(stat) if kind(&stat) == SFlag::S_IFLNK => Problem::Link,
            _ => Problem::NotADirectory,
        }
    }

    /// Reads a file of ours; `None` where it is not there.
    ///
    /// # Errors
    /// What is wrong with it; it is left as it is.
    pub(crate) fn read(&self, name: &str) -> Result<Option<String>, FileError> {
        let path = self.path.join(name);
        let fail = |problem| FileError::new(&path, problem);
        // Looked at before it is opened: opening a device or a FIFO may act or hang.
        match fstatat(&self.fd, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(stat) => check(&stat).map_err(fail)?,
            Err(Errno::ENOENT) => return Ok(None),
            Err(error) => return Err(FileError::io(&path, "looked at", error)),
        }
        let flags = OFlag::O_RDONLY
            | OFlag::O_NOFOLLOW
            | OFlag::O_NONBLOCK
            | OFlag::O_CLOEXEC
            | OFlag::O_NOCTTY;
        let fd = match openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::ENOENT) => return Ok(None),
            Err(Errno::ELOOP) => return Err(fail(Problem::Link)),
            Err(error) => return Err(FileError::io(&path, "opened", error)),
        };
        let stat = fstat(&fd).map_err(|error| FileError::io(&path, "looked at", error))?;
        check(&stat).map_err(fail)?;
        let mut bytes = Vec::new();
        File::from(fd)
            .take(LARGEST.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| {
                fail(Problem::Io {
                    doing: "read",
                    error,
                })
            })?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length > LARGEST) {
            return Err(fail(Problem::TooLarge));
        }
        let not_text =
            |error: std::string::FromUtf8Error| Problem::NotUtf8(error.utf8_error().valid_up_to());
        String::from_utf8(bytes)
            .map(Some)
            .map_err(|error| fail(not_text(error)))
    }

    /// Takes the lock under which everything here is written; it is let go when the value is
    /// dropped, and by the system when the command ends however it ends.
    ///
    /// # Errors
    /// Another command holds it for too long; the lock file is not ours.
    pub(crate) fn lock(&self) -> Result<Locked<'_>, FileError> {
        let path = self.path.join(LOCK);
        let flags = OFlag::O_RDWR
            | OFlag::O_CREAT
            | OFlag::O_NOFOLLOW
            | OFlag::O_NONBLOCK
            | OFlag::O_CLOEXEC;
        let mut fd =
            openat(&self.fd, LOCK, flags, Mode::S_IRUSR | Mode::S_IWUSR).map_err(|error| {
                match error {
                    Errno::ELOOP => FileError::new(&path, Problem::Link),
                    Errno::EISDIR => FileError::new(&path, Problem::NotAFile),
                    error => FileError::io(&path, "opened", error),
                }
            })?;
        let stat = fstat(&fd).map_err(|error| FileError::io(&path, "looked at", error))?;
        if kind(&stat) != SFlag::S_IFREG {
            return Err(FileError::new(&path, Problem::NotAFile));
        }
        let start = Instant::now();
        loop {
            match Flock::lock(fd, FlockArg::LockExclusiveNonblock) {
                Ok(lock) => {
                    return Ok(Locked {
                        folder: self,
                        _lock: lock,
                    });
                }
                Err((back, Errno::EWOULDBLOCK | Errno::EINTR)) if start.elapsed() < PATIENCE => {
                    fd = back
                }
                Err((_, Errno::EWOULDBLOCK)) => return Err(FileError::new(&path, Problem::Locked)),
                Err((_, error)) => return Err(FileError::io(&path, "locked", error)),
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A directory of ours under its lock: the only way to write in it.
#[derive(Debug)]
pub(crate) struct Locked<'a> {
    folder: &'a Folder,
    _lock: Flock<OwnedFd>,
}

impl Locked<'_> {
    /// The directory.
    pub(crate) fn folder(&self) -> &Folder {
        self.folder
    }

    /// Writes a file of the directory, whole or not at all, with mode 0600.
    ///
    /// # Errors
    /// The system said no; what stood there stands.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), FileError> {
        write(self.folder, name, text)
    }

    /// Writes a file of a directory inside, made where it is missing.
    ///
    /// # Errors
    /// As [`Locked::write`].
    pub(crate) fn write_in(&self, folder: &str, name: &str, text: &str) -> Result<(), FileError> {
        match self.folder.folder(folder, true)? {
            Some(inner) => write(&inner, name, text),
            None => Err(FileError::io(
                &self.folder.path.join(folder),
                "made",
                Errno::ENOENT,
            )),
        }
    }

    /// Removes a file of a directory inside, where it is there.
    ///
    /// # Errors
    /// The system said no.
    pub(crate) fn remove_in(&self, folder: &str, name: &str) -> Result<(), FileError> {
        let Some(inner) = self.folder.folder(folder, false)? else {
            return Ok(());
        };
        match unlinkat(&inner.fd, name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(error) => Err(FileError::io(&inner.path.join(name), "removed", error)),
        }
    }
}

fn write(folder: &Folder, name: &str, text: &str) -> Result<(), FileError> {
    let path = folder.path.join(name);
    let fail = |doing| move |error: Errno| (doing, error);
    let put = || -> Result<(), (&'static str, Errno)> {
        // One name is enough, since writers hold the lock; one left by a killed command goes.
        let fresh = format!(".{name}.new");
        match unlinkat(&folder.fd, fresh.as_str(), UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => {}
            Err(error) => return Err(("written", error)),
        }
        let flags =
            OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mode = Mode::S_IRUSR | Mode::S_IWUSR;
        let fd = openat(&folder.fd, fresh.as_str(), flags, mode).map_err(fail("written"))?;
        // Whatever the caller's umask and the directory's default ACL say.
        fchmod(&fd, mode).map_err(fail("written"))?;
        let mut file = File::from(fd);
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| file.sync_all());
        if let Err(error) = written {
            // What is half written takes room that is short already; the error matters more.
            let _ = unlinkat(&folder.fd, fresh.as_str(), UnlinkatFlags::NoRemoveDir);
            return Err((
                "written",
                error.raw_os_error().map_or(Errno::EIO, Errno::from_raw),
            ));
        }
        renameat(&folder.fd, fresh.as_str(), &folder.fd, name).map_err(fail("replaced"))?;
        fsync(folder.fd.as_fd()).map_err(fail("written"))
    };
    put().map_err(|(doing, error)| FileError::io(&path, doing, error))
}

fn kind(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT
}

fn check(stat: &FileStat) -> Result<(), Problem> {
    match kind(stat) {
        SFlag::S_IFREG => {}
        SFlag::S_IFLNK => return Err(Problem::Link),
        _ => return Err(Problem::NotAFile),
    }
    if stat.st_uid != geteuid().as_raw() {
        return Err(Problem::Owner(stat.st_uid));
    }
    // An ACL that lets others in shows here too: the group bits are its mask.
    if stat.st_mode & 0o077 != 0 {
        return Err(Problem::Mode(stat.st_mode & 0o777));
    }
    if stat.st_nlink > 1 {
        return Err(Problem::HardLink);
    }
    if u64::try_from(stat.st_size).is_ok_and(|size| size > LARGEST) {
        return Err(Problem::TooLarge);
    }
    Ok(())
}
