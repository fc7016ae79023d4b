//! What nothing declares any more: private homes, approvals, surfaces, records of runs.
//!
//! Looked for and removed by name: each is called by the launch digest or the digest of the
//! declaration it belongs to. What has another name is not ours, and stays. While an entry of
//! `mcp.json` cannot be used, nothing is known to be left over.
//!
//! Beside the path: `supervisor prune` alone comes here.
#![expect(
    clippy::disallowed_methods,
    reason = "what is left over is looked for and removed here"
)]

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::approval::Approvals;
use crate::declaration::change::ChangeError;
use crate::declaration::document::Declarations;
use crate::declaration::file::{FileError, Locked, Problem};
use crate::declaration::store::{State, StoreError};
use crate::declaration::{Digest, digest};
use crate::error::Error;
use crate::launch::homes::{self, Gone};

/// Folders of the state directory whose entries are called by a digest: what an entry is, how
/// many digits its name has, and what follows them.
const FOLDERS: [(&str, Kind, usize, &str); 10] = [
    ("approvals", Kind::Approval, 64, ".json"),
    ("surface", Kind::Surface, 64, ".json"),
    ("content", Kind::Record, 16, ".json"),
    ("breaker", Kind::Record, 64, ""),
    ("era", Kind::Record, 16, ""),
    ("logs", Kind::Record, 16, ""),
    ("pending", Kind::Record, 64, ".json"),
    ("prepared", Kind::Record, 16, ".json"),
    ("receipts", Kind::Record, 16, ""),
    ("why", Kind::Record, 16, ".json"),
];

/// What a thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) enum Kind {
    /// A private home.
    Home,
    /// A line of `approved`, and its record.
    Approval,
    /// An approved surface.
    Surface,
    /// What runs left: receipts, what worked, what was refused.
    Record,
}

impl Kind {
    /// The word.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Home => "home",
            Self::Approval => "approval",
            Self::Surface => "surface",
            Self::Record => "record",
        }
    }
}

/// One thing that nothing declares any more.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Leftover {
    /// What it is.
    pub(crate) kind: Kind,
    /// Where.
    pub(crate) path: PathBuf,
    /// The room it takes.
    pub(crate) bytes: u64,
    /// A server runs in it, so that it stays.
    pub(crate) in_use: bool,
    /// It was removed.
    pub(crate) removed: bool,
}

/// All that is left over, sorted.
///
/// # Errors
/// An entry that cannot be used; a file or directory that cannot be read or trusted.
pub(crate) fn find(state: &State) -> Result<Vec<Leftover>, Error> {
    if state.folder().is_none() {
        return Ok(Vec::new());
    }
    let (declarations, approvals) = (state.read()?, Approvals::read(state)?);
    Kept::of(&declarations, &approvals)?.others(state.path(), &approvals)
}

/// Removes what was found and is still left over; says what became of it.
///
/// # Errors
/// As [`find`]; the system said no.
pub(crate) fn remove(state: &State, found: &[Leftover]) -> Result<Vec<Leftover>, Error> {
    state.update(|declarations, locked| {
        let approvals = Approvals::read(state)?;
        let path = locked.folder().path();
        let mut left = Kept::of(declarations, &approvals)?.others(path, &approvals)?;
        left.retain(|one| found.iter().any(|shown| shown.path == one.path));
        for one in &mut left {
            remove_one(one, path, locked)?;
        }
        Ok(left)
    })
}

fn remove_one(one: &mut Leftover, state: &Path, locked: &Locked<'_>) -> Result<(), Error> {
    let name = one.path.file_name().and_then(|name| name.to_str());
    let name = name.unwrap_or_default();
    match one.kind {
        Kind::Home => {
            one.in_use = homes::remove(state, name)? == Gone::InUse;
        }
        Kind::Approval => {
            let digest = name.strip_suffix(".json").unwrap_or(name).parse().ok();
            Approvals::drop_all(locked, &digest.into_iter().collect())?;
        }
        Kind::Surface | Kind::Record => {
            let folder = fs::symlink_metadata(&one.path).is_ok_and(|stat| stat.is_dir());
            let removed = if folder {
                fs::remove_dir_all(&one.path)
            } else {
                fs::remove_file(&one.path)
            };
            let failed = |error| {
                FileError::new(
                    &one.path,
                    Problem::Io {
                        doing: "removed",
                        error,
                    },
                )
            };
            removed.map_err(failed).map_err(StoreError::from)?;
        }
    }
    one.removed = !one.in_use;
    Ok(())
}

/// What is declared, and so stays.
struct Kept {
    /// Names of private homes.
    homes: BTreeSet<String>,
    /// Declared digests, and those by which a change of a declared server is named.
    digests: BTreeSet<Digest>,
}

impl Kept {
    fn of(declarations: &Declarations, approvals: &Approvals) -> Result<Self, Error> {
        let mut kept = Self {
            homes: BTreeSet::new(),
            digests: BTreeSet::new(),
        };
        let mut aliases = BTreeSet::new();
        for (name, entry) in declarations.iter() {
            let Ok(declaration) = entry else {
                let name = name.to_owned();
                return Err(ChangeError::Unknown { name }.into());
            };
            let launch = digest::launch(&declaration.server);
            kept.homes.insert(launch.home_name().to_owned());
            kept.digests.insert(digest::digest(declaration));
            aliases.insert(name);
        }
        let named = approvals
            .lines()
            .filter(|(_, alias)| aliases.contains(alias.as_str()));
        kept.digests.extend(named.map(|(digest, _)| digest.clone()));
        Ok(kept)
    }

    /// What is there and does not stay.
    fn others(&self, state: &Path, approvals: &Approvals) -> Result<Vec<Leftover>, Error> {
        let mut left = BTreeSet::new();
        for name in homes::names(state)?.difference(&self.homes) {
            left.insert(Leftover {
                in_use: homes::in_use(state, name),
                ..leftover(Kind::Home, state.join("home").join(name))
            });
        }
        let lines = approvals.lines().map(|(digest, _)| digest);
        for digest in lines.filter(|digest| !self.digests.contains(*digest)) {
            let path = state.join("approvals").join(format!("{digest}.json"));
            left.insert(leftover(Kind::Approval, path));
        }
        for (folder, kind, digits, end) in FOLDERS {
            let path = state.join(folder);
            for name in names(&path).map_err(StoreError::from)? {
                let begins = name.strip_suffix(end);
                let Some(begins) = begins.filter(|begins| is_digest(begins, digits)) else {
                    continue;
                };
                let stays = |digest: &Digest| digest.as_str().starts_with(begins);
                if !self.digests.iter().any(stays) {
                    left.insert(leftover(kind, path.join(&name)));
                }
            }
        }
        Ok(left.into_iter().collect())
    }
}

fn leftover(kind: Kind, path: PathBuf) -> Leftover {
    Leftover {
        kind,
        bytes: homes::size(&path),
        path,
        in_use: false,
        removed: false,
    }
}

fn is_digest(name: &str, digits: usize) -> bool {
    let digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    name.len() == digits && name.chars().all(digit)
}

fn names(folder: &Path) -> Result<Vec<String>, FileError> {
    let failed = |error| {
        FileError::new(
            folder,
            Problem::Io {
                doing: "read",
                error,
            },
        )
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry.map_err(failed)?.file_name().into_string());
    }
    Ok(names)
}
