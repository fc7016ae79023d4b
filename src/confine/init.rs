//! The first process of the server's process namespace: this program executed anew as `__init`.
//!
//! It mounts what only a process of the namespace can mount, enters the new root, gives up every
//! capability, and starts the last stage, which becomes the server. From then on it reaps,
//! passes signals on, and ends when the server's main process ends: the kernel then ends all
//! others in the namespace, whatever session they are in.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid, waitpid};
use nix::unistd::Pid;

/// What is passed on to every process of the namespace.
const PASSED: [Signal; 6] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
];

/// Blocks what [`tend`] waits for; a process that is started after this must unblock it.
///
/// # Errors
/// What the system says.
pub fn block() -> nix::Result<SigSet> {
    let mut set = SigSet::from_iter(PASSED);
    set.add(Signal::SIGCHLD);
    set.thread_block()?;
    Ok(set)
}

/// Reaps and passes signals on until the server's main process ends; its exit code, 128 and the
/// number for a signal.
///
/// # Errors
/// What the system says.
pub fn tend(main: &mut Child, signals: &SigSet) -> io::Result<u8> {
    loop {
        match signals.wait()? {
            Signal::SIGCHLD => {
                if let Some(status) = reap(main)? {
                    let code = status
                        .code()
                        .or_else(|| Some(status.signal()?.saturating_add(128)));
                    return Ok(code
                        .and_then(|code| u8::try_from(code).ok())
                        .unwrap_or(u8::MAX));
                }
            }
            // To every process but this one; there may be none left.
            signal => drop(kill(Pid::from_raw(-1), signal)),
        }
    }
}

/// Reaps all that ended; how the main process did, if it is among them. Each is looked at before
/// it is reaped: the main one belongs to its handle.
fn reap(main: &mut Child) -> io::Result<Option<ExitStatus>> {
    let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    loop {
        let ended = match waitid(Id::All, look) {
            Ok(status) => status.pid(),
            Err(Errno::ECHILD) => None,
            Err(Errno::EINTR) => continue,
            Err(error) => return Err(error.into()),
        };
        match ended {
            None => return Ok(None),
            Some(pid) if u32::try_from(pid.as_raw()) == Ok(main.id()) => return main.try_wait(),
            Some(pid) => drop(waitpid(pid, Some(WaitPidFlag::WNOHANG))),
        }
    }
}
