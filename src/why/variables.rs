//! Variables that a server lacks: what it says it lacks, what was named and is not set, what its
//! script or its program holds the name of; and the flag that brings each.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::finding::{Finding, What};
use super::judge::Judge;
use super::world;
use crate::confine::Promise;
use crate::declaration::EnvName;
use crate::plan::{Source, facts};

/// Variables that name sockets of the person's session: with their value nothing is reached.
const SOCKETS: [&str; 6] = [
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "DOCKER_HOST",
    "GPG_AGENT_INFO",
    "SSH_AUTH_SOCK",
    "WAYLAND_DISPLAY",
];

/// Whether it gets a variable; `None` where it is not named.
pub(super) fn given(judge: &Judge<'_>, name: &str) -> Option<bool> {
    let variables = &judge.explanation().plan.variables;
    let known = variables.iter().find(|known| known.name.as_str() == name)?;
    Some(known.source != Source::Unset)
}

/// Variables that it says it lacks, or that were named and not set.
pub(super) fn named(judge: &Judge<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for name in judge.said.variables() {
        if given(judge, &name) != Some(true) {
            found.extend(variable(judge, &name).map(Finding::cause));
        }
    }
    for unset in &judge.explanation().plan.variables {
        let name = unset.name.as_str();
        if unset.source == Source::Unset && !found.iter().any(|known: &Finding| known.what == name)
        {
            found.extend(variable(judge, name));
        }
    }
    found
}

/// A variable that it lacks, and what brings it.
pub(super) fn variable(judge: &Judge<'_>, name: &str) -> Option<Finding> {
    let known: EnvName = name.parse().ok()?;
    let here = facts::caller_value(&known).is_some();
    if SOCKETS.contains(&name) {
        let note = "it names a socket of your session, which the server does not reach, with the variable or without";
        return Some(Finding::new(What::Variable, name, note).promise(Promise::N2));
    }
    let named = given(judge, name).is_some();
    let (word, note) = match (here, named) {
        (true, _) => (
            name.to_owned(),
            "it is set here, and the server does not get it unless it is named",
        ),
        (false, true) => (
            format!("{name}=-"),
            "the declaration passes it by name, and it is not set here; stored, it is the same whoever starts the server",
        ),
        (false, false) => (
            format!("{name}=-"),
            "the server does not get it; the value is asked for",
        ),
    };
    let mut flags = vec!["-e".to_owned(), word];
    let mut finding = Finding::new(What::Variable, name, note).promise(Promise::E1);
    if let Some(why) = judge.offer.refused(&flags) {
        flags.extend(["--allow".to_owned(), "loader-env".to_owned()]);
        if judge.offer.refused(&flags).is_some() {
            finding.note = format!("nothing grants it: {why}");
            return Some(finding);
        }
    }
    finding.flags = flags;
    Some(finding)
}

/// Variables that are set here and that it does not get: those its script reads, else those
/// whose names its program or its arguments hold.
pub(super) fn read_by_it(judge: &Judge<'_>) -> Vec<Finding> {
    let plan = &judge.explanation().plan;
    let files: Vec<PathBuf> = plan
        .argv
        .iter()
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .collect();
    let ungiven = |name: &EnvName| given(judge, name.as_str()).is_none();
    let here = facts::caller_names().into_iter().filter(ungiven);
    let here: BTreeSet<String> = here.map(|name| name.as_str().to_owned()).collect();
    let texts = files.iter().filter_map(|path| world::text(path));
    let mut names: Vec<String> = texts
        .flat_map(|text| super::script::variables(&text))
        .filter(|name| here.contains(name))
        .collect();
    if names.is_empty() {
        let settings = here.iter().filter(|name| super::script::is_setting(name));
        let mut contents: Vec<Vec<u8>> = plan.argv.iter().map(|word| word.clone().into()).collect();
        let programs = files.iter().chain([&plan.exec]);
        contents.extend(programs.filter_map(|path| world::bytes(path)));
        let holds = |name: &str| {
            contents.iter().any(|content| {
                let mut parts = content.windows(name.len());
                parts.any(|part| part == name.as_bytes())
            })
        };
        names = settings.filter(|name| holds(name)).cloned().collect();
    }
    let mut found: Vec<Finding> = Vec::new();
    for name in names {
        if !found.iter().any(|known| known.what == name) {
            found.extend(variable(judge, &name));
        }
    }
    if let [only] = found.as_mut_slice() {
        only.cause = true;
    }
    if !found.iter().any(|finding| finding.cause) {
        found.extend(nameless(judge, !found.is_empty()));
    }
    found
}

/// A variable that it says it lacks, and does not name; whether some that it may be are known.
fn nameless(judge: &Judge<'_>, known: bool) -> Option<Finding> {
    let (what, note) = if judge.said.lacks_an_env_file() {
        (
            "what a file .env would set",
            "it looks for that file where it starts, which is its --dir or its private home, and above: \
             name the variables instead, by -e NAME or -e NAME=VALUE",
        )
    } else if judge.said.lacks_a_variable() && known {
        (
            "one that it does not name",
            "it wants a variable, and says not which: one of those below, whose names it holds",
        )
    } else if judge.said.lacks_a_variable() {
        (
            "one that it does not name",
            "it wants a variable, and says not which: what is written about it does, and -e NAME grants it",
        )
    } else {
        return None;
    };
    let finding = Finding::new(What::Variable, what, note);
    Some(finding.promise(Promise::E1).cause())
}
