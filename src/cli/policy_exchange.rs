//! `supervisor policy import` and `policy export`: lists of other hosts.

use std::path::PathBuf;
use std::process::ExitCode;

use super::policy_args::{ExportArgs, ImportArgs};
use super::render;
use crate::error::Error;
use crate::plan::{facts, program};
use crate::policy::error::UNUSABLE;
use crate::policy::exchange::{self, Exchanged, Through};
use crate::policy::owner::Trust;
use crate::policy::{PolicyError, load};

/// Runs `policy import`.
pub(super) fn import(args: &ImportArgs) -> ExitCode {
    let find = |name: &str| -> Option<PathBuf> {
        let found = program::find(name, &facts::search_path());
        found.ok().map(|program| program.found)
    };
    let done = load::text(&args.file).and_then(|text| {
        exchange::import(args.from, &text, &find)
            .map_err(|what| PolicyError::foreign(&args.file, what))
    });
    show(done)
}

/// Runs `policy export`.
pub(super) fn export(args: &ExportArgs) -> ExitCode {
    let own = match &args.supervisor {
        Some(path) => path.clone(),
        None => match std::env::current_exe() {
            Ok(path) => path.to_string_lossy().into_owned(),
            Err(error) => return render::failure("cannot tell where this program is", &error),
        },
    };
    let through = Through {
        supervisor: &own,
        aliases: &args.alias,
    };
    let done = load::named(&args.file, Trust::Named).and_then(|policy| {
        exchange::export(&policy, args.to, &through)
            .map_err(|what| PolicyError::foreign(&args.file, what))
    });
    show(done)
}

/// The file on standard output, what is not in it on standard error.
fn show(done: Result<Exchanged, PolicyError>) -> ExitCode {
    let Exchanged { text, said } = match done {
        Ok(done) => done,
        Err(error) => return render::error(&Error::from(error)),
    };
    let shown = render::human(&text);
    for said in &said {
        render::note(&said.line());
    }
    if said.iter().any(|said| said.lost) && shown == ExitCode::SUCCESS {
        ExitCode::from(UNUSABLE)
    } else {
        shown
    }
}
