//! Ends what a server leaves behind.
//!
//! For a supervisor that owns its process (`supervisor run`): as a subreaper it adopts every
//! descendant of the server whose own parent ended, sessions of their own included
//! (`PR_SET_CHILD_SUBREAPER`, `prctl(2)`), so that at the end every child it has is the
//! server's. An embedding host has children of its own and must not sweep.

use std::collections::BTreeSet;
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::processes;

/// How long a killed child is waited for when none ends and none comes up. How long one takes to
/// end is a matter of the machine's load, and of what the kernel has to take down with it: this is
/// for a process that the kernel itself does not let go.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(5);

/// Adopts orphans from here on: what a server leaves, and the first process of its namespaces when
/// the one that made them ends.
///
/// # Errors
/// What the system says.
pub fn adopt() -> io::Result<()> {
    Ok(prctl::set_child_subreaper(true)?)
}

/// Kills every child this process has, and theirs as they come up to it, until none is left.
/// Goes on as long as that leads anywhere; without a pause while there are new ones, which may be
/// multiplying.
///
/// # Errors
/// Where `/proc` cannot be read, or where killed children are left of which none has ended for
/// [`PATIENCE`].
pub fn sweep() -> io::Result<()> {
    let mut killed = BTreeSet::new();
    let mut last = Instant::now();
    loop {
        let children = children()?;
        if children.is_empty() {
            return Ok(());
        }
        let mut moved = false;
        for child in &children {
            // Gone meanwhile is as good.
            let _ = kill(*child, Signal::SIGKILL);
            moved |= killed.insert(*child);
        }
        let mut ended = false;
        for child in &children {
            if waitpid(*child, Some(WaitPidFlag::WNOHANG)) != Ok(WaitStatus::StillAlive) {
                // Its number may be another's from here on.
                ended |= killed.remove(child);
            }
        }
        if moved || ended {
            last = Instant::now();
        } else if last.elapsed() > PATIENCE {
            return Err(stuck(&children));
        }
        if !moved {
            sleep(PAUSE);
        }
    }
}

/// Killed, so nothing of it runs any more, and yet there.
fn stuck(children: &[Pid]) -> io::Error {
    let numbers: Vec<String> = children.iter().map(ToString::to_string).collect();
    io::Error::other(format!(
        "killed, but the kernel has not let go of them in {} s: process {}",
        PATIENCE.as_secs(),
        numbers.join(", ")
    ))
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
