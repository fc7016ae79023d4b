//! The beginning of a digest, as a host's configuration pins it. Pure.

use std::fmt;
use std::str::FromStr;

use super::Digest;

/// The least that pins anything: what people are shown.
const LEAST: usize = 8;
const WHOLE: usize = 64;

/// 8 to 64 digits of a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestPrefix(String);

impl DigestPrefix {
    /// The whole of a digest: that one alone.
    #[must_use]
    pub fn of(digest: &Digest) -> Self {
        Self(digest.as_str().to_owned())
    }

    /// Whether a digest begins with it.
    #[must_use]
    pub fn begins(&self, digest: &Digest) -> bool {
        digest.as_str().starts_with(&self.0)
    }
}

/// A word that is no beginning of a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a digest is pinned by its first 8 to 64 digits, 0-9 and a-f")]
pub struct PrefixError;

impl FromStr for DigestPrefix {
    type Err = PrefixError;

    fn from_str(word: &str) -> Result<Self, PrefixError> {
        let digits = word.chars().all(|c| c.is_ascii_hexdigit());
        if digits && (LEAST..=WHOLE).contains(&word.len()) {
            Ok(Self(word.to_ascii_lowercase()))
        } else {
            Err(PrefixError)
        }
    }
}

impl fmt::Display for DigestPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_digits_or_more_pin() {
        let digest: Digest = "a1b2c3d4".repeat(8).parse().unwrap();
        for pins in ["a1b2c3d4", "A1B2C3D4a", digest.as_str()] {
            assert!(
                pins.parse::<DigestPrefix>().unwrap().begins(&digest),
                "{pins}"
            );
        }
        assert!(DigestPrefix::of(&digest).begins(&digest));
        assert!(!"a1b2c3d5".parse::<DigestPrefix>().unwrap().begins(&digest));
        for bad in ["", "a1b2c3d", "a1b2c3dg", &"a".repeat(65), " a1b2c3d4"] {
            assert_eq!(bad.parse::<DigestPrefix>(), Err(PrefixError), "{bad}");
        }
    }
}
