//! However a stream is cut into reads, the lines are those of its definition.
//!
//! The first byte is the cap, the second and third the sizes of the reads; the rest is the stream.

use super::super::frame::{Frame, Inbox, Progress};
use super::driver::signature;

#[derive(Debug, PartialEq)]
enum Got {
    Line(Vec<u8>),
    Long,
}

pub fn target(input: &[u8]) -> u64 {
    let [cap, one, two, stream @ ..] = input else {
        return 0;
    };
    let cap = usize::from(*cap);
    let expected = expected(stream, cap);
    for sizes in [
        [usize::from(*one) + 1, usize::from(*two) + 1],
        [1, 1],
        [stream.len() + 1, 1],
    ] {
        let (got, inbox) = split(stream, cap, sizes);
        assert_eq!(got, expected, "read by {sizes:?}");
        assert!(inbox.is_exhausted());
    }
    let ways: Vec<u8> = expected
        .iter()
        .map(|got| match got {
            Got::Line(line) => u8::try_from(line.len().min(9)).unwrap(),
            Got::Long => 99,
        })
        .collect();
    signature(&ways)
}

fn split(stream: &[u8], cap: usize, sizes: [usize; 2]) -> (Vec<Got>, Inbox) {
    let (mut inbox, mut got, mut rest) = (Inbox::new(cap), Vec::new(), stream);
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let room = inbox.room();
        assert!(!room.is_empty());
        let count = room.len().min(*size).min(rest.len());
        room[..count].copy_from_slice(&rest[..count]);
        inbox.filled(count);
        rest = &rest[count..];
        while let Some(frame) = inbox.next() {
            match frame {
                Frame::Line(range) => got.push(Got::Line(inbox.bytes(range).to_vec())),
                Frame::Long(Progress::Ends) => got.push(Got::Long),
                Frame::Long(_) => {}
            }
        }
    }
    (got, inbox)
}

/// The definition, without buffers.
fn expected(stream: &[u8], cap: usize) -> Vec<Got> {
    let mut lines: Vec<&[u8]> = stream.split(|byte| *byte == b'\n').collect();
    lines.pop();
    let frame = |line: &[u8]| {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > cap {
            Got::Long
        } else {
            Got::Line([line, b"\n"].concat())
        }
    };
    lines.into_iter().map(frame).collect()
}
