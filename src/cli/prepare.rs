//! `supervisor prepare ALIAS`: fetches what a server runs, before a host waits for it.

use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use super::{render, starting};
use crate::approval::Word;
use crate::declaration::store::State;
use crate::declaration::{Alias, Digest};
use crate::error::Error;
use crate::launch::{self, LaunchError};
use crate::plan::{Caches, RunRequest, facts};
use crate::prepared::tree::Tree;

/// Fetch what a server runs, before a host has to wait for it
///
/// Starts a server once, confined as always and outside any host's time limit, until it answers;
/// then stops it. Its runner (npx, uvx …) fetches what it runs into the private home meanwhile.
///
/// Until this is done `run` refuses such a server at once: a host would give up before the fetch
/// is over. `add` and `approve` do it before the second question. Runs after it take what is
/// there by the variables that `get` lists as ours; done again, it fetches what is new. Stopped
/// half-way it leaves a home in which the next one goes on.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  supervisor prepare weather\n  supervisor prepare weather --json"
)]
pub(crate) struct PrepareArgs {
    /// The server
    #[arg(value_name = "ALIAS")]
    pub(crate) alias: Alias,
    /// Print an object; how far it is goes to standard error
    #[arg(long)]
    pub(crate) json: bool,
}

/// What was prepared.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Object {
    alias: Alias,
    digest: Digest,
    home: String,
    #[serde(flatten)]
    tree: Tree,
    /// Whether it comes up by what is cached alone: runs are told to fetch nothing.
    offline: bool,
    /// `files`, where another prepare had fetched others.
    changed: Vec<Word>,
    seconds: u64,
}

/// Runs the command.
pub(super) fn run(args: &PrepareArgs) -> ExitCode {
    prepared(args).unwrap_or_else(|error| render::error_as(&error, args.json))
}

fn prepared(args: &PrepareArgs) -> Result<ExitCode, Error> {
    let person = facts::person()?;
    let state = State::open(&person)?;
    state.notes().iter().for_each(|note| render::note(note));
    let (alias, begun) = (&args.alias, Instant::now());
    // Said before anything is, where it may not start.
    let request = RunRequest {
        caches: Caches::Fill,
        ..RunRequest::of(alias.clone())
    };
    launch::permit(launch::explain(&person, &request)?)?;
    let watch = starting::Watch::new().map_err(LaunchError::Spawn)?;
    let say = |line: &str| match args.json {
        true => render::note(line.trim()),
        false => {
            render::human(line);
        }
    };
    say(&format!(
        "preparing {alias}, confined (Ctrl-C stops that; what is fetched stays)\n"
    ));
    let prepared = match starting::prepare(&person, &state, alias, &watch, &say) {
        Ok(prepared) => prepared,
        Err(error @ Error::Prepare(_)) if !args.json => {
            drop(watch);
            return Ok(starting::failed(&person, &state, alias, &error));
        }
        Err(error) => return Err(error),
    };
    if !args.json {
        return Ok(render::human(&starting::done(&prepared)));
    }
    let changed = prepared.changed.then_some(Word::Files);
    Ok(render::json(
        "prepare",
        &Object {
            alias: alias.clone(),
            digest: prepared.digest,
            home: prepared.home.display().to_string(),
            tree: prepared.done.tree,
            offline: prepared.done.offline,
            changed: changed.into_iter().collect(),
            seconds: begun.elapsed().as_secs(),
        },
    ))
}
