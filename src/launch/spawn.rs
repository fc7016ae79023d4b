//! Starts the shim, and tells it what to do.
#![expect(
    clippy::disallowed_methods,
    reason = "the one place that starts a server"
)]

use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::AsFd;
use std::process::{Command, ExitCode, Stdio};
use std::rc::Rc;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Pid;
use secrecy::{ExposeSecret, SecretString};

use super::confirm::{understood, unexpected, wordless};
use super::enter::Ground;
use super::ordered::{LIMIT, Ordered, Watched};
use super::watch::Before;
use super::{Explanation, LaunchError, descendants};
use crate::confine::Mechanism;
use crate::confine::linux::cgroup::Cgroup;
use crate::confine::linux::entry;
use crate::confine::linux::lend::Lent;
use crate::confine::orders::{self, Giver, Taker};
use crate::confine::shim;
use crate::confine::spec::{Begin, Begun, Failed, Place, Report, Spec, Start, Step};
use crate::plan::held::Held;
use crate::relay::Process;

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
    /// The first process of its namespaces, where it said so.
    first: Option<u32>,
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
            first: None,
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
                Report::First(first) => {
                    self.first = Some(first);
                    if let Err(error) = entry::map(first, ids) {
                        return self.ended_early(error);
                    }
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

    /// Its ids could not be mapped: it has ended, where it could not mount anything.
    fn ended_early(&mut self, why: io::Error) -> Result<(), LaunchError> {
        match self.report()? {
            Report::Begun(begun) if begun.refused.is_some() => {
                self.begun = Some(begun);
                Ok(())
            }
            _ => Err(LaunchError::Spawn(why)),
        }
    }

    /// Tells it what every server gets of this system, which it puts in place at once.
    ///
    /// # Errors
    /// [`LaunchError::Spawn`].
    pub(super) fn ground(&mut self, ground: &Ground) -> Result<(), LaunchError> {
        let held: Vec<_> = ground.held.iter().map(AsFd::as_fd).collect();
        give(&mut self.orders, &ground.found, &held)
    }

    /// Waits for what it could enter.
    ///
    /// # Errors
    /// [`LaunchError::Step`] where a step before that failed, [`LaunchError::Unconfirmed`] where
    /// it ended without a word or says none.
    pub fn begun(&mut self) -> Result<Begun, LaunchError> {
        let begun = loop {
            match self.begun.take() {
                Some(begun) if !begun.first || self.first.is_some() => break begun,
                begun => self.begun = begun,
            }
            match self.report()? {
                Report::First(first) => self.first = Some(first),
                Report::Begun(begun) => self.begun = Some(begun),
                other => return Err(unexpected(other)),
            }
        };
        if let Some(first) = self.first.take() {
            self.adopt(first).map_err(LaunchError::Spawn)?;
        }
        Ok(begun)
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

    /// Gives it its orders.
    fn order(&mut self, spec: &Spec, lent: &[Lent]) -> Result<(), LaunchError> {
        let mounts: Vec<_> = lent.iter().map(|lent| lent.mount.as_fd()).collect();
        give(&mut self.orders, spec, &mounts)
    }

    /// It, and what lets it go.
    fn ordered(self, watched: Watched) -> (Ordered, Giver) {
        let ordered = Ordered {
            process: self.process.with_word(self.word.into()),
            group: self.group,
            stdin: self.stdin,
            stdout: self.stdout,
            stderr: self.stderr,
            status: self.status,
            said: self.said,
            watched,
        };
        (ordered, self.orders)
    }
}

/// Gives an order; where the shim has ended, it has said why.
pub(super) fn give(
    orders: &mut Giver,
    document: &impl serde::Serialize,
    with: &[std::os::fd::BorrowedFd<'_>],
) -> Result<(), LaunchError> {
    match orders.give(document, with) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(LaunchError::Spawn(error)),
        _ => Ok(()),
    }
}

/// Orders a shim that waits to become the server of a permitted explanation, with these variables.
///
/// # Errors
/// [`LaunchError::Spawn`] where it could not be spoken to, [`LaunchError::Step`] where its control
/// group cannot be made, [`LaunchError::Watch`] where its limits cannot be watched. In each case no
/// process of it is left.
pub(super) fn order(
    explanation: &Explanation,
    mut shim: Shim,
    lent: &[Lent],
    env: Vec<(String, SecretString)>,
) -> Result<(Ordered, Giver), LaunchError> {
    let spec = spec(explanation, lent, env)?;
    // Before it has its orders: all that it starts from there on is in the group too.
    let cgroup = group(explanation, &shim)?;
    shim.order(&spec, lent)?;
    // Nothing of the server's runs yet.
    let before = Before::look(&explanation.plan).map_err(LaunchError::Watch)?;
    Ok(shim.ordered(Watched { cgroup, before }))
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
        rules: Rc::clone(&explanation.lowered),
        keyring: explanation
            .confinement
            .mechanisms
            .contains(&Mechanism::Keyring),
        lent: lent.iter().map(|lent| lent.path.clone()).collect(),
    })
}
