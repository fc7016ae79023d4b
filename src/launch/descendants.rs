//! Ends what a server leaves behind.
//!
//! For a supervisor that owns its process (`supervisor run`): as a subreaper it adopts every
//! descendant of the server whose own parent ended, sessions of their own included
//! (`PR_SET_CHILD_SUBREAPER`, `prctl(2)`), so that at the end every child it has is the
//! server's. An embedding host has children of its own and must not call this.
#![expect(
    clippy::disallowed_methods,
    reason = "reads /proc for the children of this process"
)]

use std::fs;
use std::io;
use std::thread::sleep;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getpid};

/// How often the children are looked at, and how long between: half a second in all.
const ROUNDS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(10);

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
/// Where `/proc` cannot be read, or a child is left after half a second.
pub fn sweep() -> io::Result<()> {
    for round in 0..ROUNDS {
        let children = children()?;
        if children.is_empty() {
            return Ok(());
        }
        if round > 0 {
            sleep(PAUSE);
        }
        for child in &children {
            // Gone meanwhile is as good.
            let _ = kill(*child, Signal::SIGKILL);
        }
        for child in &children {
            let _ = waitpid(*child, Some(WaitPidFlag::WNOHANG));
        }
    }
    Err(io::Error::other("a descendant of the server does not end"))
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
    let me = getpid();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // A process that ended meanwhile has no file.
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
            continue;
        };
        if parent(&stat) == Some(me) {
            found.push(Pid::from_raw(pid));
        }
    }
    Ok(found)
}

/// The parent in a line of `/proc/PID/stat`: the second word after the name, which may itself
/// hold spaces and brackets.
fn parent(stat: &str) -> Option<Pid> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace()
        .nth(1)?
        .parse()
        .ok()
        .map(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_read_past_a_hostile_name() {
        assert_eq!(parent("12 (a) S 1) R 77 1 1"), Some(Pid::from_raw(77)));
        assert_eq!(parent("12"), None);
    }
}
