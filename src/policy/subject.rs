//! What a policy judges: the part of a resolved plan that its rules may name. Pure.
//!
//! [`super::look`] makes one of a declaration on this machine.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::entry::Sha256;
use crate::confine::Promise;
use crate::declaration::{EnvName, Network};

/// What would run, or where it would go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A program that would be started here.
    Program(Box<ProgramSubject>),
    /// A server elsewhere, by its URL.
    Url(String),
}

impl Subject {
    /// Takes a content for that of its program.
    pub(crate) fn has_content(&mut self, sha256: &Sha256) {
        if let Self::Program(program) = self {
            program.sha256 = Some(sha256.as_str().to_owned());
        }
    }
}

/// A command line with each name that its program has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandLine {
    pub(crate) programs: BTreeSet<PathBuf>,
    pub(crate) arguments: Vec<String>,
}

/// A program as it would be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProgramSubject {
    /// As it was found, with the declared arguments: what `allow` names.
    pub(crate) found: CommandLine,
    /// By every other name on the way to the file, and what the kernel executes for a script:
    /// `deny` names these too.
    pub(crate) further: Vec<CommandLine>,
    /// The content of the file that its links lead to; known where the policy names content.
    pub(crate) sha256: Option<String>,
    /// The variables that the declaration names.
    pub(crate) variables: BTreeSet<EnvName>,
    /// A directory of the `PATH` it gets that somebody but root may change.
    pub(crate) open_path: Option<PathBuf>,
    /// Whether it has a directory to write.
    pub(crate) dir: bool,
    pub(crate) network: Network,
    /// Promises given up by name.
    pub(crate) without: BTreeSet<Promise>,
    /// Whether the declaration pins its program's content.
    pub(crate) pinned: bool,
    /// What fetches it.
    pub(crate) runner: Option<RunnerSubject>,
    /// The Landlock ABI of this kernel; known where the policy has a floor for it.
    pub(crate) landlock_abi: Option<u32>,
}

/// A program that fetches what it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunnerSubject {
    pub(crate) name: String,
    /// Whether it is given one version for good of each package.
    pub(crate) exact: bool,
}
