//! `supervisor tools ALIAS`: what was approved of all that a server says of itself, and what waits
//! for an answer.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::render;
use super::scope::Scope;
use crate::approval::Approvals;
use crate::declaration::store::State;
use crate::declaration::{Alias, Digest, digest};
use crate::error::Error;
use crate::plan::facts;
use crate::run::pending::{self, Waiting};
use crate::surface::canonical::Item;
use crate::surface::categories::{Categories, Sets, Standing};
use crate::surface::diff::{Diff, diff};
use crate::surface::read::Seen;
use crate::surface::show::Page;
use crate::surface::{Kind, Surface};

/// Show what a server may tell a model, and what waits for your answer
///
/// Shows the approved surface of a server: instructions, tools, prompts, resources and templates,
/// all of each, and of each tool its category and whose word that is. Nothing else of it reaches a
/// host.
///
/// With --pending: what the last runs saw that is not what was approved, and so withheld, beside
/// what was. Nothing is started for it. `supervisor approve ALIAS --surface` asks about it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  supervisor tools weather\n  supervisor tools weather --pending\n  supervisor tools weather --json"
)]
pub(crate) struct ToolsArgs {
    /// The server
    #[arg(value_name = "ALIAS")]
    alias: Alias,
    /// Show the difference that waits for an answer
    #[arg(long)]
    pending: bool,
    /// Print an object
    #[arg(long)]
    json: bool,
}

/// `supervisor.tools.v1`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Tools {
    alias: Alias,
    digest: Digest,
    /// Whether the surface of the declaration as it stands was approved.
    approved: bool,
    /// The digest of what was.
    surface_digest: Option<String>,
    /// The categories of its tools: those granted, and those that there are.
    categories: Sets,
    /// When a run last saw what waits.
    seen: Option<String>,
    /// What was approved; with `--pending` what differs from it.
    items: Vec<Row>,
}

/// One item.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Row {
    #[cfg_attr(
        test,
        schemars(extend("enum" = ["instructions", "tool", "prompt", "resource", "template"]))
    )]
    kind: &'static str,
    /// Its name, URI or URI template.
    name: String,
    /// Its pin.
    sha256: String,
    /// What it is of, where it is a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<Standing>,
    /// How it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        test,
        schemars(extend("enum" = ["added", "removed", "renamed", "changed"]))
    )]
    change: Option<&'static str>,
    /// What was approved in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Value>,
    /// All of it.
    item: Value,
}

impl Row {
    fn of(item: &Item, categories: &Categories) -> Self {
        let tool = (item.kind() == Kind::Tool).then(|| item.name());
        Self {
            kind: item.kind().as_str(),
            name: item.name().to_owned(),
            sha256: item.pin().to_string(),
            category: tool.and_then(|tool| categories.on(tool)),
            change: None,
            before: None,
            item: item.item().clone(),
        }
    }

    fn changed(
        (item, categories): (&Item, &Categories),
        change: &'static str,
        before: Option<&Item>,
    ) -> Self {
        Self {
            change: Some(change),
            before: before.map(|before| before.item().clone()),
            ..Self::of(item, categories)
        }
    }
}

/// What there is to tell.
struct Found {
    alias: Alias,
    digest: Digest,
    approved: Option<Surface>,
    waiting: Option<Waiting>,
    scope: Scope,
}

/// Runs the command.
pub(super) fn run(args: &ToolsArgs) -> ExitCode {
    match found(&args.alias) {
        Ok(found) if args.pending => found.pending(args.json),
        Ok(found) => found.whole(args.json),
        Err(error) => render::error_as(&error, args.json),
    }
}

fn found(alias: &Alias) -> Result<Found, Error> {
    let state = State::open(&facts::person()?)?;
    let declarations = state.read()?;
    let declaration = declarations.get(alias)?;
    let digest = digest::digest(declaration);
    let approved = Approvals::surface_of(&state, alias, &digest)?;
    Ok(Found {
        alias: alias.clone(),
        waiting: pending::read(&state, &digest, approved.as_ref())?,
        scope: Scope::read(&state, alias, declaration)?,
        approved,
        digest,
    })
}

impl Found {
    fn whole(self, json: bool) -> ExitCode {
        let approved = self.approved.clone().unwrap_or_default();
        let categories = self.scope.of(&approved);
        if json {
            let row = |item| Row::of(item, &categories);
            let items = approved.iter().map(row).collect();
            return render::json("tools", &self.object(items));
        }
        let alias = &self.alias;
        if self.approved.is_none() {
            return render::human(&format!(
                "nobody approved the surface of {alias}, so it offers nothing\nto look at it: supervisor approve {alias} --surface\n"
            ));
        }
        let short = approved.digest();
        let head = format!("approved of {alias} (surface {})", short.short());
        let mut text = page(alias, (approved, &categories), None, &head);
        if self.waiting.is_some() {
            text.push_str(&format!(
                "\nsomething waits for an answer: supervisor tools {alias} --pending\n"
            ));
        }
        render::human(&text)
    }

    fn pending(self, json: bool) -> ExitCode {
        let before = self.approved.clone().unwrap_or_default();
        let now = match &self.waiting {
            Some(waiting) => waiting.surface(&before),
            None => before.clone(),
        };
        let differs = diff(&before, &now);
        if json {
            let items = rows(&differs, &self.scope.of(&now));
            return render::json("tools", &self.object(items));
        }
        let alias = &self.alias;
        let Some(waiting) = &self.waiting else {
            return render::human(&format!("nothing of {alias} waits for an answer\n"));
        };
        let head = format!("withheld of {alias}, seen {}", waiting.seen);
        let categories = self.scope.of(&now);
        let mut text = page(alias, (now.clone(), &categories), Some(&differs), &head);
        if differs.is_reordered() {
            let why = "something is the same in another order, as a set of Python stands in another at each start; what may steady that:";
            let command = format!("supervisor set {alias} -e PYTHONHASHSEED=0");
            text.push_str(&render::paragraph(&format!("\n{why}"), &command));
        }
        text.push_str(&format!(
            "\nto answer: supervisor approve {alias} --surface\n"
        ));
        render::human(&text)
    }

    fn object(self, items: Vec<Row>) -> Tools {
        let approved = self.approved.clone().unwrap_or_default();
        Tools {
            categories: self.scope.of(&approved).sets(),
            alias: self.alias,
            digest: self.digest,
            approved: self.approved.is_some(),
            surface_digest: self.approved.map(|surface| surface.digest().to_string()),
            seen: self.waiting.map(|waiting| waiting.seen.to_string()),
            items,
        }
    }
}

fn rows(differs: &Diff<'_>, categories: &Categories) -> Vec<Row> {
    let pair = |change| {
        move |(before, now): &(&Item, &Item)| Row::changed((now, categories), change, Some(before))
    };
    let added = differs
        .added
        .iter()
        .map(|item| Row::changed((item, categories), "added", None));
    let removed = differs
        .removed
        .iter()
        .map(|item| Row::changed((item, categories), "removed", None));
    added
        .chain(removed)
        .chain(differs.renamed.iter().map(pair("renamed")))
        .chain(differs.changed.iter().map(pair("changed")))
        .collect()
}

fn page(
    alias: &Alias,
    (surface, categories): (Surface, &Categories),
    diff: Option<&Diff<'_>>,
    head: &str,
) -> String {
    let seen = Seen {
        surface,
        ..Seen::default()
    };
    let page = Page {
        alias: alias.as_str(),
        seen: &seen,
        findings: &[],
        long: &[],
        steadied_by: None,
        categories,
        further: None,
        diff,
    };
    page.to_text_below(head)
}
