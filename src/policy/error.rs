//! Why the administrator's policy keeps something from starting.

use std::path::Path;

use super::Verdict;
use super::problem::{Cause, FileProblem};
use crate::declaration::Alias;
use crate::error::{REFUSED, USAGE};

/// A file that was handed to a command cannot be used: what `list` exits with, too.
pub const UNUSABLE: u8 = 1;

/// Why nothing starts, or this one does not; or why a command cannot use a file.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PolicyError {
    /// The installed policy cannot be obeyed.
    #[error("S3: nothing starts, since the administrator's policy cannot be obeyed: {0}")]
    Installed(FileProblem),
    /// A file that was named cannot be used.
    #[error("{0}")]
    Named(FileProblem),
    /// The policy denies it.
    #[error("S3: the administrator does not let {alias} start: {}", verdict.told())]
    Denied {
        /// Which.
        alias: Alias,
        /// By which rule.
        verdict: Box<Verdict>,
    },
}

impl PolicyError {
    /// A file that another host does not have so.
    pub(crate) fn foreign(path: &Path, what: String) -> Self {
        Self::Named(FileProblem::new(path, Cause::Foreign(what)))
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Installed(problem) | Self::Named(problem) => problem.code(),
            Self::Denied { .. } => "denied-by-policy",
        }
    }

    /// 126 where nothing starts; for a file that was named 1, and 2 where it is not there.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Named(FileProblem {
                cause: Cause::Missing,
                ..
            }) => USAGE,
            Self::Named(_) => UNUSABLE,
            Self::Installed(_) | Self::Denied { .. } => REFUSED,
        }
    }

    /// The file, with line and column where it does not read.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        match self {
            Self::Installed(problem) | Self::Named(problem) => Some(problem.place()),
            Self::Denied { verdict, .. } => verdict.file.as_deref().map(crate::text::printable),
        }
    }

    /// What to do.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Installed(_) => Some(
                "supervisor policy check --installed   # the administrator of this machine"
                    .to_owned(),
            ),
            Self::Named(problem) => problem.hint(),
            Self::Denied { alias, .. } => Some(format!(
                "supervisor explain {alias}   # and ask the administrator of this machine"
            )),
        }
    }
}
