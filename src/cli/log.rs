//! Logging: off unless `SUPERVISOR_LOG` names a level; never a payload, never a value.
#![expect(
    clippy::disallowed_methods,
    reason = "the variable that switches logging on"
)]

use std::io;

use tracing::Level;

/// Writes what happens to standard error, down to the level that `SUPERVISOR_LOG` names: `error`,
/// `warn`, `info`, `debug` or `trace`. Any other word, or none, writes nothing.
pub(super) fn start() {
    let level = std::env::var("SUPERVISOR_LOG")
        .ok()
        .and_then(|word| word.parse::<Level>().ok());
    if let Some(level) = level {
        tracing_subscriber::fmt()
            .with_writer(io::stderr)
            .with_ansi(false)
            .with_max_level(level)
            .init();
    }
}
