//! Starts the shim, tells it what to do, and hears what the kernel took.
#![expect(
    clippy::disallowed_methods,
    reason = "the one place that starts a server"
)]

use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Pid;
use secrecy::{ExposeSecret, SecretString};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use super::confirm::{judge, understood, unexpected, wordless};
use super::enter::Ground;
use super::watch::{Before, Watch};
use super::{Explanation, LaunchError, descendants};
use crate::confine::Mechanism;
use crate::confine::linux::cgroup::Cgroup;
use crate::confine::linux::entry;
use crate::confine::linux::lend::Lent;
use crate::confine::orders::{self, Giver, Taker};
use crate::confine::shim;
use crate::confine::spec::{Begin, Begun, Enforced, Failed, Place, Report, Spec, Start, Step};
use crate::plan::held::Held;
use crate::relay::{Process, Server};
use crate::text;

/// How long the shim may take for a step of its own; it takes milliseconds.
const LIMIT: Duration = Duration::from_secs(30);

/// A started shim: a process that has entered what it was told to, and waits for its orders.
/// Without them it ends with this value.
#[derive(Debug)]
pub struct Shim {
    /// It, or the first process of its namespaces, when that was adopted.
    process: Process,
    /// The process group that it leads.
    group: Pid,
    stdin: PipeWriter,
    stdout: PipeReader,
    stderr: PipeReader,
    orders: Giver,
    status: PipeReader,
    /// On which the first process of its namespaces says how the server ended.
    word: PipeReader,
    /// What it said and was not looked at yet.
    said: Vec<u8>,
    /// What it could enter, where it said so early.
    begun: Option<Begun>,
}

/// On which side of a fork this process is.
pub enum Side {
    /// It goes on, and holds the shim.
    Supervisor(Shim),
    /// It was the shim, and has done its work.
    Shim(ExitCode),
}

impl Shim {
    /// Forks this process, for a server that nobody watches: the first thing it does, since all
    /// that it has in its memory by then the shim has too.
    ///
    /// # Errors
    /// This process has threads; what the system says.
    pub fn fork() -> io::Result<Side> {
        let (status, status_in) = io::pipe()?;
        let (orders, taker) = orders::pair()?;
        let Some(child) = safe_fork::fork()? else {
            drop((orders, status));
            return Ok(Side::Shim(shim::forked(
                Taker::new(taker),
                status_in.into(),
            )));
        };
        let shim = Self::told(child.pid(), orders, status, (Place::Inside, false))?;
        Ok(Side::Supervisor(shim))
    }

    /// Executes this very program anew, with an empty environment.
    ///
    /// # Errors
    /// What the system says.
    pub fn execute(place: Place, watched: bool) -> io::Result<Self> {
        let (status, status_in) = io::pipe()?;
        let (orders, taker) = orders::pair()?;
        // What it says before it has the server's pipes is nobody's to read.
        let child = Command::new("/proc/self/exe")
            .arg(shim::CONFINE)
            .env_clear()
            .current_dir("/")
            .stdin(taker)
            .stdout(status_in)
            .stderr(Stdio::null())
            .spawn()?;
        Self::told(child.id(), orders, status, (place, watched))
    }

    /// The process of this number, told what it is for.
    fn told(
        process: u32,
        mut orders: Giver,
        status: PipeReader,
        (place, watched): (Place, bool),
    ) -> io::Result<Self> {
        // What it leaves is this process's: the first process of its namespaces.
        descendants::adopt()?;
        let process = Process::of(process)?;
        let (stdin_out, stdin) = io::pipe()?;
        let (stdout, stdout_in) = io::pipe()?;
        let (stderr, stderr_in) = io::pipe()?;
        let (word, word_in) = io::pipe()?;
        let start = Start {
            supervisor: std::process::id(),
            place,
            watched,
        };
        let pipes = [
            stdin_out.as_fd(),
            stdout_in.as_fd(),
            stderr_in.as_fd(),
            word_in.as_fd(),
        ];
        orders.give(&start, &pipes)?;
        Ok(Self {
            group: process.id(),
            process,
            stdin,
            stdout,
            stderr,
            orders,
            status,
            word,
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

    /// Tells it what every server gets of this system, which it puts in place at once.
    ///
    /// # Errors
    /// [`LaunchError::Spawn`].
    pub(super) fn ground(&mut self, ground: &Ground<'_>) -> Result<(), LaunchError> {
        give(&mut self.orders, &ground.found, &ground.held)
    }

    /// Waits for what it could enter.
    ///
    /// # Errors
    /// [`LaunchError::Step`] where a step before that failed, [`LaunchError::Unconfirmed`] where
    /// it ended without a word or says none.
    pub fn begun(&mut self) -> Result<Begun, LaunchError> {
        loop {
            if let Some(begun) = self.begun.take() {
                if let Some(first) = begun.first {
                    self.adopt(first).map_err(LaunchError::Spawn)?;
                }
                return Ok(begun);
            }
            match self.report()? {
                Report::Entered => {}
                Report::Begun(begun) => self.begun = Some(begun),
                other => return Err(unexpected(other)),
            }
        }
    }

    /// Takes hold of the first process of the namespaces, which is a child of this process as soon as
    /// the one that made them has ended.
    fn adopt(&mut self, first: u32) -> io::Result<()> {
        let first = Process::of(first)?;
        std::mem::replace(&mut self.process, first).join()
    }

    /// The process that goes on to be the server, while it waits: the first of its namespaces, or
    /// the shim itself where there are none.
    pub fn next(&self) -> u32 {
        u32::try_from(self.process.id().as_raw()).unwrap_or(0)
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
            match poll(&mut asked, limit) {
                Ok(0) => return Err(LaunchError::Spawn(io::ErrorKind::TimedOut.into())),
                // The end of a child is told by a signal.
                Err(Errno::EINTR) => continue,
                polled => polled.map_err(|errno| LaunchError::Spawn(errno.into()))?,
            };
            let mut some = [0; 512];
            let count = self.status.read(&mut some).map_err(LaunchError::Spawn)?;
            if count == 0 {
                return Err(wordless());
            }
            self.said.extend(some.iter().take(count));
        }
    }

    /// Gives it its orders and reads its status to the end: the exec, or the shim's end.
    async fn order(
        mut self,
        spec: &Spec,
        lent: &[Lent],
    ) -> Result<(Ordered, Vec<u8>), LaunchError> {
        let mounts: Vec<_> = lent.iter().map(|lent| lent.mount.as_fd()).collect();
        give(&mut self.orders, spec, &mounts)?;
        let Self {
            process,
            group,
            stdin,
            stdout,
            stderr,
            orders,
            status,
            word,
            said: mut reports,
            begun: _,
        } = self;
        drop(orders);
        let mut status =
            pipe::Receiver::from_owned_fd(OwnedFd::from(status)).map_err(LaunchError::Spawn)?;
        let ordered = Ordered {
            process: process.with_word(word.into()),
            group,
            stdin,
            stdout,
            stderr,
        };
        match timeout(LIMIT, status.read_to_end(&mut reports)).await {
            Ok(Ok(_)) => Ok((ordered, reports)),
            Ok(Err(error)) => Err(end(ordered.process, LaunchError::Spawn(error)).await),
            Err(_) => {
                let why = format!(
                    "no word from the confining process in {} s",
                    LIMIT.as_secs()
                );
                Err(end(ordered.process, LaunchError::Unconfirmed(why)).await)
            }
        }
    }
}

/// A shim that has its orders, and so became a server or ended.
struct Ordered {
    process: Process,
    group: Pid,
    stdin: PipeWriter,
    stdout: PipeReader,
    stderr: PipeReader,
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

/// Ends a child and passes on why.
async fn end(mut process: Process, error: LaunchError) -> LaunchError {
    process.kill();
    // It is killed by now; waiting leaves no zombie behind.
    let _ = timeout(LIMIT, process.wait()).await;
    error
}

/// A server that was started.
pub struct Started {
    /// Its pipes and its process.
    pub server: Server,
    /// What the kernel took.
    pub enforced: Enforced,
    /// Writable directories on a disk that was low already, each with what is free there.
    pub low: Vec<String>,
}

/// Starts the server of a permitted explanation with these variables, by a shim that waits.
///
/// # Errors
/// [`LaunchError::Step`] where a step failed, [`LaunchError::Unconfirmed`] where less than the
/// plan asks for is in force or the shim ended without a word, [`LaunchError::Spawn`] where it
/// could not be spoken to, [`LaunchError::Watch`] where its limits cannot be watched. In each case no process of it is left.
pub async fn spawn(
    explanation: &Explanation,
    shim: Shim,
    lent: Vec<Lent>,
    env: Vec<(String, SecretString)>,
) -> Result<Started, LaunchError> {
    let spec = spec(explanation, &lent, env)?;
    // Before it has its orders: all that it starts from there on is in the group too.
    let cgroup = group(explanation, &shim)?;
    let before = Before::look(&explanation.plan).map_err(LaunchError::Watch)?;
    let (ordered, reports) = shim.order(&spec, &lent).await?;
    drop((spec, lent));
    match judge(explanation, &reports, cgroup.is_some()) {
        Ok(enforced) => started(explanation, ordered, enforced, (cgroup, before)),
        Err(error) => Err(end(ordered.process, error).await),
    }
}

/// The control group that the plan asks for, with the process that waits for its orders in it.
fn group(explanation: &Explanation, shim: &Shim) -> Result<Option<Cgroup>, LaunchError> {
    let Some(bounds) = &explanation.lowered.cgroup else {
        return Ok(None);
    };
    let made = Cgroup::make(bounds).and_then(|group| {
        group.enter(shim.next())?;
        Ok(group)
    });
    made.map(Some).map_err(|error| LaunchError::Step {
        failed: Failed {
            step: Step::Limits,
            why: format!("control group: {error}"),
        },
    })
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

/// The server, watched from now on.
fn started(
    explanation: &Explanation,
    ordered: Ordered,
    enforced: Enforced,
    (cgroup, before): (Option<Cgroup>, Before),
) -> Result<Started, LaunchError> {
    let main = u32::try_from(ordered.process.id().as_raw()).map_err(io::Error::other);
    let main = main.map_err(LaunchError::Spawn)?;
    let namespaces = explanation.lowered.namespaces.as_ref();
    let in_memory = namespaces.map(|own| own.in_memory.as_slice());
    let watch = Watch::begin(&explanation.plan, main, in_memory, cgroup, before);
    let watch = watch.map_err(LaunchError::Watch)?;
    let low = watch
        .low()
        .map(|(place, free)| format!("{}: {} free", text::path(place), text::size(free)))
        .collect();
    Ok(Started {
        server: Server {
            stdin: ordered.stdin.into(),
            stdout: ordered.stdout.into(),
            stderr: ordered.stderr.into(),
            process: ordered.process,
            group: ordered.group,
            bounds: Box::new(watch),
        },
        enforced,
        low,
    })
}
