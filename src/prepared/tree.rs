//! What lies in a private home: counted while it grows, hashed when it is there.
//!
//! A server wrote it, so that nothing is believed of it: no link is followed, and of a tree
//! larger than is looked at the first entries count.
#![expect(
    clippy::disallowed_methods,
    reason = "this room looks at what a runner fetched"
)]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::launch::home;
use crate::plan::links::without_links;
use crate::text;

/// So many entries are looked at.
const ENTRIES: usize = 400_000;
/// So many bytes are read: what a hash takes over a minute for is not worth it.
pub(crate) const BYTES: u64 = 8 << 30;
/// So many names of one directory are looked at.
const NAMES: usize = 4_096;
/// Bytes of one read.
const CHUNK: usize = 1 << 16;

/// How much there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    /// Regular files.
    pub(crate) files: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
}

impl Size {
    fn add(&mut self, found: &Metadata) {
        if found.is_file() {
            self.files = self.files.saturating_add(1);
            self.bytes = self.bytes.saturating_add(found.len());
        }
    }
}

/// How much there is, and a hash of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Tree {
    /// Regular files.
    pub(crate) files: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// SHA-256 over each path, its kind, mode and content, sorted; nothing where the tree is
    /// larger than is looked at.
    pub(crate) sha256: Option<String>,
}

/// Which directory it is; nothing where it is none.
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = fs::symlink_metadata(path).ok()?;
    found.is_dir().then(|| (found.dev(), found.ino()))
}

/// How much lies below these places of a home.
pub(crate) fn size(home: &Path, places: &[&str]) -> Size {
    let mut size = Size::default();
    let counted = walk(home, places, |_, found| {
        size.add(found);
        Ok(())
    });
    tracing::debug!(?counted, "counted");
    size
}

/// How much lies below these places of a home, and what, so long as that is at most so many bytes.
///
/// # Errors
/// What is there cannot be read; [`ErrorKind::Interrupted`] where nobody waits any longer.
pub(crate) fn hashed(
    home: &Path,
    places: &[&str],
    bytes: u64,
    interrupted: &AtomicBool,
) -> io::Result<Tree> {
    let mut size = Size::default();
    let mut lines = BTreeSet::new();
    let mut left = Some(bytes);
    let whole = walk(home, places, |path, found| {
        waited_for(interrupted)?;
        size.add(found);
        let content = if found.is_file() {
            match content(path, &mut left, interrupted)? {
                Some(content) => content,
                None => return Ok(()),
            }
        } else if found.is_symlink() {
            Sha256::digest(fs::read_link(path)?.as_os_str().as_bytes()).to_vec()
        } else {
            return Ok(());
        };
        let name = path.strip_prefix(home).unwrap_or(path).as_os_str();
        let executable = found.mode() & 0o111 != 0;
        lines.insert((name.to_owned(), found.is_symlink(), executable, content));
        Ok(())
    })?;
    let mut hash = Sha256::new();
    for (name, link, executable, content) in lines {
        hash.update(name.as_bytes());
        hash.update([0, u8::from(link), u8::from(executable)]);
        hash.update(content);
    }
    Ok(Tree {
        files: size.files,
        bytes: size.bytes,
        sha256: (whole && left.is_some()).then(|| text::hex(&hash.finalize())),
    })
}

/// What is made or changed by every start, and says nothing of what was fetched.
fn is_passing(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    matches!(bytes, b"__pycache__" | b".lock" | b".cache") || bytes.ends_with(b".pyc")
}

/// Shows each entry below these places, links not followed. Whether all of them were.
fn walk(
    home: &Path,
    places: &[&str],
    mut show: impl FnMut(&Path, &Metadata) -> io::Result<()>,
) -> io::Result<bool> {
    // A place that lies behind a link is another's.
    let here = |place: &&str| without_links(&home.join(place)).ok().flatten();
    let mut waiting: Vec<_> = places
        .iter()
        .filter_map(here)
        .map(|(path, _)| path)
        .collect();
    let mut looked = 0_usize;
    while let Some(path) = waiting.pop() {
        // What a running server removes meanwhile is not there.
        let found = match fs::symlink_metadata(&path) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        looked = looked.saturating_add(1);
        if looked > ENTRIES {
            return Ok(false);
        }
        show(&path, &found)?;
        if found.is_dir() {
            for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
                if !is_passing(&entry.file_name()) {
                    waiting.push(entry.path());
                }
            }
        }
    }
    Ok(true)
}

fn waited_for(interrupted: &AtomicBool) -> io::Result<()> {
    match interrupted.load(Ordering::Relaxed) {
        true => Err(ErrorKind::Interrupted.into()),
        false => Ok(()),
    }
}

/// What a file holds; nothing where it, or one before it, had more than what may be read.
fn content(
    path: &Path,
    left: &mut Option<u64>,
    interrupted: &AtomicBool,
) -> io::Result<Option<Vec<u8>>> {
    // Neither a link nor a FIFO that stands there since is waited for.
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)?;
    let mut hash = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    while let Some(may) = *left {
        waited_for(interrupted)?;
        let count = file.read(&mut chunk)?;
        if count == 0 {
            return Ok(Some(hash.finalize().to_vec()));
        }
        hash.update(chunk.get(..count).unwrap_or_default());
        *left = may.checked_sub(u64::try_from(count).unwrap_or(u64::MAX));
    }
    Ok(None)
}

/// Removes these places of a home, so far as they lie in it: behind a link they are another's.
///
/// # Errors
/// What the system says.
pub(crate) fn clear(home: &Path, places: &[&str]) -> io::Result<()> {
    for place in places {
        let path = home.join(place);
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            continue;
        };
        // Held, so that a server that runs in the home leads it nowhere.
        if let Ok(Some((_, held))) = without_links(parent) {
            let held_at = Path::new("/proc/self/fd").join(held.as_raw_fd().to_string());
            home::empty(&held_at.join(name))?;
        }
    }
    Ok(())
}

/// The names that stand where these patterns say, below a home: a `*` in a part stands for any
/// rest of it; a scope of npm's is followed by what is in it.
pub(crate) fn names(home: &Path, patterns: &[&str]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for pattern in patterns {
        let mut places = vec![home.to_owned()];
        for part in pattern.split('/') {
            let (begin, end) = match part.split_once('*') {
                Some(ends) => ends,
                None => {
                    places.iter_mut().for_each(|place| place.push(part));
                    continue;
                }
            };
            let below = |place: &PathBuf| {
                let matches = |name: &str| {
                    name.len() >= begin.len().saturating_add(end.len())
                        && name.starts_with(begin)
                        && name.ends_with(end)
                };
                listed(place)
                    .into_iter()
                    .filter(|name| {
                        matches(name) && (!name.starts_with('.') || begin.starts_with('.'))
                    })
                    .map(|name| place.join(name))
                    .collect::<Vec<_>>()
            };
            places = places.iter().flat_map(below).take(NAMES).collect();
        }
        for place in places {
            let Some(name) = place.file_name().and_then(OsStr::to_str) else {
                continue;
            };
            if name.starts_with('@') {
                names.extend(
                    listed(&place)
                        .into_iter()
                        .map(|inner| format!("{name}/{inner}")),
                );
            } else {
                names.insert(name.trim_end_matches(".dist-info").to_owned());
            }
        }
    }
    names
}

/// The names in a directory, so far as they are text; none where it cannot be listed.
fn listed(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.take(NAMES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn whole(home: &Path, places: &[&str]) -> io::Result<Tree> {
        hashed(home, places, BYTES, &AtomicBool::new(false))
    }

    #[test]
    fn a_tree_is_read_while_somebody_waits_and_so_far_as_it_may_be() {
        let base = tempfile::tempdir().unwrap();
        let home = base.path().canonicalize().unwrap();
        for name in ["one", "two"] {
            fs::write(home.join(name), vec![0; CHUNK]).unwrap();
        }
        let bytes = 2 * u64::try_from(CHUNK).unwrap();
        let read = |bytes, stopped| hashed(&home, &[""], bytes, &AtomicBool::new(stopped));
        let all = read(bytes, false).unwrap();
        assert!(all.sha256.is_some());
        let less = read(bytes - 1, false).unwrap();
        assert_eq!((less.files, less.bytes, less.sha256), (2, bytes, None));
        let error = read(bytes, true).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted);
    }

    #[test]
    fn a_tree_is_counted_and_hashed_without_following_links() {
        let base = tempfile::tempdir().unwrap();
        let home = base.path().canonicalize().unwrap().join("home");
        let package = home.join(".npm/_npx/0123/node_modules/pkg");
        fs::create_dir_all(&package).unwrap();
        fs::write(package.join("index.js"), "one").unwrap();
        fs::write(base.path().join("secret"), "not counted").unwrap();
        symlink(base.path().join("secret"), package.join("link")).unwrap();
        symlink(base.path(), package.join("out")).unwrap();
        let holds = [".npm/_npx", ".missing"];
        let first = whole(&home, &holds).unwrap();
        assert_eq!((first.files, first.bytes), (1, 3));
        assert_eq!(size(&home, &holds), Size { files: 1, bytes: 3 });
        let again = |change: &dyn Fn()| {
            change();
            whole(&home, &holds).unwrap().sha256
        };
        let hash = first.sha256;
        assert!(hash.is_some());
        // What Python makes of it at each start is no change.
        assert_eq!(
            again(&|| {
                fs::create_dir(package.join("__pycache__")).unwrap();
                fs::write(package.join("__pycache__/x.pyc"), "x").unwrap();
            }),
            hash
        );
        let other = again(&|| fs::write(package.join("index.js"), "two").unwrap());
        assert_ne!(other, hash);
        let linked = again(&|| {
            fs::remove_file(package.join("link")).unwrap();
            symlink("index.js", package.join("link")).unwrap();
        });
        assert_ne!(linked, other);
    }

    #[test]
    fn what_lies_behind_a_link_is_neither_counted_nor_removed() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let (home, other) = (base.join("home"), base.join("other"));
        fs::create_dir_all(home.join(".npm/_npx/0")).unwrap();
        fs::create_dir_all(other.join("_npx")).unwrap();
        fs::write(other.join("_npx/kept"), "x").unwrap();
        symlink(&other, home.join(".cache")).unwrap();
        let all = [".npm/_npx", ".cache/_npx"];
        assert_eq!(size(&home, &all), Size::default());
        clear(&home, &all).unwrap();
        assert!(other.join("_npx/kept").exists() && !home.join(".npm/_npx").exists());
        assert!(home.join(".npm").exists());
    }

    #[test]
    fn names_of_what_is_fetched() {
        let base = tempfile::tempdir().unwrap();
        let home = base.path();
        for path in [
            ".npm/_npx/0123/node_modules/zod",
            ".npm/_npx/0123/node_modules/.bin",
            ".npm/_npx/0123/node_modules/@scope/server",
            ".cache/uv/wheels-v6/pypi/idna",
            ".cache/uv/other/pypi/no",
            ".cache/pipx/1/lib/python3.11/site-packages/mcp-1.0.dist-info",
        ] {
            fs::create_dir_all(home.join(path)).unwrap();
        }
        let found = names(
            home,
            &[
                ".npm/_npx/*/node_modules/*",
                ".cache/uv/wheels-v*/pypi/*",
                ".cache/pipx/*/lib/*/site-packages/*.dist-info",
            ],
        );
        let found: Vec<_> = found.iter().map(String::as_str).collect();
        assert_eq!(found, ["@scope/server", "idna", "mcp-1.0", "zod"]);
    }
}
