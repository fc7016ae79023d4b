//! Reads a server's surface from throw-away children, confined as `run` confines.
//!
//! A surface may depend on what the client declares and on the era it speaks, and a server may
//! lock to the first word it hears, so each reading has a child of its own. To keep the number
//! small, each era is read with nothing declared and with all of it; only where these two differ
//! is each capability read alone. The first reading is made again: what differs then differs from
//! start to start. A server of one era so costs four starts (the last asks for the other era), one
//! of both five, and one that varies four more in each era it does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::canonical::{Item, Kind, Surface};
use super::error::{SurfaceError, Trouble};
use super::reading::{Declared, Era, Reading};
use super::session::{Budget, Opening, Read, Session};
use super::wire::Wire;
use crate::declaration::{Alias, ItemDigest};
use crate::error::Error;
use crate::launch::{LaunchError, Running};
use crate::relay::Discover;

/// Bytes read of all children together.
pub const BYTES: u64 = 64 << 20;
/// Time of all children together, each from its first answer.
pub const TALK: Duration = Duration::from_secs(30);
/// How long the first child may take to its first answer: a runner may fetch what it runs.
pub const START: Duration = Duration::from_secs(300);
/// How long a later one may: it finds what the first fetched.
const LATER: Duration = Duration::from_secs(60);
/// How long a server is asked for an era it may know nothing of.
const PROBE: Duration = Duration::from_secs(15);
/// How long a child that is started once is listened to after it said all.
const STAY: Duration = Duration::from_secs(2);
/// Bytes of items that are kept; the file that holds them is no larger than any of ours.
const KEPT: u64 = 12 << 20;
/// Lines of the server's stderr that are shown where it fails.
const LINES: usize = 12;

/// What happens meanwhile, for the person who waits.
#[derive(Clone, Copy, Debug)]
pub enum Progress {
    /// A child is started.
    Starting(Reading),
    /// Another is started, to be asked the same.
    Again(Reading),
    /// It has not answered yet, for so long; told about every second.
    Waiting {
        /// Since its start.
        since: Duration,
        /// No other has answered yet either: a runner may be fetching.
        first: bool,
    },
}

/// What an inspection must know.
pub struct Settings<'a> {
    /// The person's name for the server.
    pub alias: &'a Alias,
    /// How long the first child may take to its first answer.
    pub start: Duration,
    /// How often the first reading is made again, to see whether it says the same.
    pub again: usize,
    /// Set when the person does not wait any longer.
    pub interrupted: &'a AtomicBool,
    /// Told what happens.
    pub progress: &'a dyn Fn(Progress),
    /// Called after each child's end: ends what left its group.
    pub after_server: fn(),
}

/// What was read.
#[derive(Debug, Default)]
pub struct Seen {
    /// Every item of every reading.
    pub surface: Surface,
    /// Where an item was seen.
    pub places: BTreeMap<ItemDigest, BTreeSet<Reading>>,
    /// Every reading there was.
    pub readings: BTreeSet<Reading>,
    /// What was not the same in two children that were asked the same: it differs from start to
    /// start.
    pub unstable: BTreeSet<(Kind, String)>,
    /// Entries of lists that have no name to be asked for by; no host can call them.
    pub nameless: usize,
    /// Lists that the server answered with an error, by method, and its code: what they hold was
    /// not seen.
    pub refused: BTreeSet<(&'static str, i64)>,
    /// How the server took `server/discover`, where that showed.
    pub discover: Option<Discover>,
}

impl Seen {
    /// The readings an item was seen in, where that is not all.
    #[must_use]
    pub fn only_in(&self, item: &Item) -> Option<&BTreeSet<Reading>> {
        let places = self.places.get(item.pin())?;
        (places != &self.readings).then_some(places)
    }

    /// What is not offered since it has no name, or was not seen; a sentence each.
    pub(super) fn unseen(&self) -> Vec<String> {
        let nameless = (self.nameless > 0).then(|| {
            let count = self.nameless;
            format!(
                "{count} entries of its lists have no name to be asked for by, and are not offered"
            )
        });
        let refused = self.refused.iter().map(|(method, code)| {
            format!("it answers {method} with the error {code}: what that lists was not seen, and is not offered")
        });
        nameless.into_iter().chain(refused).collect()
    }

    /// Whether it differs from start to start.
    #[must_use]
    pub fn is_unstable(&self, item: &Item) -> bool {
        self.unstable
            .contains(&(item.kind(), item.name().to_owned()))
    }

    /// Compares what a reading brings with what the same brought before.
    fn compare(&mut self, reading: Reading, read: &Read) {
        let now: BTreeSet<&ItemDigest> = read.items.iter().map(Item::pin).collect();
        let before = self.places.iter().filter(|(_, of)| of.contains(&reading));
        let before: BTreeSet<&ItemDigest> = before.map(|(pin, _)| pin).collect();
        let other = |item: &&Item| now.contains(item.pin()) != before.contains(item.pin());
        let items = read.items.iter().chain(self.surface.iter());
        let key = |item: &Item| (item.kind(), item.name().to_owned());
        let differing: Vec<_> = items.filter(other).map(key).collect();
        self.unstable.extend(differing);
    }

    fn add(&mut self, reading: Reading, read: Read) -> Result<(), Trouble> {
        if !self.readings.insert(reading) {
            self.compare(reading, &read);
        }
        self.nameless = self.nameless.max(read.nameless);
        self.refused.extend(read.refused);
        for item in read.items {
            let places = self.places.entry(item.pin().clone()).or_default();
            places.insert(reading);
            self.surface.insert(item);
        }
        let bytes: usize = self
            .surface
            .iter()
            .map(|item| item.item().to_string().len().saturating_add(256))
            .sum();
        if u64::try_from(bytes).is_ok_and(|bytes| bytes <= KEPT) {
            Ok(())
        } else {
            Err(Trouble::TooLarge { limit: KEPT })
        }
    }

    /// Whether nothing depends on what is declared in that era, as far as it was read.
    fn is_steady(&self, era: Era) -> bool {
        let of_era = |reading: &&Reading| reading.era == era;
        let all = self.readings.iter().filter(of_era).count();
        let steady = |item: &&Item| !self.is_unstable(item);
        let places = self.surface.iter().filter(steady);
        let mut places = places.filter_map(|item| self.places.get(item.pin()));
        places.all(|places| {
            let count = places.iter().filter(of_era).count();
            count == 0 || count == all
        })
    }
}

/// Reads the whole surface; `start` starts the server, permitted anew each time.
///
/// # Errors
/// What keeps the server from being started; [`SurfaceError::Unread`]. No child is left then.
pub async fn read(
    start: impl AsyncFnMut() -> Result<Running, Error>,
    settings: &Settings<'_>,
) -> Result<Seen, Error> {
    let mut reader = Reader {
        start,
        settings,
        budget: Budget {
            bytes: BYTES,
            talk: TALK,
            whole: TALK,
            most: BYTES,
        },
        started: false,
        repeated: false,
        seen: Seen::default(),
    };
    let legacy = reader.era(Era::Legacy).await?;
    let modern = reader.era(Era::Modern).await;
    match (legacy, modern) {
        (_, Err(error)) => Err(error),
        // It speaks neither: what it did to the first word says most.
        (Some(unread), Ok(Some(_))) => Err(unread.into()),
        (_, Ok(unread)) => {
            reader.seen.discover = discover(unread.as_ref());
            Ok(reader.seen)
        }
    }
}

/// What the opening of the modern era came to.
fn discover(unread: Option<&SurfaceError>) -> Option<Discover> {
    match unread {
        None => Some(Discover::Answers),
        Some(SurfaceError::Further { .. }) => None,
        Some(SurfaceError::Unread { trouble, .. }) => match trouble {
            Trouble::Refused { .. } => Some(Discover::Refuses),
            Trouble::Mute { .. } => Some(Discover::Silent),
            Trouble::Ended(_) | Trouble::Closed => Some(Discover::Exits),
            _ => None,
        },
    }
}

/// How far one child came.
#[derive(Debug)]
pub struct Once {
    /// What kept it from saying all.
    pub trouble: Option<Trouble>,
    /// The last lines it said beside the protocol, escaped.
    pub said: Vec<String>,
}

/// Starts one child, greets it in the legacy era with nothing declared, asks for its lists, and
/// stays a moment to see whether it does.
///
/// # Errors
/// What keeps the server from being started. No child is left then.
pub async fn once(
    start: impl AsyncFnOnce() -> Result<Running, Error>,
    settings: &Settings<'_>,
    lines: usize,
) -> Result<Once, Error> {
    child(start, settings, lines, true).await
}

/// Starts one child and greets it, to see that it answers.
///
/// # Errors
/// As [`once`].
pub(crate) async fn greet(
    start: impl AsyncFnOnce() -> Result<Running, Error>,
    settings: &Settings<'_>,
    lines: usize,
) -> Result<Once, Error> {
    let mut once = child(start, settings, lines, false).await?;
    // Of the other era, or none for a stranger: it is there and answers.
    once.trouble
        .take_if(|trouble| matches!(trouble, Trouble::Refused { .. }));
    Ok(once)
}

async fn child(
    start: impl AsyncFnOnce() -> Result<Running, Error>,
    settings: &Settings<'_>,
    lines: usize,
    listen: bool,
) -> Result<Once, Error> {
    let mut budget = Budget {
        bytes: BYTES,
        talk: TALK,
        whole: TALK,
        most: BYTES,
    };
    let reading = Reading {
        era: Era::Legacy,
        declared: Declared::Nothing,
    };
    let wire = Wire::new(start().await?).map_err(LaunchError::Spawn)?;
    let mut session = Session::new(
        wire,
        reading,
        (settings.start, true),
        &mut budget,
        settings.interrupted,
        settings.progress,
    );
    let trouble = match session.open().await {
        Ok(Opening::Spoken(_)) if !listen => None,
        Ok(Opening::Spoken(opening)) => match session.read(&opening).await {
            Ok(_) => session.stay(STAY).await.err(),
            Err(trouble) => Some(trouble),
        },
        Ok(Opening::NotSpoken(trouble)) | Err(trouble) => Some(trouble),
    };
    let said = session.end(lines).await;
    (settings.after_server)();
    Ok(Once { trouble, said })
}

struct Reader<'a, S> {
    start: S,
    settings: &'a Settings<'a>,
    budget: Budget,
    /// Whether a child has answered before.
    started: bool,
    /// Whether one was asked what another had been.
    repeated: bool,
    seen: Seen,
}

impl<S: AsyncFnMut() -> Result<Running, Error>> Reader<'_, S> {
    /// All readings of one era; why it is not spoken, where it is not. The first that is spoken
    /// is read again, to see whether it says the same.
    async fn era(&mut self, era: Era) -> Result<Option<SurfaceError>, Error> {
        let reading = |declared| Reading { era, declared };
        let first = self.reading(reading(Declared::Nothing)).await?;
        if let Some(unread) = first {
            return Ok(Some(unread));
        }
        if !self.repeated {
            self.repeated = true;
            for _ in 0..self.settings.again {
                self.must(reading(Declared::Nothing)).await?;
                if !self.seen.unstable.is_empty() {
                    break;
                }
            }
        }
        self.must(reading(Declared::All)).await?;
        if !self.seen.is_steady(era) {
            for declared in Declared::SINGLE {
                self.must(reading(declared)).await?;
            }
        }
        Ok(None)
    }

    /// A reading in an era that is spoken.
    async fn must(&mut self, reading: Reading) -> Result<(), Error> {
        match self.reading(reading).await? {
            None => Ok(()),
            Some(unread) => Err(unread.into()),
        }
    }

    /// One child, from its start to its end.
    async fn reading(&mut self, reading: Reading) -> Result<Option<SurfaceError>, Error> {
        (self.settings.progress)(match self.seen.readings.contains(&reading) {
            true => Progress::Again(reading),
            false => Progress::Starting(reading),
        });
        let running = (self.start)().await?;
        let probes = reading.era == Era::Modern && reading.declared == Declared::Nothing;
        let limit = match (self.started, probes) {
            (false, _) => self.settings.start,
            (true, true) => self.settings.start.min(PROBE),
            (true, false) => self.settings.start.min(LATER),
        };
        let wire = Wire::new(running).map_err(LaunchError::Spawn)?;
        let mut session = Session::new(
            wire,
            reading,
            (limit, !self.started),
            &mut self.budget,
            self.settings.interrupted,
            self.settings.progress,
        );
        let read = match session.open().await {
            Ok(Opening::Spoken(opening)) => session.read(&opening).await.map(Ok),
            Ok(Opening::NotSpoken(trouble)) => Ok(Err(trouble)),
            Err(trouble) => Err(trouble),
        };
        self.started |= session.start_took().is_some();
        let said = session.end(LINES).await;
        (self.settings.after_server)();
        let unread = |trouble| SurfaceError::Unread {
            alias: self.settings.alias.clone(),
            reading: reading.to_string(),
            trouble,
            said,
        };
        match read {
            Ok(Ok(read)) => match self.seen.add(reading, read) {
                Ok(()) => Ok(None),
                Err(trouble) => Err(unread(trouble).into()),
            },
            Ok(Err(trouble)) => Ok(Some(unread(trouble))),
            Err(trouble) => Err(unread(trouble).into()),
        }
    }
}
