//! What this machine says. The only reader of the environment; what it asks (`links`, `program`,
//! `installation`, `record`, `git`, `system`) reads the rest.
#![expect(
    clippy::disallowed_methods,
    reason = "the one reader of the environment and of this machine"
)]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use secrecy::ExposeSecret;

use super::installation::{self, Ground, Installation};
use super::links::{follow, settle};
use super::person::listed_home;
pub(crate) use super::person::person;
use super::places::Places;
use super::program::Program;
use super::runner::{self, given};
use super::{
    Grant, HostFacts, Person, PlanError, SearchPath, ask, certificates, git, program, record, shim,
    system,
};
use crate::declaration::{AbsolutePath, EnvName, ReadReason, Stdio};
use crate::text;

/// The search path where `PATH` is unset, or names no absolute directory.
pub(crate) const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Below a directory of this name fnm makes a link for every shell that is started, and removes
/// it with the shell.
const PASSING: &str = "fnm_multishells";

/// The caller's `PATH`, as a server would get it. An entry that fnm made for one shell is
/// replaced by where it leads, since it is gone with the shell; before a directory of a version
/// manager's stand-ins come those of the real programs.
#[must_use]
pub(crate) fn search_path() -> SearchPath {
    let SearchPath(mut entries) = SearchPath::parse(&env::var_os("PATH").unwrap_or_default());
    for entry in &mut entries {
        if entry.components().any(|part| part.as_os_str() == PASSING)
            && let Ok(followed) = follow(entry)
        {
            *entry = followed.resolved;
        }
    }
    let Some(home) = home() else {
        return SearchPath::once(entries);
    };
    let real = |entry: PathBuf| shim::stands_for(&entry, &home).into_iter().chain([entry]);
    SearchPath::once(entries.into_iter().flat_map(real).collect())
}

/// The caller's home, where version managers keep which version is chosen.
fn home() -> Option<PathBuf> {
    let home = PathBuf::from(env::var_os("HOME")?);
    home.is_absolute().then_some(home)
}

/// The real program behind a version manager's stand-in: by its files, else what it said when it
/// was asked, which stands on the search path since.
#[must_use]
pub(crate) fn behind(found: &Path, path: &SearchPath) -> Option<PathBuf> {
    shim::real(found, &home()?).or_else(|| ask::answered(found, path))
}

/// The caller's `PATH` for a command that a person is asked about: a version manager whose files do
/// not say what its stand-in stands for is asked.
#[must_use]
pub(crate) fn search_path_for(command: &str) -> SearchPath {
    match home() {
        Some(home) => ask::resolved(search_path(), command, &home),
        None => search_path(),
    }
}

/// The search path of a declaration that was not approved yet: the stored `PATH`, if one was
/// stored, else the caller's.
#[must_use]
pub(crate) fn search_path_of(stdio: &Stdio) -> SearchPath {
    match stdio.env.get(&EnvName::path()) {
        Some(stored) => SearchPath::parse(OsStr::new(stored.expose_secret())),
        None => search_path(),
    }
}

/// A variable of the caller's environment, if it is set and text.
#[must_use]
pub(crate) fn caller_value(name: &EnvName) -> Option<String> {
    env::var_os(name.as_str())?.into_string().ok()
}

/// The names of all variables of the caller's environment that are text.
#[must_use]
pub(crate) fn caller_names() -> Vec<EnvName> {
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    names.filter_map(|name| name.parse().ok()).collect()
}

impl SearchPath {
    /// The entries of a `PATH`: relative, empty and non-UTF-8 ones dropped, each once, in order.
    /// [`DEFAULT_PATH`] where none is left.
    #[must_use]
    pub(crate) fn parse(text: &OsStr) -> Self {
        let entries = |text: &OsStr| -> Vec<PathBuf> {
            let entries = text
                .as_bytes()
                .split(|byte| *byte == b':')
                .map(|entry| Path::new(OsStr::from_bytes(entry)));
            entries
                .filter(|entry| entry.is_absolute() && entry.to_str().is_some())
                .map(Path::to_owned)
                .collect()
        };
        let named = entries(text);
        Self::once(if named.is_empty() {
            entries(OsStr::new(DEFAULT_PATH))
        } else {
            named
        })
    }

    /// Each entry once, the first of them kept; compared by component.
    pub(super) fn once(entries: Vec<PathBuf>) -> Self {
        let mut seen = BTreeSet::new();
        Self(
            entries
                .into_iter()
                .filter(|entry| seen.insert(entry.clone()))
                .collect(),
        )
    }

    /// The value of `PATH`.
    #[must_use]
    pub(crate) fn to_env(&self) -> String {
        let entries: Vec<&str> = self.0.iter().filter_map(|entry| entry.to_str()).collect();
        entries.join(":")
    }
}

/// The places of `policy/sensitive-directories.json` for a person, links followed.
pub(crate) fn places(person: &Person) -> Places {
    let state = [person.state.clone(), settle(&person.state)];
    let mut homes = vec![person.home.clone()];
    homes.extend(listed_home(person.uid).filter(|home| *home != person.home));
    // Most are not there: what a home holds is listed once, and in a directory that is not there
    // itself nothing is asked for.
    // By their bytes: paths are compared part by part, which takes many times as long.
    let listed: BTreeMap<&OsStr, BTreeSet<OsString>> = homes
        .iter()
        .filter_map(|home| Some((home.as_os_str(), names(home)?)))
        .collect();
    let has = |names: &BTreeSet<OsString>, path: &Path| {
        let name = path.file_name().map(OsStr::to_ascii_lowercase);
        name.is_some_and(|name| names.contains(&name))
    };
    // A directory anywhere below what was listed.
    let is_there = |directory: &Path| {
        let in_listed = directory.ancestors().find_map(|path| {
            let names = listed.get(path.parent()?.as_os_str())?;
            Some(has(names, path))
        });
        in_listed != Some(false) && fs::metadata(directory).is_ok()
    };
    let directories: RefCell<BTreeMap<OsString, bool>> = RefCell::default();
    Places::new(&homes, &state, |path| {
        let above = path.parent()?;
        let there = match listed.get(above.as_os_str()) {
            Some(names) => has(names, path),
            None => {
                let mut known = directories.borrow_mut();
                let known = known.entry(above.into());
                *known.or_insert_with(|| is_there(above))
            }
        };
        let followed = there.then(|| follow(path).ok()).flatten()?;
        Some(followed.resolved)
    })
}

/// What a directory holds, in lower case: a file system may take a name in any. `None` where that
/// cannot be told.
fn names(directory: &Path) -> Option<BTreeSet<OsString>> {
    let entries = fs::read_dir(directory).ok()?;
    let name = |entry: io::Result<fs::DirEntry>| Some(entry.ok()?.file_name().to_ascii_lowercase());
    entries.map(name).collect()
}

/// Everything a plan is made of, beside what every server gets: `system`, from [`system::look_up`].
///
/// # Errors
/// As [`program::find`], [`git::check_stored`] and [`record::look`].
pub(crate) fn gather(
    stdio: &Stdio,
    path: &SearchPath,
    person: &Person,
    system: Vec<Grant>,
) -> Result<HostFacts, PlanError> {
    let places = places(person);
    let program = program::find(&stdio.command, path)?;
    let ground = Ground {
        places: &places,
        system: &system,
        home: &person.home,
    };
    // Stored values are no part of the digest, so none of them brings a program along.
    let named: Vec<PathBuf> = record::named(stdio)
        .into_iter()
        .filter(|(_, why)| *why == ReadReason::Argument)
        .map(|(path, _)| path)
        .collect();
    let Installation { own, linked } = installation::around(&program, path, &named, ground);
    let given = runner::recognise(&stdio.argv()).and_then(|runner| given::of(&runner));
    let settings = given.and_then(|given| given.settings.as_ref());
    let certificates = settings.map(|settings| certificates::named(settings, &program, ground));
    let certificates = certificates.unwrap_or_default();
    let dir = stdio.dir.as_ref().map(AbsolutePath::as_path);
    let checked = dir
        .map(|dir| off_path(dir).and_then(|()| git::check_stored(dir, &places, &own)))
        .transpose()?
        .map(|checked| ((checked.resolved, checked.held), checked.picture));
    let (checked, before) = checked.unzip();
    let (dir, held) = checked.unzip();
    let granted = system.iter().chain(&own).chain(&linked);
    if let Some(grant) = granted
        .into_iter()
        .find(|grant| places.above_all(&grant.path))
    {
        return Err(PlanError::HomeGranted {
            path: grant.path.clone(),
        });
    }
    let reads = record::look(&stdio.reads, &places)?;
    let present = stdio
        .pass
        .iter()
        .filter(|name| caller_value(name).is_some())
        .cloned()
        .collect();
    Ok(HostFacts {
        state: settle(&person.state),
        search_path: path.clone(),
        program,
        installation: own,
        linked,
        certificates,
        system,
        dir,
        held,
        before: before.unwrap_or_default(),
        reads,
        present,
        cached: given::Cached::default(),
        locked: locked(stdio, &places),
    })
}

/// Whether the project that a runner was told of has a lock file; nothing where there is none,
/// or it lies in the directory that the server may write.
fn locked(stdio: &Stdio, places: &Places) -> Option<bool> {
    let runner = runner::recognise(&stdio.argv());
    let named = runner.and_then(|runner| record::project(&runner, places));
    let dir = stdio.dir.as_ref().map(AbsolutePath::as_path);
    let project = named.filter(|project| !dir.is_some_and(|dir| project.starts_with(dir)));
    project.map(|project| given::locks(&project).any(|lock| lock.is_file()))
}

/// Refuses a writable directory that the caller finds programs in, or that holds one: what a
/// server writes there the person runs, whatever the server's own `PATH` is (promise G1).
///
/// # Errors
/// [`PlanError::DirRefused`].
pub(crate) fn off_path(dir: &Path) -> Result<(), PlanError> {
    let leads = |entry: &PathBuf| follow(entry).map_or_else(|_| entry.clone(), |led| led.resolved);
    let dir = leads(&dir.to_owned());
    match search_path()
        .0
        .iter()
        .map(leads)
        .find(|entry| entry.starts_with(&dir))
    {
        Some(entry) => Err(PlanError::DirRefused {
            why: format!("{} is on your PATH", text::path(&entry)),
            path: dir,
        }),
        None => Ok(()),
    }
}

/// The search path's own grants, for `git::check` where the program is not there yet.
pub(crate) fn search_path_grants(path: &SearchPath, person: &Person) -> Vec<Grant> {
    let (places, system) = (places(person), system::look_up().grants);
    let ground = Ground {
        places: &places,
        system: &system,
        home: &person.home,
    };
    installation::around_path(path, ground)
}

/// Where other users choose what runs, each in one line to be shown at the question: a directory
/// of the search path, or the program or its directory, that they may write or that is theirs.
#[must_use]
pub(crate) fn doubts(path: &SearchPath, program: &Program, person: &Person) -> Vec<String> {
    let searched = path.0.iter().map(PathBuf::as_path);
    let program = program.resolved.as_path();
    let looked_at: BTreeSet<&Path> = searched.chain(program.parent()).chain([program]).collect();
    let doubt = |path: &Path| {
        let found = fs::metadata(path).ok()?;
        // In a directory with the sticky bit nobody replaces what is another's.
        let written = found.mode() & 0o002 != 0 && !(found.is_dir() && found.mode() & 0o1000 != 0);
        let foreign = found.uid() != 0 && found.uid() != person.uid;
        match (written, foreign) {
            (true, _) => Some(format!("{} may be written by any user", text::path(path))),
            (_, true) => Some(format!("{} belongs to another user", text::path(path))),
            _ => None,
        }
    };
    looked_at.into_iter().filter_map(doubt).collect()
}

#[cfg(test)]
#[path = "facts_tests.rs"]
mod tests;
