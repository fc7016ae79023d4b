//! The process that becomes the server: this program executed anew as `__confine`.
//!
//! It is single-threaded, starts with an empty environment, and takes its orders (the server's
//! variables among them) over a pipe, so that nothing the server is given acts on it. Each step
//! below is one function of `linux::apply`; the first that fails is reported by name over the
//! status pipe, and the server does not start. At the exec the status pipe closes.
#![expect(
    clippy::disallowed_methods,
    reason = "the shim opens what it is told to execute"
)]

use std::collections::BTreeSet;
use std::ffi::{CString, NulError, OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::RawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::ExitCode;

use nix::fcntl::AtFlags;
use nix::libc;
use nix::unistd::{chdir, execveat, fchdir};
use serde::{Deserialize, Serialize};

use super::Mechanism;
use super::linux::Linux;
use super::linux::apply::{self, ApplyError};
use super::linux::seccomp::{self, SeccompError};
use crate::error::FAILED;
use crate::plan::program::Stat;

/// The first argument of the process that becomes a server.
pub const ARGUMENT: &str = "__confine";

/// What the supervisor tells the shim. Holds secrets: it travels over a pipe and has no `Debug`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The process whose end is the server's end.
    pub supervisor: u32,
    /// The file to execute.
    pub exec: PathBuf,
    /// Its command line.
    pub argv: Vec<String>,
    /// All its variables.
    pub env: Vec<(String, String)>,
    /// Where it starts, unless in `dir`.
    pub cwd: PathBuf,
    /// The directory it may write, and the inherited descriptor of the one that was checked.
    pub dir: Option<(PathBuf, RawFd)>,
    /// Files that must still be what they were when they were looked at.
    pub unchanged: Vec<(PathBuf, Stat)>,
    /// The rules.
    pub rules: Linux,
    /// Whether a session keyring of its own is made.
    pub keyring: bool,
}

/// What the shim tells the supervisor, one JSON object a line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// Everything is in force; the exec is next.
    Enforced(Enforced),
    /// A step failed; nothing of the server's ran.
    Failed(Failed),
}

/// What the kernel took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enforced {
    /// The mechanisms in force.
    pub mechanisms: BTreeSet<Mechanism>,
    /// Whether the capability bounding set is empty too.
    pub bounding_set_empty: bool,
}

/// The step that failed and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failed {
    /// Which.
    pub step: Step,
    /// What the system said, and where.
    pub why: String,
}

/// The steps, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Read the spec.
    Spec,
    /// Be bound to the supervisor's life.
    ParentDeath,
    /// A session of its own.
    Session,
    /// Descriptors close at exec.
    Descriptors,
    /// A session keyring of its own.
    Keyring,
    /// Default dispositions, empty mask.
    Signals,
    /// Resource limits.
    Limits,
    /// The working directory.
    Directory,
    /// The program, held by descriptor and compared.
    Program,
    /// The ruleset, each granted path opened.
    Grants,
    /// Root's groups and every capability dropped.
    Capabilities,
    /// The ruleset in force.
    Landlock,
    /// The filters in force.
    Seccomp,
    /// The exec itself.
    Exec,
}

/// Runs the shim; returns only where the server did not start.
///
/// `words` are what follows `__confine`: the numbers of the spec's and the status descriptor.
pub fn main(words: &[OsString]) -> ExitCode {
    let Some((spec, mut status)) = open_pipes(words) else {
        return ExitCode::from(FAILED);
    };
    let failed = confine(spec, &mut status);
    // The supervisor may be gone; there is nobody else to tell.
    let _ = report(&mut status, &Report::Failed(failed));
    ExitCode::from(FAILED)
}

/// The two pipes, opened anew through `/proc`: a descriptor number cannot be made an owned
/// file without unsafe code, and the inherited ones close at exec like all others.
fn open_pipes(words: &[OsString]) -> Option<(File, File)> {
    let [spec, status] = words else { return None };
    let number = |word: &OsStr| word.to_str()?.parse::<u32>().ok();
    let path = |number: u32| format!("/proc/self/fd/{number}");
    let spec = File::open(path(number(spec)?)).ok()?;
    let status = OpenOptions::new()
        .write(true)
        .open(path(number(status)?))
        .ok()?;
    Some((spec, status))
}

fn report(status: &mut File, report: &Report) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    status.write_all(&line)
}

/// All steps. There is no way back from the last, so a return is a failure.
fn confine(spec: File, status: &mut File) -> Failed {
    match steps(spec, status) {
        Ok(never) => match never {},
        Err(failed) => failed,
    }
}

fn steps(spec: File, status: &mut File) -> Result<std::convert::Infallible, Failed> {
    apply::not_dumpable().at(Step::Spec)?;
    // Before anything blocks: the spec's writer is the supervisor, and it may be killed now.
    apply::close_descriptors_at_exec();
    let spec = read_spec(spec)?;
    apply::die_with(spec.supervisor).at(Step::ParentDeath)?;
    apply::new_session().at(Step::Session)?;
    if spec.keyring {
        apply::new_keyring().at(Step::Keyring)?;
    }
    apply::reset_signals().at(Step::Signals)?;
    let dir = hold_dir(&spec)?;
    match &dir {
        Some(dir) => fchdir(&dir.1).at(Step::Directory)?,
        None => chdir(&spec.cwd).at(Step::Directory)?,
    }
    let program = hold_program(&spec)?;
    let ruleset = apply::build_ruleset(&spec.rules.landlock, dir.as_ref()).at(Step::Grants)?;
    apply::limit(&spec.rules.limits).at(Step::Limits)?;
    apply::drop_groups().at(Step::Capabilities)?;
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
        mechanisms: in_force(&spec),
        bounding_set_empty,
    };
    report(status, &Report::Enforced(enforced)).at(Step::Exec)?;
    seccomp::install(&spec.rules.seccomp).at(Step::Seccomp)?;
    execveat(&program, c"", &argv, &env, AtFlags::AT_EMPTY_PATH).at(Step::Exec)
}

fn read_spec(mut pipe: File) -> Result<Spec, Failed> {
    let mut text = Vec::new();
    pipe.read_to_end(&mut text).at(Step::Spec)?;
    serde_json::from_slice(&text).at(Step::Spec)
}

/// The directory that was checked, whatever stands at its path now.
fn hold_dir(spec: &Spec) -> Result<Option<(PathBuf, File)>, Failed> {
    let Some((path, number)) = &spec.dir else {
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

/// The mechanisms that the steps above have put in force by now, or the next ones will.
fn in_force(spec: &Spec) -> BTreeSet<Mechanism> {
    use seccomp::Filter;
    let mut set = BTreeSet::from([
        Mechanism::LandlockFiles,
        Mechanism::Capabilities,
        Mechanism::NoNewPrivs,
        Mechanism::Session,
        Mechanism::Rlimits,
        Mechanism::Descriptors,
        Mechanism::Environment,
        Mechanism::ParentDeath,
        Mechanism::ExecByDescriptor,
    ]);
    let landlock = &spec.rules.landlock;
    for (is, mechanism) in [
        (spec.keyring, Mechanism::Keyring),
        (landlock.scoped, Mechanism::LandlockScopes),
        (landlock.no_network, Mechanism::LandlockNetwork),
        (
            landlock
                .handled
                .contains(&super::linux::landlock::Right::ResolveUnix),
            Mechanism::LandlockSockets,
        ),
    ] {
        if is {
            set.insert(mechanism);
        }
    }
    set.extend(
        spec.rules
            .seccomp
            .iter()
            .map(|program| match program.filter {
                Filter::Allow | Filter::Deny => Mechanism::Seccomp,
                Filter::NoUnix => Mechanism::SeccompNoUnix,
                Filter::NoNetwork => Mechanism::SeccompNoNetwork,
                Filter::OwnProcess => Mechanism::SeccompOwnProcess,
                Filter::OwnIpc => Mechanism::SeccompOwnIpc,
            }),
    );
    set
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
