//! What there is to steal: a home with a key, a state directory, a socket, a port.
#![expect(
    clippy::disallowed_methods,
    reason = "plants files and starts the bundled server"
)]

use std::io::{self, Write};
use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::{env, fs, thread};

use nix::unistd::geteuid;
use secrecy::SecretString;
use tempfile::TempDir;
use tokio::process::Command;

use super::attempt::{Attempt, CANARY, Outcome, VARIABLE};
use crate::approval::Approvals;
use crate::approval::candidate::Candidate;
use crate::confine::{Confinement, Standing};
use crate::declaration::store::State;
use crate::declaration::{Alias, Declaration, Network, Server, Stdio};
use crate::error::Error;
use crate::launch::{self, LaunchError};
use crate::plan::{Person, RunRequest};
use crate::policy;

/// The aliases of the bundled server, in a state directory of its own: as it should run, and
/// without the promises that this machine cannot hold.
const ALIAS: &str = "try";
const WITHOUT: &str = "try-without";

/// The planted things; they go with this value.
#[derive(Debug)]
pub struct Planted {
    base: TempDir,
    home: PathBuf,
    program: PathBuf,
    port: std::net::SocketAddr,
    alias: &'static str,
}

/// What the bundled server was declared without.
#[derive(Debug, Default)]
pub struct Without {
    /// The promises that this machine cannot hold.
    pub promises: Vec<Standing>,
    /// What would change that.
    pub cure: Option<String>,
}

impl Planted {
    /// Plants everything in a new directory, and answers on the socket and the port.
    ///
    /// # Errors
    /// What the system says.
    pub fn new() -> io::Result<Self> {
        let base = tempfile::Builder::new()
            .prefix("supervisor-try-")
            .tempdir()?;
        let base_path = base.path().canonicalize()?;
        let home = base_path.join("home");
        for directory in [
            &home.join(".ssh"),
            &home.join(".supervisor"),
            &base_path.join("run"),
        ] {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory)?;
        }
        fs::write(home.join(".ssh/id_ed25519"), CANARY)?;
        let socket = UnixListener::bind(base_path.join("run/agent.sock"))?;
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        let port = tcp.local_addr()?;
        // These threads end with the process; they wait for attacks.
        thread::spawn(move || socket.incoming().for_each(greet));
        thread::spawn(move || tcp.incoming().for_each(greet));
        Ok(Self {
            base,
            home,
            program: env::current_exe()?,
            port,
            alias: ALIAS,
        })
    }

    /// Declares and approves the bundled server, with a stored value, no network; without what
    /// this machine cannot hold, which is returned. Within a Tokio runtime, as [`launch::prepare`].
    ///
    /// # Errors
    /// As `add` and `approve`; [`LaunchError::Unheld`] for a promise that nobody can give up.
    pub fn declare(&mut self) -> Result<Without, Error> {
        let alias = self.declare_as(ALIAS, &[])?;
        let request = RunRequest::of(alias.clone());
        let Confinement { promises, cure, .. } =
            launch::prepare(&self.person(), &request)?.confinement;
        let unheld = Confinement::unheld(&promises);
        if unheld.iter().any(|standing| !standing.id.may_be_given_up()) {
            return Err(LaunchError::Unheld {
                alias,
                promises: unheld,
                cure,
            }
            .into());
        }
        if !unheld.is_empty() {
            self.declare_as(WITHOUT, &unheld)?;
            self.alias = WITHOUT;
        }
        Ok(Without {
            promises: unheld,
            cure,
        })
    }

    fn declare_as(&self, alias: &str, without: &[Standing]) -> Result<Alias, Error> {
        let program = self.program.to_string_lossy().into_owned();
        let mut stdio = Stdio::new(program, vec![super::server::ARGUMENT.to_owned()]);
        stdio.network = Network::None;
        stdio.without = without.iter().map(|standing| standing.id).collect();
        if let Ok(name) = "STORED".parse() {
            stdio.env.insert(name, SecretString::from(CANARY));
        }
        let alias: Alias = match alias.parse() {
            Ok(alias) => alias,
            Err(_) => return Err(LaunchError::NoValue(alias.to_owned()).into()),
        };
        let declaration = Declaration {
            server: Server::Stdio(stdio),
            enabled: true,
        };
        let state = State::open(&self.person())?;
        Approvals::declare(&state, &alias, &declaration)?;
        let approvals = Approvals::read(&state)?;
        Candidate::look(
            alias.clone(),
            declaration,
            &approvals,
            &policy::load::installed(),
            true,
        )
        .must_start()?
        .approve(&state, now())?;
        Ok(alias)
    }

    fn person(&self) -> Person {
        Person {
            home: self.home.clone(),
            state: self.home.join(".supervisor"),
            uid: geteuid().as_raw(),
        }
    }

    /// The bundled server with nothing in its way, the caller's variable in its environment.
    pub fn alone(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(super::server::ARGUMENT).env(VARIABLE, CANARY);
        command
    }

    /// The same server as a host starts it.
    pub fn confined(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("run")
            .arg(self.alias)
            .env_clear()
            .env("HOME", &self.home)
            .env(VARIABLE, CANARY);
        command
    }

    /// What came of an attack, by its effect where it has one: a server may write a file of that
    /// name in a place of its own.
    ///
    /// # Errors
    /// What the system says.
    pub fn judged(&self, attempt: Attempt, told: Outcome) -> io::Result<Outcome> {
        if attempt != Attempt::WriteOutside || !told.succeeded {
            return Ok(told);
        }
        match fs::remove_file(self.target(attempt)) {
            Ok(()) => Ok(told),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Outcome {
                succeeded: false,
                detail: "reached a place of its own".to_owned(),
            }),
            Err(error) => Err(error),
        }
    }

    /// What an attack goes for.
    pub fn target(&self, attempt: Attempt) -> String {
        let at = |path: &Path| path.to_string_lossy().into_owned();
        match attempt {
            Attempt::ReadHomeKey => at(&self.home.join(".ssh/id_ed25519")),
            Attempt::ReadState => at(&self.home.join(".supervisor/mcp.json")),
            Attempt::WriteOutside => at(&self.home.join("written")),
            Attempt::ConnectSocket => at(&self.base.path().join("run/agent.sock")),
            Attempt::ConnectPort => self.port.to_string(),
            Attempt::SignalSupervisor | Attempt::SeeEnvironment => String::new(),
        }
    }
}

/// Whoever connects gets what was planted.
fn greet<S: Write>(stream: io::Result<S>) {
    if let Ok(mut stream) = stream {
        // A peer that is gone already has seen nothing.
        let _ = stream.write_all(CANARY.as_bytes());
    }
}

fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}
