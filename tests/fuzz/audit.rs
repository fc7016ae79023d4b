//! A log of any bytes is looked through; one that was written whole is whole, a changed one is not.
//!
//! The input is the text of a file, and, read as numbers, which byte of a whole log is changed.

use jiff::Timestamp;

use super::driver::signature;
use crate::audit::Event;
use crate::audit::event::Run;
use crate::audit::line::Lines;
use crate::audit::verify::{Head, Look, sha256};

pub fn target(input: &[u8]) -> u64 {
    let mut look = Look::new(Head::new());
    look.file("1", input);
    look.end("1");
    let mut ways: Vec<u8> = look
        .damage
        .iter()
        .flat_map(|one| one.what.bytes().take(9))
        .collect();
    ways.push(u8::from(look.damage.is_empty()));
    let (text, head) = log(input);
    let damage = |text: &[u8]| {
        let mut look = Look::new(head.clone());
        look.file("1", text);
        look.end("1");
        look.damage
    };
    assert_eq!(damage(&text), []);
    if let [one, two, with, ..] = input {
        let at = (usize::from(*one) * 256 + usize::from(*two)) % text.len();
        let mut edited = text.clone();
        edited[at] ^= with | 1;
        assert!(
            !damage(&edited).is_empty(),
            "byte {at} was changed by {with}"
        );
        assert!(!damage(&text[..at]).is_empty(), "cut at {at}");
    }
    signature(&ways)
}

/// A log that holds the lines of the input as codes.
fn log(input: &[u8]) -> (Vec<u8>, Head) {
    let run = Run {
        run: "0123456789abcdef".into(),
        alias: "a".into(),
        digest: None,
    };
    let mut written = Lines::of(&run).unwrap();
    let (mut text, mut head) = (Vec::new(), Head::new());
    for code in input.split(|byte| *byte == b'\n').take(8) {
        let code = String::from_utf8_lossy(code).chars().take(64).collect();
        let next = (head.seq + 1, &*head.sha256);
        let event = (&Event::Refused { code }, Timestamp::UNIX_EPOCH);
        let before = text.len();
        written.append(&mut text, event, next).unwrap();
        let line = text[before..].strip_suffix(b"\n").unwrap();
        (head.seq, head.sha256) = (head.seq + 1, sha256(line));
    }
    (text, head)
}
