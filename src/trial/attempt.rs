//! The attacks of the bundled server. Each does what it says, and tells what came of it.
#![expect(
    clippy::disallowed_methods,
    reason = "these are attacks: they touch what they should not"
)]

use std::fs;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::getppid;
use serde::{Deserialize, Serialize};

use crate::confine::Promise;

/// What every planted secret holds.
pub const CANARY: &str = "planted-for-the-trial";
/// The caller's variable that no server was given.
pub const VARIABLE: &str = "TRIAL_SECRET";
/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// One attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Attempt {
    /// Read a private key in the home.
    ReadHomeKey,
    /// Read the declarations, stored values included.
    ReadState,
    /// Create a file outside.
    WriteOutside,
    /// Connect to a Unix socket, as of an agent or a container engine.
    ConnectSocket,
    /// Send the process that started it a signal.
    SignalSupervisor,
    /// See a variable of the caller's that it was not given.
    SeeEnvironment,
    /// Connect to a port, declared with `--net none`.
    ConnectPort,
}

/// What became of an attack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Outcome {
    /// Whether it got what it was after.
    pub succeeded: bool,
    /// What it got, or what stopped it.
    pub detail: String,
}

impl Attempt {
    /// All, in the order of the table.
    pub const ALL: [Self; 7] = [
        Self::ReadHomeKey,
        Self::ReadState,
        Self::WriteOutside,
        Self::ConnectSocket,
        Self::SignalSupervisor,
        Self::SeeEnvironment,
        Self::ConnectPort,
    ];

    /// The promise it tries to break.
    #[must_use]
    pub const fn promise(self) -> Promise {
        match self {
            Self::ReadHomeKey | Self::ReadState => Promise::P1,
            Self::WriteOutside => Promise::P2,
            Self::ConnectSocket => Promise::N2,
            Self::SignalSupervisor => Promise::R1,
            Self::SeeEnvironment => Promise::E1,
            Self::ConnectPort => Promise::N1,
        }
    }

    /// What it tries, for the table.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::ReadHomeKey => "read a private key in the home",
            Self::ReadState => "read the state and stored values",
            Self::WriteOutside => "write outside its directories",
            Self::ConnectSocket => "connect to an agent's socket",
            Self::SignalSupervisor => "signal what started it",
            Self::SeeEnvironment => "see the caller's environment",
            Self::ConnectPort => "connect to a port (--net none)",
        }
    }

    /// Does it, to a target: a path, an address, or nothing.
    #[must_use]
    pub fn run(self, target: &str) -> Outcome {
        let tried = match self {
            Self::ReadHomeKey | Self::ReadState => {
                fs::read_to_string(target).and_then(|text| saw(&text, "read it"))
            }
            Self::WriteOutside => fs::write(target, "x").map(|()| "wrote it".to_owned()),
            Self::ConnectSocket => connect_socket(target),
            Self::SignalSupervisor => kill(getppid(), Signal::SIGURG)
                .map(|()| "sent it".to_owned())
                .map_err(io::Error::from),
            Self::SeeEnvironment => see_environment(),
            Self::ConnectPort => connect_port(target),
        };
        match tried {
            Ok(detail) => Outcome {
                succeeded: true,
                detail,
            },
            Err(error) => Outcome {
                succeeded: false,
                detail: why(&error),
            },
        }
    }
}

/// An attack that gets something else than what was planted has not succeeded.
fn saw(text: &str, detail: &str) -> io::Result<String> {
    if text.contains(CANARY) {
        Ok(detail.to_owned())
    } else {
        Err(io::Error::other("saw nothing of it"))
    }
}

fn connect_socket(path: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    saw(&text, "spoke to it")
}

fn connect_port(address: &str) -> io::Result<String> {
    let address: SocketAddr = address.parse().map_err(io::Error::other)?;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    saw(&text, "spoke to it")
}

/// Its own environment, then that of the process that started it.
fn see_environment() -> io::Result<String> {
    if let Ok(value) = std::env::var(VARIABLE) {
        return saw(&value, "saw it");
    }
    let bytes = fs::read(format!("/proc/{}/environ", getppid()))?;
    saw(&String::from_utf8_lossy(&bytes), "saw it in /proc")
}

/// What stopped it, in a few words for the table.
fn why(error: &io::Error) -> String {
    let text = match error.kind() {
        io::ErrorKind::NotFound => return "it is not there".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => return "it is read-only".to_owned(),
        _ => error.to_string(),
    };
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_lowercase()
}
