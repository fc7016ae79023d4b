//! `supervisor ps`: the servers that run now, and what confines them.

use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;

use super::PsArgs;
use super::explain::Page;
use super::{Cli, Command, render};
use crate::approval::Approvals;
use crate::declaration::store::State;
use crate::declaration::{Alias, Server, digest};
use crate::error::Error;
use crate::launch::running::{self, Holder, Seen};
use crate::plan::facts;
use crate::run::pending;
use crate::text;

/// `supervisor.ps.v1`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Running {
    servers: Vec<Row>,
}

/// One server that runs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Row {
    alias: Alias,
    /// The command that runs it: `run`, or one that reads its surface.
    command: String,
    /// The process that runs it.
    supervisor: u32,
    /// What started that.
    host: Option<String>,
    since: Option<String>,
    /// Whether what it says of itself is offered.
    #[cfg_attr(
        test,
        schemars(extend("enum" = ["offered", "partly-withheld", "withheld"]))
    )]
    surface: &'static str,
    /// How many of its items runs withheld, since they are not what was approved.
    withheld_items: usize,
    #[serde(flatten)]
    seen: Seen,
}

/// Runs the command.
pub(super) fn run(args: &PsArgs) -> ExitCode {
    match servers() {
        Ok(running) if args.json => render::json("ps", &running),
        Ok(running) => render::human(&page(&running)),
        Err(error) => render::error_as(&error, args.json),
    }
}

fn servers() -> Result<Running, Error> {
    let state = State::open(&facts::person()?)?;
    let (declarations, approvals) = (state.read()?, Approvals::read(&state)?);
    let mut servers = Vec::new();
    for (name, entry) in declarations.iter() {
        let (Ok(alias), Ok(declaration)) = (name.parse::<Alias>(), entry) else {
            continue;
        };
        if !matches!(declaration.server, Server::Stdio(_)) {
            continue;
        }
        let home = digest::launch(&declaration.server);
        let digest = digest::digest(declaration);
        let approved = approvals.surface(&digest);
        let waiting = pending::read(&state, &digest, approved.as_ref())?;
        let withheld = waiting.map_or(0, |waiting| waiting.withheld());
        let surface = match (approved, withheld) {
            (None, _) => "withheld",
            (Some(_), 0) => "offered",
            (Some(_), _) => "partly-withheld",
        };
        let holders = running::holders(state.path(), home.home_name());
        let rows = holders
            .into_iter()
            .filter_map(|holder| row(&alias, holder, (surface, withheld)));
        servers.extend(rows);
    }
    Ok(Running { servers })
}

/// The row of a process that runs this alias; another may share its home.
fn row(
    alias: &Alias,
    holder: Holder,
    (surface, withheld_items): (&'static str, usize),
) -> Option<Row> {
    let (of, command) = match Cli::try_parse_from(&holder.words).ok()?.command {
        Command::Run(args) => (args.alias, "run"),
        Command::Approve(args) => (args.alias, "approve"),
        Command::Why(args) => (args.alias, "why"),
        Command::Add(_) | Command::Set(_) => (alias.clone(), "add"),
        _ => return None,
    };
    (of == *alias).then(|| Row {
        alias: of,
        command: command.to_owned(),
        supervisor: holder.process,
        host: holder.host,
        since: holder.since.map(|since| since.to_string()),
        surface,
        withheld_items,
        seen: running::seen(holder.process),
    })
}

fn page(running: &Running) -> String {
    let mut page = Page::default();
    if running.servers.is_empty() {
        page.line("no server runs (one run with --ephemeral is not found)");
    }
    for row in &running.servers {
        let host = row.host.as_deref().unwrap_or("somebody");
        let since = row.since.as_deref().unwrap_or("an unknown time");
        page.line(&format!(
            "{}   {} by {host} since {since}",
            row.alias, row.command
        ));
        let process = row
            .seen
            .process
            .map_or_else(|| "none yet".to_owned(), |id| id.to_string());
        let several = match row.seen.processes {
            0 | 1 => String::new(),
            count => format!(", {count} processes"),
        };
        let memory = text::size(row.seen.memory_bytes);
        page.item("process", &format!("{process}{several}, {memory}"));
        let surface = match row.surface {
            "offered" => "offered".to_owned(),
            "withheld" => format!(
                "withheld, since nobody approved it: supervisor approve {} --surface",
                row.alias
            ),
            _ => format!(
                "offered but for {} items that are not what was approved: supervisor tools {} --pending",
                row.withheld_items, row.alias
            ),
        };
        page.item("surface", &surface);
        page.item("confined by", &row.seen.confined_by.join(", "));
        page.item("", &format!("all of it: supervisor explain {}", row.alias));
    }
    page.0
}
