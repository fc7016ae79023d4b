//! The log as a person reads it: from the oldest line, further on, or all of it to be verified.
//!
//! Only reads. A line that is being written has no end yet, and is passed over until it has.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::thread::sleep;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::error::AuditError;
use super::event::Line;
use super::files::{FOLDER, HEAD, files, read_head};
use super::log::LAST_TRIES;
use super::verify::{Damage, Head, Look};
use crate::declaration::file::Folder;
use crate::declaration::store::State;

/// A reader.
#[derive(Debug)]
pub struct Reader {
    state: State,
    /// What was read of the newest file.
    at: (String, u64),
}

impl Reader {
    /// The log of a state directory; there may be none yet.
    #[must_use]
    pub fn open(state: State) -> Self {
        Self {
            state,
            at: (String::new(), 0),
        }
    }

    fn folder(&self) -> Result<Option<Folder>, AuditError> {
        match self.state.folder() {
            Some(folder) => Ok(folder.folder(FOLDER, false)?),
            None => Ok(None),
        }
    }

    /// The lines since the last call, from the oldest, and how many could not be read.
    ///
    /// # Errors
    /// A file that cannot be trusted or read.
    pub fn lines(&mut self) -> Result<(Vec<Line>, usize), AuditError> {
        let (mut lines, mut unreadable) = (Vec::new(), 0);
        let Some(folder) = self.folder()? else {
            return Ok((lines, unreadable));
        };
        for name in files(&folder)? {
            if name.len() == self.at.0.len() && name < self.at.0 {
                continue;
            }
            let from = if name == self.at.0 { self.at.1 } else { 0 };
            let text = read_from(&folder, &name, from)?;
            let whole = text
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1);
            for line in text
                .get(..whole)
                .unwrap_or_default()
                .split(|byte| *byte == b'\n')
            {
                match serde_json::from_slice(line) {
                    Ok(line) => lines.push(line),
                    Err(_) if line.is_empty() => {}
                    Err(_) => unreadable += 1,
                }
            }
            let read = u64::try_from(whole).unwrap_or(u64::MAX);
            self.at = (name, from.saturating_add(read));
        }
        Ok((lines, unreadable))
    }

    /// Looks through the whole log.
    ///
    /// # Errors
    /// A file that cannot be trusted or read.
    pub fn verify(&self) -> Result<Look, AuditError> {
        let Some(folder) = self.folder()? else {
            return Ok(Look::new(Head::new()));
        };
        let head = read_locked_head(&folder)?;
        let files = files(&folder)?;
        let missing = head.is_none() && !files.is_empty();
        let mut look = Look::new(head.unwrap_or_else(Head::new));
        if missing {
            look.damage.push(Damage {
                file: HEAD.to_owned(),
                line: 0,
                what: "the file that says where the log ends is missing, or says nothing"
                    .to_owned(),
            });
            return Ok(look);
        }
        for name in &files {
            look.file(name, &read_from(&folder, name, 0)?);
        }
        look.end(files.last().map_or(HEAD, String::as_str));
        Ok(look)
    }
}

/// The head, read while nobody writes it; `None` where it is missing or says nothing.
fn read_locked_head(folder: &Folder) -> Result<Option<Head>, AuditError> {
    let path = folder.path().join(HEAD);
    let failed = |source| AuditError::Write {
        path: path.clone(),
        source,
    };
    for _ in 0..LAST_TRIES {
        let Some(file) = folder.open_to_read(HEAD)? else {
            return Ok(None);
        };
        match Flock::lock(file, FlockArg::LockSharedNonblock) {
            Ok(locked) => return Ok(read_head(&locked).map_err(failed)?.flatten()),
            Err((_, Errno::EWOULDBLOCK | Errno::EINTR)) => sleep(Duration::from_millis(1)),
            Err((_, errno)) => return Err(failed(errno.into())),
        }
    }
    Err(AuditError::Held { path })
}

/// The bytes of a file from a place on.
fn read_from(folder: &Folder, name: &str, from: u64) -> Result<Vec<u8>, AuditError> {
    let failed = |source| AuditError::Write {
        path: folder.path().join(name),
        source,
    };
    let mut bytes = Vec::new();
    if let Some(mut file) = folder.open_to_read(name)? {
        file.seek(SeekFrom::Start(from)).map_err(failed)?;
        file.read_to_end(&mut bytes).map_err(failed)?;
    }
    Ok(bytes)
}
