//! Free space on the disks that a server may write to.
//!
//! A disk that runs low while a server runs is no proof against it: others write too, and what
//! they write must not end it. So its own directories are gone through then, and what was changed
//! since its start, with the files it holds that have no name any more, is weighed against what the
//! disk lost.
#![expect(
    clippy::disallowed_methods,
    reason = "goes through what a server may write to"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::sys::statvfs::statvfs;
use tokio::time::Instant;

use super::super::processes;
use crate::relay::Over;

/// What is to stay free of a disk: so much, or this part of it where that is less.
const FLOOR: u64 = 1 << 30;
const PART: u64 = 20;
/// Entries that are gone through. Where there are more it cannot be told whose they are, and the
/// server is stopped.
const ENTRIES: usize = 200_000;
/// From one going through to the next.
const AGAIN: Duration = Duration::from_secs(5);
/// Times of files may lie a little behind the clock.
const LAG: i64 = 2;

/// The disks of one run.
#[derive(Debug)]
pub(super) struct Disks {
    disks: Vec<Disk>,
    since: i64,
    next: Instant,
}

#[derive(Debug)]
struct Disk {
    /// The directories on it that the server may write to.
    places: Vec<PathBuf>,
    device: u64,
    /// What was free at the start.
    free: u64,
    floor: u64,
}

impl Disks {
    /// The disks of these directories.
    ///
    /// # Errors
    /// One cannot be looked at.
    pub(super) fn of<'a>(places: impl Iterator<Item = &'a Path>) -> io::Result<Self> {
        let mut disks: Vec<Disk> = Vec::new();
        for place in places {
            let device = fs::metadata(place)?.dev();
            match disks.iter_mut().find(|disk| disk.device == device) {
                Some(disk) => disk.places.push(place.to_owned()),
                None => {
                    let (free, all) = space(place)?;
                    disks.push(Disk {
                        places: vec![place.to_owned()],
                        device,
                        free,
                        floor: FLOOR.min(all.checked_div(PART).unwrap_or(0)),
                    });
                }
            }
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let seconds = now.map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(i64::MAX));
        Ok(Self {
            disks,
            since: seconds.saturating_sub(LAG),
            next: Instant::now(),
        })
    }

    /// Directories on disks that were low before the server started, with what is free there:
    /// it cannot be told who fills those.
    pub(super) fn low(&self) -> impl Iterator<Item = (&Path, u64)> {
        self.disks
            .iter()
            .filter(|disk| disk.was_low())
            .filter_map(|disk| Some((disk.places.first()?.as_path(), disk.free)))
    }

    /// What was free above the floor of the fullest disk before the server started.
    pub(super) fn left_before(&self) -> u64 {
        let watched = self.disks.iter().filter(|disk| !disk.was_low());
        let left = watched.map(|disk| disk.free.saturating_sub(disk.floor));
        left.min().unwrap_or(u64::MAX)
    }

    /// What is free above the floor of the fullest disk; the word where the server filled one.
    pub(super) fn look(&mut self, root: u32) -> io::Result<(u64, Option<Over>)> {
        let mut left = u64::MAX;
        for disk in self.disks.iter().filter(|disk| !disk.was_low()) {
            let Some(place) = disk.places.first() else {
                continue;
            };
            let (free, _) = space(place)?;
            left = left.min(free.saturating_sub(disk.floor));
            if free >= disk.floor || Instant::now() < self.next {
                continue;
            }
            let written = disk.written(self.since, root);
            self.next = Instant::now() + AGAIN;
            if filled(disk.free.saturating_sub(free), written) {
                let floor = disk.floor;
                return Ok((0, Some(Over::Disk { free, floor })));
            }
        }
        Ok((left, None))
    }
}

/// Whether who wrote so much filled a disk that lost so much. `None`: it cannot be told.
fn filled(lost: u64, written: Option<u64>) -> bool {
    written.is_none_or(|written| written >= lost >> 1)
}

impl Disk {
    fn was_low(&self) -> bool {
        self.free < self.floor
    }

    /// What the server's files take up here that were changed since a time, and those that it
    /// holds without a name. `None`: there are too many.
    fn written(&self, since: i64, root: u32) -> Option<u64> {
        let mut files: BTreeMap<u64, u64> = BTreeMap::new();
        let mut entries = 0_usize;
        let mut waiting = self.places.clone();
        while let Some(directory) = waiting.pop() {
            // What a server has closed to its owner has no place to hide much in: it is counted
            // where it can be read.
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                entries = entries.saturating_add(1);
                if entries > ENTRIES {
                    return None;
                }
                let Ok(found) = entry.metadata() else {
                    continue;
                };
                if found.dev() != self.device {
                    continue;
                }
                if found.is_dir() {
                    waiting.push(entry.path());
                }
                if found.ctime() >= since {
                    files.insert(found.ino(), found.blocks().saturating_mul(512));
                }
            }
        }
        for process in processes::below(root).unwrap_or_default() {
            let held = processes::held(process).unwrap_or_default();
            let here = held
                .iter()
                .filter(|file| file.nameless && file.id.0 == self.device);
            files.extend(here.map(|file| (file.id.1, file.bytes)));
        }
        Some(
            files
                .values()
                .fold(0, |sum, bytes| sum.saturating_add(*bytes)),
        )
    }
}

/// What is free at a place, and how much there is in all; bytes.
fn space(place: &Path) -> io::Result<(u64, u64)> {
    let found = statvfs(place)?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.fragment_size());
    Ok((bytes(found.blocks_available()), bytes(found.blocks())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_wrote_half_of_it_filled_it() {
        assert!(filled(100, Some(50)));
        assert!(!filled(100, Some(49)));
        assert!(filled(100, None));
        assert!(filled(0, Some(0)));
    }

    #[tokio::test]
    async fn what_was_written_since_the_start_is_told_from_what_was_there() {
        // In memory: what others write to the disk of the tests is not counted here.
        let base = tempfile::tempdir_in("/dev/shm").unwrap();
        let (home, dir) = (base.path().join("home"), base.path().join("dir"));
        fs::create_dir_all(home.join("a/b")).unwrap();
        fs::create_dir_all(&dir).unwrap();
        let mut disks = Disks::of([home.as_path(), dir.as_path()].into_iter()).unwrap();
        assert_eq!(disks.disks.len(), 1, "one disk, two places");
        fs::write(home.join("a/b/file"), vec![1; 1 << 20]).unwrap();
        fs::write(dir.join("file"), vec![1; 1 << 20]).unwrap();
        // A second name of it is not a second file.
        fs::hard_link(dir.join("file"), dir.join("again")).unwrap();
        let me = std::process::id();
        let disk = &disks.disks[0];
        let written = disk.written(disks.since, me).unwrap();
        assert!((2 << 20..3 << 20).contains(&written), "{written}");
        assert_eq!(disk.written(disks.since + 3_600, me), Some(0));
        // Below the floor, and not by what they wrote.
        disks.disks[0].free = u64::MAX;
        disks.disks[0].floor = u64::MAX - 1;
        assert_eq!(disks.look(me).unwrap(), (0, None), "they wrote 2 MiB of it");
        // Not gone through again at once, and then: theirs.
        let (free, _) = space(&home).unwrap();
        let floor = free + (1 << 20);
        (disks.disks[0].free, disks.disks[0].floor) = (floor, floor);
        assert_eq!(disks.look(me).unwrap().1, None);
        disks.next = Instant::now();
        let over = disks.look(me).unwrap().1;
        assert!(
            matches!(over, Some(Over::Disk { floor: of, .. }) if of == floor),
            "{over:?}"
        );
    }

    #[tokio::test]
    async fn a_disk_that_was_low_before_is_named_and_not_watched() {
        let base = tempfile::tempdir().unwrap();
        let mut disks = Disks::of([base.path()].into_iter()).unwrap();
        assert_eq!(disks.low().count(), 0);
        disks.disks[0].floor = u64::MAX;
        assert_eq!(disks.low().next().unwrap().0, base.path());
        assert_eq!(disks.look(1).unwrap(), (u64::MAX, None));
    }
}
