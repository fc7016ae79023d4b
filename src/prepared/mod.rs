//! What a runner fetched, in the private home: that it is there, so that a start within a host's
//! time limit finds it.
//!
//! [`fetch`] starts the server for it, outside any time limit; [`tree`] counts and hashes what is
//! there. The [`Record`] of it stands in `prepared/<first 16 digits of the digest>.json`: written
//! as begun before anything is fetched and as done after, so that an interrupted fetch is known.
//! A home that was removed or replaced since is not the one that was filled.
//!
//! Beside the path: `prepare`, `add` and `approve` write it, `launch::prepare` reads it.

pub(crate) mod error;
pub(crate) mod fetch;
pub(crate) mod tree;
mod turn;
mod watch;

use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::declaration::store::State;
use crate::declaration::{Alias, Digest, Stdio};
use crate::launch::LaunchError;
use crate::plan::runner::given::Cached;
use crate::plan::runner::{self, Runner};
use crate::plan::{Caches, RunRequest};
use crate::run::RunError;
use crate::run::written::{self, OfDeclaration, VERSION};

/// The folder of the state directory.
const FOLDER: &str = "prepared";

/// What is known of one declaration's fetched files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    version: u32,
    digest: Digest,
    /// Which directory was filled: its device and inode.
    home: (u64, u64),
    /// When.
    pub(crate) time: Timestamp,
    /// How far it came.
    pub(crate) state: Standing,
}

/// How far a prepare came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Standing {
    /// It was begun, and has not come to its end.
    Begun,
    /// All was fetched.
    Done(Done),
}

/// What was fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Done {
    /// Whether the server answered.
    pub(crate) answered: bool,
    /// Whether it came up by what is cached alone.
    pub(crate) offline: bool,
    /// What lies there.
    pub(crate) tree: tree::Tree,
}

impl OfDeclaration for Record {
    fn of(&self) -> (u32, &Digest) {
        (self.version, &self.digest)
    }
}

impl Record {
    /// A record of now.
    pub(crate) fn new(digest: &Digest, home: (u64, u64), time: Timestamp, state: Standing) -> Self {
        Self {
            version: VERSION,
            digest: digest.clone(),
            home,
            time,
            state,
        }
    }

    /// The record of a declaration, if there is one.
    ///
    /// # Errors
    /// A file that cannot be trusted or read, or is another declaration's.
    pub(crate) fn read(state: &State, digest: &Digest) -> Result<Option<Self>, RunError> {
        let Some(folder) = state.folder() else {
            return Ok(None);
        };
        let Some(folder) = folder.folder(FOLDER, false)? else {
            return Ok(None);
        };
        written::read(&folder, &name(digest), digest)
    }

    /// Writes it.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn write(&self, state: &State) -> Result<(), RunError> {
        let text = written::text(self)?;
        let locked = state.make()?.lock()?;
        Ok(locked.write_in(FOLDER, &name(&self.digest), &text)?)
    }

    /// What was fetched, where all was and the home is still the one.
    pub(crate) fn done(&self, home: &Path) -> Option<&Done> {
        match &self.state {
            Standing::Done(done) if tree::identity(home) == Some(self.home) => Some(done),
            _ => None,
        }
    }
}

/// What a start relies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// What is cached in the home.
    pub(crate) cached: Cached,
    /// The runner that has to fetch what it runs, since no prepare did. A home of one run alone
    /// is filled by that run in any case.
    pub(crate) unprepared: Option<&'static str>,
}

/// What a request relies on, in this home.
pub(crate) fn told(
    request: &RunRequest,
    declared: &Stdio,
    record: Option<&Record>,
    home: &Path,
) -> Told {
    let found = cached(record, home);
    Told {
        cached: match request.caches {
            Caches::Fill => Cached::Unknown,
            Caches::Try => Cached::Offline,
            Caches::AsPrepared | Caches::IfPrepared => found,
        },
        unprepared: fetching(declared)
            .filter(|_| found == Cached::Unknown && !request.ephemeral)
            .map(|runner| runner.name),
    }
}

/// The runner of a declaration, where it may fetch what it runs.
fn fetching(declared: &Stdio) -> Option<Runner> {
    runner::recognise(&declared.argv()).filter(|runner| runner.fetches)
}

/// Whether what a declaration runs was fetched; by which runner it has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// Nothing is fetched.
    Unneeded,
    /// It was.
    Prepared,
    /// A run is refused until it is.
    Unprepared(&'static str),
}

impl Readiness {
    /// What the state directory says.
    ///
    /// # Errors
    /// As [`Record::read`].
    pub(crate) fn of(
        state: &State,
        digest: &Digest,
        declared: &Stdio,
        home: &Path,
    ) -> Result<Self, RunError> {
        let Some(runner) = fetching(declared) else {
            return Ok(Self::Unneeded);
        };
        let record = Record::read(state, digest)?;
        Ok(match cached(record.as_ref(), home) {
            Cached::Unknown => Self::Unprepared(runner.name),
            Cached::Prepared | Cached::Offline => Self::Prepared,
        })
    }

    /// Why a run is refused, if it is.
    pub(crate) fn refused(self, alias: &Alias) -> Option<LaunchError> {
        match self {
            Self::Unprepared(runner) => Some(LaunchError::NotPrepared {
                alias: alias.clone(),
                runner,
            }),
            Self::Unneeded | Self::Prepared => None,
        }
    }

    /// The word.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Unneeded => "unneeded",
            Self::Prepared => "prepared",
            Self::Unprepared(_) => "unprepared",
        }
    }
}

fn cached(record: Option<&Record>, home: &Path) -> Cached {
    match record.and_then(|record| record.done(home)) {
        Some(done) if done.offline => Cached::Offline,
        Some(_) => Cached::Prepared,
        None => Cached::Unknown,
    }
}

fn name(digest: &Digest) -> String {
    format!("{}.json", digest.first_16())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make directories")]
mod tests {
    use super::*;

    fn digest() -> Digest {
        "ab".repeat(32).parse().unwrap()
    }

    fn record(state: Standing, home: &Path) -> Record {
        let home = tree::identity(home).unwrap();
        Record::new(&digest(), home, Timestamp::UNIX_EPOCH, state)
    }

    fn done(offline: bool) -> Standing {
        Standing::Done(Done {
            answered: true,
            offline,
            tree: tree::Tree::default(),
        })
    }

    #[test]
    fn a_run_relies_on_a_finished_fetch_into_this_very_home() {
        let base = tempfile::tempdir().unwrap();
        let (home, other) = (base.path().join("home"), base.path().join("other"));
        std::fs::create_dir(&home).unwrap();
        std::fs::create_dir(&other).unwrap();
        assert_eq!(cached(None, &home), Cached::Unknown);
        for (state, expected) in [
            (Standing::Begun, Cached::Unknown),
            (done(false), Cached::Prepared),
            (done(true), Cached::Offline),
        ] {
            let record = record(state, &home);
            assert_eq!(cached(Some(&record), &home), expected);
            assert_eq!(cached(Some(&record), &other), Cached::Unknown);
            assert_eq!(
                cached(Some(&record), &base.path().join("gone")),
                Cached::Unknown
            );
            let text = serde_json::to_string(&record).unwrap();
            assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
        }
        let text = r#"{"version":1,"digest":"x","home":[1,2],"time":"1970-01-01T00:00:00Z","state":"odd"}"#;
        assert!(serde_json::from_str::<Record>(text).is_err());
    }
}
