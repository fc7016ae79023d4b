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
use crate::plan::program::{Identity, Program, Stat};
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

/// A program's content now, beside the one approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// What its file holds, in SHA-256.
    pub(crate) sha256: String,
    /// What differs from what was approved, in words.
    pub(crate) differs: Option<String>,
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
            let identity = program.identity()?;
            Ok(RecordedProgram {
                found: program.found.clone(),
                resolved: program.resolved.clone(),
                sha256: identity.sha256.clone(),
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

    /// The program as it is found now, beside the one approved. Its file is read only where its
    /// fields are neither those of the approval nor of what an earlier start read; a pinned one
    /// always is.
    ///
    /// # Errors
    /// It cannot be read, or changed since it was found.
    pub(crate) fn compare(
        &self,
        found: &Program,
        read_before: Option<&Identity>,
    ) -> Result<Content, PlanError> {
        let Some(before) = &self.program else {
            let sha256 = found.identity()?.sha256.clone();
            return Ok(Content {
                sha256,
                differs: None,
            });
        };
        let known = || match read_before {
            _ if self.knows(found) => Some(&before.sha256),
            Some(read) if found.stat() == Some(read.stat) => Some(&read.sha256),
            _ => None,
        };
        let sha256 = match known().filter(|_| !self.is_pinned()) {
            Some(sha256) => sha256.clone(),
            None => found.identity()?.sha256.clone(),
        };
        let now = text::path(&found.resolved);
        let differs = if sha256 != before.sha256 {
            Some(format!(
                "{now} is not the file that was approved (an upgrade?)"
            ))
        } else if found.resolved != before.resolved {
            let then = text::path(&before.resolved);
            Some(format!(
                "the program is {now} now, with the content of {then}"
            ))
        } else {
            None
        };
        Ok(Content { sha256, differs })
    }

    /// Whether the program found is another than the one approved, or cannot be compared.
    #[must_use]
    pub(crate) fn is_of_another(&self, found: &Program) -> bool {
        let compared = self.compare(found, None);
        compared.map_or(true, |content| content.differs.is_some())
    }

    /// What was read of the program in this process, where that saves the next start from it: the
    /// approval does not tell its fields, and no pin wants it read each time.
    pub(crate) fn worth_keeping<'a>(&self, found: &'a Program) -> Option<&'a Identity> {
        let read = found.identity_read();
        read.filter(|_| !self.is_pinned() && !self.knows(found))
    }

    /// Whether the fields of the program found are those of the one approved.
    pub(crate) fn knows(&self, found: &Program) -> bool {
        let before = self.program.as_ref();
        before.is_some_and(|before| found.stat() == Some(before.stat))
    }

    fn is_pinned(&self) -> bool {
        !self.declaration.pin.is_empty()
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
