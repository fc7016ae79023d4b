//! A directory held by descriptor: what is looked at is what is granted, whatever is renamed
//! over its path meanwhile.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{
    AT_FDCWD, AtFlags, OFlag, OpenHow, ResolveFlag, openat, openat2, readlink, readlinkat,
};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat};
use rustix::fs::{Dir, DirEntry, FileType};

use super::identity::Stat;
use crate::confine::spec::Inode;

/// A directory, held open without a right to anything in it.
#[derive(Clone, Debug)]
pub struct Held(Arc<OwnedFd>);

/// A directory below one that is held, open to be read.
#[derive(Debug)]
pub(crate) struct Opened(OwnedFd);

/// Something in a directory.
#[derive(Debug)]
pub(crate) struct Entry {
    found: DirEntry,
    /// What it is.
    pub(crate) kind: Kind,
}

/// The kind of an entry, as far as it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Directory,
    Link,
    Other,
}

/// Where a link leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Led {
    /// To this, in the directory held.
    Inside(Stat),
    /// Nowhere, and not out of the directory.
    Nowhere,
    /// Out of the directory, or it cannot be told.
    Out,
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

    /// A directory that is open already.
    #[cfg(test)]
    pub(crate) fn of(fd: OwnedFd) -> Self {
        Self(Arc::new(fd))
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

    /// Opens a directory below to be read, the directory itself by an empty path; `None` where
    /// no directory is there any more.
    ///
    /// # Errors
    /// It may not be read.
    pub(crate) fn open_inside(&self, inside: &Path) -> io::Result<Option<Opened>> {
        let inside = if inside == Path::new("") {
            Path::new(".")
        } else {
            inside
        };
        let how = OpenHow::new()
            .flags(OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC)
            .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_BENEATH);
        match openat2(self.0.as_fd(), inside, how) {
            Ok(fd) => Ok(Some(Opened(fd))),
            // Gone or replaced since it was listed above, by a server that runs there now.
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Where a link in it leads, links on the way followed; the directory lies at `place`. What
    /// it leads to is not opened.
    pub(crate) fn led(&self, place: &Path, link: &Path) -> Led {
        match self.reach(link) {
            Ok(stat) => Led::Inside(stat),
            Err(Errno::ELOOP) => Led::Nowhere,
            Err(errno) => {
                let target = self.target(link);
                match (errno, target.strip_prefix(place)) {
                    // An absolute link may lead back in.
                    (Errno::EXDEV, Ok(rest)) if rest == Path::new("") => {
                        self.reach(Path::new(".")).map_or(Led::Out, Led::Inside)
                    }
                    (Errno::EXDEV, Ok(rest)) => match self.reach(rest) {
                        Ok(stat) => Led::Inside(stat),
                        Err(Errno::ENOENT) if !climbs_out(rest) => Led::Nowhere,
                        Err(_) => Led::Out,
                    },
                    (Errno::ENOENT, _) => {
                        let from = link.parent().unwrap_or(Path::new(""));
                        if climbs_out(&from.join(target)) {
                            Led::Out
                        } else {
                            Led::Nowhere
                        }
                    }
                    _ => Led::Out,
                }
            }
        }
    }

    /// What a link in it says; nothing where none is there any more.
    pub(crate) fn target(&self, link: &Path) -> PathBuf {
        readlinkat(&self.0, link).map_or_else(|_| PathBuf::new(), PathBuf::from)
    }

    fn reach(&self, inside: &Path) -> Result<Stat, Errno> {
        let how = OpenHow::new()
            .flags(OFlag::O_PATH | OFlag::O_CLOEXEC)
            .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS);
        let fd = openat2(self.0.as_fd(), inside, how)?;
        Ok(Stat::of(&fstat(&fd)?))
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

impl Opened {
    /// What stands in it, in no order, each with its kind; nothing is followed.
    ///
    /// # Errors
    /// It cannot be read; so does a single entry where its kind cannot be told.
    pub(crate) fn entries(&self) -> io::Result<impl Iterator<Item = io::Result<Entry>> + '_> {
        let entries = Dir::read_from(&self.0)?;
        Ok(entries.filter_map(|found| match found {
            Ok(found) if [c".", c".."].contains(&found.file_name()) => None,
            Ok(found) => {
                let kind = match found.file_type() {
                    FileType::Directory => Ok(Some(Kind::Directory)),
                    FileType::Symlink => Ok(Some(Kind::Link)),
                    FileType::Unknown => self.kind(&found),
                    _ => Ok(Some(Kind::Other)),
                };
                kind.transpose()
                    .map(|kind| kind.map(|kind| Entry { found, kind }))
            }
            Err(error) => Some(Err(error.into())),
        }))
    }

    /// What stands under a name in it, in a spelling that its file system takes for the same: a
    /// link is not followed.
    ///
    /// # Errors
    /// It cannot be told.
    pub(crate) fn stat(&self, name: &OsStr) -> io::Result<Option<FileStat>> {
        match fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::ENOENT | Errno::ENOTDIR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The same of a path of several parts; a link on the way is followed no more than the last.
    pub(crate) fn stat_below(&self, path: &Path) -> Option<FileStat> {
        let how = OpenHow::new()
            .flags(OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC)
            .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_BENEATH);
        fstat(openat2(self.0.as_fd(), path, how).ok()?).ok()
    }

    fn kind(&self, found: &DirEntry) -> io::Result<Option<Kind>> {
        let name = OsStr::from_bytes(found.file_name().to_bytes());
        Ok(self.stat(name)?.map(|stat| kind(&stat)))
    }
}

impl Entry {
    /// Its name.
    pub(crate) fn name(&self) -> &OsStr {
        OsStr::from_bytes(self.found.file_name().to_bytes())
    }
}

/// The kind of what was looked at.
pub(crate) fn kind(stat: &FileStat) -> Kind {
    match SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT {
        SFlag::S_IFDIR => Kind::Directory,
        SFlag::S_IFLNK => Kind::Link,
        _ => Kind::Other,
    }
}

/// Whether a path, read as it is spelled, leads out of where it begins.
fn climbs_out(path: &Path) -> bool {
    let mut depth = 0_usize;
    for part in path.components() {
        match part {
            Component::ParentDir => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return true,
            },
            Component::Normal(_) => depth = depth.saturating_add(1),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    false
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "links to look at")]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn where_links_lead() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap().join("dir");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        let held = Held::open(&root).unwrap();
        let inside = root.join("a").to_str().unwrap().to_owned();
        let outside = base.path().to_str().unwrap().to_owned();
        for (target, want) in [
            ("a", "inside"),
            ("a/b/../..", "inside"),
            (".", "inside"),
            (inside.as_str(), "inside"),
            (root.to_str().unwrap(), "inside"),
            ("nothing", "nowhere"),
            ("a/nothing/../x", "nowhere"),
            ("link", "nowhere"),
            (outside.as_str(), "out"),
            ("/etc", "out"),
            ("/nothing", "out"),
            ("..", "out"),
            ("../nothing", "out"),
            ("nothing/../../x", "out"),
            ("/proc/self/root", "out"),
            ("out/passwd", "out"),
        ] {
            symlink("/etc", root.join("out")).unwrap();
            symlink(target, root.join("link")).unwrap();
            let led = held.led(&root, Path::new("link"));
            let word = match led {
                Led::Inside(_) => "inside",
                Led::Nowhere => "nowhere",
                Led::Out => "out",
            };
            assert_eq!(word, want, "{target}");
            for link in ["link", "out"] {
                std::fs::remove_file(root.join(link)).unwrap();
            }
        }
    }
}
