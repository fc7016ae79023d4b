//! The data of `policy/` as Rust expressions: pure, and held by a test beside the build script.
//!
//! Each is an expression of the type that the module which includes it declares. What the program
//! would otherwise do at each start is done here: paths are taken apart, names sorted to be searched
//! by halves, letters made small. Strict: an unknown member or word, an entry that is there twice or
//! has no reason, a path that is not spelled plainly is an error that names it.

use std::collections::BTreeSet;
use std::error::Error;

mod paths;
mod words;

/// One data file.
pub(crate) struct Table {
    /// Where it lies.
    pub(crate) file: &'static str,
    /// What the program includes.
    pub(crate) to: &'static str,
    /// Makes the one of the other.
    pub(crate) make: fn(&str) -> Made,
}

/// An expression, or what is wrong with the data.
pub(crate) type Made = Result<String, Box<dyn Error>>;

const fn table(file: &'static str, to: &'static str, make: fn(&str) -> Made) -> Table {
    Table { file, to, make }
}

/// All of them.
pub(crate) const TABLES: [Table; 8] = [
    table("policy/grants/linux.json", "grants.rs", paths::grants),
    table("policy/grants/runners.json", "runners.rs", words::runners),
    table(
        "policy/sensitive-directories.json",
        "places.rs",
        paths::places,
    ),
    table("policy/obeyed-files.json", "obeyed.rs", paths::obeyed),
    table(
        "policy/loader-variables.json",
        "loader.rs",
        words::variables,
    ),
    table(
        "policy/interpreter-variables.json",
        "interpreters.rs",
        words::variables,
    ),
    table("policy/template-tokens.json", "tokens.rs", words::tokens),
    table("policy/surface-check.json", "check.rs", words::check),
];

/// What is wrong with an entry.
fn wrong<T>(entry: &str, why: &str) -> Result<T, Box<dyn Error>> {
    Err(format!("{entry:?} {why}").into())
}

/// The entries of one list, each once and with a reason.
#[derive(Default)]
struct Once(BTreeSet<String>);

impl Once {
    fn add(&mut self, entry: &str, reason: &str) -> Result<(), Box<dyn Error>> {
        if entry.is_empty() || reason.is_empty() {
            return wrong(entry, "has no name or no reason");
        }
        match self.0.insert(entry.to_owned()) {
            true => Ok(()),
            false => wrong(entry, "is there twice"),
        }
    }
}

/// A slice.
fn slice(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    format!("&[{}]", items.join(",\n"))
}

/// A slice of texts.
fn texts<'a>(items: impl IntoIterator<Item = &'a String>) -> String {
    slice(items.into_iter().map(|item| format!("{item:?}")))
}

/// Whether what follows `/` or the home in a path is spelled plainly: joined to anything it stays below.
fn is_plain(rest: &str) -> bool {
    rest.split('/').all(|part| !matches!(part, "" | "." | ".."))
}
