//! What is wrong with a file of an administrator's policy. Pure.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::text;

/// The largest file that is read; a fleet's is a hundredth of it.
pub(crate) const LARGEST: u64 = 4 << 20;
/// The most files that are read.
pub(crate) const MOST: usize = 1000;

/// What is wrong with a file, or with a directory above it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}{}", text::path(path), told(cause))]
pub struct FileProblem {
    /// Which.
    pub path: PathBuf,
    /// What is wrong with it.
    pub cause: Cause,
}

/// What is wrong with a file.
#[derive(Clone, Debug)]
pub enum Cause {
    /// It is not there, and was named.
    Missing,
    /// Another user's.
    Owner(u32),
    /// Others than root may write it.
    Mode(u32),
    /// A symbolic link.
    Link,
    /// A second name.
    SecondName,
    /// No regular file.
    NotAFile,
    /// No directory.
    NotADirectory,
    /// Larger than any policy is.
    TooLarge,
    /// More files than any fleet has.
    TooMany,
    /// Other bytes than text, from this one on.
    NotUtf8(usize),
    /// The system said no.
    Io(&'static str, Arc<io::Error>),
    /// It does not read as a policy.
    Invalid {
        /// From 1.
        line: usize,
        /// From 1, in bytes.
        column: usize,
        /// What is wrong there.
        what: String,
        /// Whose file it is, where that was looked at.
        owner: Option<u32>,
    },
    /// It does not read as what another host has.
    Foreign(String),
}

fn told(cause: &Cause) -> String {
    match cause {
        Cause::Missing => " is not there".to_owned(),
        Cause::Owner(uid) => format!(" belongs to user {uid}, not to root"),
        Cause::Mode(mode) => {
            format!(" may be written by others than root (owner root, mode {mode:03o})")
        }
        Cause::Link => " is a link".to_owned(),
        Cause::SecondName => " has a second name (hard link)".to_owned(),
        Cause::NotAFile => " is no regular file".to_owned(),
        Cause::NotADirectory => " is no directory".to_owned(),
        Cause::TooLarge => format!(" is larger than {} MiB", LARGEST >> 20),
        Cause::TooMany => format!(" holds more than {MOST} files"),
        Cause::NotUtf8(byte) => format!(" is not UTF-8 (byte {byte})"),
        Cause::Io(doing, error) => format!(" cannot be {doing}: {error}"),
        Cause::Invalid {
            line,
            column,
            what,
            owner,
        } => {
            let owner = match owner {
                Some(0) => " (owner root)".to_owned(),
                Some(uid) => format!(" (owner user {uid})"),
                None => String::new(),
            };
            format!(
                "{owner}, line {line}, column {column}: {}",
                text::printable(what)
            )
        }
        Cause::Foreign(what) => format!(": {}", text::printable(what)),
    }
}

impl FileProblem {
    pub(crate) fn new(path: &Path, cause: Cause) -> Self {
        Self {
            path: path.to_owned(),
            cause,
        }
    }

    pub(crate) fn io(path: &Path, doing: &'static str, error: impl Into<io::Error>) -> Self {
        Self::new(path, Cause::Io(doing, Arc::new(error.into())))
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self.cause {
            Cause::Missing => "policy-missing",
            Cause::Owner(_) => "policy-owner",
            Cause::Mode(_) => "policy-mode",
            Cause::Link | Cause::SecondName => "policy-link",
            Cause::NotAFile | Cause::NotADirectory => "policy-kind",
            Cause::TooLarge | Cause::TooMany => "policy-too-large",
            Cause::NotUtf8(_) | Cause::Io(..) => "policy-unreadable",
            Cause::Invalid { .. } => "policy-invalid",
            Cause::Foreign(_) => "policy-foreign",
        }
    }

    /// File, line and column.
    #[must_use]
    pub fn place(&self) -> String {
        let path = text::path(&self.path);
        match &self.cause {
            Cause::Invalid { line, column, .. } => format!("{path}:{line}:{column}"),
            _ => path,
        }
    }

    /// What mends it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let path = text::path(&self.path);
        Some(match self.cause {
            Cause::Owner(_) => format!("sudo chown root:root {path}"),
            Cause::Mode(_) => format!("sudo chmod go-w {path}"),
            Cause::Link | Cause::SecondName => {
                format!("sudo cp --remove-destination \"$(readlink -f {path})\" {path}")
            }
            Cause::Invalid { .. } => "supervisor policy schema   # what may stand there".to_owned(),
            Cause::Foreign(_) => "supervisor policy import --help".to_owned(),
            Cause::Missing
            | Cause::NotAFile
            | Cause::NotADirectory
            | Cause::TooLarge
            | Cause::TooMany
            | Cause::NotUtf8(_)
            | Cause::Io(..) => format!("ls -ld {path}"),
        })
    }
}
