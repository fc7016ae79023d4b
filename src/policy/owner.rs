//! Whether a file, and every directory above it, is root's alone; and its text.
//!
//! Walks down from `/` by descriptor and follows nothing, so that what is checked is what is
//! read.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat};
use rustix::fs::Dir;

use super::problem::{Cause, FileProblem, LARGEST, MOST};
use crate::plan::links::follow;

/// Whether a file must be root's alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// It is installed: root's, as is everything above it; no link on the way.
    Installed,
    /// It is handed to a command by its reader: any file.
    Named,
}

/// A directory held open.
pub(crate) struct Folder {
    fd: OwnedFd,
    path: PathBuf,
    trust: Trust,
}

impl Folder {
    /// Walks down to a directory; `None` where it, or one above it, is not there.
    ///
    /// # Errors
    /// A directory on the way that others may change, a link, what is no directory.
    pub(crate) fn installed(path: &Path) -> Result<Option<Self>, FileProblem> {
        let root = Path::new("/");
        let fd = nix::fcntl::open(root, HOLDING, Mode::empty())
            .map_err(|error| FileProblem::io(root, "opened", error))?;
        let mut folder = Self {
            fd,
            path: root.to_owned(),
            trust: Trust::Installed,
        };
        folder.check()?;
        for part in path.components().filter(|part| *part != Component::RootDir) {
            match folder.below(part.as_os_str().as_ref())? {
                Some(next) => folder = next,
                None => return Ok(None),
            }
        }
        Ok(Some(folder))
    }

    /// A directory that a command was handed; `None` where it is none.
    ///
    /// # Errors
    /// It is not there, or cannot be opened.
    pub(crate) fn named(path: &Path) -> Result<Option<Self>, FileProblem> {
        match nix::fcntl::open(path, HOLDING, Mode::empty()) {
            Ok(fd) => Ok(Some(Self {
                fd,
                // A file is named as it was typed.
                path: path.strip_prefix(".").unwrap_or(path).to_owned(),
                trust: Trust::Named,
            })),
            Err(Errno::ENOTDIR) => Ok(None),
            Err(Errno::ENOENT) => Err(FileProblem::new(path, Cause::Missing)),
            Err(error) => Err(FileProblem::io(path, "opened", error)),
        }
    }

    /// A directory in this one.
    ///
    /// # Errors
    /// As [`Folder::installed`].
    pub(crate) fn below(&self, name: &Path) -> Result<Option<Self>, FileProblem> {
        let path = self.path.join(name);
        let Some(stat) = self.stat(name)? else {
            return Ok(None);
        };
        match kind(&stat) {
            SFlag::S_IFDIR => {}
            SFlag::S_IFLNK => return Err(FileProblem::new(&path, Cause::Link)),
            _ => return Err(FileProblem::new(&path, Cause::NotADirectory)),
        }
        let fd = openat(
            &self.fd,
            name,
            HOLDING.union(self.unfollowed()),
            Mode::empty(),
        )
        .map_err(|error| FileProblem::io(&path, "opened", error))?;
        let folder = Self {
            fd,
            path,
            trust: self.trust,
        };
        folder.check()?;
        Ok(Some(folder))
    }

    fn check(&self) -> Result<(), FileProblem> {
        let stat =
            fstat(&self.fd).map_err(|error| FileProblem::io(&self.path, "looked at", error))?;
        roots_alone(self.trust, &stat).map_err(|cause| FileProblem::new(&self.path, cause))
    }

    /// The names of its `*.json`, sorted, but for those that begin with a dot.
    ///
    /// # Errors
    /// It cannot be read; it holds too many.
    pub(crate) fn json_names(&self) -> Result<Vec<PathBuf>, FileProblem> {
        let failed = |error: std::io::Error| FileProblem::io(&self.path, "read", error);
        // Held by a descriptor that does not read.
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let fd = openat(&self.fd, ".", flags, Mode::empty()).map_err(|e| failed(e.into()))?;
        let mut names = Vec::new();
        for entry in Dir::read_from(&fd).map_err(|error| failed(error.into()))? {
            let entry = entry.map_err(|error| failed(error.into()))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".json") && !name.starts_with('.') {
                names.push(PathBuf::from(name));
            }
            if names.len() > MOST {
                return Err(FileProblem::new(&self.path, Cause::TooMany));
            }
        }
        names.sort();
        Ok(names)
    }

    /// The path of what stands in it.
    pub(crate) fn path(&self, name: &Path) -> PathBuf {
        self.path.join(name)
    }

    /// The text of a file in it, and its owner where that counts; `None` where it is not there.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(&self, name: &Path) -> Result<Option<(String, Option<u32>)>, FileProblem> {
        let path = self.path(name);
        let fail = |cause| FileProblem::new(&path, cause);
        // Looked at before it is opened: opening a device or a FIFO may act or hang.
        let Some(stat) = self.stat(name)? else {
            return Ok(None);
        };
        is_file(self.trust, &stat).map_err(fail)?;
        let flags = READING.union(self.unfollowed());
        let fd = openat(&self.fd, name, flags, Mode::empty())
            .map_err(|error| FileProblem::io(&path, "opened", error))?;
        let stat = fstat(&fd).map_err(|error| FileProblem::io(&path, "looked at", error))?;
        is_file(self.trust, &stat).map_err(fail)?;
        let mut bytes = Vec::new();
        File::from(fd)
            .take(LARGEST.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| FileProblem::io(&path, "read", error))?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length > LARGEST) {
            return Err(fail(Cause::TooLarge));
        }
        let text = String::from_utf8(bytes)
            .map_err(|error| fail(Cause::NotUtf8(error.utf8_error().valid_up_to())))?;
        let owner = (self.trust == Trust::Installed).then_some(stat.st_uid);
        Ok(Some((text, owner)))
    }

    fn unfollowed(&self) -> OFlag {
        match self.trust {
            Trust::Installed => OFlag::O_NOFOLLOW,
            Trust::Named => OFlag::empty(),
        }
    }

    /// What stands under a name; what a command was handed is followed.
    fn stat(&self, name: &Path) -> Result<Option<FileStat>, FileProblem> {
        let flags = match self.trust {
            Trust::Installed => AtFlags::AT_SYMLINK_NOFOLLOW,
            Trust::Named => AtFlags::empty(),
        };
        match fstatat(&self.fd, name, flags) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::ENOENT) => Ok(None),
            Err(error) => Err(FileProblem::io(&self.path(name), "looked at", error)),
        }
    }
}

/// Holds a directory, whether or not it may be read.
const HOLDING: OFlag = OFlag::O_PATH
    .union(OFlag::O_DIRECTORY)
    .union(OFlag::O_CLOEXEC);
/// Opens a file, whatever was put in its place.
const READING: OFlag = OFlag::O_RDONLY
    .union(OFlag::O_NONBLOCK)
    .union(OFlag::O_CLOEXEC)
    .union(OFlag::O_NOCTTY);

fn kind(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT
}

/// A regular file of a bounded size; root's alone where it is installed.
fn is_file(trust: Trust, stat: &FileStat) -> Result<(), Cause> {
    match kind(stat) {
        SFlag::S_IFREG => {}
        SFlag::S_IFLNK => return Err(Cause::Link),
        _ => return Err(Cause::NotAFile),
    }
    roots_alone(trust, stat)?;
    if trust == Trust::Installed && stat.st_nlink > 1 {
        return Err(Cause::SecondName);
    }
    if u64::try_from(stat.st_size).is_ok_and(|size| size > LARGEST) {
        return Err(Cause::TooLarge);
    }
    Ok(())
}

/// An access list that lets somebody write shows in the group's bits (acl(5)). The sticky bit
/// keeps nobody from adding a file.
fn roots_alone(trust: Trust, stat: &FileStat) -> Result<(), Cause> {
    match (trust, stat.st_uid) {
        (Trust::Named, _) => Ok(()),
        (Trust::Installed, 0) if stat.st_mode & 0o022 == 0 => Ok(()),
        (Trust::Installed, 0) => Err(Cause::Mode(stat.st_mode & 0o7777)),
        (Trust::Installed, uid) => Err(Cause::Owner(uid)),
    }
}

/// Whether nobody but root can change what a path leads to: each link on the way, and each
/// directory above it and above those, is root's, and no directory may be written by others.
/// What is not there yet, or may not be looked at, is as safe as what lies above it.
#[must_use]
pub(crate) fn is_roots_alone(path: &Path) -> bool {
    let (end, links) = match follow(path) {
        Ok(followed) => (followed.resolved, followed.links),
        Err(_) => (path.to_owned(), Vec::new()),
    };
    let followed_whole = !end.as_os_str().is_empty() && path.is_absolute();
    let above = links.iter().map(PathBuf::as_path).chain([end.as_path()]);
    followed_whole
        && above
            .flat_map(Path::ancestors)
            .all(|at| match nix::sys::stat::lstat(at) {
                Ok(stat) if kind(&stat) == SFlag::S_IFLNK => {
                    // One that was followed; one that leads nowhere could be made to lead somewhere.
                    stat.st_uid == 0 && links.iter().any(|link| link == at)
                }
                Ok(stat) => stat.st_uid == 0 && stat.st_mode & 0o022 == 0,
                Err(error) => [Errno::ENOENT, Errno::EACCES].contains(&error),
            })
}

#[cfg(test)]
#[path = "owner_tests.rs"]
mod tests;
