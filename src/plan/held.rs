//! A directory held by descriptor: what is looked at is what is granted, whatever is renamed
//! over its path meanwhile.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, OpenHow, ResolveFlag, openat, openat2, readlink};
use nix::sys::stat::{Mode, SFlag, fstat, fstatat};
use rustix::fs::{Dir, FileType};

use crate::confine::spec::Inode;

/// A directory, held open without a right to anything in it.
#[derive(Clone, Debug)]
pub struct Held(Arc<OwnedFd>);

/// What stands in a directory.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// How many entries were looked at.
    pub(crate) entries: usize,
    /// The directories among them.
    pub(crate) directories: Vec<PathBuf>,
    /// There are more entries than were asked for.
    pub(crate) cut: bool,
}

impl Held {
    /// Holds the directory at a path that has no link in it.
    ///
    /// # Errors
    /// It is not there, is no directory, or has a link in it (`ELOOP`).
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let how = OpenHow::new()
            .flags(OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC)
            .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
        Ok(Self(Arc::new(openat2(AT_FDCWD, path, how)?)))
    }

    /// The directory above it; above `/` it is `/` itself.
    ///
    /// # Errors
    /// It may not be searched.
    pub(crate) fn above(&self) -> io::Result<Self> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Ok(Self(Arc::new(openat(&self.0, "..", flags, Mode::empty())?)))
    }

    /// Where it lies now, as the kernel knows it.
    ///
    /// # Errors
    /// `/proc` is not there.
    pub(crate) fn place(&self) -> io::Result<PathBuf> {
        Ok(readlink(format!("/proc/self/fd/{}", self.0.as_raw_fd()).as_str())?.into())
    }

    /// Whether something of that name stands in it, in a spelling that its file system takes for
    /// the same: a link is not followed.
    ///
    /// # Errors
    /// It cannot be told.
    pub(crate) fn holds(&self, inside: &Path) -> io::Result<bool> {
        match fstatat(&self.0, inside, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::ENOENT | Errno::ENOTDIR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// What stands in a directory below, at most so many entries of it; nothing where no
    /// directory is there any more.
    ///
    /// # Errors
    /// It may not be read.
    pub(crate) fn list(&self, inside: &Path, most: usize) -> io::Result<Listing> {
        let inside = if inside == Path::new("") {
            Path::new(".")
        } else {
            inside
        };
        let how = OpenHow::new()
            .flags(OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC)
            .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_BENEATH);
        let mut listing = Listing::default();
        let fd = match openat2(self.0.as_fd(), inside, how) {
            Ok(fd) => fd,
            // Gone or replaced since it was listed above, by a server that runs there now.
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => return Ok(listing),
            Err(error) => return Err(error.into()),
        };
        for entry in Dir::read_from(&fd)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            if listing.entries >= most {
                listing.cut = true;
                break;
            }
            listing.entries = listing.entries.saturating_add(1);
            let directory = match entry.file_type() {
                FileType::Directory => true,
                FileType::Unknown => is_directory(&fd, name)?,
                _ => false,
            };
            if directory {
                use std::os::unix::ffi::OsStrExt;
                let name = std::ffi::OsStr::from_bytes(name.to_bytes());
                listing.directories.push(name.into());
            }
        }
        Ok(listing)
    }

    /// Which directory it is: no other has its numbers as long as this one is held.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn inode(&self) -> io::Result<Inode> {
        let found = fstat(&self.0)?;
        Ok(Inode {
            dev: found.st_dev,
            ino: found.st_ino,
        })
    }
}

impl AsFd for Held {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn is_directory(fd: &OwnedFd, name: &std::ffi::CStr) -> io::Result<bool> {
    match fstatat(fd, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == SFlag::S_IFDIR),
        Err(Errno::ENOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
