//! The name of one run: what its receipt, its audit events and its log lines share.
//!
//! Pure but for the numbers, which the system makes.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};

use serde::Serialize;

/// 16 lower-case hexadecimal digits, random: two runs at once differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct RunId(String);

impl RunId {
    /// A new one.
    #[must_use]
    pub fn new() -> Self {
        // Keyed anew for each value, from the system's random numbers.
        Self(format!(
            "{:016x}",
            RandomState::new().build_hasher().finish()
        ))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_sixteen_digits_and_differ() {
        let (one, two) = (RunId::new(), RunId::new());
        assert_ne!(one, two);
        for id in [one, two] {
            assert_eq!(id.0.len(), 16);
            assert!(
                id.0.bytes()
                    .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
            );
        }
    }
}
