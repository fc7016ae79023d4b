//! `supervisor explain` of a server elsewhere: what would be reached, and that nothing is yet.

use std::process::ExitCode;

use serde::Serialize;

use super::explain::{Page, approval};
use super::render;
use crate::approval::candidate::{Candidate, NotStarted};
use crate::approval::{Approval, Approvals};
use crate::declaration::store::State;
use crate::declaration::{Alias, Digest, EnvName, Server};
use crate::error::Error;
use crate::launch::LaunchError;
use crate::plan::facts;
use crate::policy::{self, Verdict};
use crate::text;

/// What there is to know of a server elsewhere.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Elsewhere {
    alias: Alias,
    digest: Digest,
    approval: Approval,
    url: String,
    headers: Vec<String>,
    bearer_env: Option<EnvName>,
    verdict: Verdict,
    not_started: NotStarted,
}

/// The server of an alias, where it is one elsewhere.
///
/// # Errors
/// The state cannot be trusted; the alias is unknown.
pub(super) fn explained(alias: &Alias) -> Result<Option<Elsewhere>, Error> {
    let state = State::open(&facts::person()?)?;
    let declaration = state.read()?.get(alias)?.clone();
    let Server::Http(http) = &declaration.server else {
        return Ok(None);
    };
    let http = http.clone();
    let later = LaunchError::HttpLater {
        alias: alias.clone(),
    };
    let approvals = Approvals::read(&state)?;
    let policy = policy::load::installed();
    let verdict = policy::look::judge_url(policy.as_ref().map_err(Clone::clone)?, &http.url);
    let candidate = Candidate::look(alias.clone(), declaration, &approvals, &policy, false);
    let refused = candidate.not_started();
    Ok(Some(Elsewhere {
        alias: candidate.alias,
        digest: candidate.digest,
        approval: candidate.approval,
        url: http.url,
        headers: http.headers.into_keys().collect(),
        bearer_env: http.bearer_env,
        not_started: refused.unwrap_or_else(|| NotStarted::of(&later)),
        verdict,
    }))
}

/// Shows it.
pub(super) fn show(elsewhere: &Elsewhere, json: bool) -> ExitCode {
    if json {
        return render::json("explain", elsewhere);
    }
    let mut page = Page::default();
    page.line(&format!(
        "{}   digest {}   {}",
        elsewhere.alias,
        elsewhere.digest.short(),
        approval(&elsewhere.approval)
    ));
    page.heading("reaches");
    page.item("url", &text::word(&elsewhere.url));
    for name in &elsewhere.headers {
        page.item("header", &format!("{} (stored)", text::printable(name)));
    }
    if let Some(name) = &elsewhere.bearer_env {
        page.item("bearer token", &format!("from the variable {name}"));
    }
    page.heading("administrator");
    page.item(elsewhere.verdict.result.as_str(), &elsewhere.verdict.told());
    page.heading("runs");
    page.item("nothing", &elsewhere.not_started.message);
    render::human(&page.0)
}
