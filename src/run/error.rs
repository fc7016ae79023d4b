//! What keeps a run from being kept.

use std::path::PathBuf;

use crate::declaration::file::FileError;
use crate::declaration::store::StoreError;
use crate::error::{FAILED, REFUSED};
use crate::text;

/// Why what outlives a run cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The state directory.
    #[error(transparent)]
    State(#[from] StoreError),
    /// A file or directory in it.
    #[error(transparent)]
    File(#[from] FileError),
    /// A record that is none of ours.
    #[error("{} is no record of this version: {problem}", text::path(path))]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A record that has no form in JSON.
    #[error("a record cannot be written as JSON")]
    Json(#[from] serde_json::Error),
}

impl RunError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::State(error) => error.code(),
            Self::File(error) => error.code(),
            Self::Unreadable { .. } => "record-unreadable",
            Self::Json(_) => "record-unwritable",
        }
    }

    /// The exit code of a command that ends here.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::State(error) => error.exit_code(),
            Self::File(error) => error.exit_code(),
            Self::Unreadable { .. } => REFUSED,
            Self::Json(_) => FAILED,
        }
    }

    /// Which file.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        match self {
            Self::State(error) => error.place(),
            Self::File(error) => Some(text::path(&error.path)),
            Self::Unreadable { path, .. } => Some(text::path(path)),
            Self::Json(_) => None,
        }
    }

    /// The next command.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::State(error) => error.hint(),
            Self::File(error) => error.hint(),
            Self::Unreadable { path, .. } => Some(format!(
                "rm {}   # it is written anew by the next run",
                text::path(path)
            )),
            Self::Json(_) => None,
        }
    }
}
