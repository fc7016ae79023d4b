//! `supervisor try`: a server of ours attacks, first alone, then confined.
//!
//! A view of the attacks of [`crate::probe`], few enough to be read at a glance; `doctor` runs
//! all of them. The confined half goes down the very road of `supervisor run`: declared,
//! approved, started as a host starts it. What the table says was run, both times.

use std::io;
use std::time::Duration;

use serde::Serialize;
use tokio::process::Command;
use tokio::time::timeout;

use crate::confine::{Promise, Standing};
use crate::declaration::Network;
use crate::error::Error;
use crate::probe::client::Client;
use crate::probe::declared::{Declared, Wanted};
use crate::probe::{Attack, Ground, Outcome, Went, server};

/// The attacks that it shows.
const SHOWN: [Attack; 7] = [
    Attack::ReadHomeKey,
    Attack::ReadState,
    Attack::WriteNew,
    Attack::ConnectSocket,
    Attack::SignalVictim,
    Attack::SeeEnvironment,
    Attack::ConnectPort,
];
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
    pub attempt: Attack,
    /// The promise it tries to break.
    pub promise: Promise,
    /// What it did with nothing in its way.
    pub alone: Outcome,
    /// What it did confined.
    pub confined: Outcome,
}

impl Row {
    /// Whether the attack works at all and was stopped by the confinement.
    #[must_use]
    pub fn held(&self) -> bool {
        self.alone.succeeded() && self.confined.result == Went::Stopped
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
    let ground = Ground::new().map_err(TrialError::Plant)?;
    let wanted = Wanted {
        alias: "try",
        network: Network::None,
        directories: false,
        memory: None,
    };
    let declared = Declared::new(&ground, &wanted)?;
    let alone = half("alone", ground.command(&[server::ARGUMENT]), &ground);
    let alone = alone.await?;
    let started = ground.command(&["run", declared.alias.as_str()]);
    let confined = half("confined", started, &ground).await?;
    let rows = SHOWN
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
        without: declared.without.clone(),
        cure: declared.explanation().confinement.cure.clone(),
    })
}

struct Half {
    answer: String,
    outcomes: Vec<Outcome>,
}

async fn half(half: &'static str, command: Command, ground: &Ground) -> Result<Half, TrialError> {
    let spoken = timeout(LIMIT, speak(command, ground)).await;
    spoken
        .unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut)))
        .map_err(|source| TrialError::Speak { half, source })
}

async fn speak(command: Command, ground: &Ground) -> io::Result<Half> {
    let mut client = Client::start(command, &ground.path("stderr")).await?;
    let answer = client.call("greet", serde_json::json!({})).await?;
    let mut outcomes = Vec::new();
    for attack in SHOWN {
        let target = ground.target(attack).unwrap_or_default();
        let before = ground.picture(attack);
        let told = client.attempt(attack, &target).await?;
        outcomes.push(ground.judged(attack, before, told)?);
    }
    client.end().await?;
    Ok(Half { answer, outcomes })
}
