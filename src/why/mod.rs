//! Why a server did not work: what it was refused, and what would grant that.
//!
//! [`rerun`] starts it once more by the road of `run` and watches it from outside
//! ([`observe`], `tracee`, `call`), which gives `attempt`s: what it tried in vain. `judge` and
//! `paths` hold each against what there is outside (`world`): what is not there for the server
//! and there for the person is ours, what is nowhere is the server's own affair. `said`, `unset`
//! and `script` read what the server says and is, `missing` and `variables` find what brings it.
//! `offer` tries the flags, so that none is named that `set` would not take, and `diagnose` puts it
//! together: a [`Report`].
//!
//! Beside the path: `supervisor why` alone comes here. It decides nothing and loosens nothing.

mod attempt;
mod call;
mod call_names;
pub(crate) mod cause;
mod diagnose;
pub(crate) mod finding;
mod judge;
mod least;
mod missing;
mod observe;
mod offer;
mod paths;
pub(crate) mod rerun;
mod said;
mod script;
mod tracee;
mod unset;
mod variables;
mod world;

use std::io;
use std::path::PathBuf;

use serde::Serialize;

use crate::confine::receipt::Exit;
use crate::declaration::store::State;
use crate::declaration::{Alias, Digest};
use crate::error::Error;
use crate::launch::run_id::RunId;
use crate::launch::secrets::Hidden;
use crate::launch::{Explanation, LaunchError};
use crate::launch::{logs, receipts};
use crate::plan::{Person, facts};
use diagnose::End;
use finding::Finding;
use judge::Judge;
use offer::Offer;
use rerun::Rerun;
use said::Said;

/// The folder of the state directory where reports are kept.
const FOLDER: &str = "why";

/// What `why` prints and keeps.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Report {
    /// The person's name for the server.
    pub(crate) alias: Alias,
    /// Which declaration.
    pub(crate) digest: Digest,
    /// Whether the server came up and said what it offers.
    pub(crate) works: bool,
    /// What kept it from that, in words.
    pub(crate) trouble: Option<String>,
    /// Whether the run could be looked at; else what kept us from it.
    pub(crate) unseen: Option<String>,
    /// Processes that it started.
    pub(crate) processes: u64,
    /// What was refused or is missing, likely causes first.
    pub(crate) findings: Vec<Finding>,
    /// The command that grants what stands out.
    pub(crate) command: Option<String>,
    /// How its last run ended, where there is a receipt of one.
    pub(crate) last_run: Option<LastRun>,
    /// The last lines that it said beside the protocol.
    pub(crate) said: Vec<String>,
}

/// The last run of a host's.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LastRun {
    /// Which.
    pub(crate) run: RunId,
    /// How its main process ended.
    pub(crate) exit: Exit,
    /// The end of what it said.
    #[serde(skip)]
    said: Vec<String>,
}

fn last_run(state: &State, digest: &Digest) -> Result<Option<LastRun>, Error> {
    let (receipts, _) = receipts::read(state, digest);
    let Some(receipt) = receipts.into_iter().next() else {
        return Ok(None);
    };
    let texts = logs::read(state, digest)?;
    let text = texts.into_iter().find(|(run, _)| *run == receipt.run);
    Ok(Some(LastRun {
        run: receipt.run,
        exit: receipt.exit,
        said: text
            .map(|(_, text)| text.lines().map(str::to_owned).collect())
            .unwrap_or_default(),
    }))
}

/// Reads a run that was watched.
///
/// # Errors
/// The state and the data of this program, as for a start.
pub(crate) fn report(
    person: &Person,
    state: &State,
    explanation: &Explanation,
    rerun: Rerun,
) -> Result<Report, Error> {
    let declarations = state.read()?;
    let offer = Offer {
        person,
        declaration: declarations.get(&explanation.alias)?,
        explanation,
        others: declarations.writable_but_by(&explanation.alias),
        places: facts::places(person),
    };
    let Rerun { told, trace } = rerun;
    let (trace, unseen) = match trace {
        Ok(trace) => (trace, None),
        Err(error) => (attempt::Trace::default(), Some(error.to_string())),
    };
    let last_run = last_run(state, &explanation.digest)?;
    let trouble = told.trouble.or(told.failed);
    // One that comes up now and failed before: what it said then.
    let before = last_run.as_ref().filter(|last| last.exit != Exit::Code(0));
    let (lines, end) = match (&trouble, before) {
        (Some(_), _) if told.mute => (&told.said, End::Mute),
        (Some(_), _) => (&told.said, End::Failed),
        (None, Some(last)) => (&last.said, End::Before),
        (None, None) => (&told.said, End::Works),
    };
    let said = Said::new(lines);
    let judge = Judge {
        offer: &offer,
        said: &said,
        trace: &trace,
    };
    // Nothing is kept or shown of the values that it was given.
    let hidden = Hidden::of(explanation);
    let findings: Vec<Finding> = diagnose::findings(&judge, end)
        .into_iter()
        .map(|finding| finding.without(&hidden))
        .collect();
    Ok(Report {
        alias: explanation.alias.clone(),
        digest: explanation.digest.clone(),
        works: trouble.is_none(),
        trouble,
        unseen,
        processes: trace.processes,
        command: command(&offer, &findings),
        findings,
        last_run,
        said: told.said.iter().map(|line| hidden.hide(line)).collect(),
    })
}

/// One command for all that stands out.
fn command(offer: &Offer<'_>, findings: &[Finding]) -> Option<String> {
    let mut flags: Vec<String> = Vec::new();
    let mut before = None;
    let causes = findings.iter().filter(|finding| finding.cause);
    for finding in causes {
        if finding.flags.iter().any(|flag| flag == "--dir") {
            before = before.or(finding.first.as_deref());
        }
        for pair in finding.flags.chunks(2) {
            let known = flags.chunks(2).any(|known| known == pair);
            // One directory is all there is.
            let second = flags.iter().chain(pair).filter(|flag| *flag == "--dir");
            if !known && second.count() < 2 {
                flags.extend(pair.iter().cloned());
            }
        }
    }
    // A directory that is made before is not there to be tried.
    if flags.is_empty() || (before.is_none() && offer.refused(&flags).is_some()) {
        return None;
    }
    let alias = offer.explanation.alias.as_str();
    let words = ["supervisor", "set", alias].into_iter();
    let command = crate::text::words(words.chain(flags.iter().map(String::as_str)));
    Some(match before {
        Some(before) => format!("{before} && {command}"),
        None => command,
    })
}

/// The places of the server's own, in memory, that others share outside.
fn in_memory(explanation: &Explanation) -> &[PathBuf] {
    let namespaces = explanation.lowered.namespaces.as_ref();
    namespaces.map_or(&[], |own| own.in_memory.as_slice())
}

/// Keeps a report in the state directory.
///
/// # Errors
/// It cannot be written.
pub(crate) fn keep(state: &State, report: &Report) -> Result<(), Error> {
    use crate::declaration::store::StoreError;
    let name = format!("{}.json", report.digest.first_16());
    let text = to_text(report).map_err(LaunchError::Spawn)?;
    let locked = state.make()?.lock().map_err(StoreError::from)?;
    locked
        .write_in(FOLDER, &name, &text)
        .map_err(StoreError::from)?;
    Ok(())
}

fn to_text(report: &Report) -> io::Result<String> {
    #[derive(Serialize)]
    struct Object<'a> {
        schema: &'static str,
        #[serde(flatten)]
        report: &'a Report,
    }
    let object = Object {
        schema: "supervisor.why.v1",
        report,
    };
    let text = serde_json::to_string_pretty(&object)?;
    Ok(crate::text::json(&text) + "\n")
}
