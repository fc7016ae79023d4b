//! Whether a log is whole: each line follows the one before it, none is missing, none was changed.
//!
//! Pure: the files' texts and the head go in, what is wrong comes out, by file and line. A line names
//! the SHA-256 of the line before it, so a change shows at the line after; the head names
//! the last line, so a cut at the end shows too. Who can write the files can write them all anew:
//! this finds what was cut or edited, and is no seal.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::event::Line;

/// What the first line of a log follows.
pub const NOTHING: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// More damage than this is not listed.
const MOST: usize = 100;

/// SHA-256 in lower-case hexadecimal digits.
#[must_use]
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    set_sha256(&mut text, bytes);
    text
}

/// The same in place of what a text holds, which keeps its memory.
pub(super) fn set_sha256(text: &mut String, bytes: &[u8]) {
    // By hand: `format!` of each byte took longer than the hash of a call's arguments.
    let digit = |nibble: u8| match nibble {
        0..=9 => char::from(b'0' + nibble),
        _ => char::from(b'a' + (nibble - 10)),
    };
    text.clear();
    for byte in Sha256::digest(bytes) {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 0xf));
    }
}

/// Where a log begins and ends; kept beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The version.
    pub v: u32,
    /// The number of the oldest line that is kept.
    pub first: u64,
    /// The number of the last line; 0 where there is none.
    pub seq: u64,
    /// SHA-256 of the last line.
    pub sha256: String,
    /// The number of the file it is in.
    pub file: u64,
    /// Bytes of that file.
    pub bytes: u64,
}

impl Head {
    /// Of a log that holds nothing.
    #[must_use]
    pub fn new() -> Self {
        Self {
            v: super::event::VERSION,
            first: 1,
            seq: 0,
            sha256: NOTHING.to_owned(),
            file: 1,
            bytes: 0,
        }
    }
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Damage {
    /// The file.
    pub file: String,
    /// The line in it, from 1; 0 where it is the whole file.
    pub line: usize,
    /// What.
    pub what: String,
}

/// A look through a log, file by file, from the oldest.
#[derive(Debug)]
pub struct Look {
    head: Head,
    /// Lines so far.
    pub lines: u64,
    /// What is wrong so far.
    pub damage: Vec<Damage>,
    before: Option<Before>,
}

/// The line before.
#[derive(Debug)]
struct Before {
    file: String,
    line: usize,
    seq: Option<u64>,
    sha256: String,
}

impl Look {
    /// Begins.
    #[must_use]
    pub fn new(head: Head) -> Self {
        Self {
            head,
            lines: 0,
            damage: Vec::new(),
            before: None,
        }
    }

    fn blame(&mut self, file: &str, line: usize, what: String) {
        if self.damage.len() < MOST {
            let file = file.to_owned();
            self.damage.push(Damage { file, line, what });
        }
    }

    /// The next file. What was written after the head was read is passed over.
    pub fn file(&mut self, name: &str, text: &[u8]) {
        let whole = text.last().is_none_or(|byte| *byte == b'\n');
        let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        let count = lines.len();
        for (index, line) in lines.into_iter().enumerate() {
            let number = index.saturating_add(1);
            if number == count && (whole || line.is_empty()) {
                return;
            }
            if self.is_at_end() && self.damage.is_empty() {
                return;
            }
            if number == count {
                self.blame(name, number, "the file ends within this line".to_owned());
            }
            self.line(name, number, line);
        }
    }

    fn is_at_end(&self) -> bool {
        self.before
            .as_ref()
            .is_some_and(|before| before.seq == Some(self.head.seq))
    }

    fn line(&mut self, file: &str, number: usize, bytes: &[u8]) {
        let read: Option<Line> = serde_json::from_slice(bytes).ok();
        self.lines = self.lines.saturating_add(1);
        match (&read, self.before.take()) {
            (None, _) => self.blame(file, number, "this is no line of the log".to_owned()),
            (Some(line), None) => self.first(file, number, line),
            (Some(line), Some(before)) => self.follows(file, number, line, &before),
        }
        self.before = Some(Before {
            file: file.to_owned(),
            line: number,
            seq: read.map(|line| line.seq),
            sha256: sha256(bytes),
        });
    }

    fn first(&mut self, file: &str, number: usize, line: &Line) {
        let first = self.head.first;
        // Earlier ones are of a file that was to be removed, by a process that was killed before.
        if line.seq > first {
            let what = format!(
                "the log begins with line {}, not {first}: lines before it are missing",
                line.seq
            );
            self.blame(file, number, what);
        } else if line.seq == 1 && line.prev != NOTHING {
            self.blame(file, number, "the first line follows another".to_owned());
        }
    }

    fn follows(&mut self, file: &str, number: usize, line: &Line, before: &Before) {
        if let Some(seq) = before.seq
            && line.seq != seq.saturating_add(1)
        {
            let what = format!(
                "line {} of the log follows line {seq}: lines are missing, or were put in",
                line.seq
            );
            self.blame(file, number, what);
        } else if line.prev != before.sha256 && before.seq.is_some() {
            let what = "this line was changed after it was written".to_owned();
            let (file, at) = (before.file.clone(), before.line);
            self.blame(&file, at, what);
        }
    }

    /// The end: all files were seen. `last` is the name of the newest.
    pub fn end(&mut self, last: &str) {
        let head = self.head.clone();
        let (seq, sha256, line) = match &self.before {
            Some(before) => (before.seq, before.sha256.clone(), before.line),
            None => (Some(head.first.saturating_sub(1)), head.sha256.clone(), 0),
        };
        match seq {
            Some(seq) if seq < head.seq => {
                let what = format!(
                    "the log ends with line {seq}, and {} were written: it was cut",
                    head.seq
                );
                self.blame(last, line, what);
            }
            Some(seq) if seq > head.seq && self.damage.is_empty() => {
                let what = format!("lines after {} were put in", head.seq);
                self.blame(last, line, what);
            }
            Some(seq) if seq == head.seq && sha256 != head.sha256 && seq > 0 => {
                let what = "this line was changed after it was written".to_owned();
                self.blame(last, line, what);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
