//! The names of the log's files, and how `head` is written and read.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

#[cfg(not(target_os = "linux"))]
use nix::sys::stat::fstat;
#[cfg(target_os = "linux")]
use rustix::fs::{AtFlags, StatxFlags, statx};

use super::error::AuditError;
use super::event::Line;
use super::verify::Head;
use crate::declaration::file::Folder;

pub(super) const FOLDER: &str = "audit";
pub(super) const HEAD: &str = "head";
/// More than any line is long.
pub(super) const LONGEST: u64 = 1 << 20;
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

/// Removes the oldest files beyond those that are kept; where the log begins then is in the head
/// before.
pub(super) fn drop_oldest(
    folder: &Folder,
    kept: usize,
    (locked, head): (&File, &mut Head),
) -> Result<(), AuditError> {
    let failed = |name: &str| {
        let path = folder.path().join(name);
        move |source| AuditError::Write { path, source }
    };
    let files = files(folder)?;
    let over = files.len().saturating_sub(kept);
    for (name, next) in files.iter().zip(files.iter().skip(1)).take(over) {
        let first = first_line(folder.open_to_read(next)?).map_err(failed(next))?;
        // Where the log begins then must be known, or it would seem to have been cut: what
        // was damaged stays, for `audit verify` to name.
        let Ok(line) = serde_json::from_slice::<Line>(&first) else {
            return Ok(());
        };
        head.first = line.seq;
        write_head(locked, head).map_err(failed(HEAD))?;
        folder.remove(name)?;
    }
    Ok(())
}

/// The first line of a file, which is as long as eight thousand of them.
fn first_line(file: Option<File>) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    if let Some(file) = file {
        BufReader::new(file.take(LONGEST)).read_until(b'\n', &mut line)?;
    }
    Ok(line)
}
