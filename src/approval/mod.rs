//! The person's yes to one digest, and whether it still holds.
//!
//! [`check`] and [`changed`] are pure; [`record`] is what a yes was given to, `surfaces` the file
//! of the second yes, [`approvals`] keeps them in the state directory; [`candidate`] looks at a declaration on this machine, [`question`]
//! says what is shown of it, [`prompt`] asks at the terminal. Nothing
//! here starts a server, and nothing is approved but by a yes at a terminal.
//!
//! Place on the path: digest + approvals → **approval** → explanation → the gate.

pub(crate) mod approvals;
pub(crate) mod candidate;
pub(crate) mod error;
mod line;
pub(crate) mod prompt;
pub(crate) mod question;
pub(crate) mod record;
mod starts;
pub(crate) mod surfaces;

use std::fmt;
use std::path::Path;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

pub use approvals::Approvals;
pub use error::ApprovalError;
pub use record::Record;

use crate::declaration::digest::Canonical;

/// Whether a declaration is approved as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// It is, and the program is found where it was.
    Given,
    /// Nobody said yes to it.
    Missing,
    /// Somebody said yes to something else under this alias.
    Changed {
        /// The fields that differ, in their order.
        changed: Vec<Word>,
    },
}

impl Approval {
    /// The word: `approved`, `unapproved` or `changed`.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Given => "approved",
            Self::Missing => "unapproved",
            Self::Changed { .. } => "changed",
        }
    }

    /// The fields that differ; none unless something was approved before.
    #[must_use]
    pub fn changed(&self) -> &[Word] {
        match self {
            Self::Given | Self::Missing => &[],
            Self::Changed { changed } => changed,
        }
    }
}

/// `{"state": word, "changed": [words]}`.
impl Serialize for Approval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Approval", 2)?;
        object.serialize_field("state", self.as_str())?;
        object.serialize_field("changed", self.changed())?;
        object.end()
    }
}

/// The fields that `changed:` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename_all = "kebab-case"))]
pub enum Word {
    /// The command line, or the transport.
    Argv,
    /// The URL, or the transport.
    Url,
    /// The names of variables: stored, passed, ours, or the bearer's.
    Variables,
    /// `--dir`.
    Dir,
    /// What may be read.
    Reads,
    /// `--net`.
    Network,
    /// Limits above the defaults.
    Limits,
    /// `--allow`.
    Allow,
    /// `--without`.
    Without,
    /// `--pin`.
    Pin,
    /// The names of headers.
    Headers,
    /// Where the program is found; with `--pin program`, what it holds.
    Program,
    /// What a runner fetched: told by `prepare`, never refused.
    Files,
    /// What the server says about itself.
    #[expect(
        dead_code,
        reason = "a word of the format; surfaces are not asked about yet"
    )]
    Surface,
}

impl Word {
    /// The word itself.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Argv => "argv",
            Self::Url => "url",
            Self::Variables => "variables",
            Self::Dir => "dir",
            Self::Reads => "reads",
            Self::Network => "network",
            Self::Limits => "limits",
            Self::Allow => "allow",
            Self::Without => "without",
            Self::Pin => "pin",
            Self::Headers => "headers",
            Self::Program => "program",
            Self::Files => "files",
            Self::Surface => "surface",
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Word {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The fields in which two declarations differ; none where they are the same to a digest.
#[must_use]
pub fn changed(before: &Canonical, now: &Canonical) -> Vec<Word> {
    let (was, is) = (&before.launch, &now.launch);
    let named = |form: &Canonical| {
        (
            form.launch.variables.clone(),
            form.ours.clone(),
            form.bearer_env.clone(),
        )
    };
    [
        (Word::Argv, was.argv != is.argv),
        (Word::Url, was.url != is.url),
        (Word::Variables, named(before) != named(now)),
        (Word::Dir, was.dir != is.dir),
        (Word::Reads, before.reads != now.reads),
        (Word::Network, before.network != now.network),
        (Word::Limits, before.limits != now.limits),
        (Word::Allow, before.allow != now.allow),
        (Word::Without, before.without != now.without),
        (Word::Pin, before.pin != now.pin),
        (Word::Headers, before.headers != now.headers),
    ]
    .into_iter()
    .filter_map(|(word, differs)| differs.then_some(word))
    .collect()
}

/// The program of a start, beside the one approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<'a> {
    /// Where it is found now.
    pub path: &'a Path,
    /// Its content is not the approved one.
    pub other_content: bool,
}

/// The check itself: a declaration's canonical form, the record of its own digest if there is
/// one, the latest record of its alias otherwise, and the program where one was found.
#[must_use]
pub fn check(
    now: &Canonical,
    own: Option<&Record>,
    earlier: Option<&Record>,
    found: Option<&Found<'_>>,
) -> Approval {
    let Some(record) = own else {
        return match earlier {
            Some(record) => Approval::Changed {
                changed: changed(record.declaration(), now),
            },
            None => Approval::Missing,
        };
    };
    let moved = match (record.program(), found) {
        (Some(program), Some(found)) => {
            program.found != found.path || (!now.pin.is_empty() && found.other_content)
        }
        // Nothing was found now: the plan says so, in words of its own.
        (Some(_), None) | (None, None) => false,
        (None, Some(_)) => true,
    };
    if moved {
        Approval::Changed {
            changed: vec![Word::Program],
        }
    } else {
        Approval::Given
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::declaration::entry;

    fn form(entry: serde_json::Value) -> Canonical {
        let ours = entry.get("ours").cloned();
        let mut entry = entry;
        entry.as_object_mut().unwrap().remove("ours");
        let ours: BTreeSet<_> = ours
            .map(|ours| serde_json::from_value(ours).unwrap())
            .unwrap_or_default();
        Canonical::of(&entry::parse(entry).unwrap(), &ours)
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "one table")]
    fn each_field_has_its_word() {
        use serde_json::json;
        let base = form(json!({"command": "a", "args": ["x"]}));
        for (entry, words) in [
            (json!({"command": "a", "args": ["x"]}), vec![]),
            (json!({"command": "a", "args": ["y"]}), vec![Word::Argv]),
            (json!({"command": "b", "args": ["x"]}), vec![Word::Argv]),
            (
                json!({"command": "a", "args": ["x"], "env": {"K": "v"}}),
                vec![Word::Variables],
            ),
            (
                json!({"command": "a", "args": ["x"], "pass": ["K"]}),
                vec![Word::Variables],
            ),
            (
                json!({"command": "a", "args": ["x"], "ours": ["K"]}),
                vec![Word::Variables],
            ),
            (
                json!({"command": "a", "args": ["x"], "dir": "/d"}),
                vec![Word::Dir],
            ),
            (
                json!({"command": "a", "args": ["x"], "reads": [{"path": "/r", "why": "flag"}]}),
                vec![Word::Reads],
            ),
            (
                json!({"command": "a", "args": ["x"], "network": "none"}),
                vec![Word::Network],
            ),
            (
                json!({"command": "a", "args": ["x"], "limits": {"files": 10000}}),
                vec![Word::Limits],
            ),
            (
                json!({"command": "a", "args": ["x"], "limits": {"files": 10}}),
                vec![],
            ),
            (
                json!({"command": "a", "args": ["x"], "allow": ["pty"]}),
                vec![Word::Allow],
            ),
            (
                json!({"command": "a", "args": ["x"], "without": ["P3"]}),
                vec![Word::Without],
            ),
            (
                json!({"command": "a", "args": ["x"], "pin": ["program"]}),
                vec![Word::Pin],
            ),
            (
                json!({"command": "a", "args": ["z"], "dir": "/d", "allow": ["pty"]}),
                vec![Word::Argv, Word::Dir, Word::Allow],
            ),
            (
                json!({"url": "https://e.example"}),
                vec![Word::Argv, Word::Url],
            ),
            (
                json!({"url": "https://e.example", "headers": {"A": "v"}, "bearer_env": "T"}),
                vec![Word::Argv, Word::Url, Word::Variables, Word::Headers],
            ),
        ] {
            let now = form(entry.clone());
            assert_eq!(changed(&base, &now), words, "{entry}");
            // What has no word has no digest of its own, and the other way round.
            assert_eq!(words.is_empty(), base.digest() == now.digest(), "{entry}");
        }
    }
}
