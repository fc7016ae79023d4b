//! The record of what was enforced in one run. Plain data and pure.
//!
//! `explain` says before a run which mechanisms will hold each promise; a receipt says after it
//! which of them the shim reported as in force. A mechanism that was planned and not reported is
//! not named, and its promise does not stand as held.
//!
//! Place on the path: explanation + what the shim reported + how the run ended → **receipt**.

use std::collections::BTreeSet;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Mechanism, Standing, State};
use crate::declaration::{Alias, BoundLimits, Digest, EnvName};
use crate::launch::run_id::RunId;
use crate::plan::left::FoundFile;

/// `supervisor.receipt.v1`, but for that word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Receipt {
    /// The run, as everything written of it calls it.
    pub run: RunId,
    /// The person's name for the server.
    pub alias: Alias,
    /// What was approved, and started.
    pub digest: Digest,
    /// What was executed.
    pub program: Ran,
    /// When it was started, in RFC 3339.
    #[serde(with = "rfc3339")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub started: Timestamp,
    /// When it had ended.
    #[serde(with = "rfc3339")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub ended: Timestamp,
    /// How its main process ended.
    pub exit: Exit,
    /// The kernel's release.
    pub kernel: String,
    /// The Landlock ABI of the ruleset in force.
    pub landlock_abi: u32,
    /// Each promise, with the mechanisms that were reported as in force.
    pub promises: Vec<Standing>,
    /// Namespaces of its own.
    pub namespaces: Vec<Namespace>,
    /// Its limits.
    pub limits: BoundLimits,
    /// The names of its variables.
    pub variables: Vec<EnvName>,
    /// Hosts that it contacted: none is recorded where its network is `full` or `none`.
    pub contacted: Vec<String>,
    /// Repositories in its writable directories when it had ended (promise G2).
    pub found_repositories: Vec<String>,
    /// What it, or somebody while it ran, created or changed in `--dir` that programs obey, and
    /// links that lead out (promise G3).
    pub found_files: Vec<FoundFile>,
    /// What could not be looked at for these, in words.
    pub not_searched: Vec<String>,
}

/// The program of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Ran {
    /// Where it was found.
    pub found: PathBuf,
    /// Where its links led.
    pub resolved: PathBuf,
    /// What that file held, in SHA-256; absent where it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// How it differs from what was approved, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<String>,
}

/// How a server's main process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// A kind of namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Namespace {
    /// Ids.
    User,
    /// Mounts.
    Mount,
    /// Processes.
    Pid,
    /// System V objects and message queues.
    Ipc,
    /// Network.
    Net,
}

/// What is known of a run while it lasts; of its server, as it was started last.
#[derive(Clone, Debug)]
pub struct Started {
    /// See [`Receipt::run`].
    pub run: RunId,
    /// See [`Receipt::alias`].
    pub alias: Alias,
    /// See [`Receipt::digest`].
    pub digest: Digest,
    /// See [`Receipt::program`].
    pub program: Ran,
    /// See [`Receipt::started`].
    pub started: Timestamp,
    /// See [`Receipt::kernel`].
    pub kernel: String,
    /// See [`Receipt::landlock_abi`].
    pub landlock_abi: u32,
    /// The promises as they were planned.
    pub planned: Vec<Standing>,
    /// See [`Receipt::limits`].
    pub limits: BoundLimits,
    /// See [`Receipt::variables`].
    pub variables: Vec<EnvName>,
    /// What the shims of all starts reported as in force; nothing before the first did.
    pub reported: Option<BTreeSet<Mechanism>>,
}

/// What a look at the writable directories found after a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// See [`Receipt::found_repositories`].
    pub repositories: Vec<String>,
    /// See [`Receipt::found_files`].
    pub files: Vec<FoundFile>,
    /// See [`Receipt::not_searched`].
    pub not_searched: Vec<String>,
}

impl Started {
    /// The server was started, or started again, as `last` says; `reported` is what the shim said
    /// is in force. What one start went without does not stand for the run.
    pub fn confined(&mut self, last: Self, reported: BTreeSet<Mechanism>) {
        let reported = match &self.reported {
            Some(earlier) => earlier & &reported,
            None => reported,
        };
        *self = Self {
            run: self.run,
            started: self.started,
            reported: Some(reported),
            ..last
        };
    }

    /// The receipt of the run, once it has ended.
    #[must_use]
    pub fn ended(self, ended: Timestamp, exit: Exit, found: Found) -> Receipt {
        let reported = self.reported.unwrap_or_default();
        Receipt {
            run: self.run,
            alias: self.alias,
            digest: self.digest,
            program: self.program,
            started: self.started,
            ended,
            exit,
            kernel: self.kernel,
            landlock_abi: self.landlock_abi,
            promises: self
                .planned
                .into_iter()
                .map(|planned| enforced(planned, &reported))
                .collect(),
            namespaces: namespaces(&reported),
            limits: self.limits,
            variables: self.variables,
            contacted: Vec::new(),
            found_repositories: found.repositories,
            found_files: found.files,
            not_searched: found.not_searched,
        }
    }
}

/// How a promise stood: by what was planned for it and reported.
fn enforced(planned: Standing, reported: &BTreeSet<Mechanism>) -> Standing {
    let (mechanisms, missing): (Vec<Mechanism>, Vec<Mechanism>) = planned
        .mechanisms
        .iter()
        .partition(|mechanism| mechanism.is_supervisors() || reported.contains(mechanism));
    if missing.is_empty() {
        return planned;
    }
    let missing: Vec<String> = missing
        .iter()
        .map(|mechanism| format!("{mechanism:?}"))
        .collect();
    Standing {
        id: planned.id,
        state: match planned.state {
            State::Held => State::Unheld,
            other => other,
        },
        mechanisms,
        note: Some(format!("not reported as in force: {}", missing.join(", "))),
    }
}

fn namespaces(reported: &BTreeSet<Mechanism>) -> Vec<Namespace> {
    [
        (Mechanism::UserNamespace, Namespace::User),
        (Mechanism::MountNamespace, Namespace::Mount),
        (Mechanism::PidNamespace, Namespace::Pid),
        (Mechanism::IpcNamespace, Namespace::Ipc),
        (Mechanism::NetworkNamespace, Namespace::Net),
    ]
    .into_iter()
    .filter(|(mechanism, _)| reported.contains(mechanism))
    .map(|(_, namespace)| namespace)
    .collect()
}

/// Times to the millisecond, in so many digits always: texts of them sort as the times do.
mod rfc3339 {
    use super::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        time: &Timestamp,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{time:.3}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confine::Promise;

    fn planned(state: State, mechanisms: &[Mechanism]) -> Standing {
        Standing {
            id: Promise::P3,
            state,
            mechanisms: mechanisms.to_vec(),
            note: None,
        }
    }

    #[test]
    fn what_was_planned_and_not_reported_is_not_named_and_does_not_hold() {
        let both = [Mechanism::MountNamespace, Mechanism::LandlockFiles];
        let reported = BTreeSet::from(both);
        let held = planned(State::Held, &both);
        assert_eq!(enforced(held.clone(), &reported), held);
        let less = BTreeSet::from([Mechanism::LandlockFiles]);
        let stood = enforced(held, &less);
        assert_eq!(stood.state, State::Unheld);
        assert_eq!(stood.mechanisms, [Mechanism::LandlockFiles]);
        assert!(stood.note.unwrap().contains("MountNamespace"));
        let given_up = planned(State::GivenUp, &both);
        assert_eq!(enforced(given_up, &less).state, State::GivenUp);
    }

    #[test]
    fn what_the_supervisor_does_itself_no_shim_reports() {
        let held = planned(State::Held, &[Mechanism::Check, Mechanism::Watch]);
        assert_eq!(enforced(held.clone(), &BTreeSet::new()), held);
    }

    #[test]
    fn what_one_start_of_a_run_went_without_does_not_stand_for_the_run() {
        let both = [Mechanism::MountNamespace, Mechanism::LandlockFiles];
        let start = |second: i64| Started {
            run: RunId::new().unwrap(),
            alias: "notes".parse().unwrap(),
            digest: "ab".repeat(32).parse().unwrap(),
            program: Ran {
                found: "/bin/x".into(),
                resolved: "/bin/x".into(),
                sha256: Some(second.to_string()),
                differs: None,
            },
            started: Timestamp::from_second(second).unwrap(),
            kernel: "6.8".to_owned(),
            landlock_abi: 6,
            planned: vec![planned(State::Held, &both)],
            limits: crate::declaration::Limits::DEFAULT,
            variables: Vec::new(),
            reported: None,
        };
        let at = Timestamp::from_second(9).unwrap();
        let first = start(0);
        let run = first.run;
        let ended = |starts: &[&[Mechanism]]| {
            let mut started = first.clone();
            for (second, reported) in (1..).zip(starts) {
                started.confined(start(second), reported.iter().copied().collect());
            }
            started.ended(at, Exit::Code(0), Found::default())
        };
        let none = ended(&[]);
        assert_eq!(none.promises[0].state, State::Unheld);
        let twice = ended(&[&both, &both]);
        assert_eq!(twice.promises[0].state, State::Held);
        assert_eq!((twice.run, twice.started), (run, Timestamp::UNIX_EPOCH));
        assert_eq!(twice.program.sha256.as_deref(), Some("2"));
        for starts in [[&both[1..], &both], [&both, &both[1..]]] {
            let less = ended(&starts);
            assert_eq!(less.promises[0].state, State::Unheld);
            assert_eq!(less.promises[0].mechanisms, [Mechanism::LandlockFiles]);
            assert_eq!(less.namespaces, []);
        }
    }

    #[test]
    fn namespaces_are_those_that_were_reported() {
        let reported = BTreeSet::from([Mechanism::NetworkNamespace, Mechanism::Seccomp]);
        assert_eq!(namespaces(&reported), [Namespace::Net]);
    }

    #[test]
    fn texts_of_times_sort_as_the_times_do() {
        #[derive(Serialize)]
        struct At(#[serde(with = "rfc3339")] Timestamp);
        let text = |nanosecond: i32| {
            let at = At(Timestamp::new(7, nanosecond).unwrap());
            serde_json::to_string(&at).unwrap()
        };
        let times = [
            0,
            1_000_000,
            90_000_000,
            99_999_999,
            100_000_000,
            999_999_999,
        ];
        let texts = times.map(text);
        assert!(texts.is_sorted(), "{texts:?}");
        assert_eq!(texts[0], "\"1970-01-01T00:00:07.000Z\"");
        assert_eq!(texts[5], "\"1970-01-01T00:00:07.999Z\"");
    }
}
