//! The text of one file of a policy, read into its rules. Pure.
//!
//! An unknown key, a key that stands twice, `null`, an entry of no known form: each refuses the
//! whole text, with line and column.

use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::entry::{AllowShape, DenyShape, Entry, EntryError, some};
#[cfg(test)]
use super::floor::Floors;
use super::problem::{Cause, FileProblem};
use super::{AdminPolicy, PlacedFloors, Rule};
use crate::declaration::document::{Unique, place};

/// The whole file. It can keep servers from starting, and give none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FileShape<'a> {
    /// For editors.
    #[serde(rename = "$schema", default, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "String"))]
    _schema: Option<String>,
    /// For the reader: anything, and never obeyed.
    #[serde(rename = "$comment", default, borrow)]
    #[cfg_attr(test, schemars(with = "serde_json::Value"))]
    _comment: Option<&'a RawValue>,
    /// What holds for MCP servers.
    #[serde(borrow)]
    #[cfg_attr(test, schemars(with = "McpShape<'_>"))]
    mcp: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct McpShape<'a> {
    /// For the reader.
    #[serde(rename = "$comment", default, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "String"))]
    _comment: Option<String>,
    /// Only what an entry names may start. Empty: nothing. Without this key: all not denied.
    #[serde(default, borrow, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "Vec<AllowShape>"))]
    allow: Option<Vec<&'a RawValue>>,
    /// What an entry names does not start, whatever `allow` says.
    #[serde(default, borrow, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "Vec<DenyShape>"))]
    deny: Option<Vec<&'a RawValue>>,
    /// What no declaration may go below.
    #[serde(default, borrow, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "Floors"))]
    floor: Option<&'a RawValue>,
}

/// The rules of a text. `file` is what they are shown with, `owner` whose it is, where that was
/// looked at.
///
/// # Errors
/// The first thing wrong with it.
pub(crate) fn parse(
    text: &str,
    file: &Path,
    owner: Option<u32>,
) -> Result<AdminPolicy, FileProblem> {
    let reader = Reader { text, file, owner };
    serde_json::from_str::<Unique>(text).map_err(|error| reader.json(text, &error))?;
    let shape: FileShape<'_> = reader.read(text.trim_start())?;
    let McpShape {
        allow, deny, floor, ..
    } = reader.read(shape.mcp.get())?;
    let allow = allow.map(|entries| reader.rules::<AllowShape>("allow", &entries));
    let deny = reader.rules::<DenyShape>("deny", &deny.unwrap_or_default())?;
    let floor = floor.map(|raw| {
        Ok(PlacedFloors {
            floors: reader.read(raw.get())?,
            file: file.to_owned(),
            line: place(text, raw.get()).0,
        })
    });
    Ok(AdminPolicy {
        files: vec![file.to_owned()],
        allow: allow.transpose()?,
        deny,
        floors: floor.transpose()?.into_iter().collect(),
    })
}

/// An entry as it is written.
trait Shape: serde::de::DeserializeOwned + TryInto<Entry, Error = EntryError> {
    fn comment(&self) -> Option<String>;
}

impl Shape for AllowShape {
    fn comment(&self) -> Option<String> {
        self.comment.clone()
    }
}

impl Shape for DenyShape {
    fn comment(&self) -> Option<String> {
        self.comment.clone()
    }
}

struct Reader<'a> {
    text: &'a str,
    file: &'a Path,
    owner: Option<u32>,
}

impl Reader<'_> {
    fn rules<S: Shape>(&self, list: &str, raws: &[&RawValue]) -> Result<Vec<Rule>, FileProblem> {
        let rule = |(index, raw): (usize, &&RawValue)| {
            let shape: S = self.read(raw.get())?;
            let comment = shape.comment();
            let (line, column) = place(self.text, raw.get());
            let entry = shape
                .try_into()
                .map_err(|error| self.invalid(line, column, &error.to_string()))?;
            Ok(Rule {
                entry,
                name: format!("{list}[{index}] {}", without_comment(raw.get())),
                comment,
                file: self.file.to_owned(),
                line,
            })
        };
        raws.iter().enumerate().map(rule).collect()
    }

    /// Reads a part of the text that is an object: a list of its values would be taken for one.
    fn read<'t, T: Deserialize<'t>>(&self, part: &'t str) -> Result<T, FileProblem> {
        if part.starts_with('{') {
            return serde_json::from_str(part).map_err(|error| self.json(part, &error));
        }
        let (line, column) = place(self.text, part);
        Err(self.invalid(line, column, "an object must stand here"))
    }

    /// An error in a part of the text, told by its place in the whole.
    fn json(&self, part: &str, error: &serde_json::Error) -> FileProblem {
        let message = error.to_string();
        let what = message.split(" at line ").next().unwrap_or(&message);
        let (line, column) = place(self.text, part);
        let further = error.line().saturating_sub(1);
        let column = if further == 0 {
            column.saturating_add(error.column()).saturating_sub(1)
        } else {
            error.column()
        };
        self.invalid(
            line.saturating_add(further),
            column.max(1),
            &explained(what),
        )
    }

    fn invalid(&self, line: usize, column: usize, what: &str) -> FileProblem {
        let cause = Cause::Invalid {
            line,
            column,
            what: what.to_owned(),
            owner: self.owner,
        };
        FileProblem::new(self.file, cause)
    }
}

/// What an unknown key was likely meant for.
fn explained(what: &str) -> String {
    let Some(rest) = what.strip_prefix("unknown field `") else {
        return what.to_owned();
    };
    let key = rest.split('`').next().unwrap_or(rest);
    let expected = rest.split_once("`, ").map_or("", |(_, expected)| expected);
    let why = match key {
        "mcpServers" | "servers" | "approved" | "approvals" | "permissions" | "requests" => {
            "a policy keeps servers from starting; it declares none and approves none".to_owned()
        }
        "serverName" | "name" | "alias" => {
            "a server is named by what runs or where it goes".to_owned()
        }
        _ => expected.to_owned(),
    };
    format!("unknown key `{key}`: {why}")
}

/// An entry that has been read, as it is shown.
fn without_comment(entry: &str) -> String {
    let mut keys: Map<String, Value> = serde_json::from_str(entry).unwrap_or_default();
    keys.remove("$comment");
    Value::Object(keys).to_string()
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
