//! Looks for the id in a line that cannot be read as a message: over the cap, no UTF-8, no JSON,
//! a member twice.
//!
//! Pure, and of constant memory: bytes go by in any portions, and what is kept is the names and
//! ids at the top of the object. It believes nothing else of the line; what it finds is only used
//! to answer, with an error, a request that would wait for ever otherwise.

use super::envelope::{Id, MAX_ID_BYTES};

/// More ids than this in one line are not kept.
const MAX_IDS: usize = 8;
/// The longest spelling of a member's name that can be one of ours, all of it escaped.
const MAX_NAME_BYTES: usize = 64;

/// What a line seems to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Likeness {
    /// It has `method` or `params`.
    Request,
    /// It has `result` or `error`.
    Response,
    /// It is an object of which no more is known.
    Unknown,
    /// It does not begin as an object.
    NoObject,
}

/// Where the reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first character.
    Start,
    /// In the object, before a member's name.
    Between,
    /// In a member's name.
    Name,
    /// Between a name and its value.
    Colon,
    /// In a value that is not wanted, at the top: outside strings, in one.
    Value,
    Text,
    /// In the value of `id`: a string, or anything else.
    IdText,
    IdPlain,
    /// Nothing more to find.
    Done,
}

/// A reader that never fails.
#[derive(Debug, Clone)]
pub(super) struct Salvage {
    state: State,
    /// Arrays and objects that are open below the top.
    depth: usize,
    escaped: bool,
    /// The name or id that is being read, as written.
    word: Vec<u8>,
    wants_id: bool,
    object: bool,
    request: bool,
    response: bool,
    ids: Vec<Id>,
}

impl Default for Salvage {
    fn default() -> Self {
        Self {
            state: State::Start,
            depth: 0,
            escaped: false,
            word: Vec::new(),
            wants_id: false,
            object: false,
            request: false,
            response: false,
            ids: Vec::new(),
        }
    }
}

impl Salvage {
    /// What a whole line tells.
    pub(super) fn of(line: &[u8]) -> Self {
        let mut salvage = Self::default();
        salvage.feed(line);
        salvage
    }

    /// The ids found, in the order of the line.
    pub(super) fn ids(&self) -> &[Id] {
        &self.ids
    }

    /// What the line seems to be. One that is both is a request.
    pub(super) fn likeness(&self) -> Likeness {
        match (self.state, self.object, self.request, self.response) {
            (State::Start, ..) | (_, false, ..) => Likeness::NoObject,
            (_, _, true, _) => Likeness::Request,
            (_, _, _, true) => Likeness::Response,
            _ => Likeness::Unknown,
        }
    }

    /// The next bytes of the line.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.state == State::Done {
                return;
            }
            self.step(*byte);
        }
    }

    fn step(&mut self, byte: u8) {
        match self.state {
            State::Start => self.start(byte),
            State::Between => match byte {
                b'"' => {
                    self.word = vec![b'"'];
                    self.state = State::Name;
                }
                b'}' => self.state = State::Done,
                _ => {}
            },
            State::Name => {
                if self.string(byte, MAX_NAME_BYTES) {
                    self.name();
                }
            }
            State::Colon => self.colon(byte),
            State::Value => self.value(byte),
            State::Text => {
                if self.string(byte, 0) {
                    self.state = State::Value;
                }
            }
            State::IdText => {
                if self.string(byte, MAX_ID_BYTES) {
                    self.id();
                    self.state = State::Value;
                }
            }
            State::IdPlain => self.plain(byte),
            State::Done => {}
        }
    }

    fn start(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' | b'\r' | 0xef | 0xbb | 0xbf => {}
            b'{' => {
                self.object = true;
                self.state = State::Between;
            }
            _ => self.state = State::Done,
        }
    }

    /// A byte inside a string, kept while it is not longer than `most`; true at its end.
    fn string(&mut self, byte: u8, most: usize) -> bool {
        if self.word.len() <= most {
            self.word.push(byte);
        }
        let ends = byte == b'"' && !self.escaped;
        self.escaped = byte == b'\\' && !self.escaped;
        ends
    }

    fn colon(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' | b'\r' | b':' => {}
            b'"' if self.wants_id => {
                self.word = vec![b'"'];
                self.state = State::IdText;
            }
            b'-' | b'0'..=b'9' if self.wants_id => {
                self.word = vec![byte];
                self.state = State::IdPlain;
            }
            _ => {
                self.state = State::Value;
                self.value(byte);
            }
        }
    }

    fn value(&mut self, byte: u8) {
        match byte {
            b'"' => {
                self.word.clear();
                self.state = State::Text;
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' if self.depth > 0 => self.depth -= 1,
            b'}' => self.state = State::Done,
            b',' if self.depth == 0 => self.state = State::Between,
            _ => {}
        }
    }

    fn plain(&mut self, byte: u8) {
        match byte {
            b',' | b'}' | b' ' | b'\t' | b'\r' => {
                self.id();
                self.state = State::Value;
                self.value(byte);
            }
            _ if self.word.len() <= MAX_ID_BYTES => self.word.push(byte),
            _ => {}
        }
    }

    fn name(&mut self) {
        let name: Option<String> = serde_json::from_slice(&self.word).ok();
        self.wants_id = name.as_deref() == Some("id");
        match name.as_deref() {
            Some("method" | "params") => self.request = true,
            Some("result" | "error") => self.response = true,
            _ => {}
        }
        self.state = State::Colon;
    }

    fn id(&mut self) {
        let id = std::str::from_utf8(&self.word).ok().and_then(Id::read);
        if let Some(id) = id
            && self.ids.len() < MAX_IDS
            && !self.ids.contains(&id)
        {
            self.ids.push(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::envelope::{Message, read};
    use super::*;
    use proptest::prelude::*;

    fn ids(line: &str) -> Vec<String> {
        Salvage::of(line.as_bytes())
            .ids()
            .iter()
            .map(Id::json)
            .collect()
    }

    #[test]
    fn ids_at_the_top_are_found_wherever_they_stand() {
        assert_eq!(ids(r#"{"jsonrpc":"2.0","id":3,"result":{"id":4}}"#), ["3"]);
        assert_eq!(
            ids(r#"{"result":{"id":4,"a":["}","\"id\":5"]},"id" : "x\u0041" }"#),
            [r#""xA""#]
        );
        assert_eq!(ids(r#"{"id":999,"id":3,"result":1}"#), ["999", "3"]);
        assert_eq!(ids(r#"{"\u0069d":1,"method":"x"#), ["1"]);
        assert!(ids(r#"{"id":1.5,"a":null}"#).is_empty());
        assert!(
            ids(r#"{"jsonrpc":"2.0","id":80"#).is_empty(),
            "an id that may go on is none"
        );
        assert!(ids(r#"[{"id":1}]"#).is_empty());
    }

    #[test]
    fn what_it_seems_to_be() {
        let likeness = |line: &[u8]| Salvage::of(line).likeness();
        assert_eq!(likeness(br#"{"method":"#), Likeness::Request);
        assert_eq!(
            likeness(br#"  {"id":1,"result":{"method":1}"#),
            Likeness::Response
        );
        assert_eq!(likeness(br#"{"id":1,"x":"#), Likeness::Unknown);
        assert_eq!(likeness(b"xxxx"), Likeness::NoObject);
        assert_eq!(likeness(b""), Likeness::NoObject);
        assert_eq!(likeness(b"\xef\xbb\xbf{"), Likeness::Unknown);
    }

    proptest! {
        #[test]
        fn portions_do_not_matter(
            line in r#"[{}\[\]"\\:, a-z0-9]{0,80}|\{"id":[0-9"\\]{1,4},.{0,20}"#, at in 0usize..100,
        ) {
            let bytes = line.as_bytes();
            let (head, tail) = bytes.split_at(at.min(bytes.len()));
            let mut salvage = Salvage::of(head);
            salvage.feed(tail);
            let whole = Salvage::of(bytes);
            prop_assert_eq!(salvage.ids(), whole.ids());
            prop_assert_eq!(salvage.likeness(), whole.likeness());
        }

        #[test]
        fn a_readable_message_has_the_id_that_is_found(
            id in prop_oneof!["[1-9][0-9]{0,20}", r#""[ -!#-\[\]-~]{0,20}""#], first in any::<bool>(),
            result in r#"\{"a":("[a-z{}]{0,9}"|\[1,\{\}\]|null)\}"#,
        ) {
            let line = if first {
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
            } else {
                format!(r#"{{"result":{result}, "jsonrpc":"2.0" ,"id": {id} }}"#)
            };
            let salvage = Salvage::of(line.as_bytes());
            let Ok(Message::Response { id: Some(id), .. }) = read(line.as_bytes()) else {
                return Err(TestCaseError::fail(line));
            };
            prop_assert_eq!(salvage.ids(), &[id]);
        }
    }
}
