//! Windsurf's list of allowed servers: a map of server ids, each with a command and arguments that are
//! regular expressions, anchored, as many as the arguments.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Draft, Exchanged, Find, Said, Through, all_lost, pretty};
use crate::policy::AdminPolicy;

/// What Windsurf's regular expressions give a meaning to.
const META: &str = r"\.+*?()|[]{}^$";

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Server {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    args: Vec<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    env: Map<String, Value>,
    #[serde(
        default,
        rename = "serverUrl",
        alias = "url",
        skip_serializing_if = "Option::is_none"
    )]
    url: Option<String>,
}

/// # Errors
/// No JSON, or servers in no known form.
pub(super) fn import(text: &str, find: Find<'_>) -> Result<Draft, String> {
    let mut servers: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    if let (1, Some(Value::Object(inner))) = (servers.len(), servers.get("mcpServers")) {
        servers = inner.clone();
    }
    let mut draft = Draft::default();
    let mut allow = Vec::new();
    for (id, server) in servers {
        let what = format!("{id}: {server}");
        let form = |error: serde_json::Error| format!("{id}: {error}");
        let server: Server = serde_json::from_value(server).map_err(form)?;
        let entry = match (&server.command, &server.url) {
            (Some(command), None) => read(&mut draft, &what, command, &server.args, find),
            (None, Some(url)) => match literal(url) {
                Some((url, _)) => draft.url(&what, &url),
                None => {
                    draft.lost(&what, PATTERN);
                    None
                }
            },
            _ => {
                return Err(format!(
                    "{id}: it must have one of `command` and `serverUrl`"
                ));
            }
        };
        if entry.is_some() {
            draft.differs(&what, "under any id");
            if !server.env.is_empty() {
                draft.lost(
                    &format!("{what}: env"),
                    "values of variables are not compared here",
                );
            }
        }
        allow.extend(entry);
    }
    draft.allow = Some(allow);
    Ok(draft)
}

const PATTERN: &str = "a pattern is not a word; name each command line";

fn read(
    draft: &mut Draft,
    what: &str,
    command: &str,
    args: &[String],
    find: Find<'_>,
) -> Option<Value> {
    let words = [command]
        .into_iter()
        .chain(args.iter().map(String::as_str))
        .map(literal);
    let Some(words) = words.collect::<Option<Vec<_>>>() else {
        draft.lost(what, PATTERN);
        return None;
    };
    if words.iter().any(|(_, exact)| !exact) {
        draft.differs(
            what,
            "a `.` is a full stop here, where it was any character",
        );
    }
    let argv: Vec<String> = words.into_iter().map(|(word, _)| word).collect();
    draft.command(what, &argv, find)
}

/// The one word that an anchored expression stands for, and whether it stands for no other; a `.`
/// is taken for a full stop.
fn literal(expression: &str) -> Option<(String, bool)> {
    let mut word = String::new();
    let mut exact = true;
    let inner = expression.strip_prefix('^').unwrap_or(expression);
    let mut rest = inner.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\\' => match rest.next()? {
                class if class.is_ascii_alphanumeric() => return None,
                escaped => word.push(escaped),
            },
            '$' if rest.peek().is_none() => {}
            '.' => {
                exact = false;
                word.push('.');
            }
            meta if META.contains(meta) => return None,
            plain => word.push(plain),
        }
    }
    Some((word, exact))
}

/// An expression that stands for one word alone.
fn escaped(word: &str) -> String {
    let mut out = String::new();
    for character in word.chars() {
        if META.contains(character) {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// # Errors
/// None in practice.
pub(super) fn export(policy: &AdminPolicy, through: &Through<'_>) -> Result<Exchanged, String> {
    let server = |word: &str| Server {
        command: Some(escaped(through.supervisor)),
        args: vec!["run".to_owned(), escaped(word)],
        env: Map::new(),
        url: None,
    };
    let mut servers = Map::new();
    let mut said = all_lost(policy, "Windsurf knows a server by its id, and denies none");
    for alias in through.aliases {
        let entry =
            serde_json::to_value(server(alias.as_str())).map_err(|error| error.to_string())?;
        servers.insert(alias.as_str().to_owned(), entry);
        said.push(Said {
            what: format!("{} run {alias}", through.supervisor),
            how: "anchored, each word alone: as strong as the line itself".to_owned(),
            lost: false,
        });
    }
    Ok(Exchanged {
        text: pretty(&servers.into())?,
        said,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_escaped_word_stands_for_itself(word in any::<String>()) {
            prop_assert_eq!(literal(&escaped(&word)), Some((word, true)));
        }
    }

    #[test]
    fn what_is_a_pattern_is_no_word() {
        for pattern in ["a.*", "a(@.*)?", "[ab]", r"\d", "a|b", "a+", "a{2}", "a$b"] {
            assert_eq!(literal(pattern), None, "{pattern}");
        }
        assert_eq!(literal("^a.b$"), Some(("a.b".to_owned(), false)));
    }
}
