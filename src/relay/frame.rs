//! Splits a stream into lines, whatever the sizes of the reads.
//!
//! Pure: bytes go in through [`Inbox::room`] and [`Inbox::filled`], lines come out of
//! [`Inbox::next`]. A line ends at byte 0x0A and nowhere else; one CR before it is dropped, a byte
//! order mark at its start is skipped. A line of more than the cap is never held: it is skipped to
//! its end while [`Salvage`] looks for the id in what passes by.

use std::ops::Range;

use super::salvage::Salvage;
use super::wide;

/// What a buffer holds at rest once a read has filled its room, in bytes; as much as a pipe.
const CHUNK: usize = 65_536;
/// The least room offered to one read, in bytes; and what a buffer begins with, since most servers
/// are idle most of the time.
const ROOM: usize = 16_384;
/// A line of this many caps may have no end: what waits for it is not kept waiting.
const GIVE_UP: usize = 4;
/// So many small reads in a row give back the memory of a large message.
const QUIET: u8 = 32;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// What the inbox found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A line within the cap: where it lies, its LF included, BOM and CR left out.
    Line(Range<usize>),
    /// A line over the cap; [`Inbox::seen`] tells what passed by so far.
    Long(Progress),
}

/// How far a line over the cap is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// The cap is reached.
    Begins,
    /// Four caps are reached and its end is not in sight.
    GivenUp,
    /// Its LF came.
    Ends,
}

/// One direction's bytes on their way in.
#[derive(Debug)]
pub(super) struct Inbox {
    buffer: Vec<u8>,
    /// Where the line that is not yet complete begins.
    start: usize,
    /// Up to where no LF was found.
    scanned: usize,
    /// Up to where bytes were read.
    end: usize,
    cap: usize,
    skipping: bool,
    skipped: usize,
    given_up: bool,
    seen: Salvage,
    quiet: u8,
}

impl Inbox {
    /// An inbox for lines of at most `cap` bytes, not counting BOM, CR and LF.
    pub(super) fn new(cap: usize) -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            end: 0,
            cap,
            skipping: false,
            skipped: 0,
            given_up: false,
            seen: Salvage::default(),
            quiet: 0,
        }
    }

    /// Another writer begins: what is left of a line is forgotten.
    pub(super) fn renew(&mut self) {
        (self.start, self.scanned, self.end) = (0, 0, 0);
        (self.skipping, self.skipped, self.given_up) = (false, 0, false);
        self.seen = Salvage::default();
    }

    /// Where the next bytes are to be read to; never empty. Ranges given out before are void
    /// after this call.
    pub(super) fn room(&mut self) -> &mut [u8] {
        if self.start == self.end {
            if self.end > 0 && self.end == self.buffer.len() && self.end < CHUNK {
                self.buffer = vec![0; CHUNK];
            }
            (self.start, self.scanned, self.end) = (0, 0, 0);
            self.shrink();
        } else if self.buffer.len() - self.end < ROOM && self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.scanned -= self.start;
            self.end -= self.start;
            self.start = 0;
        }
        if self.buffer.len() - self.end < ROOM {
            self.quiet = 0;
            let most = self.cap.saturating_add(2 * CHUNK);
            let larger = self
                .buffer
                .len()
                .saturating_mul(2)
                .min(most)
                .max(self.end + ROOM);
            self.buffer.resize(larger, 0);
        }
        self.buffer.get_mut(self.end..).unwrap_or_default()
    }

    /// Whether a message larger than what is held at rest passes, or did not long ago.
    pub(super) fn is_large(&self) -> bool {
        self.buffer.len() > CHUNK
    }

    /// `count` bytes of the room were filled.
    pub(super) fn filled(&mut self, count: usize) {
        self.end = self.buffer.len().min(self.end + count);
    }

    /// Whether all that was read was looked at.
    pub(super) fn is_exhausted(&self) -> bool {
        self.scanned == self.end
    }

    /// The bytes of a range that [`Inbox::next`] gave out.
    pub(super) fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.buffer.get(range).unwrap_or_default()
    }

    /// What passed by of the line over the cap.
    pub(super) fn seen(&self) -> &Salvage {
        &self.seen
    }

    /// The bytes after the last LF; of use at the end of the stream.
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes(self.start..self.end)
    }

    /// The next line, or `None` until more is read.
    pub(super) fn next(&mut self) -> Option<Frame> {
        if self.skipping {
            return self.skip();
        }
        let Some(offset) = wide::position(b'\n', self.bytes(self.scanned..self.end)) else {
            self.scanned = self.end;
            return self.overflow();
        };
        let at = self.scanned + offset;
        let begin = self.content(at);
        let end = self.end_of_line(begin, at);
        (self.start, self.scanned) = (at + 1, at + 1);
        if end - begin > self.cap {
            self.seen = Salvage::default();
            let text = self.buffer.get(begin..end).unwrap_or_default();
            self.seen.feed(text);
            return Some(Frame::Long(Progress::Ends));
        }
        Some(Frame::Line(begin..end + 1))
    }

    /// Where the text of the line up to `until` begins, its BOM skipped.
    fn content(&self, until: usize) -> usize {
        let line = self.bytes(self.start..until);
        self.start + if line.starts_with(BOM) { BOM.len() } else { 0 }
    }

    /// The end of the line's text, with an LF at that place: one CR gives way to it, so that text
    /// and LF lie side by side and leave in one write.
    fn end_of_line(&mut self, begin: usize, at: usize) -> usize {
        match self.buffer.get_mut(begin..at) {
            Some([.., last]) if *last == b'\r' => {
                *last = b'\n';
                at - 1
            }
            _ => at,
        }
    }

    /// Begins to skip where the incomplete line is over the cap even if its last byte is a CR.
    fn overflow(&mut self) -> Option<Frame> {
        let begin = self.content(self.end);
        let may_be_bom = BOM.starts_with(self.rest());
        if may_be_bom || self.end - begin <= self.cap.saturating_add(1) {
            return None;
        }
        self.seen = Salvage::default();
        let split = begin + self.cap;
        let head = self.buffer.get(begin..split).unwrap_or_default();
        self.seen.feed(head);
        (self.start, self.scanned) = (split, split);
        (self.skipping, self.skipped, self.given_up) = (true, self.cap, false);
        Some(Frame::Long(Progress::Begins))
    }

    fn skip(&mut self) -> Option<Frame> {
        let passing = self.buffer.get(self.start..self.end).unwrap_or_default();
        let found = wide::position(b'\n', passing);
        let part = passing
            .get(..found.unwrap_or(passing.len()))
            .unwrap_or_default();
        self.seen.feed(part);
        self.skipped = self.skipped.saturating_add(part.len());
        self.start += found.map_or(part.len(), |offset| offset + 1);
        self.scanned = self.start;
        if found.is_some() {
            self.skipping = false;
            return Some(Frame::Long(Progress::Ends));
        }
        if !self.given_up && self.skipped > self.cap.saturating_mul(GIVE_UP) {
            self.given_up = true;
            return Some(Frame::Long(Progress::GivenUp));
        }
        None
    }

    fn shrink(&mut self) {
        if self.buffer.len() <= CHUNK {
            return;
        }
        self.quiet += 1;
        if self.quiet >= QUIET {
            self.quiet = 0;
            self.buffer = vec![0; CHUNK];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, PartialEq, Clone)]
    enum Got {
        Line(Vec<u8>),
        Long,
    }

    fn push(inbox: &mut Inbox, mut bytes: &[u8], got: &mut Vec<Got>) {
        while !bytes.is_empty() {
            let room = inbox.room();
            let count = room.len().min(bytes.len());
            room[..count].copy_from_slice(&bytes[..count]);
            inbox.filled(count);
            bytes = &bytes[count..];
            while let Some(frame) = inbox.next() {
                match frame {
                    Frame::Line(range) => got.push(Got::Line(inbox.bytes(range).to_vec())),
                    Frame::Long(Progress::Ends) => got.push(Got::Long),
                    Frame::Long(_) => {}
                }
            }
        }
    }

    fn split(stream: &[u8], cap: usize, sizes: &[usize]) -> (Vec<Got>, Vec<u8>) {
        let (mut inbox, mut got, mut rest) = (Inbox::new(cap), Vec::new(), stream);
        let mut sizes = sizes.iter().cycle();
        while !rest.is_empty() {
            let size = (*sizes.next().unwrap_or(&rest.len())).clamp(1, rest.len());
            push(&mut inbox, &rest[..size], &mut got);
            rest = &rest[size..];
        }
        let left = if inbox.skipping {
            b"(skipped)".to_vec()
        } else {
            inbox.rest().to_vec()
        };
        (got, left)
    }

    /// The definition, without buffers.
    fn expected(stream: &[u8], cap: usize) -> Vec<Got> {
        let mut lines: Vec<&[u8]> = stream.split(|byte| *byte == b'\n').collect();
        lines.pop();
        let text = |line: &[u8]| {
            let line = line.strip_prefix(BOM).unwrap_or(line);
            line.strip_suffix(b"\r").unwrap_or(line).to_vec()
        };
        let frame = |line: Vec<u8>| {
            if line.len() > cap {
                Got::Long
            } else {
                Got::Line([&line[..], b"\n"].concat())
            }
        };
        lines.into_iter().map(text).map(frame).collect()
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            4 => Just(b"\n".to_vec()),
            2 => Just(b"\r\n".to_vec()),
            1 => Just(b"\r".to_vec()),
            1 => Just(BOM.to_vec()),
            1 => Just("é\u{2028}".as_bytes().to_vec()),
            4 => proptest::collection::vec(any::<u8>(), 0..40),
        ];
        proptest::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_lines(
            stream in bytes(), cap in 0usize..60, sizes in proptest::collection::vec(1usize..50, 1..8),
        ) {
            prop_assert_eq!(split(&stream, cap, &sizes).0, expected(&stream, cap));
            prop_assert_eq!(split(&stream, cap, &[usize::MAX]).0, expected(&stream, cap));
        }
    }

    #[test]
    fn the_cap_counts_neither_cr_nor_bom() {
        let stream = b"\xef\xbb\xbf12345\r\n123456\r\n12345\n";
        let line = Got::Line(b"12345\n".to_vec());
        for size in 1..=stream.len() {
            assert_eq!(
                split(stream, 5, &[size]).0,
                [line.clone(), Got::Long, line.clone()],
                "{size}"
            );
        }
    }

    #[test]
    fn a_line_larger_than_the_buffer_passes_whole() {
        let mut stream = vec![b'x'; 300_000];
        stream.push(b'\n');
        let (got, left) = split(&stream, 300_000, &[7_000]);
        assert_eq!(got, [Got::Line(stream.clone())]);
        assert!(left.is_empty());
    }

    #[test]
    fn an_endless_line_costs_no_memory() {
        let (mut inbox, mut got) = (Inbox::new(100_000), Vec::new());
        for _ in 0..200 {
            push(&mut inbox, &[b'x'; 65_536], &mut got);
        }
        assert!(inbox.buffer.len() <= 300_000);
        assert!(inbox.given_up && got.is_empty());
        push(&mut inbox, b"x\nok\n", &mut got);
        assert_eq!(got, [Got::Long, Got::Line(b"ok\n".to_vec())]);
    }

    #[test]
    fn the_memory_of_a_large_message_is_given_back() {
        let (mut inbox, mut got) = (Inbox::new(1 << 20), Vec::new());
        let large = [vec![b'x'; 1 << 19], vec![b'\n']].concat();
        push(&mut inbox, &large, &mut got);
        assert!(inbox.buffer.len() > CHUNK);
        for _ in 0..64 {
            push(&mut inbox, b"small\n", &mut got);
        }
        assert_eq!(inbox.buffer.len(), CHUNK);
        assert_eq!(got.len(), 65);
    }

    #[test]
    fn a_buffer_is_small_until_a_read_fills_it() {
        let (mut inbox, mut got) = (Inbox::new(1 << 20), Vec::new());
        assert_eq!(inbox.buffer.capacity(), 0, "before the first read");
        for _ in 0..64 {
            push(&mut inbox, b"small\n", &mut got);
        }
        assert_eq!(inbox.buffer.len(), ROOM);
        // Lines that end with what there was room for, and lines that do not.
        for many in [b"x\n".repeat(ROOM / 2), b"xyz\n".repeat(ROOM)] {
            let mut inbox = Inbox::new(1 << 20);
            push(&mut inbox, &many, &mut got);
            assert_eq!(inbox.room().len(), CHUNK);
        }
    }

    #[test]
    fn the_id_of_a_long_line_is_found_at_its_end_too() {
        let (mut inbox, mut got) = (Inbox::new(50), Vec::new());
        let line = format!(
            "{{\"result\":\"{}\",\"jsonrpc\":\"2.0\",\"id\":7}}\n",
            "x".repeat(500)
        );
        for piece in line.as_bytes().chunks(33) {
            push(&mut inbox, piece, &mut got);
        }
        assert_eq!(got, [Got::Long]);
        assert_eq!(inbox.seen().ids().len(), 1);
    }
}
