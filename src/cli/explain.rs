//! `supervisor explain ALIAS`: everything there is to know before a run.

use std::process::ExitCode;

use super::ExplainArgs;
use super::render::{self, Text};
use crate::approval::Approval;
use crate::confine::{Promise, Standing, State};
use crate::declaration::Alias;
use crate::error::Error;
use crate::launch::{self, Explanation};
use crate::plan::{Grant, Network, Plan, Rights, RunRequest, Source, Variable, facts};
use crate::text;

/// Runs the command.
pub(super) fn run(args: &ExplainArgs) -> ExitCode {
    show(&args.alias, args.json)
}

/// Shows the plan of an alias; `run --dry-run` is the same.
pub(super) fn show(alias: &Alias, json: bool) -> ExitCode {
    match explained(alias) {
        Ok(explanation) if json => render::json("explain", &explanation),
        Ok(explanation) => render::human(&page(&explanation)),
        Err(error) => render::error_as(&error, json),
    }
}

fn explained(alias: &Alias) -> Result<Explanation, Error> {
    let person = facts::person()?;
    launch::prepare(&person, &RunRequest { alias: alias.clone() })
}
