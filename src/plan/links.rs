//! Where a path leads, link by link.
#![expect(
    clippy::disallowed_methods,
    reason = "asked by `facts` and what it asks: this room reads links"
)]

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, openat2};
use nix::libc;

/// As many links as Linux follows in one path (path_resolution(7)).
const MOST: usize = 40;

/// A path followed to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Followed {
    /// Where it leads: absolute, no link in it.
    pub(crate) resolved: PathBuf,
    /// Each link that was followed, at the place where it lies, in order.
    pub(crate) links: Vec<PathBuf>,
}

/// Follows every link of an absolute path, in all its parts.
///
/// # Errors
/// `NotFound` or `NotADirectory` where it leads nowhere, `PermissionDenied` where a directory
/// on the way may not be searched, `ELOOP` after 40 links, `InvalidInput` for a relative path.
pub(crate) fn follow(path: &Path) -> io::Result<Followed> {
    absolute(path)?;
    if let Some((resolved, _)) = without_links(path)? {
        let links = Vec::new();
        return Ok(Followed { resolved, links });
    }
    link_by_link(path)
}

fn absolute(path: &Path) -> io::Result<()> {
    if path.is_absolute() {
        return Ok(());
    }
    let kind = io::ErrorKind::InvalidInput;
    Err(io::Error::new(kind, "a relative path"))
}

/// The same of one that has a link.
fn link_by_link(path: &Path) -> io::Result<Followed> {
    let mut ahead: VecDeque<OsString> = parts(path).collect();
    let mut resolved = PathBuf::from("/");
    let mut links = Vec::new();
    while let Some(part) = ahead.pop_front() {
        if part == ".." {
            resolved.pop();
            continue;
        }
        let next = resolved.join(&part);
        if !fs::symlink_metadata(&next)?.is_symlink() {
            resolved = next;
            continue;
        }
        if links.len() >= MOST {
            return Err(io::Error::from_raw_os_error(libc::ELOOP));
        }
        let target = fs::read_link(&next)?;
        if target.is_absolute() {
            resolved = PathBuf::from("/");
        }
        for part in parts(&target).rev() {
            ahead.push_front(part);
        }
        links.push(next);
    }
    Ok(Followed { resolved, links })
}

/// The same, and what it leads to, held open without a right to what is in it.
///
/// # Errors
/// As [`follow`].
pub(crate) fn open(path: &Path) -> io::Result<(Followed, File)> {
    absolute(path)?;
    if let Some((resolved, held)) = without_links(path)? {
        let links = Vec::new();
        return Ok((Followed { resolved, links }, held));
    }
    let followed = link_by_link(path)?;
    match without_links(&followed.resolved)? {
        Some((_, held)) => Ok((followed, held)),
        None => Err(io::Error::from_raw_os_error(libc::ELOOP)),
    }
}

/// An absolute path that has no link in any of its parts, which is one question to the kernel
/// where to follow it takes one for each part; and what lies there. `None` where it may have one.
///
/// # Errors
/// It leads nowhere, or not as far as to a link.
pub(crate) fn without_links(path: &Path) -> io::Result<Option<(PathBuf, File)>> {
    let plain = if is_plain(path) {
        path.to_owned()
    } else if path.components().any(|part| part == Component::ParentDir) {
        return Ok(None);
    } else {
        path.components().collect()
    };
    let how = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
    match openat2(AT_FDCWD, &plain, how) {
        Ok(held) => Ok(Some((plain, File::from(held)))),
        Err(error @ (Errno::ENOENT | Errno::ENOTDIR | Errno::EACCES)) => Err(error.into()),
        // A link, or a kernel that does not know the question.
        Err(_) => Ok(None),
    }
}

/// Whether a path is surely spelled as [`Path::components`] would spell it anew, which takes longer.
fn is_plain(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    let doubtful = |pair: &[u8]| pair == b"//" || pair == b"/.";
    bytes.starts_with(b"/") && !bytes.ends_with(b"/") && !bytes.windows(2).any(doubtful)
}

/// The names and `..` of a path; `.` and `/` move nowhere.
fn parts(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

/// Where a path leads that may not be there yet: what exists of it followed, the rest kept.
/// A path that cannot be looked at is kept as it is.
#[must_use]
pub(crate) fn settle(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut there = path;
    loop {
        match follow(there) {
            Ok(followed) => {
                return followed
                    .resolved
                    .join(rest.iter().rev().collect::<PathBuf>());
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match (there.parent(), there.file_name()) {
                    (Some(parent), Some(name)) => {
                        rest.push(name);
                        there = parent;
                    }
                    _ => return path.to_owned(),
                }
            }
            Err(_) => return path.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_in_every_part_are_followed_and_named() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("real/sub")).unwrap();
        fs::write(base.join("real/sub/file"), "").unwrap();
        symlink(base.join("real"), base.join("absolute")).unwrap();
        symlink("absolute/sub", base.join("relative")).unwrap();
        symlink("../sub/./file", base.join("real/sub/twice")).unwrap();
        let followed = follow(&base.join("relative/twice")).unwrap();
        assert_eq!(followed.resolved, base.join("real/sub/file"));
        assert_eq!(
            followed.links,
            [
                base.join("relative"),
                base.join("absolute"),
                base.join("real/sub/twice")
            ]
        );
        // `..` goes up from where a link leads, as in the kernel.
        assert_eq!(
            follow(&base.join("relative/../sub")).unwrap().resolved,
            base.join("real/sub")
        );
    }

    #[test]
    fn what_leads_nowhere_says_so() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        symlink("circle", base.join("circle")).unwrap();
        symlink("gone", base.join("dangling")).unwrap();
        fs::write(base.join("file"), "").unwrap();
        assert_eq!(
            follow(&base.join("circle")).unwrap_err().raw_os_error(),
            Some(libc::ELOOP)
        );
        assert_eq!(
            follow(&base.join("dangling")).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        assert_eq!(
            follow(&base.join("file/x")).unwrap_err().kind(),
            io::ErrorKind::NotADirectory
        );
        assert!(follow(Path::new("relative")).is_err());
        assert!(open(Path::new("relative")).is_err());
    }

    #[test]
    fn plain_paths_are_those_with_one_spelling() {
        for path in [
            "/", "/a/", "/a//b", "/a/./b", "/a/../b", "/a/.", "/.a", "a", "",
        ] {
            assert!(!is_plain(Path::new(path)), "{path}");
        }
        for path in ["/a", "/a/b", "/a/b.c", "/a/b..c"] {
            assert!(is_plain(Path::new(path)), "{path}");
            let again: PathBuf = Path::new(path).components().collect();
            assert_eq!(again.as_os_str(), path);
        }
    }

    #[test]
    fn what_is_not_there_yet_is_settled() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        fs::create_dir(base.join("real")).unwrap();
        symlink("real", base.join("link")).unwrap();
        assert_eq!(settle(&base.join("link/a/b")), base.join("real/a/b"));
        assert_eq!(settle(&base.join("link")), base.join("real"));
    }
}
