//! `supervisor rename OLD NEW`: the declaration, its approvals with it.

use std::process::ExitCode;

use serde::Serialize;

use super::{RenameArgs, render};
use crate::approval::Approvals;
use crate::declaration::Alias;
use crate::declaration::store::State;
use crate::error::Error;
use crate::plan::facts;

/// `supervisor.rename.v1`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Renamed<'a> {
    old: &'a Alias,
    alias: &'a Alias,
}

/// Runs the command.
pub(super) fn run(args: &RenameArgs) -> ExitCode {
    let (old, alias) = (&args.old, &args.new);
    match renamed(old, alias) {
        Ok(()) if args.json => render::json("rename", &Renamed { old, alias }),
        Ok(()) => render::human(&format!("renamed {old} to {alias}\n")),
        Err(error) => render::error_as(&error, args.json),
    }
}

fn renamed(old: &Alias, new: &Alias) -> Result<(), Error> {
    let state = State::open(&facts::person()?)?;
    state.notes().iter().for_each(|note| render::note(note));
    Approvals::rename(&state, old, new)
}
