//! Promise G1: no server may write where git, or anything else of the person's, would run it.
//!
//! A directory is refused that is in a repository, is one, or holds one, and at, above and below
//! the places of `policy/sensitive-directories.json`. Nothing of git's is run and no variable of
//! its is obeyed: what counts is what lies on disk, looked at from the resolved directory up to
//! `/` across mounts, and down to a bound. A doubt refuses.
//!
//! Not seen: a repository elsewhere whose `core.worktree` names the directory; nothing here says
//! so.
#![expect(
    clippy::disallowed_methods,
    reason = "this room looks for marks of repositories"
)]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::held::{Held, Opened};
use super::links::follow;
use super::places::Places;
use super::walk::{self, ENTRIES, Missed, Picture, Repository, Task};
use super::{Grant, Person, PlanError, facts, layout};
use crate::text;

/// Checks a directory that `--dir` names by an absolute path, and says where it resolves to:
/// that is what is kept and shown. `installation` is what the server executes, `PATH` included.
///
/// # Errors
/// [`PlanError::DirUnusable`] where it is missing or no directory; [`PlanError::DirRefused`] for
/// all that promise G1 refuses; [`PlanError::WritableProgram`] where it holds what the server
/// executes; [`PlanError::NotUtf8`].
pub(crate) fn check(
    dir: &Path,
    person: &Person,
    installation: &[Grant],
) -> Result<PathBuf, PlanError> {
    check_in(dir, &facts::places(person), installation).map(|checked| checked.resolved)
}

/// A directory that was checked.
#[derive(Debug)]
pub(crate) struct Checked {
    /// Where it lies.
    pub(crate) resolved: PathBuf,
    /// The very directory that was looked at, whatever stands at its path later.
    pub(crate) held: Held,
    /// What stood in it: the end of a run compares with it (promise G3).
    pub(crate) picture: Picture,
}

/// Checks a directory as a declaration holds it, at a start: the same, and refused where any
/// part of its path has become a link since it was declared.
///
/// # Errors
/// As [`check`].
pub(crate) fn check_stored(
    dir: &Path,
    places: &Places,
    installation: &[Grant],
) -> Result<Checked, PlanError> {
    let checked = check_in(dir, places, installation)?;
    if checked.resolved == dir {
        Ok(checked)
    } else {
        let why = format!("it has become a link, to {}", text::path(&checked.resolved));
        Err(refused(dir, why))
    }
}

fn refused(dir: &Path, why: String) -> PlanError {
    PlanError::DirRefused {
        path: dir.to_owned(),
        why,
    }
}

fn check_in(dir: &Path, places: &Places, installation: &[Grant]) -> Result<Checked, PlanError> {
    let (resolved, held) = hold(dir)?;
    if resolved.to_str().is_none() {
        return Err(PlanError::NotUtf8 { path: resolved });
    }
    if let Some(why) = places.refuse_writing(&resolved) {
        return Err(refused(dir, why));
    }
    for grant in installation {
        if grant.path.starts_with(&resolved) {
            return Err(PlanError::WritableProgram {
                path: grant.path.clone(),
            });
        }
        if resolved.starts_with(&grant.path) {
            let why = format!("it lies in {} ({})", text::path(&grant.path), grant.reason);
            return Err(refused(dir, why));
        }
    }
    let picture = above(&resolved, &held)
        .and_then(|()| below(&resolved, &held))
        .and_then(|picture| stays(&resolved, &held).map(|()| picture))
        .map_err(|why| refused(dir, why))?;
    Ok(Checked {
        resolved,
        held,
        picture,
    })
}

/// Where a path leads through its links, and the directory there, held.
fn hold(dir: &Path) -> Result<(PathBuf, Held), PlanError> {
    let unusable = |why| PlanError::DirUnusable {
        path: dir.to_owned(),
        why,
    };
    let resolved = follow(dir).map_err(|error| match error.kind() {
        ErrorKind::NotFound => unusable("is not there"),
        ErrorKind::NotADirectory => unusable("is no directory"),
        _ => refused(dir, format!("it cannot be looked at: {error}")),
    })?;
    let resolved = resolved.resolved;
    match Held::open(&resolved) {
        Ok(held) => Ok((resolved, held)),
        Err(error) if error.kind() == ErrorKind::NotADirectory => Err(unusable("is no directory")),
        Err(error) => Err(refused(dir, format!("it cannot be held: {error}"))),
    }
}

/// Every directory above, to `/`, by the directories' own `..`: those above the one held, not
/// those that a path names by now. One that cannot be listed is a doubt.
fn above(dir: &Path, held: &Held) -> Result<(), String> {
    let mut at = held.clone();
    for parent in dir.ancestors().skip(1) {
        at = at.above().map_err(|error| cannot(parent, &error))?;
        let found = at
            .open_inside(Path::new(""))
            .and_then(|open| match open {
                Some(open) => {
                    // One that opens and does not list is a doubt too.
                    open.entries()?.next().transpose()?;
                    repository(&open, Path::new(""))
                }
                None => Ok(None),
            })
            .map_err(|error| cannot(parent, &error))?;
        found.map_or(Ok(()), |found| Err(is_there(parent, &found)))?;
    }
    Ok(())
}

/// The directory itself and all below it, links not followed: what they lead to the server
/// cannot write.
fn below(dir: &Path, held: &Held) -> Result<Picture, String> {
    let picture = walk::look(
        held,
        dir,
        Task {
            obeyed: true,
            first: true,
            entries: ENTRIES,
            until: None,
        },
    );
    match (picture.repositories.first(), &picture.missed) {
        (Some(found), _) => Err(is_there(dir, found)),
        (None, Some(Missed::Unreadable(path, error))) => Err(cannot(&dir.join(path), error)),
        (None, Some(missed)) => Err(format!(
            "{missed}, and not all were looked at for repositories"
        )),
        (None, None) => Ok(picture),
    }
}

/// The directory held still lies where it was named when all was looked at.
fn stays(dir: &Path, held: &Held) -> Result<(), String> {
    match held.place() {
        Ok(place) if place == dir => Ok(()),
        Ok(_) => Err("it was moved while it was looked at".to_owned()),
        Err(error) => Err(format!("it cannot be told where it lies: {error}")),
    }
}

fn cannot(path: &Path, error: &io::Error) -> String {
    format!(
        "{} cannot be listed, so that a repository there cannot be ruled out: {error}",
        text::path(path)
    )
}

/// Whether an opened directory, which lies at `at`, is a repository or a working copy. Each mark
/// is asked for by its name, so that a file system that takes other spellings for it (letter
/// case, characters that HFS+ ignores) says so itself, and one that keeps them apart does too.
/// Its kind is no matter: a directory, the pointer file of a worktree or submodule, a link that
/// leads nowhere, a FIFO.
///
/// # Errors
/// It cannot be told.
pub(crate) fn repository(open: &Opened, at: &Path) -> io::Result<Option<Repository>> {
    let has = |name: &str| open.stat(OsStr::new(name)).map(|found| found.is_some());
    if has(".git")? {
        return Ok(Some(Repository::Marked(at.join(".git"))));
    }
    // What git takes for a repository's own directory (`is_git_directory` in setup.c); the
    // second is that of a linked working tree.
    let bare = has("HEAD")? && (has("objects")? && has("refs")? || has("commondir")?);
    Ok(bare.then(|| Repository::Bare(at.to_owned())))
}

fn is_there(dir: &Path, found: &Repository) -> String {
    match found {
        Repository::Marked(mark) => {
            format!("a git repository is there: {}", text::path(&dir.join(mark)))
        }
        Repository::Bare(bare) => {
            format!("{} is a bare git repository", text::path(&dir.join(bare)))
        }
    }
}

/// Marks of other version control systems in a directory (resolved) and above it, to be named at
/// the question. They refuse nothing.
#[must_use]
pub(crate) fn other_marks(dir: &Path) -> Vec<PathBuf> {
    // The last two are Fossil's own, of which a home may hold one: they make no checkout.
    let others = || {
        let checkouts = layout::CHECKOUT.iter().filter(|mark| **mark != ".git");
        checkouts.chain(&[".fossil", "_FOSSIL_"])
    };
    let there = |path: &PathBuf| fs::symlink_metadata(path).is_ok();
    let found: BTreeSet<PathBuf> = dir
        .ancestors()
        .flat_map(|dir| others().map(|mark| dir.join(mark)))
        .filter(there)
        .collect();
    found.into_iter().collect()
}

#[cfg(test)]
#[path = "git_tests.rs"]
mod tests;
