//! `supervisor doctor`: states what this machine can confine, and proves each promise by trying
//! to break it.
//!
//! The bundled server of [`crate::probe`] is declared and approved in a state directory of its
//! own and started through `supervisor run`, as any server: once with the network and
//! directories, once without. Every attack is run alone first: one that does not work there
//! proves nothing, and that is said. [`checks`] shows what the supervisor itself promises,
//! [`outside`] looks at its processes from without, [`end`] at what is left when a run has ended,
//! and [`judge`] (pure) says what all of it proves.
//!
//! Place beside the path: it takes the road of every run, and adds nothing to it.

pub(crate) mod checks;
pub(crate) mod end;
pub(crate) mod judge;
pub(crate) mod machine;
pub(crate) mod misplaced;
pub(crate) mod outside;
pub(crate) mod patience;
pub(crate) mod runs;

use std::io;

use serde::Serialize;

use crate::confine::Standing;
use crate::error::Error;
use crate::launch::LaunchError;
use crate::probe::Ground;
use judge::Proof;
use machine::Machine;
use runs::Run;

/// What was found.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// What this machine offers.
    pub machine: Machine,
    /// One a promise, in the order of the threat model; none where no server starts here.
    pub promises: Vec<Proof>,
    /// The promises that this machine cannot hold; the probe was declared without them.
    pub without: Vec<Standing>,
    /// What would change that, or let a server start at all: one command or setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cure: Option<String>,
    /// Why no server starts here.
    pub refused: Option<Refused>,
}

/// Why no server starts here.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Refused {
    /// The stable code.
    pub code: String,
    /// The reason.
    pub message: String,
}

impl Diagnosis {
    /// Whether every promise is held, and shown to be.
    #[must_use]
    pub fn held(&self) -> bool {
        self.refused.is_none() && self.promises.iter().all(Proof::held)
    }
}

/// Why there is no diagnosis.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    /// Something could not be set up, looked at or taken away again.
    #[error("cannot {0}")]
    Ground(&'static str, #[source] io::Error),
    /// The bundled server did not answer, or did not end.
    #[error("the bundled server, {half}, did not answer")]
    Speak {
        /// Alone, or in which run.
        half: &'static str,
        /// What happened instead.
        #[source]
        source: io::Error,
    },
    /// A check of the supervisor could not be made.
    #[error("cannot check {0}")]
    Check(&'static str, #[source] Box<Error>),
}

/// Looks at this machine and attacks it. Leaves nothing behind.
///
/// # Errors
/// Where it could not be done to its end; nothing is asserted then.
pub async fn diagnose() -> Result<Diagnosis, DoctorError> {
    let ground = Ground::new().map_err(|error| DoctorError::Ground("set the attacks up", error))?;
    let diagnosis = on(&ground).await;
    let gone = ground.remove();
    let diagnosis = diagnosis?;
    gone.map_err(|error| DoctorError::Ground("take away what was planted", error))?;
    Ok(diagnosis)
}

async fn on(ground: &Ground) -> Result<Diagnosis, DoctorError> {
    let runs = match Run::both(ground) {
        Ok(runs) => runs,
        Err(error) => return Ok(refused(&error)),
    };
    let mut rows = runs::attack(ground, &runs).await?;
    rows.extend(checks::all(ground, &runs).await?);
    let [first, _] = &runs;
    Ok(Diagnosis {
        machine: Machine::of(Some(first.declared.explanation())),
        promises: judge::prove(&runs, rows),
        without: first.declared.without.clone(),
        cure: first.declared.explanation().confinement.cure.clone(),
        refused: None,
    })
}

/// A machine on which no server starts is stated all the same.
fn refused(error: &Error) -> Diagnosis {
    Diagnosis {
        machine: Machine::of(None),
        promises: Vec::new(),
        without: Vec::new(),
        cure: match error {
            // Here nobody asks for what does without.
            Error::Launch(LaunchError::Unheld { cure, .. }) => cure.clone(),
            other => other.hint(),
        },
        refused: Some(Refused {
            code: error.code().to_owned(),
            message: error.message(),
        }),
    }
}
