//! Why a declaration is not changed, renamed or pruned. Pure.

use super::Alias;
use super::add_error::AddLineError;
use crate::error::{REFUSED, USAGE};
use crate::text;

/// What is wrong with what `set`, `rename`, `prune` or `man` was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// The words of `set`.
    #[error(transparent)]
    Line(#[from] AddLineError),
    /// `set` and no flag.
    #[error("nothing is named that {alias} should have or lose")]
    Nothing {
        /// Which.
        alias: Alias,
    },
    /// A program in a line of `set`.
    #[error("word {place}: `set` takes no program: another command line is another server")]
    Program {
        /// Where the `--` stands, from 1.
        place: usize,
    },
    /// Something is taken back that is not there.
    #[error("{flag}: {alias} has none like that")]
    Absent {
        /// Which.
        alias: Alias,
        /// By which flag.
        flag: &'static str,
    },
    /// The last category that is granted is taken back.
    #[error(
        "--no-category: {alias} would be granted no category, and none named is every one granted"
    )]
    LastCategory {
        /// Which.
        alias: Alias,
    },
    /// The new name is declared.
    #[error("a server is declared as {alias} already")]
    Taken {
        /// Which.
        alias: Alias,
    },
    /// What an entry declares is not known, and so neither what nothing declares.
    #[error(
        "nothing is removed while the entry `{}` of mcp.json cannot be used: what it declares is not known",
        text::printable(name)
    )]
    Unknown {
        /// Which.
        name: String,
    },
    /// A page of a command that there is not.
    #[error("there is no command `{}`", text::printable(.0))]
    NoCommand(String),
}

impl ChangeError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Line(error) => error.code(),
            Self::Nothing { .. } => "nothing-to-set",
            Self::Program { .. } => "stray-word",
            Self::Absent { .. } => "nothing-to-take-back",
            Self::LastCategory { .. } => "last-category",
            Self::Taken { .. } => "alias-taken",
            Self::Unknown { .. } => "entry-unusable",
            Self::NoCommand(_) => "unknown-command",
        }
    }

    /// The exit code of a command that ends here.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Unknown { .. } => REFUSED,
            _ => USAGE,
        }
    }

    /// The next command.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Line(AddLineError::Loader { name, .. }) => {
                format!("supervisor set ALIAS --allow loader-env -e {name}=…")
            }
            Self::Line(AddLineError::NotForHttp { .. }) => {
                "supervisor set ALIAS --http URL --header NAME=… --bearer-env NAME".to_owned()
            }
            Self::Line(_) => "supervisor set --help".to_owned(),
            Self::Nothing { alias } => format!("supervisor set {alias} --net none"),
            Self::Program { .. } => "supervisor add ALIAS -- PROGRAM ARGUMENT…".to_owned(),
            Self::Absent { alias, .. } => format!("supervisor get {alias}"),
            Self::LastCategory { alias } => format!(
                "supervisor rules deny {alias}:*   # or every category: supervisor set {alias} --no-category all"
            ),
            Self::Taken { .. } => "supervisor list".to_owned(),
            Self::Unknown { name } => format!(
                "supervisor remove {}   # or mend the entry, and look: supervisor list",
                text::word(name)
            ),
            Self::NoCommand(_) => "supervisor help".to_owned(),
        })
    }

    /// Where in the line it is.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        match self {
            Self::Line(error) => error.place(),
            Self::Program { place } => Some(format!("word {place}")),
            _ => None,
        }
    }
}
