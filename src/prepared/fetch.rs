//! The start that fetches: outside any host's time limit, told as it goes, and safe to interrupt.
//!
//! The server is started as `run` starts it, confined, but with nothing said to its runner of
//! what is cached, so that it fetches what is new. Once it answers, it is ended. Where its runner
//! can be told to fetch nothing, it is started a second time so, and only if that comes up will
//! runs be told the same.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jiff::Timestamp;

use super::error::PrepareError;
use super::tree::{self, Size};
use super::turn::Turn;
use super::watch::{STALLED, Watch};
use super::{Done, Record, Standing};
use crate::declaration::store::State;
use crate::declaration::{Alias, Digest};
use crate::error::Error;
use crate::launch::home::Home;
use crate::launch::{self, Explanation, LaunchError, Running, descendants};
use crate::plan::runner::{self, given};
use crate::plan::{Caches, Person, RunRequest};
use crate::surface::error::Trouble;
use crate::surface::read::{self, Once, Progress, Settings};
use crate::why::cause::Cause;

/// A bound all the same.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// How long the second start may take: nothing is fetched.
const CACHED: Duration = Duration::from_secs(60);
/// Lines of what it said that are shown where it fails.
const LINES: usize = 40;

/// How far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Growth {
    /// Since the start.
    pub(crate) since: Duration,
    /// What lies in its caches.
    pub(crate) size: Size,
    /// Names of packages that are new.
    pub(crate) fresh: Vec<String>,
}

/// Who waits.
pub(crate) struct Waiting<'a> {
    /// Set when the person does not wait any longer.
    pub(crate) interrupted: &'a AtomicBool,
    /// Told how far it is, about every second.
    pub(crate) tell: &'a dyn Fn(&Growth),
    /// Told once where another prepare of the same home comes first.
    pub(crate) behind: &'a dyn Fn(),
}

/// What was prepared.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Of which declaration.
    pub(crate) digest: Digest,
    /// The private home.
    pub(crate) home: PathBuf,
    /// What is known of it now.
    pub(crate) done: Done,
    /// Whether an earlier prepare left other files.
    pub(crate) changed: bool,
}

/// The places of a runner in its home; of another server the whole home.
pub(super) struct Places {
    /// What is counted.
    pub(super) keeps: &'static [&'static str],
    trees: &'static [&'static str],
    holds: &'static [&'static str],
    /// Whose names are told.
    pub(super) shows: &'static [&'static str],
    /// It can be told to fetch nothing.
    offline: bool,
}

impl Places {
    fn of(explanation: &Explanation) -> Self {
        let declared = &explanation.declared;
        let runner = runner::recognise(&declared.argv());
        let given = runner
            .as_ref()
            .and_then(|runner| Some((runner, given::of(runner)?)));
        match given {
            Some((runner, given)) => Self {
                keeps: given.keeps,
                trees: given.trees,
                holds: given.holds,
                shows: given.shows,
                offline: given.may_go_offline(runner, &given::names(declared)),
            },
            None => Self {
                keeps: &[""],
                trees: &[],
                holds: &[],
                shows: &[],
                offline: false,
            },
        }
    }
}

/// Starts an approved server to fetch what it runs. The record says so from then on, also where
/// it does not come up for a reason that has nothing to do with fetching.
///
/// # Errors
/// What keeps it from being started; [`PrepareError`]. No process of it is left then, and the
/// next prepare goes on from what is there.
pub(crate) fn fetch(
    person: &Person,
    state: &State,
    alias: &Alias,
    waiting: &Waiting<'_>,
) -> Result<Prepared, Error> {
    let permitted = launch::permit(launch::explain(person, &request(alias, Caches::Fill))?)?;
    let explanation = permitted.explanation();
    let before = Record::read(state, &explanation.digest)?;
    let turn = Turn::take(state, &explanation.launch_digest, waiting)?;
    let turn = turn.ok_or_else(|| interrupted(alias))?;
    if turn.waited
        && let Some(prepared) = by_another(state, explanation, before.as_ref())?
    {
        return Ok(prepared);
    }
    let filling = Filling::begin(state, alias, explanation)?;
    let (watch, limit) = (Watch::new(&filling.home, &filling.places, waiting), LONGEST);
    let tell = |told| watch.tell(told);
    let once = greet(
        person,
        alias,
        (Caches::Fill, limit),
        waiting.interrupted,
        &tell,
    )?;
    let failure = match failure(alias, once, watch.is_stalled()) {
        Some(failure) if !failure.is_after_the_fetch() => return Err(failure.into()),
        other => other,
    };
    let offline = failure.is_none() && filling.places.offline && {
        let known = (Caches::Try, CACHED);
        let once = greet(person, alias, known, waiting.interrupted, &|_| {})?;
        once.trouble.is_none()
    };
    let prepared = filling.end(failure.is_none(), offline, waiting.interrupted)?;
    match failure {
        Some(failure) => Err(failure.into()),
        None => Ok(prepared),
    }
}

/// What another prepare of the same declaration fetched since `before` was read.
fn by_another(
    state: &State,
    explanation: &Explanation,
    before: Option<&Record>,
) -> Result<Option<Prepared>, Error> {
    let record = Record::read(state, &explanation.digest)?;
    let home = &explanation.plan.home;
    let record = record.filter(|record| before != Some(record));
    let done = record.as_ref().and_then(|record| record.done(home));
    Ok(done.filter(|done| done.answered).map(|done| Prepared {
        digest: explanation.digest.clone(),
        home: home.clone(),
        done: done.clone(),
        changed: false,
    }))
}

/// The person does not wait any longer.
fn interrupted(alias: &Alias) -> PrepareError {
    PrepareError::NotUp {
        alias: alias.clone(),
        trouble: Trouble::Interrupted,
        cause: None,
        said: Vec::new(),
    }
}

/// A home that is being filled.
struct Filling<'a> {
    state: &'a State,
    alias: &'a Alias,
    digest: Digest,
    home: PathBuf,
    identity: (u64, u64),
    places: Places,
    earlier: Option<Record>,
}

impl<'a> Filling<'a> {
    /// Makes the home, removes what an interrupted prepare put together, and says that it begins.
    fn begin(state: &'a State, alias: &'a Alias, explanation: &Explanation) -> Result<Self, Error> {
        let places = Places::of(explanation);
        let (digest, home) = (explanation.digest.clone(), explanation.plan.home.clone());
        // Made here, so that the record can name it.
        let ids = explanation.lowered.ids;
        drop(Home::open(
            &explanation.plan,
            &explanation.launch_digest,
            ids,
        )?);
        let gone = || look(alias, &home, ErrorKind::NotFound.into());
        let filling = Self {
            state,
            alias,
            identity: tree::identity(&home).ok_or_else(gone)?,
            earlier: Record::read(state, &digest)?,
            digest,
            places,
            home,
        };
        let begun = |record: &Record| record.state == Standing::Begun;
        if filling.earlier.as_ref().is_some_and(begun) {
            let home = &filling.home;
            tree::clear(home, filling.places.trees).map_err(|error| look(alias, home, error))?;
        }
        filling.write(Standing::Begun)?;
        Ok(filling)
    }

    fn write(&self, standing: Standing) -> Result<(), Error> {
        let record = Record::new(&self.digest, self.identity, now(), standing);
        Ok(record.write(self.state)?)
    }

    /// Looks at what was fetched, and says that it was.
    fn end(
        &self,
        answered: bool,
        offline: bool,
        interrupted: &AtomicBool,
    ) -> Result<Prepared, Error> {
        let tree = tree::hashed(&self.home, self.places.holds, tree::BYTES, interrupted);
        let tree = tree.map_err(|error| match error.kind() {
            ErrorKind::Interrupted => self::interrupted(self.alias),
            _ => look(self.alias, &self.home, error),
        })?;
        let done = Done {
            answered,
            offline,
            tree,
        };
        self.write(Standing::Done(done.clone()))?;
        let before = self.earlier.as_ref();
        let before = before.and_then(|record| record.done(&self.home));
        Ok(Prepared {
            changed: before.is_some_and(|before| before.tree != done.tree),
            digest: self.digest.clone(),
            home: self.home.clone(),
            done,
        })
    }
}

fn look(alias: &Alias, home: &Path, source: std::io::Error) -> PrepareError {
    PrepareError::Look {
        alias: alias.clone(),
        path: home.to_owned(),
        source,
    }
}

/// Why it did not come up; nothing where it did.
fn failure(alias: &Alias, once: Once, stalled: bool) -> Option<PrepareError> {
    let Once { trouble, said } = once;
    let trouble = match trouble? {
        Trouble::Interrupted if stalled => Trouble::Mute {
            method: "initialize",
            limit: STALLED,
        },
        other => other,
    };
    let cause = match &trouble {
        Trouble::Interrupted => None,
        _ => Some(Cause::of(&said)),
    };
    Some(PrepareError::NotUp {
        alias: alias.clone(),
        cause: cause.filter(|cause| {
            // One that lives on has not ended without a word.
            *cause != Cause::ExitBeforeHandshake || matches!(trouble, Trouble::Ended(_))
        }),
        trouble,
        said,
    })
}

/// One child, confined, greeted and ended.
fn greet(
    person: &Person,
    alias: &Alias,
    (caches, limit): (Caches, Duration),
    interrupted: &AtomicBool,
    progress: &dyn Fn(Progress),
) -> Result<Once, Error> {
    let failed = |error| Error::from(LaunchError::Spawn(error));
    let runtime = launch::runtime().map_err(failed)?;
    // As `run`: ends what the server starts and leaves.
    descendants::adopt().map_err(failed)?;
    let start = async || -> Result<Running, Error> {
        let explanation = launch::prepare(person, &request(alias, caches))?;
        Ok(launch::launch(&mut launch::permit(explanation)?).await?)
    };
    let settings = Settings {
        alias,
        start: limit,
        again: 0,
        interrupted,
        progress,
        after_server: || drop(descendants::sweep(descendants::AT_LEISURE)),
    };
    let once = runtime.block_on(read::greet(start, &settings, LINES));
    descendants::sweep(descendants::AT_LEISURE).map_err(failed)?;
    once
}

fn request(alias: &Alias, caches: Caches) -> RunRequest {
    RunRequest {
        caches,
        ..RunRequest::of(alias.clone())
    }
}

#[expect(clippy::disallowed_methods, reason = "a record says when")]
fn now() -> Timestamp {
    Timestamp::now()
}
