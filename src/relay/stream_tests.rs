//! Both directions at once, as the loop drives them: whatever the interleaving and the sizes of reads and
//! writes, what comes out is what went in.

use proptest::prelude::*;

use super::frame::Frame;
use super::gate::tests::{listed, moment, settings};
use super::gate::{Gate, Step};
use super::lane::Lane;

/// A side of the relay: what is still to be read of a writer, and what its reader got.
struct Side {
    lane: Lane,
    unread: Vec<u8>,
    got: Vec<u8>,
}

impl Side {
    fn new(text: &str) -> Self {
        Self {
            lane: Lane::new(1_000),
            unread: text.bytes().collect(),
            got: Vec::new(),
        }
    }

    fn read(&mut self, size: usize) {
        let Some(room) = self.lane.room() else { return };
        let count = size.min(room.len()).min(self.unread.len());
        room[..count].copy_from_slice(&self.unread[..count]);
        self.lane.filled(count);
        self.unread.drain(..count);
    }

    fn write(&mut self, size: usize) {
        let (slices, count) = self.lane.slices();
        let all: Vec<u8> = slices[..count]
            .iter()
            .flat_map(|slice| slice.to_vec())
            .collect();
        let size = size.min(all.len());
        self.got.extend(&all[..size]);
        self.lane.wrote(size);
    }

    fn is_done(&self) -> bool {
        self.unread.is_empty() && self.lane.is_written() && self.lane.inbox().is_exhausted()
    }
}

/// Judges what a side has read; what the other side is told goes to its lane.
fn judge(from: &mut Side, other: &mut Side, gate: &mut Gate, host: bool) {
    while let Some(frame) = from.lane.next() {
        let Frame::Line(range) = frame else { continue };
        let text = from.lane.inbox().bytes(range.start..range.end - 1).to_vec();
        let step = if host {
            gate.host_line(&text)
        } else {
            gate.server_line(&text)
        };
        match step {
            Step::Forward => from.lane.forward(range),
            Step::Skip => {}
            Step::Withhold(withheld) if host => {
                from.lane.add(withheld.to_server);
                other.lane.add(withheld.to_host);
            }
            Step::Withhold(withheld) => {
                from.lane.add(withheld.to_host);
                other.lane.add(withheld.to_server);
            }
        }
    }
}

/// What reached the server, and the host.
fn played(up: &str, down: &str, turns: &[(u8, usize)]) -> (Vec<u8>, Vec<u8>) {
    let (mut up, mut down) = (Side::new(up), Side::new(down));
    let mut gate = listed(Gate::new(&settings(), moment()));
    // The host's first, so that what the server answers was asked.
    for (what, size) in turns.iter().cycle() {
        match what % 6 {
            0 | 1 => up.read(*size),
            2 => up.write(*size),
            3 if up.unread.is_empty() && up.lane.inbox().is_exhausted() => down.read(*size),
            4 => down.write(*size),
            _ => {
                judge(&mut up, &mut down, &mut gate, true);
                judge(&mut down, &mut up, &mut gate, false);
            }
        }
        if up.is_done() && down.is_done() {
            return (up.got, down.got);
        }
    }
    unreachable!("the turns go round")
}

fn message() -> impl Strategy<Value = (String, bool)> {
    // With what is to reach the other side, and what is not.
    prop_oneof![
        4 => "[a-z]{0,60}".prop_map(|text| (format!(r#" {{"jsonrpc":"2.0","method":"x","params":["{text}",1.0]}} "#), true)),
        1 => Just((String::new(), false)),
        1 => Just((r#"{"jsonrpc":"2.0","id":"nobody","result":{}}"#.to_owned(), false)),
        1 => Just((r#"{"jsonrpc":"2.0","method":"a","method":"b"}"#.to_owned(), false)),
    ]
}

proptest! {
    #[test]
    fn whatever_the_interleaving_what_passes_is_the_same(
        ups in proptest::collection::vec((message(), any::<bool>()), 0..12),
        downs in proptest::collection::vec((message(), any::<bool>()), 0..12),
        calls in 0usize..9,
        turns in proptest::collection::vec((any::<u8>(), 1usize..200), 0..30),
    ) {
        let mut turns = turns;
        // Each thing happens now and then.
        turns.extend((0..6).map(|what| (what, 64)));
        let (mut up, mut down, mut at_server, mut at_host) = (String::new(), String::new(), String::new(), String::new());
        for id in 0..calls {
            let call = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"go\"}}}}\n");
            let answer = format!("{{\"result\" :{{\"n\":{id}}},\"jsonrpc\":\"2.0\",\"id\":{id}}}\n");
            up.push_str(&call);
            at_server.push_str(&call);
            down.push_str(&answer);
            at_host.push_str(&answer);
        }
        for (texts, stream, out) in [(&ups, &mut up, &mut at_server), (&downs, &mut down, &mut at_host)] {
            for ((text, passes), cr) in texts {
                stream.push_str(&format!("{text}{}\n", if *cr { "\r" } else { "" }));
                if *passes {
                    out.push_str(&format!("{text}\n"));
                }
            }
        }
        let (server, host) = played(&up, &down, &turns);
        prop_assert_eq!(String::from_utf8(server).unwrap(), at_server);
        // Errors of ours about what the host wrote wrong stand between, each a whole line.
        let host = String::from_utf8(host).unwrap();
        let passed: String = host.split_inclusive('\n').filter(|line| !line.contains(r#""error":{"code":-32"#)).collect();
        prop_assert_eq!(passed, at_host);
        let wrong = ups.iter().filter(|((text, _), _)| text.contains(r#""method":"b""#)).count();
        prop_assert_eq!(host.matches(r#""error":{"code":-32"#).count(), wrong);
    }
}
