//! `supervisor policy`: an administrator's files, checked and tested before they are rolled out.

use std::process::ExitCode;

use serde::Serialize;

use super::policy_args::{CheckArgs, PolicyCommand, TestArgs};
use super::{add, policy_exchange, render};
use crate::approval::Approvals;
use crate::approval::candidate::Candidate;
use crate::declaration::store::State;
use crate::declaration::{AbsolutePath, Alias, Network, Pin, Stdio, declare};
use crate::error::{Error, REFUSED};
use crate::plan::{PlanError, facts, links, program};
use crate::policy::error::UNUSABLE;
use crate::policy::evaluate::evaluate;
use crate::policy::notes::{self, Checked};
use crate::policy::owner::Trust;
use crate::policy::{AdminPolicy, Decision, Verdict, load, look};

/// Runs the command.
pub(super) fn run(command: &PolicyCommand) -> ExitCode {
    match command {
        PolicyCommand::Check(args) => check(args),
        PolicyCommand::Test(args) => test(args),
        PolicyCommand::Schema(_) => render::human(include_str!("../../policy/schema/managed.json")),
        PolicyCommand::Import(args) => policy_exchange::import(args),
        PolicyCommand::Export(args) => policy_exchange::export(args),
    }
}

fn check(args: &CheckArgs) -> ExitCode {
    let trust = if args.installed {
        Trust::Installed
    } else {
        Trust::Named
    };
    let checked = match &args.file {
        Some(file) => load::named(file, trust).map(|policy| Checked::of(&policy)),
        None => notes::installed(),
    };
    let checked = match checked {
        Ok(checked) => checked,
        Err(error) => {
            let exit = error.exit_code();
            // The installed one is a file that was asked about, here.
            let exit = if exit == REFUSED { UNUSABLE } else { exit };
            return render::error_with(&error.into(), args.json, exit);
        }
    };
    let shown = if args.json {
        render::json("policy-check", &checked)
    } else {
        render::human(&page(&checked))
    };
    if args.strict && !checked.notes.is_empty() && shown == ExitCode::SUCCESS {
        ExitCode::from(UNUSABLE)
    } else {
        shown
    }
}

fn page(checked: &Checked) -> String {
    if checked.files.is_empty() {
        return "no administrator's policy on this machine: what is approved may start\n"
            .to_owned();
    }
    let mut page = String::new();
    for file in &checked.files {
        page.push_str(&render::paragraph("reads:", file));
    }
    let allow = match checked.allow {
        None => "none, so all that is not denied may start".to_owned(),
        Some(0) => "empty, so nothing starts".to_owned(),
        Some(count) => count.to_string(),
    };
    page.push_str(&render::paragraph("allow:", &allow));
    page.push_str(&render::paragraph("deny:", &checked.deny.to_string()));
    for floor in &checked.floors {
        page.push_str(&render::paragraph("floor:", floor));
    }
    for note in &checked.notes {
        let told = format!(
            "{}, {} line {}: {}",
            note.rule, note.file, note.line, note.text
        );
        page.push_str(&render::paragraph("note:", &told));
    }
    page
}

/// `supervisor.policy-test.v1`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Tested {
    #[serde(flatten)]
    verdict: Verdict,
}

fn test(args: &TestArgs) -> ExitCode {
    let verdict = load::named(&args.file, Trust::Named)
        .map_err(Error::from)
        .and_then(|policy| judged(policy, args));
    let verdict = match verdict {
        Ok(verdict) => verdict,
        Err(error) => return render::error_as(&error, args.json),
    };
    let result = verdict.result;
    let shown = if args.json {
        render::json("policy-test", &Tested { verdict })
    } else {
        render::human(&render::paragraph(
            &format!("{}:", result.as_str()),
            &verdict.told(),
        ))
    };
    if result == Decision::Deny && shown == ExitCode::SUCCESS {
        ExitCode::from(REFUSED)
    } else {
        shown
    }
}

fn judged(policy: AdminPolicy, args: &TestArgs) -> Result<Verdict, Error> {
    if let Some(url) = &args.url {
        return Ok(look::judge_url(&policy, url));
    }
    match &args.alias {
        Some(alias) => of_declared(policy, alias),
        None => of_line(&policy, args),
    }
}

/// What it would say to a declared server.
fn of_declared(policy: AdminPolicy, alias: &Alias) -> Result<Verdict, Error> {
    let state = State::open(&facts::person()?)?;
    let declaration = state.read()?.get(alias)?.clone();
    let approvals = Approvals::read(&state)?;
    let candidate = Candidate::look(alias.clone(), declaration, &approvals, &Ok(policy), false);
    match candidate.verdict.clone() {
        Some(verdict) => Ok(verdict),
        // Its program is not there, or cannot be looked at.
        None => Err(candidate.must_start().err().unwrap_or_else(|| {
            PlanError::ProgramNotFound {
                program: alias.to_string(),
            }
            .into()
        })),
    }
}

/// What it would say to a line of `add`.
fn of_line(policy: &AdminPolicy, args: &TestArgs) -> Result<Verdict, Error> {
    let stdio = stdio(args)?;
    let path = crate::approval::candidate::search_path(&stdio, None);
    let mut subject = match program::find(&stdio.command, &path) {
        Ok(program) => look::subject(policy, &stdio, &program, &path)?,
        // A fleet's file is tested where its programs need not be.
        Err(PlanError::ProgramNotFound { .. }) if stdio.command.starts_with('/') => {
            look::elsewhere(policy, &stdio, &path)
        }
        Err(error) => return Err(error.into()),
    };
    if let Some(sha256) = &args.sha256 {
        subject.has_content(sha256);
    }
    Ok(evaluate(policy, &subject))
}

fn stdio(args: &TestArgs) -> Result<Stdio, PlanError> {
    let (program, arguments) = match args.program.split_first() {
        Some((program, arguments)) => (program.as_str(), arguments),
        None => ("", [].as_slice()),
    };
    let here = add::here();
    let mut stdio = Stdio::new(program::absolute(program, &here)?, arguments.to_vec());
    stdio.pass = args.env.iter().cloned().collect();
    if args.net.as_deref() == Some("none") {
        stdio.network = Network::None;
    }
    stdio.pin = args.pin.iter().map(|_| Pin::Program).collect();
    stdio.without = args.without.iter().copied().collect();
    declare::name_path(&mut stdio);
    if let Some(dir) = &args.dir {
        let dir = links::settle(&here.join(dir));
        stdio.dir = Some(AbsolutePath::new(&dir).map_err(|_| PlanError::NotUtf8 { path: dir })?);
    }
    Ok(stdio)
}
