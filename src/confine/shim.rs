//! The process that becomes the server: this program executed anew as `__confine`.
//!
//! It starts with an empty environment and takes its orders over a pipe, so that nothing the
//! server is given acts on it. First it is told as whom and into which namespaces it goes, and
//! enters them while the supervisor still reads what the plan is made of; then it waits. Where
//! the supervisor asks no more than whether that works, it ends. Each step below is one function
//! of `linux::apply` or `linux::mount`; the first that fails is reported by name over the status
//! pipe, and the server does not start. At the exec the status pipe closes.
//!
//! With namespaces it forks twice: the first child is process 1 of the server's process
//! namespace (`init`), and that one's child becomes the server (`exec`). Without, it goes
//! straight on to the steps of the last. It has one thread, which `safe_fork` makes sure of.
#![expect(
    clippy::disallowed_methods,
    reason = "the shim opens its orders and the directory it is told to"
)]

use std::ffi::{NulError, OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use nix::libc;
use nix::sys::signal::SigSet;
use nix::unistd::close;
use serde::de::DeserializeOwned;

use super::linux::apply::{self, ApplyError};
use super::linux::lend::Lent;
use super::linux::namespace::Namespaces;
use super::linux::seccomp::SeccompError;
use super::linux::{entry, mount};
use super::spec::{Begin, Begun, Failed, Inode, Report, Spec, Step};
use super::{exec, init};
use crate::error::FAILED;

/// The first argument of the process that becomes a server.
pub const CONFINE: &str = "__confine";

/// Runs the shim; returns where no server was started, or when it ended.
///
/// `words` are [`CONFINE`] and the numbers of the descriptors of the orders and the status pipe.
pub fn main(words: &[OsString]) -> ExitCode {
    let Some((orders, mut status)) = words.get(1).zip(words.get(2)).and_then(open) else {
        return ExitCode::from(FAILED);
    };
    match confine(BufReader::new(orders), &mut status) {
        Ok(code) => ExitCode::from(code),
        Err(failed) => {
            // The supervisor may be gone; there is nobody else to tell.
            let _ = status.report(&Report::Failed(failed));
            ExitCode::from(FAILED)
        }
    }
}

/// The orders and the status pipe, opened anew through `/proc`: a descriptor number cannot be
/// made an owned file without unsafe code. The inherited ones are closed, since a process that
/// goes on after the exec would keep the status pipe open.
fn open((orders, status): (&OsString, &OsString)) -> Option<(File, Status)> {
    let (orders, status) = (number(orders)?, number(status)?);
    let own = |number: i32| format!("/proc/self/fd/{number}");
    let opened = File::open(own(orders)).ok()?;
    let pipe = OpenOptions::new().write(true).open(own(status)).ok()?;
    close(orders).ok()?;
    close(status).ok()?;
    Some((opened, Status(Some(pipe))))
}

fn number(word: &OsStr) -> Option<i32> {
    word.to_str()?.parse().ok()
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

    /// Closes it in a process that only waits from here on: its end is the exec.
    pub(super) fn let_go(&mut self) {
        self.0 = None;
    }
}

/// The next document of the orders; `None` where there is none any more.
fn next<T: DeserializeOwned>(orders: &mut BufReader<File>) -> Result<Option<T>, Failed> {
    let mut line = Vec::new();
    orders.read_until(b'\n', &mut line).at(Step::Spec)?;
    if line.is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(&line).map(Some).at(Step::Spec)
}

/// The first process.
fn confine(mut orders: BufReader<File>, status: &mut Status) -> Result<u8, Failed> {
    // Before anything blocks: the supervisor may be killed now.
    apply::close_descriptors_at_exec();
    let Some(begin) = next::<Begin>(&mut orders)? else {
        return Ok(FAILED);
    };
    apply::die_with(begin.supervisor).at(Step::ParentDeath)?;
    apply::new_session().at(Step::Session)?;
    let keyring = apply::new_keyring().at(Step::Keyring)?;
    apply::drop_groups().at(Step::Capabilities)?;
    let entered = begin.namespaces.as_ref().map(entry::enter).transpose();
    let (refused, lent, kept) = match entered {
        Ok(entered) => {
            let (lent, kept) = entered.unwrap_or_default();
            (None, lent, kept)
        }
        Err(error) => (Some(error.to_string()), Vec::new(), Vec::new()),
    };
    let over = refused.is_some();
    let begun = Begun {
        keyring,
        refused,
        kept,
    };
    status.report(&Report::Begun(begun)).at(Step::Stage)?;
    if over {
        return Ok(FAILED);
    }
    let Some(spec) = next::<Spec>(&mut orders)? else {
        // It was asked for no more than this.
        return Ok(0);
    };
    drop(orders);
    apply::limit(&spec.rules.limits).at(Step::Limits)?;
    match spec.rules.namespaces.clone() {
        None => exec::become_server(&spec, status).map(|never| match never {}),
        Some(namespaces) => begin_init(spec, &namespaces, lent, status),
    }
}

/// Puts the new root together, and starts the first process in it.
fn begin_init(
    spec: Spec,
    namespaces: &Namespaces,
    lent: Vec<Lent>,
    status: &mut Status,
) -> Result<u8, Failed> {
    apply::limit_processes(namespaces.processes).at(Step::Limits)?;
    // Not before the maps: they belong to root while a process is not dumpable.
    apply::not_dumpable().at(Step::Namespaces)?;
    mount::build(namespaces, lent, spec.dir.as_ref()).at(Step::Mounts)?;
    let (lifeline, held) = io::pipe().at(Step::Stage)?;
    // What is sent to the group is for the next process, which passes it on.
    SigSet::all().thread_set_mask().at(Step::Signals)?;
    let Some(child) = safe_fork::fork().at(Step::Stage)? else {
        drop(held);
        return init::init(spec, namespaces, status, &lifeline);
    };
    status.let_go();
    drop(lifeline);
    drop(spec);
    apply::keep_right_to_kill().at(Step::Capabilities)?;
    apply::let_go_of_pipes().at(Step::Stage)?;
    let ended = child.join().at(Step::Stage)?;
    drop(held);
    Ok(ended
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(FAILED))
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
        const ROOMS: [&str; 4] = ["apply", "entry", "mount", "seccomp"];
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
