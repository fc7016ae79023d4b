//! `supervisor why ALIAS`: what a server was refused, and what grants it.

use std::process::ExitCode;
use std::time::Duration;

use super::WhyArgs;
use super::explain::Page;
use super::render;
use crate::confine::receipt::Exit;
use crate::declaration::Alias;
use crate::declaration::store::State;
use crate::error::Error;
use crate::launch::{self, Explanation, LaunchError};
use crate::plan::{Caches, Person, RunRequest, facts};
use crate::text;
use crate::why::finding::{Finding, What};
use crate::why::rerun;
use crate::why::{self, Report};

/// How long a server may take to its first answer, unless its declaration says so.
const START: Duration = Duration::from_secs(60);
/// So many findings that are no likely cause are shown; the object has them all.
const SHOWN: usize = 8;
/// So many lines of what the server said are shown.
const LINES: usize = 8;

/// Runs the command.
pub(super) fn run(args: &WhyArgs) -> ExitCode {
    done(args).unwrap_or_else(|error| render::error_as(&error, args.json))
}

fn done(args: &WhyArgs) -> Result<ExitCode, Error> {
    let person = facts::person()?;
    let state = State::open(&person)?;
    state.notes().iter().for_each(|note| render::note(note));
    // Said before anything is, where it may not start.
    let permitted = launch::permit(launch::explain(&person, &request(&args.alias))?)?;
    let explanation = permitted.explanation();
    if !args.json {
        let how = format!("{}, confined as always, and watching it", args.alias);
        render::human(&render::paragraph("starting", &how));
    }
    let limit = explanation.declared.timeouts.start_s;
    let limit = limit.map_or(START, |limit| Duration::from_secs(limit.get()));
    let rerun = rerun::rerun(explanation, limit).map_err(LaunchError::Spawn)?;
    let report = why::report(&person, &state, explanation, rerun)?;
    why::keep(&state, &report)?;
    Ok(if args.json {
        render::json("why", &report)
    } else {
        render::human(&page(&report, explanation))
    })
}

/// The command that mends what keeps a server from coming up, if one is known: it is started once
/// more and watched.
pub(super) fn cure(person: &Person, state: &State, alias: &Alias) -> Option<String> {
    let explanation = launch::explain(person, &request(alias)).ok()?;
    let permitted = launch::permit(explanation).ok()?;
    let explanation = permitted.explanation();
    let rerun = rerun::rerun(explanation, START).ok()?;
    let report = why::report(person, state, explanation, rerun).ok()?;
    report.command.filter(|_| !report.works)
}

/// A run like any other, and one that fetches where nothing did.
fn request(alias: &Alias) -> RunRequest {
    RunRequest {
        caches: Caches::IfPrepared,
        ..RunRequest::of(alias.clone())
    }
}

fn page(report: &Report, explanation: &Explanation) -> String {
    let mut page = Page::default();
    let alias = &report.alias;
    page.line("");
    match &report.trouble {
        None => page.0.push_str(&render::paragraph(
            alias.as_str(),
            "comes up and says what it offers; what only happens at a call is not seen here",
        )),
        Some(trouble) => page
            .0
            .push_str(&render::paragraph(&format!("{alias}:"), trouble)),
    }
    if let Some(unseen) = &report.unseen {
        page.0.push_str(&render::paragraph("not watched:", unseen));
    }
    let (causes, others): (Vec<&Finding>, Vec<&Finding>) =
        report.findings.iter().partition(|finding| finding.cause);
    if !causes.is_empty() {
        page.heading("why");
        causes.iter().for_each(|finding| show(&mut page, finding));
    }
    if causes.is_empty() && !report.works {
        nothing(&mut page, explanation);
    }
    // Every program looks around; what comes of that is in the object.
    let idle = |finding: &&Finding| matches!(finding.right, Some("list" | "look" | "watch"));
    let (idle, told): (Vec<&Finding>, Vec<&Finding>) = others.into_iter().partition(idle);
    if !told.is_empty() {
        page.heading(if causes.is_empty() {
            "refused"
        } else {
            "refused too, and hardly the reason"
        });
        told.iter()
            .take(SHOWN)
            .for_each(|finding| show(&mut page, finding));
    }
    let more = told.len().saturating_sub(SHOWN).saturating_add(idle.len());
    if more > 0 {
        page.line("");
        let said = format!("more, which hardly stop a program: supervisor why {alias} --json");
        page.0
            .push_str(&render::paragraph(&more.to_string(), &said));
    }
    last_run(&mut page, report);
    // Not where in its own code: that says little of what it lacks.
    let frame = |line: &&String| line.trim_start().starts_with("at ") || line.trim().is_empty();
    let said: Vec<&String> = report.said.iter().filter(|line| !frame(line)).collect();
    if !report.works && !said.is_empty() {
        page.heading("the last it said");
        for line in said.iter().skip(said.len().saturating_sub(LINES)) {
            page.0.push_str(&render::paragraph("  ", line));
        }
    }
    if let Some(command) = report.command.as_ref().filter(|_| !report.works) {
        page.heading("to grant what stands out, and be asked about it");
        page.line(&format!("  {command}"));
    }
    page.0
}

fn nothing(page: &mut Page, explanation: &Explanation) {
    page.heading("nothing that it was refused looks like the reason");
    let runs = text::words(explanation.plan.argv.iter().map(String::as_str));
    page.item(
        "",
        &format!(
            "it most likely fails the same way unconfined: {runs}; where it does not, it wants \
             one of your variables, of which it gets none but those that are named: -e NAME"
        ),
    );
}

fn last_run(page: &mut Page, report: &Report) {
    let Some(last) = report.last_run.as_ref().filter(|_| report.works) else {
        return;
    };
    let fate = match last.exit {
        Exit::Code(0) => return,
        Exit::Code(code) => format!("exited with code {code}"),
        Exit::Signal(number) => format!("was killed by signal {number}"),
    };
    page.heading("its last run");
    page.item(
        "",
        &format!("{fate}; what it said: supervisor logs {}", report.alias),
    );
}

fn show(page: &mut Page, finding: &Finding) {
    let word = name(finding.kind);
    let what = match finding.right {
        Some(right) => format!("{}   ({right})", finding.what),
        None => finding.what.clone(),
    };
    page.item(word, &text::printable(&what));
    let mut seen: Vec<String> = Vec::new();
    if let Some(answer) = &finding.answer {
        let times = match finding.times {
            1 => String::new(),
            times => format!(", {times} times"),
        };
        seen.push(format!("{answer}{times}"));
    }
    if !finding.by.is_empty() {
        seen.push(format!("by {}", finding.by.join(" > ")));
    }
    if let Some(promise) = finding.promise {
        seen.push(promise.to_string());
    }
    if !seen.is_empty() {
        page.item("", &seen.join("; "));
    }
    if !finding.note.is_empty() {
        page.item("", &text::printable(&finding.note));
    }
    if !finding.flags.is_empty() {
        let flags = text::words(finding.flags.iter().map(String::as_str));
        page.command("granted by", &flags);
    } else if finding.first.is_none() && finding.ours {
        page.item("", "no flag grants it");
    }
    if let Some(first) = &finding.first {
        let word = if finding.flags.is_empty() {
            "run once"
        } else if finding.flags.iter().any(|flag| flag == "--dir") {
            "run before"
        } else {
            "or, granting nothing"
        };
        page.command(word, first);
    }
}

const fn name(kind: What) -> &'static str {
    match kind {
        What::Path => "path",
        What::Program => "program",
        What::Socket => "socket",
        What::Host => "network",
        What::Port => "port",
        What::Variable => "variable",
        What::Certificates => "certificates",
        What::Build => "build",
        What::Namespace => "namespaces",
        What::Call => "system call",
        What::Limit => "limit",
        What::Output => "output",
    }
}
