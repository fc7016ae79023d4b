//! This room's frames and envelopes, for who speaks to a server in a host's place: the one
//! reader of a surface.
//!
//! Pure: bytes go in through [`Peer::room`] and [`Peer::filled`], messages come out of
//! [`Peer::next`]. One parser for what a run relays and for what an inspection reads.

use super::envelope::{self, Message};
use super::frame::{Frame, Inbox, Progress};
use super::stderr::Record;
use super::{Counters, MAX_MESSAGE_BYTES, sanitize};

/// How much of a line that is no message is kept.
const EXCERPT: usize = 400;

/// What a server said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// An answer: the id as JSON where it can be one of ours, and the whole line.
    Answer {
        /// As JSON: `1` is not `"1"`.
        id: Option<String>,
        /// Without its LF.
        line: Vec<u8>,
    },
    /// A request of its own.
    Request {
        /// As JSON.
        id: String,
        /// Its method.
        method: String,
    },
    /// A notification.
    Notice {
        /// Its method.
        method: String,
    },
    /// A line that is no message; its beginning, escaped.
    Junk(String),
    /// A line over [`MAX_MESSAGE_BYTES`], of which nothing was kept.
    TooLong,
}

/// A server's stdout on its way in.
#[derive(Debug)]
pub(crate) struct Peer {
    inbox: Inbox,
}

impl Peer {
    /// Nothing was read.
    pub(crate) fn new() -> Self {
        Self {
            inbox: Inbox::new(MAX_MESSAGE_BYTES),
        }
    }

    /// Where the next bytes are to be read to; never empty.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        self.inbox.room()
    }

    /// So many bytes of it were filled.
    pub(crate) fn filled(&mut self, count: usize) {
        self.inbox.filled(count);
    }

    /// The next message or line; `None` until more is read.
    pub(crate) fn next(&mut self) -> Option<Heard> {
        loop {
            let range = match self.inbox.next()? {
                Frame::Line(range) => range,
                Frame::Long(Progress::Begins) => return Some(Heard::TooLong),
                Frame::Long(_) => continue,
            };
            let text = self.inbox.bytes(range.start..range.end.saturating_sub(1));
            return Some(heard(text));
        }
    }
}

fn heard(line: &[u8]) -> Heard {
    match envelope::read(line) {
        Ok(Message::Response { id, .. }) => Heard::Answer {
            id: id.map(|id| id.json()),
            line: line.to_vec(),
        },
        Ok(Message::Request { id, method, .. }) => Heard::Request {
            id: id.json(),
            method: method.into_owned(),
        },
        Ok(Message::Notification { method, .. }) => Heard::Notice {
            method: method.into_owned(),
        },
        Err(_) => Heard::Junk(sanitize::excerpt(line, EXCERPT)),
    }
}

/// The last of what a server said beside the protocol, in bounded memory.
#[derive(Debug)]
pub(crate) struct Tail(Record);

impl Tail {
    /// Nothing was said.
    pub(crate) fn new() -> Self {
        Self(Record::new(""))
    }

    /// Bytes of its stderr.
    pub(crate) fn stderr(&mut self, bytes: &[u8]) {
        self.0.server(bytes);
        self.0.discard();
    }

    /// A line of its stdout that was no message.
    pub(crate) fn stdout(&mut self, line: &str) {
        self.0.quarantine(line.as_bytes());
    }

    /// A line of ours.
    pub(crate) fn say(&mut self, line: &str) {
        self.0.server(format!("\n{line}\n").as_bytes());
        self.0.discard();
    }

    /// The last lines, escaped.
    pub(crate) fn last(mut self, most: usize) -> Vec<String> {
        self.0.finish(&Counters::default());
        let tail = self.0.into_tail();
        let lines: Vec<&str> = tail.lines().collect();
        let skipped = lines.len().saturating_sub(most);
        lines.into_iter().skip(skipped).map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_out_as_they_went_in() {
        let mut peer = Peer::new();
        let text = b"banner \x1b[1m\n{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}\r\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"roots/list\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n";
        let room = peer.room();
        room[..text.len()].copy_from_slice(text);
        peer.filled(text.len());
        assert_eq!(peer.next(), Some(Heard::Junk(r"banner \u{1b}[1m".into())));
        assert_eq!(
            peer.next(),
            Some(Heard::Answer {
                id: Some("\"1\"".into()),
                line: br#"{"jsonrpc":"2.0","id":"1","result":{}}"#.to_vec(),
            })
        );
        assert_eq!(
            peer.next(),
            Some(Heard::Request {
                id: "7".into(),
                method: "roots/list".into()
            })
        );
        assert_eq!(peer.next(), Some(Heard::Notice { method: "x".into() }));
        assert_eq!(peer.next(), None);
    }

    #[test]
    fn a_tail_is_the_last_of_it() {
        let mut tail = Tail::new();
        for number in 0..100_000 {
            tail.stderr(format!("line {number}\n").as_bytes());
        }
        tail.stdout("banner");
        tail.stderr(b"half");
        assert_eq!(tail.last(2), ["(stdout) banner", "half"]);
    }
}
