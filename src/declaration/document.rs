//! The whole text of `mcp.json` and the declarations in it, both ways. Pure.
//!
//! A key that stands twice, at any level, refuses the text; so does what is not JSON, with line
//! and column. One entry that cannot be used is kept as it is written and shown as a row; the
//! others work. What is not changed is written back byte for byte, in its order.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::entry::{self, EntryError};
use super::{Alias, Declaration, Server};
use crate::text;

/// The version of the shape that is read and written.
pub(crate) const VERSION: u64 = 1;

/// Brings the text of one version to the next. It is given JSON with no key twice.
pub(crate) type Step = fn(&str) -> Result<String, DocumentError>;

/// The steps from the first version that is still read up to [`VERSION`], which they end at.
/// There are none: 1 is the first version there was. A step to 2 stands here, and in its own
/// test, when there is a 2.
pub(crate) const STEPS: &[Step] = &[];

/// The text brought to [`VERSION`] by those of these steps that it needs, with the version it
/// is of; `None` where it needs none, or is of a version that no step starts from, which
/// [`Declarations::parse`] says.
///
/// # Errors
/// It is no JSON, or has a key twice; what a step says.
pub(crate) fn migrate(text: &str, steps: &[Step]) -> Result<Option<(u64, String)>, DocumentError> {
    if steps.is_empty() {
        return Ok(None);
    }
    serde_json::from_str::<Unique>(text).map_err(|error| json(&error))?;
    let version = serde_json::from_str::<Pairs<'_>>(text)
        .ok()
        .and_then(|Pairs(top)| top.into_iter().find(|(key, _)| key == "version"))
        .and_then(|(_, value)| value.get().parse::<u64>().ok());
    let behind = version.and_then(|version| VERSION.checked_sub(version));
    let needed = behind.and_then(|behind| usize::try_from(behind).ok());
    let (Some(version), Some(needed @ 1..)) = (version, needed) else {
        return Ok(None);
    };
    let Some(first) = steps.len().checked_sub(needed) else {
        return Ok(None);
    };
    let mut text = text.to_owned();
    for step in steps.iter().skip(first) {
        text = step(&text)?;
    }
    Ok(Some((version, text)))
}

/// Why a text is no `mcp.json`. Says where, and never what stands there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Not JSON, or a key twice.
    #[error("line {line}, column {column}: {what}")]
    Json {
        /// From 1.
        line: usize,
        /// From 1, in bytes.
        column: usize,
        /// What is wrong there.
        what: String,
    },
    /// JSON of another shape.
    #[error("line {line}, column {column}: {what}")]
    Shape {
        /// From 1.
        line: usize,
        /// From 1, in bytes.
        column: usize,
        /// What should stand there.
        what: &'static str,
    },
    /// A key at the top that is not ours.
    #[error("line {line}, column {column}: unknown key `{}`", text::printable(key))]
    UnknownKey {
        /// From 1.
        line: usize,
        /// From 1, in bytes.
        column: usize,
        /// Which.
        key: String,
    },
    /// A later version's file.
    #[error("it is of version {0}, and this program knows version {VERSION}")]
    Newer(u64),
}

/// All declarations, in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Declarations {
    schema: Option<String>,
    rows: Vec<Row>,
}

/// One entry of the file.
#[derive(Clone)]
struct Row {
    name: String,
    /// As it stands in the file.
    text: String,
    entry: Result<Declaration, EntryError>,
}

/// Without the text: it holds stored values.
impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row")
            .field("name", &self.name)
            .field("entry", &self.entry)
            .finish_non_exhaustive()
    }
}

impl Declarations {
    /// Every entry: its name as written, and what it declares or why it cannot be used.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Result<&Declaration, &EntryError>)> {
        self.rows
            .iter()
            .map(|row| (row.name.as_str(), row.entry.as_ref()))
    }

    /// Where the servers of all other aliases may write: what this one runs may not lie there.
    #[must_use]
    pub(crate) fn writable_but_by(&self, alias: &Alias) -> Vec<PathBuf> {
        self.iter()
            .filter(|(name, _)| *name != alias.as_str())
            .filter_map(|(_, entry)| match &entry.ok()?.server {
                Server::Stdio(stdio) => Some(stdio.dir.as_ref()?.as_path().to_owned()),
                Server::Http(_) => None,
            })
            .collect()
    }

    /// The entry of that name: `None` where there is none.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Result<&Declaration, &EntryError>> {
        self.rows
            .iter()
            .find(|row| row.name == name)
            .map(|row| row.entry.as_ref())
    }

    /// Declares a server under an alias, in place of what stood there.
    ///
    /// # Errors
    /// None in practice; see [`entry::text`].
    pub(crate) fn insert(
        &mut self,
        alias: &Alias,
        declaration: Declaration,
    ) -> Result<(), serde_json::Error> {
        let text = entry::text(&declaration)?.replace('\n', "\n    ");
        let row = Row {
            name: alias.as_str().to_owned(),
            text,
            entry: Ok(declaration),
        };
        match self.rows.iter_mut().find(|known| known.name == row.name) {
            Some(known) => *known = row,
            None => self.rows.push(row),
        }
        Ok(())
    }

    /// Gives the entry of a name another one, in its place and as it is written; says whether
    /// there was one. The new name is free.
    pub(crate) fn rename(&mut self, old: &Alias, new: &Alias) -> bool {
        let Some(row) = self.rows.iter_mut().find(|row| row.name == old.as_str()) else {
            return false;
        };
        new.as_str().clone_into(&mut row.name);
        true
    }

    /// Removes the entry of that name, usable or not; says whether there was one.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        let before = self.rows.len();
        self.rows.retain(|row| row.name != name);
        self.rows.len() < before
    }

    /// The text of the file.
    #[must_use]
    pub(crate) fn to_text(&self) -> String {
        let mut out = String::from("{\n");
        if let Some(schema) = &self.schema {
            out.push_str(&format!("  \"$schema\": {schema},\n"));
        }
        out.push_str(&format!("  \"version\": {VERSION},\n  \"mcpServers\": {{"));
        for (index, row) in self.rows.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            // `Value` writes a string without an error to handle.
            let name = serde_json::Value::from(row.name.as_str());
            out.push_str(&format!("{comma}\n    {name}: {}", row.text));
        }
        out.push_str(if self.rows.is_empty() {
            "}\n}\n"
        } else {
            "\n  }\n}\n"
        });
        out
    }

    /// Reads the text of the file.
    ///
    /// # Errors
    /// The first thing wrong with it; see [`DocumentError`].
    pub(crate) fn parse(text: &str) -> Result<Self, DocumentError> {
        serde_json::from_str::<Unique>(text).map_err(|error| json(&error))?;
        let shape = |at: &str, what| {
            let (line, column) = place(text, at);
            DocumentError::Shape { line, column, what }
        };
        let Ok(Pairs(top)) = serde_json::from_str::<Pairs<'_>>(text) else {
            return Err(shape(text.trim_start(), "an object must stand here"));
        };
        let version = top
            .iter()
            .find(|(key, _)| key == "version")
            .map(|(_, value)| value.get());
        match version.map(|value| (value, value.parse::<u64>())) {
            Some((_, Ok(VERSION))) => {}
            Some((_, Ok(newer))) if newer > VERSION => return Err(DocumentError::Newer(newer)),
            Some((value, _)) => return Err(shape(value, "`version` must be 1")),
            None => return Err(shape(text.trim_start(), "`\"version\": 1` is missing")),
        }
        let mut declarations = Self::default();
        for (key, value) in top {
            match key.as_str() {
                "version" => {}
                "$schema" => declarations.schema = Some(value.get().to_owned()),
                "mcpServers" => match serde_json::from_str::<Pairs<'_>>(value.get()) {
                    Ok(Pairs(rows)) => declarations.rows = rows.into_iter().map(row).collect(),
                    Err(_) => return Err(shape(value.get(), "`mcpServers` must be an object")),
                },
                _ => {
                    let (line, column) = place(text, value.get());
                    return Err(DocumentError::UnknownKey { line, column, key });
                }
            }
        }
        Ok(declarations)
    }
}

fn row((name, raw): (String, &RawValue)) -> Row {
    let entry = if name.parse::<Alias>().is_ok() {
        serde_json::from_str(raw.get())
            .map_err(|_| EntryError::NotAnObject)
            .and_then(entry::parse)
    } else {
        Err(EntryError::Alias)
    };
    Row {
        name,
        text: raw.get().to_owned(),
        entry,
    }
}

fn json(error: &serde_json::Error) -> DocumentError {
    let message = error.to_string();
    let what = message
        .split(" at line ")
        .next()
        .unwrap_or(&message)
        .to_owned();
    DocumentError::Json {
        line: error.line(),
        column: error.column(),
        what,
    }
}

/// Line and column, from 1, of a part of `text`.
pub(crate) fn place(text: &str, part: &str) -> (usize, usize) {
    let offset = part.as_ptr().addr().saturating_sub(text.as_ptr().addr());
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count().saturating_add(1);
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or(before)
        .len()
        .saturating_add(1);
    (line, column)
}

/// An object's keys in their order, with the values as they are written.
pub(crate) struct Pairs<'a>(pub(crate) Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Rows;
        impl<'de> Visitor<'de> for Rows {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'de>, A::Error> {
                let mut rows = Vec::new();
                while let Some(row) = map.next_entry()? {
                    rows.push(row);
                }
                Ok(Pairs(rows))
            }
        }
        deserializer.deserialize_map(Rows)
    }
}

/// Any JSON in which no object has a key twice.
pub(crate) struct Unique;

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Unique;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Unique, A::Error> {
        while list.next_element::<Unique>()?.is_some() {}
        Ok(Unique)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unique, A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if keys.contains(&key) {
                let key = text::printable(&key);
                return Err(de::Error::custom(format_args!(
                    "the key `{key}` stands twice"
                )));
            }
            keys.insert(key);
            map.next_value::<Unique>()?;
        }
        Ok(Unique)
    }
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
