//! The list `approved`, the records in `approvals/` and the surfaces in `surface/`: read, written
//! and forgotten under the lock of the state directory.
//!
//! A line approves nothing without a record, or a surface, that hashes to its digest.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{Approval, ApprovalError, Found, Record, Word, check, surfaces};
use crate::declaration::change::ChangeError;
use crate::declaration::digest::canonical;
use crate::declaration::document::Declarations;
use crate::declaration::file::{Folder, Locked};
use crate::declaration::store::{State, StoreError};
use crate::declaration::{Alias, Declaration, Digest, EnvName, Server, SurfaceDigest};
use crate::error::Error;
use crate::plan::program::Program;
use crate::plan::{SearchPath, facts};
use crate::surface::{Kind, Surface};

const LIST: &str = "approved";
const RECORDS: &str = "approvals";
const SURFACES: &str = "surface";

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    /// `server <digest> <alias>`.
    Server(Digest, Alias),
    /// `surface <digest> <surface digest> <alias>`.
    Surface(Digest, SurfaceDigest, Alias),
}

impl Line {
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        Some(match words.as_slice() {
            ["server", digest, alias] => Self::Server(digest.parse().ok()?, alias.parse().ok()?),
            ["surface", digest, surface, alias] => Self::Surface(
                digest.parse().ok()?,
                surface.parse().ok()?,
                alias.parse().ok()?,
            ),
            _ => return None,
        })
    }

    fn to_text(&self) -> String {
        match self {
            Self::Server(digest, alias) => format!("server {digest} {alias}\n"),
            Self::Surface(digest, surface, alias) => {
                format!("surface {digest} {surface} {alias}\n")
            }
        }
    }

    fn digest(&self) -> &Digest {
        match self {
            Self::Server(digest, _) | Self::Surface(digest, _, _) => digest,
        }
    }

    fn alias(&self) -> &Alias {
        match self {
            Self::Server(_, alias) | Self::Surface(_, _, alias) => alias,
        }
    }

    fn set_alias(&mut self, new: Alias) {
        match self {
            Self::Server(_, alias) | Self::Surface(_, _, alias) => *alias = new,
        }
    }
}

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

    fn read_in(folder: &Folder) -> Result<Self, ApprovalError> {
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
        approvals.read_surfaces(folder)?;
        let Some(records) = folder.folder(RECORDS, false)? else {
            approvals.without_record = approvals
                .lines
                .iter()
                .map(|line| line.digest().clone())
                .collect();
            return Ok(approvals);
        };
        for digest in approvals.lines.iter().map(Line::digest) {
            let text = records.read(&file_name(digest))?;
            match text.and_then(|text| Record::parse(&text, digest)) {
                Some(record) => drop(approvals.records.insert(digest.clone(), record)),
                None => approvals.without_record.push(digest.clone()),
            }
        }
        Ok(approvals)
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
            .find_map(|line| self.surface_of(line))
    }

    /// The surface of a line, where its file is there and hashes to it.
    fn surface_of(&self, line: &Line) -> Option<Surface> {
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
            .find_map(|line| self.surface_of(line))
    }

    /// The names of the tools in all approved surfaces but those of an alias.
    #[must_use]
    pub fn tools_but_of(&self, alias: &Alias) -> Vec<String> {
        let mut names = Vec::new();
        for line in self.lines.iter().filter(|line| line.alias() != alias) {
            if let Some(surface) = self.surface_of(line) {
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
        let broken =
            |line: &&Line| matches!(line, Line::Surface(..)) && self.surface_of(line).is_none();
        let lines = self.lines.iter().filter(broken);
        lines.map(|line| line.digest().clone()).collect()
    }

    fn read_surfaces(&mut self, folder: &Folder) -> Result<(), ApprovalError> {
        let Some(inner) = folder.folder(SURFACES, false)? else {
            return Ok(());
        };
        for line in &self.lines {
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
            other_content: pinned.is_some_and(|record| record.differs(program).is_some()),
        });
        // What lies along a stored `PATH` is granted, so another value is another server.
        if own.is_some_and(|record| record.search_path() != stored_path(declaration, record)) {
            return Approval::Changed {
                changed: vec![Word::Variables],
            };
        }
        check(&now, own, self.latest(alias), found.as_ref())
    }

    /// Records the person's yes to a declaration, in place of earlier ones of its alias.
    ///
    /// # Errors
    /// As [`Record::of`]; a file that cannot be trusted; the system said no.
    pub fn approve(
        state: &State,
        alias: &Alias,
        declaration: &Declaration,
        path: &SearchPath,
        program: Option<&Program>,
        now: Timestamp,
    ) -> Result<Record, ApprovalError> {
        let record = Record::of(declaration, path, program, now)?;
        let digest = record.declaration().digest();
        state.update(|declarations, locked| {
            Self::forget(locked, alias, Some(&digest), |digest| {
                sharing(declarations, digest)
            })?;
            Self::write(locked, alias, &record)
        })?;
        Ok(record)
    }

    /// Records the person's yes to a surface, in place of an earlier one of the same digest.
    ///
    /// # Errors
    /// [`ApprovalError::NotTheServer`] where the server itself is not approved any more; a file
    /// that cannot be trusted; the system said no.
    pub fn approve_surface(
        state: &State,
        alias: &Alias,
        digest: &Digest,
        surface: &Surface,
    ) -> Result<(), ApprovalError> {
        let text = surfaces::to_text(digest, surface)?;
        state.update(|_, locked| {
            let mut approvals = Self::read_in(locked.folder())?;
            let before = approvals.clone();
            // Meanwhile another command may have declared something else.
            if approvals.record(digest).is_none() {
                let alias = alias.clone();
                return Err(ApprovalError::NotTheServer { alias });
            }
            locked.write_in(SURFACES, &file_name(digest), &text)?;
            let of_digest = |line: &Line| matches!(line, Line::Surface(of, _, _) if of == digest);
            let owner = approvals.lines.iter().find(|line| line.digest() == digest);
            let owner = owner.map_or(alias, Line::alias).clone();
            approvals.lines.retain(|line| !of_digest(line));
            let line = Line::Surface(digest.clone(), surface.digest(), owner);
            approvals.lines.push(line);
            approvals.save(&before, locked)
        })
    }

    /// Declares a server under an alias; an approval of what stood there goes, unless it is of
    /// the same digest or another alias shares it.
    ///
    /// # Errors
    /// A file that cannot be trusted; the system said no.
    pub fn declare(
        state: &State,
        alias: &Alias,
        declaration: &Declaration,
    ) -> Result<(), ApprovalError> {
        state.update(|declarations, locked| {
            let digest = canonical(declaration).digest();
            declarations.insert(alias, declaration.clone())?;
            // First, so that a command killed in between leaves a server nobody approved.
            Self::forget(locked, alias, Some(&digest), |digest| {
                sharing(declarations, digest)
            })
        })
    }

    /// Removes the entry of a name, usable or not, and its approvals, unless another alias
    /// shares them.
    ///
    /// # Errors
    /// As [`Approvals::declare`]; a name nothing is declared under.
    pub fn remove(state: &State, name: &str) -> Result<(), ApprovalError> {
        if state.read()?.find(name).is_none() {
            return Err(StoreError::unknown(&state.read()?, name).into());
        }
        state.update(|declarations, locked| {
            if !declarations.remove(name) {
                return Err(StoreError::unknown(declarations, name).into());
            }
            match name.parse::<Alias>() {
                Ok(alias) => {
                    Self::forget(locked, &alias, None, |digest| sharing(declarations, digest))
                }
                Err(_) => Ok(()),
            }
        })
    }

    /// Gives a declaration another alias, and its approvals with it.
    ///
    /// # Errors
    /// As [`Approvals::declare`]; a name nothing is declared under, a new one that is taken.
    pub fn rename(state: &State, old: &Alias, new: &Alias) -> Result<(), Error> {
        state.update(|declarations, locked| {
            if declarations.find(new.as_str()).is_some() {
                return Err(ChangeError::Taken { alias: new.clone() }.into());
            }
            if !declarations.rename(old, new) {
                return Err(StoreError::unknown(declarations, old.as_str()).into());
            }
            let mut approvals = Self::read_in(locked.folder())?;
            let before = approvals.clone();
            for line in &mut approvals.lines {
                if line.alias() == old {
                    line.set_alias(new.clone());
                }
            }
            Ok(approvals.save(&before, locked)?)
        })
    }

    /// Every line: which digest, under which alias.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (&Digest, &Alias)> {
        self.lines.iter().map(|line| (line.digest(), line.alias()))
    }

    /// Drops every line of these digests, and their records.
    ///
    /// # Errors
    /// A file that cannot be trusted; the system said no.
    pub(crate) fn drop_all(
        locked: &Locked<'_>,
        digests: &BTreeSet<Digest>,
    ) -> Result<(), ApprovalError> {
        let mut approvals = Self::read_in(locked.folder())?;
        let before = approvals.clone();
        approvals
            .lines
            .retain(|line| !digests.contains(line.digest()));
        approvals.save(&before, locked)?;
        for digest in digests {
            locked.remove_in(RECORDS, &file_name(digest))?;
        }
        Ok(())
    }

    /// Writes a record, then its line.
    fn write(locked: &Locked<'_>, alias: &Alias, record: &Record) -> Result<(), ApprovalError> {
        let mut approvals = Self::read_in(locked.folder())?;
        let before = approvals.clone();
        let digest = record.declaration().digest();
        locked.write_in(RECORDS, &file_name(&digest), &record.to_text()?)?;
        let line = Line::Server(digest, alias.clone());
        if !approvals.lines.contains(&line) {
            approvals.lines.push(line);
        }
        approvals.save(&before, locked)
    }

    /// Drops an alias's approvals but the one of `keep`. One that `other` names another alias
    /// for goes on under that alias.
    fn forget(
        locked: &Locked<'_>,
        alias: &Alias,
        keep: Option<&Digest>,
        other: impl Fn(&Digest) -> Option<Alias>,
    ) -> Result<(), ApprovalError> {
        let mut approvals = Self::read_in(locked.folder())?;
        let before = approvals.clone();
        approvals.lines.retain_mut(|line| {
            if line.alias() != alias || keep == Some(line.digest()) {
                return true;
            }
            let other = other(line.digest());
            if let Some(other) = other.clone() {
                line.set_alias(other);
            }
            other.is_some()
        });
        approvals.save(&before, locked)
    }

    /// Writes the list, then removes the records and surfaces that no line names any more.
    fn save(&self, before: &Self, locked: &Locked<'_>) -> Result<(), ApprovalError> {
        if self.lines != before.lines {
            locked.write(
                LIST,
                &self.lines.iter().map(Line::to_text).collect::<String>(),
            )?;
        }
        let named = |digest: &Digest| self.lines.iter().any(|line| line.digest() == digest);
        for digest in before
            .lines
            .iter()
            .map(Line::digest)
            .filter(|digest| !named(digest))
        {
            locked.remove_in(RECORDS, &file_name(digest))?;
            locked.remove_in(SURFACES, &file_name(digest))?;
        }
        Ok(())
    }
}

/// Another declaration of the same digest.
fn sharing(declarations: &Declarations, digest: &Digest) -> Option<Alias> {
    declarations.iter().find_map(|(name, entry)| {
        let same = canonical(entry.ok()?).digest() == *digest;
        if same { name.parse().ok() } else { None }
    })
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
