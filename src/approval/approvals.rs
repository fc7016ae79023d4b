//! The list `approved`, the records in `approvals/` and the surfaces in `surface/`: read, written
//! and forgotten under the lock of the state directory.
//!
//! A line approves nothing without a record, or a surface, that hashes to its digest.

mod change;

use std::collections::BTreeMap;

use super::line::Line;
use super::{Approval, ApprovalError, Found, Record, Word, check, surfaces};
use crate::declaration::digest::canonical;
use crate::declaration::file::Folder;
use crate::declaration::store::State;
use crate::declaration::{Alias, Declaration, Digest, EnvName, Server};
use crate::plan::program::Program;
use crate::plan::{SearchPath, facts};
use crate::surface::{Kind, Surface};

const LIST: &str = "approved";
const RECORDS: &str = "approvals";
const SURFACES: &str = "surface";

/// All approvals of one state directory.
#[derive(Clone, Debug, Default)]
pub struct Approvals {
    lines: Vec<Line>,
    records: BTreeMap<Digest, Record>,
    /// The files of surfaces as they stand: read whole where one is asked for, since a start
    /// needs none of the others'.
    surfaces: BTreeMap<Digest, String>,
    without_record: Vec<Digest>,
}

impl Approvals {
    /// Reads the list and the records it names.
    ///
    /// # Errors
    /// A file that cannot be trusted; a line that is none.
    pub fn read(state: &State) -> Result<Self, ApprovalError> {
        state
            .folder()
            .map_or_else(|| Ok(Self::default()), Self::read_in)
    }

    /// Reads the list and what a start of one declaration asks for: the records of its digest
    /// and of its alias.
    ///
    /// # Errors
    /// As [`Approvals::read`], of those.
    pub fn of(state: &State, alias: &Alias, digest: &Digest) -> Result<Self, ApprovalError> {
        let asked = |line: &Line| line.digest() == digest || line.alias() == alias;
        state.folder().map_or_else(
            || Ok(Self::default()),
            |folder| {
                let mut approvals = Self::listed(folder)?;
                approvals.read_records(folder, asked)?;
                Ok(approvals)
            },
        )
    }

    /// The surface approved for a digest that is approved, which a run of it may offer; nothing
    /// else is read.
    ///
    /// # Errors
    /// As [`Approvals::of`], and of that surface's file.
    pub fn surface_of(
        state: &State,
        alias: &Alias,
        digest: &Digest,
    ) -> Result<Option<Surface>, ApprovalError> {
        Self::of(state, alias, digest)?.with_surface(state, digest)
    }

    /// The same, of approvals that were read already: that surface's file alone is read.
    ///
    /// # Errors
    /// As [`Approvals::surface_of`], of that file.
    pub fn with_surface(
        mut self,
        state: &State,
        digest: &Digest,
    ) -> Result<Option<Surface>, ApprovalError> {
        if let Some(folder) = state.folder() {
            self.read_surfaces(folder, |line| line.digest() == digest)?;
        }
        Ok(self.surface(digest))
    }

    fn read_in(folder: &Folder) -> Result<Self, ApprovalError> {
        let mut approvals = Self::listed(folder)?;
        approvals.read_surfaces(folder, |_| true)?;
        approvals.read_records(folder, |_| true)?;
        Ok(approvals)
    }

    /// The list alone.
    fn listed(folder: &Folder) -> Result<Self, ApprovalError> {
        let mut approvals = Self::default();
        let text = folder.read(LIST)?.unwrap_or_default();
        // Not `lines`, which passes over a carriage return.
        for (index, line) in text.split_terminator('\n').enumerate() {
            let place = || (folder.path().join(LIST), index.saturating_add(1));
            let line = Line::parse(line).ok_or_else(|| {
                let (path, line) = place();
                ApprovalError::Line { path, line }
            })?;
            approvals.lines.push(line);
        }
        Ok(approvals)
    }

    /// The records of those lines that are asked for.
    fn read_records(
        &mut self,
        folder: &Folder,
        asked: impl Fn(&Line) -> bool,
    ) -> Result<(), ApprovalError> {
        let records = folder.folder(RECORDS, false)?;
        for digest in self
            .lines
            .iter()
            .filter(|line| asked(line))
            .map(Line::digest)
        {
            let text = match &records {
                Some(records) => records.read(&file_name(digest))?,
                None => None,
            };
            match text.and_then(|text| Record::parse(&text, digest)) {
                Some(record) => drop(self.records.insert(digest.clone(), record)),
                None => self.without_record.push(digest.clone()),
            }
        }
        Ok(())
    }

    /// The record of a digest that is approved.
    #[must_use]
    pub fn record(&self, digest: &Digest) -> Option<&Record> {
        let approved =
            |line: &Line| matches!(line, Line::Server(approved, _) if approved == digest);
        self.lines
            .iter()
            .any(approved)
            .then(|| self.records.get(digest))
            .flatten()
    }

    /// The latest record of an alias, whatever its digest.
    #[must_use]
    pub fn latest(&self, alias: &Alias) -> Option<&Record> {
        self.lines.iter().rev().find_map(|line| match line {
            Line::Server(digest, of) if of == alias => self.records.get(digest),
            _ => None,
        })
    }

    /// The surface approved for a digest that is approved.
    #[must_use]
    pub fn surface(&self, digest: &Digest) -> Option<Surface> {
        self.record(digest)?;
        let line = self.lines.iter().rev();
        line.filter(|line| line.digest() == digest)
            .find_map(|line| self.held(line))
    }

    /// The surface of a line, where its file is there and hashes to it.
    fn held(&self, line: &Line) -> Option<Surface> {
        match line {
            Line::Surface(digest, approved, _) => {
                surfaces::parse(self.surfaces.get(digest)?, digest, approved)
            }
            Line::Server(..) => None,
        }
    }

    /// The latest surface approved for an alias, whatever its digest.
    #[must_use]
    pub fn latest_surface(&self, alias: &Alias) -> Option<Surface> {
        let line = self.lines.iter().rev();
        line.filter(|line| line.alias() == alias)
            .find_map(|line| self.held(line))
    }

    /// The names of the tools in all approved surfaces but those of an alias.
    #[must_use]
    pub fn tools_but_of(&self, alias: &Alias) -> Vec<String> {
        let mut names = Vec::new();
        for line in self.lines.iter().filter(|line| line.alias() != alias) {
            if let Some(surface) = self.held(line) {
                let tools = surface.iter().filter(|item| item.kind() == Kind::Tool);
                names.extend(tools.map(|tool| tool.name().to_owned()));
            }
        }
        names
    }

    /// Digests in the list whose record is missing or does not hash to them: they approve
    /// nothing.
    #[must_use]
    pub fn without_record(&self) -> &[Digest] {
        &self.without_record
    }

    /// Digests whose surface is missing or does not hash to its line: it approves nothing.
    #[must_use]
    pub fn without_surface(&self) -> Vec<Digest> {
        let broken = |line: &&Line| matches!(line, Line::Surface(..)) && self.held(line).is_none();
        let lines = self.lines.iter().filter(broken);
        lines.map(|line| line.digest().clone()).collect()
    }

    /// The files of those surfaces that are asked for.
    fn read_surfaces(
        &mut self,
        folder: &Folder,
        asked: impl Fn(&Line) -> bool,
    ) -> Result<(), ApprovalError> {
        let Some(inner) = folder.folder(SURFACES, false)? else {
            return Ok(());
        };
        for line in self.lines.iter().filter(|line| asked(line)) {
            if let Line::Surface(digest, ..) = line
                && let Some(text) = inner.read(&file_name(digest))?
            {
                self.surfaces.insert(digest.clone(), text);
            }
        }
        Ok(())
    }

    /// Whether a declaration is approved as it stands, and its program found where it was; a
    /// pinned one also holds what it held.
    #[must_use]
    pub fn check(
        &self,
        alias: &Alias,
        declaration: &Declaration,
        found: Option<&Program>,
    ) -> Approval {
        let now = canonical(declaration);
        let own = self.record(&now.digest());
        let pinned = own.filter(|_| !now.pin.is_empty());
        let found = found.map(|program| Found {
            path: &program.found,
            other_content: pinned.is_some_and(|record| record.is_of_another(program)),
        });
        // What lies along a stored `PATH` is granted, so another value is another server.
        if own.is_some_and(|record| record.search_path() != stored_path(declaration, record)) {
            return Approval::Changed {
                changed: vec![Word::Variables],
            };
        }
        check(&now, own, self.latest(alias), found.as_ref())
    }

    /// Every line: which digest, under which alias.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (&Digest, &Alias)> {
        self.lines.iter().map(|line| (line.digest(), line.alias()))
    }
}

fn file_name(digest: &Digest) -> String {
    format!("{digest}.json")
}

/// The search path a declaration stores; where it stores none, the one that was recorded.
fn stored_path(declaration: &Declaration, record: &Record) -> Option<SearchPath> {
    match &declaration.server {
        Server::Stdio(stdio) if stdio.env.contains_key(&EnvName::path()) => {
            Some(facts::search_path_of(stdio))
        }
        _ => record.search_path(),
    }
}

#[cfg(test)]
#[path = "approvals_tests.rs"]
mod tests;
