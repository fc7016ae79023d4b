//! What programs of the person run or obey in a folder (promise G3). Pure.
//!
//! The list is data in `policy/obeyed-files.json`, with the reason of each entry. It is asked by
//! the first part of a path; whether a name that is spelled otherwise is the same one only its
//! file system knows, so [`super::walk`] asks that, by the name as the list spells it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Deserializer};

use super::PlanError;

const FILE: &str = "policy/obeyed-files.json";
const TEXT: &str = include_str!("../../policy/obeyed-files.json");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    #[serde(rename = "about")]
    _about: String,
    entries: Vec<Entry>,
}

/// One thing that is run or obeyed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// Its name, or the last parts of its path.
    pub(crate) path: PathBuf,
    /// All below it counts too.
    #[serde(default)]
    pub(crate) tree: bool,
    #[serde(default)]
    except_below: Option<String>,
    /// Why it counts.
    #[serde(deserialize_with = "shared")]
    pub(crate) reason: Arc<str>,
}

fn shared<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
    String::deserialize(deserializer).map(Arc::from)
}

impl Entry {
    /// Whether it counts in a directory.
    pub(crate) fn counts_in(&self, directory: &Path) -> bool {
        self.except_below.as_ref().is_none_or(|except| {
            directory
                .components()
                .all(|part| part.as_os_str() != except.as_str())
        })
    }
}

/// The list.
#[derive(Debug)]
pub(crate) struct Obeyed {
    by_first: BTreeMap<OsString, Vec<Entry>>,
    /// Each first part, folded, as it is spelled.
    spelled: BTreeMap<String, OsString>,
    /// The lengths and first letters of these: hardly any name of a large directory has them.
    shapes: BTreeSet<(usize, u8)>,
}

impl Obeyed {
    /// Reads it.
    ///
    /// # Errors
    /// [`PlanError::Data`], which a test rules out.
    pub(crate) fn read() -> Result<Self, PlanError> {
        let data: Data =
            serde_json::from_str(TEXT).map_err(|source| PlanError::Data { file: FILE, source })?;
        let mut by_first: BTreeMap<OsString, Vec<Entry>> = BTreeMap::new();
        for entry in data.entries {
            let first = entry.path.iter().next().unwrap_or_default().to_owned();
            by_first.entry(first).or_default().push(entry);
        }
        let spelled: BTreeMap<String, OsString> = by_first
            .keys()
            .map(|name| (folded(name), name.clone()))
            .collect();
        let shapes = spelled.keys().filter_map(|name| shape(name.as_bytes()));
        Ok(Self {
            shapes: shapes.collect(),
            by_first,
            spelled,
        })
    }

    /// The entries whose paths begin with a name, or with one that a file system which folds
    /// letter case may take it for: that file system is to be asked then.
    pub(crate) fn beginning(&self, name: &OsStr) -> &[Entry] {
        if name.is_ascii()
            && shape(name.as_bytes()).is_none_or(|shape| !self.shapes.contains(&shape))
        {
            return &[];
        }
        let spelled = self.spelled.get(&folded(name));
        spelled
            .and_then(|name| self.by_first.get(name))
            .map_or(&[], Vec::as_slice)
    }
}

fn shape(name: &[u8]) -> Option<(usize, u8)> {
    Some((name.len(), name.first()?.to_ascii_lowercase()))
}

/// A name as the file systems that fold names compare it, so far as it can become ASCII by that:
/// small letters, the two letters and two dots outside ASCII that fold to ASCII, and nothing of
/// what they ignore (ext4 and f2fs fold by Unicode, HFS+, APFS and NTFS by tables of their own).
fn folded(name: &OsStr) -> String {
    let ignored = |c: &char| {
        matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}'
        ) || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
            || matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
    };
    name.to_string_lossy()
        .chars()
        .filter(|c| !ignored(c))
        .map(|c| match c {
            '\u{17f}' => 's',
            '\u{212a}' => 'k',
            '\u{130}' | '\u{131}' => 'i',
            c => c.to_ascii_lowercase(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_is_sound() {
        let obeyed = Obeyed::read().unwrap();
        let mut seen = BTreeSet::new();
        for entry in obeyed.by_first.values().flatten() {
            assert!(entry.path.is_relative() && entry.path.iter().count() < 3);
            assert!(!entry.reason.is_empty(), "{:?}", entry.path);
            assert!(
                seen.insert(folded(entry.path.as_os_str())),
                "{:?}",
                entry.path
            );
        }
        assert_eq!(
            obeyed.spelled.len(),
            obeyed.by_first.len(),
            "one spelling each"
        );
        for named in [
            ".mcp.json",
            ".claude",
            ".cursor",
            ".vscode",
            ".envrc",
            ".npmrc",
            "package.json",
            "AGENTS.md",
            "CLAUDE.md",
            ".hg",
            ".idea",
            ".gemini",
            "GEMINI.md",
            ".windsurf",
            ".cursorrules",
            ".clinerules",
            ".husky",
            ".github",
        ] {
            assert!(!obeyed.beginning(OsStr::new(named)).is_empty(), "{named}");
        }
    }

    #[test]
    fn other_spellings_are_doubts_and_other_names_are_not() {
        let obeyed = Obeyed::read().unwrap();
        for (name, doubt) in [
            (".mcp.json", true),
            (".MCP.json", true),
            (".v\u{17f}code", true),
            (".vs\u{200b}code", true),
            ("agents.MD", true),
            ("notes.txt", false),
            ("Makefile", false),
            (".vscod\u{e9}", false),
        ] {
            let entries = obeyed.beginning(OsStr::new(name));
            assert_eq!(!entries.is_empty(), doubt, "{name:?}");
        }
    }

    #[test]
    fn scripts_of_installed_packages_are_not_the_persons() {
        let obeyed = Obeyed::read().unwrap();
        let [package] = obeyed.beginning(OsStr::new("package.json")) else {
            panic!("one entry");
        };
        assert!(package.counts_in(Path::new("")) && package.counts_in(Path::new("a/b")));
        assert!(!package.counts_in(Path::new("a/node_modules/b")));
    }
}
