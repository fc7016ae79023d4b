//! `supervisor add`: declares, shows, asks.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;

use super::approve;
use super::render;
use super::row::{Row, transport};
use super::surface;
use crate::approval::candidate::Candidate;
use crate::approval::question::shown_path;
use crate::approval::{Approval, Approvals, Word, prompt};
use crate::declaration::add_line::{self, AddLine, Asked};
use crate::declaration::store::State;
use crate::declaration::{Alias, declare};
use crate::error::Error;
use crate::plan::{Person, facts};
use crate::policy;
use crate::surface::Surface;

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Added {
    file: String,
    #[serde(flatten)]
    row: Row,
}

/// Runs the command; its words are those after `add`.
pub(super) fn run(words: &[OsString]) -> ExitCode {
    let line = match add_line::parse(words) {
        Ok(Asked::Add(line)) => line,
        Ok(Asked::Help) => return help("add"),
        Err(error) => {
            let json = words
                .iter()
                .take_while(|word| *word != "--")
                .any(|word| word == "--json");
            return render::error_as(&error.into(), json);
        }
    };
    match added(&line) {
        Ok(code) => code,
        Err(error) => render::error_as(&error, line.json),
    }
}

/// The help of a command whose words have a grammar of their own.
pub(super) fn help(command: &str) -> ExitCode {
    use clap::error::ErrorKind;
    match super::definition().try_get_matches_from(["supervisor", command, "--help"]) {
        Err(error) if error.kind() == ErrorKind::DisplayHelp => render::usage(&error),
        Err(error) => render::failure("cannot show the help", &error),
        Ok(_) => ExitCode::SUCCESS,
    }
}

fn added(line: &AddLine) -> Result<ExitCode, Error> {
    let person = facts::person()?;
    let state = State::open(&person)?;
    state.notes().iter().for_each(|note| render::note(note));
    if line.scope.is_some() {
        render::note("-s is noted, and has no effect yet");
    }
    let declaration = declare::declaration(line, &person, &here(), &state.read()?)?;
    let alias = &line.alias;
    let approvals = Approvals::read(&state)?;
    // Shown as `changed:`, though the replaced declaration's approval goes at once.
    let policy = policy::load::installed();
    let before = Candidate::look(
        alias.clone(),
        declaration.clone(),
        &approvals,
        &policy,
        false,
    );
    let changed = before.approval.changed().to_vec();
    // The surface approved with it goes too: what differs from it is shown at the question.
    let earlier = approvals.latest_surface(alias);
    Approvals::declare(&state, alias, &declaration)?;
    let approvals = Approvals::read(&state)?;
    let stale = before.is_stale(&approvals);
    let anew = before.approval != Approval::Given || stale;
    let candidate =
        Candidate::look(alias.clone(), declaration, &approvals, &policy, anew).marked(&person);
    let changed = if stale { vec![Word::Program] } else { changed };
    if line.json {
        let file = state.file().display().to_string();
        return Ok(render::json(
            "add",
            &Added {
                file,
                row: Row::of(&candidate).with_state(&candidate, &state).0,
            },
        ));
    }
    let asking = Asking {
        person: &person,
        state: &state,
        inspect: line.inspect,
        earlier: earlier.as_ref(),
    };
    show(&asking, candidate, &changed, stale)
}

/// Where the line was typed; nowhere, where that directory is gone: then a relative path in the
/// line leads nowhere too.
#[expect(
    clippy::disallowed_methods,
    reason = "the words of the line are read from there"
)]
pub(super) fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/nonexistent"))
}

/// What the questions about a declaration need besides it.
pub(super) struct Asking<'a> {
    pub(super) person: &'a Person,
    pub(super) state: &'a State,
    /// The second question is asked too.
    pub(super) inspect: bool,
    /// The surface that was approved before.
    pub(super) earlier: Option<&'a Surface>,
}

fn show(
    asking: &Asking<'_>,
    candidate: Candidate,
    changed: &[Word],
    stale: bool,
) -> Result<ExitCode, Error> {
    let Asking { person, state, .. } = asking;
    let alias = candidate.alias.clone();
    let file = shown_path(&state.file(), &person.home);
    let block = render::server(
        alias.as_str(),
        transport(&candidate.declaration),
        &candidate.shown_with(false, changed),
    );
    let shown = render::human(&format!("declared {alias} in {file}\n\n{block}\n"));
    if shown != ExitCode::SUCCESS {
        return Ok(shown);
    }
    if candidate.approval == Approval::Given && !stale {
        return asking.stands(&alias);
    }
    asking.ask_or_say(candidate)
}

impl Asking<'_> {
    /// Says of what is approved already that it is; the second question may be open all the same,
    /// where the server could not answer it before.
    fn stands(&self, alias: &Alias) -> Result<ExitCode, Error> {
        let said = render::human(&format!("{alias} is approved as it stands\n"));
        if self.inspect {
            surface::follow(self.person, self.state, alias, self.earlier)?;
        }
        Ok(said)
    }

    /// Asks about what was just shown, or says how to be asked.
    pub(super) fn ask_or_say(&self, candidate: Candidate) -> Result<ExitCode, Error> {
        let alias = candidate.alias.clone();
        let later = format!("supervisor approve {alias}");
        if let Some(error) = candidate.not_started() {
            let said = render::paragraph("not asked about:", &error.message);
            return Ok(render::human(&format!(
                "{said}when that is mended: {later}\n"
            )));
        }
        if !prompt::is_at_terminal() {
            return Ok(render::human(&format!(
                "not approved; at a terminal: {later}\n"
            )));
        }
        if !approve::ask(self.state, candidate)? {
            return Ok(render::human(&format!(
                "\nnot approved; to be asked again: {later}\n"
            )));
        }
        if self.inspect {
            surface::follow(self.person, self.state, &alias, self.earlier)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
