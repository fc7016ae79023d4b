//! Starts the shim, tells it what to do, and hears what the kernel took.
#![expect(
    clippy::disallowed_methods,
    reason = "the one place that starts a server"
)]

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::Stdio as Pipe;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Pid;
use secrecy::{ExposeSecret, SecretString};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::watch::Watch;
use super::{Explanation, LaunchError};
use crate::confine::Mechanism;
use crate::confine::linux::cgroup::Cgroup;
use crate::confine::shim;
use crate::confine::spec::{Begin, Begun, Enforced, Entry, Failed, Report, Spec, Step};
use crate::plan::held::Held;
use crate::relay::Server;
use crate::text;

/// How long the shim may take for a step of its own; it takes milliseconds.
const LIMIT: Duration = Duration::from_secs(30);

/// A started shim: a process that has entered what it was told to, and waits for its orders.
/// Without them it ends with this value.
#[derive(Debug)]
pub struct Shim {
    child: Child,
    orders: PipeWriter,
    status: PipeReader,
}

impl Shim {
    /// Executes this very program anew, with an empty environment; it waits to be told where to
    /// go.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Panics
    /// Outside a Tokio runtime with I/O, as `tokio::process` does.
    pub fn start() -> io::Result<Self> {
        let (orders_out, orders) = io::pipe()?;
        let (status, status_in) = io::pipe()?;
        for inherited in [orders_out.as_fd(), status_in.as_fd()] {
            fcntl(inherited, FcntlArg::F_SETFD(FdFlag::empty()))?;
        }
        let child = Command::new("/proc/self/exe")
            .arg(shim::CONFINE)
            .arg(orders_out.as_raw_fd().to_string())
            .arg(status_in.as_raw_fd().to_string())
            .env_clear()
            .current_dir("/")
            .stdin(Pipe::piped())
            .stdout(Pipe::piped())
            .stderr(Pipe::piped())
            .kill_on_drop(true)
            .spawn()?;
        Ok(Self {
            child,
            orders,
            status,
        })
    }

    /// Tells it where to go; it goes there while the caller does something else.
    ///
    /// # Errors
    /// What the system says.
    pub fn begin(&mut self, namespaces: Option<Entry>) -> io::Result<()> {
        let supervisor = std::process::id();
        let begin = Begin {
            supervisor,
            namespaces,
        };
        tell(&mut self.orders, &begin)
    }

    /// Waits for what it could enter.
    ///
    /// # Errors
    /// [`LaunchError::Step`] where a step before that failed, [`LaunchError::Unconfirmed`] where
    /// it ended without a word or says none.
    pub fn begun(&mut self) -> Result<Begun, LaunchError> {
        let line = self.first_line().map_err(LaunchError::Spawn)?;
        match serde_json::from_slice(&line) {
            Ok(Report::Begun(begun)) => Ok(begun),
            Ok(Report::Failed(failed)) => Err(LaunchError::Step { failed }),
            _ => Err(LaunchError::Unconfirmed(
                "the confining process ended without a word".to_owned(),
            )),
        }
    }

    /// Its number, unless it was waited for.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Its first report. It makes no other before it has its orders.
    fn first_line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        let mut some = [0; 512];
        let limit = PollTimeout::try_from(LIMIT).map_err(io::Error::other)?;
        while !line.ends_with(b"\n") {
            let mut asked = [PollFd::new(self.status.as_fd(), PollFlags::POLLIN)];
            match poll(&mut asked, limit) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                // The end of a child is told by a signal.
                Err(Errno::EINTR) => continue,
                polled => polled?,
            };
            let count = self.status.read(&mut some)?;
            if count == 0 {
                break;
            }
            line.extend(some.iter().take(count));
        }
        Ok(line)
    }

    /// Gives it its orders and reads its status to the end: the exec, or the shim's end.
    async fn order(self, spec: &Spec) -> Result<(Child, Vec<u8>), LaunchError> {
        let Self {
            child,
            mut orders,
            status,
        } = self;
        match tell(&mut orders, spec) {
            // It has ended, and said why.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            other => other.map_err(LaunchError::Spawn)?,
        }
        drop(orders);
        let mut status =
            pipe::Receiver::from_owned_fd(OwnedFd::from(status)).map_err(LaunchError::Spawn)?;
        let mut reports = Vec::new();
        match timeout(LIMIT, status.read_to_end(&mut reports)).await {
            Ok(Ok(_)) => Ok((child, reports)),
            Ok(Err(error)) => Err(end(child, LaunchError::Spawn(error)).await),
            Err(_) => {
                let why = format!(
                    "no word from the confining process in {} s",
                    LIMIT.as_secs()
                );
                Err(end(child, LaunchError::Unconfirmed(why)).await)
            }
        }
    }
}

/// One document of its orders, on a line of its own.
fn tell(orders: &mut PipeWriter, document: &impl serde::Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(document)?;
    line.push(b'\n');
    orders.write_all(&line)
}

/// Ends a child and passes on why.
async fn end(mut child: Child, error: LaunchError) -> LaunchError {
    // It is killed when dropped in any case; waiting leaves no zombie behind.
    let _ = timeout(LIMIT, child.kill()).await;
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
    env: Vec<(String, SecretString)>,
) -> Result<Started, LaunchError> {
    let spec = spec(explanation, env)?;
    // Before it has its orders: all that it starts is in the group too.
    let cgroup = group(explanation, &shim)?;
    let (child, reports) = shim.order(&spec).await?;
    drop(spec);
    match judge(explanation, reports, cgroup.is_some()) {
        Ok(enforced) => started(explanation, child, enforced, cgroup),
        Err(error) => Err(end(child, error).await),
    }
}

/// The control group that the plan asks for, with the shim in it.
fn group(explanation: &Explanation, shim: &Shim) -> Result<Option<Cgroup>, LaunchError> {
    let Some((bounds, pid)) = explanation.lowered.cgroup.as_ref().zip(shim.child.id()) else {
        return Ok(None);
    };
    let made = Cgroup::make(bounds).and_then(|group| group.enter(pid).map(|()| group));
    made.map(Some).map_err(|error| LaunchError::Step {
        failed: Failed {
            step: Step::Limits,
            why: format!("control group: {error}"),
        },
    })
}

fn spec(explanation: &Explanation, env: Vec<(String, SecretString)>) -> Result<Spec, LaunchError> {
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
    })
}

/// The server, watched from now on.
fn started(
    explanation: &Explanation,
    mut child: Child,
    enforced: Enforced,
    cgroup: Option<Cgroup>,
) -> Result<Started, LaunchError> {
    let taken = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let main = child
        .id()
        .and_then(|id| Some((id, i32::try_from(id).ok()?)));
    let ((Some(stdin), Some(stdout), Some(stderr)), Some((main, group))) = (taken, main) else {
        let why = "the server has no pipes".to_owned();
        return Err(LaunchError::Unconfirmed(why));
    };
    let namespaces = explanation.lowered.namespaces.as_ref();
    let in_memory = namespaces.map(|own| own.in_memory.as_slice());
    let watch =
        Watch::begin(&explanation.plan, main, in_memory, cgroup).map_err(LaunchError::Watch)?;
    let low = watch
        .low()
        .map(|(place, free)| format!("{}: {} free", text::path(place), text::size(free)))
        .collect();
    Ok(Started {
        server: Server {
            stdin,
            stdout,
            stderr,
            process: child,
            group: Pid::from_raw(group),
            bounds: Box::new(watch),
        },
        enforced,
        low,
    })
}

/// Whether what the shim said, with the group that it was moved to, is all that the plan asks for.
fn judge(
    explanation: &Explanation,
    reports: Vec<u8>,
    grouped: bool,
) -> Result<Enforced, LaunchError> {
    let mut enforced = None;
    for line in reports
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        match serde_json::from_slice(line) {
            Ok(Report::Enforced(report)) => enforced = Some(report),
            Ok(Report::Failed(failed)) => return Err(LaunchError::Step { failed }),
            Ok(Report::Begun(_)) | Err(_) => {
                return Err(LaunchError::Unconfirmed(
                    "the confining process cannot be understood".to_owned(),
                ));
            }
        }
    }
    let Some(mut enforced) = enforced else {
        return Err(LaunchError::Unconfirmed(
            "the confining process ended without a word".to_owned(),
        ));
    };
    // Made, entered and read back from outside.
    let grouped = grouped.then_some(Mechanism::Cgroup);
    enforced.mechanisms.extend(grouped);
    let missing: Vec<String> = explanation
        .confinement
        .mechanisms
        .iter()
        // What the supervisor itself does is not the shim's to confirm.
        .filter(|mechanism| !mechanism.is_supervisors() && !enforced.mechanisms.contains(mechanism))
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
