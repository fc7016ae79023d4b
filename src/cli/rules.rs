//! `supervisor rules`: shows the rules for calls and changes them.

use std::process::ExitCode;

use serde::Serialize;

use super::args_rules::{ChangeWord, Named, RulesArgs};
use super::render;
use crate::approval::Approvals;
use crate::declaration::digest;
use crate::declaration::document::Declarations;
use crate::declaration::store::State;
use crate::error::Error;
use crate::plan::facts;
use crate::policy;
use crate::relay::{Action, Rule};
use crate::settings::{Change, FILE, Settings, SettingsError};
use crate::surface::Kind;
use crate::text;

/// `supervisor.rules.v1`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Listed {
    file: String,
    rules: Vec<Row>,
    /// What becomes of a call that no rule names.
    default: Action,
    /// The least that becomes of any call, by the administrator's word.
    required: Action,
}

/// One rule.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Row {
    list: Action,
    rule: String,
    /// Why it names nothing, as far as that is known.
    idle: Option<String>,
}

/// Runs the command.
pub(super) fn run(args: &RulesArgs) -> ExitCode {
    match done(args) {
        Ok(listed) if args.json => render::json("rules", &listed),
        Ok(listed) => render::human(&page(&listed)),
        Err(error) => render::error_as(&error, args.json),
    }
}

fn done(args: &RulesArgs) -> Result<Listed, Error> {
    let state = State::open(&facts::person()?)?;
    state.notes().iter().for_each(|note| render::note(note));
    if let (Some(change), Some(Named(rule))) = (args.change, &args.named) {
        let list = match change {
            ChangeWord::Deny => Some(Action::Deny),
            ChangeWord::Ask => Some(Action::Ask),
            ChangeWord::Allow => Some(Action::Allow),
            ChangeWord::Drop => None,
        };
        match list {
            Some(list) => {
                Settings::change(&state, &Change::Put(list, rule))?;
            }
            None => {
                if Settings::change(&state, &Change::Drop(&|one| one == rule))? == 0 {
                    let (path, rule) = (state.path().join(FILE), rule.clone());
                    return Err(SettingsError::NoSuchRule { path, rule }.into());
                }
            }
        }
    }
    listed(&state)
}

fn listed(state: &State) -> Result<Listed, Error> {
    let permissions = Settings::read(state)?.rules.permissions;
    let (declarations, approvals) = (state.read()?, Approvals::read(state)?);
    let row = |(list, rule): (Action, &Rule)| Row {
        list,
        rule: rule.to_string(),
        idle: idle(rule, &declarations, &approvals),
    };
    Ok(Listed {
        file: state.path().join(FILE).display().to_string(),
        rules: permissions.listed().map(row).collect(),
        default: permissions.default,
        required: policy::load::installed()?.required().calls,
    })
}

/// Why a rule names nothing, as far as it is known what there is.
fn idle(rule: &Rule, declarations: &Declarations, approvals: &Approvals) -> Option<String> {
    let alias = rule.alias();
    let Some(entry) = declarations.find(alias.as_str()) else {
        return Some(format!("no server is declared as {alias}"));
    };
    // What a server asks the host for is on no list.
    let tool = rule.tool().filter(|_| !rule.is_request())?;
    let surface = approvals.surface(&digest::digest(entry.ok()?))?;
    let known = surface.forms(Kind::Tool, tool).next().is_some();
    (!known).then(|| format!("the approved surface of {alias} has no tool of that name"))
}

fn page(listed: &Listed) -> String {
    let mut page = String::new();
    for row in &listed.rules {
        page.push_str(&render::paragraph(
            &format!("{:<8}", row.list.as_str()),
            &text::printable(&row.rule),
        ));
        if let Some(idle) = &row.idle {
            page.push_str(&render::paragraph("          note:", idle));
        }
    }
    page.push_str(&format!("default {}\n", listed.default.as_str()));
    if listed.required > Action::Allow {
        page.push_str(&render::paragraph(
            "floor  ",
            &format!(
                "{} (the administrator's; no rule goes below)",
                listed.required.as_str()
            ),
        ));
    }
    page
}
