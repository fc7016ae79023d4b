//! Passes over JSON once, and shows where its parts are.
//!
//! Pure, and no copy. A reader that wants a few members of a large message needs the rest only to
//! be JSON (RFC 8259), and to know where it ends: strings go by many bytes at a time, nesting costs
//! a bit a level and no stack. What it takes is what `serde_json` takes, which a test holds it to.

use std::borrow::Cow;

use super::wide;

/// It is no JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotJson;

/// A place in a text.
#[derive(Debug)]
pub(super) struct Scan<'a> {
    text: &'a str,
    at: usize,
    returned: bool,
}

impl<'a> Scan<'a> {
    /// At the beginning of a text.
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            returned: false,
        }
    }

    /// The first byte of what comes next, space passed over.
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = self.byte()?;
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Some(byte);
            }
            self.returned |= byte == b'\r';
            self.at += 1;
        }
    }

    /// Whether a carriage return was among the space passed over.
    pub(super) fn returned(&self) -> bool {
        self.returned
    }

    /// Nothing but space is left.
    pub(super) fn end(&mut self) -> Result<(), NotJson> {
        self.peek().map_or(Ok(()), |_| Err(NotJson))
    }

    /// Passes over the next value; as it is written.
    pub(super) fn value(&mut self) -> Result<&'a str, NotJson> {
        self.peek();
        let from = self.at;
        let mut nest = Nest::default();
        loop {
            let opened = self.part(&mut nest)?;
            if opened {
                continue;
            }
            // A value has ended: what it stands in goes on, or ends too.
            loop {
                let Some(object) = nest.innermost() else {
                    return self.text.get(from..self.at).ok_or(NotJson);
                };
                match (self.peek(), object) {
                    (Some(b','), true) => {
                        self.at += 1;
                        self.name()?;
                        break;
                    }
                    (Some(b','), false) => {
                        self.at += 1;
                        break;
                    }
                    (Some(b'}'), true) | (Some(b']'), false) => {
                        self.at += 1;
                        nest.leave();
                    }
                    _ => return Err(NotJson),
                }
            }
        }
    }

    /// Passes over the next value as [`Scan::value`] does. Where it is an object, `member` is given
    /// each member's name as it is written, at its value, which it is to pass over.
    pub(super) fn members(
        &mut self,
        mut member: impl FnMut(&mut Self, &'a str) -> Result<(), NotJson>,
    ) -> Result<&'a str, NotJson> {
        if self.peek() != Some(b'{') {
            return self.value();
        }
        let from = self.at;
        self.at += 1;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return self.text.get(from..self.at).ok_or(NotJson);
        }
        loop {
            let name = self.name()?;
            member(self, name)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return self.text.get(from..self.at).ok_or(NotJson);
                }
                _ => return Err(NotJson),
            }
        }
    }

    /// Passes over the next value likewise. Where it is an array, `element` is given each element.
    pub(super) fn elements(&mut self, mut element: impl FnMut(&'a str)) -> Result<(), NotJson> {
        if self.peek() != Some(b'[') {
            return self.value().map(drop);
        }
        self.at += 1;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            element(self.value()?);
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(NotJson),
            }
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// A member's name and its colon; the name as it is written.
    fn name(&mut self) -> Result<&'a str, NotJson> {
        if self.peek() != Some(b'"') {
            return Err(NotJson);
        }
        let name = self.string()?;
        if self.peek() != Some(b':') {
            return Err(NotJson);
        }
        self.at += 1;
        Ok(name)
    }

    /// Passes over a scalar, an empty array or object, or the beginning of one that is not empty:
    /// then true, and a value comes next.
    fn part(&mut self, nest: &mut Nest) -> Result<bool, NotJson> {
        match self.peek() {
            Some(b'"') => self.string().map(|_| false),
            Some(b'{') => {
                self.at += 1;
                if self.peek() == Some(b'}') {
                    self.at += 1;
                    return Ok(false);
                }
                nest.enter(true);
                self.name()?;
                Ok(true)
            }
            Some(b'[') => {
                self.at += 1;
                if self.peek() == Some(b']') {
                    self.at += 1;
                    return Ok(false);
                }
                nest.enter(false);
                Ok(true)
            }
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(NotJson),
        }
    }

    fn word(&mut self, word: &str) -> Result<bool, NotJson> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return Err(NotJson);
        }
        self.at += word.len();
        Ok(false)
    }

    fn number(&mut self) -> Result<bool, NotJson> {
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        if self.byte() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.byte(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(false)
    }

    fn digits(&mut self) -> Result<(), NotJson> {
        let from = self.at;
        while self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == from {
            Err(NotJson)
        } else {
            Ok(())
        }
    }

    /// A string, its quotes included.
    fn string(&mut self) -> Result<&'a str, NotJson> {
        let from = self.at;
        self.at += 1;
        loop {
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            self.at += plain(rest);
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return self.text.get(from..self.at).ok_or(NotJson);
                }
                Some(b'\\') => self.escape()?,
                _ => return Err(NotJson),
            }
        }
    }

    fn escape(&mut self) -> Result<(), NotJson> {
        self.at += 1;
        let byte = self.byte().ok_or(NotJson)?;
        self.at += 1;
        match byte {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(()),
            b'u' => {
                let digits = self.text.as_bytes().get(self.at..self.at + 4);
                let digits = digits.ok_or(NotJson)?;
                self.at += 4;
                let hex = digits.iter().all(u8::is_ascii_hexdigit);
                if hex { Ok(()) } else { Err(NotJson) }
            }
            _ => Err(NotJson),
        }
    }
}

/// How many bytes from the first on are characters of a string that stand for themselves.
fn plain(bytes: &[u8]) -> usize {
    wide::before(bytes, |byte| {
        (byte < 0x20) | (byte == b'"') | (byte == b'\\')
    })
}

/// The characters of a JSON string, borrowed where nothing is escaped. No JSON where an escape
/// stands for half a character.
pub(super) fn characters(string: &str) -> Result<Cow<'_, str>, NotJson> {
    let inner = match string.as_bytes() {
        [b'"', .., b'"'] => string.get(1..string.len() - 1),
        _ => None,
    }
    .ok_or(NotJson)?;
    let is_plain = plain(inner.as_bytes()) == inner.len();
    if !is_plain && inner.contains('\\') {
        return serde_json::from_str(string)
            .map(Cow::Owned)
            .map_err(|_| NotJson);
    }
    Ok(Cow::Borrowed(inner))
}

/// The arrays and objects around a place: a bit each, set for an object.
#[derive(Debug, Default)]
struct Nest {
    /// The innermost ones, the last in the lowest bit.
    bits: u64,
    depth: usize,
    /// Sixty-four further out each.
    outer: Vec<u64>,
}

impl Nest {
    fn enter(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.bits);
        }
        self.bits = self.bits << 1 | u64::from(object);
        self.depth += 1;
    }

    /// Whether the innermost one is an object; `None` at the top.
    fn innermost(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.bits & 1 == 1)
    }

    fn leave(&mut self) {
        self.bits >>= 1;
        self.depth = self.depth.saturating_sub(1);
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.bits = self.outer.pop().unwrap_or_default();
        }
    }
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
