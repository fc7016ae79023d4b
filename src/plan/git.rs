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
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::held::Held;
use super::links::follow;
use super::places::Places;
use super::{Grant, Person, PlanError, facts, layout};
use crate::text;

/// So many directories deep a writable directory is looked through; a deeper one is refused.
pub(crate) const DEPTH: usize = 32;
/// So many entries of a writable directory are looked at; where there are more it is refused.
pub(crate) const ENTRIES: usize = 100_000;

/// Checks a directory that `--dir` names by an absolute path, and says where it resolves to:
/// that is what is kept and shown. `installation` is what the server executes, `PATH` included.
///
/// # Errors
/// [`PlanError::DirUnusable`] where it is missing or no directory; [`PlanError::DirRefused`] for
/// all that promise G1 refuses; [`PlanError::WritableProgram`] where it holds what the server
/// executes; [`PlanError::NotUtf8`], [`PlanError::Data`].
pub(crate) fn check(
    dir: &Path,
    person: &Person,
    installation: &[Grant],
) -> Result<PathBuf, PlanError> {
    check_in(dir, &facts::places(person)?, installation).map(|(resolved, _)| resolved)
}

/// Checks a directory as a declaration holds it, at a start: the same, and refused where any
/// part of its path has become a link since it was declared. The directory returned is the one
/// that was looked at, whatever stands at its path later.
///
/// # Errors
/// As [`check`].
pub(crate) fn check_stored(
    dir: &Path,
    places: &Places,
    installation: &[Grant],
) -> Result<(PathBuf, Held), PlanError> {
    let (resolved, held) = check_in(dir, places, installation)?;
    if resolved == dir {
        Ok((resolved, held))
    } else {
        let why = format!("it has become a link, to {}", text::path(&resolved));
        Err(refused(dir, why))
    }
}

fn refused(dir: &Path, why: String) -> PlanError {
    PlanError::DirRefused {
        path: dir.to_owned(),
        why,
    }
}

fn check_in(
    dir: &Path,
    places: &Places,
    installation: &[Grant],
) -> Result<(PathBuf, Held), PlanError> {
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
    above(&resolved, &held)
        .and_then(|()| below(&resolved, &held))
        .and_then(|()| stays(&resolved, &held))
        .map_err(|why| refused(dir, why))?;
    Ok((resolved, held))
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
        at.list(Path::new(""), 0)
            .map_err(|error| cannot(parent, &error))?;
        marks(parent, &at, Path::new(""))?;
    }
    Ok(())
}

/// The directory itself and all below it, links not followed: what they lead to the server
/// cannot write.
fn below(dir: &Path, held: &Held) -> Result<(), String> {
    let mut left = ENTRIES;
    let mut waiting = vec![(PathBuf::new(), 0_usize)];
    while let Some((at, depth)) = waiting.pop() {
        let listing = held
            .list(&at, left)
            .map_err(|error| cannot(&dir.join(&at), &error))?;
        marks(dir, held, &at)?;
        if listing.cut {
            return Err(format!(
                "it holds more than {ENTRIES} entries, and not all were looked at for repositories"
            ));
        }
        left = left.saturating_sub(listing.entries);
        for name in listing.directories {
            if depth >= DEPTH {
                return Err(format!(
                    "it is more than {DEPTH} directories deep, and not all were looked at for repositories"
                ));
            }
            waiting.push((at.join(name), depth.saturating_add(1)));
        }
    }
    Ok(())
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

/// Refuses the directory at `inside` of `held`, which lies at `dir`, where it is a repository or
/// a working copy. Each mark is asked for by its name, so that a file system that takes other
/// spellings for it (letter case, characters that HFS+ ignores) says so itself, and one that
/// keeps them apart does too. Its kind is no matter: a directory, the pointer file of a worktree
/// or submodule, a link that leads nowhere, a FIFO.
fn marks(dir: &Path, held: &Held, inside: &Path) -> Result<(), String> {
    let has = |name: &str| {
        held.holds(&inside.join(name))
            .map_err(|error| cannot(&dir.join(inside), &error))
    };
    if has(".git")? {
        let mark = dir.join(inside).join(".git");
        return Err(format!("a git repository is there: {}", text::path(&mark)));
    }
    // What git takes for a repository's own directory (`is_git_directory` in setup.c); the
    // second is that of a linked working tree.
    if has("HEAD")? && (has("objects")? && has("refs")? || has("commondir")?) {
        let bare = text::path(&dir.join(inside));
        return Err(format!("{bare} is a bare git repository"));
    }
    Ok(())
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
