//! What a run left in a writable directory: two pictures of it compared (promises G2 and G3).
//!
//! Place on the path: server ended → walk → **left** → stderr, receipt, `list`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::held::{Held, Led};
use super::walk::{Picture, Repository};
use crate::text;

/// Something in `--dir` that a reader should look at before any program of theirs does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FoundFile {
    /// Where.
    pub path: String,
    /// What it is.
    pub kind: FileKind,
    /// What became of it while the server ran.
    pub change: Change,
    /// Why it counts: what obeys it, or where the link leads.
    pub why: String,
}

/// What a found file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum FileKind {
    /// Programs of the person run or obey it.
    Obeyed,
    /// A link that leads out of the directory.
    Link,
}

/// What became of a found file while a server ran, by whomever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Change {
    /// It was not there before.
    Created,
    /// It was there and is another one, or holds something else.
    Changed,
}

impl Change {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
        }
    }
}

/// A path of a repository below `place`, for a reader.
#[must_use]
pub(crate) fn repository(place: &Path, found: &Repository) -> PathBuf {
    match found {
        Repository::Marked(path) | Repository::Bare(path) => place.join(path),
    }
}

/// What was created or changed between two pictures of the directory held, which lies at `place`:
/// what is obeyed first, the nearest to the top first, since that is what is opened. Of a new
/// directory only itself is named: all in it is new.
pub(crate) fn files(
    before: &Picture,
    after: &Picture,
    held: &Held,
    place: &Path,
) -> Vec<FoundFile> {
    let mut found = Vec::new();
    let mut within: Option<&Path> = None;
    for (path, seen) in &after.obeyed {
        if within.is_some_and(|new| path.starts_with(new)) {
            continue;
        }
        let change = match before.obeyed.get(path) {
            None => Change::Created,
            Some(earlier) if earlier.directory && seen.directory => {
                if earlier.stat.is_same_file(&seen.stat) {
                    continue;
                }
                Change::Changed
            }
            Some(earlier) if earlier == seen => continue,
            Some(_) => Change::Changed,
        };
        if seen.directory {
            within = Some(path);
        }
        found.push(FoundFile {
            path: shown(&place.join(path)),
            kind: FileKind::Obeyed,
            change,
            why: seen.reason.to_owned(),
        });
    }
    // Stable: by path where they lie as deep.
    found.sort_by_key(|file: &FoundFile| Path::new(&file.path).components().count());
    for (path, stat) in &after.links {
        let change = match before.links.get(path) {
            None => Change::Created,
            Some(earlier) if earlier == stat => continue,
            Some(_) => Change::Changed,
        };
        if held.led(place, path) == Led::Out {
            let target = held.target(path);
            found.push(FoundFile {
                path: shown(&place.join(path)),
                kind: FileKind::Link,
                change,
                why: format!("leads out of the directory, to {}", text::path(&target)),
            });
        }
    }
    found
}

/// A path as JSON holds it; bytes that are no UTF-8 show as `\u{fffd}`.
pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
#[path = "left_tests.rs"]
mod tests;
