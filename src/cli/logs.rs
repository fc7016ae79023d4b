//! `supervisor logs ALIAS`: what a server said beside the protocol in its last runs.

use std::process::ExitCode;

use serde::Serialize;

use super::LogsArgs;
use super::render;
use crate::confine::receipt::{Exit, Receipt};
use crate::declaration::store::State;
use crate::declaration::{Alias, Digest, digest};
use crate::error::Error;
use crate::launch::run_id::RunId;
use crate::launch::{logs, receipts};
use crate::plan::facts;

/// `supervisor.logs.v1`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Logs {
    alias: Alias,
    digest: Digest,
    /// The latest last.
    runs: Vec<Said>,
}

/// One run.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Said {
    run: RunId,
    /// Where there is a receipt of it.
    started: Option<String>,
    ended: Option<String>,
    exit: Option<Exit>,
    /// The end of what it said; `(stdout) ` stands before what was no message.
    lines: Vec<String>,
}

/// Runs the command.
pub(super) fn run(args: &LogsArgs) -> ExitCode {
    match said(args) {
        Ok(logs) if args.json => render::json("logs", &logs),
        Ok(logs) => render::human(&page(&logs)),
        Err(error) => render::error_as(&error, args.json),
    }
}

fn said(args: &LogsArgs) -> Result<Logs, Error> {
    let state = State::open(&facts::person()?)?;
    let digest = digest::digest(state.read()?.get(&args.alias)?);
    let (receipts, _) = receipts::read(&state, &digest);
    let mut texts = logs::read(&state, &digest)?;
    texts.truncate(args.runs);
    texts.reverse();
    let runs = texts.into_iter().map(|(run, text)| {
        let receipt = receipts.iter().find(|receipt| receipt.run == run);
        of_run(run, receipt, &text)
    });
    Ok(Logs {
        runs: runs.collect(),
        alias: args.alias.clone(),
        digest,
    })
}

fn of_run(run: RunId, receipt: Option<&Receipt>, text: &str) -> Said {
    Said {
        run,
        started: receipt.map(|receipt| receipt.started.to_string()),
        ended: receipt.map(|receipt| receipt.ended.to_string()),
        exit: receipt.map(|receipt| receipt.exit),
        lines: text.lines().map(str::to_owned).collect(),
    }
}

fn page(logs: &Logs) -> String {
    if logs.runs.is_empty() {
        let alias = &logs.alias;
        return format!("no run of {alias} as it is declared now has said anything\n");
    }
    let mut page = String::new();
    for said in &logs.runs {
        let times = match (&said.started, &said.ended) {
            (Some(started), Some(ended)) => format!("{started} to {ended}"),
            _ => "no receipt".to_owned(),
        };
        let exit = match said.exit {
            Some(Exit::Code(code)) => format!(", exited with code {code}"),
            Some(Exit::Signal(number)) => format!(", killed by signal {number}"),
            None => String::new(),
        };
        page.push_str(&format!("run {}   {times}{exit}\n", said.run));
        for line in &said.lines {
            page.push_str(&render::paragraph("  ", line));
        }
        page.push('\n');
    }
    page
}
