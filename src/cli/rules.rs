//! `supervisor rules`: shows the rules for calls and changes them.

use std::process::ExitCode;

use serde::Serialize;

use super::args_rules::{ChangeWord, Named, RulesArgs};
use super::render;
use crate::approval::Approvals;
use crate::declaration::document::Declarations;
use crate::declaration::store::State;
use crate::declaration::{Category, digest};
use crate::error::Error;
use crate::plan::facts;
use crate::policy;
use crate::relay::{Action, Rule};
use crate::settings::{Change, FILE, List, Settings, SettingsError};
use crate::surface::Kind;
use crate::text;

/// `supervisor.rules.v1`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Listed {
    file: String,
    rules: Vec<Row>,
    /// What you say that tools are, whatever their servers say.
    categories: Vec<Word>,
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

/// The category of one tool.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Word {
    category: Category,
    tool: String,
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
        changed(&state, change, rule)?;
    }
    listed(&state)
}

fn changed(state: &State, change: ChangeWord, rule: &Rule) -> Result<(), Error> {
    let list = match change {
        ChangeWord::Deny => List::Calls(Action::Deny),
        ChangeWord::Ask => List::Calls(Action::Ask),
        ChangeWord::Allow => List::Calls(Action::Allow),
        ChangeWord::ReadOnly => List::Tools(Category::ReadOnly),
        ChangeWord::Additive => List::Tools(Category::Additive),
        ChangeWord::OpenWorld => List::Tools(Category::OpenWorld),
        ChangeWord::Destructive => List::Tools(Category::Destructive),
        ChangeWord::Drop | ChangeWord::Annotated => {
            let calls = matches!(change, ChangeWord::Drop);
            let meant = |list, one: &Rule| one == rule && matches!(list, List::Calls(_)) == calls;
            if Settings::change(state, &Change::Drop(&meant))? == 0 {
                let (path, rule) = (state.path().join(FILE), rule.clone());
                return Err(SettingsError::NoSuchRule { path, rule }.into());
            }
            return Ok(());
        }
    };
    if matches!(list, List::Tools(_)) && (rule.tool().is_none() || rule.is_request()) {
        return Err(SettingsError::NotATool { rule: rule.clone() }.into());
    }
    if rule.is_request() && list != List::Calls(Action::Deny) {
        return Err(SettingsError::DeniedAlone { rule: rule.clone() }.into());
    }
    Settings::change(state, &Change::Put(list, rule))?;
    Ok(())
}

fn listed(state: &State) -> Result<Listed, Error> {
    let rules = Settings::read(state)?.rules;
    let permissions = rules.permissions;
    let (declarations, approvals) = (state.read()?, Approvals::read(state)?);
    let row = |(list, rule): (Action, &Rule)| Row {
        list,
        rule: rule.to_string(),
        idle: idle(rule, &declarations, &approvals),
    };
    let word = |(category, rule): (Category, &Rule)| Word {
        category,
        tool: rule.to_string(),
        idle: idle(rule, &declarations, &approvals),
    };
    Ok(Listed {
        file: state.path().join(FILE).display().to_string(),
        rules: permissions.listed().map(row).collect(),
        categories: rules.words.listed().map(word).collect(),
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
    let mut row = |word: &str, rule: &str, idle: Option<&String>| {
        page.push_str(&render::paragraph(word, &text::printable(rule)));
        if let Some(idle) = idle {
            page.push_str(&render::paragraph("          note:", idle));
        }
    };
    for one in &listed.rules {
        row(
            &format!("{:<8}", one.list.as_str()),
            &one.rule,
            one.idle.as_ref(),
        );
    }
    for one in &listed.categories {
        row(one.category.as_str(), &one.tool, one.idle.as_ref());
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
