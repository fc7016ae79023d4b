//! The help, man page and completion of `run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, FromArgMatches};

use crate::declaration::{Alias, DigestPrefix};
use crate::relay::filter::Pattern;

/// Start an approved server confined, and relay its messages
///
/// Starts a server that is approved, confined by the kernel, and relays its messages.
///
/// Stands in a host's configuration in place of the server. Reads nothing from a terminal; a
/// refusal is answered to the host's first requests, and said on standard error.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  supervisor run weather
  supervisor run weather --digest 25edc5e8 --only 'get_*'
  supervisor run weather --receipt receipt.json
  supervisor run --dry-run weather")]
pub(crate) struct RunArgs {
    /// The server
    #[arg(value_name = "ALIAS")]
    pub(crate) alias: Alias,
    /// Start only the declaration of this digest: its first 8 to 64 digits
    ///
    /// For hosts that pin what they start: a declaration that was changed and approved since is
    /// refused too.
    #[arg(long, value_name = "HEX")]
    pub(crate) digest: Option<DigestPrefix>,
    /// Offer only the tools whose names match: * ? [a-z] {a,b}; may be given again
    ///
    /// Narrows this run beyond what the declaration's `tools` leaves. A tool that matches none is
    /// absent from the lists that the host gets, and a call to it is refused. A pattern that
    /// matches no tool is named on standard error.
    #[arg(long, value_name = "GLOB")]
    pub(crate) only: Vec<Pattern>,
    /// Write nothing in the state directory: a temporary home, removed at the end
    ///
    /// What the server would keep between runs, the caches of npx and uvx included, is fetched
    /// anew.
    #[arg(long)]
    pub(crate) ephemeral: bool,
    /// Write the receipt of this run to a file too
    ///
    /// The receipt says what the kernel enforced, promise by promise, and what was found in the
    /// writable directories. It is written when the run has ended, whole or not at all, mode
    /// 0600; what stood there is replaced. A run that never started has none.
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub(crate) receipt: Option<PathBuf>,
    /// Write it to a descriptor that the caller left open: 3 or higher
    ///
    /// As one object. A reader that does not read is waited for 50 ms.
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "dry_run",
        value_parser = clap::value_parser!(i32).range(3..)
    )]
    pub(crate) receipt_fd: Option<i32>,
    /// Show the plan, as explain does, and start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// With --dry-run: print an object
    #[arg(long, requires = "dry_run")]
    pub(crate) json: bool,
}

impl RunArgs {
    /// Reads its words, `run` first, without the definition of the other commands, which a start
    /// need not wait for. `None` where they are not taken.
    pub(crate) fn read(words: &[OsString]) -> Option<Self> {
        Self::alias_alone(words).or_else(|| Self::defined(words))
    }

    fn defined(words: &[OsString]) -> Option<Self> {
        let alone = Self::augment_args(clap::Command::new("run"));
        let matches = alone.try_get_matches_from(words).ok()?;
        Self::from_arg_matches(&matches).ok()
    }

    /// What the configuration of a host has, a server and no more: to define the rest takes longer
    /// than to read a declaration.
    fn alias_alone(words: &[OsString]) -> Option<Self> {
        let [_, word] = words else { return None };
        Some(Self {
            alias: word.to_str()?.parse().ok()?,
            digest: None,
            only: Vec::new(),
            ephemeral: false,
            receipt: None,
            receipt_fd: None,
            dry_run: false,
            json: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_alone_is_read_as_by_the_definition() {
        for word in ["weather", "a-b_1", "help", "7"] {
            let words = ["run", word].map(OsString::from);
            let read = RunArgs::alias_alone(&words).map(|args| format!("{args:?}"));
            assert!(read.is_some(), "{word}");
            let defined = RunArgs::defined(&words).map(|args| format!("{args:?}"));
            assert_eq!(read, defined, "{word}");
        }
        for word in ["", "-h", "--help", "a b", "--json"] {
            let words = ["run", word].map(OsString::from);
            assert!(RunArgs::alias_alone(&words).is_none(), "{word}");
        }
        let more = ["run", "weather", "--ephemeral"].map(OsString::from);
        assert!(RunArgs::alias_alone(&more).is_none());
        assert!(RunArgs::read(&more).is_some_and(|args| args.ephemeral));
    }
}
