//! Where receipts go: kept in the state directory, and to a file or descriptor of the caller's.
//!
//! `receipts/<first 16 digits of the digest>/<run>.json`, mode 0600, the last twenty of each
//! declaration. What the caller names is opened before the server starts, so that no server
//! leads a write elsewhere, and that a run which could not be recorded does not begin.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, renameat};
use nix::sys::stat::{Mode, SFlag, fchmod, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use serde::Serialize;

use super::by_run::{Kept, Kind};
use super::run_id::RunId;
use super::{Explanation, LaunchError, descriptor};
use crate::confine::receipt::{Receipt, Started};
use crate::declaration::Digest;
use crate::declaration::store::State;
use crate::plan::Source;
use crate::text;

const RECEIPTS: Kind = Kind {
    folder: "receipts",
    suffix: ".json",
    kept: 20,
};
const SCHEMA: &str = "supervisor.receipt.v1";
/// How long a descriptor's reader is waited for: the host may be waiting for our end.
const PATIENCE: Duration = Duration::from_millis(50);

/// Where the receipt of one run goes besides the state directory.
#[derive(Debug, Default)]
pub(crate) struct Named {
    file: Option<Place>,
    descriptor: Option<OwnedFd>,
}

/// A name in a directory that is held.
#[derive(Debug)]
struct Place {
    directory: OwnedFd,
    name: PathBuf,
    path: PathBuf,
}

impl Named {
    /// Opens what the caller named. To be called before anything else is opened.
    ///
    /// # Errors
    /// [`LaunchError::Receipt`]: there is no such directory, something else than a file stands
    /// there, the descriptor is not open.
    pub(crate) fn open(file: Option<&Path>, number: Option<RawFd>) -> Result<Self, LaunchError> {
        let descriptor = number
            .map(|number| {
                descriptor::take(number).map_err(|source| LaunchError::Receipt {
                    place: format!("--receipt-fd {number}"),
                    source,
                })
            })
            .transpose()?;
        let file = file
            .map(|path| {
                Place::open(path).map_err(|source| LaunchError::Receipt {
                    place: format!("--receipt {}", text::path(path)),
                    source,
                })
            })
            .transpose()?;
        Ok(Self { file, descriptor })
    }

    /// Writes the receipt to them.
    ///
    /// # Errors
    /// What the system says, with the place.
    pub(crate) fn write(&self, receipt: &Receipt) -> Result<(), LaunchError> {
        if self.file.is_none() && self.descriptor.is_none() {
            return Ok(());
        }
        let failed = |place: String| move |source| LaunchError::Receipt { place, source };
        let text = to_text(receipt).map_err(io::Error::other);
        let text = text.map_err(failed("the receipt".to_owned()))?;
        if let Some(place) = &self.file {
            let named = format!("--receipt {}", text::path(&place.path));
            place
                .write(receipt.run, text.as_bytes())
                .map_err(failed(named))?;
        }
        if let Some(fd) = &self.descriptor {
            descriptor::write(fd.as_fd(), text.as_bytes(), Instant::now() + PATIENCE)
                .map_err(failed("--receipt-fd".to_owned()))?;
        }
        Ok(())
    }
}

impl Place {
    fn open(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(ErrorKind::IsADirectory)?;
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let directory = nix::fcntl::open(parent, flags, Mode::empty())?;
        // A link is replaced, not followed; a device or FIFO is not.
        match fstatat(&directory, name, nix::fcntl::AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(stat)
                if ![SFlag::S_IFREG, SFlag::S_IFLNK]
                    .contains(&(SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT)) =>
            {
                return Err(io::Error::other(
                    "something stands there that is no regular file (--receipt-fd takes a descriptor)",
                ));
            }
            Ok(_) | Err(Errno::ENOENT) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(Self {
            directory,
            name: name.into(),
            path: path.to_owned(),
        })
    }

    /// Whole or not at all for every reader, mode 0600. The disk is not waited for: a host waits
    /// for our end, and after a power cut the last receipt may be missing or empty.
    fn write(&self, run: RunId, bytes: &[u8]) -> io::Result<()> {
        let fresh = format!(".receipt-{run}.new");
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
        let private = Mode::S_IRUSR | Mode::S_IWUSR;
        let mut file = File::from(openat(&self.directory, fresh.as_str(), flags, private)?);
        let mut put = || -> io::Result<()> {
            // Whatever the caller's umask takes away.
            fchmod(&file, private)?;
            file.write_all(bytes)?;
            renameat(&self.directory, fresh.as_str(), &self.directory, &self.name)?;
            Ok(())
        };
        put().inspect_err(|_| {
            // Half written; the error matters more.
            let _ = unlinkat(&self.directory, fresh.as_str(), UnlinkatFlags::NoRemoveDir);
        })
    }
}

/// The text of a receipt: every character prints.
fn to_text(receipt: &Receipt) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Object<'a> {
        schema: &'static str,
        #[serde(flatten)]
        receipt: &'a Receipt,
    }
    let object = Object {
        schema: SCHEMA,
        receipt,
    };
    serde_json::to_string_pretty(&object).map(|text| text::json(&text) + "\n")
}

/// Reads a text of [`to_text`].
fn from_text(text: &str) -> Result<Receipt, String> {
    let mut object: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    if object.remove("schema") != Some(SCHEMA.into()) {
        return Err(format!("it is no {SCHEMA}"));
    }
    serde_json::from_value(object.into()).map_err(|error| error.to_string())
}

/// What is known of a run of what was explained, which begins now.
pub(crate) fn started(run: RunId, explanation: &Explanation, now: Timestamp) -> Started {
    let plan = &explanation.plan;
    Started {
        run,
        alias: explanation.alias.clone(),
        digest: explanation.digest.clone(),
        program: explanation.program.clone(),
        started: now,
        kernel: rustix::system::uname()
            .release()
            .to_string_lossy()
            .into_owned(),
        landlock_abi: explanation.lowered.landlock.abi,
        planned: explanation.confinement.promises.clone(),
        limits: plan.limits,
        variables: plan
            .variables
            .iter()
            .filter(|variable| variable.source != Source::Unset)
            .map(|variable| variable.name.clone())
            .collect(),
        reported: None,
    }
}

fn failed(state: &Path, source: io::Error) -> LaunchError {
    let place = text::path(&state.join(RECEIPTS.folder));
    LaunchError::Receipt { place, source }
}

/// Keeps a receipt in the state directory, in the place of the oldest of its declaration.
///
/// # Errors
/// The directory or a file in it cannot be trusted or written.
pub(crate) fn keep(state: &State, receipt: &Receipt) -> Result<(), LaunchError> {
    let text = to_text(receipt).map_err(|error| failed(state.path(), error.into()))?;
    let kept = RECEIPTS.keep(state, (&receipt.digest, receipt.run), &text);
    kept.map_err(|error| failed(state.path(), io::Error::other(error)))
}

/// The receipts of a declaration, the latest first, and those that cannot be read, in words.
pub(crate) fn read(state: &State, digest: &Digest) -> (Vec<Receipt>, Vec<String>) {
    let (mut receipts, mut problems) = (Vec::new(), Vec::new());
    let last = match RECEIPTS.last(state, digest) {
        Ok(last) => last,
        Err(error) => return (receipts, vec![error.to_string()]),
    };
    for Kept { run, path, text } in last {
        match text {
            // Its content did not reach the disk before the power went.
            Ok(text) if text.bytes().all(|byte| byte == 0) => {}
            Ok(text) => match from_text(&text) {
                // Nor did that of one that holds what its file held before.
                Ok(receipt) if receipt.run != run => {}
                Ok(receipt) => receipts.push(receipt),
                Err(why) => problems.push(format!("{path} is no receipt: {why}")),
            },
            Err(error) => problems.push(error.to_string()),
        }
    }
    (receipts, problems)
}

#[cfg(test)]
#[path = "receipts_tests.rs"]
#[expect(clippy::disallowed_methods, reason = "looks at what was written")]
mod tests;
