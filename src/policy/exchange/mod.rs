//! Lists of other hosts, read into a policy and written from one. Pure.
//!
//! [`import`] and [`export`] express what they can and tell the rest: [`Said`] has a line for
//! everything that becomes another thing or nothing. A name is never expressed, since whoever
//! declares a server chooses it.

mod codex;
mod lists;
mod windsurf;

use std::path::PathBuf;

use serde_json::{Value, json};

use super::entry::{ANY, CommandPattern, Entry};
use super::host::HostPattern;
use super::{AdminPolicy, Rule};
use crate::declaration::Alias;

/// A host whose lists are read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Host {
    /// Claude Code's managed-settings.json; Copilot's is of the same shape
    Claude,
    /// Policies of VS Code: ChatAllowedMcpServers, ChatDeniedMcpServers
    Vscode,
    /// Codex's requirements.toml
    Codex,
    /// Windsurf's list of allowed servers: a map of server ids
    Windsurf,
}

/// What became of something that is not expressed as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    /// As it stands in the file it is from.
    pub(crate) what: String,
    /// What is different.
    pub(crate) how: String,
    /// Whether nothing of it is left.
    pub(crate) lost: bool,
}

impl Said {
    /// One line for a reader.
    #[must_use]
    pub(crate) fn line(&self) -> String {
        let state = if self.lost {
            "not expressed"
        } else {
            "expressed"
        };
        format!("{state}: {}: {}", self.what, self.how)
    }
}

/// The file of one side, in the words of the other, and all that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exchanged {
    /// The file's text.
    pub(crate) text: String,
    /// What is not as it was.
    pub(crate) said: Vec<Said>,
}

/// Where a program is found by name on this machine.
pub(crate) type Find<'a> = &'a dyn Fn(&str) -> Option<PathBuf>;

/// A policy of what another host's file says.
///
/// # Errors
/// It is not of that host's shape.
pub(crate) fn import(from: Host, text: &str, find: Find<'_>) -> Result<Exchanged, String> {
    let draft = match from {
        Host::Claude => lists::import(text, &lists::CLAUDE, find)?,
        Host::Vscode => lists::import(text, &lists::VSCODE, find)?,
        Host::Codex => codex::import(text, find)?,
        Host::Windsurf => windsurf::import(text, find)?,
    };
    draft.exchanged()
}

/// What an export writes beside the policy.
#[derive(Clone, Debug)]
pub(crate) struct Through<'a> {
    /// The supervisor's absolute path on the fleet.
    pub(crate) supervisor: &'a str,
    /// Servers that a host starts through it; then it starts no program itself.
    pub(crate) aliases: &'a [Alias],
}

/// Another host's file of what a policy says.
///
/// # Errors
/// None in practice: JSON that cannot be written.
pub(crate) fn export(
    policy: &AdminPolicy,
    to: Host,
    through: &Through<'_>,
) -> Result<Exchanged, String> {
    match to {
        Host::Claude => lists::export(policy, &lists::CLAUDE, through),
        Host::Vscode => lists::export(policy, &lists::VSCODE, through),
        Host::Codex => Ok(codex::export(policy, through)),
        Host::Windsurf => windsurf::export(policy, through),
    }
}

/// A policy that is being written.
#[derive(Default)]
struct Draft {
    allow: Option<Vec<Value>>,
    deny: Vec<Value>,
    said: Vec<Said>,
}

impl Draft {
    fn say(&mut self, what: &str, how: &str, lost: bool) {
        self.said.push(Said {
            what: what.to_owned(),
            how: how.to_owned(),
            lost,
        });
    }

    fn lost(&mut self, what: &str, how: &str) {
        self.say(what, how, true);
    }

    fn differs(&mut self, what: &str, how: &str) {
        self.say(what, how, false);
    }

    /// A command line by its program's absolute path; nothing where it cannot be expressed,
    /// which is said.
    fn command(&mut self, what: &str, argv: &[String], find: Find<'_>) -> Option<Value> {
        let (program, arguments) = argv.split_first()?;
        if arguments.iter().any(|word| word == ANY) {
            self.lost(what, "`…` means any further arguments here");
            return None;
        }
        if let [run, _] = arguments
            && run == "run"
            && program.rsplit('/').next() == Some("supervisor")
        {
            self.lost(
                what,
                "a line of the supervisor names an alias; name what it runs",
            );
            return None;
        }
        let found = if program.contains('/') {
            PathBuf::from(program)
        } else {
            let Some(found) = find(program) else {
                let how = format!(
                    "{program} is not found along PATH here; an entry names its absolute path"
                );
                self.lost(what, &how);
                return None;
            };
            let how = format!(
                "{program} is {} here; at another place it is another program",
                found.display()
            );
            self.differs(what, &how);
            found
        };
        let words: Vec<String> = [found.to_string_lossy().into_owned()]
            .into_iter()
            .chain(arguments.iter().cloned())
            .collect();
        match CommandPattern::new(words.clone()) {
            Ok(_) => Some(json!({ "command": words })),
            Err(error) => {
                self.lost(what, &error.to_string());
                None
            }
        }
    }

    /// A URL or a pattern of URLs by its host.
    fn url(&mut self, what: &str, url: &str) -> Option<Value> {
        let rest = url.split_once("://").map(|(_, rest)| rest);
        let Some(rest) = rest else {
            self.lost(what, "it names no host");
            return None;
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let host = match authority.rsplit_once(':') {
            Some((host, port)) if port == "*" || port.bytes().all(|b| b.is_ascii_digit()) => host,
            _ => authority,
        };
        match host.parse::<HostPattern>() {
            Ok(pattern) => {
                let how = if path.is_empty() || path == "/*" {
                    "any port, and http beside https"
                } else {
                    "the whole host: any port and path, and http beside https"
                };
                self.differs(what, how);
                Some(json!({ "host": pattern.to_string() }))
            }
            Err(error) => {
                self.lost(what, &error.to_string());
                None
            }
        }
    }

    /// The text of the policy, with all that was said in its comment.
    fn exchanged(self) -> Result<Exchanged, String> {
        let mut mcp = serde_json::Map::new();
        if let Some(mut allow) = self.allow {
            // A list may name one host by both schemes.
            allow.dedup();
            mcp.insert("allow".to_owned(), allow.into());
        }
        if !self.deny.is_empty() {
            mcp.insert("deny".to_owned(), self.deny.into());
        }
        let mut file = serde_json::Map::new();
        if !self.said.is_empty() {
            let lines: Vec<String> = self.said.iter().map(Said::line).collect();
            file.insert("$comment".to_owned(), lines.into());
        }
        file.insert("mcp".to_owned(), mcp.into());
        Ok(Exchanged {
            text: pretty(&file.into())?,
            said: self.said,
        })
    }
}

fn pretty(value: &Value) -> Result<String, String> {
    let text = serde_json::to_string_pretty(value).map_err(|error| error.to_string())?;
    Ok(text + "\n")
}

/// What a host that knows names alone, or commands alone, cannot be told of a policy.
fn all_lost(policy: &AdminPolicy, how: &str) -> Vec<Said> {
    let rules = policy.rules().map(|rule| rule.name.clone());
    rules
        .chain(floors(policy))
        .map(|what| Said {
            what,
            how: how.to_owned(),
            lost: true,
        })
        .collect()
}

/// The floors of a policy, as they are named.
fn floors(policy: &AdminPolicy) -> impl Iterator<Item = String> {
    policy
        .floors
        .iter()
        .flat_map(|placed| placed.floors.listed())
        .map(|floor| format!("floor {floor}"))
}

/// What an entry says beside its command line.
fn bounds(rule: &Rule) -> Option<String> {
    let Entry::Program(entry) = &rule.entry else {
        return None;
    };
    let mut bounds = Vec::new();
    bounds.extend(entry.sha256.is_some().then_some("sha256"));
    bounds.extend(entry.env.is_some().then_some("env"));
    bounds.extend((!entry.dir).then_some("dir"));
    (!bounds.is_empty()).then(|| bounds.join(", "))
}

#[cfg(test)]
mod tests;
