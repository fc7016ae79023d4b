//! What programs of the person run or obey in a folder (promise G3). Pure.
//!
//! The list is data in `policy/obeyed-files.json`, with the reason of each entry. It is asked by
//! the first part of a path; whether a name that is spelled otherwise is the same one only its
//! file system knows, so [`super::walk`] asks that, by the name as the list spells it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// One thing that is run or obeyed.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Its name, or the last parts of its path.
    pub(crate) path: &'static str,
    /// All below it counts too.
    pub(crate) tree: bool,
    except_below: Option<&'static str>,
    /// Why it counts.
    pub(crate) reason: &'static str,
}

impl Entry {
    /// Whether it counts in a directory.
    pub(crate) fn counts_in(&self, directory: &Path) -> bool {
        self.except_below.is_none_or(|except| {
            directory
                .components()
                .all(|part| part.as_os_str() != except)
        })
    }
}

/// `policy/obeyed-files.json`, sorted to be searched.
struct Obeyed {
    /// The lengths and first letters of the names: hardly any name of a large directory has them.
    shapes: &'static [(usize, u8)],
    /// Each first part, folded, with the entries that begin with it.
    names: &'static [(&'static str, &'static [Entry])],
}

static OBEYED: Obeyed = include!(concat!(env!("OUT_DIR"), "/obeyed.rs"));

/// The entries whose paths begin with a name, or with one that a file system which folds letter
/// case may take it for: that file system is to be asked then.
pub(crate) fn beginning(name: &OsStr) -> &'static [Entry] {
    let known = |shape| OBEYED.shapes.binary_search(&shape).is_ok();
    if name.is_ascii() && !shape(name.as_bytes()).is_some_and(known) {
        return &[];
    }
    let folded = folded(name);
    let names = OBEYED.names;
    let found = names.binary_search_by_key(&folded.as_str(), |(known, _)| known);
    let found = found.ok().and_then(|at| names.get(at));
    found.map_or(&[], |(_, entries)| entries)
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
    fn each_name_of_the_list_is_found() {
        for (name, entries) in OBEYED.names {
            assert_eq!(folded(OsStr::new(name)), *name);
            assert_eq!(beginning(OsStr::new(name)).len(), entries.len());
            for entry in *entries {
                let first = Path::new(entry.path).iter().next().unwrap();
                assert_eq!(folded(first), *name);
                assert_eq!(beginning(first).len(), entries.len(), "{entry:?}");
            }
        }
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
            assert!(!beginning(OsStr::new(named)).is_empty(), "{named}");
        }
    }

    #[test]
    fn other_spellings_are_doubts_and_other_names_are_not() {
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
            let entries = beginning(OsStr::new(name));
            assert_eq!(!entries.is_empty(), doubt, "{name:?}");
        }
    }

    #[test]
    fn scripts_of_installed_packages_are_not_the_persons() {
        let [package] = beginning(OsStr::new("package.json")) else {
            panic!("one entry");
        };
        assert!(package.counts_in(Path::new("")) && package.counts_in(Path::new("a/b")));
        assert!(!package.counts_in(Path::new("a/node_modules/b")));
    }
}
