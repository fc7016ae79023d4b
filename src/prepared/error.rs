//! Why nothing was prepared.

use std::io;
use std::path::PathBuf;

use crate::declaration::Alias;
use crate::error::{FAILED, REFUSED};
use crate::surface::error::Trouble;
use crate::text;
use crate::why::cause::Cause;

/// Why a server was not prepared, or does not come up once it is.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// It did not come up.
    #[error("{alias} does not come up: {trouble}{}", because(cause.as_ref()))]
    NotUp {
        /// Which.
        alias: Alias,
        /// What went wrong between us and it.
        trouble: Trouble,
        /// Why, where that shows.
        cause: Option<Cause>,
        /// The last of what it said beside the protocol, escaped.
        said: Vec<String>,
    },
    /// What was fetched cannot be looked at.
    #[error("what was fetched cannot be looked at: {}", text::path(path))]
    Look {
        /// Which.
        alias: Alias,
        /// The home.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

fn because(cause: Option<&Cause>) -> String {
    cause.map_or_else(String::new, |cause| format!("; {}", cause.text()))
}

impl PrepareError {
    /// Whether all was fetched, and it does not come up for a reason of its own.
    #[must_use]
    pub(crate) fn is_after_the_fetch(&self) -> bool {
        match self {
            Self::NotUp { trouble, cause, .. } => {
                matches!(trouble, Trouble::Ended(_) | Trouble::Closed)
                    && !cause.is_some_and(Cause::is_of_fetching)
            }
            Self::Look { .. } => false,
        }
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotUp { cause, .. } => cause.as_ref().map_or("not-prepared", Cause::code),
            Self::Look { .. } => "home-unusable",
        }
    }

    /// 126 where the server failed, 125 where the supervisor did.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NotUp { .. } => REFUSED,
            Self::Look { .. } => FAILED,
        }
    }

    /// The next command.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotUp { alias, trouble, .. } => match trouble {
                Trouble::Interrupted => format!("supervisor prepare {alias}   # goes on"),
                _ => format!("supervisor why {alias}"),
            },
            Self::Look { alias, .. } => format!("supervisor prepare {alias}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_looked_at_names_the_next_command() {
        let error = PrepareError::Look {
            alias: "weather".parse().unwrap(),
            path: "/home".into(),
            source: io::ErrorKind::NotFound.into(),
        };
        assert_eq!(error.hint().as_deref(), Some("supervisor prepare weather"));
    }
}
