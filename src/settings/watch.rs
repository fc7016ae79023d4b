//! `settings.json` while a server runs: read again when it is another file than before.
//!
//! One look at the file for each reading of what the host says; the file itself only where its
//! identity, size or times differ. So a rule that is added holds for the next call.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use super::{FILE, Settings, SettingsError};
use crate::declaration::store::State;
use crate::plan::Person;

/// What tells one state of the file from another; `None` where there is none.
type Look = Option<[i64; 7]>;

/// The file as it was when it was last read.
pub(crate) struct Watch {
    person: Person,
    path: PathBuf,
    last: Look,
}

impl Watch {
    /// Reads the settings, and notices from now on when they change.
    ///
    /// # Errors
    /// A file that is none.
    pub(crate) fn begin(person: &Person) -> Result<(Self, Settings), crate::error::Error> {
        let state = State::open(person)?;
        let path = state.path().join(FILE);
        // Before it is read: what is written meanwhile is another file the next time.
        let last = look(&path);
        let settings = Settings::read(&state)?;
        let person = person.clone();
        Ok((Self { person, path, last }, settings))
    }

    /// The settings, where the file is not what it was.
    pub(crate) fn news(&mut self) -> Option<Result<Settings, String>> {
        let now = look(&self.path);
        if now == self.last {
            return None;
        }
        self.last = now;
        Some(self.read().map_err(|error| error.to_string()))
    }

    fn read(&self) -> Result<Settings, SettingsError> {
        let state = State::open(&self.person).map_err(|error| SettingsError::Unreadable {
            path: self.path.clone(),
            problem: error.to_string(),
        })?;
        Settings::read(&state)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "looks at the one file that it watches"
)]
fn look(path: &std::path::Path) -> Look {
    let found = std::fs::symlink_metadata(path).ok()?;
    let number = |unsigned: u64| i64::try_from(unsigned).unwrap_or(i64::MAX);
    Some([
        number(found.dev()),
        number(found.ino()),
        number(found.size()),
        found.mtime(),
        found.mtime_nsec(),
        found.ctime(),
        found.ctime_nsec(),
    ])
}
