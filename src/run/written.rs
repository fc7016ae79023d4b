//! What is kept of one declaration: JSON in a file of the state directory, with its version and whose
//! it is.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::RunError;
use crate::declaration::Digest;
use crate::declaration::file::Folder;

/// The version of each such file.
pub(crate) const VERSION: u32 = 1;

/// The content of such a file.
pub(crate) trait OfDeclaration: DeserializeOwned {
    /// Its version, and whose it is.
    fn of(&self) -> (u32, &Digest);
}

/// Reads a file, if it is there.
///
/// # Errors
/// It cannot be trusted or read, is of another version, or another declaration's.
pub(crate) fn read<T: OfDeclaration>(
    folder: &Folder,
    name: &str,
    digest: &Digest,
) -> Result<Option<T>, RunError> {
    let Some(text) = folder.read(name)? else {
        return Ok(None);
    };
    let file: T =
        serde_json::from_str(&text).map_err(|error| unreadable(folder, name, error.to_string()))?;
    let problem = match file.of() {
        (VERSION, of) if of == digest => return Ok(Some(file)),
        (VERSION, _) => "it is another declaration's".to_owned(),
        (version, _) => format!("its version is {version}"),
    };
    Err(unreadable(folder, name, problem))
}

/// The error of a file that was read and says nothing.
pub(crate) fn unreadable(folder: &Folder, name: &str, problem: String) -> RunError {
    RunError::Unreadable {
        path: folder.path().join(name),
        problem,
    }
}

/// A file's text.
///
/// # Errors
/// What has no form in JSON.
pub(crate) fn text(value: &impl Serialize) -> Result<String, RunError> {
    Ok(serde_json::to_string(value)? + "\n")
}
