//! Approvals given, moved and forgotten, each under the lock and written before the declarations.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::super::line::Line;
use super::super::{ApprovalError, Record, surfaces};
use super::{Approvals, LIST, RECORDS, SURFACES, file_name};
use crate::declaration::change::ChangeError;
use crate::declaration::digest::canonical;
use crate::declaration::document::Declarations;
use crate::declaration::file::Locked;
use crate::declaration::store::{State, StoreError};
use crate::declaration::{Alias, Declaration, Digest};
use crate::error::Error;
use crate::plan::SearchPath;
use crate::plan::program::Program;
use crate::settings::{Change, Settings};
use crate::surface::Surface;

impl Approvals {
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

    /// Gives a declaration another alias, and its approvals and the rules for it with it.
    ///
    /// # Errors
    /// As [`Approvals::declare`]; settings that cannot be read; a name nothing is declared under, a new one that is taken.
    pub fn rename(state: &State, old: &Alias, new: &Alias) -> Result<(), Error> {
        state.update(|declarations, locked| {
            if declarations.find(new.as_str()).is_some() {
                return Err(ChangeError::Taken { alias: new.clone() }.into());
            }
            if !declarations.rename(old, new) {
                return Err(StoreError::unknown(declarations, old.as_str()).into());
            }
            // At no moment is there a server that a rule of the person's does not name any more.
            Settings::change_in(locked, &Change::Copy(old, new))?;
            let mut approvals = Self::read_in(locked.folder())?;
            let before = approvals.clone();
            for line in &mut approvals.lines {
                if line.alias() == old {
                    line.set_alias(new.clone());
                }
            }
            Ok::<_, Error>(approvals.save(&before, locked)?)
        })?;
        Settings::change(state, &Change::Drop(&|_, rule| rule.alias() == old))?;
        Ok(())
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
