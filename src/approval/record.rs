//! What a yes was given to: the declaration, the frozen `PATH`, the program and its content.
//!
//! A record that does not hash to its digest is none, so that what was approved is known whole
//! and a change can be named.

use std::ffi::OsStr;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::declaration::digest::{Canonical, canonical};
use crate::declaration::{Declaration, Digest, EnvName, Server};
use crate::plan::program::{self, Program, Stat};
use crate::plan::{PlanError, SearchPath};
use crate::text;

const VERSION: u64 = 1;

/// The approval of one declaration: what was said yes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    declaration: Canonical,
    path: Option<String>,
    program: Option<RecordedProgram>,
    approved: Timestamp,
}

/// A program as it was when its server was approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedProgram {
    /// Where it was found; another place is another program.
    pub found: PathBuf,
    /// Where its links led.
    pub resolved: PathBuf,
    /// What that file held.
    pub sha256: String,
    /// The fields by which a change is noticed cheaply.
    pub stat: Stat,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordFile {
    version: u64,
    digest: Digest,
    declaration: Canonical,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    program: Option<RecordedProgram>,
    approved: String,
}

impl Record {
    /// The record of an approval given now: looks at the program and hashes it.
    ///
    /// # Errors
    /// The program changed or went away.
    pub fn of(
        declaration: &Declaration,
        path: &SearchPath,
        program: Option<&Program>,
        now: Timestamp,
    ) -> Result<Self, PlanError> {
        let named = match &declaration.server {
            Server::Stdio(stdio) => stdio.variables().contains(&EnvName::path()),
            Server::Http(_) => false,
        };
        let recorded = |program: &Program| {
            let identity = program::identity(&program.resolved)?;
            Ok(RecordedProgram {
                found: program.found.clone(),
                resolved: program.resolved.clone(),
                sha256: identity.sha256,
                stat: identity.stat,
            })
        };
        Ok(Self {
            declaration: canonical(declaration),
            path: named.then(|| path.to_env()),
            program: program.map(recorded).transpose()?,
            // Nobody needs the fraction.
            approved: Timestamp::from_second(now.as_second()).unwrap_or(now),
        })
    }

    /// What was approved, without stored values.
    #[must_use]
    pub fn declaration(&self) -> &Canonical {
        &self.declaration
    }

    /// The program; `None` for a server elsewhere.
    #[must_use]
    pub fn program(&self) -> Option<&RecordedProgram> {
        self.program.as_ref()
    }

    /// When.
    #[must_use]
    pub fn approved(&self) -> Timestamp {
        self.approved
    }

    /// `PATH` as it was frozen; `None` where the server gets none from the caller.
    #[must_use]
    pub fn search_path(&self) -> Option<SearchPath> {
        self.path
            .as_deref()
            .map(|path| SearchPath::parse(OsStr::new(path)))
    }

    /// What the program's file holds, in SHA-256: as it was approved where its fields are the
    /// same, else hashed anew. `None` where it cannot be read.
    #[must_use]
    pub fn sha256(&self, found: &Program) -> Option<String> {
        match &self.program {
            Some(before) if found.stat() == Some(before.stat) => Some(before.sha256.clone()),
            _ => program::identity(&found.resolved)
                .map(|identity| identity.sha256)
                .ok(),
        }
    }

    /// What differs between the program approved and the one found, in words; `None` where it
    /// is the same. The file is hashed only where its fields differ.
    #[must_use]
    pub fn upgraded(&self, found: &Program) -> Option<String> {
        let before = self.program.as_ref()?;
        if found.stat() == Some(before.stat) && found.resolved == before.resolved {
            return None;
        }
        self.differs(found)
    }

    /// The same, and the file is always hashed.
    pub(super) fn differs(&self, found: &Program) -> Option<String> {
        let before = self.program.as_ref()?;
        let now = text::path(&found.resolved);
        match program::identity(&found.resolved) {
            Err(error) => Some(format!("what {now} holds cannot be compared: {error}")),
            Ok(identity) if identity.sha256 != before.sha256 => Some(format!(
                "{now} is not the file that was approved (an upgrade?)"
            )),
            Ok(_) if found.resolved != before.resolved => {
                let then = text::path(&before.resolved);
                Some(format!(
                    "the program is {now} now, with the content of {then}"
                ))
            }
            Ok(_) => None,
        }
    }

    /// The record that a text holds, if it is the one of `digest` and hashes to it.
    pub(super) fn parse(text: &str, digest: &Digest) -> Option<Self> {
        let file: RecordFile = serde_json::from_str(text).ok()?;
        let RecordFile {
            version,
            digest: own,
            declaration,
            path,
            program,
            approved,
        } = file;
        let approved = approved.parse().ok()?;
        let whole = version == VERSION && own == *digest && declaration.digest() == *digest;
        whole.then_some(Self {
            declaration,
            path,
            program,
            approved,
        })
    }

    /// The text of its file.
    pub(super) fn to_text(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(&RecordFile {
            version: VERSION,
            digest: self.declaration.digest(),
            declaration: self.declaration.clone(),
            path: self.path.clone(),
            program: self.program.clone(),
            approved: self.approved.to_string(),
        })
        .map(|text| text + "\n")
    }
}
