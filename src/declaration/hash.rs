//! Hashes with a name each, so that none stands in for another. Pure.
//!
//! Each is over its own domain, a line, and canonical JSON (RFC 8785).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::text;

/// A word that is no digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a digest is 64 lower-case hexadecimal digits")]
pub struct NotADigest;

macro_rules! digest {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// All 64 digits.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NotADigest;

            fn from_str(word: &str) -> Result<Self, NotADigest> {
                let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
                if word.len() == 64 && word.bytes().all(digit) {
                    Ok(Self(word.to_owned()))
                } else {
                    Err(NotADigest)
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = String::deserialize(deserializer)?;
                word.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

digest! {
    /// The hash of what is started: transport, command line, URL, names of variables, directory.
    /// The private home goes by it, so that a widening keeps its caches.
    LaunchDigest
}

digest! {
    /// The hash of all a declaration would do; what an approval is given to.
    Digest
}

digest! {
    /// The hash of all a server says about itself; what the second yes is given to.
    SurfaceDigest
}

digest! {
    /// The hash of one item of a surface: its pin.
    ItemDigest
}

impl SurfaceDigest {
    /// Over the canonical form of the sorted list of pins.
    #[must_use]
    pub(crate) fn of(pins: &Value) -> Self {
        Self(hash("supervisor surface v1\n", pins))
    }

    /// The first 8 digits, as people are shown it.
    #[must_use]
    pub fn short(&self) -> &str {
        self.as_str().get(..8).unwrap_or_default()
    }
}

impl ItemDigest {
    /// Over the canonical form of `{"kind", "name", "item"}`.
    #[must_use]
    pub(crate) fn of(item: &Value) -> Self {
        Self(hash("supervisor surface item v1\n", item))
    }
}

impl Digest {
    /// Over the canonical form of a declaration.
    #[must_use]
    pub(super) fn of(form: &Value) -> Self {
        Self(hash("supervisor declaration v1\n", form))
    }

    /// The first 8 digits, as people are shown it.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.get(..8).unwrap_or(&self.0)
    }

    /// The first 16 digits: what folders in the state directory are called by it.
    #[must_use]
    pub fn first_16(&self) -> &str {
        self.as_str().get(..16).unwrap_or_default()
    }
}

impl LaunchDigest {
    /// Over the canonical form of what is started.
    #[must_use]
    pub(super) fn of(form: &Value) -> Self {
        Self(hash("supervisor launch v1\n", form))
    }

    /// The first 16 digits: the name of the private home, short because servers bind Unix
    /// sockets below it and `sun_path` holds 107 bytes.
    #[must_use]
    pub fn home_name(&self) -> &str {
        self.0.get(..16).unwrap_or(&self.0)
    }
}

fn hash(domain: &str, value: &Value) -> String {
    // Canonicalizing fails for a number that is not finite only, and here are none; plain JSON
    // is the same bytes then, since the keys above stand in order.
    let bytes =
        serde_json_canonicalizer::to_vec(value).unwrap_or_else(|_| value.to_string().into_bytes());
    let hash = Sha256::new()
        .chain_update(domain)
        .chain_update(bytes)
        .finalize();
    text::hex(&hash)
}
