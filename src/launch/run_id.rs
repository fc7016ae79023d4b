//! What one run is called: in its receipt, and wherever else something is written of it.

use std::fmt;
use std::io;
use std::str::FromStr;

use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Random bytes that nobody else knows.
///
/// # Errors
/// There are none to be had.
pub(crate) fn secret() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    // As below: whole, or an error.
    if getrandom(&mut bytes, GetRandomFlags::empty())? == bytes.len() {
        Ok(bytes)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// Sixteen lower-case hex digits that no other run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunId(u64);

impl RunId {
    /// A new one, from the system's random numbers.
    ///
    /// # Errors
    /// There are none to be had.
    pub(crate) fn new() -> io::Result<Self> {
        let mut bytes = [0; 8];
        // Not interrupted and never short up to 256 bytes (getrandom(2)).
        if getrandom(&mut bytes, GetRandomFlags::empty())? == bytes.len() {
            Ok(Self(u64::from_ne_bytes(bytes)))
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A word that names no run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no run is called so: sixteen lower-case hex digits")]
pub struct NotARunId;

impl FromStr for RunId {
    type Err = NotARunId;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        if word.len() != 16 || !word.chars().all(digit) {
            return Err(NotARunId);
        }
        u64::from_str_radix(word, 16)
            .map(Self)
            .map_err(|_| NotARunId)
    }
}

impl Serialize for RunId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RunId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        word.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_back_and_is_new_each_time() {
        let id = RunId::new().unwrap();
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(id.to_string().len(), 16);
        assert_ne!(id, RunId::new().unwrap());
        assert_eq!("00000000000000ff".parse(), Ok(RunId(255)));
        for bad in [
            "",
            "ff",
            "00000000000000FF",
            "+0000000000000ff",
            "00000000000000ff0",
        ] {
            assert_eq!(bad.parse::<RunId>(), Err(NotARunId), "{bad}");
        }
    }
}
