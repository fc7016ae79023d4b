//! The files of the log: `audit/000001.jsonl` and on, and `audit/head`, which says where it ends.
//!
//! Written by every run at once, each line under the lock on `head`. The lock is never waited for
//! long, since messages stand still meanwhile: what finds it held stays in a queue and goes with
//! the next event. The disk is not touched before the messages of a turn are on their way; all that
//! they were recorded with goes in one write. `head` follows a moment later, so that a line costs as
//! little as may be: what stands after it belongs to the log. Lines are appended without fsync, and
//! synced at the end of a run. What cannot be written whole is taken back and stays in the queue.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::error::AuditError;
use super::event::{Event, Line, Run};
use super::files::{FOLDER, HEAD, LONGEST, drop_oldest, length, name, read_head, write_head};
use super::line::{self, Lines};
use super::syncing::Syncing;
use super::verify::{Head, set_sha256};
use crate::declaration::file::Folder;
use crate::declaration::store::State;

/// A file of so many bytes is followed by another.
const ROTATE: u64 = 8 << 20;
/// What is kept of the room that lines are written in.
const ROOM: usize = 128 << 10;
/// How long `head` may say less than there is, while this is written.
const BEHIND: SignedDuration = SignedDuration::from_millis(100);
/// So many files are kept.
const KEPT: usize = 16;
/// Events that wait for the lock.
const QUEUE: usize = 1_024;
/// How often the lock is tried for one event, and at the end of a run; with a pause of 1 ms.
const TRIES: usize = 4;
pub(super) const LAST_TRIES: usize = 250;

/// The log as one run writes it.
#[derive(Debug)]
pub struct Log {
    folder: Folder,
    /// How its lines are written, and those that are about to be.
    form: Lines,
    lines: Vec<u8>,
    head: Flockable,
    file: Option<(u64, File)>,
    waiting: VecDeque<(Timestamp, Event)>,
    /// Where the log ended when this run wrote to it last.
    known: Option<Head>,
    /// Whether `head` says less than that.
    unsaid: bool,
    /// When it was last made to say all.
    said: Option<Timestamp>,
    rotate: u64,
}

/// `head`, to be locked time and again.
#[derive(Debug)]
struct Flockable(Option<File>);

/// The lock on `head`, and where the log ends, if nobody wrote to it since this run did.
struct Locked {
    head: Flock<File>,
    known: Option<Head>,
}

impl Log {
    /// Opens the log of a state directory, which is made where it is missing.
    ///
    /// # Errors
    /// A file or directory that cannot be trusted; the system said no.
    pub fn open(state: &State, run: Run) -> Result<Self, AuditError> {
        let folder = state.make()?.make(FOLDER)?;
        Ok(Self {
            folder,
            form: Lines::of(&run)?,
            lines: Vec::new(),
            head: Flockable(None),
            file: None,
            waiting: VecDeque::new(),
            known: None,
            unsaid: false,
            said: None,
            rotate: ROTATE,
        })
    }

    /// Takes an event up; [`Log::write`] writes it.
    ///
    /// # Errors
    /// It is lost: the system said no, or too much waits for the lock.
    pub fn record(&mut self, event: Event, time: Timestamp) -> Result<(), AuditError> {
        if self.waiting.len() >= QUEUE {
            self.write(time)?;
        }
        if self.waiting.len() >= QUEUE {
            return Err(AuditError::Held {
                path: self.path(HEAD),
            });
        }
        self.waiting.push_back((time, event));
        Ok(())
    }

    /// Appends what was taken up, unless others hold the log for longer than a moment; and says so
    /// in `head`, where that was not done for a while.
    ///
    /// # Errors
    /// The system said no; it still waits.
    pub fn write(&mut self, now: Timestamp) -> Result<(), AuditError> {
        // The clock may have been set back.
        let recent = |said: Timestamp| now.duration_since(said).abs() < BEHIND;
        let say = !self.said.is_some_and(recent);
        if self.waiting.is_empty() && !(say && self.unsaid) {
            return Ok(());
        }
        self.write_within(TRIES, say)?;
        if say && !self.unsaid {
            self.said = Some(now);
        }
        Ok(())
    }

    /// Writes what waits and has it reach the disk.
    ///
    /// # Errors
    /// As [`Log::record`].
    pub fn close(self) -> Result<(), AuditError> {
        self.end()?.synced()
    }

    /// Writes what waits, and begins to have it reach the disk, beside what the caller does.
    ///
    /// # Errors
    /// As [`Log::record`].
    pub fn end(mut self) -> Result<Syncing, AuditError> {
        self.write_within(LAST_TRIES, true)?;
        if !self.waiting.is_empty() || self.unsaid {
            return Err(AuditError::Held {
                path: self.path(HEAD),
            });
        }
        Ok(match self.file.take() {
            Some((number, file)) => Syncing::begin(self.path(&name(number)), file),
            None => Syncing::nothing(),
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn failed(&self, name: &str, source: io::Error) -> AuditError {
        let path = self.path(name);
        AuditError::Write { path, source }
    }

    /// Writes all that waits and, if asked to, where the log ends then; if the lock can be had.
    fn write_within(&mut self, tries: usize, say: bool) -> Result<(), AuditError> {
        let Some(Locked { head, known }) = self.lock(tries, say)? else {
            return Ok(());
        };
        let done = self.append(&head, known, say);
        let unlocked = head.unlock();
        self.head.0 = Some(unlocked.map_err(|(_, errno)| self.failed(HEAD, errno.into()))?);
        done
    }

    fn lock(&mut self, tries: usize, say: bool) -> Result<Option<Locked>, AuditError> {
        for attempt in 0..tries {
            let held = match self.head.0.take() {
                Some(file) => file,
                None => self.folder.open_to_write(HEAD, false)?,
            };
            match Flock::lock(held, FlockArg::LockExclusiveNonblock) {
                Ok(lock) => {
                    let known = self.unchanged();
                    // Removed meanwhile, with all the log: the next one is made anew. Nobody can have
                    // locked that without writing to the file, so that one look tells mostly.
                    if (known.is_some() && !say) || length(&lock).is_some() {
                        return Ok(Some(Locked { head: lock, known }));
                    }
                    (self.file, self.known) = (None, None);
                }
                Err((file, Errno::EWOULDBLOCK | Errno::EINTR)) => {
                    self.head.0 = Some(file);
                    if attempt > 0 {
                        sleep(Duration::from_millis(1));
                    }
                }
                Err((_, errno)) => return Err(self.failed(HEAD, errno.into())),
            }
        }
        Ok(None)
    }

    /// Appends all that waits; what goes into one file in one write. An event leaves the queue when
    /// its line is written.
    fn append(&mut self, locked: &File, known: Option<Head>, say: bool) -> Result<(), AuditError> {
        let mut head = match known {
            Some(head) => head,
            None => self.find_end(locked)?,
        };
        while !self.waiting.is_empty() {
            let before = head.bytes;
            let count = self.fill(&mut head)?;
            if count == 0 {
                self.rotate(locked, &mut head)?;
                continue;
            }
            let file = match &mut self.file {
                Some((_, file)) => file,
                None => return Err(self.failed(&name(head.file), ErrorKind::NotFound.into())),
            };
            if let Err(source) = file.write_all(&self.lines) {
                // What was written of them would end in half a line.
                let cut = file.set_len(before);
                return Err(self.failed(&name(head.file), cut.err().unwrap_or(source)));
            }
            self.waiting.drain(..count);
            self.unsaid = true;
        }
        if say && self.unsaid {
            // Not over one that says something else than a head.
            self.said(locked)?;
            write_head(locked, &head).map_err(|source| self.failed(HEAD, source))?;
            self.unsaid = false;
        }
        self.known = Some(head);
        Ok(())
    }

    /// Where the log ended when this run wrote to it last, if nobody wrote to it since. They may
    /// have begun another file only where this one is full.
    fn unchanged(&mut self) -> Option<Head> {
        let known = self.known.as_ref()?;
        let held = self.file.as_ref().filter(|held| held.0 == known.file);
        let length = held.and_then(|(_, file)| length(file));
        // As far as this before a file's end, nobody goes on to the next one.
        let room = self.rotate.saturating_sub(LONGEST);
        let unchanged = length == Some(known.bytes) && known.bytes <= room;
        if unchanged { self.known.take() } else { None }
    }

    /// Where the log ends.
    fn find_end(&mut self, locked: &File) -> Result<Head, AuditError> {
        let said = self.said(locked)?;
        // What this run wrote after that is known even if it was cut off since.
        let mut head = match self.known.take() {
            Some(known) if known.seq > said.seq => known,
            _ => said,
        };
        let length = self.follow_head(&head)?;
        self.adopt(&mut head, length)?;
        Ok(head)
    }

    /// What `head` says.
    fn said(&self, locked: &File) -> Result<Head, AuditError> {
        match read_head(locked).map_err(|source| self.failed(HEAD, source))? {
            None => Ok(Head::new()),
            Some(Some(head)) => Ok(head),
            Some(None) => Err(AuditError::Head {
                path: self.path(HEAD),
            }),
        }
    }

    /// The lines of what waits, as far as they go into the head's file, and how many they are; the
    /// head moves along.
    fn fill(&mut self, head: &mut Head) -> Result<usize, AuditError> {
        let lines = &mut self.lines;
        lines.clear();
        lines.shrink_to(ROOM);
        let mut count = 0;
        for (time, event) in &self.waiting {
            let seq = head.seq.saturating_add(1);
            let before = lines.len();
            self.form
                .append(lines, (event, *time), (seq, &head.sha256))?;
            let line = lines.get(before..).unwrap_or_default();
            let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
            let bytes = head.bytes.saturating_add(length);
            if head.bytes > 0 && bytes > self.rotate {
                lines.truncate(before);
                break;
            }
            set_sha256(&mut head.sha256, line.strip_suffix(b"\n").unwrap_or(line));
            (head.seq, head.bytes) = (seq, bytes);
            count += 1;
        }
        Ok(count)
    }

    /// The next file. The head says so before the oldest goes and before a line is in it: where this
    /// process is killed meanwhile, the next one goes on from there.
    fn rotate(&mut self, locked: &File, head: &mut Head) -> Result<(), AuditError> {
        head.file = head.file.saturating_add(1);
        head.bytes = self.follow_head(head)?;
        write_head(locked, head).map_err(|source| self.failed(HEAD, source))?;
        drop_oldest(&self.folder, KEPT, (locked, head))
    }

    /// Holds the file that the head names; how long it is.
    fn follow_head(&mut self, head: &Head) -> Result<u64, AuditError> {
        let held = self.file.as_ref().filter(|held| held.0 == head.file);
        if let Some(length) = held.and_then(|(_, file)| length(file)) {
            return Ok(length);
        }
        let file = self.folder.open_to_write(&name(head.file), true)?;
        let length = length(&file).ok_or(ErrorKind::NotFound);
        let length = length.map_err(|kind| self.failed(&name(head.file), kind.into()))?;
        self.file = Some((head.file, file));
        Ok(length)
    }

    /// Lines that were written by a process killed before it could say so in the head, which then
    /// knows the file's length. A line that such a process began is taken back.
    fn adopt(&self, head: &mut Head, length: u64) -> Result<(), AuditError> {
        let failed = |source| self.failed(&name(head.file), source);
        let Some((_, file)) = &self.file else {
            return Ok(());
        };
        let mut file: &File = file;
        if length <= head.bytes {
            head.bytes = length;
            return Ok(());
        }
        let mut rest = Vec::new();
        file.seek(SeekFrom::Start(head.bytes)).map_err(&failed)?;
        file.take(ROTATE).read_to_end(&mut rest).map_err(&failed)?;
        for line in rest.split_inclusive(|byte| *byte == b'\n') {
            let Some(line) = line.strip_suffix(b"\n").filter(|line| follows(head, line)) else {
                break;
            };
            head.seq = head.seq.saturating_add(1);
            set_sha256(&mut head.sha256, line);
        }
        head.bytes = length;
        let begun = rest
            .rsplit(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default();
        let mut ours = Vec::new();
        line::begin(&mut ours, head.seq.saturating_add(1));
        if begun.starts_with(&ours) || ours.starts_with(begun) {
            head.bytes = length.saturating_sub(u64::try_from(begun.len()).unwrap_or(0));
            file.set_len(head.bytes).map_err(&failed)?;
        } else {
            // Somebody else's: it stays, for `verify` to name, on a line of its own.
            file.write_all(b"\n").map_err(&failed)?;
            head.bytes = length.saturating_add(1);
        }
        Ok(())
    }
}

/// Whether that is the line after the head's.
fn follows(head: &Head, line: &[u8]) -> bool {
    serde_json::from_slice(line)
        .is_ok_and(|line: Line| line.seq == head.seq.saturating_add(1) && line.prev == head.sha256)
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
