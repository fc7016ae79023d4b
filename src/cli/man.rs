//! `supervisor man`: the manual pages, from the definition of the command line.

use std::process::ExitCode;

use super::{ManArgs, render};
use crate::declaration::change::ChangeError;

/// Runs the command.
pub(super) fn run(args: &ManArgs) -> ExitCode {
    let mut definition = super::definition();
    // Gives each command its whole name, `supervisor run`.
    definition.build();
    let command = match &args.command {
        None => definition,
        Some(name) => match definition.find_subcommand(name) {
            Some(command) => command.clone(),
            None => return render::error(&ChangeError::NoCommand(name.clone()).into()),
        },
    };
    let mut out = Vec::new();
    match clap_mangen::Man::new(command).render(&mut out) {
        Ok(()) => render::human(&String::from_utf8_lossy(&out)),
        Err(error) => render::failure("cannot write the manual page", &error),
    }
}
