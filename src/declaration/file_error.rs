//! What is wrong with a file of the state directory, and the command that repairs it. Pure.

use std::io;
use std::path::{Path, PathBuf};

use nix::errno::Errno;

use super::file::{LARGEST, PATIENCE};
use crate::error::{FAILED, REFUSED};
use crate::text;

/// What is wrong with a file of the state directory.
#[derive(Debug, thiserror::Error)]
#[error("{} {problem}", text::path(path))]
pub struct FileError {
    /// Which.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// A symbolic link.
    #[error("is a link")]
    Link,
    /// A second name.
    #[error("has a second name (hard link)")]
    HardLink,
    /// Another user's.
    #[error("belongs to user {0}, not to you")]
    Owner(u32),
    /// Open to others.
    #[error("is open to others (mode {0:03o})")]
    Mode(u32),
    /// An access list.
    #[error("has an access list (ACL), which may open it to others")]
    AccessList,
    /// A directory, FIFO, socket or device.
    #[error("is no regular file")]
    NotAFile,
    /// Not a directory.
    #[error("is no directory")]
    NotADirectory,
    /// Too large to be ours.
    #[error("is larger than {} MiB", LARGEST >> 20)]
    TooLarge,
    /// Other bytes than text.
    #[error("is not UTF-8 (byte {0})")]
    NotUtf8(usize),
    /// A directory above it in which others may put something in its place.
    #[error(
        "may be written by others and has no sticky bit, so that they can replace what is in it"
    )]
    OpenParent,
    /// A directory above it, or a link to it, that is another user's.
    #[error("belongs to user {0}, who can replace what is in it")]
    ForeignParent(u32),
    /// Another command holds the lock.
    #[error("is being changed by another command for more than {} s", PATIENCE.as_secs())]
    Locked,
    /// The system said no.
    #[error("cannot be {doing}: {error}")]
    Io {
        /// The verb.
        doing: &'static str,
        /// What the system said.
        error: io::Error,
    },
}

impl FileError {
    pub(crate) fn new(path: &Path, problem: Problem) -> Self {
        Self {
            path: path.to_owned(),
            problem,
        }
    }

    pub(crate) fn io(path: &Path, doing: &'static str, error: Errno) -> Self {
        Self::new(
            path,
            Problem::Io {
                doing,
                error: error.into(),
            },
        )
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self.problem {
            Problem::Link => "state-link",
            Problem::HardLink => "state-hard-link",
            Problem::Owner(_) => "state-owner",
            Problem::Mode(_) => "state-mode",
            Problem::NotAFile | Problem::NotADirectory => "state-kind",
            Problem::TooLarge => "state-too-large",
            Problem::NotUtf8(_) => "state-not-utf8",
            Problem::AccessList => "state-acl",
            Problem::OpenParent | Problem::ForeignParent(_) => "state-parent",
            Problem::Locked => "state-locked",
            Problem::Io { .. } => "state-io",
        }
    }

    /// 126 for a file that is refused, 125 where the system or another command is in the way.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self.problem {
            Problem::Io { .. } | Problem::Locked => FAILED,
            _ => REFUSED,
        }
    }

    /// The command that repairs it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let path = text::path(&self.path);
        let aside = text::path(&with_suffix(&self.path, ".old"));
        Some(match self.problem {
            Problem::Link | Problem::HardLink => {
                let copy = text::path(&with_suffix(&self.path, ".copy"));
                format!("cp {path} {copy} && chmod 600 {copy} && mv {copy} {path}")
            }
            Problem::Owner(_) => format!("sudo chown \"$(id -u)\" {path}"),
            Problem::Mode(_) => format!("chmod 600 {path}"),
            Problem::NotAFile
            | Problem::NotADirectory
            | Problem::TooLarge
            | Problem::NotUtf8(_) => {
                format!("mv {path} {aside}")
            }
            Problem::AccessList => format!("setfacl -b {path} && chmod go= {path}"),
            Problem::OpenParent => format!("chmod go-w {path}"),
            Problem::ForeignParent(_) => {
                "export SUPERVISOR_HOME=DIR   # below directories of yours or root's".to_owned()
            }
            Problem::Locked => format!("fuser {path}"),
            Problem::Io { .. } => format!("ls -ld {path}"),
        })
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
