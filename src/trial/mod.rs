//! `supervisor try`: a server of ours attacks, first alone, then confined.
//!
//! [`planted`] makes what there is to steal, in a directory that goes afterwards; `server` is the
//! bundled server, whose tools are the attacks of [`attempt`]; `client` speaks to it as a host
//! does. The confined half goes down the very road of `supervisor run`: declared, approved,
//! started as a host starts it. What the table says was run, both times.

pub(crate) mod attempt;
pub(crate) mod client;
pub(crate) mod planted;
pub(crate) mod server;

use std::io;
use std::time::Duration;

use serde::Serialize;
use tokio::time::timeout;

use crate::confine::Standing;
use crate::error::Error;
use attempt::{Attempt, Outcome};
use client::Client;
use planted::Planted;

/// How long each half may take; it takes a fraction of a second.
const LIMIT: Duration = Duration::from_secs(10);

/// What became of the trial.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Trial {
    /// What the bundled server answered to a harmless call, confined.
    pub answer: String,
    /// One row an attack.
    pub rows: Vec<Row>,
    /// The promises that this machine cannot hold; the bundled server was declared without them.
    pub without: Vec<Standing>,
    /// What would change that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cure: Option<String>,
}

/// One attack, run twice.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Row {
    /// Which.
    pub attempt: Attempt,
    /// The promise it tries to break.
    pub promise: crate::confine::Promise,
    /// What it did with nothing in its way.
    pub alone: Outcome,
    /// What it did confined.
    pub confined: Outcome,
}

impl Row {
    /// Whether the attack works at all and was stopped by the confinement.
    #[must_use]
    pub fn held(&self) -> bool {
        self.alone.succeeded && !self.confined.succeeded
    }
}

impl Trial {
    /// Whether every attack was held.
    #[must_use]
    pub fn held(&self) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(Row::held)
    }
}

/// Why there was no trial.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// Nothing could be planted.
    #[error("cannot set up what there is to steal")]
    Plant(#[source] io::Error),
    /// The bundled server could not be declared or approved.
    #[error(transparent)]
    Declare(#[from] Error),
    /// The bundled server did not answer.
    #[error("the bundled server, {half}, did not answer")]
    Speak {
        /// `alone` or `confined`.
        half: &'static str,
        /// What happened instead.
        #[source]
        source: io::Error,
    },
}

/// Runs every attack alone and confined.
///
/// # Errors
/// Where a half could not be run to its end; nothing is asserted then.
pub async fn run() -> Result<Trial, TrialError> {
    let mut planted = Planted::new().map_err(TrialError::Plant)?;
    let without = planted.declare()?;
    let alone = half("alone", planted.alone(), &planted).await?;
    let confined = half("confined", planted.confined(), &planted).await?;
    let rows = Attempt::ALL
        .into_iter()
        .zip(alone.outcomes.into_iter().zip(confined.outcomes))
        .map(|(attempt, (alone, confined))| Row {
            attempt,
            promise: attempt.promise(),
            alone,
            confined,
        })
        .collect();
    Ok(Trial {
        answer: confined.answer,
        rows,
        without: without.promises,
        cure: without.cure,
    })
}

struct Half {
    answer: String,
    outcomes: Vec<Outcome>,
}

async fn half(
    half: &'static str,
    command: tokio::process::Command,
    planted: &Planted,
) -> Result<Half, TrialError> {
    let spoken = timeout(LIMIT, speak(command, planted)).await;
    spoken
        .unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut)))
        .map_err(|source| TrialError::Speak { half, source })
}

async fn speak(command: tokio::process::Command, planted: &Planted) -> io::Result<Half> {
    let mut client = Client::start(command).await?;
    let answer = client.call("greet", serde_json::json!({})).await?;
    let mut outcomes = Vec::new();
    for attempt in Attempt::ALL {
        let told = client.attempt(attempt, &planted.target(attempt)).await?;
        outcomes.push(planted.judged(attempt, told)?);
    }
    client.end().await?;
    Ok(Half { answer, outcomes })
}
