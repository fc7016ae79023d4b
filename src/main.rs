//! The `supervisor` command.

use std::process::ExitCode;

#[expect(clippy::disallowed_methods, reason = "main reads the command line")]
fn main() -> ExitCode {
    supervisor::command(std::env::args_os().collect())
}
