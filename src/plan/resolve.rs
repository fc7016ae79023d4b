//! From a declaration and what this machine says to a plan. Pure.

use std::path::{Path, PathBuf};

use super::certificates::Certificates;
use super::runner;
use super::runner::given::{self, Ground};
use super::{Grant, HostFacts, Plan, PlanError, Rights, Source, Variable, grants};
use crate::declaration::{EnvName, LaunchDigest, ReadReason, Stdio};

/// Where the private home of a declaration is.
#[must_use]
pub(crate) fn home(launch: &LaunchDigest, facts: &HostFacts) -> PathBuf {
    facts.state.join("home").join(launch.home_name())
}

/// What exactly would run, and what it would reach. `others` are the places that other declared
/// servers may write.
///
/// # Errors
/// [`PlanError::WritableProgram`] where what is executed, or a directory of `PATH`, lies where
/// the server may write (promise S1); [`PlanError::ReadRefused`] for a read in the state
/// directory; [`PlanError::NotUtf8`] for a path that cannot be kept or shown.
pub(crate) fn resolve(
    home: PathBuf,
    stdio: &Stdio,
    facts: &HostFacts,
    others: &[PathBuf],
) -> Result<Plan, PlanError> {
    let tmp = home.join("tmp");
    let own = facts.dir.iter().chain([&facts.state]);
    let writable: Vec<PathBuf> = own.chain(others).cloned().collect();
    let facts = &apart(facts.clone(), &writable)?;
    for path in [&facts.program.found, &facts.program.exec, &home] {
        text(path)?;
    }
    let mut argv = facts.program.prefix.clone();
    argv.extend(stdio.args.iter().cloned());
    let certificates = facts.certificates.iter().map(Certificates::grant);
    let ours = [&facts.system, &facts.installation, &facts.linked]
        .into_iter()
        .flatten()
        .cloned()
        .chain(certificates)
        .collect();
    Ok(Plan {
        exec: facts.program.exec.clone(),
        argv,
        variables: variables(stdio, facts, &home, &tmp)?,
        cwd: facts.dir.clone().unwrap_or_else(|| tmp.clone()),
        dir: facts.dir.clone(),
        grants: grants::merge(ours, declared(stdio, facts, &home)),
        names: names(stdio, facts)?,
        network: stdio.network,
        limits: stdio.limits.bound(),
        home,
        tmp,
    })
}

/// The same facts, where nothing that the server executes or reads lies in `writable`: places
/// that this or another declared server may write (promise S1). What is merely linked to from
/// `PATH`, or named by an argument or by settings, is left out there; what else lies there refuses.
///
/// # Errors
/// [`PlanError::WritableProgram`].
fn apart(mut facts: HostFacts, writable: &[PathBuf]) -> Result<HostFacts, PlanError> {
    let written = |path: &Path| writable.iter().any(|place| path.starts_with(place));
    let program = &facts.program;
    let executed = [&program.found, &program.resolved, &program.exec]
        .into_iter()
        .chain(&program.links)
        .chain(&program.files);
    // An entry of `PATH` that is not there yet could be made by the server.
    let searched = facts
        .installation
        .iter()
        .map(|grant| &grant.path)
        .chain(&facts.search_path.0);
    if let Some(path) = executed.chain(searched).find(|path| written(path)) {
        return Err(PlanError::WritableProgram { path: path.clone() });
    }
    // What lies in the server's own `--dir` is covered by it; in another's it would be planted.
    let own = |path: &Path| facts.dir.as_ref().is_some_and(|dir| path.starts_with(dir));
    if let Some(read) = facts
        .reads
        .iter()
        .find(|read| written(&read.path) && !own(&read.path))
    {
        return Err(PlanError::WritableProgram {
            path: read.path.clone(),
        });
    }
    facts.linked.retain(|grant| {
        !written(&grant.path) && !writable.iter().any(|place| place.starts_with(&grant.path))
    });
    facts.certificates.retain(|named| !written(&named.file));
    Ok(facts)
}

/// Every path that somebody spells, but for those of the system's places, whose links are known
/// ([`super::System`]): each spelling once, sorted by its bytes.
fn names(stdio: &Stdio, facts: &HostFacts) -> Result<Vec<PathBuf>, PlanError> {
    let mut names = facts.search_path.0.clone();
    names.push(facts.program.found.clone());
    names.extend(facts.program.links.iter().cloned());
    names.extend(facts.certificates.iter().map(|named| named.named.clone()));
    let spelled = stdio.argv().into_iter().chain(facts.program.prefix.clone());
    for word in spelled {
        let value = word.split_once('=').map(|(_, value)| value.to_owned());
        let paths = [Some(word), value].into_iter().flatten().map(PathBuf::from);
        names.extend(paths.filter(|path| path.is_absolute()));
    }
    // Paths are compared part by part, which takes many times as long.
    let mut names: Vec<_> = names.into_iter().map(PathBuf::into_os_string).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| !grants::is_system_name(name));
    Ok(names.into_iter().map(PathBuf::from).collect())
}

/// Every variable of the server with its source. `HOME` and `TMPDIR` are ours unless the person
/// named them; `PATH`, if passed, is frozen to the search path that the program was found along.
fn variables(
    stdio: &Stdio,
    facts: &HostFacts,
    home: &Path,
    tmp: &Path,
) -> Result<Vec<Variable>, PlanError> {
    let mut variables: Vec<Variable> = Vec::new();
    for name in stdio.variables() {
        let source = if stdio.env.contains_key(&name) {
            Source::Stored
        } else if name == EnvName::path() {
            Source::Ours(facts.search_path.to_env())
        } else if facts.present.contains(&name) {
            Source::Passed
        } else {
            Source::Unset
        };
        variables.push(Variable { name, source });
    }
    for (name, path) in [("HOME", home), ("TMPDIR", tmp)] {
        if !stdio.variables().iter().any(|named| named.as_str() == name)
            && let Ok(name) = name.parse()
        {
            variables.push(Variable {
                name,
                source: Source::Ours(text(path)?),
            });
        }
    }
    variables.extend(runner_variables(stdio, facts, home)?);
    variables.sort();
    Ok(variables)
}

/// What a recognised runner gets from us: of the names that are part of the digest, those that
/// this run is for.
fn runner_variables(
    stdio: &Stdio,
    facts: &HostFacts,
    home: &Path,
) -> Result<Vec<Variable>, PlanError> {
    let Some(runner) = runner::recognise(&stdio.argv()) else {
        return Ok(Vec::new());
    };
    let Some(given) = given::of(&runner) else {
        return Ok(Vec::new());
    };
    let (home, ours) = (text(home)?, given::names(stdio));
    let ground = Ground {
        home: &home,
        cached: facts.cached,
        locked: facts.locked,
    };
    let variables = given.variables(&runner, &ours, ground);
    let variable = |(name, value)| Variable {
        name,
        source: Source::Ours(value),
    };
    Ok(variables.map(variable).collect())
}

/// What the declaration itself grants.
fn declared(stdio: &Stdio, facts: &HostFacts, home: &Path) -> Vec<Grant> {
    let write = |path: &Path, reason: &'static str| Grant {
        path: path.to_owned(),
        rights: Rights::Write,
        reason: reason.into(),
    };
    // The temporary directory lies in it, and gets no rule by a path that the server can rename.
    let mut declared = vec![write(home, "its private home and temporary directory")];
    declared.extend(facts.dir.iter().map(|dir| write(dir, "--dir")));
    let covered = |path: &Path| facts.dir.as_ref().is_some_and(|dir| path.starts_with(dir));
    for (read, fact) in stdio.reads.iter().zip(&facts.reads) {
        let reason = match read.why {
            ReadReason::Value => "a stored value names it",
            ReadReason::Argument => "an argument names it",
            ReadReason::PackageRoot => "the package of the script",
            ReadReason::Flag => "--read",
        };
        if !covered(&fact.path) {
            declared.push(Grant {
                path: fact.path.clone(),
                rights: Rights::Read,
                reason: reason.into(),
            });
        }
    }
    declared
}

fn text(path: &Path) -> Result<String, PlanError> {
    path.to_str()
        .map(str::to_owned)
        .ok_or_else(|| PlanError::NotUtf8 {
            path: path.to_owned(),
        })
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
