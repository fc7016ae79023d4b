//! What this machine says. The only reader of the environment; what it asks (`links`, `program`,
//! `installation`, `record`, `git`) reads the rest.
#![expect(
    clippy::disallowed_methods,
    reason = "the one reader of the environment and of this machine"
)]

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;
use secrecy::ExposeSecret;

use super::installation::{self, Ground, Installation};
use super::links::{follow, settle};
use super::places::Places;
use super::program::Program;
use super::{Grant, HostFacts, Person, PlanError, SearchPath, git, grants, program, record};
use crate::confine::linux::apply;
use crate::declaration::{AbsolutePath, EnvName, ReadReason, Stdio};
use crate::text;

/// The search path where `PATH` is unset, or names no absolute directory.
pub(crate) const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Below a directory of this name fnm makes a link for every shell that is started, and removes
/// it with the shell.
const PASSING: &str = "fnm_multishells";
/// As many entries of a system directory are looked at before it is left out (as root only).
const ENTRIES: usize = 10_000;

/// Who runs the supervisor: `HOME`, and `SUPERVISOR_HOME` or else `HOME/.supervisor`, which may
/// not be there yet.
///
/// # Errors
/// [`PlanError::NoHome`] where `HOME` is unset, relative or no directory;
/// [`PlanError::RelativeState`].
pub(crate) fn person() -> Result<Person, PlanError> {
    person_from(
        env::var_os("HOME").as_deref(),
        env::var_os("SUPERVISOR_HOME").as_deref(),
    )
}

fn person_from(home: Option<&OsStr>, state: Option<&OsStr>) -> Result<Person, PlanError> {
    let home = home
        .map(Path::new)
        .filter(|home| home.is_absolute())
        .ok_or(PlanError::NoHome)?;
    let home = follow(home).map_err(|_| PlanError::NoHome)?.resolved;
    if !home.is_dir() {
        return Err(PlanError::NoHome);
    }
    let state = match state.filter(|state| !state.is_empty()).map(Path::new) {
        Some(state) if state.is_absolute() => state.to_owned(),
        Some(state) => {
            return Err(PlanError::RelativeState {
                path: state.to_owned(),
            });
        }
        None => home.join(".supervisor"),
    };
    Ok(Person {
        home,
        state,
        uid: geteuid().as_raw(),
    })
}

/// The caller's `PATH`, as a server would get it. An entry that fnm made for one shell is
/// replaced by where it leads, since it is gone with the shell.
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
    SearchPath::once(entries)
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
    fn once(entries: Vec<PathBuf>) -> Self {
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
///
/// # Errors
/// [`PlanError::Data`].
pub(crate) fn places(person: &Person) -> Result<Places, PlanError> {
    let state = [person.state.clone(), settle(&person.state)];
    let mut homes = vec![person.home.clone()];
    homes.extend(listed_home(person.uid).filter(|home| *home != person.home));
    // Most are not there: one question tells, where `follow` asks for every part.
    Places::new(&homes, &state, |path| {
        fs::symlink_metadata(path)
            .ok()
            .and_then(|_| follow(path).ok())
            .map(|followed| followed.resolved)
    })
}

/// The home that `/etc/passwd` lists for a user (`passwd(5)`), links followed. The file alone:
/// another user database may be asked over a network, which no start waits for.
fn listed_home(uid: u32) -> Option<PathBuf> {
    let text = fs::read_to_string("/etc/passwd").ok()?;
    let home = text.lines().find_map(|line| {
        let mut fields = line.split(':').skip(2);
        let listed: u32 = fields.next()?.parse().ok()?;
        (listed == uid).then(|| fields.nth(2)).flatten()
    })?;
    let home = Path::new(home);
    let usable = home.is_absolute() && home != Path::new("/");
    usable
        .then(|| follow(home).ok())
        .flatten()
        .map(|followed| followed.resolved)
}

/// Everything a plan is made of.
///
/// # Errors
/// As [`program::find`], [`git::check_stored`] and [`record::look`]; [`PlanError::Data`].
pub(crate) fn gather(
    stdio: &Stdio,
    path: &SearchPath,
    person: &Person,
) -> Result<HostFacts, PlanError> {
    let places = places(person)?;
    let program = program::find(&stdio.command, path)?;
    let system = system(person)?;
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
    let dir = stdio.dir.as_ref().map(AbsolutePath::as_path);
    let (dir, held) = dir
        .map(|dir| off_path(dir).and_then(|()| git::check_stored(dir, &places, &own)))
        .transpose()?
        .unzip();
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
        system,
        dir,
        held,
        reads,
        present,
        kernel: apply::kernel_facts(),
    })
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
///
/// # Errors
/// [`PlanError::Data`].
pub(crate) fn search_path_grants(
    path: &SearchPath,
    person: &Person,
) -> Result<Vec<Grant>, PlanError> {
    let (places, system) = (places(person)?, system(person)?);
    let ground = Ground {
        places: &places,
        system: &system,
        home: &person.home,
    };
    Ok(installation::around_path(path, ground))
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

/// The system's places that are here, followed. What others may not read is left out: as root
/// the directories are looked through for it, and granted in part where they hold some.
///
/// # Errors
/// [`PlanError::Data`].
pub(crate) fn system(person: &Person) -> Result<Vec<Grant>, PlanError> {
    let mut found = Vec::new();
    for place in grants::system_places()? {
        for path in expand(&place.path) {
            let Ok(followed) = follow(&path) else {
                continue;
            };
            let mut left = ENTRIES;
            // Only these hold what is the administrator's to hide.
            let look_through = person.uid == 0
                && ["/etc", "/var"]
                    .iter()
                    .any(|tree| followed.resolved.starts_with(tree));
            let (whole, parts) = if look_through {
                open_to_others(&followed.resolved, &mut left)
            } else {
                (readable_by_others(&followed.resolved), Vec::new())
            };
            let paths = if whole {
                vec![followed.resolved]
            } else {
                parts
            };
            found.extend(
                paths
                    .into_iter()
                    .filter(|path| path.to_str().is_some())
                    .map(|path| Grant {
                        path,
                        rights: place.rights,
                        reason: place.reason.clone(),
                    }),
            );
        }
    }
    Ok(found)
}

/// A path of the data; one that ends in `*` stands for all that begin so.
fn expand(path: &Path) -> Vec<PathBuf> {
    let start = path
        .file_name()
        .and_then(OsStr::to_str)
        .and_then(|name| name.strip_suffix('*'));
    let (Some(start), Some(parent)) = (start, path.parent()) else {
        return vec![path.to_owned()];
    };
    let names = fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name());
    let mut paths: Vec<PathBuf> = names
        .filter(|name| name.to_str().is_some_and(|name| name.starts_with(start)))
        .map(|name| parent.join(name))
        .collect();
    paths.sort();
    paths
}

fn readable_by_others(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| {
        let needed = if found.is_dir() { 0o005 } else { 0o004 };
        found.permissions().mode() & needed == needed
    })
}

/// Whether others may read all of a path, and if not, the largest parts of it that they may.
/// Links are passed over: what they lead to is granted or not for itself.
fn open_to_others(path: &Path, left: &mut usize) -> (bool, Vec<PathBuf>) {
    let is_dir = path.is_dir();
    if !is_dir || !readable_by_others(path) {
        return (readable_by_others(path), Vec::new());
    }
    let (mut whole, mut parts) = (true, Vec::new());
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        *left = left.saturating_sub(1);
        if *left == 0 {
            return (false, Vec::new());
        }
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            continue;
        }
        match open_to_others(&entry.path(), left) {
            (true, _) => parts.push(entry.path()),
            (false, some) => {
                whole = false;
                parts.extend(some);
            }
        }
    }
    (whole, parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Rights;
    use proptest::prelude::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn who_a_person_is() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        fs::create_dir(base.join("home")).unwrap();
        symlink("home", base.join("link")).unwrap();
        fs::write(base.join("file"), "").unwrap();
        let link = base.join("link");
        let person = person_from(Some(link.as_os_str()), None).unwrap();
        assert_eq!(
            (person.home, person.state),
            (base.join("home"), base.join("home/.supervisor"))
        );
        let elsewhere = base.join("not/there");
        let person = person_from(Some(link.as_os_str()), Some(elsewhere.as_os_str())).unwrap();
        assert_eq!(person.state, elsewhere);
        assert!(person_from(Some(link.as_os_str()), Some(OsStr::new(""))).is_ok());
        let relative = person_from(Some(link.as_os_str()), Some(OsStr::new("state")));
        assert!(matches!(relative, Err(PlanError::RelativeState { .. })));
        for bad in [
            "",
            "home",
            "/no/such/home",
            base.join("file").to_str().unwrap(),
        ] {
            assert!(
                matches!(
                    person_from(Some(OsStr::new(bad)), None),
                    Err(PlanError::NoHome)
                ),
                "{bad}"
            );
        }
        assert!(matches!(person_from(None, None), Err(PlanError::NoHome)));
    }

    #[test]
    fn search_paths() {
        let parsed = |text: &str| SearchPath::parse(OsStr::new(text)).to_env();
        assert_eq!(parsed("/a::bin:./x:/b:/a/:/c:~/bin:"), "/a:/b:/c");
        assert_eq!(parsed("/with space:/a=b"), "/with space:/a=b");
        for none in ["", ":", "bin:.", "::"] {
            assert_eq!(parsed(none), DEFAULT_PATH);
        }
        assert_eq!(
            SearchPath::parse(OsStr::from_bytes(b"/a:/\xff:/b")).to_env(),
            "/a:/b"
        );
    }

    #[test]
    fn where_others_choose_what_runs() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let person = Person {
            home: base.clone(),
            state: base.join(".supervisor"),
            uid: geteuid().as_raw(),
        };
        for (dir, mode) in [("own", 0o755), ("open", 0o777), ("sticky", 0o1777)] {
            fs::create_dir(base.join(dir)).unwrap();
            fs::set_permissions(base.join(dir), fs::Permissions::from_mode(mode)).unwrap();
        }
        let entries = ["own", "open", "sticky", "gone"].map(|dir| base.join(dir));
        let path = SearchPath(entries.into_iter().chain(["/usr/bin".into()]).collect());
        let program = program::find("env", &path).unwrap();
        let open = format!("{} may be written by any user", base.join("open").display());
        assert_eq!(doubts(&path, &program, &person), [open]);
        let stranger = Person {
            uid: 4_000_000,
            ..person
        };
        let foreign = if geteuid().is_root() { 1 } else { 3 };
        assert_eq!(doubts(&path, &program, &stranger).len(), foreign);
    }

    proptest! {
        #[test]
        fn search_paths_read_back(text in "[/a-c.:~ ]{0,40}") {
            let path = SearchPath::parse(OsStr::new(&text));
            prop_assert!(!path.0.is_empty() && path.0.iter().all(|entry| entry.is_absolute()));
            prop_assert_eq!(&SearchPath::parse(OsStr::new(&path.to_env())), &path);
        }
    }

    /// P1, for root too: no system grant holds a file that others may not read.
    #[test]
    fn the_system_places_here_are_open_to_all() {
        let person = Person {
            home: "/nowhere".into(),
            state: "/nowhere/.supervisor".into(),
            uid: 0,
        };
        let system = system(&person).unwrap();
        assert!(
            system.iter().any(|grant| grant.path == Path::new("/usr") && grant.rights == Rights::ReadExecute)
        );
        for name in ["null", "zero", "full", "random", "urandom"] {
            let device = Path::new("/dev").join(name);
            assert!(
                system
                    .iter()
                    .any(|grant| grant.path == device && grant.rights == Rights::Device),
                "{name}"
            );
        }
        for grant in &system {
            assert_eq!(
                follow(&grant.path).unwrap().resolved,
                grant.path,
                "canonical"
            );
            assert!(readable_by_others(&grant.path), "{grant:?}");
            if grant.path.starts_with("/etc") {
                let mut left = usize::MAX;
                assert!(open_to_others(&grant.path, &mut left).0, "{grant:?}");
            }
        }
        for secret in [
            "/etc/shadow",
            "/etc/gshadow",
            "/etc/ssl/private",
            "/etc/sudoers",
            "/etc",
        ] {
            assert!(
                !system
                    .iter()
                    .any(|grant| Path::new(secret).starts_with(&grant.path)),
                "{secret}"
            );
        }
    }

    #[test]
    fn what_others_may_not_read_is_left_out_as_root() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let file = |path: &str, mode| {
            fs::create_dir_all(base.join(path).parent().unwrap()).unwrap();
            fs::write(base.join(path), "").unwrap();
            fs::set_permissions(base.join(path), fs::Permissions::from_mode(mode)).unwrap();
        };
        let dir = |path: &str, mode| {
            fs::set_permissions(base.join(path), fs::Permissions::from_mode(mode)).unwrap()
        };
        dir("", 0o755);
        file("a/open", 0o644);
        file("a/b/open", 0o644);
        dir("a", 0o755);
        dir("a/b", 0o755);
        symlink("/etc/shadow", base.join("a/link")).unwrap();
        assert!(open_to_others(&base, &mut 100).0);
        file("a/closed", 0o600);
        assert_eq!(
            open_to_others(&base, &mut 100),
            (
                false,
                vec![base.join("a/b"), base.join("a/open")]
                    .into_iter()
                    .collect()
            )
        );
        dir("a/b", 0o700);
        assert_eq!(
            open_to_others(&base, &mut 100),
            (false, vec![base.join("a/open")])
        );
        assert_eq!(open_to_others(&base, &mut 2), (false, vec![]));
    }
}
