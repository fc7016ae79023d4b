//! What can keep a plan from starting.

use std::io;
use std::path::PathBuf;

use crate::approval::Word;
use crate::confine::Standing;
use crate::confine::spec::{Failed, Step};
use crate::declaration::{Alias, Digest, DigestPrefix};
use crate::error::{FAILED, REFUSED};
use crate::relay::filter::PatternError;

/// Why a server was not started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// Nobody said yes to this digest.
    #[error("{alias} is declared and not approved")]
    NotApproved {
        /// Which.
        alias: Alias,
    },
    /// A runner that would have to fetch what it runs first.
    #[error(
        "{alias} is not prepared: {runner} would have to fetch what it runs first, which takes longer than a host waits"
    )]
    NotPrepared {
        /// Which.
        alias: Alias,
        /// The runner.
        runner: &'static str,
    },
    /// Something differs from what was approved.
    #[error("{alias} is not what was approved: changed: {}", list(changed))]
    Changed {
        /// Which.
        alias: Alias,
        /// The fields that differ.
        changed: Vec<Word>,
    },
    /// Another digest than the one that was asked for.
    #[error("{alias} has the digest {digest}, and only {asked} may start here (--digest)")]
    OtherDigest {
        /// Which.
        alias: Alias,
        /// What was asked for.
        asked: DigestPrefix,
        /// What is declared.
        digest: Digest,
    },
    /// A pattern of tool names in the declaration that is none.
    #[error(
        "{alias}: {place} in mcp.json: `{}` is no pattern: {problem}",
        crate::text::printable(pattern)
    )]
    ToolPattern {
        /// Which.
        alias: Alias,
        /// `tools.include` or `tools.exclude`.
        place: &'static str,
        /// The word.
        pattern: String,
        /// What is wrong with it.
        problem: PatternError,
    },
    /// Disabled in `mcp.json`.
    #[error("{alias} is disabled in mcp.json")]
    Disabled {
        /// Which.
        alias: Alias,
    },
    /// Nothing holds a promise here, and the declaration does not give it up.
    #[error(
        "{alias} is not started, since this machine cannot hold {}",
        reasons(promises)
    )]
    Unheld {
        /// Which.
        alias: Alias,
        /// The promises, each with what is missing.
        promises: Vec<Standing>,
        /// What would give the machine what it lacks.
        cure: Option<String>,
    },
    /// A declaration by URL.
    #[error("{alias} is reached over HTTP, which this version declares and does not run")]
    HttpLater {
        /// Which.
        alias: Alias,
    },
    /// The private home.
    #[error("the private home {}", path.display())]
    Home {
        /// Where.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The private home belongs to another declaration or person.
    #[error("the private home {} is not this server's: {why}", path.display())]
    ForeignHome {
        /// Where.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A stored variable of the plan that the declaration does not hold.
    #[error("the variable {0} has no value")]
    NoValue(String),
    /// A receipt that cannot be written where it should be.
    #[error("no receipt: {place}")]
    Receipt {
        /// The flag, or the file.
        place: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// What the server said could not be kept.
    #[error("what the server said is not kept: {place}")]
    Log {
        /// The directory.
        place: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The shim could not be started or spoken to.
    #[error("cannot start the confining process")]
    Spawn(#[source] io::Error),
    /// What it uses cannot be watched.
    #[error("R5: not started: what the server uses cannot be watched")]
    Watch(#[source] io::Error),
    /// The shim said which step failed.
    #[error("{}: not started: step {:?}: {}", promise(failed.step), failed.step, failed.why)]
    Step {
        /// Which, and why.
        failed: Failed,
    },
    /// The shim ended without a word, or enforced less than was planned.
    #[error("S5: not started: {0}")]
    Unconfirmed(String),
}

fn list(words: &[Word]) -> String {
    words
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Each promise with what is missing.
fn reasons(promises: &[Standing]) -> String {
    let reason = |standing: &Standing| {
        let (id, text) = (standing.id, standing.id.text());
        match &standing.note {
            Some(note) => format!("{id} ({text}): {note}"),
            None => format!("{id} ({text})"),
        }
    };
    promises.iter().map(reason).collect::<Vec<_>>().join("; ")
}

/// The remedy, and the line that does without the promises, where they can be given up.
fn instead(alias: &Alias, promises: &[Standing], cure: Option<&String>) -> String {
    let ids = |promises: &[Standing]| {
        let ids: Vec<&str> = promises.iter().map(|standing| standing.id.id()).collect();
        ids.join(",")
    };
    let firm: Vec<Standing> = promises
        .iter()
        .filter(|standing| !standing.id.may_be_given_up())
        .cloned()
        .collect();
    let without = if firm.is_empty() {
        format!("supervisor set {alias} --without {}", ids(promises))
    } else {
        format!("none does without {}", ids(&firm))
    };
    match cure {
        Some(cure) => format!("{cure}   # once, on this machine; or: {without}"),
        None => without,
    }
}

/// The promise that a step serves: what a refusal names.
const fn promise(step: Step) -> &'static str {
    match step {
        Step::Grants | Step::Landlock => "P1",
        Step::Program | Step::Exec => "S1",
        Step::Session | Step::Signals => "E3",
        Step::Descriptors => "E2",
        Step::Keyring => "R1",
        Step::ParentDeath => "R2",
        Step::Namespaces | Step::Mounts => "P3",
        Step::Capabilities => "R3",
        Step::Seccomp => "R4",
        Step::Limits => "R5",
        Step::Environment => "S2",
        Step::Spec | Step::Directory | Step::Stage => "S5",
    }
}

impl LaunchError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotApproved { .. } => "not-approved",
            Self::Changed { .. } => "changed",
            Self::NotPrepared { .. } => "not-prepared",
            Self::OtherDigest { .. } => "digest-differs",
            Self::ToolPattern { .. } => "tool-pattern",
            Self::Disabled { .. } => "disabled",
            Self::Unheld { .. } => "promise-unheld",
            Self::HttpLater { .. } => "http-not-run",
            Self::Home { .. } => "home-unusable",
            Self::ForeignHome { .. } => "home-foreign",
            Self::NoValue(_) => "no-value",
            Self::Receipt { .. } => "receipt-unwritable",
            Self::Log { .. } => "log-unwritable",
            Self::Spawn(_) => "spawn-failed",
            Self::Step { .. } | Self::Watch(_) => "confinement-failed",
            Self::Unconfirmed(_) => "confinement-unconfirmed",
        }
    }

    /// 126 where the server was refused, 125 where the supervisor failed.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Home { .. }
            | Self::Log { .. }
            | Self::NoValue(_)
            | Self::Receipt { .. }
            | Self::Spawn(_) => FAILED,
            _ => REFUSED,
        }
    }

    /// The next command.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotApproved { alias } | Self::Changed { alias, .. } => {
                format!("supervisor approve {alias}   # at a terminal")
            }
            Self::NotPrepared { alias, .. } => format!("supervisor prepare {alias}"),
            Self::OtherDigest { alias, .. } => format!("supervisor get {alias}"),
            Self::ToolPattern { .. } => "supervisor list   # names mcp.json".to_owned(),
            Self::Disabled { alias } => format!("supervisor set {alias} --enable"),
            Self::Unheld {
                alias,
                promises,
                cure,
            } => instead(alias, promises, cure.as_ref()),
            Self::Receipt { .. } => "supervisor run --help".to_owned(),
            Self::ForeignHome { path, .. } => format!("rm -r {}", crate::text::path(path)),
            Self::Step { .. } | Self::Unconfirmed(_) | Self::Watch(_) => {
                "supervisor doctor   # shows what this machine can confine".to_owned()
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_watched_names_the_next_command() {
        let error = LaunchError::Watch(io::ErrorKind::PermissionDenied.into());
        assert!(error.hint().unwrap().starts_with("supervisor doctor"));
    }
}
