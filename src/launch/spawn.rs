//! Starts the shim, tells it what to do, and hears what the kernel took.
#![expect(
    clippy::disallowed_methods,
    reason = "the one place that starts a server"
)]

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use secrecy::{ExposeSecret, SecretString};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use super::{Explanation, LaunchError};
use crate::confine::Mechanism;
use crate::confine::linux::entry;
use crate::confine::linux::lend::Lent;
use crate::confine::orders::{self, Giver};
use crate::confine::shim::{self, Ends, Place};
use crate::confine::spec::{Begin, Begun, Enforced, Report, Spec};
use crate::plan::held::Held;
use crate::relay::{Process, Server};

/// How long the shim may take for a step of its own; it takes milliseconds.
const LIMIT: Duration = Duration::from_secs(30);

/// A started shim: a process that has entered what it was told to, and waits for its orders.
/// Without them it ends with this value.
#[derive(Debug)]
pub struct Shim {
    process: Process,
    stdin: PipeWriter,
    stdout: PipeReader,
    stderr: PipeReader,
    orders: Giver,
    status: PipeReader,
    /// What it said and was not looked at yet.
    said: Vec<u8>,
    /// What it could enter, where it said so early.
    begun: Option<Begun>,
}

impl Shim {
    /// Forks it off. It has this process's memory as it is now, so there should be nothing in
    /// that which is not its server's.
    ///
    /// # Errors
    /// What the system says; that this process has a second thread.
    pub fn start(place: Place) -> io::Result<Self> {
        let (stdin_out, stdin) = io::pipe()?;
        let (stdout, stdout_in) = io::pipe()?;
        let (stderr, stderr_in) = io::pipe()?;
        let (status, status_in) = io::pipe()?;
        let (orders, taker) = orders::pair()?;
        let ends = Ends {
            stdin: stdin_out,
            stdout: stdout_in,
            stderr: stderr_in,
            orders: taker,
            status: status_in,
            supervisor: std::process::id(),
        };
        // Or both would write it.
        io::stdout().flush()?;
        let Some(child) = safe_fork::fork()? else {
            drop((stdin, stdout, stderr, status, orders));
            let code = shim::main(ends, place);
            #[expect(clippy::exit, reason = "the end of a process that was forked for this")]
            std::process::exit(i32::from(code));
        };
        Ok(Self {
            process: Process::of(child.pid())?,
            stdin,
            stdout,
            stderr,
            orders,
            status,
            said: Vec::new(),
            begun: None,
        })
    }

    /// Tells it what is known by now, and maps its ids where only a process outside can.
    ///
    /// # Errors
    /// [`LaunchError::Spawn`]; as [`Shim::begun`].
    pub fn begin(&mut self, begin: Begin) -> Result<(), LaunchError> {
        if let Some(ids) = begin.ids {
            match self.report()? {
                Report::Entered => {
                    entry::map(self.process.id(), ids).map_err(LaunchError::Spawn)?;
                }
                // It could not, and has ended.
                Report::Begun(begun) => {
                    self.begun = Some(begun);
                    return Ok(());
                }
                other => return Err(unexpected(other)),
            }
        }
        give(&mut self.orders, &begin, &[])
    }

    /// Waits for what it could enter.
    ///
    /// # Errors
    /// [`LaunchError::Step`] where a step before that failed, [`LaunchError::Unconfirmed`] where
    /// it ended without a word or says none.
    pub fn begun(&mut self) -> Result<Begun, LaunchError> {
        loop {
            if let Some(begun) = self.begun.take() {
                return Ok(begun);
            }
            match self.report()? {
                Report::Entered => {}
                Report::Begun(begun) => self.begun = Some(begun),
                other => return Err(unexpected(other)),
            }
        }
    }

    /// Its next report.
    fn report(&mut self) -> Result<Report, LaunchError> {
        let limit = PollTimeout::try_from(LIMIT).map_err(io::Error::other);
        let limit = limit.map_err(LaunchError::Spawn)?;
        loop {
            if let Some(end) = self.said.iter().position(|byte| *byte == b'\n') {
                let rest = self.said.split_off(end.saturating_add(1));
                let line = std::mem::replace(&mut self.said, rest);
                return understood(&line);
            }
            let mut asked = [PollFd::new(self.status.as_fd(), PollFlags::POLLIN)];
            match poll(&mut asked, limit).map_err(|errno| LaunchError::Spawn(errno.into()))? {
                0 => return Err(LaunchError::Spawn(io::ErrorKind::TimedOut.into())),
                _ => {
                    let mut some = [0; 512];
                    let count = self.status.read(&mut some).map_err(LaunchError::Spawn)?;
                    if count == 0 {
                        return Err(wordless());
                    }
                    self.said.extend(some.iter().take(count));
                }
            }
        }
    }

    /// Gives it its orders and reads its status to the end: the exec, or the shim's end.
    async fn order(mut self, spec: &Spec, lent: &[Lent]) -> Result<(Server, Vec<u8>), LaunchError> {
        let mounts: Vec<_> = lent.iter().map(|lent| lent.mount.as_fd()).collect();
        give(&mut self.orders, spec, &mounts)?;
        let Self {
            process,
            stdin,
            stdout,
            stderr,
            orders,
            status,
            said: mut reports,
            begun: _,
        } = self;
        drop(orders);
        let mut status =
            pipe::Receiver::from_owned_fd(OwnedFd::from(status)).map_err(LaunchError::Spawn)?;
        let group = process.id();
        let server = Server {
            stdin: stdin.into(),
            stdout: stdout.into(),
            stderr: stderr.into(),
            process,
            group,
        };
        match timeout(LIMIT, status.read_to_end(&mut reports)).await {
            Ok(Ok(_)) => Ok((server, reports)),
            Ok(Err(error)) => Err(end(server, LaunchError::Spawn(error)).await),
            Err(_) => {
                let why = format!(
                    "no word from the confining process in {} s",
                    LIMIT.as_secs()
                );
                Err(end(server, LaunchError::Unconfirmed(why)).await)
            }
        }
    }
}

/// Gives an order; where the shim has ended, it has said why.
fn give(
    orders: &mut Giver,
    document: &impl serde::Serialize,
    with: &[std::os::fd::BorrowedFd<'_>],
) -> Result<(), LaunchError> {
    match orders.give(document, with) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(LaunchError::Spawn(error)),
        _ => Ok(()),
    }
}

fn understood(line: &[u8]) -> Result<Report, LaunchError> {
    serde_json::from_slice(line).map_err(|_| {
        LaunchError::Unconfirmed("the confining process cannot be understood".to_owned())
    })
}

fn wordless() -> LaunchError {
    LaunchError::Unconfirmed("the confining process ended without a word".to_owned())
}

fn unexpected(report: Report) -> LaunchError {
    match report {
        Report::Failed(failed) => LaunchError::Step { failed },
        _ => LaunchError::Unconfirmed("the confining process is out of step".to_owned()),
    }
}

/// Ends a child and passes on why.
async fn end(mut server: Server, error: LaunchError) -> LaunchError {
    server.process.kill();
    // It is killed by now; waiting leaves no zombie behind.
    let _ = timeout(LIMIT, server.process.wait()).await;
    error
}

/// Starts the server of a permitted explanation with these variables, by a shim that waits.
///
/// # Errors
/// [`LaunchError::Step`] where a step failed, [`LaunchError::Unconfirmed`] where less than the
/// plan asks for is in force or the shim ended without a word, [`LaunchError::Spawn`] where it
/// could not be spoken to. In each case no process of it is left.
pub async fn spawn(
    explanation: &Explanation,
    shim: Shim,
    lent: Vec<Lent>,
    env: Vec<(String, SecretString)>,
) -> Result<(Server, Enforced), LaunchError> {
    let spec = spec(explanation, &lent, env)?;
    let (server, reports) = shim.order(&spec, &lent).await?;
    drop((spec, lent));
    match judge(explanation, &reports) {
        Ok(enforced) => Ok((server, enforced)),
        Err(error) => Err(end(server, error).await),
    }
}

fn spec(
    explanation: &Explanation,
    lent: &[Lent],
    env: Vec<(String, SecretString)>,
) -> Result<Spec, LaunchError> {
    let held = explanation.held.as_ref().map(Held::inode).transpose();
    let held = held.map_err(LaunchError::Spawn)?;
    let plan = &explanation.plan;
    Ok(Spec {
        exec: plan.exec.clone(),
        argv: plan.argv.clone(),
        env: env
            .iter()
            .map(|(name, value)| (name.clone(), value.expose_secret().to_owned()))
            .collect(),
        cwd: plan.cwd.clone(),
        dir: plan.dir.clone().zip(held),
        unchanged: explanation.unchanged.clone(),
        rules: explanation.lowered.clone(),
        keyring: explanation
            .confinement
            .mechanisms
            .contains(&Mechanism::Keyring),
        lent: lent.iter().map(|lent| lent.path.clone()).collect(),
    })
}

/// Whether what the shim said is all that the plan asks for.
fn judge(explanation: &Explanation, reports: &[u8]) -> Result<Enforced, LaunchError> {
    let mut enforced = None;
    for line in reports
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        match understood(line)? {
            Report::Enforced(report) => enforced = Some(report),
            Report::Entered => {}
            other => return Err(unexpected(other)),
        }
    }
    let enforced = enforced.ok_or_else(wordless)?;
    // What the supervisor itself does is not the shim's to confirm.
    let ours = [
        Mechanism::ProcessGroup,
        Mechanism::Check,
        Mechanism::Approval,
        Mechanism::Supervisor,
    ];
    let missing: Vec<String> = explanation
        .confinement
        .mechanisms
        .iter()
        .filter(|mechanism| !ours.contains(mechanism) && !enforced.mechanisms.contains(mechanism))
        .map(|mechanism| format!("{mechanism:?}"))
        .collect();
    if missing.is_empty() {
        Ok(enforced)
    } else {
        Err(LaunchError::Unconfirmed(format!(
            "not in force: {}",
            missing.join(", ")
        )))
    }
}
