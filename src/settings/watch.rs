//! `settings.json` while a server runs: read again when it is another file than before.
//!
//! One look for each reading of what the host says; the file itself only where its identity, size
//! or times differ. So a rule that is added holds for the next call. Between looks by its path,
//! which cost as much as a twentieth of a short call, the file is held by a descriptor and asked
//! itself: whoever writes to it, replaces, renames or removes it changes its times or its links. Where
//! there is none, its directory is asked, whose times change when one is put there. What neither
//! tells, as another directory in that one's place, is seen a moment later.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use rustix::fs::{Mode, OFlags, open};

use super::{FILE, Settings, SettingsError};
use crate::declaration::store::State;
use crate::plan::Person;

/// How long a descriptor is asked in the path's place.
const ASKED: SignedDuration = SignedDuration::from_millis(50);
/// Two changes within a tick of the kernel's clock may have one time: what changed so recently is
/// looked at by its path.
const SETTLED: SignedDuration = SignedDuration::from_millis(20);

/// What tells one state of a file from another.
type Seen = [i64; 8];

/// The file as it was when it was last read.
pub(crate) struct Watch {
    person: Person,
    path: PathBuf,
    /// `None` where there was none.
    last: Option<Seen>,
    held: Option<Held>,
}

/// The file or, where there is none, its directory.
struct Held {
    file: File,
    seen: Seen,
    /// When the path was last looked at.
    since: Timestamp,
}

impl Held {
    /// What lies there, unless it changed just now; of a link (`NOFOLLOW`) itself, or where it leads.
    fn of(path: &Path, way: OFlags, now: Timestamp) -> Option<Self> {
        let flags = OFlags::PATH | OFlags::CLOEXEC | way;
        let file = File::from(open(path, flags, Mode::empty()).ok()?);
        let seen = seen(&file.metadata().ok()?);
        let [.., second, nanosecond] = seen;
        let changed = Timestamp::new(second, i32::try_from(nanosecond).ok()?).ok()?;
        (now.duration_since(changed) >= SETTLED).then_some(Self {
            file,
            seen,
            since: now,
        })
    }

    fn is_untouched(&self) -> bool {
        self.file
            .metadata()
            .is_ok_and(|now| seen(&now) == self.seen)
    }
}

impl Watch {
    /// Reads the settings, and notices from now on when they change.
    ///
    /// # Errors
    /// A file that is none.
    pub(crate) fn begin(
        person: &Person,
        state: &State,
    ) -> Result<(Self, Settings), crate::error::Error> {
        let path = state.path().join(FILE);
        // Before it is read: what is written meanwhile is another file the next time.
        let last = look(&path);
        let settings = Settings::read(state)?;
        let watch = Self {
            person: person.clone(),
            path,
            last,
            held: None,
        };
        Ok((watch, settings))
    }

    /// The settings, where the file is not what it was.
    pub(crate) fn news(&mut self, now: Timestamp) -> Option<Result<Settings, String>> {
        // The clock may have been set back.
        let asked = |held: &&Held| now.duration_since(held.since).abs() < ASKED;
        if self
            .held
            .as_ref()
            .filter(asked)
            .is_some_and(Held::is_untouched)
        {
            return None;
        }
        let seen = look(&self.path);
        if seen == self.last {
            self.hold(now);
            return None;
        }
        (self.last, self.held) = (seen, None);
        Some(self.read().map_err(|error| error.to_string()))
    }

    /// Takes hold of what the path led to just now.
    fn hold(&mut self, now: Timestamp) {
        if let Some(held) = self.held.as_mut().filter(|held| held.is_untouched()) {
            held.since = now;
            return;
        }
        let held = match (self.last, self.path.parent()) {
            (None, Some(folder)) => Held::of(folder, OFlags::DIRECTORY, now),
            _ => Held::of(&self.path, OFlags::NOFOLLOW, now),
        };
        // Not what came in its place meanwhile.
        self.held = held.filter(|held| {
            look(&self.path) == self.last && self.last.is_none_or(|last| last == held.seen)
        });
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
fn look(path: &Path) -> Option<Seen> {
    std::fs::symlink_metadata(path).ok().as_ref().map(seen)
}

fn seen(found: &Metadata) -> Seen {
    let number = |unsigned: u64| i64::try_from(unsigned).unwrap_or(i64::MAX);
    [
        number(found.dev()),
        number(found.ino()),
        number(found.nlink()),
        number(found.size()),
        found.mtime(),
        found.mtime_nsec(),
        found.ctime(),
        found.ctime_nsec(),
    ]
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
