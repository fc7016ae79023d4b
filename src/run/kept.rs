//! What outlives a run beside the log: the breaker, and how the server takes `server/discover`.
//!
//! A file each in the state directory, by the digest of the declaration; written whole, under the
//! lock of its folder, so that two runs of one server count together.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::RunError;
use crate::declaration::Digest;
use crate::declaration::file::Folder;
use crate::declaration::store::State;
use crate::relay::{Breaker, Discover, Verdict};

/// The version of both files.
const VERSION: u32 = 1;
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

/// `era/<first 16 digits of the digest>`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EraFile {
    version: u32,
    digest: Digest,
    discover: Discover,
    seen: Timestamp,
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
        let found = read::<BreakerFile>(&self.breakers, self.digest.as_str())?;
        let Some(file) = found else {
            return Ok(Breaker::default());
        };
        self.check(
            &self.breakers,
            self.digest.as_str(),
            file.version,
            &file.digest,
        )?;
        Ok(file.breaker)
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
        locked.write(self.digest.as_str(), &text(&file)?)?;
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
        let Some(file) = read::<EraFile>(&self.eras, self.era_name())? else {
            return Ok(None);
        };
        self.check(&self.eras, self.era_name(), file.version, &file.digest)?;
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
        Ok(locked.write(self.era_name(), &text(&file)?)?)
    }

    fn check(
        &self,
        folder: &Folder,
        name: &str,
        version: u32,
        of: &Digest,
    ) -> Result<(), RunError> {
        let problem = if version != VERSION {
            format!("its version is {version}")
        } else if *of != self.digest {
            "it is another declaration's".to_owned()
        } else {
            return Ok(());
        };
        let path = folder.path().join(name);
        Err(RunError::Unreadable { path, problem })
    }
}

fn read<T: DeserializeOwned>(folder: &Folder, name: &str) -> Result<Option<T>, RunError> {
    let Some(text) = folder.read(name)? else {
        return Ok(None);
    };
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|error| RunError::Unreadable {
            path: folder.path().join(name),
            problem: error.to_string(),
        })
}

fn text(value: &impl Serialize) -> Result<String, RunError> {
    Ok(serde_json::to_string(value)? + "\n")
}

#[cfg(test)]
#[path = "kept_tests.rs"]
mod tests;
