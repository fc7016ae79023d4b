//! The processes that become the server: this program executed anew, once for each stage.
//!
//! Each is single-threaded, starts with an empty environment, and takes its orders (the server's
//! variables among them) from a file in memory that it opens through its descriptor, so that
//! nothing the server is given acts on it. Each step below is one function of `linux::apply` or
//! `linux::mount`; the first that fails is reported by name over the status pipe, and the server
//! does not start. At the exec the status pipe closes.
//!
//! With namespaces there are three: `__confine` makes them, `__init` is the first process in
//! them, `__exec` becomes the server. Without, `__confine` goes straight on to the steps of the
//! last.
#![expect(
    clippy::disallowed_methods,
    reason = "the shim opens what it is told to execute and starts its next stage"
)]

use std::convert::Infallible;
use std::ffi::{CString, NulError, OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode};

use nix::fcntl::{AtFlags, FcntlArg, FdFlag, fcntl};
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::SigSet;
use nix::unistd::{chdir, close, execveat, fchdir};

use super::init as first;
use super::linux::apply::{self, ApplyError};
use super::linux::kernel;
use super::linux::mount;
use super::linux::namespace::Namespaces;
use super::linux::seccomp::{self, SeccompError};
use super::spec::{Enforced, Failed, Report, Spec, Step};
use crate::error::FAILED;
use crate::plan::program::Stat;

/// The first arguments of the processes on the way to a server, in their order, and of the one
/// that tries whether namespaces can be had.
pub const ARGUMENTS: [&str; 4] = [CONFINE, INIT, EXEC, kernel::PROBE];
/// What the supervisor starts: session, limits, namespaces, mounts.
pub const CONFINE: &str = "__confine";
/// The first process of the server's process namespace.
const INIT: &str = "__init";
/// What becomes the server: Landlock, filters, exec.
const EXEC: &str = "__exec";

/// Runs a stage; returns where the server did not start, or, but for the last, when it ended.
///
/// `words` are the stage and the numbers of the descriptors of the spec, of the status pipe and,
/// for the second stage, of the lifeline.
pub fn main(words: &[OsString]) -> ExitCode {
    if words.first().is_some_and(|word| word == kernel::PROBE) {
        return probe();
    }
    let Some((spec, mut status)) = words.get(1).zip(words.get(2)).and_then(open) else {
        return ExitCode::from(FAILED);
    };
    let stage = words
        .first()
        .map(OsString::as_os_str)
        .and_then(OsStr::to_str);
    let done = match stage {
        Some(CONFINE) => confine(spec, &mut status),
        Some(INIT) => init(spec, &mut status, words.get(3)),
        Some(EXEC) => become_server(spec, &mut status).map(|never| match never {}),
        _ => return ExitCode::from(FAILED),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failed) => {
            // The supervisor may be gone; there is nobody else to tell.
            let _ = status.report(&Report::Failed(failed));
            ExitCode::from(FAILED)
        }
    }
}

/// Tries whether namespaces can be had, and says what refused.
fn probe() -> ExitCode {
    match kernel::probe() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stdout(), "{error}");
            ExitCode::from(FAILED)
        }
    }
}

/// The spec and the status pipe, opened anew through `/proc`: a descriptor number cannot be made
/// an owned file without unsafe code. The inherited ones are closed, since a stage that goes on
/// after the exec would keep the status pipe open.
fn open((spec, status): (&OsString, &OsString)) -> Option<(File, Status)> {
    let (spec, status) = (number(spec)?, number(status)?);
    let opened = File::open(own(spec)).ok()?;
    let pipe = OpenOptions::new().write(true).open(own(status)).ok()?;
    close(spec).ok()?;
    close(status).ok()?;
    Some((opened, Status(Some(pipe))))
}

fn number(word: &OsString) -> Option<i32> {
    word.to_str()?.parse().ok()
}

fn own(number: i32) -> String {
    format!("/proc/self/fd/{number}")
}

/// Our end of the status pipe, until it is handed on.
struct Status(Option<File>);

impl Status {
    fn report(&mut self, report: &Report) -> io::Result<()> {
        let mut line = serde_json::to_vec(report)?;
        line.push(b'\n');
        match &mut self.0 {
            Some(pipe) => pipe.write_all(&line),
            None => Ok(()),
        }
    }
}

/// The first stage.
fn confine(spec: File, status: &mut Status) -> Result<u8, Failed> {
    // Before anything blocks: the supervisor may be killed now.
    apply::close_descriptors_at_exec();
    let orders = read(&spec)?;
    apply::die_with(orders.supervisor).at(Step::ParentDeath)?;
    apply::new_session().at(Step::Session)?;
    if orders.keyring {
        apply::new_keyring().at(Step::Keyring)?;
    }
    apply::limit(&orders.rules.limits).at(Step::Limits)?;
    apply::drop_groups().at(Step::Capabilities)?;
    let Some(namespaces) = &orders.rules.namespaces else {
        return become_server(spec, status).map(|never| match never {});
    };
    mount::enter(namespaces).at(Step::Namespaces)?;
    // Not before the maps: they belong to root while a process is not dumpable.
    apply::not_dumpable().at(Step::Namespaces)?;
    let dir = hold_dir(&orders.dir)?;
    mount::build(namespaces, dir.as_ref()).at(Step::Mounts)?;
    apply::keep_capabilities().at(Step::Capabilities)?;
    let (lifeline, held) = io::pipe().at(Step::Stage)?;
    // What is sent to the group is for the next stage, which passes it on.
    SigSet::all().thread_set_mask().at(Step::Signals)?;
    let mut child = next(INIT, &spec, status, Some(lifeline.into()))?;
    drop(spec);
    let ended = child.wait().at(Step::Stage)?;
    drop(held);
    Ok(ended
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(FAILED))
}

/// The second stage.
fn init(spec: File, status: &mut Status, lifeline: Option<&OsString>) -> Result<u8, Failed> {
    apply::die_with_parent().at(Step::ParentDeath)?;
    apply::close_descriptors_at_exec();
    let lifeline = lifeline
        .and_then(number)
        .and_then(|number| File::open(own(number)).ok());
    alive(lifeline)?;
    let Some(namespaces) = read(&spec)?.rules.namespaces else {
        return Err(failed(Step::Spec, "no namespaces to begin"));
    };
    enter(&namespaces)?;
    let signals = first::block().at(Step::Signals)?;
    let mut child = next(EXEC, &spec, status, None)?;
    drop(spec);
    first::tend(&mut child, &signals).at(Step::Stage)
}

/// The parent-death signal is set too late where the parent has ended before: then nobody holds
/// the other end of the lifeline. (The parent's id cannot tell: it is 0 in here.)
fn alive(lifeline: Option<File>) -> Result<(), Failed> {
    let gone = || failed(Step::ParentDeath, "the supervisor has ended");
    let lifeline = lifeline.ok_or_else(gone)?;
    let mut asked = [PollFd::new(lifeline.as_fd(), PollFlags::POLLIN)];
    poll(&mut asked, PollTimeout::ZERO).at(Step::ParentDeath)?;
    let said = asked
        .first()
        .and_then(PollFd::revents)
        .unwrap_or(PollFlags::POLLHUP);
    if said.contains(PollFlags::POLLHUP) {
        Err(gone())
    } else {
        Ok(())
    }
}

/// The new root entered, and every capability given up.
fn enter(namespaces: &Namespaces) -> Result<(), Failed> {
    mount::own_proc(namespaces).at(Step::Mounts)?;
    mount::enter_root().at(Step::Mounts)?;
    apply::no_new_privs().at(Step::Capabilities)?;
    apply::drop_capabilities().at(Step::Capabilities)?;
    apply::not_dumpable().at(Step::Capabilities)
}

/// Starts the next stage, with our descriptors of the spec and the status pipe, which is its to
/// hold from then on.
fn next(
    stage: &str,
    spec: &File,
    status: &mut Status,
    lifeline: Option<OwnedFd>,
) -> Result<Child, Failed> {
    let pipe = status
        .0
        .take()
        .ok_or_else(|| failed(Step::Stage, "no status pipe"))?;
    let mut command = Command::new("/proc/self/exe");
    command.arg(stage).env_clear();
    let handed = [
        Some(spec.as_fd()),
        Some(pipe.as_fd()),
        lifeline.as_ref().map(AsFd::as_fd),
    ];
    for held in handed.into_iter().flatten() {
        fcntl(held, FcntlArg::F_SETFD(FdFlag::empty())).at(Step::Stage)?;
        command.arg(held.as_raw_fd().to_string());
    }
    match command.spawn() {
        Ok(child) => {
            apply::let_go_of_pipes().at(Step::Stage)?;
            Ok(child)
        }
        Err(error) => {
            status.0 = Some(pipe);
            Err(failed(Step::Stage, &error.to_string()))
        }
    }
}

/// The last stage. There is no way back from its last step, so a return is a failure.
fn become_server(spec: File, status: &mut Status) -> Result<Infallible, Failed> {
    apply::not_dumpable().at(Step::Spec)?;
    apply::close_descriptors_at_exec();
    let spec = read(&spec)?;
    let own_root = spec.rules.namespaces.is_some();
    if own_root {
        // Of its own: what is sent to the group of the first stage is not for it.
        apply::new_session().at(Step::Session)?;
    }
    apply::reset_signals().at(Step::Signals)?;
    // In a root of its own it is what is mounted at its path.
    let dir = if own_root { None } else { hold_dir(&spec.dir)? };
    match &dir {
        Some(dir) => fchdir(&dir.1).at(Step::Directory)?,
        None => chdir(&spec.cwd).at(Step::Directory)?,
    }
    let program = hold_program(&spec)?;
    let ruleset = apply::build_ruleset(&spec.rules.landlock, dir.as_ref()).at(Step::Grants)?;
    apply::no_new_privs().at(Step::Capabilities)?;
    let bounding_set_empty = apply::drop_capabilities().at(Step::Capabilities)?;
    apply::enforce(ruleset).at(Step::Landlock)?;
    let argv = c_strings(spec.argv.iter().cloned()).at(Step::Exec)?;
    let env = spec
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let env = c_strings(env).at(Step::Exec)?;
    let enforced = Enforced {
        mechanisms: spec.mechanisms(),
        bounding_set_empty,
    };
    status.report(&Report::Enforced(enforced)).at(Step::Exec)?;
    seccomp::install(&spec.rules.seccomp).at(Step::Seccomp)?;
    execveat(&program, c"", &argv, &env, AtFlags::AT_EMPTY_PATH).at(Step::Exec)
}

fn read(mut spec: &File) -> Result<Spec, Failed> {
    // Without namespaces the first stage goes on to be the last, and reads it again.
    spec.rewind().at(Step::Spec)?;
    let mut text = Vec::new();
    spec.read_to_end(&mut text).at(Step::Spec)?;
    serde_json::from_slice(&text).at(Step::Spec)
}

/// The directory that was checked, whatever stands at its path now.
fn hold_dir(dir: &Option<(PathBuf, RawFd)>) -> Result<Option<(PathBuf, File)>, Failed> {
    let Some((path, number)) = dir else {
        return Ok(None);
    };
    let held = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_DIRECTORY)
        .open(format!("/proc/self/fd/{number}"))
        .at(Step::Directory)?;
    Ok(Some((path.clone(), held)))
}

/// Holds the program by descriptor and compares it, and the script it runs, with what was
/// looked at: what is executed below is this very file, whatever is renamed over its path.
fn hold_program(spec: &Spec) -> Result<File, Failed> {
    let mut held = None;
    for (path, expected) in &spec.unchanged {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_PATH)
            .open(path)
            .map_err(|error| failed(Step::Program, &format!("{}: {error}", path.display())))?;
        if Stat::of(&apply::stat(&file).at(Step::Program)?) != *expected {
            let why = format!(
                "{} changed while the server was being started",
                path.display()
            );
            return Err(failed(Step::Program, &why));
        }
        if *path == spec.exec {
            held = Some(file);
        }
    }
    held.ok_or_else(|| failed(Step::Program, "the program is not among the files compared"))
}

fn c_strings(words: impl Iterator<Item = String>) -> Result<Vec<CString>, NulError> {
    words.map(CString::new).collect()
}

fn failed(step: Step, why: &str) -> Failed {
    Failed {
        step,
        why: why.to_owned(),
    }
}

/// Names the step an error belongs to.
trait At<T> {
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
