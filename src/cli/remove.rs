//! `supervisor remove ALIAS`: the declaration and its approval.

use std::process::ExitCode;

use serde::Serialize;

use super::RemoveArgs;
use super::render;
use crate::approval::Approvals;
use crate::declaration::store::State;
use crate::error::Error;
use crate::plan::facts;
use crate::text;

#[derive(Serialize)]
struct Removed<'a> {
    alias: &'a str,
}

/// Runs the command.
pub(super) fn run(args: &RemoveArgs) -> ExitCode {
    match removed(&args.alias) {
        Ok(()) if args.json => render::json("remove", &Removed { alias: &args.alias }),
        Ok(()) => render::human(&format!("removed {}\n", text::word(&args.alias))),
        Err(error) => render::error_as(&error, args.json),
    }
}

fn removed(name: &str) -> Result<(), Error> {
    let state = State::open(&facts::person()?)?;
    state.notes().iter().for_each(|note| render::note(note));
    Ok(Approvals::remove(&state, name)?)
}
