//! The `supervisor` command: the confining process, or a command line.

use std::ffi::OsString;
use std::process::ExitCode;

#[expect(clippy::disallowed_methods, reason = "main reads the command line")]
fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    match words.get(1) {
        Some(word) if word == supervisor::SHIM_ARGUMENT => supervisor::shim(),
        _ => supervisor::command(words),
    }
}
