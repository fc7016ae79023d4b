//! Mounts closed: read-only, without set-uid, without devices, and read back.
#![expect(
    clippy::disallowed_methods,
    reason = "looks at which file system the machine's root is"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::mount::{MsFlags, mount};

use super::apply::ApplyError;
use super::mount::{NONE, TERMINALS};
use super::mountinfo::{self, lacking, mounts};
use super::namespace::Namespaces;
use super::source::{Source, held_error};
use super::way::inside;
use crate::confine::spec::Inode;

/// Where several places of the system's are mounted from, and nothing that is to be written.
const KERNEL: &str = "/sys";

/// What is mounted on the machine, and the flags of each.
pub(super) type Mounted = BTreeMap<PathBuf, MsFlags>;

/// The mount that the machine's root is, in this namespace: closed, so that most of what is
/// mounted from it needs no closing of its own. What is writable is opened again, as far as it
/// was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    dev: u64,
    was: MsFlags,
}

impl Machine {
    /// Looks at it, as it is outside.
    pub(super) fn look() -> Result<Self, ApplyError> {
        let root = Path::new("/");
        Ok(Self {
            dev: fs::metadata(root)?.dev(),
            was: mountinfo::flags(root)?,
        })
    }

    /// Closes it, and the kernel's own; what else is mounted here, by its path.
    pub(super) fn close(self) -> Result<Mounted, ApplyError> {
        // Where one is mounted over another, the last is what stands there.
        let mut mounted: Mounted = mounts()?.into_iter().collect();
        for path in [Path::new("/"), Path::new(KERNEL)] {
            if let Some(flags) = mounted.remove(path) {
                close_from(path, flags, true)?;
            }
        }
        Ok(mounted)
    }

    /// Whether a file lies in the same file system. Where that is mounted a second time, its
    /// mounts are found open when that root is entered, and closed there.
    pub(super) fn holds(self, inode: Inode) -> bool {
        inode.dev == self.dev
    }

    /// Lets be written what was mounted from it at a path.
    pub(super) fn open(self, at: &Path) -> Result<(), ApplyError> {
        let now = mountinfo::flags(at)?;
        let kept = now.difference(MsFlags::MS_RDONLY) | self.was.intersection(MsFlags::MS_RDONLY);
        let how = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        match mount(NONE, at, NONE, how | kept, NONE) {
            // It was read-only outside, by a mount of its own.
            Err(nix::Error::EPERM) => close(at, false),
            done => done.map_err(|errno| held_error(at, errno.into())),
        }
    }
}

/// Closes what is mounted in places of the system's, and so comes along with them.
pub(super) fn close_in(system: &[Source], mounted: Mounted) -> Result<(), ApplyError> {
    let comes_along = |path: &Path| {
        let source = |source: &Source| source.directory && path.starts_with(&source.path);
        system.iter().any(source)
    };
    for (path, flags) in mounted {
        if comes_along(&path) {
            close_from(&path, flags, true)?;
        }
    }
    Ok(())
}

/// Closes what was mounted at a path while the root is put together: no privileges, no devices
/// but the five, and no writing where that is not granted. What is mounted in it is looked at when
/// the root is entered.
pub(super) fn close(at: &Path, read_only: bool) -> Result<(), ApplyError> {
    close_from(at, mountinfo::flags(at)?, read_only)
}

/// The same of one that has these flags.
fn close_from(at: &Path, flags: MsFlags, read_only: bool) -> Result<(), ApplyError> {
    let mut wanted = flags | MsFlags::MS_NOSUID;
    if read_only {
        wanted |= MsFlags::MS_RDONLY;
    }
    if !at.starts_with(inside(Path::new("dev"))) {
        wanted |= MsFlags::MS_NODEV;
    }
    if wanted == flags {
        return Ok(());
    }
    remount(at, wanted)
}

/// The mounts that lack a flag they must have, as the kernel says now.
pub(super) fn open(namespaces: &Namespaces) -> io::Result<Vec<(PathBuf, MsFlags)>> {
    let lacks =
        |(mounted, flags): &(PathBuf, MsFlags)| !flags.contains(wanted(mounted, namespaces));
    Ok(lacking(ALL)?.into_iter().filter(lacks).collect())
}

/// All that [`wanted`] may ask for.
const ALL: MsFlags = MsFlags::MS_NOSUID
    .union(MsFlags::MS_RDONLY)
    .union(MsFlags::MS_NODEV);

/// The flags that a mount of the server's must have: none gives privileges; none is written but
/// those granted so, what is in memory, and the files of `/proc` that are its own processes';
/// none but the five in `/dev` has devices.
pub(super) fn wanted(mounted: &Path, namespaces: &Namespaces) -> MsFlags {
    let open = namespaces.is_writable(mounted)
        || namespaces.in_memory.iter().any(|place| mounted == place)
        || mounted == Path::new("/proc")
        || mounted == Path::new(TERMINALS);
    let mut flags = MsFlags::MS_NOSUID;
    if !open {
        flags |= MsFlags::MS_RDONLY;
    }
    if !mounted.starts_with("/dev") || mounted == Path::new("/dev/shm") {
        flags |= MsFlags::MS_NODEV;
    }
    flags
}

/// Changes a mount's own flags. Those that came from outside are locked: a remount without them
/// is refused.
pub(super) fn remount(at: &Path, flags: MsFlags) -> Result<(), ApplyError> {
    let how = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | flags;
    mount(NONE, at, NONE, how, NONE).map_err(|errno| held_error(at, errno.into()))
}
