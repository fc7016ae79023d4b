//! What keeps the audit log from being written or read.

use std::io;
use std::path::PathBuf;

use crate::declaration::file::FileError;
use crate::declaration::store::StoreError;
use crate::error::{FAILED, REFUSED};
use crate::text;

/// Why nothing is recorded, or shown.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The state directory.
    #[error(transparent)]
    State(#[from] StoreError),
    /// A file or directory of the log.
    #[error(transparent)]
    File(#[from] FileError),
    /// A line could not be written; the log is as it was.
    #[error("the audit log {} cannot be written", text::path(path))]
    Write {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file that says where the log ends.
    #[error("{} does not say where the audit log ends", text::path(path))]
    Head {
        /// Which file.
        path: PathBuf,
    },
    /// Others hold the log, and what waits for it is too much.
    #[error("the audit log {} is held by another process", text::path(path))]
    Held {
        /// Which file.
        path: PathBuf,
    },
    /// An event that has no form in JSON.
    #[error("an event cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    /// The log was cut or edited.
    #[error("the audit log is not whole: {}", damage.join("; "))]
    Damaged {
        /// Each place, and what is wrong there.
        damage: Vec<String>,
    },
}

impl AuditError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::State(error) => error.code(),
            Self::File(error) => error.code(),
            Self::Write { .. } => "audit-unwritable",
            Self::Head { .. } => "audit-head-unreadable",
            Self::Held { .. } => "audit-held",
            Self::Json(_) => "audit-no-json",
            Self::Damaged { .. } => "audit-damaged",
        }
    }

    /// 1 where the log was looked at and is not whole.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::State(error) => error.exit_code(),
            Self::File(error) => error.exit_code(),
            Self::Write { .. } | Self::Held { .. } | Self::Json(_) => FAILED,
            Self::Head { .. } => REFUSED,
            Self::Damaged { .. } => 1,
        }
    }

    /// Which file.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        match self {
            Self::State(error) => error.place(),
            Self::File(error) => Some(text::path(&error.path)),
            Self::Write { path, .. } | Self::Head { path } | Self::Held { path } => {
                Some(text::path(path))
            }
            Self::Json(_) | Self::Damaged { .. } => None,
        }
    }

    /// The next command.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::State(error) => error.hint(),
            Self::File(error) => error.hint(),
            Self::Write { .. } => Some("df -h ~   # is the disk full?".to_owned()),
            Self::Head { path } => {
                let folder = path.parent().unwrap_or(path);
                let (folder, aside) = (
                    text::path(folder),
                    text::path(&folder.with_extension("old")),
                );
                Some(format!("mv {folder} {aside}   # a new log begins"))
            }
            Self::Held { .. } => Some("supervisor audit verify".to_owned()),
            Self::Json(_) => None,
            Self::Damaged { .. } => {
                Some("supervisor audit show   # shows the lines that can be read".to_owned())
            }
        }
    }
}
