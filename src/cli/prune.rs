//! `supervisor prune`: what nothing declares any more is shown, then removed on a yes.

use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;

use super::{PruneArgs, render};
use crate::approval::prompt;
use crate::approval::question::{self, shown_path};
use crate::declaration::store::State;
use crate::error::Error;
use crate::leftovers::{self, Leftover};
use crate::plan::{Person, facts};
use crate::text;

/// `supervisor.prune.v1`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Pruned {
    /// What nothing declares any more.
    found: Vec<Leftover>,
    /// The room it takes, all together.
    bytes: u64,
}

/// Runs the command.
pub(super) fn run(args: &PruneArgs) -> ExitCode {
    pruned(args).unwrap_or_else(|error| render::error_as(&error, args.json))
}

fn pruned(args: &PruneArgs) -> Result<ExitCode, Error> {
    let person = facts::person()?;
    let state = State::open(&person)?;
    state.notes().iter().for_each(|note| render::note(note));
    let mut found = leftovers::find(&state)?;
    if args.json {
        if args.yes && !found.is_empty() {
            found = leftovers::remove(&state, &found)?;
        }
        let bytes = bytes(&found);
        return Ok(render::json("prune", &Pruned { found, bytes }));
    }
    let shown = render::human(&page(&found, &state, &person));
    if shown != ExitCode::SUCCESS || found.iter().all(|one| one.in_use) {
        return Ok(shown);
    }
    if !args.yes {
        if !prompt::is_at_terminal() {
            return Ok(render::human(
                "nothing was removed; to remove it: supervisor prune --yes\n",
            ));
        }
        if !prompt::ask("  Remove it?")? {
            return Ok(render::human("\nnothing was removed\n"));
        }
    }
    let left = leftovers::remove(&state, &found)?;
    let removed: Vec<Leftover> = left.into_iter().filter(|one| one.removed).collect();
    Ok(render::human(&format!(
        "removed {}, {}\n",
        removed.len(),
        text::size(bytes(&removed))
    )))
}

fn bytes(found: &[Leftover]) -> u64 {
    found
        .iter()
        .fold(0, |sum: u64, one| sum.saturating_add(one.bytes))
}

fn page(found: &[Leftover], state: &State, person: &Person) -> String {
    if found.is_empty() {
        return "nothing is left over\n".to_owned();
    }
    let mut page = shown_path(state.path(), &person.home) + "\n\n";
    for one in found {
        let path = one.path.strip_prefix(state.path()).unwrap_or(&one.path);
        page.push_str(&row(one, path));
    }
    page + "\n"
}

fn row(one: &Leftover, path: &Path) -> String {
    let mut words = vec![text::path(path)];
    if one.in_use {
        words.extend(question::Row::text("(in use, so it stays)").0);
    }
    render::block(&[one.kind.as_str(), &text::size(one.bytes)], &words, &[])
}
