//! `supervisor completions SHELL`: from the definition of the command line.

use std::process::ExitCode;

use clap::Args;

use super::render;

/// Print the completions of a shell
///
/// Prints what a shell completes the words of this program by.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  supervisor completions bash > ~/.local/share/bash-completion/completions/supervisor"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// Runs the command.
pub(super) fn run(args: &CompletionsArgs) -> ExitCode {
    let mut out = Vec::new();
    clap_complete::generate(args.shell, &mut super::definition(), "supervisor", &mut out);
    render::human(&String::from_utf8_lossy(&out))
}
