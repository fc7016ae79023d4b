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
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getpid};

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
    match listed() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => searched(),
        other => other,
    }
}

/// As the kernel lists them (`CONFIG_PROC_CHILDREN`): cheap where there are thousands.
fn listed() -> io::Result<Vec<Pid>> {
    let mut found = Vec::new();
    for task in fs::read_dir("/proc/self/task")? {
        let text = fs::read_to_string(task?.path().join("children"))?;
        let pids = text.split_whitespace().filter_map(|pid| pid.parse().ok());
        found.extend(pids.map(Pid::from_raw));
    }
    Ok(found)
}

/// Among all processes, by their parent.
fn searched() -> io::Result<Vec<Pid>> {
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
    #[expect(clippy::disallowed_methods, reason = "a child to find")]
    fn both_ways_find_a_child() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
        assert!(searched().unwrap().contains(&pid));
        // A kernel without the list is what `searched` is for.
        assert!(listed().map_or(true, |found| found.contains(&pid)));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn the_parent_is_read_past_a_hostile_name() {
        assert_eq!(parent("12 (a) S 1) R 77 1 1"), Some(Pid::from_raw(77)));
        assert_eq!(parent("12"), None);
    }
}
