//! The words of `supervisor audit`.

use clap::Args;

use crate::audit::event::Outcome;
use crate::audit::filter::Since;
use crate::declaration::Alias;
use crate::relay::filter::Pattern;

/// Show what was recorded of runs and calls; check that nothing was cut or edited
///
/// Shows the audit log, from the oldest line: starts, refusals, calls of tools with how they went,
/// faults, ends. Each line is bound to the one before it by its hash.
///
/// `verify` looks whether the log is whole and names each file and line that was cut or edited; it
/// exits 1 where there is one. An argument's value is recorded only where the declaration says
/// `"audit_arguments": true`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  supervisor audit --alias weather --since 2h
  supervisor audit --tool 'get_*' --outcome refused --follow
  supervisor audit verify")]
pub(crate) struct AuditArgs {
    /// What to do
    #[arg(
        value_name = "show|verify",
        value_enum,
        default_value = "show",
        hide_default_value = true,
        hide_possible_values = true
    )]
    pub(crate) action: AuditAction,
    /// Only of this server
    #[arg(long, value_name = "ALIAS")]
    pub(crate) alias: Option<Alias>,
    /// Only from then on: a time, a day (UTC), or how long ago, like 90m, 2h, 7d
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<Since>,
    /// Only calls of tools whose names match: * ? [a-z] {a,b}
    #[arg(long, value_name = "GLOB")]
    pub(crate) tool: Option<Pattern>,
    /// Only calls that went so: ok, tool-error, error, refused, timeout, died
    #[arg(long, value_name = "OUTCOME")]
    pub(crate) outcome: Option<Outcome>,
    /// Go on with what is recorded from now on, until interrupted
    #[arg(long, conflicts_with = "json")]
    pub(crate) follow: bool,
    /// Print an object
    #[arg(long)]
    pub(crate) json: bool,
}

impl AuditArgs {
    /// Whether a flag asks for a part of the log.
    pub(super) fn asks_for_less(&self) -> bool {
        self.alias.is_some()
            || self.since.is_some()
            || self.tool.is_some()
            || self.outcome.is_some()
            || self.follow
    }
}

/// What `audit` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum AuditAction {
    /// Shows it.
    Show,
    /// Looks whether it is whole.
    Verify,
}
