//! From a line of `add` to a declaration: paths resolved, what the line names recorded, all that
//! a start would refuse refused now.
//!
//! Looks at this machine through the room `plan` only.
//!
//! Place on the path: line → **declaration** → `mcp.json`.

use std::path::{Path, PathBuf};

use super::add_line::{AddLine, Given, StdioLine, Target};
use super::document::Declarations;
use super::{AbsolutePath, Declaration, EnvName, Http, Server, Stdio, digest};
use crate::approval::candidate::search_path;
use crate::approval::prompt;
use crate::error::Error;
use crate::plan::{Person, PlanError, facts, git, program, record, resolve, runner, shim, system};

/// The declaration that a line asks for, typed in the directory `cwd`. Values of `NAME=-` are
/// asked for here, when all else is checked. A program that is not there is declared all the
/// same; of the `declared` ones no other may write what this one runs.
///
/// # Errors
/// A `--dir` or `--read` that may not be one, a program that could not run or may be written;
/// a value that nobody is there to type.
pub(crate) fn declaration(
    line: &AddLine,
    person: &Person,
    cwd: &Path,
    declared: &Declarations,
) -> Result<Declaration, Error> {
    let alias = &line.alias;
    let server = match &line.target {
        Target::Http(http) => Server::Http(Http {
            url: http.url.clone(),
            headers: http.headers.clone(),
            bearer_env: http.bearer_env.clone(),
        }),
        Target::Stdio(line) => {
            let mut stdio = stdio(line, person, cwd)?;
            check(&stdio, person, &declared.writable_but_by(alias))?;
            for (name, given) in &line.env {
                if matches!(given, Given::Ask) {
                    stdio.env.insert(name.clone(), prompt::value(name)?);
                }
            }
            Server::Stdio(stdio)
        }
    };
    Ok(Declaration {
        server,
        enabled: true,
    })
}

fn stdio(line: &StdioLine, person: &Person, cwd: &Path) -> Result<Stdio, PlanError> {
    let mut stdio = Stdio::new(program::absolute(&line.command, cwd)?, line.args.clone());
    stdio.network = line.network;
    stdio.limits = line.limits;
    stdio.allow.clone_from(&line.allow);
    stdio.without.clone_from(&line.without);
    stdio.pin.clone_from(&line.pin);
    stdio.tools.categories.clone_from(&line.categories);
    for (name, given) in &line.env {
        match given {
            Given::Passed => drop(stdio.pass.insert(name.clone())),
            Given::Stored(value) => drop(stdio.env.insert(name.clone(), value.clone())),
            // Its value comes last; meanwhile it is a name like the others.
            Given::Ask => drop(stdio.env.insert(name.clone(), String::new().into())),
        }
    }
    name_path(&mut stdio);
    if let Some(dir) = &line.dir {
        stdio.dir = Some(self::dir(&stdio, Path::new(dir), person, cwd)?);
    }
    let dir = stdio.dir.as_ref().map(AbsolutePath::as_path);
    let mut reads = Vec::new();
    for path in &line.reads {
        reads.extend(record::flag(Path::new(path), cwd, dir, person)?);
    }
    for read in record::recorded(&stdio, person)? {
        if reads.iter().all(|known| known.path != read.path) {
            reads.push(read);
        }
    }
    reads.sort();
    reads.dedup();
    stdio.reads = reads;
    Ok(stdio)
}

/// Names `PATH` where what runs is looked for along it and no value is stored for it.
pub(crate) fn name_path(stdio: &mut Stdio) {
    if needs_path(stdio) && !stdio.env.contains_key(&EnvName::path()) {
        stdio.pass.insert(EnvName::path());
    }
}

/// What `--dir` declares, seen from `cwd`.
///
/// # Errors
/// As [`git::check`].
pub(super) fn dir(
    stdio: &Stdio,
    dir: &Path,
    person: &Person,
    cwd: &Path,
) -> Result<AbsolutePath, PlanError> {
    let searched = facts::search_path_grants(&search_path(stdio, None), person);
    let dir = git::check(&cwd.join(dir), person, &searched)?;
    facts::off_path(&dir)?;
    AbsolutePath::new(&dir).map_err(|_| PlanError::NotUtf8 { path: dir })
}

/// A program by name is looked for along `PATH`; so is what `/usr/bin/env` in a first line names,
/// what a runner starts, and what a version manager's stand-in stands for, where it has to be asked.
fn needs_path(stdio: &Stdio) -> bool {
    let env = |program: program::Program| {
        let first = program.prefix.first().map(PathBuf::from);
        program.is_script() && first.is_some_and(|first| first.file_name() == Some("env".as_ref()))
    };
    !stdio.command.contains('/')
        || runner::recognise(&stdio.argv()).is_some()
        || shim::is_stand_in(Path::new(&stdio.command))
        || program::find(&stdio.command, &facts::search_path_of(stdio)).is_ok_and(env)
}

/// Refuses what a start would refuse; a program that is not there is declared all the same.
///
/// # Errors
/// As a start's.
pub(super) fn check(stdio: &Stdio, person: &Person, others: &[PathBuf]) -> Result<(), PlanError> {
    let system = system::look_up().grants;
    let facts = match facts::gather(stdio, &search_path(stdio, None), person, system) {
        Ok(facts) => facts,
        Err(PlanError::ProgramNotFound { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    let launch = digest::launch(&Server::Stdio(stdio.clone()));
    resolve::resolve(resolve::home(&launch, &facts), stdio, &facts, others).map(drop)
}
