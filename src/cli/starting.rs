//! What the commands that start a server to look at it share: they notice that the person does
//! not wait any longer, fetch first what it runs, and say why it does not come up.

use std::cell::RefCell;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use super::{render, why};
use crate::declaration::Alias;
use crate::declaration::store::State;
use crate::error::Error;
use crate::launch::Explanation;
use crate::plan::Person;
use crate::prepared::error::PrepareError;
use crate::prepared::fetch::{self, Growth, Prepared, Waiting};
use crate::surface::error::Trouble;
use crate::surface::{SurfaceError, show};

/// How often it is told how far a fetch is, where something is new and where nothing is.
const OFTEN: Duration = Duration::from_secs(2);
const SELDOM: Duration = Duration::from_secs(10);
/// So many names of what was fetched are shown in one line.
const NAMES: usize = 3;
/// So many lines of what it said are shown where it fails.
const LINES: usize = 12;

/// Notices that the person does not wait any longer. Once the reading is over, a signal does
/// again what it did before: a command has one of these.
pub(super) struct Watch {
    pub(super) interrupted: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
}

impl Watch {
    pub(super) fn new() -> std::io::Result<Self> {
        let watch = Self {
            interrupted: Arc::new(AtomicBool::new(false)),
            over: Arc::new(AtomicBool::new(false)),
        };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register_conditional_default(signal, Arc::clone(&watch.over))?;
            flag::register(signal, Arc::clone(&watch.interrupted))?;
        }
        Ok(watch)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Fetches what a server runs, where its runner would have to at a start.
///
/// # Errors
/// As [`fetch::fetch`].
pub(super) fn prepare_first(
    person: &Person,
    state: &State,
    explanation: &Explanation,
    watch: &Watch,
) -> Result<(), Error> {
    let Some(runner) = explanation.unprepared else {
        return Ok(());
    };
    let alias = &explanation.alias;
    let why = format!(
        "{alias}: {runner} fetches what it runs, confined (Ctrl-C stops that; supervisor prepare {alias} goes on)"
    );
    render::human(&format!("\n{}", render::paragraph("preparing", &why)));
    let say = |line: &str| {
        render::human(line);
    };
    let prepared = prepare(person, state, alias, watch, &say)?;
    say(&done(&prepared));
    Ok(())
}

/// Fetches what a server runs, and says through `say` how far it is.
///
/// # Errors
/// As [`fetch::fetch`].
pub(super) fn prepare(
    person: &Person,
    state: &State,
    alias: &Alias,
    watch: &Watch,
    say: &dyn Fn(&str),
) -> Result<Prepared, Error> {
    let teller = RefCell::new(Teller::default());
    let waiting = Waiting {
        interrupted: &watch.interrupted,
        tell: &|growth| {
            if let Some(line) = teller.borrow_mut().line(growth) {
                say(&line);
            }
        },
        behind: &|| say("  another prepare of it is under way; this one waits until it is done\n"),
    };
    fetch::fetch(person, state, alias, &waiting)
}

/// What is said of a fetch meanwhile.
#[derive(Default)]
struct Teller {
    last: Option<Growth>,
    fresh: Vec<String>,
}

impl Teller {
    /// A line, where it is time for one.
    fn line(&mut self, growth: &Growth) -> Option<String> {
        self.fresh.extend(growth.fresh.iter().cloned());
        let (before, size) = self
            .last
            .as_ref()
            .map_or((Duration::ZERO, None), |last| (last.since, Some(last.size)));
        let news = size != Some(growth.size) || !self.fresh.is_empty();
        let wait = if news { OFTEN } else { SELDOM };
        if growth.since < before.saturating_add(wait) {
            return None;
        }
        let what = named(&std::mem::take(&mut self.fresh));
        self.last = Some(growth.clone());
        let (seconds, size) = (growth.since.as_secs(), growth.size);
        Some(format!(
            "  {seconds:>4} s   {:>10} in {} files{what}\n",
            crate::text::size(size.bytes),
            size.files
        ))
    }
}

fn named(names: &[String]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(NAMES)
        .map(|name| crate::text::printable(name))
        .collect();
    match names.len().saturating_sub(NAMES) {
        _ if shown.is_empty() => String::new(),
        0 => format!("   {}", shown.join(", ")),
        more => format!("   {} and {more} more", shown.join(", ")),
    }
}

/// What a finished fetch brought, in one line.
pub(super) fn done(prepared: &Prepared) -> String {
    let tree = &prepared.done.tree;
    let cached = match prepared.done.offline {
        true => "; it comes up by what is cached alone",
        false => "",
    };
    let changed = if prepared.changed {
        "\nchanged: files (another prepare had fetched others)"
    } else {
        ""
    };
    format!(
        "prepared: {} in {} files{cached}{changed}\n",
        crate::text::size(tree.bytes),
        tree.files
    )
}

/// Says why a server did not come up: the last of what it said, the reason in our words, and
/// what would mend it, for which it is started once more and watched.
pub(super) fn failed(person: &Person, state: &State, alias: &Alias, error: &Error) -> ExitCode {
    let (said, trouble): (&[String], Option<&Trouble>) = match error {
        Error::Surface(SurfaceError::Unread { said, trouble, .. })
        | Error::Prepare(PrepareError::NotUp { said, trouble, .. }) => (said, Some(trouble)),
        _ => (&[], None),
    };
    let tail = said
        .get(said.len().saturating_sub(LINES)..)
        .unwrap_or_default();
    if !tail.is_empty() {
        let tail = show::quoted(tail);
        render::human(&format!("the last it said beside the protocol:\n{tail}"));
    }
    let code = render::error(error);
    // One that gave no answer would keep the person waiting again.
    if matches!(trouble, Some(Trouble::Ended(_) | Trouble::Closed))
        && let Some(command) = why::cure(person, state, alias)
    {
        render::human(&format!(
            "to grant what stands out, and be asked about it:\n  {command}\n"
        ));
    }
    code
}
