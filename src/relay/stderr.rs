//! What the server says beside the protocol, and what we say about it.
//!
//! Pure but for the name: bytes of the server's stderr go in, escaped lines with the alias before
//! each wait to be written to ours. The server never waits for that: beyond [`PENDING`] lines are
//! left out, beyond [`SHOWN`] all are, and either is said. The last [`TAIL`] bytes are kept for
//! `why` and `logs`, with the lines of its stdout that were no messages.

use super::{Counters, sanitize};

/// Bytes of the server's stderr shown in one run, prefix and escapes counted.
pub(super) const SHOWN: usize = 16 * 1_048_576;
/// Bytes that wait for a host that does not read our stderr.
pub(super) const PENDING: usize = 262_144;
/// Bytes kept of what the server said last.
pub(super) const TAIL: usize = 65_536;
/// As many lines tell why a server did not come up.
const LAST: usize = 100;
/// A line longer than this is shown as several.
const LINE: usize = 8_192;

/// The stderr of one run.
#[derive(Debug)]
pub(super) struct Record {
    alias: String,
    line: Vec<u8>,
    pending: Vec<u8>,
    written: usize,
    tail: String,
    shown: usize,
    unread: u64,
    cut: u64,
}

impl Record {
    pub(super) fn new(alias: &str) -> Self {
        Self {
            alias: alias.to_owned(),
            line: Vec::new(),
            pending: Vec::new(),
            written: 0,
            tail: String::new(),
            shown: 0,
            unread: 0,
            cut: 0,
        }
    }

    /// Bytes the server wrote to its stderr.
    pub(super) fn server(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let ends = piece.last() == Some(&b'\n');
            self.line.extend(piece.strip_suffix(b"\n").unwrap_or(piece));
            if ends && self.line.last() == Some(&b'\r') {
                self.line.pop();
            }
            while self.line.len() > LINE {
                let rest = self.line.split_off(boundary(&self.line, LINE));
                self.flush();
                self.line = rest;
            }
            if ends {
                self.flush();
            }
        }
    }

    /// A line of the server's stdout that is no message: kept, not shown.
    pub(super) fn quarantine(&mut self, line: &[u8]) {
        let head = line.get(..LINE).unwrap_or(line);
        self.keep("(stdout) ", &sanitize::line(head));
    }

    /// Words of our own, on a line of their own.
    pub(super) fn say(&mut self, text: &str) {
        let line = format!("supervisor: [{}] {text}\n", self.alias);
        self.pending.extend(line.bytes());
    }

    /// The end of one server: what is left of its line is one.
    pub(super) fn end_line(&mut self) {
        if !self.line.is_empty() {
            self.flush();
        }
    }

    /// The end: what is left of a line, and what was left out.
    pub(super) fn finish(&mut self, counters: &Counters) {
        self.end_line();
        self.tell_unread();
        if self.cut > 0 {
            self.say(&format!(
                "{} bytes of the server's stderr were not shown",
                self.cut
            ));
        }
        for (count, what) in [
            (
                counters.junk,
                "lines of the server's stdout were no messages",
            ),
            (
                counters.dropped_answers,
                "answers of the server's were dropped",
            ),
        ] {
            if count > 1 {
                self.say(&format!("{count} {what}"));
            }
        }
    }

    /// What waits to be written.
    pub(super) fn pending(&self) -> &[u8] {
        self.pending.get(self.written..).unwrap_or_default()
    }

    /// So many bytes of it were.
    pub(super) fn wrote(&mut self, count: usize) {
        self.written += count;
        if self.written >= self.pending.len() {
            self.pending.clear();
            self.written = 0;
        }
    }

    /// Nobody reads our stderr any more.
    pub(super) fn discard(&mut self) {
        self.pending.clear();
        self.written = 0;
    }

    /// Bytes of the server's that were not shown.
    pub(super) fn cut(&self) -> u64 {
        self.cut
    }

    /// The last lines of it.
    pub(super) fn last_lines(&self) -> Vec<String> {
        let lines = self.tail.lines().rev().take(LAST);
        let mut lines: Vec<String> = lines.map(str::to_owned).collect();
        lines.reverse();
        lines
    }

    /// What the server said last, escaped, a line each.
    pub(super) fn into_tail(mut self) -> String {
        self.trim();
        self.tail
    }

    fn flush(&mut self) {
        let raw = std::mem::take(&mut self.line);
        let text = sanitize::line(&raw);
        self.keep("", &text);
        self.show(&text, raw.len());
        self.line = raw;
        self.line.clear();
    }

    fn show(&mut self, text: &str, raw: usize) {
        let line = format!("[{}] {text}\n", self.alias);
        let bytes = u64::try_from(raw).unwrap_or(u64::MAX);
        if self.shown + line.len() > SHOWN {
            if self.shown <= SHOWN {
                self.shown = SHOWN + 1;
                let mib = SHOWN / 1_048_576;
                self.say(&format!(
                    "{mib} MiB of the server's stderr were shown; the rest of this run is not"
                ));
            }
            self.cut = self.cut.saturating_add(bytes);
        } else if self.pending.len() + line.len() > PENDING {
            self.unread += 1;
            self.cut = self.cut.saturating_add(bytes);
        } else {
            self.tell_unread();
            self.shown += line.len();
            self.pending.extend(line.bytes());
        }
    }

    fn tell_unread(&mut self) {
        let count = std::mem::take(&mut self.unread);
        if count > 0 {
            self.say(&format!(
                "{count} lines were left out here, since nobody read them"
            ));
        }
    }

    fn keep(&mut self, label: &str, text: &str) {
        self.tail.push_str(label);
        self.tail.push_str(text);
        self.tail.push('\n');
        if self.tail.len() > 2 * TAIL {
            self.trim();
        }
    }

    /// Leaves the last lines that are within the bound.
    fn trim(&mut self) {
        let Some(over) = self.tail.len().checked_sub(TAIL).filter(|over| *over > 0) else {
            return;
        };
        let found = self
            .tail
            .bytes()
            .skip(over - 1)
            .position(|byte| byte == b'\n');
        let cut = found.map_or(self.tail.len(), |at| over + at);
        self.tail.drain(..cut);
    }
}

/// Where to break a line that is longer than `most`: not within a character.
fn boundary(line: &[u8], most: usize) -> usize {
    let continues = |at: &usize| {
        line.get(*at)
            .is_some_and(|byte| (0x80..0xc0).contains(byte))
    };
    (most.saturating_sub(3)..=most)
        .rev()
        .find(|at| !continues(at))
        .unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(record: &mut Record) -> String {
        let text = String::from_utf8(record.pending().to_vec()).expect("UTF-8");
        record.wrote(text.len());
        text
    }

    #[test]
    fn each_line_has_the_alias_before_it() {
        let mut record = Record::new("weather");
        record.server(b"first \x1b[31mword\nsec");
        record.server(b"ond word\r\nlast");
        assert_eq!(
            written(&mut record),
            "[weather] first \\u{1b}[31mword\n[weather] second word\n"
        );
        record.quarantine(b"banner\r");
        record.finish(&Counters {
            junk: 7,
            ..Counters::default()
        });
        let want = "[weather] last\nsupervisor: [weather] 7 lines of the server's stdout were no messages\n";
        assert_eq!(written(&mut record), want);
        assert_eq!(
            record.into_tail(),
            "first \\u{1b}[31mword\nsecond word\n(stdout) banner\\r\nlast\n"
        );
    }

    #[test]
    fn a_flood_is_bounded_and_said() {
        let mut record = Record::new("a");
        let (mut shown, chunk) = (0, [b'e'; 65_536]);
        for _ in 0..512 {
            record.server(&chunk);
            shown += written(&mut record).len();
        }
        assert!(shown > SHOWN - 2 * LINE && shown < SHOWN + 200, "{shown}");
        record.server(b"the end\n");
        record.finish(&Counters::default());
        assert!(written(&mut record).contains("bytes of the server's stderr were not shown"));
        let tail = record.into_tail();
        assert!(tail.len() <= TAIL && tail.ends_with("the end\n"));
    }

    #[test]
    fn a_host_that_does_not_read_costs_bounded_memory() {
        let mut record = Record::new("a");
        for _ in 0..100_000 {
            record.server(b"noise\n");
        }
        assert!(record.pending().len() <= PENDING);
        written(&mut record);
        record.server(b"heard\n");
        let text = written(&mut record);
        assert!(
            text.contains("lines were left out here") && text.ends_with("[a] heard\n"),
            "{text}"
        );
    }

    #[test]
    fn a_long_line_is_broken_between_characters() {
        let mut record = Record::new("a");
        let text = "é中😀".repeat(2_000);
        for piece in text.as_bytes().chunks(777) {
            record.server(piece);
        }
        record.finish(&Counters::default());
        let shown = written(&mut record);
        assert_eq!(shown.replace("[a] ", "").replace('\n', ""), text);
        assert!(shown.lines().all(|line| line.len() < LINE + 100));
    }
}
