//! The person's `settings.json`: what the relay is told of its limits.
//!
//! Strict: a key that is not known, stands there twice or asks for what this version does not do
//! refuses the file, since a person relies on what they wrote. No file is all defaults.
//!
//! Place on the path: beside the declaration, before **relay**.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use crate::declaration::file::FileError;
use crate::declaration::store::State;
use crate::error::REFUSED;
use crate::relay::MAX_MESSAGE_BYTES;
use crate::text;

const FILE: &str = "settings.json";
const VERSION: u32 = 1;
/// Of `relay.max_message_bytes`: below it no server could introduce itself.
const LEAST_MESSAGE: usize = 65_536;
/// Above it the memory that a message takes is no small matter.
const LARGEST_MESSAGE: usize = 100_000_000;
/// Keys of `settings.json` that a later version obeys.
const LATER: [&str; 4] = ["permissions", "mark_untrusted", "own_words", "check"];

/// Why the settings do not hold.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file cannot be trusted or read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is none of ours.
    #[error("{}: {problem}", text::path(path))]
    Unreadable {
        /// Where.
        path: PathBuf,
        /// What is wrong, with line and column.
        problem: String,
    },
    /// It asks for what this version does not do.
    #[error("{}: this version does not obey `{key}`", text::path(path))]
    NotObeyed {
        /// Where.
        path: PathBuf,
        /// The key.
        key: &'static str,
    },
}

impl SettingsError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::File(error) => error.code(),
            Self::Unreadable { .. } => "settings-unreadable",
            Self::NotObeyed { .. } => "settings-not-obeyed",
        }
    }

    /// The exit code of a command that ends here.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::File(error) => error.exit_code(),
            Self::Unreadable { .. } | Self::NotObeyed { .. } => REFUSED,
        }
    }

    /// Which file.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        match self {
            Self::File(error) => Some(text::path(&error.path)),
            Self::Unreadable { path, .. } | Self::NotObeyed { path, .. } => Some(text::path(path)),
        }
    }

    /// The next command.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::Unreadable { path, .. } | Self::NotObeyed { path, .. } => {
                Some(format!("\"${{EDITOR:-vi}}\" {}", text::path(path)))
            }
        }
    }
}

/// What a person set for all servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The longest message that is passed on.
    pub(crate) max_message_bytes: usize,
    /// How long a request may wait, where the declaration says nothing.
    pub(crate) call_timeout: Option<Duration>,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    #[serde(default)]
    relay: Relay,
    permissions: Option<serde::de::IgnoredAny>,
    mark_untrusted: Option<serde::de::IgnoredAny>,
    own_words: Option<serde::de::IgnoredAny>,
    check: Option<serde::de::IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Relay {
    max_message_bytes: Option<usize>,
    call_timeout_s: Option<u64>,
}

impl Settings {
    /// Reads the settings of a state directory.
    ///
    /// # Errors
    /// A file that is none, or asks for what this version does not do.
    pub(crate) fn read(state: &State) -> Result<Self, SettingsError> {
        let text = match state.folder() {
            Some(folder) => folder.read(FILE)?,
            None => None,
        };
        let path = state.path().join(FILE);
        Self::parse(text.as_deref(), path)
    }

    fn parse(text: Option<&str>, path: PathBuf) -> Result<Self, SettingsError> {
        let mut settings = Self {
            max_message_bytes: MAX_MESSAGE_BYTES,
            call_timeout: None,
        };
        let Some(text) = text else {
            return Ok(settings);
        };
        let unreadable = |problem: String| SettingsError::Unreadable {
            path: path.clone(),
            problem,
        };
        let document: Document =
            serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))?;
        if document.version != VERSION {
            return Err(unreadable(format!("its version is {}", document.version)));
        }
        let later = [
            document.permissions.is_some(),
            document.mark_untrusted.is_some(),
            document.own_words.is_some(),
            document.check.is_some(),
        ];
        if let Some((key, _)) = LATER.into_iter().zip(later).find(|(_, there)| *there) {
            return Err(SettingsError::NotObeyed { path, key });
        }
        if let Some(bytes) = document.relay.max_message_bytes {
            if !(LEAST_MESSAGE..=LARGEST_MESSAGE).contains(&bytes) {
                return Err(unreadable(format!(
                    "relay.max_message_bytes is from {LEAST_MESSAGE} to {LARGEST_MESSAGE}"
                )));
            }
            settings.max_message_bytes = bytes;
        }
        if document.relay.call_timeout_s == Some(0) {
            return Err(unreadable("relay.call_timeout_s is at least 1".to_owned()));
        }
        settings.call_timeout = document.relay.call_timeout_s.map(Duration::from_secs);
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Settings, String> {
        Settings::parse(Some(text), "/s/settings.json".into()).map_err(|error| error.to_string())
    }

    #[test]
    fn no_file_is_all_defaults() {
        let settings = Settings::parse(None, PathBuf::new()).unwrap();
        assert_eq!(
            (settings.max_message_bytes, settings.call_timeout),
            (10_000_000, None)
        );
        assert_eq!(parse(r#"{"version":1}"#).unwrap(), settings);
    }

    #[test]
    fn limits_are_read_and_bounded() {
        let settings =
            parse(r#"{"version":1,"relay":{"max_message_bytes":65536,"call_timeout_s":30}}"#)
                .unwrap();
        assert_eq!(settings.max_message_bytes, 65_536);
        assert_eq!(settings.call_timeout, Some(Duration::from_secs(30)));
        for (bad, says) in [
            (
                r#"{"version":1,"relay":{"max_message_bytes":1}}"#,
                "from 65536",
            ),
            (
                r#"{"version":1,"relay":{"call_timeout_s":0}}"#,
                "at least 1",
            ),
            (
                r#"{"version":1,"relay":{"call_timeout":1}}"#,
                "unknown field",
            ),
            (r#"{"version":1,"relay":{},"relay":{}}"#, "duplicate field"),
            (r#"{"version":2}"#, "its version is 2"),
            (
                r#"{"version":1,"permissions":{"deny":[]}}"#,
                "does not obey `permissions`",
            ),
            (r#"{"version":1,"#, "line 1"),
            (r#"{}"#, "version"),
        ] {
            let error = parse(bad).unwrap_err();
            assert!(error.contains(says), "{bad}: {error}");
        }
    }
}
