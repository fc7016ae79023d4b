//! What a start read of a program that was installed anew since its approval, so that the next start
//! compares fields and reads nothing.
//!
//! A file in the state directory, by the digest of the declaration: trusted as the approval is, whose
//! record says the same of the program as it was then. Nothing that is pinned, or that the
//! administrator's rules name by its content, is known from here.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::approval::Record;
use crate::confine::receipt::Ran;
use crate::declaration::Digest;
use crate::declaration::store::State;
use crate::error::Error;
use crate::plan::program::{Identity, Program};
use crate::run::RunError;
use crate::run::written::{self, OfDeclaration, VERSION};

/// The folder of the state directory.
const FOLDER: &str = "content";
/// A file that was changed a moment ago may be changed again without another time to show for it.
const AT_REST: SignedDuration = SignedDuration::from_secs(2);

/// `content/<first 16 digits of the digest>.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ContentFile {
    version: u32,
    digest: Digest,
    program: Identity,
}

impl OfDeclaration for ContentFile {
    fn of(&self) -> (u32, &Digest) {
        (self.version, &self.digest)
    }
}

fn name(digest: &Digest) -> String {
    format!("{}.json", digest.first_16())
}

/// The program found, beside the one of the approval, and what is worth keeping of it. What an
/// earlier start read is asked for only where the approval does not know the program's fields.
///
/// # Errors
/// The program cannot be read, or changes meanwhile; what was kept of it cannot be trusted.
pub(super) fn ran(
    state: &State,
    digest: &Digest,
    record: Option<&Record>,
    found: &Program,
) -> Result<(Ran, Option<Identity>), Error> {
    let mut ran = Ran {
        found: found.found.clone(),
        resolved: found.resolved.clone(),
        sha256: None,
        differs: None,
    };
    let Some(record) = record else {
        return Ok((ran, None));
    };
    let read = match record.knows(found) {
        true => None,
        false => read(state, digest)?,
    };
    let content = record.compare(found, read.as_ref())?;
    (ran.sha256, ran.differs) = (Some(content.sha256), content.differs);
    Ok((ran, record.worth_keeping(found).cloned()))
}

/// What an earlier start read, if one did.
///
/// # Errors
/// A file that cannot be trusted or read, or is another declaration's.
fn read(state: &State, digest: &Digest) -> Result<Option<Identity>, RunError> {
    let Some(folder) = state.folder() else {
        return Ok(None);
    };
    let Some(folder) = folder.folder(FOLDER, false)? else {
        return Ok(None);
    };
    let file: Option<ContentFile> = written::read(&folder, &name(digest), digest)?;
    Ok(file.map(|file| file.program))
}

/// Keeps what this start read, once the file is at rest.
///
/// # Errors
/// It cannot be written.
pub(crate) fn keep(state: &State, digest: &Digest, read: Identity) -> Result<(), RunError> {
    let changed = Timestamp::from_nanosecond(read.stat.ctime.into()).unwrap_or(Timestamp::MAX);
    if now().duration_since(changed) < AT_REST {
        return Ok(());
    }
    let text = written::text(&ContentFile {
        version: VERSION,
        digest: digest.clone(),
        program: read,
    })?;
    let locked = state.make()?.lock()?;
    Ok(locked.write_in(FOLDER, &name(digest), &text)?)
}

#[expect(clippy::disallowed_methods, reason = "how long ago a file was changed")]
fn now() -> Timestamp {
    Timestamp::now()
}
