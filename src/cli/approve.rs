//! `supervisor approve ALIAS`: both questions again, where they are open.

use std::process::ExitCode;

use jiff::Timestamp;

use super::ApproveArgs;
use super::render;
use super::row::transport;
use super::starting;
use super::surface;
use crate::approval::candidate::{Candidate, SurfaceState};
use crate::approval::{Approval, ApprovalError, Approvals, Word, prompt};
use crate::declaration::Server;
use crate::declaration::store::State;
use crate::error::Error;
use crate::plan::facts;
use crate::policy;
use crate::run::pending;

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
    let earlier = approvals.latest_surface(&alias);
    let policy = policy::load::installed();
    let now = Candidate::look(
        alias.clone(),
        declaration.clone(),
        &approvals,
        &policy,
        false,
    )
    .permitted()?;
    let stale = now.is_stale(&approvals);
    if (now.approval != Approval::Given || stale) && !args.surface {
        let candidate =
            Candidate::look(alias.clone(), declaration, &approvals, &policy, true).marked(&person);
        let is_program = matches!(candidate.declaration.server, Server::Stdio(_));
        let changed = if stale {
            &[Word::Program]
        } else {
            now.approval.changed()
        };
        first(&state, candidate, changed)?;
        if !is_program {
            return Ok(ExitCode::SUCCESS);
        }
    } else if now.surface != SurfaceState::Unapproved && !args.surface && !waits(&state, &now)? {
        let since = approvals
            .record(&now.digest)
            .map(|record| record.approved().to_string());
        let since = since.unwrap_or_default();
        return Ok(render::human(&format!(
            "{alias} is approved as it stands, since {since}\n"
        )));
    }
    if !prompt::is_at_terminal() {
        return Err(ApprovalError::NoTerminalForSurface { alias }.into());
    }
    match surface::ask(&person, &state, &alias, earlier.as_ref()) {
        Ok(true) => Ok(ExitCode::SUCCESS),
        Ok(false) => Err(ApprovalError::NoSurface { alias }.into()),
        Err(error) => Ok(starting::failed(&person, &state, &args.alias, &error)),
    }
}

/// Whether runs saw something of the surface that is not what was approved.
fn waits(state: &State, candidate: &Candidate) -> Result<bool, Error> {
    let waiting = pending::read(state, &candidate.digest, candidate.offered.as_ref())?;
    Ok(waiting.is_some_and(|waiting| waiting.withheld() > 0))
}

/// The first question; a no ends the command.
fn first(state: &State, candidate: Candidate, changed: &[Word]) -> Result<(), Error> {
    let alias = candidate.alias.clone();
    if !prompt::is_at_terminal() {
        return Err(ApprovalError::NoTerminal { alias }.into());
    }
    let shown = candidate.shown_with(false, changed);
    let page = render::server(alias.as_str(), transport(&candidate.declaration), &shown);
    render::human(&format!("\n{page}\n"));
    if ask(state, candidate)? {
        Ok(())
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
