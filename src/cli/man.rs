//! `supervisor man`: the manual pages, from the definition of the command line.

use std::process::ExitCode;

use clap::Args;

use super::render;
use crate::declaration::change::ChangeError;

/// Print the manual page, in roff
///
/// Prints the manual page of the program, or of one command, in roff.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  supervisor man > ~/.local/share/man/man1/supervisor.1
  supervisor man run | man -l -")]
pub(crate) struct ManArgs {
    /// The command; the program itself without one
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,
}

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
