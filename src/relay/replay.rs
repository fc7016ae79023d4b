//! The host's own first words, for a server of the legacy era that is started again.
//!
//! Pure. Kept are the host's `initialize`, the result it got and its `notifications/initialized`.
//! The words are said again byte for byte; the answer must be the same, or the host would speak
//! to another server than it thinks.

use std::time::Duration;

use serde_json::Value;

use super::envelope::Id;

/// The longest line that is kept; hosts introduce themselves in a few hundred bytes.
const LONGEST: usize = 65_536;
/// The wait before a server is started again that died this often without an answer between.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// What can be said again.
#[derive(Debug, Default)]
pub(super) struct Replay {
    hello: Option<Hello>,
    /// Said again, and not answered yet.
    under_way: bool,
}

#[derive(Debug)]
struct Hello {
    line: Vec<u8>,
    id: Id,
    answer: Option<Value>,
    initialized: Option<Vec<u8>>,
}

impl Replay {
    /// The host's `initialize` is passed on.
    pub(super) fn hello(&mut self, line: &[u8], id: &Id) {
        self.under_way = false;
        self.hello = (line.len() <= LONGEST).then(|| Hello {
            line: with_end(line),
            id: id.clone(),
            answer: None,
            initialized: None,
        });
    }

    /// The answer to it, if this is one.
    pub(super) fn answered(&mut self, line: &[u8], id: &Id) {
        if let Some(hello) = self.hello.as_mut().filter(|hello| hello.id == *id)
            && hello.answer.is_none()
        {
            hello.answer = result(line);
        }
    }

    /// The host's `notifications/initialized` is passed on.
    pub(super) fn initialized(&mut self, line: &[u8]) {
        if let Some(hello) = self.hello.as_mut().filter(|_| line.len() <= LONGEST) {
            hello.initialized = Some(with_end(line));
        }
    }

    /// Whether there is what a new server can be told.
    pub(super) fn is_ready(&self) -> bool {
        self.hello
            .as_ref()
            .is_some_and(|hello| hello.answer.is_some())
    }

    /// Whether they were said again and not answered yet.
    pub(super) fn is_under_way(&self) -> bool {
        self.under_way
    }

    /// The first words, to be said again.
    pub(super) fn begin(&mut self) -> Option<Vec<u8>> {
        let hello = self.hello.as_ref().filter(|hello| hello.answer.is_some())?;
        self.under_way = true;
        Some(hello.line.clone())
    }

    /// Whether an answer of that id is the one to the words said again.
    pub(super) fn awaits(&self, id: &Id) -> bool {
        self.under_way && self.hello.as_ref().is_some_and(|hello| hello.id == *id)
    }

    /// The answer to the words said again: what is said next, or that it is another one.
    pub(super) fn compare(&mut self, line: &[u8]) -> Result<Vec<u8>, Differs> {
        self.under_way = false;
        let hello = self.hello.as_ref().ok_or(Differs)?;
        if hello.answer.is_some() && result(line) == hello.answer {
            Ok(hello.initialized.clone().unwrap_or_default())
        } else {
            Err(Differs)
        }
    }
}

/// A server that answers otherwise than before.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Differs;

fn with_end(line: &[u8]) -> Vec<u8> {
    [line, b"\n"].concat()
}

/// The result in an answer; `None` for an error, and for what is nested too deep to compare.
fn result(line: &[u8]) -> Option<Value> {
    let mut value: Value = serde_json::from_slice(line).ok()?;
    value.as_object_mut()?.remove("result")
}

/// How long to wait before the start that follows so many deaths in a row.
pub(super) fn wait(deaths: u32) -> Duration {
    let doublings = deaths.saturating_sub(2).min(16);
    match deaths {
        0 | 1 => Duration::ZERO,
        _ => FIRST_WAIT
            .saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX))
            .min(LONGEST_WAIT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: &[u8] = br#"{"jsonrpc":"2.0","id":0,"method":"initialize" }"#;

    fn id() -> Id {
        Id::Integer("0".into())
    }

    fn met() -> Replay {
        let mut replay = Replay::default();
        replay.hello(HELLO, &id());
        replay.answered(
            br#"{"jsonrpc":"2.0","id":0,"result":{"a":1,"b":[2]}}"#,
            &id(),
        );
        replay
    }

    #[test]
    fn the_words_are_the_hosts_own() {
        let mut replay = met();
        replay.initialized(b"{ }");
        assert_eq!(replay.begin().unwrap(), [HELLO, b"\n"].concat());
        assert!(replay.awaits(&id()) && !replay.awaits(&Id::Text("0".into())));
        let same = br#"{"id":0,"result":{"b":[2],"a":1},"jsonrpc":"2.0"}"#;
        assert_eq!(replay.compare(same), Ok(b"{ }\n".to_vec()));
        assert!(!replay.awaits(&id()));
    }

    #[test]
    fn another_answer_is_another_server() {
        for other in [
            r#"{"jsonrpc":"2.0","id":0,"result":{"a":1,"b":[3]}}"#,
            r#"{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":""}}"#,
        ] {
            let mut replay = met();
            replay.begin().unwrap();
            assert_eq!(replay.compare(other.as_bytes()), Err(Differs));
        }
    }

    #[test]
    fn without_an_answer_there_is_nothing_to_compare() {
        let mut replay = Replay::default();
        assert!(!replay.is_ready() && replay.begin().is_none());
        replay.hello(HELLO, &id());
        replay.answered(
            br#"{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":""}}"#,
            &id(),
        );
        assert!(!replay.is_ready());
        replay.hello(&[b' '; LONGEST + 1], &id());
        assert!(!replay.is_ready(), "too long to keep");
    }

    #[test]
    fn the_waits_grow_and_end() {
        let waits: Vec<u64> = (0..10)
            .map(|deaths| wait(deaths).as_millis().try_into().unwrap())
            .collect();
        assert_eq!(
            waits,
            [
                0, 0, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000
            ]
        );
        assert_eq!(wait(u32::MAX), LONGEST_WAIT);
    }
}
