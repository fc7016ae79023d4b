//! `requirements.toml` of Codex: servers by name, each with the command or URL it must have.

use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike};

use super::{Draft, Exchanged, Find, Said, Through, all_lost};
use crate::policy::AdminPolicy;
use crate::policy::entry::ANY;

const SERVERS: &str = "mcp_servers";
const IDENTITY: &str = "identity";

/// # Errors
/// No TOML, or servers in no known form.
pub(super) fn import(text: &str, find: Find<'_>) -> Result<Draft, String> {
    let file: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| error.to_string())?;
    let mut draft = Draft::default();
    for (key, item) in file.iter().filter(|(key, _)| *key != SERVERS) {
        if key.to_ascii_lowercase().contains("mcp") {
            draft.lost(
                &format!("{key} = {}", one_line(item)),
                "there is nothing like it here",
            );
        }
    }
    let Some(servers) = file.get(SERVERS) else {
        return Ok(draft);
    };
    let servers = servers
        .as_table_like()
        .ok_or_else(|| format!("`{SERVERS}` must be a table"))?;
    let mut allow = Vec::new();
    for (name, server) in servers.iter() {
        let what = format!("{SERVERS}.{name}");
        let form =
            || format!("`{what}` must be a table with an `{IDENTITY}` of `command` or `url`");
        let server = server.as_table_like().ok_or_else(form)?;
        for (key, item) in server.iter().filter(|(key, _)| *key != IDENTITY) {
            draft.lost(
                &format!("{what}.{key} = {}", one_line(item)),
                "there is nothing like it here",
            );
        }
        let identity = server
            .get(IDENTITY)
            .and_then(Item::as_table_like)
            .ok_or_else(form)?;
        allow.extend(read(&mut draft, &what, identity, find).ok_or_else(form)?);
    }
    draft.allow = Some(allow);
    Ok(draft)
}

/// The entry of an identity, if it can be expressed; nothing where it has no known form.
#[expect(
    clippy::option_option,
    reason = "of a known form or not; expressed or not"
)]
fn read(
    draft: &mut Draft,
    what: &str,
    identity: &dyn TableLike,
    find: Find<'_>,
) -> Option<Option<serde_json::Value>> {
    let mut pairs = identity.iter();
    let (Some((key, value)), None) = (pairs.next(), pairs.next()) else {
        return None;
    };
    let what = format!("{what}.{IDENTITY}.{key} = {}", one_line(value));
    let value = value.as_str()?;
    match key {
        "url" => {
            draft.differs(&what, "under any name");
            Some(draft.url(&what, value))
        }
        "command" => {
            let mut entry = draft.command(&what, &[value.to_owned()], find);
            let words = entry.as_mut().and_then(|entry| entry.get_mut("command"));
            if let Some(words) = words.and_then(serde_json::Value::as_array_mut) {
                words.push(ANY.into());
                draft.differs(
                    &what,
                    "under any name, with any arguments, as Codex compares none",
                );
            }
            Some(entry)
        }
        _ => None,
    }
}

fn one_line(item: &Item) -> String {
    item.to_string()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

pub(super) fn export(policy: &AdminPolicy, through: &Through<'_>) -> Exchanged {
    let mut servers = Table::new();
    // Without a server in it, the empty table says that none starts.
    servers.set_implicit(!through.aliases.is_empty());
    let mut said = all_lost(
        policy,
        "Codex knows a server by its name, and compares its command alone",
    );
    for alias in through.aliases {
        let mut identity = InlineTable::new();
        identity.insert("command", through.supervisor.into());
        let mut server = Table::new();
        server.insert(IDENTITY, toml_edit::value(identity));
        servers.insert(alias.as_str(), Item::Table(server));
        said.push(Said {
            what: format!("{} run {alias}", through.supervisor),
            how: "Codex compares the command alone, so that `run` of any alias passes under that name; the managed file closes that".to_owned(),
            lost: false,
        });
    }
    let mut file = DocumentMut::new();
    file.insert(SERVERS, Item::Table(servers));
    Exchanged {
        text: file.to_string(),
        said,
    }
}
