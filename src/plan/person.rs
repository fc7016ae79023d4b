//! Who runs the supervisor: what the environment and the user database say of them.
#![expect(
    clippy::disallowed_methods,
    reason = "reads HOME, SUPERVISOR_HOME and /etc/passwd"
)]

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use super::links::follow;
use super::{Person, PlanError};

#[cfg(test)]
impl Person {
    /// Whoever runs a test, with an empty home of their own: there as long as what comes beside them.
    pub(crate) fn temporary() -> (tempfile::TempDir, Self) {
        let base = tempfile::tempdir().unwrap();
        let home = base.path().canonicalize().unwrap().join("home");
        fs::create_dir(&home).unwrap();
        let person = Self {
            state: home.join(".supervisor"),
            home,
            uid: geteuid().as_raw(),
        };
        (base, person)
    }
}

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

pub(super) fn person_from(
    home: Option<&OsStr>,
    state: Option<&OsStr>,
) -> Result<Person, PlanError> {
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

/// The home that `/etc/passwd` lists for a user (`passwd(5)`), links followed. The file alone:
/// another user database may be asked over a network, which no start waits for.
pub(crate) fn listed_home(uid: u32) -> Option<PathBuf> {
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
