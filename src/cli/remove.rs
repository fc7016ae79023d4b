//! `supervisor remove ALIAS`: the declaration and its approval, its private home on request.

use std::process::ExitCode;

use serde::Serialize;

use super::RemoveArgs;
use super::render;
use crate::approval::Approvals;
use crate::declaration::store::State;
use crate::declaration::{LaunchDigest, digest};
use crate::error::Error;
use crate::launch::homes::{self, Gone};
use crate::plan::facts;
use crate::text;

/// `supervisor.remove.v1`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Removed<'a> {
    alias: &'a str,
    /// What became of the private home.
    home: Home,
}

/// What became of a private home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) enum Home {
    /// It was not to go, or cannot be known: the entry could not be used.
    Kept,
    /// Another declaration starts the same server.
    Shared,
    /// The server runs.
    InUse,
    /// There was none.
    None,
    /// It is gone.
    Removed,
}

/// Runs the command.
pub(super) fn run(args: &RemoveArgs) -> ExitCode {
    let alias = args.alias.as_str();
    match removed(alias, args.home) {
        Ok(home) if args.json => render::json("remove", &Removed { alias, home }),
        Ok(home) => render::human(&page(alias, home, args.home)),
        Err(error) => render::error_as(&error, args.json),
    }
}

fn page(alias: &str, home: Home, asked: bool) -> String {
    let alias = text::word(alias);
    match home {
        Home::Removed => format!("removed {alias} and its private home\n"),
        Home::Shared => format!(
            "removed {alias}; its private home stays: another declaration starts the same server\n"
        ),
        Home::InUse => format!(
            "removed {alias}; its private home stays while the server runs: supervisor prune\n"
        ),
        Home::Kept if asked => {
            format!(
                "removed {alias}; which private home was its own is not known: supervisor prune\n"
            )
        }
        Home::Kept | Home::None => format!("removed {alias}\n"),
    }
}

fn removed(name: &str, home: bool) -> Result<Home, Error> {
    let state = State::open(&facts::person()?)?;
    state.notes().iter().for_each(|note| render::note(note));
    let launch = |entry: &crate::declaration::Declaration| digest::launch(&entry.server);
    let own: Option<LaunchDigest> = state
        .read()?
        .find(name)
        .and_then(Result::ok)
        .map(launch)
        .filter(|_| home);
    Approvals::remove(&state, name)?;
    let Some(own) = own else {
        return Ok(Home::Kept);
    };
    // Under the lock, so that nobody declares the same server meanwhile.
    state.update(|declarations, locked| -> Result<Home, Error> {
        let shares =
            |(_, entry): (_, Result<&_, &_>)| entry.is_ok_and(|entry| launch(entry) == own);
        if declarations.iter().any(shares) {
            return Ok(Home::Shared);
        }
        Ok(
            match homes::remove(locked.folder().path(), own.home_name())? {
                Gone::Absent => Home::None,
                Gone::InUse => Home::InUse,
                Gone::Removed => Home::Removed,
            },
        )
    })
}
