//! The private homes beside each other: which there are, how much they hold, and their end.
#![expect(
    clippy::disallowed_methods,
    reason = "the room `launch` makes the private homes and ends them"
)]

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use nix::libc;

use super::LaunchError;
use super::home::empty;

/// So many entries of a home are counted; the size of one with more is that of these.
const ENTRIES: usize = 100_000;
/// Bytes of a block, as `stat` counts them.
const BLOCK: u64 = 512;

/// What became of a home that was to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    /// There was none.
    Absent,
    /// A server runs in it.
    InUse,
    /// It is gone.
    Removed,
}

fn homes(state: &Path) -> PathBuf {
    state.join("home")
}

/// The names of all homes below the state directory, sorted; what has another name is not ours.
///
/// # Errors
/// The directory cannot be read.
pub(crate) fn names(state: &Path) -> Result<BTreeSet<String>, LaunchError> {
    let path = homes(state);
    let at = |source| LaunchError::Home {
        path: path.clone(),
        source,
    };
    let entries = match fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(at(error)),
    };
    let mut names = BTreeSet::new();
    for entry in entries {
        let entry = entry.map_err(at)?.file_name();
        let name = entry
            .to_str()
            .map(|name| name.strip_suffix(".digest").unwrap_or(name));
        names.extend(name.filter(|name| is_name(name)).map(str::to_owned));
    }
    Ok(names)
}

fn is_name(name: &str) -> bool {
    let digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    name.len() == 16 && name.chars().all(digit)
}

/// Where a home is.
pub(crate) fn path(state: &Path, name: &str) -> PathBuf {
    homes(state).join(name)
}

/// The room a home takes on disk: 0 where there is none, and of a large one at least that of its
/// first entries. A file of many names counts once.
pub(crate) fn bytes(state: &Path, name: &str) -> u64 {
    size(&path(state, name))
}

/// The same of any path.
pub(crate) fn size(path: &Path) -> u64 {
    let mut waiting = vec![path.to_owned()];
    let (mut bytes, mut looked, mut linked) = (0_u64, 0_usize, BTreeSet::new());
    while let Some(path) = waiting.pop() {
        // What a running server removes meanwhile counts nothing.
        let Ok(stat) = fs::symlink_metadata(&path) else {
            continue;
        };
        looked = looked.saturating_add(1);
        if looked > ENTRIES {
            break;
        }
        if stat.nlink() < 2 || stat.is_dir() || linked.insert((stat.dev(), stat.ino())) {
            bytes = bytes.saturating_add(stat.blocks().saturating_mul(BLOCK));
        }
        if stat.is_dir()
            && let Ok(entries) = fs::read_dir(&path)
        {
            let most = ENTRIES.saturating_sub(waiting.len());
            waiting.extend(entries.flatten().take(most).map(|entry| entry.path()));
        }
    }
    bytes
}

/// Whether a server runs in a home.
pub(crate) fn in_use(state: &Path, name: &str) -> bool {
    let mark = homes(state).join(name).with_extension("digest");
    let Ok(file) = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(mark)
    else {
        return false;
    };
    matches!(
        Flock::lock(file, FlockArg::LockExclusiveNonblock),
        Err((_, nix::Error::EWOULDBLOCK))
    )
}

/// Removes a home with all in it, and the file beside it, unless a server runs in it.
///
/// # Errors
/// The system said no.
pub(crate) fn remove(state: &Path, name: &str) -> Result<Gone, LaunchError> {
    let path = homes(state).join(name);
    let mark = path.with_extension("digest");
    let at = |source| LaunchError::Home {
        path: path.clone(),
        source,
    };
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(&mark);
    // Held until all is gone, so that no start begins in it meanwhile.
    let held = match file {
        Ok(file) => match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(held) => Some(held),
            Err((_, nix::Error::EWOULDBLOCK)) => return Ok(Gone::InUse),
            Err((_, errno)) => return Err(at(errno.into())),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(at(error)),
    };
    let there = held.is_some() || fs::symlink_metadata(&path).is_ok();
    empty(&path).map_err(at)?;
    match fs::remove_file(&mark) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(at(error)),
    }
    drop(held);
    Ok(if there { Gone::Removed } else { Gone::Absent })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_are_named_counted_and_ended() {
        let state = tempfile::tempdir().unwrap();
        let state = state.path();
        assert!(names(state).unwrap().is_empty());
        let (one, two) = ("0123456789abcdef", "fedcba9876543210");
        fs::create_dir_all(state.join("home").join(one).join("a/b")).unwrap();
        fs::write(
            state.join("home").join(one).join("a/b/file"),
            vec![1; 70_000],
        )
        .unwrap();
        fs::write(state.join("home").join(format!("{one}.digest")), one).unwrap();
        fs::write(state.join("home").join(format!("{two}.digest")), two).unwrap();
        fs::create_dir(state.join("home/not-ours")).unwrap();
        assert_eq!(names(state).unwrap(), [one, two].map(str::to_owned).into());
        let before = bytes(state, one);
        assert!((70_000..200_000).contains(&before), "{before}");
        fs::hard_link(
            state.join("home").join(one).join("a/b/file"),
            state.join("home").join(one).join("again"),
        )
        .unwrap();
        assert_eq!(bytes(state, one), before, "one file of two names");
        assert_eq!(bytes(state, two), 0);
        let mark = fs::File::open(state.join("home").join(format!("{one}.digest"))).unwrap();
        let run = Flock::lock(mark, FlockArg::LockShared).unwrap();
        assert!(in_use(state, one));
        assert_eq!(remove(state, one).unwrap(), Gone::InUse);
        drop(run);
        assert!(!in_use(state, one));
        for (name, gone) in [
            (one, Gone::Removed),
            (one, Gone::Absent),
            (two, Gone::Removed),
        ] {
            assert_eq!(remove(state, name).unwrap(), gone);
        }
        assert!(names(state).unwrap().is_empty() && state.join("home/not-ours").exists());
    }
}
