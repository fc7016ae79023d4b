//! Gives a private home to the ids that its server runs under, where those are not the
//! supervisor's: root's servers have ids of their own.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, openat2};
use nix::sys::stat::fstatat;
use nix::unistd::{Gid, Uid, fchownat, geteuid};
use rustix::fs::{Dir, FileType};

use super::LaunchError;
use crate::confine::spec::Ids;
use crate::plan::held::Held;

/// Gives a home and its temporary directory; where the home was another's, all in it, so that it
/// is the server's whatever that ran under before. A server that runs in it meanwhile cannot lead
/// this out of it: each directory is opened below the home without a link on the way.
///
/// # Errors
/// [`LaunchError::Home`].
pub(super) fn give(home: &Path, ids: Option<Ids>) -> Result<(), LaunchError> {
    if !geteuid().is_root() {
        // It can only be the person's own.
        return Ok(());
    }
    let root = Ids { user: 0, group: 0 };
    given(home, ids.unwrap_or(root)).map_err(|source| LaunchError::Home {
        path: home.to_owned(),
        source,
    })
}

fn given(home: &Path, ids: Ids) -> io::Result<()> {
    let base = Held::open(home)?;
    let top = below(&base, Path::new("."))?;
    let own = owned(&top, Path::new("."), ids)?;
    // Made anew at each start.
    owned(&top, Path::new("tmp"), ids)?;
    if own {
        return Ok(());
    }
    let mut waiting = vec![PathBuf::from(".")];
    while let Some(inside) = waiting.pop() {
        let directory = below(&base, &inside)?;
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let name = Path::new(OsStr::from_bytes(name));
            owned(&directory, name, ids)?;
            if entry.file_type() == FileType::Directory {
                waiting.push(inside.join(name));
            }
        }
    }
    Ok(())
}

fn below(base: &Held, inside: &Path) -> io::Result<OwnedFd> {
    let how = OpenHow::new()
        .flags(OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_BENEATH);
    Ok(openat2(base, inside, how)?)
}

/// Whether it belonged to them already; it does now.
fn owned(directory: &OwnedFd, name: &Path, ids: Ids) -> io::Result<bool> {
    let found = fstatat(directory, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
    let own = found.st_uid == ids.user && found.st_gid == ids.group;
    if !own {
        let (user, group) = (Uid::from_raw(ids.user), Gid::from_raw(ids.group));
        fchownat(
            directory,
            name,
            Some(user),
            Some(group),
            AtFlags::AT_SYMLINK_NOFOLLOW,
        )?;
    }
    Ok(own)
}
