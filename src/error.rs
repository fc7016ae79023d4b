//! Every stage's error under one roof: code, exit code, hint.
//!
//! One variant a stage; each stage's own enum has a variant a cause. The exit codes are those
//! of `docs/exit-codes.md`.

use crate::approval::ApprovalError;
use crate::audit::AuditError;
use crate::confine::ConfineError;
use crate::declaration::add_line::AddLineError;
use crate::declaration::change::ChangeError;
use crate::declaration::store::StoreError;
use crate::launch::LaunchError;
use crate::plan::PlanError;
use crate::policy::PolicyError;
use crate::prepared::error::PrepareError;
use crate::run::RunError;
use crate::settings::SettingsError;
use crate::surface::SurfaceError;

/// A usage error, an unknown alias included.
pub const USAGE: u8 = 2;
/// The supervisor itself failed.
pub const FAILED: u8 = 125;
/// Refused: approval, policy, or a promise that cannot be held.
pub const REFUSED: u8 = 126;
/// The program was not found.
pub const NOT_FOUND: u8 = 127;

/// Why a command ends without having done what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The words of `add`.
    #[error(transparent)]
    AddLine(#[from] AddLineError),
    /// What is to be changed, renamed or pruned.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// `mcp.json` and the state directory.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Approvals.
    #[error(transparent)]
    Approval(#[from] ApprovalError),
    /// From declaration to plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The administrator's policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// From plan to rules.
    #[error(transparent)]
    Confine(#[from] ConfineError),
    /// From rules to a running server.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// What a runner fetches.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// What a server says about itself.
    #[error(transparent)]
    Surface(#[from] SurfaceError),
    /// The person's settings.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// What outlives a run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The audit log.
    #[error(transparent)]
    Audit(#[from] AuditError),
}

macro_rules! each {
    ($self:ident, $error:ident => $value:expr) => {
        match $self {
            Self::AddLine($error) => $value,
            Self::Change($error) => $value,
            Self::Store($error) => $value,
            Self::Approval($error) => $value,
            Self::Plan($error) => $value,
            Self::Policy($error) => $value,
            Self::Confine($error) => $value,
            Self::Launch($error) => $value,
            Self::Prepare($error) => $value,
            Self::Surface($error) => $value,
            Self::Settings($error) => $value,
            Self::Run($error) => $value,
            Self::Audit($error) => $value,
        }
    };
}

impl Error {
    /// The stable kebab-case code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        each!(self, error => error.code())
    }

    /// The exit code of the command.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        each!(self, error => error.exit_code())
    }

    /// A command to run next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        each!(self, error => error.hint())
    }

    /// Where it is: a word of the command, a file, a file with line and column.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        match self {
            Self::AddLine(error) => error.place(),
            Self::Change(error) => error.place(),
            Self::Store(error) => error.place(),
            Self::Approval(error) => error.place(),
            Self::Settings(error) => error.place(),
            Self::Run(error) => error.place(),
            Self::Audit(error) => error.place(),
            Self::Plan(error) => error.place(),
            Self::Policy(error) => error.place(),
            Self::Launch(
                LaunchError::Home { path, .. } | LaunchError::ForeignHome { path, .. },
            ) => Some(crate::text::path(path)),
            _ => None,
        }
    }

    /// The message with its causes, on one line.
    #[must_use]
    pub fn message(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(next) = cause {
            text.push_str(": ");
            text.push_str(&next.to_string());
            cause = next.source();
        }
        crate::text::printable(&text)
    }
}
