//! `supervisor completions SHELL`: from the definition of the command line.

use std::process::ExitCode;

use super::{CompletionsArgs, render};

/// Runs the command.
pub(super) fn run(args: &CompletionsArgs) -> ExitCode {
    let mut out = Vec::new();
    clap_complete::generate(args.shell, &mut super::definition(), "supervisor", &mut out);
    render::human(&String::from_utf8_lossy(&out))
}
