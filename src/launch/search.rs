//! What a run leaves in the directories its server may write: looked for when it has ended
//! (promises G2 and G3).
//!
//! What stood in `--dir` before was taken down by the check that every start makes (promise G1);
//! nothing is walked twice for it. The private home is looked through for repositories alone:
//! caches lie there, and no program of the person's works in it.
#![expect(clippy::disallowed_methods, reason = "looks after a run, with a limit")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::{Explanation, receipts};
use crate::confine::receipt;
use crate::declaration::Digest;
use crate::declaration::store::State;
use crate::plan::held::Held;
use crate::plan::left::{self, FoundFile};
use crate::plan::walk::{self, ENTRIES, Missed, Picture, Repository, Task};
use crate::text;

/// How long is looked at least, and how much longer than the relay could have taken, where a host
/// waits for our end: under 2 s in all.
pub(crate) const HURRIED: Duration = Duration::from_millis(150);
/// How long is looked where the server ended by itself.
pub(crate) const UNHURRIED: Duration = Duration::from_secs(1);
/// How long `list` looks through one `--dir`.
const LISTED: Duration = Duration::from_millis(200);
/// So many repositories, and so many files, are named; how many more there are is said. More than
/// there are names that are obeyed, so that none at the top is left out for others; and few
/// enough that a receipt full of long paths can be read again.
const NAMED: usize = 150;
/// Coarse file times lag behind the clock by some milliseconds, those of other machines by more.
const LAG: i64 = 2;

/// What is needed to look after a run.
#[derive(Debug)]
pub(crate) struct Search {
    dir: Option<(PathBuf, Held, Picture)>,
    home: Option<PathBuf>,
    since: Timestamp,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Left {
    /// Repositories in `--dir`: there were none before.
    pub(crate) in_dir: Vec<String>,
    /// Repositories in the private home.
    pub(crate) in_home: Vec<InHome>,
    /// What programs obey, and links.
    pub(crate) files: Vec<FoundFile>,
    /// What was not looked at or is not named, in words.
    pub(crate) not_searched: Vec<String>,
}

/// A repository in the private home, which may be a cache of an earlier run.
#[derive(Debug)]
pub(crate) struct InHome {
    /// Where.
    pub(crate) path: String,
    /// It was made or changed in this run.
    pub(crate) fresh: bool,
}

impl Search {
    /// For a run of what was explained, which begins now.
    pub(crate) fn of(explanation: &Explanation) -> Self {
        let plan = &explanation.plan;
        let dir = plan.dir.clone().zip(explanation.held.clone());
        Self {
            dir: dir.map(|(place, held)| (place, held, explanation.before.clone())),
            // A temporary one goes with the run, and all that is in it.
            home: (!explanation.ephemeral).then(|| plan.home.clone()),
            since: Timestamp::now(),
        }
    }

    /// Looks, no longer than this.
    pub(crate) fn look(&self, limit: Duration) -> Left {
        let start = Instant::now();
        let mut found = Left::default();
        if let Some((place, held, before)) = &self.dir {
            // What is left of the time is the home's.
            let until = start + limit.mul_f32(0.7);
            self.dir(place, held, before, until, &mut found);
        }
        if let Some(home) = &self.home {
            self.home(home, start + limit, &mut found);
        }
        found.cut();
        found
    }

    fn dir(&self, place: &Path, held: &Held, before: &Picture, until: Instant, found: &mut Left) {
        let picture = walk::look(
            held,
            place,
            Task {
                obeyed: true,
                first: false,
                entries: ENTRIES,
                until: Some(until),
            },
        );
        found.in_dir = picture
            .repositories
            .iter()
            .map(|repository| left::shown(&left::repository(place, repository)))
            .collect();
        found.files = left::files(before, &picture, held, place);
        found.miss(place, &picture);
    }

    fn home(&self, home: &Path, until: Instant, found: &mut Left) {
        let held = match Held::open(home) {
            Ok(held) => held,
            Err(error) => {
                let home = text::path(home);
                let words = format!("{home} was not looked at: {error}");
                return found.not_searched.push(words);
            }
        };
        let picture = walk::look(
            &held,
            home,
            Task {
                obeyed: false,
                first: false,
                entries: ENTRIES,
                until: Some(until),
            },
        );
        for repository in &picture.repositories {
            let path = left::repository(home, repository);
            let changed = match repository {
                Repository::Marked(_) => fs::symlink_metadata(&path),
                Repository::Bare(_) => fs::symlink_metadata(path.join("HEAD")),
            };
            // One that cannot be told counts as made in this run.
            let fresh = changed.map_or(true, |stat| {
                stat.ctime() >= self.since.as_second().saturating_sub(LAG)
            });
            found.in_home.push(InHome {
                path: left::shown(&path),
                fresh,
            });
        }
        found.miss(home, &picture);
    }
}

impl Left {
    fn miss(&mut self, place: &Path, picture: &Picture) {
        if let Some(missed) = &picture.missed {
            self.not_searched.push(not_all(place, missed));
        }
    }

    fn cut(&mut self) {
        let more = |what: &str, count: usize| {
            count
                .checked_sub(NAMED)
                .filter(|more| *more > 0)
                .map(|more| format!("{more} more {what} are not named"))
        };
        let cut = [
            more("repositories", self.in_dir.len()),
            more("repositories of the private home", self.in_home.len()),
            more("files", self.files.len()),
        ];
        self.in_dir.truncate(NAMED);
        self.in_home.truncate(NAMED);
        self.files.truncate(NAMED);
        self.not_searched.extend(cut.into_iter().flatten());
    }

    /// As a receipt has it.
    pub(crate) fn recorded(self) -> receipt::Found {
        let in_home = self.in_home.into_iter().map(|found| found.path);
        receipt::Found {
            repositories: self.in_dir.into_iter().chain(in_home).collect(),
            files: self.files,
            not_searched: self.not_searched,
        }
    }
}

fn not_all(place: &Path, missed: &Missed) -> String {
    format!("not all of {} was looked at: {missed}", text::path(place))
}

/// What runs of a declaration left that is there yet.
#[derive(Debug, Default)]
pub(crate) struct Remains {
    /// Repositories in its writable directories.
    pub(crate) repositories: BTreeSet<String>,
    /// What programs obey, and links, by path: as the latest receipt names it.
    pub(crate) files: BTreeMap<String, FoundFile>,
    /// What could not be looked at, in words.
    pub(crate) not_searched: Vec<String>,
    /// Receipts that cannot be read, in words.
    pub(crate) unreadable: Vec<String>,
}

/// What is there yet of what the kept receipts of a declaration name; and repositories in its
/// `--dir` by now, which a supervisor that was killed did not tell of.
pub(crate) fn remains(state: &State, digest: &Digest, dir: Option<&Path>) -> Remains {
    let (receipts, unreadable) = receipts::read(state, digest);
    let mut remains = Remains {
        unreadable,
        ..Remains::default()
    };
    for receipt in receipts {
        let repositories = receipt.found_repositories.into_iter();
        remains
            .repositories
            .extend(repositories.filter(|path| may_be_there(path)));
        for file in receipt.found_files {
            if !remains.files.contains_key(&file.path) && may_be_there(&file.path) {
                remains.files.insert(file.path.clone(), file);
            }
        }
    }
    // One that cannot be held does not start either, and says why.
    if let Some((dir, held)) = dir.and_then(|dir| Held::open(dir).ok().map(|held| (dir, held))) {
        let task = Task {
            obeyed: false,
            first: false,
            entries: ENTRIES,
            until: Some(Instant::now() + LISTED),
        };
        let picture = walk::look(&held, dir, task);
        let found = picture.repositories.iter().take(NAMED);
        remains
            .repositories
            .extend(found.map(|found| left::shown(&left::repository(dir, found))));
        if let Some(missed) = &picture.missed {
            remains.not_searched.push(not_all(dir, missed));
        }
    }
    remains
}

/// Whether something is there under a path that a receipt names. Of a name that is no UTF-8 it
/// cannot be told.
fn may_be_there(path: &str) -> bool {
    path.contains(char::REPLACEMENT_CHARACTER) || fs::symlink_metadata(path).is_ok()
}
