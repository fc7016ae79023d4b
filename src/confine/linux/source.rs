//! What is mounted for a server: held by descriptor before anything is mounted over it.
#![expect(
    clippy::disallowed_methods,
    reason = "opens what is mounted for the server"
)]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc;
use nix::mount::{MntFlags, MsFlags, mount, umount2};

use super::apply::ApplyError;
use super::close::{Machine, close};
use super::lend::Lent;
use super::mount::{NONE, ROOT};
use super::way::{inside, place};
use crate::confine::spec::{Found, Inode};

/// How often what is replaced while it is mounted is looked at again.
const AGAIN: usize = 16;

/// What is mounted for the server at a path.
pub(super) struct Source {
    pub(super) path: PathBuf,
    from: From,
    pub(super) directory: bool,
    pub(super) inode: Inode,
}

/// Where it comes from.
enum From {
    Held(File),
    Lent(Lent),
}

/// Sorts by the bytes of the paths, so that a parent comes before what lies in it. To compare paths
/// by their components takes longer, and these have no second spelling.
pub(super) fn sort(sources: &mut [Source]) {
    sources.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
}

/// Where the source of a path stands among sorted ones.
pub(super) fn position(sources: &[Source], path: &Path) -> Option<usize> {
    let at = sources.binary_search_by(|source| source.path.as_os_str().cmp(path.as_os_str()));
    at.ok()
}

impl Source {
    pub(super) fn held(path: &Path) -> Result<Self, ApplyError> {
        let flags = libc::O_PATH | libc::O_NOFOLLOW;
        let mut options = OpenOptions::new();
        let opened = options.read(true).custom_flags(flags).open(path);
        let looked = opened.and_then(|file| Ok((file.metadata()?, file)));
        let (found, file) = looked.map_err(|error| held_error(path, error))?;
        if found.file_type().is_symlink() {
            let error = io::Error::other("it has become a link");
            return Err(held_error(path, error));
        }
        Ok(Self::of(path.to_owned(), file, &found))
    }

    fn of(path: PathBuf, file: File, found: &fs::Metadata) -> Self {
        Self {
            path,
            from: From::Held(file),
            directory: found.is_dir(),
            inode: inode(found),
        }
    }

    /// What the supervisor looked up, and holds.
    pub(super) fn found(found: Found, held: OwnedFd) -> Self {
        Self {
            path: found.path,
            from: From::Held(held.into()),
            directory: found.directory,
            inode: found.inode,
        }
    }

    pub(super) fn lent(lent: Lent) -> Result<Self, ApplyError> {
        let found = lent
            .metadata()
            .map_err(|error| held_error(&lent.path, error))?;
        Ok(Self {
            path: lent.path.clone(),
            from: From::Lent(lent),
            directory: found.is_dir(),
            inode: inode(&found),
        })
    }

    /// Its file, by its descriptor, and whether it is a directory; none of what is lent.
    pub(super) fn file(&self) -> Option<(BorrowedFd<'_>, bool)> {
        match &self.from {
            From::Held(file) => Some((file.as_fd(), self.directory)),
            From::Lent(_) => None,
        }
    }

    /// Mounts it, with all that is mounted in it, at its path in the new root.
    pub(super) fn bind(&self, read_only: bool, machine: Machine) -> Result<(), ApplyError> {
        let at = inside(&self.path);
        let mounted = place(&at, self.directory).and_then(|()| self.mount(&at));
        match mounted.map_err(|error| held_error(&self.path, error))? {
            true => self.close(&at, read_only, machine),
            false => Err(self.replaced()),
        }
    }

    /// The same for what every server gets of this system. A file of the system's is replaced by a
    /// rename now and then (`resolv.conf`), and what was held has no name then, by which alone it can
    /// be mounted: what stands there now is held in its place. Only the system can put it there.
    pub(super) fn bind_current(&mut self, machine: Machine) -> Result<(), ApplyError> {
        let at = inside(&self.path);
        place(&at, self.directory).map_err(|error| held_error(&self.path, error))?;
        for _ in 0..AGAIN {
            match self.mount(&at) {
                Ok(true) => return self.close(&at, true, machine),
                Ok(false) => umount2(&at, MntFlags::MNT_DETACH)?,
                // Replaced between the look-up and the mount: what was found has no name any more.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(held_error(&self.path, error)),
            }
            *self = Self::held(&self.path)?;
        }
        Err(self.replaced())
    }

    fn replaced(&self) -> ApplyError {
        held_error(&self.path, io::Error::other("another stands there now"))
    }

    /// Whether it is what is mounted now: another may have been put at its path.
    fn mount(&self, at: &Path) -> io::Result<bool> {
        let file = match &self.from {
            From::Lent(lent) => return lent.put(at).map(|()| true),
            From::Held(file) => file,
        };
        let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
        if self.path.starts_with(ROOT) {
            // Its path leads into the new root by now.
            let from = format!("/proc/self/fd/{}", file.as_raw_fd());
            mount(Some(from.as_str()), at, NONE, flags, NONE)?;
            return Ok(true);
        }
        // The way through /proc takes as long as the mount itself. What stands at the path now is
        // mounted, and must be what was held.
        mount(Some(&self.path), at, NONE, flags, NONE)?;
        Ok(inode(&fs::symlink_metadata(at)?) == self.inode)
    }

    fn close(&self, at: &Path, read_only: bool, machine: Machine) -> Result<(), ApplyError> {
        match &self.from {
            From::Held(_) if machine.holds(self.inode) => match read_only {
                // As its source is by now.
                true => Ok(()),
                false => machine.open(at),
            },
            _ => close(at, read_only),
        }
    }
}

fn inode(found: &fs::Metadata) -> Inode {
    Inode {
        dev: found.dev(),
        ino: found.ino(),
    }
}

pub(super) fn held_error(path: &Path, source: io::Error) -> ApplyError {
    ApplyError::Held {
        path: path.to_owned(),
        source,
    }
}
