//! The way to what is mounted for a server: directories, places and links of the new root.
#![expect(
    clippy::disallowed_methods,
    reason = "makes mount points and links in a file system of the server's own"
)]

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use nix::sys::stat::{Mode, SFlag, mknod};

use super::apply::ApplyError;
use super::mount::{ROOT, memory};

/// Where a path of the server's stands while the root is put together.
pub(super) fn inside(path: &Path) -> PathBuf {
    Path::new(ROOT).join(path.strip_prefix("/").unwrap_or(path))
}

/// Mode of a directory that is only on the way to something: it is gone through, not listed.
const ON_THE_WAY: u32 = 0o111;

/// A path below a place in memory gets its way there in a mount of its own, which is closed with
/// the others: the server may list and change the place, and neither list nor change what lies on
/// the way to what it is granted.
///
/// Returns where the server sees that, if one was made for this path.
pub(super) fn hide_way(path: &Path, in_memory: &[PathBuf]) -> Result<Option<PathBuf>, ApplyError> {
    let place = in_memory.iter().find(|place| path.starts_with(place));
    let Some((place, rest)) = place.and_then(|place| Some((place, path.strip_prefix(place).ok()?)))
    else {
        return Ok(None);
    };
    let mut parts = rest.components();
    let (Some(first), Some(_)) = (parts.next(), parts.next()) else {
        return Ok(None);
    };
    let seen = place.join(first);
    let at = inside(&seen);
    match fs::create_dir(&at) {
        Ok(()) => memory(&at, &format!("mode={ON_THE_WAY:o},size=1m")).map(|()| Some(seen)),
        // For another path.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Makes the directories above a path that are not there.
fn way(at: &Path) -> io::Result<()> {
    let mut directories = DirBuilder::new();
    directories.recursive(true).mode(ON_THE_WAY);
    at.parent()
        .map_or(Ok(()), |parent| directories.create(parent))
}

/// A place to mount at, and the directories above it. In a source that is mounted already it is
/// there.
pub(super) fn place(at: &Path, directory: bool) -> io::Result<()> {
    let make = || {
        if directory {
            fs::create_dir(at)
        } else {
            // Nothing is opened that would have to be closed.
            Ok(mknod(
                at,
                SFlag::S_IFREG,
                Mode::from_bits_truncate(0o666),
                0,
            )?)
        }
    };
    let made = match make() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            way(at)?;
            make()
        }
        made => made,
    };
    match made {
        // Also what is mounted read-only and has the place.
        Err(_) if fs::symlink_metadata(at).is_ok() => Ok(()),
        made => made,
    }
}

/// Makes a link in the new root, where nothing stands yet.
pub(super) fn link(path: &Path, target: &Path) -> Result<(), ApplyError> {
    let at = inside(path);
    let made = match symlink(target, &at) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            way(&at)?;
            symlink(target, &at)
        }
        made => made,
    };
    match made {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error.into()),
        _ => Ok(()),
    }
}
