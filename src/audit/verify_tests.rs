use jiff::Timestamp;
use proptest::prelude::*;

use super::super::event::{Event, Run};
use super::super::line::Lines;
use super::*;

/// A log of so many lines, and its head.
fn log(lines: u64) -> (Vec<u8>, Head) {
    let run = Run {
        run: "0123456789abcdef".into(),
        alias: "a".into(),
        digest: None,
    };
    let mut written = Lines::of(&run).unwrap();
    let (mut text, mut head) = (Vec::new(), Head::new());
    for number in 1..=lines {
        let event = Event::Refused {
            code: format!("c{number}"),
        };
        let before = text.len();
        let (event, next) = ((&event, Timestamp::UNIX_EPOCH), (number, &*head.sha256));
        written.append(&mut text, event, next).unwrap();
        head.sha256 = sha256(&text[before..text.len() - 1]);
        head.seq = number;
    }
    head.bytes = u64::try_from(text.len()).unwrap();
    (text, head)
}

fn look(texts: &[&[u8]], head: &Head) -> Vec<Damage> {
    let mut look = Look::new(head.clone());
    for (index, text) in texts.iter().enumerate() {
        look.file(&format!("{}", index + 1), text);
    }
    look.end("last");
    look.damage
}

fn lines(text: &[u8]) -> Vec<Vec<u8>> {
    text.split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect()
}

#[test]
fn a_whole_log_is_whole_wherever_it_is_divided() {
    let (text, head) = log(9);
    let all = lines(&text);
    for at in 0..=9 {
        let (one, two) = (all[..at].concat(), all[at..].concat());
        assert_eq!(look(&[&one, &two], &head), []);
    }
    assert_eq!(look(&[], &Head::new()), []);
    // One that was written after the head was read.
    let (longer, _) = log(10);
    assert_eq!(look(&[&longer], &head), []);
}

#[test]
fn what_was_cut_is_named() {
    let (text, head) = log(5);
    let all = lines(&text);
    let cut = look(&[&all[..3].concat()], &head);
    assert_eq!((cut.len(), &*cut[0].file, cut[0].line), (1, "last", 3));
    assert!(
        cut[0].what.contains("ends with line 3, and 5"),
        "{}",
        cut[0].what
    );
    let missing = look(&[&[all[..2].concat(), all[3..].concat()].concat()], &head);
    assert_eq!((missing.len(), missing[0].line), (1, 3));
    let beheaded = look(&[&all[1..].concat()], &head);
    assert!(
        beheaded[0].what.contains("begins with line 2"),
        "{beheaded:?}"
    );
    let half = look(&[&text[..text.len() - 5]], &head);
    assert!(half[0].what.contains("ends within this line"), "{half:?}");
    assert_eq!(look(&[b""], &head).len(), 1);
}

#[test]
fn what_rotation_removed_is_not_missed() {
    let (text, mut head) = log(5);
    head.first = 3;
    assert_eq!(look(&[&lines(&text)[2..].concat()], &head), []);
}

proptest! {
    /// Whatever byte is changed, something is wrong, and it is named at that line or beside it.
    #[test]
    fn a_changed_byte_is_found(at in 0usize..2_000, to in any::<u8>()) {
        let (text, head) = log(8);
        let at = at % text.len();
        prop_assume!(text[at] != to);
        let mut edited = text.clone();
        edited[at] = to;
        let damage = look(&[&edited], &head);
        prop_assert!(!damage.is_empty());
        let line = text[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        prop_assert!(damage.iter().any(|one| one.line.abs_diff(line) <= 1), "{line}: {damage:?}");
    }
}
