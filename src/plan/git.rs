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
use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::links::follow;
use super::places::Places;
use super::{Grant, Person, PlanError, facts, layout};
use crate::text;

/// So many directories deep a writable directory is looked through; a deeper one is refused.
pub(crate) const DEPTH: usize = 32;
/// So many entries of a writable directory are looked at, and so many of each directory above
/// it; where there are more it is refused.
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
    check_in(dir, &facts::places(person)?, installation)
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
) -> Result<PathBuf, PlanError> {
    let resolved = check_in(dir, places, installation)?;
    if resolved == dir {
        Ok(resolved)
    } else {
        let why = format!("it has become a link, to {}", text::path(&resolved));
        Err(PlanError::DirRefused {
            path: dir.to_owned(),
            why,
        })
    }
}

fn check_in(dir: &Path, places: &Places, installation: &[Grant]) -> Result<PathBuf, PlanError> {
    let unusable = |why| PlanError::DirUnusable {
        path: dir.to_owned(),
        why,
    };
    let refused = |why| PlanError::DirRefused {
        path: dir.to_owned(),
        why,
    };
    let resolved = follow(dir).map_err(|error| match error.kind() {
        ErrorKind::NotFound => unusable("is not there"),
        ErrorKind::NotADirectory => unusable("is no directory"),
        _ => refused(format!("it cannot be looked at: {error}")),
    })?;
    let resolved = resolved.resolved;
    if !resolved.is_dir() {
        return Err(unusable("is no directory"));
    }
    if resolved.to_str().is_none() {
        return Err(PlanError::NotUtf8 { path: resolved });
    }
    if let Some(why) = places.refuse_writing(&resolved) {
        return Err(refused(why));
    }
    for grant in installation {
        if grant.path.starts_with(&resolved) {
            return Err(PlanError::WritableProgram {
                path: grant.path.clone(),
            });
        }
        if resolved.starts_with(&grant.path) {
            return Err(refused(format!(
                "it lies in {} ({})",
                text::path(&grant.path),
                grant.reason
            )));
        }
    }
    above(&resolved)
        .and_then(|()| below(&resolved))
        .map_err(refused)?;
    Ok(resolved)
}

/// Every directory above, to `/`: each is listed, so that no spelling of a mark is missed.
fn above(dir: &Path) -> Result<(), String> {
    for parent in dir.ancestors().skip(1) {
        let (entries, whole) = list(parent, ENTRIES).map_err(|error| cannot(parent, &error))?;
        marks(parent, &entries)?;
        if !whole {
            return Err(format!(
                "{} holds more than {ENTRIES} entries, and not all were looked at",
                text::path(parent)
            ));
        }
    }
    Ok(())
}

/// The directory itself and all below it, links not followed: what they lead to the server
/// cannot write.
fn below(dir: &Path) -> Result<(), String> {
    let mut left = ENTRIES;
    let mut waiting = vec![(dir.to_owned(), 0_usize)];
    while let Some((at, depth)) = waiting.pop() {
        let (entries, whole) = list(&at, left).map_err(|error| cannot(&at, &error))?;
        marks(&at, &entries)?;
        if !whole {
            return Err(format!(
                "it holds more than {ENTRIES} entries, and not all were looked at for repositories"
            ));
        }
        left = left.saturating_sub(entries.len());
        for entry in entries.into_iter().filter(|entry| entry.kind.is_dir()) {
            if depth >= DEPTH {
                return Err(format!(
                    "it is more than {DEPTH} directories deep, and not all were looked at for repositories"
                ));
            }
            waiting.push((at.join(entry.name), depth.saturating_add(1)));
        }
    }
    Ok(())
}

fn cannot(path: &Path, error: &io::Error) -> String {
    format!(
        "{} cannot be listed, so that a repository there cannot be ruled out: {error}",
        text::path(path)
    )
}

struct Entry {
    name: OsString,
    kind: FileType,
}

/// The entries of a directory, and whether that is all of them.
fn list(dir: &Path, most: usize) -> io::Result<(Vec<Entry>, bool)> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entries.len() >= most {
            return Ok((entries, false));
        }
        entries.push(Entry {
            name: entry.file_name(),
            kind: entry.file_type()?,
        });
    }
    Ok((entries, true))
}

/// Refuses a directory with these entries in it where it is a repository or a working copy.
fn marks(dir: &Path, entries: &[Entry]) -> Result<(), String> {
    if let Some(mark) = entries.iter().find(|entry| is_dot_git(&entry.name)) {
        return Err(format!(
            "a git repository is there: {}",
            text::path(&dir.join(&mark.name))
        ));
    }
    let has = |name: &str| {
        entries
            .iter()
            .any(|entry| entry.name.eq_ignore_ascii_case(name))
    };
    // What git takes for a repository's own directory (`is_git_directory` in setup.c); the
    // second is that of a linked working tree.
    if has("HEAD") && (has("objects") && has("refs") || has("commondir")) {
        return Err(format!("{} is a bare git repository", text::path(dir)));
    }
    Ok(())
}

/// Whether some file system takes a name for `.git`: in any letter case (they fold it, or a copy
/// to one that does), with characters that HFS+ ignores, or as the short name that FAT gives it
/// (`is_hfs_dotgit` and `is_ntfs_dotgit` of git). The kind of the file is no matter: a directory,
/// the pointer file of a worktree or submodule, a link that leads nowhere, a FIFO.
fn is_dot_git(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    let ignored = |c: &char| !matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let plain: String = name.chars().filter(ignored).collect();
    let plain = plain.trim_end_matches([' ', '.']);
    plain.eq_ignore_ascii_case(".git") || plain.eq_ignore_ascii_case("git~1")
}

/// Marks of other version control systems in a directory (resolved) and above it, to be named at
/// the question. They refuse nothing.
#[must_use]
pub(crate) fn other_marks(dir: &Path) -> Vec<PathBuf> {
    let others = || layout::CHECKOUT.iter().filter(|mark| **mark != ".git");
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
