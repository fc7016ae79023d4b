//! Why a run cannot be relayed.

use std::io;

/// A fault of ours: what the server or the host does wrong is no error of the relay.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The supervisor's own stdin, stdout or stderr cannot be used.
    #[error("cannot use stdin, stdout or stderr")]
    Stdio(#[source] io::Error),
    /// The server's pipes cannot be used.
    #[error("cannot use the pipes of the server")]
    Pipe(#[source] io::Error),
    /// The handlers of SIGTERM, SIGINT and SIGHUP cannot be set.
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
    /// There is no timer to be had.
    #[error("cannot set a timer")]
    Clock(#[source] io::Error),
    /// The server's end cannot be waited for.
    #[error("cannot wait for the server")]
    Wait(#[source] io::Error),
}
