//! `supervisor list`: one row a declaration.

use std::process::ExitCode;

use serde::Serialize;

use super::ListArgs;
use super::render;
use super::row::{Row, transport};
use crate::approval::Approvals;
use crate::approval::candidate::Candidate;
use crate::approval::question::{self, shown_path};
use crate::declaration::entry::EntryError;
use crate::declaration::store::State;
use crate::declaration::{Alias, Declaration};
use crate::error::{Error, REFUSED};
use crate::plan::{Person, facts};
use crate::policy::load::{self, Installed};
use crate::text;

/// An entry cannot be used, or a file cannot be trusted.
const NOT_ALL_WELL: u8 = 1;

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct List {
    file: String,
    servers: Vec<Row>,
}

/// Runs the command.
pub(super) fn run(args: &ListArgs) -> ExitCode {
    let listed = facts::person()
        .map_err(Error::from)
        .and_then(|person| listed(&person, args.json));
    match listed {
        Ok(code) => code,
        // A file that cannot be trusted is what a script asks `list` about.
        Err(error) => match error.exit_code() {
            REFUSED => render::error_with(&error, args.json, NOT_ALL_WELL),
            exit => render::error_with(&error, args.json, exit),
        },
    }
}

/// Every declaration, looked at; `doctor` shows the same.
pub(super) struct Listed {
    file: String,
    pub(super) servers: Vec<Row>,
    pub(super) page: String,
    /// Every entry can be used, and every file be trusted.
    pub(super) well: bool,
}

fn listed(person: &Person, json: bool) -> Result<ExitCode, Error> {
    let Listed {
        file,
        servers,
        page,
        well,
    } = look(person)?;
    let code = if json {
        render::json("list", &List { file, servers })
    } else {
        render::human(&page)
    };
    Ok(if well || code != ExitCode::SUCCESS {
        code
    } else {
        ExitCode::from(NOT_ALL_WELL)
    })
}

/// Looks at every declaration, and says on standard error what is wrong with the state.
///
/// # Errors
/// The state cannot be trusted.
pub(super) fn look(person: &Person) -> Result<Listed, Error> {
    let state = State::open(person)?;
    state.notes().iter().for_each(|note| render::note(note));
    let declarations = state.read()?;
    let approvals = Approvals::read(&state)?;
    let mut page = shown_path(&state.file(), &person.home) + "\n\n";
    let mut servers = Vec::new();
    let policy = load::installed();
    let mut well = approvals.without_record().is_empty() && approvals.without_surface().is_empty();
    if let Err(error) = &policy {
        // On each row too; but there may be none.
        render::note(&error.to_string());
        well = false;
    }
    for (name, entry) in declarations.iter() {
        let (row, block, good) = match entry {
            Ok(declaration) => usable(name, declaration, (&approvals, &policy), &state),
            Err(problem) => unusable(name, problem),
        };
        well = well && good;
        page.push_str(&block);
        servers.push(row);
    }
    if servers.is_empty() {
        page.push_str(
            "nothing is declared; to declare a server: supervisor add ALIAS -- PROGRAM …\n",
        );
    }
    for digest in approvals.without_record() {
        render::note(&format!(
            "{} in `approved` has no record that hashes to it, and approves nothing",
            digest.short()
        ));
    }
    for digest in approvals.without_surface() {
        render::note(&format!(
            "the surface approved for {} is missing or was altered: it approves nothing",
            digest.short()
        ));
    }
    Ok(Listed {
        file: state.file().display().to_string(),
        servers,
        page,
        well,
    })
}

fn usable(
    name: &str,
    declaration: &Declaration,
    (approvals, policy): (&Approvals, &Installed),
    state: &State,
) -> (Row, String, bool) {
    // An entry is usable only under a name that is an alias.
    let Ok(alias) = name.parse::<Alias>() else {
        return unusable(name, &EntryError::Alias);
    };
    let candidate = Candidate::look(alias, declaration.clone(), approvals, policy, false);
    let (row, well) = Row::of(&candidate).with_state(&candidate, state);
    let mut rows = Vec::new();
    if !row.changed.is_empty() {
        rows.push(question::Row::named(
            "changed:",
            row.changed.iter().map(ToString::to_string),
        ));
    }
    if let Some(why) = &row.not_started {
        let next = why.hint.iter().map(|hint| format!("; next: {hint}"));
        let words = format!(
            "does not start: {}{}",
            why.message,
            next.collect::<String>()
        );
        rows.push(question::Row::text(&words));
    }
    rows.extend(row.left());
    let columns = [
        name,
        transport(declaration),
        row.state,
        candidate.digest.short(),
    ];
    let block = render::block(&columns, &candidate.shown(false).head(), &rows);
    (row, block, well)
}

fn unusable(name: &str, problem: &EntryError) -> (Row, String, bool) {
    let problem = problem.to_string();
    let name_shown = text::word(name);
    let block = render::block(
        &[&name_shown, "unusable"],
        &question::Row::text(&problem).0,
        &[],
    );
    (Row::unusable(name, &problem), block, false)
}
