//! The processes of a run, looked at from without: what confines a server gives nothing away.
#![expect(
    clippy::disallowed_methods,
    reason = "looks at processes as anybody may"
)]

use std::fs;
use std::os::unix::fs::MetadataExt;

use nix::unistd::{Pid, geteuid, getsid};

use super::judge::Row;
use super::runs::Run;
use crate::confine::Promise;
use crate::confine::linux::apply::NAME;
use crate::probe::{CANARY, Outcome, VARIABLE};

/// What was seen of a process and all it started.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// An environment of one that only confines holds something.
    environment: Option<String>,
    /// One that only confines is in the caller's session.
    session: Option<String>,
    /// One may be read and traced by another of the same user.
    open: Option<String>,
    /// A stored value stands on a command line.
    value: Option<String>,
    /// How many processes could be looked at.
    count: usize,
}

/// Looks at a process and all below it. Alone, that is the server itself.
#[must_use]
pub fn look(top: Option<u32>) -> Seen {
    let mut seen = Seen::default();
    let Some(top) = top else { return seen };
    let mine = getsid(None).ok();
    let me = geteuid();
    for pid in below(top) {
        let place = |name: &str| format!("/proc/{pid}/{name}");
        let line = fs::read_to_string(place("cmdline")).unwrap_or_default();
        let Ok(name) = fs::read(place("comm")) else {
            continue;
        };
        seen.count = seen.count.saturating_add(1);
        let confines = name.strip_suffix(b"\n") == Some(NAME.to_bytes());
        let alone = pid == top && line.contains(crate::probe::server::ARGUMENT);
        if line.contains(CANARY) {
            seen.value.get_or_insert(format!("process {pid}"));
        }
        let environment = fs::read(place("environ")).unwrap_or_default();
        let environment = String::from_utf8_lossy(&environment);
        // What only confines has none; to the one that becomes the server what it gets belongs.
        let something = if confines {
            environment.chars().any(|character| character != '\0')
        } else {
            environment.contains(VARIABLE)
        };
        if something && (confines || alone) {
            seen.environment.get_or_insert(format!("process {pid}"));
        }
        let session = i32::try_from(pid).map(|pid| getsid(Some(Pid::from_raw(pid))));
        let same = mine.is_some() && matches!(session, Ok(Ok(session)) if Some(session) == mine);
        if same && (confines || alone) {
            seen.session.get_or_insert(format!("process {pid}"));
        }
        // The files of one that is not dumpable are root's (`proc(5)`).
        let owner = fs::metadata(place("environ")).map(|found| found.uid());
        let open = !me.is_root() && owner.is_ok_and(|owner| owner == me.as_raw());
        if open && (confines || alone || line.contains("\0run\0")) {
            seen.open.get_or_insert(format!("process {pid}"));
        }
    }
    seen
}

/// The process and its descendants.
fn below(top: u32) -> Vec<u32> {
    let mut found = vec![top];
    let mut at = 0;
    while let Some(pid) = found.get(at).copied() {
        at = at.saturating_add(1);
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let children = children.unwrap_or_default();
        found.extend(
            children
                .split_whitespace()
                .filter_map(|pid| pid.parse::<u32>().ok()),
        );
    }
    found
}

/// What that shows of a run.
#[must_use]
pub fn rows(run: &Run, alone: &Seen, confined: Seen) -> Vec<Row> {
    let of = |found: &Option<String>| match found {
        Some(which) => Outcome::got(which.clone()),
        None => Outcome::stopped("none does"),
    };
    // The supervisor and the server at least: whoever is hidden has not been looked at.
    let outcome = |found: &Option<String>| match found {
        None if confined.count < 2 => Outcome::unknown("its processes cannot be seen"),
        found => of(found),
    };
    let row = |promise, name, text, alone: &Option<String>, found: &Option<String>| {
        Row::check(promise, name, text, of(alone), outcome(found)).in_run(run.name)
    };
    vec![
        row(
            Promise::E3,
            "confiner-open",
            "what confines can be read and traced",
            &alone.open,
            &confined.open,
        ),
        row(
            Promise::E3,
            "confiner-session",
            "what confines is in the caller's session",
            &alone.session,
            &confined.session,
        ),
        row(
            Promise::S2,
            "confiner-environment",
            "what confines has an environment",
            &alone.environment,
            &confined.environment,
        ),
        row(
            Promise::S4,
            "value-on-a-line",
            "a stored value on a command line",
            &alone.value,
            &confined.value,
        ),
    ]
}
