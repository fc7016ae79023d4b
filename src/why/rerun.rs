//! Starts a server once more, by the road of `run`, and watches how far it comes.
//!
//! Two processes: a child of this one takes the road (`launch::prepare`, `permit`, `launch`),
//! greets the server and asks for its lists, as a host does at first; this one looks at the
//! server from outside ([`observe`]). The child tells of the confining process before that has
//! its orders, and waits until it is held.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::attempt::Trace;
use super::observe::{self, ObserveError};
use crate::confine::linux::apply;
use crate::error::Error;
use crate::launch::{self, Explanation, LaunchError, Running, descendants};
use crate::plan::{Person, RunRequest};
use crate::surface::error::Trouble;
use crate::surface::read::{self, Progress, Settings};

/// Lines of what the server said that are looked at, and characters of each: all of it fits into
/// a pipe.
const LINES: usize = 80;
const LINE: usize = 400;

/// Which of the two processes this is.
pub(crate) enum Side {
    /// The one that asked.
    Asked(Box<Rerun>),
    /// The child, which has nothing left to do.
    Child,
}

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
/// The system says no before anything is started. This process must have one thread.
pub(crate) fn rerun(
    person: &Person,
    explanation: &Explanation,
    limit: Duration,
    progress: &dyn Fn(Progress),
) -> Result<Side, Error> {
    let failed = |error| Error::from(LaunchError::Spawn(error));
    let asker = std::process::id();
    apply::own_state()
        .map_err(io::Error::other)
        .map_err(failed)?;
    let (mut hear, tell) = io::pipe().map_err(failed)?;
    let (go, mut held) = io::pipe().map_err(failed)?;
    let Some(child) = safe_fork::fork().map_err(failed)? else {
        drop((hear, held));
        let mut wire = (go, tell);
        let settings = Settings {
            alias: &explanation.alias,
            start: limit,
            interrupted: &AtomicBool::new(false),
            progress,
            after_server: || drop(descendants::sweep()),
        };
        let told = road(person, &explanation.alias, asker, &settings, &mut wire);
        let told = told.unwrap_or_else(|error| Told {
            failed: Some(error.message()),
            ..Told::default()
        });
        let _ = serde_json::to_writer(&mut wire.1, &told);
        return Ok(Side::Child);
    };
    drop((go, tell));
    let shim = observe::first_line(&mut hear).map_err(failed)?;
    let shim = shim.and_then(|line| line.parse().ok());
    let observer = shim.map(observe::seize);
    // A child that ended meanwhile hears nothing.
    let _ = held.write_all(b".");
    drop(held);
    let trace = match observer {
        Some(Ok(observer)) => observer.follow(child.pid()),
        Some(Err(error)) => child.join().map_err(failed).map(|_| Err(error))?,
        // It was not started: what the child tells says why.
        None => child.join().map_err(failed).map(|_| Ok(Trace::default()))?,
    };
    let told = heard(&mut hear).map_err(failed)?;
    Ok(Side::Asked(Box::new(Rerun { told, trace })))
}

fn heard(hear: &mut PipeReader) -> io::Result<Told> {
    let mut text = String::new();
    hear.read_to_string(&mut text)?;
    let told = text.rsplit('\n').next().unwrap_or_default();
    Ok(serde_json::from_str(told).unwrap_or_else(|_| Told {
        failed: Some("the process that starts it ended without a word".to_owned()),
        ..Told::default()
    }))
}

/// What the child does.
fn road(
    person: &Person,
    alias: &crate::declaration::Alias,
    asker: u32,
    settings: &Settings<'_>,
    (go, tell): &mut (PipeReader, PipeWriter),
) -> Result<Told, Error> {
    let failed = |error| Error::from(LaunchError::Spawn(error));
    let closed = |error| failed(io::Error::other(error));
    apply::die_with(asker).map_err(closed)?;
    // As `run`: holds secrets from here on, and ends what the server starts and leaves.
    apply::not_dumpable().map_err(closed)?;
    descendants::adopt().map_err(failed)?;
    let runtime = launch::runtime().map_err(failed)?;
    let start = async || -> Result<Running, Error> {
        let explanation = launch::prepare(person, &RunRequest::of(alias.clone()))?;
        let mut permitted = launch::permit(explanation)?;
        let hold = |shim: u32| -> io::Result<()> {
            writeln!(tell, "{shim}")?;
            go.read_exact(&mut [0])
        };
        Ok(launch::launch_told(&mut permitted, hold).await?)
    };
    let once = runtime.block_on(read::once(start, settings, LINES));
    descendants::sweep().map_err(failed)?;
    let once = once?;
    let cut = |line: String| line.chars().take(LINE).collect();
    Ok(Told {
        mute: matches!(once.trouble, Some(Trouble::Mute { .. })),
        trouble: once.trouble.map(|trouble| trouble.to_string()),
        said: once.said.into_iter().map(cut).collect(),
        failed: None,
    })
}
