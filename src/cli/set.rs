//! `supervisor set`: changes single fields, shows what changed, asks where the digest did.

use std::ffi::OsString;
use std::process::ExitCode;

use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use super::add::{self, Asking};
use super::render;
use super::row::{Row, transport};
use crate::approval::candidate::Candidate;
use crate::approval::question::shown_path;
use crate::approval::{Approval, Approvals, Word, changed};
use crate::declaration::digest::canonical;
use crate::declaration::set_line::{self, Asked, Edit};
use crate::declaration::store::State;
use crate::declaration::{Declaration, EnvName, Server};
use crate::error::Error;
use crate::plan::facts;
use crate::policy;

/// `supervisor.set.v1`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Set {
    file: String,
    /// The fields that this command changed, as far as the digest counts them.
    set: Vec<Word>,
    /// The stored variables that have another value now.
    values: Vec<EnvName>,
    #[serde(flatten)]
    row: Row,
}

/// Runs the command; its words are those after `set`.
pub(super) fn run(words: &[OsString]) -> ExitCode {
    match set_line::parse(words) {
        Ok(Asked::Set(edit)) => {
            let json = edit.json;
            done(*edit).unwrap_or_else(|error| render::error_as(&error, json))
        }
        Ok(Asked::Help) => add::help("set"),
        Err(error) => {
            let json = words.iter().any(|word| word == "--json");
            render::error_as(&error.into(), json)
        }
    }
}

fn done(edit: Edit) -> Result<ExitCode, Error> {
    let person = facts::person()?;
    let state = State::open(&person)?;
    state.notes().iter().for_each(|note| render::note(note));
    let (alias, json, inspect) = (edit.alias.clone(), edit.json, edit.inspect);
    // Before anybody is asked for a value.
    state.read()?.get(&alias)?;
    let edit = edit.asked()?;
    let cwd = add::here();
    let (before, now) = state.update(|declarations, _| -> Result<_, Error> {
        let before = declarations.get(&alias)?.clone();
        let others = declarations.writable_but_by(&alias);
        let now = edit.apply(&before, &person, &cwd, &others)?;
        declarations
            .insert(&alias, now.clone())
            .map_err(crate::declaration::store::StoreError::from)?;
        Ok((before, now))
    })?;
    let words = changed(&canonical(&before), &canonical(&now));
    let values = values(&before, &now);
    let approvals = Approvals::read(&state)?;
    let earlier = approvals.latest_surface(&alias);
    let policy = policy::load::installed();
    let asked = Candidate::look(alias.clone(), now.clone(), &approvals, &policy, false);
    let given = asked.approval == Approval::Given;
    let candidate = Candidate::look(alias, now, &approvals, &policy, !given).marked(&person);
    if json {
        let file = state.file().display().to_string();
        let row = Row::of(&candidate).with_state(&candidate, &state).0;
        let set = Set {
            file,
            set: words,
            values,
            row,
        };
        return Ok(render::json("set", &set));
    }
    let asking = Asking {
        person: &person,
        state: &state,
        inspect,
        earlier: earlier.as_ref(),
    };
    show(&asking, candidate, given, (&words, &values))
}

/// The stored variables of both whose values differ.
fn values(before: &Declaration, now: &Declaration) -> Vec<EnvName> {
    let (Server::Stdio(before), Server::Stdio(now)) = (&before.server, &now.server) else {
        return Vec::new();
    };
    let other = |(name, value): (&EnvName, &SecretString)| {
        let was = before.env.get(name)?;
        (was.expose_secret() != value.expose_secret()).then(|| name.clone())
    };
    now.env.iter().filter_map(other).collect()
}

fn show(
    asking: &Asking<'_>,
    candidate: Candidate,
    given: bool,
    (set, values): (&[Word], &[EnvName]),
) -> Result<ExitCode, Error> {
    let (alias, state) = (candidate.alias.clone(), asking.state);
    // What the question is about differs from what was approved; else from what stood there.
    let words = match candidate.approval.changed() {
        [] => set,
        changed => changed,
    };
    let block = render::server(
        alias.as_str(),
        transport(&candidate.declaration),
        &candidate.shown_with(false, words),
    );
    let values = match values {
        [] => String::new(),
        names => {
            let names: Vec<&str> = names.iter().map(EnvName::as_str).collect();
            render::paragraph("  new values:", &names.join(", "))
        }
    };
    let file = shown_path(&state.file(), &asking.person.home);
    let shown = render::human(&format!("changed {alias} in {file}\n\n{block}{values}\n"));
    if shown != ExitCode::SUCCESS {
        return Ok(shown);
    }
    if given {
        return Ok(render::human(&format!(
            "{alias} is approved as it stands\n"
        )));
    }
    asking.ask_or_say(candidate)
}
