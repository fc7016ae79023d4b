//! What can keep a declaration from becoming a plan.

use std::io;
use std::path::PathBuf;

use crate::error::{FAILED, NOT_FOUND, REFUSED};

/// Why there is no plan. Messages say what and where; [`PlanError::hint`] what to do.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// No home directory: nothing can be declared or started.
    #[error("no home directory: HOME is unset, relative or missing")]
    NoHome,
    /// `SUPERVISOR_HOME` would mean another directory from another place.
    #[error("SUPERVISOR_HOME is no absolute path: {}", path.display().to_string().escape_debug())]
    RelativeState {
        /// Its value.
        path: PathBuf,
    },
    /// A path could not be looked at.
    #[error("cannot look at {}", path.escape_debug())]
    Look {
        /// Which.
        path: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The program is not there.
    #[error("program not found: {}", program.escape_debug())]
    ProgramNotFound {
        /// As the declaration names it.
        program: String,
    },
    /// The program is there and cannot be run.
    #[error("cannot run {}: {why}", path.display().to_string().escape_debug())]
    ProgramUnusable {
        /// Where it is.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A declared read is gone (promise P1: what is granted is there, or nothing starts).
    #[error("P1: what --read names is not there: {}", path.display().to_string().escape_debug())]
    ReadMissing {
        /// Which.
        path: PathBuf,
    },
    /// A declared read would show what is promised to be hidden.
    #[error("P1: --read may not name {}: {why}", path.display().to_string().escape_debug())]
    ReadRefused {
        /// Which.
        path: PathBuf,
        /// What it holds.
        why: &'static str,
    },
    /// A place that every server gets, or that goes with the program, holds the home or the
    /// state directory.
    #[error("P1: {} would be granted, and the home or the state directory lies in it", path.display().to_string().escape_debug())]
    HomeGranted {
        /// Which.
        path: PathBuf,
    },
    /// The writable directory is missing or no directory.
    #[error("--dir {} {why}", path.display().to_string().escape_debug())]
    DirUnusable {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The writable directory may not be one (promise G1).
    #[error("G1: --dir {} is refused: {why}", path.display().to_string().escape_debug())]
    DirRefused {
        /// Which.
        path: PathBuf,
        /// What was found, and where.
        why: String,
    },
    /// Something that is read or executed lies where the server may write.
    #[error("S1: {} lies where the server may write", path.display().to_string().escape_debug())]
    WritableProgram {
        /// Which.
        path: PathBuf,
    },
    /// A path that cannot be kept or shown.
    #[error("a path that is not UTF-8: {}", path.display().to_string().escape_debug())]
    NotUtf8 {
        /// Which.
        path: PathBuf,
    },
}

impl PlanError {
    /// The file or directory it is about, where it is about one.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        match self {
            Self::RelativeState { path }
            | Self::ProgramUnusable { path, .. }
            | Self::ReadMissing { path }
            | Self::ReadRefused { path, .. }
            | Self::DirUnusable { path, .. }
            | Self::DirRefused { path, .. }
            | Self::WritableProgram { path }
            | Self::NotUtf8 { path } => Some(crate::text::path(path)),
            Self::Look { path, .. } => Some(crate::text::word(path)),
            Self::ProgramNotFound { program } => Some(crate::text::word(program)),
            _ => None,
        }
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoHome => "no-home",
            Self::RelativeState { .. } => "state-not-absolute",
            Self::Look { .. } => "cannot-look",
            Self::ProgramNotFound { .. } => "program-not-found",
            Self::ProgramUnusable { .. } => "program-unusable",
            Self::ReadMissing { .. } => "read-missing",
            Self::ReadRefused { .. } => "read-refused",
            Self::HomeGranted { .. } => "home-granted",
            Self::DirUnusable { .. } => "dir-unusable",
            Self::DirRefused { .. } => "dir-refused",
            Self::WritableProgram { .. } => "program-writable",
            Self::NotUtf8 { .. } => "path-not-utf8",
        }
    }

    /// The exit code of a command that ends here.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::ProgramNotFound { .. } => NOT_FOUND,
            Self::NoHome | Self::RelativeState { .. } | Self::Look { .. } => FAILED,
            _ => REFUSED,
        }
    }

    /// The next command.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoHome => "export HOME=/path/of/your/home   # it must be there".to_owned(),
            Self::RelativeState { .. } => "export SUPERVISOR_HOME=\"$HOME/.supervisor\"   # or unset it".to_owned(),
            Self::ProgramNotFound { program } => {
                format!(
                    "which {}   # if it is there, `supervisor approve ALIAS` looks along your PATH again",
                    crate::text::word(program)
                )
            }
            Self::ReadMissing { .. } | Self::ReadRefused { .. } => {
                "supervisor add ALIAS --read PATH -- …   # declare it again with a path that is there".to_owned()
            }
            Self::DirUnusable { path, .. } => {
                let dir = crate::text::path(path);
                format!("mkdir -p {dir}; supervisor add ALIAS --dir {dir} -- …")
            }
            Self::DirRefused { .. } => {
                "supervisor add ALIAS --dir DIR -- …   # name another directory".to_owned()
            }
            Self::WritableProgram { .. } => {
                "supervisor add ALIAS -- …   # declare what runs from where no server may write".to_owned()
            }
            Self::ProgramUnusable { .. } => {
                "supervisor add ALIAS -- …   # declare a program that this machine can run".to_owned()
            }
            _ => return None,
        })
    }
}
