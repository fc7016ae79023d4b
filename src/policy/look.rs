//! Asks this machine for what a policy's rules name, and judges.
//!
//! Only for what they name: content is read where a rule names content, the kernel is asked where
//! a floor names it. [`judge`] is the one way to a verdict, for every command.

use std::path::PathBuf;

use super::evaluate::evaluate;
use super::owner::is_roots_alone;
use super::subject::{CommandLine, ProgramSubject, RunnerSubject, Subject};
use super::{AdminPolicy, Verdict};
use crate::confine::linux::kernel;
use crate::declaration::{EnvName, Pin, Stdio};
use crate::error::Error;
use crate::plan::links::follow;
use crate::plan::program::Program;
use crate::plan::runner::{self, Runner};
use crate::plan::{PlanError, SearchPath};

/// What the administrator says to a program as it was found here, which gets this `PATH`.
///
/// # Errors
/// Its content cannot be read, or changed while it was looked at.
pub(crate) fn judge(
    policy: &AdminPolicy,
    stdio: &Stdio,
    program: &Program,
    path: &SearchPath,
) -> Result<Verdict, Error> {
    match policy.absent() {
        Some(allowed) => Ok(allowed),
        None => Ok(evaluate(policy, &subject(policy, stdio, program, path)?)),
    }
}

/// What the administrator says to a server elsewhere.
#[must_use]
pub(crate) fn judge_url(policy: &AdminPolicy, url: &str) -> Verdict {
    evaluate(policy, &Subject::Url(url.to_owned()))
}

/// A program as it was found here.
///
/// # Errors
/// As [`judge`].
pub(crate) fn subject(
    policy: &AdminPolicy,
    stdio: &Stdio,
    program: &Program,
    path: &SearchPath,
) -> Result<Subject, PlanError> {
    let followed = follow(&program.found).map_err(|source| look(program, source))?;
    let found = line([program.found.clone()], stdio);
    let leads = line(followed.links.into_iter().chain([followed.resolved]), stdio);
    let mut further = vec![leads];
    if let (true, Some((interpreter, words))) = (program.is_script(), program.prefix.split_first())
    {
        further.push(CommandLine {
            programs: [program.exec.clone(), interpreter.into()].into(),
            arguments: words.iter().chain(&stdio.args).cloned().collect(),
        });
    }
    let sha256 = policy
        .names_content()
        .then(|| program.identity().map(|identity| identity.sha256.clone()))
        .transpose()?;
    Ok(Subject::Program(Box::new(ProgramSubject {
        runner: fetched_by(stdio, &found, &further),
        found,
        further,
        sha256,
        ..declared(policy, stdio, path)
    })))
}

/// A program by its absolute path, which is not on this machine: what its links lead to and what
/// it holds is not known.
#[must_use]
pub(crate) fn elsewhere(policy: &AdminPolicy, stdio: &Stdio, path: &SearchPath) -> Subject {
    Subject::Program(Box::new(declared(policy, stdio, path)))
}

/// What a declaration says by itself, its program as declared.
fn declared(policy: &AdminPolicy, stdio: &Stdio, path: &SearchPath) -> ProgramSubject {
    let found = line([PathBuf::from(&stdio.command)], stdio);
    ProgramSubject {
        runner: fetched_by(stdio, &found, &[]),
        found,
        further: Vec::new(),
        sha256: None,
        variables: stdio.variables(),
        open_path: open_path(stdio, path),
        dir: stdio.dir.is_some(),
        network: stdio.network,
        without: stdio.without.clone(),
        pinned: stdio.pin.contains(&Pin::Program),
        landlock_abi: landlock_abi(policy),
    }
}

/// The declared arguments, after any of these programs.
fn line(programs: impl IntoIterator<Item = PathBuf>, stdio: &Stdio) -> CommandLine {
    CommandLine {
        programs: programs.into_iter().collect(),
        arguments: stdio.args.clone(),
    }
}

/// The Landlock ABI of this kernel, where a floor names it.
fn landlock_abi(policy: &AdminPolicy) -> Option<u32> {
    let asked = |placed: &super::PlacedFloors| placed.floors.landlock_abi.is_some();
    policy
        .floors
        .iter()
        .any(asked)
        .then(kernel::landlock_abi)
        .flatten()
}

/// The first directory of the `PATH` it gets that is not root's alone.
fn open_path(stdio: &Stdio, path: &SearchPath) -> Option<PathBuf> {
    let gets_it = stdio.variables().contains(&EnvName::path());
    let mut entries = path.0.iter().filter(|_| gets_it);
    entries.find(|entry| !is_roots_alone(entry)).cloned()
}

/// What fetches what it runs, by any name that its program has.
fn fetched_by(
    stdio: &Stdio,
    found: &CommandLine,
    further: &[CommandLine],
) -> Option<RunnerSubject> {
    let named = [found].into_iter().chain(further).flat_map(|line| {
        line.programs.iter().map(|program| {
            let mut argv = vec![program.to_string_lossy().into_owned()];
            argv.extend(line.arguments.iter().cloned());
            argv
        })
    });
    let mut lines = [stdio.argv()].into_iter().chain(named);
    let fetched = |runner: &Runner| !runner.of_project;
    let runner = lines.find_map(|argv| runner::recognise(&argv).filter(fetched))?;
    Some(RunnerSubject {
        name: runner.name.to_owned(),
        exact: runner.exact,
    })
}

fn look(program: &Program, source: std::io::Error) -> PlanError {
    PlanError::Look {
        path: program.found.display().to_string(),
        source,
    }
}
