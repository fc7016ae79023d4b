//! `supervisor get ALIAS`: one declaration in full.

use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;

use super::GetArgs;
use super::render;
use super::row::{Row, surface, transport};
use super::scope::Scope;
use crate::approval::Approvals;
use crate::approval::candidate::{Candidate, SurfaceState};
use crate::confine::Promise;
use crate::declaration::store::State;
use crate::declaration::{
    AbsolutePath, Allow, BoundLimits, EnvName, Network, Pin, Read, Server, Tools,
};
use crate::error::Error;
use crate::plan::facts;
use crate::plan::runner::Runner;
use crate::policy::{self, Verdict};
use crate::surface::categories::{Categories, Sets};

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Full {
    #[serde(flatten)]
    row: Row,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<PathBuf>,
    verdict: Option<Verdict>,
    variables: Vec<Variable>,
    #[serde(flatten)]
    stdio: Option<Stdio>,
    #[serde(flatten)]
    http: Option<Http>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Variable {
    name: EnvName,
    kind: &'static str,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Stdio {
    dir: Option<AbsolutePath>,
    reads: Vec<Read>,
    network: Network,
    limits: BoundLimits,
    allow: Vec<Allow>,
    without: Vec<Promise>,
    pin: Vec<Pin>,
    tools: Tools,
    /// The categories of its tools: those granted, and those that the approved ones are of.
    categories: Sets,
    runner: Option<Fetched>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Fetched {
    name: &'static str,
    fetches: bool,
    packages: Vec<String>,
    exact: bool,
}

impl Fetched {
    fn of(runner: &Runner) -> Self {
        let Runner {
            name,
            fetches,
            packages,
            exact,
            ..
        } = runner;
        Self {
            name,
            fetches: *fetches,
            packages: packages.clone(),
            exact: *exact,
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Http {
    headers: Vec<String>,
    bearer_env: Option<EnvName>,
}

/// Runs the command.
pub(super) fn run(args: &GetArgs) -> ExitCode {
    match got(args) {
        Ok((candidate, state, categories)) => show(&candidate, &state, &categories, args.json),
        Err(error) => render::error_as(&error, args.json),
    }
}

fn got(args: &GetArgs) -> Result<(Candidate, State, Categories), Error> {
    let person = facts::person()?;
    let state = State::open(&person)?;
    let declaration = state.read()?.get(&args.alias)?.clone();
    let approvals = Approvals::read(&state)?;
    let policy = policy::load::installed();
    let candidate = Candidate::look(args.alias.clone(), declaration, &approvals, &policy, false);
    let scope = Scope::read(&state, &candidate.alias, &candidate.declaration)?;
    let categories = scope.of(&candidate.offered.clone().unwrap_or_default());
    Ok((candidate.marked(&person), state, categories))
}

fn show(candidate: &Candidate, state: &State, categories: &Categories, json: bool) -> ExitCode {
    if json {
        return render::json("get", &full(candidate, state, categories));
    }
    let transport = transport(&candidate.declaration);
    let mut page = render::server(candidate.alias.as_str(), transport, &candidate.shown(true));
    let mut known = candidate.approval.as_str().to_owned();
    if candidate.surface != SurfaceState::Unknown {
        match surface(candidate, state) {
            Ok(surface) => known.push_str(&format!(", its surface {}", surface.as_str())),
            Err(error) => render::note(&format!("{}: {error}", candidate.alias)),
        }
    }
    page.push_str(&render::paragraph("\n ", &known));
    if let Some(told) = categories.told() {
        page.push_str(&render::paragraph(" ", &told));
    }
    render::human(&page)
}

fn full(candidate: &Candidate, state: &State, categories: &Categories) -> Full {
    let (row, _) = Row::of(candidate).with_state(candidate, state);
    let found = candidate
        .program
        .as_ref()
        .and_then(|program| program.as_ref().ok());
    let runs = found.map(|program| program.found.clone());
    let mut variables: Vec<Variable> = candidate
        .ours()
        .iter()
        .map(|name| Variable {
            name: name.clone(),
            kind: "ours",
        })
        .collect();
    let (stdio, http) = match &candidate.declaration.server {
        Server::Stdio(stdio) => {
            variables.extend(stdio.variables().into_iter().map(|name| {
                let kind = if stdio.env.contains_key(&name) {
                    "stored"
                } else {
                    "passed"
                };
                Variable { name, kind }
            }));
            let stdio = Stdio {
                dir: stdio.dir.clone(),
                reads: stdio.reads.clone(),
                network: stdio.network,
                limits: stdio.limits.bound(),
                allow: stdio.allow.iter().copied().collect(),
                without: stdio.without.iter().copied().collect(),
                pin: stdio.pin.iter().copied().collect(),
                tools: stdio.tools.clone(),
                categories: categories.sets(),
                runner: candidate.runner.as_ref().map(Fetched::of),
            };
            (Some(stdio), None)
        }
        Server::Http(http) => {
            let headers = http.headers.keys().cloned().collect();
            (
                None,
                Some(Http {
                    headers,
                    bearer_env: http.bearer_env.clone(),
                }),
            )
        }
    };
    Full {
        row,
        runs,
        verdict: candidate.verdict.clone(),
        variables,
        stdio,
        http,
    }
}
