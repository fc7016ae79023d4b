//! Where the state directory is: found, its place trusted, made where it is missing.
#![expect(
    clippy::disallowed_methods,
    reason = "the state directory is found and made here"
)]

use std::fs::{DirBuilder, File, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use super::file::{FileError, Folder, Problem};
use super::trust;
use crate::plan::links::{Followed, follow, settle};

/// The directory, resolved and checked, and whether it had to be closed to others.
///
/// # Errors
/// Another user's directory, no directory, one in whose place others may put another.
pub(super) fn find(named: &Path) -> Result<Option<(Folder, bool)>, FileError> {
    let followed = match follow(named) {
        Ok(followed) => followed,
        Err(_)
            if named
                .symlink_metadata()
                .is_err_and(|error| error.kind() == ErrorKind::NotFound) =>
        {
            return Ok(None);
        }
        // A link that leads nowhere too: it is there, and no directory still to be made.
        Err(error) => {
            let doing = "followed";
            return Err(FileError::new(named, Problem::Io { doing, error }));
        }
    };
    trust::above(&followed)?;
    let Some(folder) = Folder::open(&followed.resolved)? else {
        return Ok(None);
    };
    let closed = folder.own()?;
    Ok(Some((folder, closed)))
}

/// Makes the directory and what is missing above it, where nobody else may replace it.
///
/// # Errors
/// A directory above that others may change: then nothing is made. The system said no.
pub(super) fn make(named: &Path) -> Result<(), FileError> {
    let resolved = settle(named);
    let missing: Vec<&Path> = resolved
        .ancestors()
        .take_while(|above| above.symlink_metadata().is_err())
        .collect();
    trust::above(&Followed {
        resolved: resolved.clone(),
        links: Vec::new(),
    })?;
    missing.into_iter().rev().try_for_each(make_private)
}

/// Makes a directory with mode 0700, whatever the umask and the access list above say; one that
/// another command makes this moment is as good.
fn make_private(path: &Path) -> Result<(), FileError> {
    let failed = |error| {
        let doing = "made";
        FileError::new(path, Problem::Io { doing, error })
    };
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        Err(error) => return Err(failed(error)),
    }
    std::fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(failed)?;
    let made = File::open(path).map_err(failed)?;
    trust::remove_access_lists(&made).map_err(|problem| FileError::new(path, problem))?;
    // The list may have widened the mode's group bits, or narrowed them.
    made.set_permissions(Permissions::from_mode(0o700))
        .map_err(failed)?;
    let above = path.parent().map(File::open).transpose().map_err(failed)?;
    above.map_or(Ok(()), |above| above.sync_all().map_err(failed))
}

/// The git work tree that a directory lies in, if any.
pub(super) fn in_work_tree(path: &Path) -> Option<&Path> {
    path.ancestors()
        .find(|above| above.join(".git").symlink_metadata().is_ok())
}

/// Whether something of that name stands in a directory.
pub(super) fn holds(directory: &Path, name: &str) -> bool {
    directory.join(name).symlink_metadata().is_ok()
}
