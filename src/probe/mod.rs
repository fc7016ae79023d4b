//! A server of ours that attacks: the one set of attacks that `try` and `doctor` show.
//!
//! [`attack`] is the table: each attack with the promise it tries to break and what it goes for.
//! The rooms beside it do them (`files`, `processes`, `network`, and `own` for what a process
//! finds itself started with); `server` is the bundled MCP server that does what it is told over
//! its own pipes, and `client` the host in small that tells it. Everything a server of a
//! stranger's could not do is not here: no attack needs more than the system calls of a program.

pub(crate) mod attack;
pub(crate) mod client;
pub(crate) mod declared;
pub(crate) mod files;
pub(crate) mod ground;
pub(crate) mod network;
pub(crate) mod own;
pub(crate) mod processes;
pub(crate) mod server;

use serde::{Deserialize, Serialize};

pub use attack::{Attack, Target};
pub use ground::Ground;

/// What every planted secret holds.
pub const CANARY: &str = "planted-for-the-probe";
/// The caller's variable that no server was given.
pub const VARIABLE: &str = "PROBE_SECRET";
/// The name of the key in the caller's session keyring.
pub const KEY: &str = "planted-for-the-probe";

/// What became of an attack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Outcome {
    /// Which way it went.
    pub result: Went,
    /// What it got, what stopped it, or why that is not known.
    pub detail: String,
}

/// Which way an attack went. Nobody may take what did not come to its end for either of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Went {
    /// It got what it was after, and that was seen.
    Succeeded,
    /// Something stopped it.
    Stopped,
    /// It could not be made or seen to its end, as where a machine gives nothing time to run.
    Unknown,
}

/// It could not be seen whether an attack got anything.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unseen(String);

impl Outcome {
    /// It got this.
    #[must_use]
    pub fn got(detail: impl Into<String>) -> Self {
        Self {
            result: Went::Succeeded,
            detail: detail.into(),
        }
    }

    /// This stopped it.
    #[must_use]
    pub fn stopped(detail: impl Into<String>) -> Self {
        Self {
            result: Went::Stopped,
            detail: detail.into(),
        }
    }

    /// It is not known, for this reason.
    #[must_use]
    pub fn unknown(detail: impl Into<String>) -> Self {
        Self {
            result: Went::Unknown,
            detail: detail.into(),
        }
    }

    /// Whether it got what it was after.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.result == Went::Succeeded
    }
}

impl From<std::io::Result<String>> for Outcome {
    fn from(tried: std::io::Result<String>) -> Self {
        match tried {
            Ok(detail) => Self::got(detail),
            Err(error) if is_unseen(&error) => Self::unknown(why(&error)),
            Err(error) => Self::stopped(why(&error)),
        }
    }
}

/// What stopped it, in a few words for the table.
fn why(error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    let text = match error.kind() {
        ErrorKind::NotFound => return "it is not there".to_owned(),
        ErrorKind::ReadOnlyFilesystem => return "it is read-only".to_owned(),
        _ => error.to_string(),
    };
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_lowercase()
}

/// An attack that gets something else than it was after has not succeeded.
fn not(detail: &str) -> std::io::Error {
    std::io::Error::other(detail.to_owned())
}

/// An attack that nothing stopped, and of which it cannot be told what it got.
fn unseen(what: &str, error: &std::io::Error) -> std::io::Error {
    std::io::Error::other(Unseen(format!("{what}: {}", why(error))))
}

fn is_unseen(error: &std::io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Unseen>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_seen_is_neither_stopped_nor_got() {
        let late = std::io::Error::from(std::io::ErrorKind::TimedOut);
        let outcome = |tried: std::io::Result<String>| Outcome::from(tried).result;
        assert_eq!(outcome(Ok(String::new())), Went::Succeeded);
        assert_eq!(outcome(Err(not("another"))), Went::Stopped);
        assert_eq!(outcome(Err(unseen("no answer", &late))), Went::Unknown);
    }
}
