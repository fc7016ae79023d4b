//! Ends what a server leaves behind.
//!
//! For a supervisor that owns its process (`supervisor run`): as a subreaper it adopts every
//! descendant of the server whose own parent ended, sessions of their own included
//! (`PR_SET_CHILD_SUBREAPER`, `prctl(2)`), so that at the end every child it has is the
//! server's. An embedding host has children of its own and must not sweep.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::processes;

/// How long it may take while a relay waits for it, which does nothing else meanwhile: its end is
/// to come within 2 s, of which the server itself may take 1.5.
pub const AT_ONCE: Duration = Duration::from_millis(250);
/// How long it may take where nobody is answered late. How long a killed process takes to end is a
/// matter of the machine's load, and of what the kernel has to take down with it: this is for one
/// that the kernel itself does not let go, and for those that multiply faster than they are killed.
pub const AT_LEISURE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(5);
/// So many are named of those that are left.
const SHOWN: usize = 16;

/// Adopts orphans from here on: what a server leaves, and the first process of its namespaces when
/// the one that made them ends.
///
/// # Errors
/// What the system says.
pub fn adopt() -> io::Result<()> {
    Ok(prctl::set_child_subreaper(true)?)
}

/// Kills every child this process has, and theirs as they come up to it, until none is left or the
/// time is over; without a pause while there are new ones, which may be multiplying.
///
/// # Errors
/// Where `/proc` cannot be read, or where children are left when the time is over.
pub fn sweep(limit: Duration) -> io::Result<()> {
    until_none(limit, || {
        let children = children()?;
        for child in &children {
            // Gone meanwhile is as good.
            let _ = kill(*child, Signal::SIGKILL);
        }
        let ended = !children.is_empty() && reap()?;
        Ok((children, ended))
    })
}

/// Again and again, until a round finds no child; it says which there were, and whether any ended.
fn until_none(
    limit: Duration,
    mut round: impl FnMut() -> io::Result<(Vec<Pid>, bool)>,
) -> io::Result<()> {
    let begun = Instant::now();
    let mut before = Vec::new();
    loop {
        let (children, ended) = round()?;
        if children.is_empty() {
            return Ok(());
        }
        if begun.elapsed() > limit {
            return Err(left(&children, limit));
        }
        if !ended && children.iter().all(|child| before.contains(child)) {
            sleep(PAUSE);
        }
        before = children;
    }
}

/// Takes the last word of every child that has ended; whether there was one.
fn reap() -> io::Result<bool> {
    let mut any = false;
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return Ok(any),
            Ok(_) => any = true,
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Killed, and yet there, or others in their place.
fn left(children: &[Pid], limit: Duration) -> io::Error {
    let shown = children.iter().take(SHOWN).map(ToString::to_string);
    let numbers: Vec<String> = shown.collect();
    let more = match children.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    io::Error::other(format!(
        "what the server left is killed, and yet not gone in {} s: ps -o stat,wchan -p {}{more}",
        limit.as_secs_f32(),
        numbers.join(","),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_multiplies_is_given_up_in_time() {
        let mut next = 0;
        let error = until_none(Duration::from_millis(20), || {
            next += 1;
            Ok((vec![Pid::from_raw(next)], true))
        });
        let error = error.unwrap_err().to_string();
        assert!(
            error.ends_with(&format!("ps -o stat,wchan -p {next}")),
            "{error}"
        );
    }

    #[test]
    fn of_many_a_few_are_named() {
        let many: Vec<Pid> = (1..=1_600).map(Pid::from_raw).collect();
        let error = left(&many, AT_ONCE).to_string();
        assert!(error.ends_with(",15,16 (and 1584 more)"), "{error}");
    }

    #[test]
    fn what_goes_is_waited_for() {
        let mut left = 3;
        let swept = until_none(AT_LEISURE, || {
            left -= 1;
            Ok((vec![Pid::from_raw(7); left], false))
        });
        assert!(swept.is_ok());
    }
}
