//! What outlives a run beside the log: the breaker, and how the server takes `server/discover`.
//!
//! A file each in the state directory, by the digest of the declaration; written whole, under the
//! lock of its folder, so that two runs of one server count together.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::RunError;
use super::written::{self, OfDeclaration, VERSION};
use crate::declaration::Digest;
use crate::declaration::file::Folder;
use crate::declaration::store::State;
use crate::relay::{Breaker, Discover, Verdict};

/// What is known of a server is asked anew after so long: another version may be out.
const KNOWN: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How long another run that writes is waited for: messages stand still meanwhile.
const PATIENCE: Duration = Duration::from_millis(200);
/// Digits of the digest in the name of a file in `era`.
const SHORT: usize = 16;

/// `breaker/<digest>`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BreakerFile {
    version: u32,
    digest: Digest,
    breaker: Breaker,
}

impl OfDeclaration for BreakerFile {
    fn of(&self) -> (u32, &Digest) {
        (self.version, &self.digest)
    }
}

/// `era/<first 16 digits of the digest>`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EraFile {
    version: u32,
    digest: Digest,
    discover: Discover,
    seen: Timestamp,
}

impl OfDeclaration for EraFile {
    fn of(&self) -> (u32, &Digest) {
        (self.version, &self.digest)
    }
}

/// The records of one declaration.
#[derive(Debug)]
pub(crate) struct Kept {
    digest: Digest,
    breakers: Folder,
    eras: Folder,
}

impl Kept {
    /// Opens the folders, which are made where they are missing.
    ///
    /// # Errors
    /// A directory that cannot be trusted; the system said no.
    pub(crate) fn open(state: &State, digest: &Digest) -> Result<Self, RunError> {
        let made = state.make()?;
        Ok(Self {
            digest: digest.clone(),
            breakers: made.make("breaker")?,
            eras: made.make("era")?,
        })
    }

    /// The breaker as it stands.
    ///
    /// # Errors
    /// A file that cannot be trusted or read.
    pub(crate) fn breaker(&self) -> Result<Breaker, RunError> {
        let name = self.digest.as_str();
        let found: Option<BreakerFile> = written::read(&self.breakers, name, &self.digest)?;
        Ok(found.map_or_else(Breaker::default, |file| file.breaker))
    }

    /// The breaker after this, other runs of the same server counted in.
    ///
    /// # Errors
    /// As [`Kept::breaker`]; it cannot be written.
    pub(crate) fn turn(&self, verdict: Verdict, now: Timestamp) -> Result<Breaker, RunError> {
        let locked = self.breakers.lock_within(PATIENCE)?;
        let breaker = self.breaker()?.after(verdict, now);
        let file = BreakerFile {
            version: VERSION,
            digest: self.digest.clone(),
            breaker,
        };
        locked.write(self.digest.as_str(), &written::text(&file)?)?;
        Ok(breaker)
    }

    fn era_name(&self) -> &str {
        let digest = self.digest.as_str();
        digest.get(..SHORT).unwrap_or(digest)
    }

    /// What is known, where it is not too old.
    ///
    /// # Errors
    /// A file that cannot be trusted or read.
    pub(crate) fn discover(&self, now: Timestamp) -> Result<Option<Discover>, RunError> {
        let found: Option<EraFile> = written::read(&self.eras, self.era_name(), &self.digest)?;
        let Some(file) = found else {
            return Ok(None);
        };
        let age = now.duration_since(file.seen);
        Ok((age < KNOWN && !age.is_negative()).then_some(file.discover))
    }

    /// Keeps what was learnt.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn learn(&self, discover: Discover, now: Timestamp) -> Result<(), RunError> {
        let file = EraFile {
            version: VERSION,
            digest: self.digest.clone(),
            discover,
            seen: now,
        };
        let locked = self.eras.lock_within(PATIENCE)?;
        Ok(locked.write(self.era_name(), &written::text(&file)?)?)
    }
}

#[cfg(test)]
#[path = "kept_tests.rs"]
mod tests;
