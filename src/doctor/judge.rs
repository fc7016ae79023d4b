//! What the attacks prove. Pure.

use serde::Serialize;

use super::runs::Run;
use crate::confine::{Mechanism, Promise, Standing, State};
use crate::declaration::Network;
use crate::probe::{Outcome, Went};

/// One attack or check, alone and in each run in which it has sense.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Row {
    /// The promise it tries to break.
    #[serde(skip)]
    pub promise: Promise,
    /// Its name.
    pub attack: String,
    /// What it tries.
    pub text: &'static str,
    /// What it did with nothing in its way.
    pub alone: Outcome,
    /// What it did confined.
    pub confined: Vec<Confined>,
}

/// One attack in one run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Confined {
    /// Which.
    pub run: &'static str,
    /// What it did there.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What a row shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// It works, and was stopped wherever it was tried.
    Held,
    /// It got through.
    Broken,
    /// Somewhere it could not be told what came of it.
    Unknown,
    /// It does not work alone either, or has no sense here.
    Nothing,
}

impl Row {
    /// A check that is made once.
    #[must_use]
    pub fn check(
        promise: Promise,
        attack: &str,
        text: &'static str,
        alone: Outcome,
        confined: Outcome,
    ) -> Self {
        Self {
            promise,
            attack: attack.to_owned(),
            text,
            alone,
            confined: vec![Confined {
                run: "here",
                outcome: confined,
            }],
        }
    }

    /// The same, made in a run.
    #[must_use]
    pub fn in_run(mut self, run: &'static str) -> Self {
        for confined in &mut self.confined {
            confined.run = run;
        }
        self
    }

    /// What it shows.
    #[must_use]
    pub fn shows(&self) -> Shows {
        let went = |result: Went| {
            let mut all = self.confined.iter().map(|confined| &confined.outcome);
            all.any(|outcome| outcome.result == result)
        };
        if went(Went::Succeeded) {
            return Shows::Broken;
        }
        match self.alone.result {
            _ if went(Went::Unknown) => Shows::Unknown,
            Went::Unknown => Shows::Unknown,
            Went::Succeeded if !self.confined.is_empty() => Shows::Held,
            Went::Succeeded | Went::Stopped => Shows::Nothing,
        }
    }
}

/// How one promise stands, with what shows it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Proof {
    /// Which.
    pub id: Promise,
    /// What it comes to.
    pub verdict: Verdict,
    /// What holds it, as the plan of a run says.
    pub mechanisms: Vec<Mechanism>,
    /// What a reader should know besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The attacks on it.
    pub attacks: Vec<Row>,
}

/// What the attacks on a promise come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Verdict {
    /// At least one works alone, and none got through.
    Held,
    /// One got through, and was seen to.
    Broken,
    /// None was seen to get through, and of one it could not be told what came of it.
    Unknown,
    /// This machine cannot hold it, as is known before.
    Unheld,
    /// None works alone: nothing is shown.
    Unshown,
}

impl Proof {
    /// Whether it is held, and shown to be.
    #[must_use]
    pub fn held(&self) -> bool {
        self.verdict == Verdict::Held
    }
}

/// What the rows prove, promise by promise.
#[must_use]
pub fn prove(runs: &[Run], rows: Vec<Row>) -> Vec<Proof> {
    let mut rows: Vec<Option<Row>> = joined(rows).into_iter().map(Some).collect();
    let mut taken = |promise: Promise| -> Vec<Row> {
        let of = |row: &mut Option<Row>| row.take_if(|row| row.promise == promise);
        rows.iter_mut().filter_map(of).collect()
    };
    Promise::ALL
        .iter()
        .filter_map(|promise| {
            let standing = standing(runs, *promise)?;
            let attacks = taken(*promise);
            Some(Proof {
                id: *promise,
                verdict: verdict(standing, &attacks),
                mechanisms: standing.mechanisms.clone(),
                note: standing.note.clone(),
                attacks,
            })
        })
        .collect()
}

/// One that was made in several runs is one row.
fn joined(rows: Vec<Row>) -> Vec<Row> {
    let mut joined: Vec<Row> = Vec::new();
    for row in rows {
        match joined.iter_mut().find(|other| other.attack == row.attack) {
            Some(other) => other.confined.extend(row.confined),
            None => joined.push(row),
        }
    }
    joined
}

/// As the run says to which it applies: N1 is asked for in the one without a network.
fn standing(runs: &[Run], promise: Promise) -> Option<&Standing> {
    let asks = |run: &&Run| promise != Promise::N1 || run.network == Network::None;
    let run = runs.iter().find(asks)?;
    let promises = &run.declared.explanation().confinement.promises;
    promises.iter().find(|standing| standing.id == promise)
}

fn verdict(standing: &Standing, attacks: &[Row]) -> Verdict {
    let shows = |wanted: Shows| attacks.iter().any(|row| row.shows() == wanted);
    if standing.state != State::Held {
        Verdict::Unheld
    } else if shows(Shows::Broken) {
        Verdict::Broken
    } else if shows(Shows::Unknown) {
        Verdict::Unknown
    } else if shows(Shows::Held) {
        Verdict::Held
    } else {
        Verdict::Unshown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use Went::{Stopped, Succeeded, Unknown};

    fn row(alone: Went, confined: &[Went]) -> Row {
        let outcome = |result| Outcome {
            result,
            detail: String::new(),
        };
        let confined = confined.iter().map(|result| Confined {
            run: "here",
            outcome: outcome(*result),
        });
        Row {
            promise: Promise::P1,
            attack: String::new(),
            text: "",
            alone: outcome(alone),
            confined: confined.collect(),
        }
    }

    #[test]
    fn a_row_shows_only_what_was_tried_and_works() {
        for (alone, confined, shows) in [
            (Succeeded, [Stopped, Stopped].as_slice(), Shows::Held),
            (Succeeded, &[Stopped, Succeeded], Shows::Broken),
            (Stopped, &[Succeeded], Shows::Broken),
            (Stopped, &[Stopped], Shows::Nothing),
            (Succeeded, &[], Shows::Nothing),
            // What did not come to its end was neither stopped nor let through.
            (Succeeded, &[Stopped, Unknown], Shows::Unknown),
            (Succeeded, &[Unknown, Succeeded], Shows::Broken),
            (Unknown, &[Stopped], Shows::Unknown),
            (Unknown, &[Succeeded], Shows::Broken),
            (Stopped, &[Unknown], Shows::Unknown),
        ] {
            assert_eq!(
                row(alone, confined).shows(),
                shows,
                "{alone:?} {confined:?}"
            );
        }
    }

    #[test]
    fn one_that_gets_through_breaks_a_promise_and_none_that_works_shows_nothing() {
        let standing = |state| Standing {
            id: Promise::P1,
            state,
            mechanisms: Vec::new(),
            note: None,
        };
        let held = || row(Succeeded, &[Stopped]);
        for (state, rows, wanted) in [
            (
                State::Held,
                vec![held(), row(Stopped, &[Stopped])],
                Verdict::Held,
            ),
            (
                State::Held,
                vec![held(), row(Succeeded, &[Succeeded])],
                Verdict::Broken,
            ),
            (
                State::Held,
                vec![held(), row(Succeeded, &[Unknown])],
                Verdict::Unknown,
            ),
            (
                State::Held,
                vec![row(Succeeded, &[Unknown]), row(Succeeded, &[Succeeded])],
                Verdict::Broken,
            ),
            (
                State::Held,
                vec![row(Stopped, &[Stopped])],
                Verdict::Unshown,
            ),
            (State::Held, vec![], Verdict::Unshown),
            (State::GivenUp, vec![held()], Verdict::Unheld),
            (State::Unheld, vec![held()], Verdict::Unheld),
        ] {
            assert_eq!(verdict(&standing(state), &rows), wanted);
        }
    }
}
