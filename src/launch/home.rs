//! The private home of a declaration and its temporary directory.
#![expect(
    clippy::disallowed_methods,
    reason = "the room `launch` makes the private home"
)]

use std::collections::hash_map::RandomState;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg, OFlag};
use nix::libc;
use nix::sys::stat::Mode;
use nix::unistd::geteuid;
use rustix::fs::Dir;

use super::{LaunchError, give};
use crate::confine::linux::ids;
use crate::confine::spec::Ids;
use crate::declaration::LaunchDigest;
use crate::plan::Plan;

/// How often a home is made anew that somebody removes meanwhile.
const ATTEMPTS: usize = 8;
/// Where Node keeps what it compiled, for a server that asks for it (`module.enableCompileCache`): of
/// use to the next start alone, which takes a tenth of a second more without.
const COMPILED: &str = "node-compile-cache";

/// A home in use. While it lives, no other start empties the temporary directory in it.
#[derive(Debug)]
pub struct Home {
    _held: Held,
}

/// By what a home is held.
#[derive(Debug)]
enum Held {
    /// The lock on the file beside it.
    Lock { _lock: Flock<File> },
    /// It is this run's alone, and goes with it.
    Alone { _home: Temporary },
}

/// A directory that is removed with the value.
#[derive(Debug)]
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Err(error) = empty(&self.0) {
            tracing::warn!(home = %self.0.display(), %error, "a temporary home is left");
        }
    }
}

/// A name for a home that is one run's alone; nobody can have guessed it.
pub(super) fn temporary_name() -> PathBuf {
    // Keyed anew in each process, from the system's random numbers.
    let number = RandomState::new().build_hasher().finish();
    PathBuf::from(format!("/tmp/supervisor-{number:016x}"))
}

impl Home {
    /// Makes the home of one run, mode 0700, and removes it with the value.
    ///
    /// # Errors
    /// [`LaunchError::Home`]: something stands there, or the system refuses.
    pub fn temporary(plan: &Plan, ids: Option<Ids>) -> Result<Self, LaunchError> {
        DirBuilder::new()
            .mode(0o700)
            .create(&plan.home)
            .map_err(|source| LaunchError::Home {
                path: plan.home.clone(),
                source,
            })?;
        let home = Temporary(plan.home.clone());
        private_directory(&plan.tmp)?;
        give::give(&plan.home, ids)?;
        Ok(Self {
            _held: Held::Alone { _home: home },
        })
    }

    /// Makes the home and its temporary directory, mode 0700, and empties the latter unless
    /// another run of the same declaration is using it.
    ///
    /// # Errors
    /// [`LaunchError::ForeignHome`] where the directory is a link, another person's, or beside
    /// the digest of another declaration; [`LaunchError::Home`] where the system refuses.
    pub fn open(plan: &Plan, digest: &LaunchDigest, ids: Option<Ids>) -> Result<Self, LaunchError> {
        for _ in 0..ATTEMPTS {
            if let Some(home) = Self::hold(plan, digest, ids)? {
                return Ok(home);
            }
        }
        Err(LaunchError::Home {
            path: plan.home.clone(),
            source: io::Error::other("it is removed as often as it is made"),
        })
    }

    /// The same; `None` where the home was removed between the making and the lock.
    fn hold(
        plan: &Plan,
        digest: &LaunchDigest,
        ids: Option<Ids>,
    ) -> Result<Option<Self>, LaunchError> {
        let home = &plan.home;
        let at = |source| LaunchError::Home {
            path: home.clone(),
            source,
        };
        if let Some(homes) = home.parent() {
            private_directory(homes)?;
        }
        let mark = mark(home, digest)?;
        private_directory(home)?;
        let lock = match Flock::lock(mark, FlockArg::LockExclusiveNonblock) {
            Ok(alone) => {
                // A tree deeper than this process may hold open does not keep it from starting.
                empty_but_compiled(&plan.tmp)
                    .or_else(|_| empty(&plan.tmp))
                    .or_else(|_| set_aside(&plan.tmp))
                    .map_err(at)?;
                alone
                    .relock(FlockArg::LockShared)
                    .map_err(|errno| at(errno.into()))?;
                alone
            }
            // Another run uses it, or empties it this moment: then this waits until it is done.
            Err((mark, nix::Error::EWOULDBLOCK)) => {
                Flock::lock(mark, FlockArg::LockShared).map_err(|(_, errno)| at(errno.into()))?
            }
            Err((_, errno)) => return Err(at(errno.into())),
        };
        if lock.metadata().map_err(at)?.nlink() == 0 {
            return Ok(None);
        }
        private_directory(&plan.tmp)?;
        give::give(home, ids)?;
        Ok(Some(Self {
            _held: Held::Lock { _lock: lock },
        }))
    }
}

/// The directory, made if need be, the person's own (or their server's, where that has ids of
/// its own), no link, mode 0700 (a server may have changed the mode of its home).
fn private_directory(path: &Path) -> Result<(), LaunchError> {
    let at = |source| LaunchError::Home {
        path: path.to_owned(),
        source,
    };
    let foreign = |why| LaunchError::ForeignHome {
        path: path.to_owned(),
        why,
    };
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(source) => return Err(at(source)),
    }
    let held = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_PATH)
        .open(path)
        .map_err(|error| match error.raw_os_error() {
            Some(libc::ELOOP | libc::ENOTDIR) => foreign("it is no directory"),
            _ => at(error),
        })?;
    let metadata = held.metadata().map_err(at)?;
    // Root's servers have ids of their own, as far as this machine has them to give.
    let servers = geteuid().is_root() && ids::is_servers(metadata.uid());
    if metadata.uid() != geteuid().as_raw() && !servers {
        return Err(foreign("it belongs to another user"));
    }
    if metadata.mode() & 0o7777 != 0o700 {
        open_to_owner(&held).map_err(at)?;
    }
    Ok(())
}

/// The file beside the home that holds the whole digest; the home's name holds its beginning.
fn mark(home: &Path, digest: &LaunchDigest) -> Result<File, LaunchError> {
    let path = home.with_extension("digest");
    let at = |source| LaunchError::Home {
        path: path.clone(),
        source,
    };
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(&path)
        .map_err(at)?;
    let found = file.metadata().map_err(at)?;
    if !found.is_file() || found.nlink() > 1 || found.uid() != geteuid().as_raw() {
        return Err(LaunchError::ForeignHome {
            path,
            why: "it is no regular file of yours",
        });
    }
    // Whatever the umask took away: the next start opens it too.
    file.set_permissions(Permissions::from_mode(0o600))
        .map_err(at)?;
    let mut text = String::new();
    (&mut file)
        .take(128)
        .read_to_string(&mut text)
        .map_err(at)?;
    match text.trim_end() {
        // New, or cut short by a crash before a first start.
        "" => {
            file.seek(SeekFrom::Start(0)).map_err(at)?;
            file.write_all(digest.as_str().as_bytes()).map_err(at)?;
            Ok(file)
        }
        same if same == digest.as_str() => Ok(file),
        _ => Err(LaunchError::ForeignHome {
            path: home.to_owned(),
            why: "another declaration's digest stands beside it",
        }),
    }
}

/// Removes all that lies in a temporary directory but what Node compiled; what is no directory
/// itself, or does not open, goes whole.
fn empty_but_compiled(tmp: &Path) -> io::Result<()> {
    let how = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let opened = nix::fcntl::open(tmp, how, Mode::empty()).ok();
    let Some(listed) = opened.and_then(|tmp| Dir::new(tmp).ok()) else {
        return empty(tmp);
    };
    for entry in listed {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." && !(name == COMPILED && is_directory(&tmp.join(name))) {
            empty(&tmp.join(name))?;
        }
    }
    Ok(())
}

/// Not followed.
fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Removes a directory with all in it, whatever a server made of it: a link in its place is
/// removed and not followed, a directory without permissions is opened up first.
pub(crate) fn empty(path: &Path) -> io::Result<()> {
    match remove(path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            open_up(path)?;
            remove(path)
        }
        other => other,
    }
}

fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Moves a temporary directory beside the home that it lies in, where no server reaches it.
fn set_aside(path: &Path) -> io::Result<()> {
    let home = path.parent().ok_or(ErrorKind::InvalidInput)?;
    let (name, homes) = home
        .file_name()
        .zip(home.parent())
        .ok_or(ErrorKind::InvalidInput)?;
    let aside = tempfile::Builder::new()
        .prefix(name)
        .suffix(".left")
        .tempdir_in(homes)?
        .keep();
    fs::rename(path, aside.join("tmp"))
}

/// Gives every directory below a path to its owner, each by its descriptor: a link is not
/// followed, whoever swaps it in.
fn open_up(path: &Path) -> io::Result<()> {
    let mut waiting: Vec<PathBuf> = vec![path.to_owned()];
    while let Some(directory) = waiting.pop() {
        let held = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_PATH)
            .open(&directory)?;
        open_to_owner(&held)?;
        for entry in fs::read_dir(own(&held))? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                waiting.push(directory.join(entry.file_name()));
            }
        }
    }
    Ok(())
}

/// A held file by a path that leads to it, whatever is renamed.
fn own(held: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()))
}

fn open_to_owner(held: &File) -> io::Result<()> {
    fs::set_permissions(own(held), Permissions::from_mode(0o700))
}

#[cfg(test)]
#[path = "home_tests.rs"]
mod tests;
