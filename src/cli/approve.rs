//! `supervisor approve ALIAS`: the question again.

use std::process::ExitCode;

use jiff::Timestamp;

use super::ApproveArgs;
use super::render;
use super::row::transport;
use crate::approval::candidate::Candidate;
use crate::approval::{Approval, ApprovalError, Approvals, prompt};
use crate::declaration::store::State;
use crate::error::Error;
use crate::plan::facts;

/// Runs the command.
pub(super) fn run(args: &ApproveArgs) -> ExitCode {
    match approved(args) {
        Ok(code) => code,
        Err(error) => render::error(&error),
    }
}

fn approved(args: &ApproveArgs) -> Result<ExitCode, Error> {
    let person = facts::person()?;
    let state = State::open(&person)?;
    state.notes().iter().for_each(|note| render::note(note));
    let alias = args.alias.clone();
    let declaration = state.read()?.get(&alias)?.clone();
    let approvals = Approvals::read(&state)?;
    let now = Candidate::look(alias.clone(), declaration.clone(), &approvals, false);
    if now.approval == Approval::Given {
        let since = approvals
            .record(&now.digest)
            .map(|record| record.approved().to_string());
        let since = since.unwrap_or_default();
        return Ok(render::human(&format!(
            "{alias} is approved as it stands, since {since}\n"
        )));
    }
    let candidate =
        Candidate::look(alias.clone(), declaration, &approvals, true).marked(&person)?;
    if !prompt::is_at_terminal() {
        return Err(ApprovalError::NoTerminal { alias }.into());
    }
    let changed = now.approval.changed();
    let shown = candidate.shown_with(false, changed);
    let page = render::server(alias.as_str(), transport(&candidate.declaration), &shown);
    render::human(&format!("\n{page}\n"));
    let yes = ask(&state, candidate)?;
    if yes {
        Ok(ExitCode::SUCCESS)
    } else {
        Err(ApprovalError::No { alias }.into())
    }
}

/// Asks about what was just shown, and records a yes.
pub(super) fn ask(state: &State, candidate: Candidate) -> Result<bool, Error> {
    let candidate = candidate.must_start()?;
    if !prompt::ask("  Use this MCP server?")? {
        return Ok(false);
    }
    candidate.approve(state, now())?;
    render::human(&format!(
        "\napproved {} (digest {})\n",
        candidate.alias,
        candidate.digest.short()
    ));
    Ok(true)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the command hands the time of the yes in"
)]
fn now() -> Timestamp {
    Timestamp::now()
}
