//! Whether a file, a directory, or what lies above it is the person's alone.
//!
//! Looks, and changes nothing but the access list of a directory just made.
#![expect(
    clippy::disallowed_methods,
    reason = "the state directory is looked at here"
)]

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;

use nix::sys::stat::{FileStat, SFlag};
use nix::unistd::geteuid;
use rustix::fs::{fgetxattr_query, fremovexattr};

use super::file::LARGEST;
use super::file_error::{FileError, Problem};
use crate::plan::links::Followed;

/// Where Linux keeps access lists (acl(5)); the second is what is made inside gets.
const ACCESS_LISTS: [&str; 2] = ["system.posix_acl_access", "system.posix_acl_default"];

/// Who this process is; asked once, since what looks at files here stays who it is.
pub(super) fn own_id() -> u32 {
    static OWN: OnceLock<u32> = OnceLock::new();
    *OWN.get_or_init(|| geteuid().as_raw())
}

pub(super) fn kind(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT
}

/// A regular file of the person's, under one name, closed to others, of a bounded size.
pub(super) fn file(stat: &FileStat) -> Result<(), Problem> {
    match kind(stat) {
        SFlag::S_IFREG => {}
        SFlag::S_IFLNK => return Err(Problem::Link),
        _ => return Err(Problem::NotAFile),
    }
    if stat.st_uid != own_id() {
        return Err(Problem::Owner(stat.st_uid));
    }
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

/// No access list stands on it. One that opens nothing now would with the next change of mode,
/// and a default one, which directories alone have, opens what is made inside.
pub(super) fn no_access_list(held: impl AsFd, directory: bool) -> Result<(), Problem> {
    let lists = if directory { 2 } else { 1 };
    for list in ACCESS_LISTS.into_iter().take(lists) {
        match fgetxattr_query(held.as_fd(), list) {
            Ok(0) => {}
            Ok(_) => return Err(Problem::AccessList),
            Err(error) if is_none(error) => {}
            Err(error) => return Err(unknown(error)),
        }
    }
    Ok(())
}

/// Removes the access lists that a directory just made got from the one above it.
pub(super) fn remove_access_lists(held: impl AsFd) -> Result<(), Problem> {
    for list in ACCESS_LISTS {
        match fremovexattr(held.as_fd(), list) {
            Err(error) if !is_none(error) => return Err(unknown(error)),
            _ => {}
        }
    }
    Ok(())
}

/// There is none, or the file system has none.
fn is_none(error: rustix::io::Errno) -> bool {
    use rustix::io::Errno as E;
    [E::NODATA, E::OPNOTSUPP].contains(&error)
}

fn unknown(error: rustix::io::Errno) -> Problem {
    Problem::Io {
        doing: "asked for its access list",
        error: error.into(),
    }
}

/// Nobody else may put another directory in the place of one that was followed: each directory
/// above it and above the links to it, and each link, belongs to the person or to root, and
/// others may not write there (in one with the sticky bit nobody moves what is another's).
///
/// # Errors
/// The first that others may change; what is not there yet is passed over.
pub(super) fn above(followed: &Followed) -> Result<(), FileError> {
    let links = followed.links.iter().map(|link| link.as_path());
    let ends = links.clone().chain([followed.resolved.as_path()]);
    let looked_at: BTreeSet<&Path> = ends
        .flat_map(|end| end.ancestors().skip(1))
        .chain(links)
        .collect();
    for path in looked_at {
        let stat = match path.symlink_metadata() {
            Ok(stat) => stat,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => {
                let doing = "looked at";
                return Err(FileError::new(path, Problem::Io { doing, error }));
            }
        };
        let own = [0, own_id()].contains(&stat.uid());
        let sticky = stat.mode() & 0o1000 != 0;
        let shared = stat.mode() & 0o020 != 0 && !is_private(stat.gid());
        if !own {
            return Err(FileError::new(path, Problem::ForeignParent(stat.uid())));
        }
        if stat.is_dir() && !sticky && (stat.mode() & 0o002 != 0 || shared) {
            return Err(FileError::new(path, Problem::OpenParent));
        }
    }
    Ok(())
}

/// A group that only the person, or root, is in: root's own, or one that goes by the person's
/// number or name, as most systems make one for each user.
fn is_private(group: u32) -> bool {
    let person = own_id();
    let name = || listed(fs::read_to_string("/etc/passwd").ok()?, person);
    let of_group = || listed(fs::read_to_string("/etc/group").ok()?, group);
    group == 0 || group == person || name().is_some_and(|name| of_group() == Some(name))
}

/// The name that goes with a number in `/etc/passwd` or `/etc/group`, whose first and third fields
/// they are (`passwd(5)`, `group(5)`). The files alone: another user database may be asked over a
/// network, by a library that a static program cannot load.
fn listed(text: String, number: u32) -> Option<String> {
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let found: u32 = fields.nth(1)?.parse().ok()?;
        (found == number).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_numbers() {
        let text = "root:x:0:\n\n+:::\nann:x:1001:bob\nbob:x:1002:\n".to_owned();
        assert_eq!(listed(text.clone(), 1001).as_deref(), Some("ann"));
        assert_eq!(listed(text, 1), None);
    }
}
