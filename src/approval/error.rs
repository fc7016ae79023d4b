//! What can keep an approval from being read, given or kept.

use std::path::PathBuf;

use crate::declaration::Alias;
use crate::declaration::file::FileError;
use crate::declaration::store::StoreError;
use crate::error::REFUSED;
use crate::plan::PlanError;
use crate::text;

/// Why an approval is not there, or not given.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    /// A file of the state directory.
    #[error(transparent)]
    File(#[from] FileError),
    /// The state directory or the declarations.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The program of the declaration.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The list of approvals does not parse.
    #[error("{}: line {line} is no approval", text::path(path))]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
    },
    /// A question, and nobody to ask.
    #[error("{alias} is not approved: the question needs a terminal on standard input and output")]
    NoTerminal {
        /// Which.
        alias: Alias,
    },
    /// The second question, and nobody to ask.
    #[error(
        "the surface of {alias} is not asked about: the question needs a terminal on standard input and output"
    )]
    NoTerminalForSurface {
        /// Which.
        alias: Alias,
    },
    /// The person said no to the second question.
    #[error("the surface of {alias} is not approved: the answer was no")]
    NoSurface {
        /// Which.
        alias: Alias,
    },
    /// The second yes, and the first is gone.
    #[error("the surface of {alias} is not approved: the server was declared anew meanwhile")]
    NotTheServer {
        /// Which.
        alias: Alias,
    },
    /// A value to ask for, and nobody to ask.
    #[error("-e {name}=- asks for the value, which needs a terminal on standard input and output")]
    NoTerminalForValue {
        /// Which.
        name: crate::declaration::EnvName,
    },
    /// The person said no.
    #[error("{alias} is not approved: the answer was no")]
    No {
        /// Which.
        alias: Alias,
    },
    /// The terminal.
    #[error("cannot ask at the terminal")]
    Ask(#[source] std::io::Error),
    /// A record that has no form in JSON.
    #[error("the approval cannot be written as JSON")]
    Write(#[from] serde_json::Error),
}

impl ApprovalError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::File(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Plan(error) => error.code(),
            Self::Line { .. } => "approvals-unreadable",
            Self::NoTerminal { .. }
            | Self::NoTerminalForSurface { .. }
            | Self::NoTerminalForValue { .. } => "no-terminal",
            Self::No { .. } | Self::NoSurface { .. } => "answered-no",
            Self::NotTheServer { .. } => "not-approved",
            Self::Ask(_) => "terminal-failed",
            Self::Write(_) => "approval-unwritable",
        }
    }

    /// The file it is about, with the line, where it is about one.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        match self {
            Self::File(error) => Some(text::path(&error.path)),
            Self::Store(error) => error.place(),
            Self::Plan(error) => error.place(),
            Self::Line { path, line } => Some(format!("{}:{line}", text::path(path))),
            _ => None,
        }
    }

    /// The exit code of a command that ends here.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::File(error) => error.exit_code(),
            Self::Store(error) => error.exit_code(),
            Self::Plan(error) => error.exit_code(),
            Self::Ask(_) | Self::Write(_) => crate::error::FAILED,
            Self::Line { .. }
            | Self::NoTerminal { .. }
            | Self::NoTerminalForSurface { .. }
            | Self::NoTerminalForValue { .. }
            | Self::NoSurface { .. }
            | Self::NotTheServer { .. }
            | Self::No { .. } => REFUSED,
        }
    }

    /// The next command.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::File(error) => return error.hint(),
            Self::Store(error) => return error.hint(),
            Self::Plan(error) => return error.hint(),
            Self::Line { path, .. } => {
                let path = text::path(path);
                format!("mv {path} {path}.old   # then approve again: supervisor approve ALIAS")
            }
            Self::NoTerminal { alias } => format!("supervisor approve {alias}   # at a terminal"),
            Self::No { alias } | Self::NotTheServer { alias } => {
                format!("supervisor approve {alias}")
            }
            Self::NoTerminalForSurface { alias } => {
                format!("supervisor approve {alias} --surface   # at a terminal")
            }
            Self::NoSurface { alias } => format!("supervisor approve {alias} --surface"),
            Self::NoTerminalForValue { name } => {
                format!("supervisor add ALIAS -e {name}=… -- PROGRAM ARGUMENT…")
            }
            Self::Ask(_) | Self::Write(_) => return None,
        })
    }
}
