//! The process that becomes the server.
//!
//! The first one of a run is forked as the very first act of the program, when nothing was read
//! yet ([`forked`]); any other is this program executed anew as `__confine` ([`main`]). Either way
//! its environment is empty and nothing of what the supervisor reads is in its memory, so that
//! nothing the server is given, and nothing the caller has, is in it or acts on it. Its orders
//! come by a socket, it reports on a pipe; the server's own three pipes come with the first order.
//! Whatever it is for, it enters its namespaces at once and puts in place what every server's root
//! has, while the supervisor still reads what the plan is made of; then it waits for its orders.
//! Where the supervisor asks no more than whether that works, it ends. Each step below is one
//! function of `linux::apply` or `linux::mount`; the first that fails is reported by name, and the
//! server does not start. At the exec the status pipe closes.
//!
//! With namespaces it forks twice: the first child is process 1 of the server's process
//! namespace (`init`), which the supervisor adopts when this one ends, and that one's child becomes
//! the server (`exec`). Without, it goes straight on to the steps of the last.
#![expect(
    clippy::disallowed_methods,
    reason = "the shim opens the directory it is told to"
)]

use std::ffi::NulError;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::yield_now;

use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::SigSet;
use nix::unistd::chdir;

use super::init::Entered;
use super::linux::apply::{self, ApplyError};
use super::linux::seccomp::SeccompError;
use super::linux::{capabilities, entry};
use super::orders::Taker;
use super::spec::{Begin, Begun, Failed, Inode, Place, Report, Spec, Start, Step};
use super::{exec, init};
use crate::error::FAILED;

/// The first argument of the process that becomes a server.
pub const CONFINE: &str = "__confine";

/// Runs the shim in a process executed for it: the orders come by standard input, the reports go
/// to standard output. Its exit code, where no server was started or when it ended.
#[must_use]
pub fn main() -> ExitCode {
    let Ok((orders, status)) = ends() else {
        // Nobody is there to be told.
        return ExitCode::from(FAILED);
    };
    told(Status(Some(status)), |status| begin(orders, status))
}

/// The same in a process forked from one that has read nothing yet.
#[must_use]
pub fn forked(orders: Taker, status: OwnedFd) -> ExitCode {
    let status = Status(Some(File::from(status)));
    told(status, |status| {
        apply::forget_environment().at(Step::Environment)?;
        // As where it is executed: it keeps no directory of the caller's in use.
        chdir("/").at(Step::Environment)?;
        begin(orders, status)
    })
}

/// Does it, and reports where it failed.
fn told(mut status: Status, does: impl FnOnce(&mut Status) -> Result<u8, Failed>) -> ExitCode {
    ExitCode::from(does(&mut status).unwrap_or_else(|failed| {
        // The supervisor may be gone; there is nobody else to tell.
        let _ = status.report(&Report::Failed(failed));
        FAILED
    }))
}

/// The orders and the status pipe, which close at an exec.
fn ends() -> io::Result<(Taker, File)> {
    let orders = io::stdin().as_fd().try_clone_to_owned()?;
    let status = io::stdout().as_fd().try_clone_to_owned()?;
    Ok((Taker::new(orders), File::from(status)))
}

/// Takes the server's pipes in place of its own.
fn begin(mut orders: Taker, status: &mut Status) -> Result<u8, Failed> {
    let Some(start) = orders.next::<Start>().at(Step::Spec)? else {
        return Ok(FAILED);
    };
    let mut pipe = || {
        let missing = || failed(Step::Descriptors, "the server's pipes did not come");
        orders.descriptor().ok_or_else(missing)
    };
    let (stdin, stdout, stderr, word) = (pipe()?, pipe()?, pipe()?, pipe()?);
    apply::take_pipes(&stdin, &stdout, &stderr).at(Step::Descriptors)?;
    drop((stdin, stdout, stderr));
    confine(orders, status, start, word)
}

/// Our end of the status pipe.
pub(super) struct Status(Option<File>);

impl Status {
    pub(super) fn report(&mut self, report: &Report) -> io::Result<()> {
        let mut line = serde_json::to_vec(report)?;
        line.push(b'\n');
        match &mut self.0 {
            Some(pipe) => pipe.write_all(&line),
            None => Ok(()),
        }
    }

    /// Whether the supervisor, which alone has the other end, still holds it.
    pub(super) fn is_held(&self) -> io::Result<bool> {
        let Some(pipe) = &self.0 else {
            return Ok(false);
        };
        let mut asked = [PollFd::new(pipe.as_fd(), PollFlags::empty())];
        poll(&mut asked, PollTimeout::ZERO)?;
        let said = asked.first().and_then(PollFd::revents);
        Ok(said.is_some_and(|said| !said.contains(PollFlags::POLLERR)))
    }

    /// Closes it in a process that only waits from here on: its end is the exec.
    pub(super) fn let_go(&mut self) {
        self.0 = None;
    }
}

/// The first process.
fn confine(
    mut orders: Taker,
    status: &mut Status,
    start: Start,
    word: OwnedFd,
) -> Result<u8, Failed> {
    // Forked, it has what the caller started the supervisor with.
    apply::own_state().at(Step::Stage)?;
    // Before anything blocks: the supervisor may be killed now.
    apply::own_name().at(Step::Stage)?;
    apply::close_descriptors_at_exec();
    apply::die_with(start.supervisor).at(Step::ParentDeath)?;
    apply::new_session().at(Step::Session)?;
    let keyring = apply::new_keyring().at(Step::Keyring)?;
    capabilities::drop_groups().at(Step::Capabilities)?;
    match start.place {
        Place::Inside => inside(orders, status, (keyring, start.watched), word),
        Place::Outside => {
            let begun = Begun {
                keyring,
                refused: None,
                first: false,
            };
            status.report(&Report::Begun(begun)).at(Step::Stage)?;
            if orders.next::<Begin>().at(Step::Spec)?.is_none() {
                return Ok(0);
            }
            match orders.next::<Spec>().at(Step::Spec)? {
                Some(spec) => exec::outside(&spec, orders, status),
                None => Ok(0),
            }
        }
    }
}

/// Enters namespaces, and starts the first process in them.
fn inside(
    orders: Taker,
    status: &mut Status,
    (keyring, watched): (bool, bool),
    word: OwnedFd,
) -> Result<u8, Failed> {
    let own = match entry::enter() {
        Ok(own) => own,
        Err(error) => {
            let begun = Begun {
                keyring,
                refused: Some(error.to_string()),
                first: false,
            };
            let report = Report::Begun(begun);
            return status.report(&report).at(Step::Stage).map(|()| FAILED);
        }
    };
    // What is sent to the group is for the next process, which passes it on.
    SigSet::all().thread_set_mask().at(Step::Signals)?;
    let Some(child) = safe_fork::fork().at(Step::Stage)? else {
        let entered = Entered {
            own,
            keyring,
            watched,
        };
        return init::init(entered, orders, status, word);
    };
    let first = Report::First(child.pid());
    status.report(&first).at(Step::Stage)?;
    // That one has most to do: this one's end need not come in between where there are few processors.
    yield_now();
    // The supervisor adopts the first process, and waits for that before it gives the orders.
    Ok(0)
}

/// The directory at a path, which is the one that was checked, or none.
pub(super) fn hold_dir((path, checked): &(PathBuf, Inode)) -> io::Result<File> {
    let held = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW)
        .open(path)?;
    let found = held.metadata()?;
    let found = Inode {
        dev: found.dev(),
        ino: found.ino(),
    };
    if found == *checked {
        Ok(held)
    } else {
        Err(not_that(path))
    }
}

fn not_that(path: &Path) -> io::Error {
    let path = path.display();
    io::Error::other(format!("{path} is not the directory that was checked"))
}

pub(super) fn failed(step: Step, why: &str) -> Failed {
    Failed {
        step,
        why: why.to_owned(),
    }
}

/// Names the step an error belongs to.
pub(super) trait At<T> {
    fn at(self, step: Step) -> Result<T, Failed>;
}

macro_rules! at {
    ($($error:ty),*) => {
        $(impl<T> At<T> for Result<T, $error> {
            fn at(self, step: Step) -> Result<T, Failed> {
                self.map_err(|error| failed(step, &error.to_string()))
            }
        })*
    };
}

at!(
    ApplyError,
    SeccompError,
    nix::Error,
    io::Error,
    serde_json::Error,
    NulError
);

#[cfg(test)]
mod tests {
    /// The steps in a text, `room::function`, in their order.
    fn steps(text: &str, rooms: &[&str], end: &[char]) -> Vec<String> {
        let mut found: Vec<(usize, String)> = Vec::new();
        for room in rooms {
            for (at, _) in text.match_indices(&format!("{room}::")) {
                let rest = text.get(at..).unwrap();
                let name = |c: char| c.is_ascii_lowercase() || c == '_' || c == ':';
                let length = rest.find(|c| !name(c)).unwrap_or(rest.len());
                let (step, after) = rest.split_at(length);
                if after.starts_with(end) {
                    found.push((at, step.to_owned()));
                }
            }
        }
        found.sort();
        found.into_iter().map(|(_, step)| step).collect()
    }

    #[test]
    fn the_page_names_the_steps_of_the_code_in_their_order() {
        const ROOMS: [&str; 6] = [
            "apply",
            "capabilities",
            "entry",
            "mount",
            "ruleset",
            "seccomp",
        ];
        let sources = [
            include_str!("shim.rs"),
            include_str!("init.rs"),
            include_str!("exec.rs"),
        ];
        // Called by the step that it belongs to.
        let parts = ["apply::stat"];
        let code: Vec<String> = sources
            .iter()
            .map(|source| source.split("#[cfg(test)]").next().unwrap())
            .flat_map(|source| steps(source, &ROOMS, &['(', ')']))
            .filter(|step| !parts.contains(&step.as_str()))
            .collect();
        let page = include_str!("../../docs/confinement-linux.md");
        let rows: String = page
            .lines()
            .filter_map(|line| line.strip_prefix("| `"))
            .map(|row| format!("{}\n", row.split('|').next().unwrap()))
            .collect();
        assert_eq!(steps(&rows, &ROOMS, &['`']), code);
    }
}
