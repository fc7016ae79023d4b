//! The last steps of the process that becomes the server. There is no way back from the last of
//! them, so a return is a failure.
#![expect(
    clippy::disallowed_methods,
    reason = "the shim opens what it is told to execute"
)]

use std::convert::Infallible;
use std::ffi::{CString, NulError};
use std::fs::{File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::AtFlags;
use nix::libc;
use nix::unistd::{chdir, execveat, fchdir};

use super::linux::mount::Root;
use super::linux::{apply, capabilities, ruleset, seccomp};
use super::orders::Taker;
use super::progress::{Progress, Stage};
use super::shim::{At, Status, failed, hold_dir};
use super::spec::{Enforced, Failed, Go, Report, Spec, Step};
use crate::plan::program::Stat;

/// What becomes the server in namespaces. Beside the first process, which puts the root together
/// and closes it meanwhile: all that needs no root comes first.
pub(super) fn inside(
    spec: &Spec,
    root: &Root,
    mut progress: Progress,
    status: &mut Status,
) -> Result<Infallible, Failed> {
    apply::not_dumpable().at(Step::Spec)?;
    // Of its own: what is sent to the group of the first process is not for it.
    apply::new_session().at(Step::Session)?;
    root.bound(spec.namespaces()?).at(Step::Mounts)?;
    give_up(spec)?;
    let process = apply::own_status().at(Step::Signals)?;
    apply::reset_signals(&process).at(Step::Signals)?;
    let bounding_set_empty = process.without_capabilities().at(Step::Capabilities)?;
    let ruleset = ruleset::begin(&spec.rules.landlock, |path| root.held(path)).at(Step::Grants)?;
    // Waits here rather than after the filters: the first process waits for the kernel to let go of
    // the old root, and that for a processor.
    progress.wait(Stage::Entered)?;
    seccomp::install(&spec.rules.seccomp).at(Step::Seccomp)?;
    chdir(&spec.cwd).at(Step::Directory)?;
    let program = hold_program(spec)?;
    let ruleset = ruleset.finish().at(Step::Grants)?;
    apply::limit(&spec.rules.limits).at(Step::Limits)?;
    apply::limit_processes(spec.namespaces()?.processes).at(Step::Limits)?;
    ruleset::enforce(ruleset).at(Step::Landlock)?;
    progress.wait(Stage::Closed)?;
    execute(spec, &program, bounding_set_empty, status)
}

/// What becomes the server without namespaces. Its paths are opened while its own rights still hold.
/// Its exit code, where it is not to go.
pub(super) fn outside(spec: &Spec, mut orders: Taker, status: &mut Status) -> Result<u8, Failed> {
    apply::not_dumpable().at(Step::Spec)?;
    let process = apply::own_status().at(Step::Signals)?;
    apply::reset_signals(&process).at(Step::Signals)?;
    let dir = match &spec.dir {
        Some(dir) => Some((dir.0.as_path(), hold_dir(dir).at(Step::Directory)?)),
        None => None,
    };
    match &dir {
        Some((_, dir)) => fchdir(dir).at(Step::Directory)?,
        None => chdir(&spec.cwd).at(Step::Directory)?,
    }
    let program = hold_program(spec)?;
    let held = |path: &Path| match &dir {
        Some((checked, dir)) if *checked == path => Some((dir.as_fd(), true)),
        _ => None,
    };
    let ruleset = ruleset::begin(&spec.rules.landlock, held).at(Step::Grants)?;
    let ruleset = ruleset.finish().at(Step::Grants)?;
    apply::limit(&spec.rules.limits).at(Step::Limits)?;
    capabilities::no_new_privs().at(Step::Capabilities)?;
    capabilities::drop_bounding_set().at(Step::Capabilities)?;
    capabilities::drop_capabilities().at(Step::Capabilities)?;
    let process = apply::own_status().at(Step::Capabilities)?;
    let bounding_set_empty = process.without_capabilities().at(Step::Capabilities)?;
    if orders.next::<Go>().at(Step::Spec)?.is_none() {
        return Ok(0);
    }
    ruleset::enforce(ruleset).at(Step::Landlock)?;
    seccomp::install(&spec.rules.seccomp).at(Step::Seccomp)?;
    execute(spec, &program, bounding_set_empty, status).map(|never| match never {})
}

/// Gives up what a process of the namespaces had to put them together, for good.
pub(super) fn give_up(spec: &Spec) -> Result<(), Failed> {
    capabilities::no_new_privs().at(Step::Capabilities)?;
    if let Some(ids) = spec.rules.ids {
        capabilities::become_unprivileged(ids).at(Step::Capabilities)?;
    }
    capabilities::drop_capabilities().at(Step::Capabilities)?;
    apply::not_dumpable().at(Step::Capabilities)
}

/// Says what is in force, and executes the program that is held.
fn execute(
    spec: &Spec,
    program: &File,
    bounding_set_empty: bool,
    status: &mut Status,
) -> Result<Infallible, Failed> {
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
    execveat(program, c"", &argv, &env, AtFlags::AT_EMPTY_PATH).at(Step::Exec)
}

/// Holds the program by descriptor and compares it, and the script it runs, with what was
/// looked at: what is executed is this very file, whatever is renamed over its path.
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
