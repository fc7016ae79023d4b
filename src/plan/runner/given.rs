//! What a recognised runner gets from the supervisor, and where it keeps what it fetched: data
//! in `policy/grants/runners.json`. Pure.
//!
//! The names are part of the digest (promise E1) and go by the declaration alone; which of them
//! a run gets goes by the machine too ([`Ground`]), and is never more.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Runner, recognise};
use crate::declaration::{EnvName, Stdio};

/// What runners of one kind get.
#[derive(Debug)]
pub(crate) struct Given {
    names: &'static [&'static str],
    variables: &'static [Variable],
    /// Settings of the machine that it reads.
    pub(crate) settings: Option<Settings>,
    /// Its caches, below the private home.
    pub(crate) keeps: &'static [&'static str],
    /// What is put together of them, and is made anew where that was interrupted.
    pub(crate) trees: &'static [&'static str],
    /// What of it is hashed.
    pub(crate) holds: &'static [&'static str],
    /// Where the names of what is fetched appear.
    pub(crate) shows: &'static [&'static str],
}

/// Where the settings of a runner lie, and by which key they name certificates.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Absolute; `{prefix}` stands for what surrounds the `bin` of what runs.
    pub(crate) files: &'static [&'static str],
    /// The key.
    pub(crate) certificates: &'static str,
}

#[derive(Debug)]
struct Variable {
    name: &'static str,
    value: &'static str,
    when: When,
}

/// Which runs get a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Always,
    Prepared,
    Offline,
    Project,
    Locked,
    Unlocked,
}

/// `policy/grants/runners.json`, in its order.
static RUNNERS: &[Given] = include!(concat!(env!("OUT_DIR"), "/runners.rs"));

/// How far a prepare came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cached {
    /// What is run may have to be fetched.
    #[default]
    Unknown,
    /// It is there.
    Prepared,
    /// It is there, and was seen to suffice.
    Offline,
}

/// What of this machine decides which variables a run gets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ground<'a> {
    /// The private home.
    pub(crate) home: &'a str,
    /// What is cached in it.
    pub(crate) cached: Cached,
    /// The project, if one is named that the server may not write: whether it has a lock file.
    pub(crate) locked: Option<bool>,
}

/// What a runner gets, if anything.
pub(crate) fn of(runner: &Runner) -> Option<&'static Given> {
    RUNNERS
        .iter()
        .find(|given| given.names.contains(&runner.name))
}

/// The names that a declaration's runner may get: part of the digest.
#[must_use]
pub(crate) fn names(stdio: &Stdio) -> BTreeSet<EnvName> {
    let runner = recognise(&stdio.argv());
    let given = runner
        .as_ref()
        .and_then(|runner| Some((runner, of(runner)?)));
    let Some((runner, given)) = given else {
        return BTreeSet::new();
    };
    let named = stdio.variables();
    given
        .variables
        .iter()
        .filter(|variable| variable.may_be_given(runner) && !is_named(&named, variable.name))
        .map(|variable| EnvName::known(variable.name))
        .collect()
}

/// Whether the declaration names it: npm takes its variables in either case.
fn is_named(named: &BTreeSet<EnvName>, name: &str) -> bool {
    named
        .iter()
        .any(|known| known.as_str().eq_ignore_ascii_case(name))
}

impl Variable {
    /// Whether any run of such a command may get it.
    fn may_be_given(&self, runner: &Runner) -> bool {
        let project = runner.project.is_some();
        match self.when {
            When::Always => true,
            When::Prepared => runner.fetches,
            When::Offline => runner.fetches && runner.pinned,
            When::Project | When::Locked | When::Unlocked => project,
        }
    }

    fn is_given(&self, runner: &Runner, ground: Ground<'_>) -> bool {
        let is_there = match self.when {
            When::Always => true,
            When::Prepared => ground.cached != Cached::Unknown,
            // What a project without a lock file depends on is of no version for good.
            When::Offline => {
                ground.cached == Cached::Offline
                    && (runner.project.is_none() || ground.locked == Some(true))
            }
            When::Project => ground.locked.is_some(),
            When::Locked => ground.locked == Some(true),
            When::Unlocked => ground.locked == Some(false),
        };
        is_there && self.may_be_given(runner)
    }
}

impl Given {
    /// The variables of one run with their values, out of the names that were approved.
    pub(crate) fn variables<'a>(
        &'a self,
        runner: &'a Runner,
        ours: &'a BTreeSet<EnvName>,
        ground: Ground<'a>,
    ) -> impl Iterator<Item = (EnvName, String)> + 'a {
        let given = self
            .variables
            .iter()
            .filter(move |variable| ours.contains(&EnvName::known(variable.name)));
        given
            .filter(move |variable| variable.is_given(runner, ground))
            .map(move |variable| {
                let value = variable.value.replace("{home}", ground.home);
                (EnvName::known(variable.name), value)
            })
    }

    /// Whether a run may get a variable by which nothing is fetched any more.
    pub(crate) fn may_go_offline(&self, runner: &Runner, ours: &BTreeSet<EnvName>) -> bool {
        self.variables.iter().any(|variable| {
            variable.when == When::Offline
                && variable.may_be_given(runner)
                && ours.contains(&EnvName::known(variable.name))
        })
    }
}

/// The names of lock files by which a project's runner knows each version.
const LOCKS: [&str; 1] = ["uv.lock"];

/// Where the lock file of a project may lie.
pub(crate) fn locks(project: &Path) -> impl Iterator<Item = std::path::PathBuf> + '_ {
    LOCKS.iter().map(|name| project.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stdio(line: &str, named: &[&str]) -> Stdio {
        let mut words = line.split(' ').map(str::to_owned);
        let mut stdio = Stdio::new(words.next().unwrap(), words.collect());
        stdio.pass = named.iter().map(|name| name.parse().unwrap()).collect();
        stdio
    }

    fn ours(line: &str, named: &[&str]) -> Vec<String> {
        let names = names(&stdio(line, named));
        names.iter().map(|name| name.as_str().to_owned()).collect()
    }

    #[test]
    fn the_data_names_runners_that_are_known() {
        for given in RUNNERS {
            for name in given.names {
                let known = super::super::known::RUNNERS.iter();
                assert!(known.clone().any(|known| known.name == *name), "{name}");
            }
        }
    }

    #[test]
    fn names_go_by_the_declaration_alone_and_yield_to_the_persons() {
        let npm = ["npm_config_prefer_offline", "npm_config_update_notifier"];
        assert_eq!(ours("npx -y pkg", &[]), npm);
        assert_eq!(
            ours("/opt/bin/npx -y pkg@1.2.3", &["NPM_CONFIG_PREFER_OFFLINE"]),
            [npm[1]]
        );
        // Offline for good only what has one version for good.
        assert_eq!(ours("uvx pkg==1.2.3", &[]), ["UV_OFFLINE"]);
        assert!(ours("uvx pkg", &[]).is_empty());
        assert!(ours("uvx pkg==1.2.3", &["UV_OFFLINE"]).is_empty());
        assert_eq!(
            ours("uv --directory /p run server.py", &[]),
            [
                "UV_FROZEN",
                "UV_ISOLATED",
                "UV_OFFLINE",
                "UV_PROJECT_ENVIRONMENT"
            ]
        );
        assert!(ours("npm run start", &[]).is_empty() && ours("/bin/cat", &[]).is_empty());
    }

    #[test]
    fn which_of_them_a_run_gets() {
        let of_run = |line: &str, cached, locked| {
            let stdio = stdio(line, &[]);
            let runner = recognise(&stdio.argv()).unwrap();
            let ours = names(&stdio);
            let ground = Ground {
                home: "/h",
                cached,
                locked,
            };
            let given = of(&runner).unwrap();
            given
                .variables(&runner, &ours, ground)
                .map(|(name, value)| format!("{name}={value}"))
                .collect::<Vec<_>>()
        };
        use Cached::{Offline, Prepared, Unknown};
        let (prefer, quiet) = (
            "npm_config_prefer_offline=true",
            "npm_config_update_notifier=false",
        );
        assert_eq!(of_run("npx pkg", Unknown, None), [quiet]);
        assert_eq!(of_run("npx pkg", Prepared, None), [prefer, quiet]);
        assert!(of_run("uvx pkg==1.2.3", Prepared, None).is_empty());
        assert_eq!(of_run("uvx pkg==1.2.3", Offline, None), ["UV_OFFLINE=1"]);
        let project = "uv --directory /p run server.py";
        let environment = "UV_PROJECT_ENVIRONMENT=/h/.venv";
        assert_eq!(
            of_run(project, Offline, Some(true)),
            ["UV_FROZEN=1", "UV_OFFLINE=1", environment]
        );
        assert_eq!(
            of_run(project, Offline, Some(false)),
            ["UV_ISOLATED=1", environment]
        );
        // In the directory that it may write it does as it always does.
        assert_eq!(of_run(project, Unknown, None), [environment]);
    }
}
