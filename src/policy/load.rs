//! Finds the administrator's files and reads them into one policy.
//!
//! [`installed`] is what decides; [`named`] reads what a command was handed, so that a fleet's
//! files are tested where they are written.

use std::path::Path;

use super::document::parse;
use super::owner::{Folder, Trust};
use super::problem::{Cause, FileProblem};
use super::{AdminPolicy, PolicyError};

/// Where an administrator's files stand. No variable moves it.
pub(crate) const PLACE: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/supervisor"
} else {
    "/etc/supervisor"
};
const FILE: &str = "managed.json";
const DIRECTORY: &str = "managed.d";

/// The policy in force, or why nothing may start.
pub(crate) type Installed = Result<AdminPolicy, PolicyError>;

/// The policy in force.
///
/// # Errors
/// A file that cannot be obeyed, or of which it cannot be told: nothing may start then.
pub(crate) fn installed() -> Installed {
    let found = match Folder::installed(Path::new(PLACE)) {
        Ok(Some(folder)) => all(&folder),
        Ok(None) => Ok(AdminPolicy::default()),
        Err(problem) => Err(problem),
    };
    found.map_err(PolicyError::Installed)
}

/// The policy of a file, or of a directory laid out as the installed one. `trust` says whether
/// it is held to what an installed one is.
///
/// # Errors
/// What is wrong with it; it is not there.
pub(crate) fn named(path: &Path, trust: Trust) -> Result<AdminPolicy, PolicyError> {
    match trust {
        Trust::Installed => as_installed(path),
        Trust::Named => as_named(path),
    }
    .map_err(PolicyError::Named)
}

/// The text of a file of another host.
///
/// # Errors
/// What is wrong with it; it is not there.
pub(crate) fn text(path: &Path) -> Result<String, PolicyError> {
    let missing = || FileProblem::new(path, Cause::Missing);
    let read = || {
        let above = Folder::named(parent(path))?.ok_or_else(missing)?;
        let name = path.file_name().ok_or_else(missing)?;
        above.read(Path::new(name))?.ok_or_else(missing)
    };
    let (text, _) = read().map_err(PolicyError::Named)?;
    Ok(text)
}

/// Where a file stands, as it was named.
fn parent(path: &Path) -> &Path {
    let parent = path.parent().filter(|above| !above.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

fn as_named(path: &Path) -> Result<AdminPolicy, FileProblem> {
    if let Some(folder) = Folder::named(path)? {
        return some_of(all(&folder)?, path);
    }
    of_file(Folder::named(parent(path))?.as_ref(), path)
}

fn as_installed(path: &Path) -> Result<AdminPolicy, FileProblem> {
    let failed = |error| FileProblem::io(path, "looked at", error);
    let path = &std::path::absolute(path).map_err(failed)?;
    match Folder::installed(path) {
        Ok(Some(folder)) => some_of(all(&folder)?, path),
        Ok(None) => Err(FileProblem::new(path, Cause::Missing)),
        Err(problem) if problem.path == *path && matches!(problem.cause, Cause::NotADirectory) => {
            let above = path.parent().map(Folder::installed).transpose()?.flatten();
            of_file(above.as_ref(), path)
        }
        Err(problem) => Err(problem),
    }
}

fn some_of(policy: AdminPolicy, path: &Path) -> Result<AdminPolicy, FileProblem> {
    if policy.is_absent() {
        Err(FileProblem::new(&path.join(FILE), Cause::Missing))
    } else {
        Ok(policy)
    }
}

fn of_file(above: Option<&Folder>, path: &Path) -> Result<AdminPolicy, FileProblem> {
    let missing = || FileProblem::new(path, Cause::Missing);
    let name = path.file_name().ok_or_else(missing)?;
    let above = above.ok_or_else(missing)?;
    file(above, Path::new(name))?.ok_or_else(missing)
}

/// The file of a directory, and those of its `managed.d`.
fn all(folder: &Folder) -> Result<AdminPolicy, FileProblem> {
    let mut policy = file(folder, Path::new(FILE))?.unwrap_or_default();
    if let Some(directory) = folder.below(Path::new(DIRECTORY))? {
        for name in directory.json_names()? {
            if let Some(further) = file(&directory, &name)? {
                policy = policy.merged(further);
            }
        }
    }
    Ok(policy)
}

fn file(folder: &Folder, name: &Path) -> Result<Option<AdminPolicy>, FileProblem> {
    let Some((text, owner)) = folder.read(name)? else {
        return Ok(None);
    };
    parse(&text, &folder.path(name), owner).map(Some)
}
