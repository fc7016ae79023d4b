//! What a program's file is known again by: its content, and the fields that change with it.
#![expect(
    clippy::disallowed_methods,
    reason = "asked by `program`: opens programs, without waiting on what is none"
)]

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::libc;
use nix::sys::stat::FileStat;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::PlanError;
use crate::text;

/// What a file is known by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Identity {
    /// SHA-256 of its content, in lower-case hex.
    pub(crate) sha256: String,
    /// The fields that tell cheaply whether it may have changed.
    pub(crate) stat: Stat,
}

/// The fields of stat(2) that change with a file. Times are nanoseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stat {
    /// The file system.
    pub(crate) dev: u64,
    /// Its number there.
    pub(crate) ino: u64,
    /// Bytes.
    pub(crate) size: u64,
    /// When its content changed.
    pub(crate) mtime: i64,
    /// When anything of it changed.
    pub(crate) ctime: i64,
}

impl Stat {
    /// The fields of a file that was asked through `nix`.
    #[must_use]
    #[allow(
        clippy::useless_conversion,
        clippy::unnecessary_fallible_conversions,
        reason = "the widths differ between systems"
    )]
    pub(crate) fn of(stat: &FileStat) -> Self {
        Self {
            dev: u64::try_from(stat.st_dev).unwrap_or(u64::MAX),
            ino: u64::from(stat.st_ino),
            size: u64::try_from(stat.st_size).unwrap_or(u64::MAX),
            mtime: nanoseconds(i64::from(stat.st_mtime), i64::from(stat.st_mtime_nsec)),
            ctime: nanoseconds(i64::from(stat.st_ctime), i64::from(stat.st_ctime_nsec)),
        }
    }

    pub(crate) fn of_metadata(metadata: &Metadata) -> Self {
        Self {
            dev: metadata.dev(),
            ino: metadata.ino(),
            size: metadata.size(),
            mtime: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            ctime: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl Stat {
    /// Whether it is the same file, whatever it holds.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        (self.dev, self.ino) == (other.dev, other.ino)
    }
}

/// Good to the year 2262; beyond it every time is the same.
fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

/// The content and the fields of a regular file; never waits on a FIFO or device.
///
/// # Errors
/// As [`super::program::find`]; it changed while it was read.
pub(crate) fn identity(path: &Path) -> Result<Identity, PlanError> {
    let look = |source| PlanError::Look {
        path: path.display().to_string(),
        source,
    };
    let (mut file, before) = open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => hash.update(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(look(error)),
        }
    }
    let stat = Stat::of_metadata(&file.metadata().map_err(look)?);
    if stat != Stat::of_metadata(&before) {
        return Err(changed(path));
    }
    let sha256 = text::hex(&hash.finalize());
    Ok(Identity { sha256, stat })
}

/// It is not what it was a moment ago: refused, as it would be right before the exec.
pub(super) fn changed(path: &Path) -> PlanError {
    PlanError::ProgramUnusable {
        path: path.to_owned(),
        why: "it changed while it was looked at",
    }
}

/// The fields alone.
#[cfg(test)]
pub(crate) fn stat_only(path: &Path) -> Result<Stat, PlanError> {
    open(path).map(|(_, metadata)| Stat::of_metadata(&metadata))
}

/// Opens a regular file to read it; anything else is refused without being opened, since to
/// open a device may do something and to open a FIFO may wait.
///
/// # Errors
/// [`PlanError::ProgramNotFound`]; [`PlanError::ProgramUnusable`] where it is no regular file or
/// may not be read; [`PlanError::Look`].
pub(crate) fn open(path: &Path) -> Result<(File, Metadata), PlanError> {
    let regular = |metadata: &Metadata| match kind(metadata) {
        None => Ok(()),
        Some(why) => Err(PlanError::ProgramUnusable {
            path: path.to_owned(),
            why,
        }),
    };
    regular(&fs::metadata(path).map_err(|error| cannot(path, error))?)?;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY)
        .open(path)
        .map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => PlanError::ProgramUnusable {
                path: path.to_owned(),
                why: "it may not be read, so that it could not be known again",
            },
            _ => cannot(path, error),
        })?;
    let metadata = file.metadata().map_err(|error| cannot(path, error))?;
    regular(&metadata)?;
    Ok((file, metadata))
}

fn kind(metadata: &Metadata) -> Option<&'static str> {
    let kind = metadata.file_type();
    if kind.is_file() {
        None
    } else if kind.is_dir() {
        Some("it is a directory")
    } else if kind.is_fifo() {
        Some("it is a FIFO")
    } else if kind.is_char_device() || kind.is_block_device() {
        Some("it is a device")
    } else {
        Some("it is no regular file")
    }
}

pub(crate) fn cannot(path: &Path, error: io::Error) -> PlanError {
    let unusable = |why| PlanError::ProgramUnusable {
        path: path.to_owned(),
        why,
    };
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => PlanError::ProgramNotFound {
            program: path.display().to_string(),
        },
        ErrorKind::PermissionDenied => unusable("a directory above it may not be searched"),
        _ if error.raw_os_error() == Some(libc::ELOOP) => unusable("its links lead in a circle"),
        _ => PlanError::Look {
            path: path.display().to_string(),
            source: error,
        },
    }
}
