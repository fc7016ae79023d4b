//! The flags of `supervisor add` and `supervisor set`. Pure.

use super::add_error::AddLineError;

/// One flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flag {
    Env,
    Dir,
    Read,
    Net,
    Limit,
    Pin,
    Without,
    Allow,
    AllowLoaderEnv,
    Category,
    NoInspect,
    Http,
    Header,
    BearerEnv,
    Stdio,
    Transport,
    Scope,
    Json,
    Help,
    NoEnv,
    NoDir,
    NoRead,
    NoLimit,
    NoPin,
    NoWithout,
    NoAllow,
    NoCategory,
    NoHeader,
    NoBearerEnv,
    Enable,
    Disable,
}

impl Flag {
    /// Whether it takes no value.
    pub(super) fn is_bare(self) -> bool {
        matches!(
            self,
            Self::NoInspect
                | Self::Json
                | Self::Stdio
                | Self::AllowLoaderEnv
                | Self::NoDir
                | Self::NoBearerEnv
                | Self::Enable
                | Self::Disable
        )
    }

    /// Whether it is for a program only; `-e` says so by itself.
    pub(super) fn is_for_program(self) -> bool {
        matches!(
            self,
            Self::Dir
                | Self::Read
                | Self::Net
                | Self::Limit
                | Self::Pin
                | Self::Without
                | Self::Allow
                | Self::AllowLoaderEnv
                | Self::Category
                | Self::Stdio
                | Self::NoEnv
                | Self::NoDir
                | Self::NoRead
                | Self::NoLimit
                | Self::NoPin
                | Self::NoWithout
                | Self::NoAllow
                | Self::NoCategory
        )
    }

    /// Whether it is for a server elsewhere only; `--http` itself makes it one.
    pub(super) fn is_for_http(self) -> bool {
        matches!(
            self,
            Self::Header | Self::BearerEnv | Self::NoHeader | Self::NoBearerEnv
        )
    }
}

/// Whose words are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    /// `supervisor add`.
    Add,
    /// `supervisor set`.
    Set,
}

impl Verb {
    /// The word.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Set => "set",
        }
    }

    /// Whether the flag is one of this command's.
    fn has(self, flag: Flag) -> bool {
        match flag {
            Flag::AllowLoaderEnv | Flag::Stdio | Flag::Transport | Flag::Scope => self == Self::Add,
            Flag::NoEnv | Flag::NoDir | Flag::NoRead | Flag::NoLimit | Flag::NoPin => {
                self == Self::Set
            }
            Flag::NoWithout | Flag::NoAllow | Flag::NoHeader | Flag::NoBearerEnv => {
                self == Self::Set
            }
            Flag::NoCategory | Flag::Enable | Flag::Disable => self == Self::Set,
            _ => true,
        }
    }
}

/// Every flag: long name, short name.
const FLAGS: &[(Flag, &str, Option<&str>)] = &[
    (Flag::Env, "--env", Some("-e")),
    (Flag::Dir, "--dir", None),
    (Flag::Read, "--read", None),
    (Flag::Net, "--net", None),
    (Flag::Limit, "--limit", None),
    (Flag::Pin, "--pin", None),
    (Flag::Without, "--without", None),
    (Flag::Allow, "--allow", None),
    (Flag::AllowLoaderEnv, "--allow-loader-env", None),
    (Flag::Category, "--category", None),
    (Flag::NoInspect, "--no-inspect", None),
    (Flag::Http, "--http", None),
    (Flag::Header, "--header", Some("-H")),
    (Flag::BearerEnv, "--bearer-env", None),
    (Flag::Stdio, "--stdio", None),
    (Flag::Transport, "--transport", Some("-t")),
    (Flag::Scope, "--scope", Some("-s")),
    (Flag::Json, "--json", None),
    (Flag::Help, "--help", Some("-h")),
    (Flag::NoEnv, "--no-env", None),
    (Flag::NoDir, "--no-dir", None),
    (Flag::NoRead, "--no-read", None),
    (Flag::NoLimit, "--no-limit", None),
    (Flag::NoPin, "--no-pin", None),
    (Flag::NoWithout, "--no-without", None),
    (Flag::NoAllow, "--no-allow", None),
    (Flag::NoCategory, "--no-category", None),
    (Flag::NoHeader, "--no-header", None),
    (Flag::NoBearerEnv, "--no-bearer-env", None),
    (Flag::Enable, "--enable", None),
    (Flag::Disable, "--disable", None),
];

/// The long names of all flags of `add` or of `set`, for the test that compares them with
/// `--help`.
#[cfg(test)]
pub(crate) fn flags(set: bool) -> std::collections::BTreeSet<&'static str> {
    let verb = if set { Verb::Set } else { Verb::Add };
    let own = FLAGS.iter().filter(|(flag, _, _)| verb.has(*flag));
    own.map(|(_, long, _)| *long).collect()
}

/// A word that begins with `-`: the flag, its long name, and a value attached to it.
pub(super) fn split_flag(
    word: &str,
    place: usize,
    verb: Verb,
) -> Result<(Flag, &'static str, Option<&str>), AddLineError> {
    if word.starts_with("--") {
        let (name, value) = word
            .split_once('=')
            .map_or((word, None), |(name, value)| (name, Some(value)));
        if let Some((flag, long, _)) = FLAGS
            .iter()
            .find(|(flag, long, _)| *long == name && verb.has(*flag))
        {
            return Ok((*flag, long, value));
        }
        let plain = name.len() <= 32 && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        return Err(AddLineError::UnknownFlag {
            verb: verb.as_str(),
            flag: plain.then(|| name.to_owned()),
            place,
        });
    }
    let mut own = FLAGS.iter().filter(|(flag, _, _)| verb.has(*flag));
    let known = own.find_map(|(flag, long, short)| {
        word.strip_prefix((*short)?)
            .map(|rest| (*flag, *long, Some(rest).filter(|rest| !rest.is_empty())))
    });
    let first = word.chars().nth(1).filter(char::is_ascii_alphanumeric);
    known.ok_or_else(|| AddLineError::UnknownFlag {
        verb: verb.as_str(),
        flag: first.map(|letter| format!("-{letter}")),
        place,
    })
}
