//! Ends what a server leaves behind.
//!
//! For a supervisor that owns its process (`supervisor run`): as a subreaper it adopts every
//! descendant of the server whose own parent ended, sessions of their own included
//! (`PR_SET_CHILD_SUBREAPER`, `prctl(2)`), so that at the end every child it has is the
//! server's. An embedding host has children of its own and must not call this.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use super::processes;

/// How long children are looked for and killed, and how long between two looks.
const LIMIT: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(5);

/// Adopts orphans from here on.
///
/// # Errors
/// What the system says.
pub fn adopt() -> io::Result<()> {
    Ok(prctl::set_child_subreaper(true)?)
}

/// Kills every child this process has, and theirs as they come up to it, until none is left.
///
/// # Errors
/// Where `/proc` cannot be read, or children are left after half a second: processes that
/// multiply in sessions of their own faster than they are found.
pub fn sweep() -> io::Result<()> {
    let until = Instant::now() + LIMIT;
    loop {
        let children = children()?;
        if children.is_empty() {
            return Ok(());
        }
        for child in &children {
            // Gone meanwhile is as good.
            let _ = kill(*child, Signal::SIGKILL);
        }
        for child in &children {
            let _ = waitpid(*child, Some(WaitPidFlag::WNOHANG));
        }
        if Instant::now() > until {
            return Err(io::Error::other("descendants of the server do not end"));
        }
        sleep(PAUSE);
    }
}

/// The children of this process: waited for cheaply first, since there are hardly ever any.
fn children() -> io::Result<Vec<Pid>> {
    // ECHILD: there is none, and /proc need not be read.
    let any = nix::sys::wait::waitid(
        nix::sys::wait::Id::All,
        WaitPidFlag::WNOHANG | WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT,
    );
    if any == Err(Errno::ECHILD) {
        return Ok(Vec::new());
    }
    let found = processes::children(std::process::id())?;
    Ok(found
        .into_iter()
        .filter_map(|id| i32::try_from(id).ok())
        .map(Pid::from_raw)
        .collect())
}
