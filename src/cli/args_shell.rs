//! The words of the commands that print what a shell or `man` reads.

use clap::Args;

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
