//! `allowedMcpServers` and `deniedMcpServers`, as Claude Code, Copilot and VS Code have them: each entry
//! is one of a name, an exact command line, a URL with `*`.

use serde_json::{Map, Value, json};

use super::{Draft, Exchanged, Find, Said, Through, bounds, floors, pretty};
use crate::policy::entry::Entry;
use crate::policy::{AdminPolicy, Rule};

/// The keys of one host.
pub(super) struct Keys {
    allow: &'static str,
    deny: &'static str,
    /// The key that makes only the administrator's list count, where there is one.
    only: Option<&'static str>,
}

pub(super) const CLAUDE: Keys = Keys {
    allow: "allowedMcpServers",
    deny: "deniedMcpServers",
    only: Some("allowManagedMcpServersOnly"),
};

pub(super) const VSCODE: Keys = Keys {
    allow: "ChatAllowedMcpServers",
    deny: "ChatDeniedMcpServers",
    only: None,
};

/// # Errors
/// No JSON object, a list that is none, an entry of no known form.
pub(super) fn import(text: &str, keys: &Keys, find: Find<'_>) -> Result<Draft, String> {
    let file: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let Value::Object(file) = file else {
        return Err("an object must stand at the top".to_owned());
    };
    let mut draft = Draft::default();
    for (key, value) in &file {
        if key == keys.allow {
            let entries = entries(key, value)?;
            let said = entries.iter().map(|entry| read(&mut draft, entry, find));
            draft.allow = Some(
                said.collect::<Result<Vec<_>, _>>()?
                    .into_iter()
                    .flatten()
                    .collect(),
            );
        } else if key == keys.deny {
            for entry in entries(key, value)? {
                if let Some(entry) = read(&mut draft, &entry, find)? {
                    draft.deny.push(entry);
                }
            }
        } else if Some(key.as_str()) == keys.only {
            draft.differs(
                &format!("{key}: {value}"),
                "only the administrator's lists count here, always",
            );
        } else if access_is_off(key, value) {
            draft.allow = Some(Vec::new());
            draft.differs(
                &format!("{key}: {value}"),
                "an empty allow list: nothing starts",
            );
            break;
        } else if key.to_ascii_lowercase().contains("mcp") {
            draft.lost(&format!("{key}: {value}"), "there is nothing like it here");
        }
    }
    Ok(draft)
}

/// VS Code's `chat.mcp.access`, which no list opens again.
fn access_is_off(key: &str, value: &Value) -> bool {
    ["ChatMCP", "chat.mcp.access"].contains(&key)
        && ["off", "none"].map(Value::from).contains(value)
}

/// The entries of a list; a policy may hold the list as text.
fn entries(key: &str, value: &Value) -> Result<Vec<Map<String, Value>>, String> {
    let value = match value {
        Value::String(text) => {
            serde_json::from_str(text).map_err(|error| format!("{key}: {error}"))?
        }
        other => other.clone(),
    };
    serde_json::from_value(value).map_err(|_| format!("`{key}` must be a list of objects"))
}

fn read(
    draft: &mut Draft,
    entry: &Map<String, Value>,
    find: Find<'_>,
) -> Result<Option<Value>, String> {
    let what = Value::from(entry.clone()).to_string();
    let unknown = || format!("{what} is none of serverName, serverCommand, serverUrl");
    let mut pairs = entry.iter();
    let (Some((key, value)), None) = (pairs.next(), pairs.next()) else {
        return Err(unknown());
    };
    match (key.as_str(), value) {
        ("serverName", Value::String(_)) => {
            draft.lost(&what, "whoever declares a server chooses its name");
            Ok(None)
        }
        ("serverUrl", Value::String(url)) => Ok(draft.url(&what, url)),
        ("serverCommand", value) => {
            let argv: Vec<String> = serde_json::from_value(value.clone()).map_err(|_| unknown())?;
            if argv.is_empty() {
                return Err(unknown());
            }
            Ok(draft.command(&what, &argv, find))
        }
        _ => Err(unknown()),
    }
}

/// # Errors
/// None in practice.
pub(super) fn export(
    policy: &AdminPolicy,
    keys: &Keys,
    through: &Through<'_>,
) -> Result<Exchanged, String> {
    let mut said = Vec::new();
    let mut file = Map::new();
    if let Some(only) = keys.only {
        file.insert(only.to_owned(), Value::Bool(true));
    }
    let own = through
        .aliases
        .iter()
        .map(|alias| json!({"serverCommand": [through.supervisor, "run", alias.as_str()]}));
    let own: Vec<Value> = own.collect();
    let allow = match (&policy.allow, own.is_empty()) {
        (None, true) => None,
        (allow, none) => {
            let rules = allow.iter().flatten();
            let of = |rule| written(rule, none, &mut said);
            Some(
                own.into_iter()
                    .chain(rules.flat_map(of))
                    .collect::<Vec<_>>(),
            )
        }
    };
    if let Some(allow) = allow {
        file.insert(keys.allow.to_owned(), allow.into());
    }
    let deny: Vec<Value> = policy
        .deny
        .iter()
        .flat_map(|rule| written(rule, true, &mut said))
        .collect();
    if !deny.is_empty() {
        file.insert(keys.deny.to_owned(), deny.into());
    }
    said.extend(floors(policy).map(|what| Said {
        what,
        how: "these lists have no floors".to_owned(),
        lost: true,
    }));
    Ok(Exchanged {
        text: pretty(&file.into())?,
        said,
    })
}

/// An entry in their words. `programs` says whether a host may start programs itself.
fn written(rule: &Rule, programs: bool, said: &mut Vec<Said>) -> Vec<Value> {
    let mut say = |how: &str, lost: bool| {
        said.push(Said {
            what: rule.name.clone(),
            how: how.to_owned(),
            lost,
        });
    };
    let entry = match &rule.entry {
        Entry::Host(pattern) => {
            say("the usual ports of https and http, and no other", false);
            let url = |scheme| json!({"serverUrl": format!("{scheme}://{pattern}/*")});
            return vec![url("https"), url("http")];
        }
        Entry::Program(entry) => entry,
    };
    let Some(command) = entry.command.as_ref() else {
        say("these lists know no content", true);
        return Vec::new();
    };
    if !programs {
        say(
            "the supervisor judges it; the host starts the supervisor alone",
            false,
        );
        return Vec::new();
    }
    if command.any_further() {
        say("these lists compare every argument", true);
        return Vec::new();
    }
    if let Some(bounds) = bounds(rule) {
        say(
            &format!("without {bounds}, which these lists have not"),
            false,
        );
    }
    vec![json!({"serverCommand": command.words()})]
}
