//! What can keep a plan from becoming rules.

use crate::confine::Promise;
use crate::confine::linux::seccomp::SeccompError;
use crate::error::REFUSED;

/// Why there are no rules for a plan on this machine.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// No mechanism holds a promise here.
    #[error("{promise}: {} - {why}", promise.text())]
    PromiseUnheld {
        /// Which.
        promise: Promise,
        /// What is missing.
        why: String,
        /// What would cure it.
        cure: String,
    },
    /// The system-call filters did not build.
    #[error("R4: the system-call filters do not build")]
    Seccomp(#[from] SeccompError),
}

impl ConfineError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::PromiseUnheld { .. } => "promise-unheld",
            Self::Seccomp(_) => "filters-do-not-build",
        }
    }

    /// Always 126: nothing was started.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        REFUSED
    }

    /// What cures it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::PromiseUnheld { cure, .. } => Some(cure.clone()),
            Self::Seccomp(_) => None,
        }
    }
}
