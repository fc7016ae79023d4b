//! The names of the log's files, and how `head` is written and read.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

#[cfg(not(target_os = "linux"))]
use nix::sys::stat::fstat;
#[cfg(target_os = "linux")]
use rustix::fs::{AtFlags, StatxFlags, statx};

use super::error::AuditError;
use super::verify::Head;
use crate::declaration::file::Folder;

pub(super) const FOLDER: &str = "audit";
pub(super) const HEAD: &str = "head";
/// Bytes that `head` always has: it is written over in place.
const HEAD_BYTES: usize = 256;

/// The name of a file by its number.
pub(super) fn name(file: u64) -> String {
    format!("{file:06}.jsonl")
}

/// The names of the files, from the oldest.
pub(super) fn files(folder: &Folder) -> Result<Vec<String>, AuditError> {
    let mut files: Vec<(u64, String)> = folder
        .names()?
        .into_iter()
        .filter_map(|name| Some((name.strip_suffix(".jsonl")?.parse().ok()?, name)))
        .collect();
    files.sort();
    Ok(files.into_iter().map(|(_, name)| name).collect())
}

/// The head: `None` of an empty file, `Some(None)` of one that says nothing.
pub(super) fn read_head(file: &File) -> io::Result<Option<Option<Head>>> {
    let mut bytes = [0; HEAD_BYTES];
    let mut count = 0;
    while let Some(room) = bytes.get_mut(count..).filter(|room| !room.is_empty()) {
        match file.read_at(room, u64::try_from(count).unwrap_or(u64::MAX)) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let text = bytes.get(..count).unwrap_or_default();
    Ok((count > 0).then(|| serde_json::from_slice(text).ok()))
}

/// Writes the head over what is there.
pub(super) fn write_head(file: &File, head: &Head) -> io::Result<()> {
    let mut text = serde_json::to_string(head)?;
    while text.len() < HEAD_BYTES - 1 {
        text.push(' ');
    }
    text.push('\n');
    file.write_all_at(text.as_bytes(), 0)
}

/// How long a file is that was not removed. The kernel is not asked for its times: it would have to
/// give the next write one of its own, and to write that down.
#[cfg(target_os = "linux")]
pub(super) fn length(file: &File) -> Option<u64> {
    let asked = StatxFlags::SIZE | StatxFlags::NLINK;
    let found = statx(file.as_fd(), "", AtFlags::EMPTY_PATH, asked).ok()?;
    (found.stx_nlink > 0).then_some(found.stx_size)
}

/// How long a file is that was not removed.
#[cfg(not(target_os = "linux"))]
pub(super) fn length(file: &File) -> Option<u64> {
    let stat = fstat(file.as_fd()).ok().filter(|stat| stat.st_nlink > 0)?;
    u64::try_from(stat.st_size).ok()
}
