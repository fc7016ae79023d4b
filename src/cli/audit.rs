//! `supervisor audit`: the log shown, filtered, followed, verified.

use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use clap::CommandFactory;
use clap::error::ErrorKind;
use jiff::Timestamp;
use serde::Serialize;

use super::{AuditAction, AuditArgs, Cli, render};
use crate::audit::AuditError;
use crate::audit::event::Line;
use crate::audit::filter::Filter;
use crate::audit::read::Reader;
use crate::audit::verify::Damage;
use crate::declaration::store::State;
use crate::error::Error;
use crate::plan::facts;

/// How often a followed log is looked at.
const PAUSE: Duration = Duration::from_millis(200);
/// The log was cut or edited.
const NOT_WHOLE: u8 = 1;

/// `supervisor.audit.v1`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Shown {
    /// The lines asked for, from the oldest; none with `verify`.
    lines: Vec<Line>,
    /// Lines that could not be read.
    unreadable: usize,
    /// With `verify`: what was found.
    verified: Option<Verified>,
}

/// A look through the whole log.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Verified {
    /// Lines looked at.
    lines: u64,
    /// What is wrong.
    damage: Vec<Damage>,
}

/// Runs the command.
pub(super) fn run(args: &AuditArgs) -> ExitCode {
    let done = match args.action {
        AuditAction::Show => show(args),
        AuditAction::Verify if args.asks_for_less() => {
            return render::usage(&Cli::command().error(
                ErrorKind::ArgumentConflict,
                "`audit verify` looks at the whole log: it takes no other flag than --json",
            ));
        }
        AuditAction::Verify => verify(args.json),
    };
    done.unwrap_or_else(|error| render::error_as(&error, args.json))
}

fn reader() -> Result<Reader, Error> {
    let state = State::open(&facts::person()?)?;
    state.notes().iter().for_each(|note| render::note(note));
    Ok(Reader::open(state))
}

fn show(args: &AuditArgs) -> Result<ExitCode, Error> {
    let filter = Filter {
        alias: args.alias.clone(),
        since: args.since.map(|since| since.time(now())),
        tool: args.tool.clone(),
        outcome: args.outcome,
    };
    let mut reader = reader()?;
    let (mut lines, unreadable) = reader.lines()?;
    lines.retain(|line| filter.takes(line));
    if args.json {
        return Ok(render::json(
            "audit",
            &Shown {
                lines,
                unreadable,
                verified: None,
            },
        ));
    }
    if unreadable > 0 {
        render::note(&format!(
            "{unreadable} lines of the log cannot be read; supervisor audit verify names them"
        ));
    }
    if lines.is_empty() && !args.follow {
        return Ok(render::human("nothing of that is recorded\n"));
    }
    let mut code = page(&lines);
    while args.follow && code == ExitCode::SUCCESS && !render::is_gone() {
        sleep(PAUSE);
        let (mut lines, _) = reader.lines()?;
        lines.retain(|line| filter.takes(line));
        if !lines.is_empty() {
            code = page(&lines);
        }
    }
    Ok(code)
}

fn page(lines: &[Line]) -> ExitCode {
    render::human(&lines.iter().map(row).collect::<String>())
}

/// One event: when, whose, what, and what belongs to it.
fn row(line: &Line) -> String {
    let time = format!("{:.0}", line.time);
    let mut words = Vec::new();
    for member in [
        "tool", "outcome", "layer", "reason", "code", "state", "fault", "program",
    ] {
        words.extend(line.text(member).map(str::to_owned));
    }
    if let Some(ms) = line.rest.get("duration_ms") {
        words.push(format!("{ms} ms"));
    }
    for (member, shown) in [("failures", "failures"), ("restart", "restart")] {
        if let Some(count) = line
            .rest
            .get(member)
            .filter(|count| count.as_u64() > Some(0))
        {
            words.push(format!("{shown} {count}"));
        }
    }
    if let Some(exit) = line.rest.get("exit").and_then(|exit| exit.as_object()) {
        words.extend(exit.iter().map(|(how, number)| format!("{how} {number}")));
    }
    render::paragraph(
        &format!(
            "{time}  {}  {}",
            crate::text::word(&line.alias),
            crate::text::word(&line.event)
        ),
        &words.join(" "),
    )
}

fn verify(json: bool) -> Result<ExitCode, Error> {
    let look = reader()?.verify()?;
    let whole = look.damage.is_empty();
    if json {
        let shown = Shown {
            lines: Vec::new(),
            unreadable: 0,
            verified: Some(Verified {
                lines: look.lines,
                damage: look.damage,
            }),
        };
        let code = render::json("audit", &shown);
        return Ok(if whole || code != ExitCode::SUCCESS {
            code
        } else {
            ExitCode::from(NOT_WHOLE)
        });
    }
    if !whole {
        let place = |one: &Damage| match one.line {
            0 => format!("{}: {}", one.file, one.what),
            line => format!("{}:{line}: {}", one.file, one.what),
        };
        let damage = look.damage.iter().map(place).collect();
        return Err(AuditError::Damaged { damage }.into());
    }
    Ok(render::human(&format!(
        "the log is whole: {} lines\n",
        look.lines
    )))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the command tells the time that --since counts from"
)]
fn now() -> Timestamp {
    Timestamp::now()
}
