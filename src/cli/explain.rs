//! `supervisor explain ALIAS`: everything there is to know before a run.

use std::process::ExitCode;

use serde::Serialize;

use super::ExplainArgs;
use super::render;
use super::scope::Scope;
use crate::approval::Approval;
use crate::confine::{Standing, State};
use crate::declaration::store::State as Kept;
use crate::declaration::{Network, category};
use crate::error::Error;
use crate::launch::{self, Explanation};
use crate::plan::{Grant, Rights, RunRequest, Source, Variable, facts};
use crate::surface::categories::{Categories, Sets};
use crate::text;

/// Runs the command.
pub(super) fn run(args: &ExplainArgs) -> ExitCode {
    let asked = super::elsewhere::explained(&args.alias);
    match asked {
        Ok(Some(elsewhere)) => super::elsewhere::show(&elsewhere, args.json),
        Ok(None) => show(&RunRequest::of(args.alias.clone()), args.json),
        Err(error) => render::error_as(&error, args.json),
    }
}

/// Shows the plan of an alias; `run --dry-run` is the same.
pub(super) fn show(request: &RunRequest, json: bool) -> ExitCode {
    match explained(request) {
        Ok((explained, _)) if json => render::json("explain", &explained),
        Ok((explained, categories)) => render::human(&page(&explained.explanation, &categories)),
        Err(error) => render::error_as(&error, json),
    }
}

/// A plan, and what is outside it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Explained {
    #[serde(flatten)]
    explanation: Explanation,
    /// The categories of its tools: those granted, and those that the approved ones are of.
    categories: Sets,
}

fn explained(request: &RunRequest) -> Result<(Explained, Categories), Error> {
    let person = facts::person()?;
    let explanation = launch::explain(&person, request)?;
    let (state, alias) = (Kept::open(&person)?, &explanation.alias);
    let scope = Scope::read(&state, alias, state.read()?.get(alias)?)?;
    let approved = explanation.approved_surface()?;
    let categories = scope.of(&approved.unwrap_or_default());
    let explained = Explained {
        explanation,
        categories: categories.sets(),
    };
    Ok((explained, categories))
}

/// The page for a reader: 80 columns, wrapped and never cut.
fn page(explanation: &Explanation, categories: &Categories) -> String {
    let mut page = Page::default();
    let plan = &explanation.plan;
    page.line(&format!(
        "{}   digest {}   {}",
        explanation.alias,
        explanation.digest.short(),
        approval(&explanation.approval)
    ));
    page.heading("runs");
    page.item("executes", &text::path(&plan.exec));
    page.item("as", &text::words(plan.argv.iter().map(String::as_str)));
    page.heading("variables");
    for variable in &plan.variables {
        page.item(variable.name.as_str(), &source(variable));
    }
    page.heading("directories");
    page.item("starts in", &text::path(&plan.cwd));
    page.item("home", &text::path(&plan.home));
    page.item("temporary", &text::path(&plan.tmp));
    page.heading("may reach");
    for grant in &plan.grants {
        page.item(rights(grant.rights), &reached(grant));
    }
    page.heading("network");
    page.item(network(plan.network), "");
    page.heading("limits");
    limits(&mut page, explanation);
    page.heading("categories of tools");
    page.item("granted", &categories.granted());
    let known = category::words(&categories.sets().known);
    page.item(
        "known",
        if known.is_empty() {
            "none, as far as it was approved"
        } else {
            &known
        },
    );
    page.heading("administrator");
    let verdict = &explanation.verdict;
    page.item(verdict.result.as_str(), &verdict.told());
    page.heading("promises");
    for standing in &explanation.confinement.promises {
        promise(&mut page, standing);
    }
    page.0
}

/// Lines of at most 80 columns.
#[derive(Default)]
pub(super) struct Page(pub(super) String);

impl Page {
    pub(super) fn line(&mut self, line: &str) {
        self.0.push_str(line.trim_end());
        self.0.push('\n');
    }

    pub(super) fn heading(&mut self, heading: &str) {
        self.0.push('\n');
        self.line(heading);
    }

    /// A word in the first column, the rest wrapped beside it.
    pub(super) fn item(&mut self, word: &str, rest: &str) {
        let first = format!("  {word:<14} ");
        let next = " ".repeat(17);
        if rest.is_empty() {
            return self.line(&first);
        }
        let options = textwrap::Options::new(80)
            .initial_indent(&first)
            .subsequent_indent(&next)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        for line in textwrap::wrap(rest, options) {
            self.line(&line);
        }
    }
}

impl Page {
    /// A line to be copied, which is not broken.
    pub(super) fn command(&mut self, word: &str, command: &str) {
        self.line(&format!("{:17}{word}: {}", "", text::printable(command)));
    }
}

pub(super) fn approval(approval: &Approval) -> String {
    match approval {
        Approval::Given => "approved".to_owned(),
        Approval::Missing => "not approved".to_owned(),
        Approval::Changed { changed } => {
            let words: Vec<String> = changed.iter().map(ToString::to_string).collect();
            format!("changed: {}", words.join(", "))
        }
    }
}

fn source(variable: &Variable) -> String {
    match &variable.source {
        Source::Stored => "stored".to_owned(),
        Source::Unset => "not set here, so the server does not get it".to_owned(),
        Source::Passed => "from the caller, at each start".to_owned(),
        Source::Ours(value) => text::word(value),
    }
}

const fn rights(rights: Rights) -> &'static str {
    match rights {
        Rights::List => "list",
        Rights::Read => "read",
        Rights::Device => "device",
        Rights::ReadExecute => "read, execute",
        Rights::Write => "write",
    }
}

fn reached(grant: &Grant) -> String {
    format!(
        "{}   ({})",
        text::path(&grant.path),
        text::printable(&grant.reason)
    )
}

const fn network(network: Network) -> &'static str {
    match network {
        Network::Full => "full",
        Network::None => "none",
    }
}

fn limits(page: &mut Page, explanation: &Explanation) {
    let limits = &explanation.plan.limits;
    let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
    let together = match explanation.lowered.cgroup {
        Some(_) => "together, and in each process",
        None => "together, by the watch, and in each process",
    };
    page.item("memory", &format!("{} {together}", mib(limits.memory)));
    let counted = explanation.lowered.namespaces.is_some();
    let counted = if counted {
        ""
    } else {
        " (not bounded here: see R5)"
    };
    page.item("processes", &format!("{}{counted}", limits.processes));
    page.item("open files", &limits.files.to_string());
    page.item("file size", &mib(limits.file_size));
    page.item("core files", "none");
}

fn promise(page: &mut Page, standing: &Standing) {
    let state = match standing.state {
        State::Held => "held",
        State::GivenUp => "given up",
        State::Unheld => "unheld",
    };
    let by: Vec<String> = standing.mechanisms.iter().map(render::name_of).collect();
    page.item(&format!("{} {state}", standing.id), standing.id.text());
    if !by.is_empty() {
        page.item("", &format!("by {}", by.join(", ")));
    }
    if let Some(note) = &standing.note {
        page.item("", note);
    }
}
