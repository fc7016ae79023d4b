//! The one way in and out of files in the state directory: checked reading, atomic writing.
//!
//! Every name is looked up below the directory's own descriptor, so that nothing swaps the
//! directory in between. A file that is a link, has a second name, belongs to another user,
//! is open to others, has an access list, is no regular file or is too large is refused and left
//! as it is; the error's hint is the command that repairs it. What is trusted is in
//! [`super::trust`].

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, Flock, FlockArg, OFlag, openat};
use nix::sys::stat::{
    FchmodatFlags, FileStat, Mode, SFlag, fchmod, fchmodat, fstat, fstatat, mkdirat,
};

use super::trust::{self, kind};

mod locked;

pub(crate) use locked::Locked;
use locked::remove_half_written;

pub use super::file_error::{FileError, Problem};

/// The largest file that is read; `mcp.json` with ten thousand servers is smaller.
pub(super) const LARGEST: u64 = 16 << 20;
/// How long a command waits for another one that is writing.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
const LOCK: &str = ".lock";
/// What a file is called while it is written: the name between these two.
const FRESH: [&str; 2] = [".", ".new"];
/// Mode 0600.
pub(super) const PRIVATE: Mode = Mode::S_IRUSR.union(Mode::S_IWUSR);
const READING: OFlag = OFlag::O_RDONLY
    .union(OFlag::O_DIRECTORY)
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_CLOEXEC);

/// A directory of ours, held open.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(super) fd: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Holds a directory open; `path` is resolved and no link. `None` where nothing is there.
    ///
    /// # Errors
    /// It is no directory, or cannot be opened.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, FileError> {
        match nix::fcntl::open(path, READING, Mode::empty()) {
            Ok(fd) => Ok(Some(Self {
                fd,
                path: path.to_owned(),
            })),
            Err(Errno::ENOENT) => Ok(None),
            Err(Errno::ENOTDIR | Errno::ELOOP) => Err(FileError::new(path, Problem::NotADirectory)),
            Err(error) => match nix::sys::stat::lstat(path) {
                Ok(stat) if stat.st_uid != trust::own_id() => {
                    Err(FileError::new(path, Problem::Owner(stat.st_uid)))
                }
                _ => Err(FileError::io(path, "opened", error)),
            },
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that it is the person's. Open to others, it is closed to them: `true` says so.
    ///
    /// # Errors
    /// Another user's directory; one with an access list.
    pub(crate) fn own(&self) -> Result<bool, FileError> {
        let stat =
            fstat(&self.fd).map_err(|error| FileError::io(&self.path, "looked at", error))?;
        if stat.st_uid != trust::own_id() {
            return Err(FileError::new(&self.path, Problem::Owner(stat.st_uid)));
        }
        trust::no_access_list(&self.fd, true)
            .map_err(|problem| FileError::new(&self.path, problem))?;
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
        let open = || openat(&self.fd, name, READING, Mode::empty());
        let opened = match open() {
            Err(Errno::ENOENT) if make => {
                self.make_folder(name)?;
                open()
            }
            opened => opened,
        };
        let fd = match opened {
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

    fn make_folder(&self, name: &str) -> Result<(), FileError> {
        let failed = |error| FileError::io(&self.path.join(name), "made", error);
        match mkdirat(&self.fd, name, Mode::S_IRWXU) {
            // Whatever the caller's umask takes away.
            Ok(()) => fchmodat(&self.fd, name, Mode::S_IRWXU, FchmodatFlags::FollowSymlink)
                .map_err(failed),
            Err(Errno::EEXIST) => Ok(()),
            Err(error) => Err(failed(error)),
        }
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
        let Some(fd) = self.open_file(name, OFlag::O_RDONLY)? else {
            return Ok(None);
        };
        let file = File::from(fd);
        // All at once, as a rule.
        let size = file.metadata().map_or(0, |found| found.len().min(LARGEST));
        let room = usize::try_from(size.saturating_add(1)).unwrap_or_default();
        let mut bytes = Vec::with_capacity(room);
        file.take(LARGEST.saturating_add(1))
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

    /// Whether something stands under a name.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub(crate) fn has(&self, name: &str) -> Result<bool, FileError> {
        Ok(self.stat(name)?.is_some())
    }

    /// When what stands under a name was written last, seconds and nanoseconds of the epoch; `None`
    /// for nothing.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub(crate) fn written(&self, name: &str) -> Result<Option<(i64, i64)>, FileError> {
        let stat = self.stat(name)?;
        Ok(stat.map(|stat| (stat.st_mtime, stat.st_mtime_nsec)))
    }

    /// Opens a file of ours; `None` where it is not there.
    pub(super) fn open_file(
        &self,
        name: &str,
        access: OFlag,
    ) -> Result<Option<OwnedFd>, FileError> {
        let path = self.path.join(name);
        let fail = |problem| FileError::new(&path, problem);
        // Looked at before it is opened: opening a device or a FIFO may act or hang.
        match self.stat(name)? {
            Some(stat) => trust::file(&stat).map_err(fail)?,
            None => return Ok(None),
        }
        let flags =
            access | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC | OFlag::O_NOCTTY;
        let fd = match openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::ENOENT) => return Ok(None),
            Err(Errno::ELOOP) => return Err(fail(Problem::Link)),
            Err(error) => return Err(FileError::io(&path, "opened", error)),
        };
        let stat = fstat(&fd).map_err(|error| FileError::io(&path, "looked at", error))?;
        trust::file(&stat).map_err(fail)?;
        trust::no_access_list(&fd, false).map_err(fail)?;
        Ok(Some(fd))
    }

    /// What stands under a name, itself and not what it leads to; `None` for nothing.
    fn stat(&self, name: &str) -> Result<Option<FileStat>, FileError> {
        match fstatat(&self.fd, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::ENOENT) => Ok(None),
            Err(error) => Err(FileError::io(&self.path.join(name), "looked at", error)),
        }
    }

    /// Takes the lock under which everything here is written; it is let go when the value is
    /// dropped, and by the system when the command ends however it ends. What killed commands
    /// left half written is removed.
    ///
    /// # Errors
    /// Another command holds it for too long; the lock file is not ours.
    pub(crate) fn lock(&self) -> Result<Locked<'_>, FileError> {
        self.lock_within(PATIENCE)
    }

    /// The same for who cannot wait that long, with the same errors.
    pub(crate) fn lock_within(&self, patience: Duration) -> Result<Locked<'_>, FileError> {
        let path = self.path.join(LOCK);
        let start = Instant::now();
        loop {
            let fd = self.lock_file(LOCK)?;
            match Flock::lock(fd, FlockArg::LockExclusiveNonblock) {
                Ok(lock) if self.is_still(LOCK, &lock)? => {
                    a_size_limit_is_an_error();
                    return Ok(Locked {
                        folder: self,
                        _lock: lock,
                        names: remove_half_written(self),
                    });
                }
                // Somebody removed the file, and the next command would lock another one.
                Ok(_) => {}
                Err((_, Errno::EWOULDBLOCK | Errno::EINTR)) if start.elapsed() < patience => {}
                Err((_, Errno::EWOULDBLOCK)) => return Err(FileError::new(&path, Problem::Locked)),
                Err((_, error)) => return Err(FileError::io(&path, "locked", error)),
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// A file that is locked and never written, made where it is missing.
    ///
    /// # Errors
    /// It is not ours, or cannot be made.
    pub(crate) fn lock_file(&self, name: &str) -> Result<OwnedFd, FileError> {
        let path = self.path.join(name);
        let failed = |error| FileError::io(&path, "opened", error);
        loop {
            let opened = self.open_file(name, OFlag::O_RDWR);
            if let Ok(Some(fd)) = opened {
                return Ok(fd);
            }
            // One made under a umask that takes everything away, by a command killed right then.
            match self.stat(name)? {
                Some(stat) if trust::file(&stat).is_ok() && stat.st_mode & 0o600 != 0o600 => {
                    fchmodat(&self.fd, name, PRIVATE, FchmodatFlags::FollowSymlink)
                        .map_err(failed)?;
                    continue;
                }
                _ => drop(opened?),
            }
            let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
            match openat(&self.fd, name, flags, PRIVATE) {
                Ok(fd) => {
                    fchmod(&fd, PRIVATE).map_err(failed)?;
                    return Ok(fd);
                }
                Err(Errno::EEXIST) => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    fn is_still(&self, name: &str, held: &OwnedFd) -> Result<bool, FileError> {
        let path = self.path.join(name);
        let held = fstat(held).map_err(|error| FileError::io(&path, "looked at", error))?;
        let named = self.stat(name)?;
        Ok(named.is_some_and(|named| (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)))
    }
}

/// Without a handler, `RLIMIT_FSIZE` ends the command in the middle of a write; with one the
/// write fails, and is answered like a full disk (setrlimit(2)).
fn a_size_limit_is_an_error() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Where it cannot be set, the file that stood there stands all the same.
        let _ = signal_hook::flag::register(
            signal_hook::consts::SIGXFSZ,
            Arc::new(AtomicBool::new(false)),
        );
    });
}
