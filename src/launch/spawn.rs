//! Starts the shim, tells it what to do, and hears what the kernel took.
#![expect(
    clippy::disallowed_methods,
    reason = "the one place that starts a server"
)]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::Stdio as Pipe;
use std::time::Duration;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::Pid;
use secrecy::{ExposeSecret, SecretString};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::{Explanation, LaunchError};
use crate::confine::Mechanism;
use crate::confine::shim;
use crate::confine::spec::{Enforced, Report, Spec};
use crate::plan::held::Held;
use crate::relay::Server;

/// How long the shim may take from its start to the exec; it takes milliseconds.
const LIMIT: Duration = Duration::from_secs(30);

/// Starts the server of a permitted explanation with these variables.
///
/// # Errors
/// [`LaunchError::Step`] where a step failed, [`LaunchError::Unconfirmed`] where less than the
/// plan asks for is in force or the shim ended without a word, [`LaunchError::Spawn`] where it
/// could not be started. In each case no process of it is left.
pub async fn spawn(
    explanation: &Explanation,
    env: Vec<(String, SecretString)>,
) -> Result<(Server, Enforced), LaunchError> {
    let dir = explanation.held.as_ref().map(Held::descriptor).transpose();
    let dir = dir.map_err(LaunchError::Spawn)?;
    let spec = Spec {
        supervisor: std::process::id(),
        exec: explanation.plan.exec.clone(),
        argv: explanation.plan.argv.clone(),
        env: env
            .iter()
            .map(|(name, value)| (name.clone(), value.expose_secret().to_owned()))
            .collect(),
        cwd: explanation.plan.cwd.clone(),
        dir: match (&explanation.plan.dir, &dir) {
            (Some(path), Some(held)) => Some((path.clone(), held.as_raw_fd())),
            _ => None,
        },
        unchanged: explanation.unchanged.clone(),
        rules: explanation.lowered.clone(),
        keyring: explanation
            .confinement
            .mechanisms
            .contains(&Mechanism::Keyring),
    };
    let mut shim = Shim::start(&spec, dir.as_ref()).map_err(LaunchError::Spawn)?;
    let heard = timeout(LIMIT, shim.hear()).await;
    let reports = match heard {
        Ok(Ok(reports)) => reports,
        Ok(Err(error)) => return Err(shim.end(LaunchError::Spawn(error)).await),
        Err(_) => {
            let error = LaunchError::Unconfirmed(format!(
                "no word from the confining process in {} s",
                LIMIT.as_secs()
            ));
            return Err(shim.end(error).await);
        }
    };
    match judge(explanation, reports) {
        Ok(enforced) => Ok((shim.into_server()?, enforced)),
        Err(error) => Err(shim.end(error).await),
    }
}

/// A started shim and our end of its status pipe.
struct Shim {
    child: Child,
    status: pipe::Receiver,
}

impl Shim {
    /// Executes this very program anew, with an empty environment and the spec in a file in
    /// memory: it holds secrets, and each stage reads it for itself. `dir` it inherits too.
    fn start(spec: &Spec, dir: Option<&OwnedFd>) -> io::Result<Self> {
        let mut text = File::from(memfd_create(c"spec", MFdFlags::MFD_CLOEXEC)?);
        serde_json::to_writer(io::BufWriter::new(&mut text), spec)?;
        let (status_out, status_in) = io::pipe()?;
        let held = dir.map(AsFd::as_fd);
        for inherited in [text.as_fd(), status_in.as_fd()].into_iter().chain(held) {
            fcntl(inherited, FcntlArg::F_SETFD(FdFlag::empty()))?;
        }
        let child = Command::new("/proc/self/exe")
            .arg(shim::CONFINE)
            .arg(text.as_raw_fd().to_string())
            .arg(status_in.as_raw_fd().to_string())
            .env_clear()
            .current_dir("/")
            .stdin(Pipe::piped())
            .stdout(Pipe::piped())
            .stderr(Pipe::piped())
            .kill_on_drop(true)
            .spawn()?;
        let status = pipe::Receiver::from_owned_fd(status_out.into())?;
        Ok(Self { child, status })
    }

    /// Reads the status to its end: the exec, or the shim's end.
    async fn hear(&mut self) -> io::Result<Vec<u8>> {
        let mut reports = Vec::new();
        self.status.read_to_end(&mut reports).await?;
        Ok(reports)
    }

    /// Ends it and passes on why.
    async fn end(mut self, error: LaunchError) -> LaunchError {
        // It is killed when dropped in any case; waiting leaves no zombie behind.
        let _ = timeout(LIMIT, self.child.kill()).await;
        error
    }

    fn into_server(mut self) -> Result<Server, LaunchError> {
        let taken = (
            self.child.stdin.take(),
            self.child.stdout.take(),
            self.child.stderr.take(),
        );
        let group = self.child.id().and_then(|id| i32::try_from(id).ok());
        match (taken, group) {
            ((Some(stdin), Some(stdout), Some(stderr)), Some(group)) => Ok(Server {
                stdin,
                stdout,
                stderr,
                process: self.child,
                group: Pid::from_raw(group),
            }),
            _ => Err(LaunchError::Unconfirmed(
                "the server has no pipes".to_owned(),
            )),
        }
    }
}

/// Whether what the shim said is all that the plan asks for.
fn judge(explanation: &Explanation, reports: Vec<u8>) -> Result<Enforced, LaunchError> {
    let mut enforced = None;
    for line in reports
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        match serde_json::from_slice(line) {
            Ok(Report::Enforced(report)) => enforced = Some(report),
            Ok(Report::Failed(failed)) => return Err(LaunchError::Step { failed }),
            Err(_) => {
                return Err(LaunchError::Unconfirmed(
                    "the confining process cannot be understood".to_owned(),
                ));
            }
        }
    }
    let Some(enforced) = enforced else {
        return Err(LaunchError::Unconfirmed(
            "the confining process ended without a word".to_owned(),
        ));
    };
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
