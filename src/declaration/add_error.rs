//! Why a line of `add` is refused. A word that may be a key is told by its place and never
//! repeated. Pure.

use super::EnvName;
use super::names::NameError;
use super::url::UrlError;
use crate::error::USAGE;

/// What is wrong with the words of `add`. Places count from 1, after `add`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddLineError {
    /// No alias before `--`.
    #[error("no alias stands before `--`")]
    NoAlias,
    /// A word that is no alias where one is expected.
    #[error("word {place} is no alias: {}", NameError::Alias)]
    Alias {
        /// Which.
        place: usize,
    },
    /// `-e` before the alias: it would take the alias for a variable.
    #[error("-e (word {place}) stands before the alias; it takes every word up to the next flag")]
    EnvBeforeAlias {
        /// Which.
        place: usize,
    },
    /// `-e` and no word.
    #[error("-e (word {place}) takes NAME=VALUE words or one NAME, and none follows")]
    EnvNoWord {
        /// Which.
        place: usize,
    },
    /// A word that `-e` cannot read.
    #[error("-e cannot read word {place}, which is not repeated here since it may be a key: {}", env_word(*alone))]
    EnvWord {
        /// Which.
        place: usize,
        /// It is the only one of its `-e`.
        alone: bool,
        /// The line has a bare `--`.
        dashes: bool,
    },
    /// A variable twice.
    #[error("-e gives the variable {name} twice (again at word {place})")]
    EnvTwice {
        /// Which.
        name: EnvName,
        /// Where the second is.
        place: usize,
    },
    /// A variable the loader acts on.
    #[error("-e {name} is refused: {reason}")]
    Loader {
        /// Which.
        name: EnvName,
        /// What it would do.
        reason: String,
    },
    /// A flag that `add` has not.
    #[error("{verb} has no flag {}", unknown_flag(flag.as_deref(), *place))]
    UnknownFlag {
        /// The command.
        verb: &'static str,
        /// The flag, where it is plain enough to be no key.
        flag: Option<String>,
        /// Which word.
        place: usize,
    },
    /// A flag without its value.
    #[error("{flag} takes a value, and none follows")]
    NoValue {
        /// Which.
        flag: &'static str,
    },
    /// A value that a flag does not take.
    #[error("{flag} does not take word {place}: it takes {must}")]
    Value {
        /// Which.
        flag: &'static str,
        /// Where its value stands.
        place: usize,
        /// What it takes.
        must: &'static str,
    },
    /// The URL.
    #[error("word {place}: {problem}")]
    Url {
        /// Which.
        place: usize,
        /// What is wrong.
        problem: UrlError,
    },
    /// A flag that is given once, twice.
    #[error("{flag} is given twice (again at word {place})")]
    Twice {
        /// Which.
        flag: &'static str,
        /// Where the second is.
        place: usize,
    },
    /// A flag that has no meaning for a server elsewhere.
    #[error("{flag} is for a program, and --http declares a server elsewhere")]
    NotForHttp {
        /// Which.
        flag: &'static str,
    },
    /// A flag that has no meaning for a program.
    #[error("{flag} is for a server elsewhere (--http)")]
    OnlyForHttp {
        /// Which.
        flag: &'static str,
    },
    /// A URL and a program.
    #[error("a server has a URL or a program, not both: nothing stands after `--` beside --http")]
    UrlAndProgram,
    /// `--transport http` and no URL.
    #[error("--transport http needs the URL after the alias")]
    NoUrl,
    /// A word between alias and `--` that belongs to no flag.
    #[error("word {place} belongs to no flag; it is not repeated here since it may be a key")]
    Stray {
        /// Which.
        place: usize,
    },
    /// Bytes that are no text: they could not be kept in JSON.
    #[error("word {place} is not UTF-8")]
    NotUtf8 {
        /// Which.
        place: usize,
    },
    /// No program.
    #[error("no program stands after `--`")]
    NoProgram,
    /// No bare `--`.
    #[error("the program and its arguments stand after a bare `--`")]
    NoDashes {
        /// The line as it should be, with values left out.
        corrected: String,
    },
    /// A container engine.
    #[error("`{engine} run` starts the server outside: no engine's socket is reached from inside")]
    Engine {
        /// Which.
        engine: String,
    },
}

fn env_word(alone: bool) -> &'static str {
    if alone {
        "it takes NAME=VALUE or NAME"
    } else {
        "beside another word it takes NAME=VALUE only, and one NAME a flag"
    }
}

fn unknown_flag(flag: Option<&str>, place: usize) -> String {
    flag.map_or_else(
        || format!("like word {place}"),
        |flag| format!("{flag} (word {place})"),
    )
}

impl AddLineError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoAlias => "alias-missing",
            Self::Alias { .. } => "alias-invalid",
            Self::EnvBeforeAlias { .. } => "env-before-alias",
            Self::EnvNoWord { .. } | Self::EnvWord { .. } => "env-word",
            Self::EnvTwice { .. } => "env-twice",
            Self::Loader { .. } => "needs-allow-loader-env",
            Self::UnknownFlag { .. } => "unknown-flag",
            Self::NoValue { .. } => "flag-value-missing",
            Self::Value { .. } => "flag-value",
            Self::Url { .. } => "url-refused",
            Self::Twice { .. } => "flag-twice",
            Self::NotForHttp { .. } => "not-for-http",
            Self::OnlyForHttp { .. } => "only-for-http",
            Self::UrlAndProgram => "url-and-program",
            Self::NoUrl => "url-missing",
            Self::Stray { .. } => "stray-word",
            Self::NotUtf8 { .. } => "word-not-utf8",
            Self::NoProgram => "program-missing",
            Self::NoDashes { .. } => "dashes-missing",
            Self::Engine { .. } => "container-engine",
        }
    }

    /// Which word it is about, where it is about one.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        let place = match self {
            Self::Alias { place }
            | Self::EnvBeforeAlias { place }
            | Self::EnvNoWord { place }
            | Self::EnvWord { place, .. }
            | Self::EnvTwice { place, .. }
            | Self::UnknownFlag { place, .. }
            | Self::Value { place, .. }
            | Self::Url { place, .. }
            | Self::Twice { place, .. }
            | Self::Stray { place }
            | Self::NotUtf8 { place } => place,
            _ => return None,
        };
        Some(format!("word {place}"))
    }

    /// Always 2: a usage error.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        USAGE
    }

    /// The line as it should be.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoAlias | Self::Alias { .. } | Self::NoProgram => {
                "supervisor add ALIAS -- PROGRAM ARGUMENT…".to_owned()
            }
            Self::EnvWord { dashes: false, .. } => {
                "supervisor add ALIAS -e NAME=… -- PROGRAM ARGUMENT…   # `--` ends the variables"
                    .to_owned()
            }
            Self::EnvBeforeAlias { .. }
            | Self::EnvNoWord { .. }
            | Self::EnvWord { .. }
            | Self::EnvTwice { .. } => {
                "supervisor add ALIAS -e NAME=… -e NAME -- PROGRAM ARGUMENT…".to_owned()
            }
            Self::Loader { name, .. } => {
                format!("supervisor add ALIAS --allow loader-env -e {name}=… -- PROGRAM ARGUMENT…")
            }
            Self::NoDashes { corrected } => corrected.clone(),
            Self::NoUrl | Self::Url { .. } | Self::UrlAndProgram | Self::OnlyForHttp { .. } => {
                "supervisor add ALIAS --http URL --header NAME=… --bearer-env NAME".to_owned()
            }
            Self::Engine { .. } => {
                "supervisor add ALIAS -- PROGRAM ARGUMENT…   # the program that the image runs"
                    .to_owned()
            }
            Self::UnknownFlag { .. }
            | Self::NoValue { .. }
            | Self::Value { .. }
            | Self::Twice { .. }
            | Self::NotForHttp { .. }
            | Self::Stray { .. }
            | Self::NotUtf8 { .. } => "supervisor add --help".to_owned(),
        })
    }
}
