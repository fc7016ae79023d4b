//! Starts a server once more, by the road of `run`, and watches how far it comes.
//!
//! Two processes: a child of this one, this program executed anew, takes the road
//! (`launch::prepare`, `permit`, `launch`), greets the server and asks for its lists, as a host
//! does at first; this one looks at the server from outside (`observe`). The child tells of the
//! confining process before that has its orders, and waits until it is held.
#![expect(
    clippy::disallowed_methods,
    reason = "starts the process that takes the road of a run"
)]

use std::ffi::OsString;
use std::io::{self, PipeReader, Read, Write};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::attempt::Trace;
use super::observe::{self, ObserveError};
use crate::confine::linux::apply;
use crate::declaration::Alias;
use crate::error::{Error, FAILED};
use crate::launch::{self, Explanation, LaunchError, Running, descendants};
use crate::plan::{Caches, RunRequest, facts};
use crate::surface::error::Trouble;
use crate::surface::read::{self, Progress, Settings};

/// The first argument of the child.
pub(crate) const ROAD: &str = "__road";
/// Lines of what the server said that are looked at, and characters of each: all of it fits into
/// a pipe.
const LINES: usize = 80;
const LINE: usize = 400;

/// How the run went.
pub(crate) struct Rerun {
    /// How far it came.
    pub(crate) told: Told,
    /// What was seen of it, or why nothing was.
    pub(crate) trace: Result<Trace, ObserveError>,
}

/// What the child tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Told {
    /// What kept the server from saying all, in words.
    pub(crate) trouble: Option<String>,
    /// It gave no answer.
    pub(crate) mute: bool,
    /// The last lines it said beside the protocol, escaped.
    pub(crate) said: Vec<String>,
    /// What kept it from being started.
    pub(crate) failed: Option<String>,
}

/// Starts the server of an explanation again. `limit` is the time it has for its first answer.
///
/// # Errors
/// The system says no, or the child ended without a word.
pub(crate) fn rerun(explanation: &Explanation, limit: Duration) -> io::Result<Rerun> {
    let (mut hear, tell) = io::pipe()?;
    let (go, mut held) = io::pipe()?;
    let mut child = Command::new("/proc/self/exe")
        .arg(ROAD)
        .arg(std::process::id().to_string())
        .arg(limit.as_secs().to_string())
        .arg(explanation.alias.as_str())
        .stdin(Stdio::from(go))
        .stdout(Stdio::from(tell))
        .spawn()?;
    let shim = observe::first_line(&mut hear)?;
    let shim = shim.and_then(|line| line.parse().ok());
    let observer = shim.map(observe::seize);
    // A child that ended meanwhile hears nothing.
    let _ = held.write_all(b".");
    drop(held);
    let trace = match observer {
        Some(Ok(observer)) => observer.follow(child.id()),
        Some(Err(error)) => child.wait().map(|_| Err(error))?,
        // It was not started: what the child tells says why.
        None => child.wait().map(|_| Ok(Trace::default()))?,
    };
    let told = heard(&mut hear)?;
    Ok(Rerun { told, trace })
}

fn heard(hear: &mut PipeReader) -> io::Result<Told> {
    let mut text = String::new();
    hear.read_to_string(&mut text)?;
    serde_json::from_str(&text).map_err(io::Error::other)
}

/// What the child does. Its words are [`ROAD`], who asks, the limit in seconds, the alias.
pub(crate) fn main(words: &[OsString]) -> ExitCode {
    let word = |at: usize| words.get(at)?.to_str();
    let words = (
        word(0).and_then(|word| word.parse().ok()),
        word(1).and_then(|word| word.parse().ok()),
        word(2).and_then(|word| word.parse().ok()),
    );
    let (Some(asker), Some(limit), Some(alias)) = words else {
        return ExitCode::from(FAILED);
    };
    let told = road(asker, Duration::from_secs(limit), &alias).unwrap_or_else(|error| Told {
        failed: Some(error.message()),
        ..Told::default()
    });
    match serde_json::to_writer(io::stdout(), &told) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(FAILED),
    }
}

fn road(asker: u32, limit: Duration, alias: &Alias) -> Result<Told, Error> {
    let failed = |error| Error::from(LaunchError::Spawn(error));
    let closed = |error| failed(io::Error::other(error));
    apply::die_with(asker).map_err(closed)?;
    // As `run`: holds secrets from here on, and ends what the server starts and leaves.
    apply::not_dumpable().map_err(closed)?;
    descendants::adopt().map_err(failed)?;
    let person = facts::person()?;
    let runtime = launch::runtime().map_err(failed)?;
    let start = async || -> Result<Running, Error> {
        let explanation = launch::prepare(
            &person,
            &RunRequest {
                watched: true,
                caches: Caches::IfPrepared,
                ..RunRequest::of(alias.clone())
            },
        )?;
        let mut permitted = launch::permit(explanation)?;
        let hold = |shim: u32| -> io::Result<()> {
            writeln!(io::stdout(), "{shim}")?;
            io::stdin().read_exact(&mut [0])
        };
        Ok(launch::order(&mut permitted, hold)?
            .go()?
            .confirmed(&permitted)
            .await?)
    };
    let settings = Settings {
        alias,
        start: limit,
        again: 0,
        interrupted: &AtomicBool::new(false),
        progress: &tell,
        after_server: || drop(descendants::sweep(descendants::AT_LEISURE)),
    };
    let once = runtime.block_on(read::once(start, &settings, LINES));
    descendants::sweep(descendants::AT_LEISURE).map_err(failed)?;
    let once = once?;
    let cut = |line: String| line.chars().take(LINE).collect();
    Ok(Told {
        mute: matches!(once.trouble, Some(Trouble::Mute { .. })),
        trouble: once.trouble.map(|trouble| trouble.to_string()),
        said: once.said.into_iter().map(cut).collect(),
        failed: None,
    })
}

fn tell(progress: Progress) {
    if let Progress::Waiting { since, .. } = progress
        && since.as_secs() % 10 == 0
    {
        crate::cli::render::note(&format!("no answer after {} s", since.as_secs()));
    }
}
