//! The flags of `supervisor add`. Pure.

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
    NoInspect,
    Http,
    Header,
    BearerEnv,
    Stdio,
    Transport,
    Scope,
    Json,
    Help,
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
    (Flag::NoInspect, "--no-inspect", None),
    (Flag::Http, "--http", None),
    (Flag::Header, "--header", Some("-H")),
    (Flag::BearerEnv, "--bearer-env", None),
    (Flag::Stdio, "--stdio", None),
    (Flag::Transport, "--transport", Some("-t")),
    (Flag::Scope, "--scope", Some("-s")),
    (Flag::Json, "--json", None),
    (Flag::Help, "--help", Some("-h")),
];

/// The long names of all flags, for the test that compares them with `--help`.
#[cfg(test)]
pub(crate) fn flags() -> std::collections::BTreeSet<&'static str> {
    FLAGS.iter().map(|(_, long, _)| *long).collect()
}

/// A word that begins with `-`: the flag, its long name, and a value attached to it.
pub(super) fn split_flag(
    word: &str,
    place: usize,
) -> Result<(Flag, &'static str, Option<&str>), AddLineError> {
    if word.starts_with("--") {
        let (name, value) = word
            .split_once('=')
            .map_or((word, None), |(name, value)| (name, Some(value)));
        if let Some((flag, long, _)) = FLAGS.iter().find(|(_, long, _)| *long == name) {
            return Ok((*flag, long, value));
        }
        let plain = name.len() <= 32 && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        return Err(AddLineError::UnknownFlag {
            flag: plain.then(|| name.to_owned()),
            place,
        });
    }
    let known = FLAGS.iter().find_map(|(flag, long, short)| {
        word.strip_prefix((*short)?)
            .map(|rest| (*flag, *long, Some(rest).filter(|rest| !rest.is_empty())))
    });
    let first = word.chars().nth(1).filter(char::is_ascii_alphanumeric);
    known.ok_or_else(|| AddLineError::UnknownFlag {
        flag: first.map(|letter| format!("-{letter}")),
        place,
    })
}
