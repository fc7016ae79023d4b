//! Checked names: alias, variable, absolute path. Each has one constructor.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why a word is no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// See [`Alias`].
    #[error(
        "an alias has letters, digits, `-` and `_`, begins with a letter or digit, and is at most 64 long"
    )]
    Alias,
    /// See [`EnvName`].
    #[error("the name of a variable has letters, digits and `_`, and does not begin with a digit")]
    EnvName,
    /// See [`AbsolutePath`].
    #[error("a path here is absolute, has no `.` or `..`, and is UTF-8")]
    AbsolutePath,
}

/// The person's name for a server: ASCII letters, digits, `-` and `_`, first a letter or
/// digit, at most 64. Case matters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Alias(String);

impl Alias {
    /// The name itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Alias {
    type Err = NameError;

    fn from_str(word: &str) -> Result<Self, NameError> {
        let first = word
            .chars()
            .next()
            .is_some_and(|c| c.is_ascii_alphanumeric());
        let rest = word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        if first && rest && word.len() <= 64 {
            Ok(Self(word.to_owned()))
        } else {
            Err(NameError::Alias)
        }
    }
}

/// The name of an environment variable: ASCII letters, digits and `_`, first no digit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EnvName(String);

impl EnvName {
    /// The name itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `PATH`, which is frozen when a server is approved.
    #[must_use]
    pub fn path() -> Self {
        Self::known("PATH")
    }

    /// A name that the program itself has, and the build has looked at.
    pub(crate) fn known(name: &'static str) -> Self {
        Self(name.to_owned())
    }
}

impl FromStr for EnvName {
    type Err = NameError;

    fn from_str(word: &str) -> Result<Self, NameError> {
        let first = word
            .chars()
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        let rest = word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if first && rest {
            Ok(Self(word.to_owned()))
        } else {
            Err(NameError::EnvName)
        }
    }
}

/// An absolute path without `.` and `..`, in UTF-8 (it is kept in JSON and hashed).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AbsolutePath(String);

impl AbsolutePath {
    /// The path, or [`NameError::AbsolutePath`].
    ///
    /// # Errors
    /// A relative path, one with `.` or `..`, one that is not UTF-8, one with a NUL.
    pub fn new(path: &Path) -> Result<Self, NameError> {
        let plain = path
            .components()
            .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        // Collected anew, so that doubled and trailing slashes do not make two of one path.
        let tidy: PathBuf = path.components().collect();
        let text = tidy.to_str().ok_or(NameError::AbsolutePath)?;
        if path.is_absolute() && plain && !text.contains('\0') {
            Ok(Self(text.to_owned()))
        } else {
            Err(NameError::AbsolutePath)
        }
    }

    /// The path itself.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AbsolutePath {
    type Err = NameError;

    fn from_str(word: &str) -> Result<Self, NameError> {
        Self::new(Path::new(word))
    }
}

macro_rules! text {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
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

text!(Alias);
text!(EnvName);
text!(AbsolutePath);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases() {
        for good in ["a", "x2", "my-server", "A_b", &"a".repeat(64)] {
            assert!(good.parse::<Alias>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "-a",
            "_a",
            ".",
            "a/b",
            "a b",
            "a\n",
            "ä",
            "а",
            &"a".repeat(65),
            "a\0b",
        ] {
            assert_eq!(bad.parse::<Alias>(), Err(NameError::Alias), "{bad:?}");
        }
    }

    #[test]
    fn variables() {
        for good in ["A", "_", "a_b1"] {
            assert!(good.parse::<EnvName>().is_ok(), "{good}");
        }
        for bad in ["", "1A", "A-B", "A B", "A=B", "KÉY", "A\n"] {
            assert_eq!(bad.parse::<EnvName>(), Err(NameError::EnvName), "{bad:?}");
        }
    }

    #[test]
    fn absolute_paths() {
        assert_eq!(
            "/a//b/".parse::<AbsolutePath>().map(|p| p.to_string()),
            Ok("/a/b".into())
        );
        for bad in ["", "a", "./a", "/a/../b", "~/a", "/a\0"] {
            assert_eq!(
                bad.parse::<AbsolutePath>(),
                Err(NameError::AbsolutePath),
                "{bad:?}"
            );
        }
    }
}
