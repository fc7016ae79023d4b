//! What a declaration names on disk: the reads that `add` records, and what they are now.
#![expect(
    clippy::disallowed_methods,
    reason = "this room looks at what a declaration names"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use secrecy::ExposeSecret;

use super::links::follow;
use super::package::{beside, package_root};
use super::places::Places;
use super::runner::{self, Runner};
use super::{Person, PlanError, ReadFact, facts, interpreter};
use crate::declaration::{AbsolutePath, Read, ReadReason, Stdio};

/// Trees of the kernel's own, of which no file is recorded and none read by `--read`: they hold
/// processes and devices, and what servers need of them they get anyway.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The paths that stored values and arguments name: a whole word, or what follows an `=` in
/// one, where it is absolute. The program itself is none of them.
#[must_use]
pub(crate) fn named(stdio: &Stdio) -> Vec<(PathBuf, ReadReason)> {
    let values = stdio
        .env
        .values()
        .map(|value| (value.expose_secret(), ReadReason::Value));
    let args = stdio
        .args
        .iter()
        .map(|arg| (arg.as_str(), ReadReason::Argument));
    let paths = values.chain(args).flat_map(|(word, why)| {
        let after = word
            .match_indices('=')
            .filter_map(move |(at, _)| word.get(at.saturating_add(1)..));
        std::iter::once(word)
            .chain(after)
            .map(move |path| (path, why))
    });
    paths
        .filter(|(path, _)| path.starts_with('/') && !path.contains('\0'))
        .map(|(path, why)| (PathBuf::from(path), why))
        .collect()
}

/// What `add` records without being asked: each regular file that a stored value or an argument
/// names, and the package around a script that is given to an interpreter. Each path once,
/// sorted; nothing that the state directory or the kernel's own trees hold, nothing inside
/// `--dir`, nothing that another recorded path covers.
///
/// # Errors
/// [`PlanError::NotUtf8`] where a link leads to a path that cannot be kept.
pub(crate) fn recorded(stdio: &Stdio, person: &Person) -> Result<Vec<Read>, PlanError> {
    let places = facts::places(person);
    let dir = stdio.dir.as_ref().map(AbsolutePath::as_path);
    let inside = |path: &Path| dir.is_some_and(|dir| path.starts_with(dir));
    let hidden = |path: &Path| {
        places.in_state(path) || inside(path) || KERNEL.iter().any(|tree| path.starts_with(tree))
    };
    let mut reads: BTreeMap<PathBuf, ReadReason> = BTreeMap::new();
    for (path, why) in named(stdio) {
        // What is named inside `--dir` is the server's to change: a link there says nothing.
        let file = regular_file(&path).filter(|file| !inside(&path) && !hidden(file));
        if let Some(file) = file {
            reads.entry(file).or_insert(why);
        }
    }
    let runner = runner::recognise(&stdio.argv());
    let project = runner
        .as_ref()
        .and_then(|runner| project(runner, &places))
        .filter(|project| !hidden(project));
    let script = interpreter::script(&stdio.command, &stdio.args)
        .filter(|script| !inside(Path::new(script)));
    let script = script
        .and_then(|script| regular_file(Path::new(script)))
        .filter(|script| !hidden(script));
    let root = script
        .and_then(|script| package_root(script.parent()?, &places))
        .filter(|root| !hidden(root));
    let roots: Vec<PathBuf> = root.into_iter().chain(project).collect();
    let beside = roots.iter().flat_map(|root| beside(root, &places));
    let beside: Vec<PathBuf> = beside.filter(|path| !hidden(path)).collect();
    for root in roots.into_iter().chain(beside) {
        if !reads.keys().any(|known| root.starts_with(known)) {
            reads.retain(|path, _| !path.starts_with(&root));
            reads.insert(root, ReadReason::PackageRoot);
        }
    }
    reads
        .into_iter()
        .map(|(path, why)| {
            Ok(Read {
                path: kept(&path)?,
                why,
            })
        })
        .collect()
}

/// The project that a runner's words name by its directory or a file in it: the package there,
/// else the directory itself, or the file where others keep theirs beside it. Followed.
#[must_use]
pub(crate) fn project(runner: &Runner, places: &Places) -> Option<PathBuf> {
    let named = runner.project.as_deref()?;
    let path = follow(Path::new(named)).ok()?.resolved;
    let dir = if path.is_dir() { &path } else { path.parent()? };
    package_root(dir, places).or_else(|| {
        let script = dir.join(runner.script.as_deref()?);
        regular_file(&script)
    })
}

/// What `--read PATH` declares, seen from `cwd`; nothing where `dir` covers it.
///
/// # Errors
/// [`PlanError::ReadMissing`]; [`PlanError::ReadRefused`] for `/`, the home, the state directory
/// and what lies above one of them, what the state directory holds, the kernel's own trees, and
/// what is neither a regular file nor a directory; [`PlanError::NotUtf8`], [`PlanError::Look`].
pub(crate) fn flag(
    path: &Path,
    cwd: &Path,
    dir: Option<&Path>,
    person: &Person,
) -> Result<Option<Read>, PlanError> {
    let places = facts::places(person);
    let fact = look_at(&cwd.join(path), &places)?;
    if dir.is_some_and(|dir| fact.path.starts_with(dir)) {
        return Ok(None);
    }
    Ok(Some(Read {
        path: kept(&fact.path)?,
        why: ReadReason::Flag,
    }))
}

/// What secrets a path holds or lies among, to be named at the question about a `--read`.
pub(crate) fn secrets(path: &Path, person: &Person) -> Option<&'static str> {
    facts::places(person).secrets(path)
}

/// What recorded reads are now, in their order.
///
/// # Errors
/// As [`flag`], and [`PlanError::ReadRefused`] where a path has become a link, or what was
/// recorded as a file has become a directory.
pub(crate) fn look(reads: &[Read], places: &Places) -> Result<Vec<ReadFact>, PlanError> {
    let one = |read: &Read| {
        let path = read.path.as_path();
        let fact = look_at(path, places)?;
        let refused = |why| PlanError::ReadRefused {
            path: path.to_owned(),
            why,
        };
        if fact.path != path {
            return Err(refused("it has become a link since it was recorded"));
        }
        match read.why {
            ReadReason::Value | ReadReason::Argument if fact.directory => {
                Err(refused("it was recorded as one file and is a directory"))
            }
            _ => Ok(fact),
        }
    };
    reads.iter().map(one).collect()
}

fn look_at(path: &Path, places: &Places) -> Result<ReadFact, PlanError> {
    let refused = |why| PlanError::ReadRefused {
        path: path.to_owned(),
        why,
    };
    let resolved = follow(path)
        .map(|followed| followed.resolved)
        .map_err(|error| missing(path, error))?;
    if places.above_all(&resolved) {
        return Err(refused(
            "it is the home, the state directory, or lies above one of them",
        ));
    }
    if places.in_state(&resolved) {
        return Err(refused("it lies in the state directory"));
    }
    if KERNEL.iter().any(|tree| resolved.starts_with(tree)) {
        return Err(refused("it holds processes or devices"));
    }
    let kind = fs::metadata(&resolved)
        .map_err(|error| missing(path, error))?
        .file_type();
    if !kind.is_dir() && !kind.is_file() {
        return Err(refused("it is neither a regular file nor a directory"));
    }
    Ok(ReadFact {
        path: resolved,
        directory: kind.is_dir(),
    })
}

fn missing(path: &Path, error: std::io::Error) -> PlanError {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => PlanError::ReadMissing {
            path: path.to_owned(),
        },
        _ => PlanError::Look {
            path: path.display().to_string(),
            source: error,
        },
    }
}

/// Where a path leads, if to a regular file.
fn regular_file(path: &Path) -> Option<PathBuf> {
    let file = follow(path).ok()?.resolved;
    fs::metadata(&file)
        .is_ok_and(|found| found.is_file())
        .then_some(file)
}

fn kept(path: &Path) -> Result<AbsolutePath, PlanError> {
    AbsolutePath::new(path).map_err(|_| PlanError::NotUtf8 {
        path: path.to_owned(),
    })
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
