//! One direction: what was read, and what of it, or of our own, is to be written.
//!
//! Pure. Forwarded lines stay where they were read to and are written from there, neighbours in
//! one piece; a lane is only read into again when all it forwards is written, which is the
//! back-pressure.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::ops::Range;

use super::frame::{Frame, Inbox};

/// Slices handed to one write.
pub(super) const SLICES: usize = 16;
/// Bytes of our own that may wait in a lane before its other producer is held back.
pub(super) const OWN_LIMIT: usize = 65_536;

/// Whole lines, so that lines of two producers never mix.
#[derive(Debug)]
enum Piece {
    Read(Range<usize>),
    Own { bytes: Vec<u8>, written: usize },
}

/// A direction's buffer and queue.
#[derive(Debug)]
pub(super) struct Lane {
    inbox: Inbox,
    queue: VecDeque<Piece>,
    own: usize,
    /// The line over the cap that passes by has been dealt with.
    pub(super) told: bool,
}

impl Lane {
    /// A lane for lines of at most `cap` bytes.
    pub(super) fn new(cap: usize) -> Self {
        Self {
            inbox: Inbox::new(cap),
            queue: VecDeque::new(),
            own: 0,
            told: false,
        }
    }

    /// The bytes read.
    pub(super) fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// The next line that was read.
    pub(super) fn next(&mut self) -> Option<Frame> {
        self.inbox.next()
    }

    /// Room for a read, where all that was read is dealt with and written.
    pub(super) fn room(&mut self) -> Option<&mut [u8]> {
        (self.is_written() && self.inbox.is_exhausted()).then(|| self.inbox.room())
    }

    /// So many bytes of the room were filled.
    pub(super) fn filled(&mut self, count: usize) {
        self.inbox.filled(count);
    }

    /// Passes on a line that [`Lane::next`] gave.
    pub(super) fn forward(&mut self, line: Range<usize>) {
        if let Some(Piece::Read(last)) = self.queue.back_mut()
            && last.end == line.start
        {
            last.end = line.end;
        } else {
            self.queue.push_back(Piece::Read(line));
        }
    }

    /// Adds a line of our own, after all that is in the queue.
    pub(super) fn add(&mut self, line: Vec<u8>) {
        self.own += line.len();
        match self.queue.back_mut() {
            _ if line.is_empty() => {}
            Some(Piece::Own { bytes, .. }) => bytes.extend(line),
            _ => self.queue.push_back(Piece::Own {
                bytes: line,
                written: 0,
            }),
        }
    }

    /// Bytes of our own that wait.
    pub(super) fn own(&self) -> usize {
        self.own
    }

    /// Whether nothing waits to be written.
    pub(super) fn is_written(&self) -> bool {
        self.queue.is_empty()
    }

    /// What is to be written next.
    pub(super) fn slices(&self) -> ([IoSlice<'_>; SLICES], usize) {
        let mut slices = [IoSlice::new(&[]); SLICES];
        let mut count = 0;
        for (slice, piece) in slices.iter_mut().zip(&self.queue) {
            *slice = IoSlice::new(match piece {
                Piece::Read(range) => self.inbox.bytes(range.clone()),
                Piece::Own { bytes, written } => bytes.get(*written..).unwrap_or_default(),
            });
            count += 1;
        }
        (slices, count)
    }

    /// So many bytes of the slices were written.
    pub(super) fn wrote(&mut self, mut count: usize) {
        while let Some(piece) = self.queue.front_mut() {
            let left = match piece {
                Piece::Read(range) => range.len(),
                Piece::Own { bytes, written } => bytes.len() - *written,
            };
            let step = count.min(left);
            match piece {
                Piece::Read(range) => range.start += step,
                Piece::Own { written, .. } => {
                    *written += step;
                    self.own -= step;
                }
            }
            if step < left {
                return;
            }
            self.queue.pop_front();
            count -= step;
        }
    }

    /// Another writer begins: nothing is left of a line of the one before. All is written.
    pub(super) fn renew(&mut self) {
        self.inbox.renew();
        self.told = false;
    }

    /// Nobody reads what this lane writes any more.
    pub(super) fn discard(&mut self) {
        self.queue.clear();
        self.own = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(lane: &mut Lane, bytes: &[u8]) {
        let room = lane.room().expect("all written");
        room[..bytes.len()].copy_from_slice(bytes);
        lane.filled(bytes.len());
    }

    fn forward_all(lane: &mut Lane) {
        while let Some(Frame::Line(range)) = lane.next() {
            lane.forward(range);
        }
    }

    #[test]
    fn many_lines_leave_in_one_piece() {
        let mut lane = Lane::new(100);
        read(&mut lane, b"one\ntwo\nthree\nfo");
        forward_all(&mut lane);
        assert!(lane.room().is_none(), "not read into while something waits");
        let (slices, count) = lane.slices();
        assert_eq!((count, &*slices[0]), (1, &b"one\ntwo\nthree\n"[..]));
        lane.wrote(14);
        assert!(lane.is_written());
        read(&mut lane, b"ur\r\nfive\n");
        forward_all(&mut lane);
        let (slices, count) = lane.slices();
        assert_eq!(
            (count, &*slices[0], &*slices[1]),
            (2, &b"four\n"[..], &b"five\n"[..])
        );
    }

    proptest! {
        #[test]
        fn every_byte_is_written_once_and_in_order(
            lines in proptest::collection::vec(("[a-z]{0,9}", any::<bool>(), any::<bool>()), 0..40),
            steps in proptest::collection::vec(1usize..30, 1..9),
        ) {
            let mut lane = Lane::new(100);
            let stream: String = lines.iter().map(|(line, cr, _)| format!("{line}{}\n", if *cr { "\r" } else { "" })).collect();
            read(&mut lane, stream.as_bytes());
            let mut want = Vec::new();
            for (line, _, own) in &lines {
                let Some(Frame::Line(range)) = lane.next() else { panic!() };
                lane.forward(range);
                want.extend(format!("{line}\n").bytes());
                if *own {
                    lane.add(b"own\n".to_vec());
                    want.extend(b"own\n");
                }
            }
            let (mut got, mut steps) = (Vec::<u8>::new(), steps.iter().cycle());
            while !lane.is_written() {
                let (slices, count) = lane.slices();
                let all: Vec<u8> = slices[..count].iter().flat_map(|slice| slice.to_vec()).collect();
                let step = all.len().min(*steps.next().unwrap());
                got.extend(&all[..step]);
                lane.wrote(step);
            }
            prop_assert_eq!(got, want);
            prop_assert_eq!(lane.own(), 0);
        }
    }
}
