//! The values that flags of `add` take: numbers with units, lists of words, headers. Pure.

use std::collections::BTreeSet;

use super::entry::{LARGEST, is_header_name, is_header_value};
use super::set_line::Limit;
use super::{Allow, BoundLimits, Category, Limits, Network, Pin};
use crate::confine::Promise;

pub(super) const NET: &str = "full or none";
pub(super) const LIMIT: &str = "memory=SIZE from 8MiB, processes=N from 4, files=N from 64 (with less nothing \
     starts: what confines it counts too), file_size=SIZE, each once, joined by commas; \
     N is a whole number above 0, a SIZE may end in KiB, MiB, GiB or TiB";
/// The least bounds with which a small program starts, and the processes that confine it.
const LEAST: BoundLimits = BoundLimits {
    memory: 8 << 20,
    processes: 4,
    files: 64,
    file_size: 1,
};
pub(super) const PIN: &str = "program";
pub(super) const WITHOUT: &str =
    "the numbers of promises that can be given up (P3, P6, P7, R1, R2, R5, N2), joined by commas";
pub(super) const ALLOW: &str = "loader-env, nested-sandbox or pty, joined by commas";
pub(super) const CATEGORY: &str = "read-only, additive, open-world, destructive, joined by commas";
pub(super) const NO_CATEGORY: &str =
    "read-only, additive, open-world, destructive, joined by commas; or all";
pub(super) const HEADER: &str = "NAME=VALUE on one line";

pub(super) fn net(word: &str) -> Option<Network> {
    [Network::Full, Network::None]
        .into_iter()
        .find(|network| network.as_str() == word)
}

/// Adds the limits in `word` to `limits`; `None` where one is no limit or is there already.
pub(super) fn limits(limits: Limits, word: &str) -> Option<Limits> {
    word.split(',').try_fold(limits, |mut limits, limit| {
        let (name, value) = limit.split_once('=')?;
        let (slot, value, least) = match name {
            "memory" => (&mut limits.memory, size(value)?, LEAST.memory),
            "processes" => (&mut limits.processes, number(value)?, LEAST.processes),
            "files" => (&mut limits.files, number(value)?, LEAST.files),
            "file_size" => (&mut limits.file_size, size(value)?, LEAST.file_size),
            _ => return None,
        };
        if value < least || slot.replace(value).is_some() {
            None
        } else {
            Some(limits)
        }
    })
}

fn number(word: &str) -> Option<u64> {
    let digits = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let number = if digits {
        word.parse().ok()?
    } else {
        return None;
    };
    (1..=LARGEST).contains(&number).then_some(number)
}

fn size(word: &str) -> Option<u64> {
    const UNITS: [(&str, u32); 8] = [
        ("KiB", 10),
        ("MiB", 20),
        ("GiB", 30),
        ("TiB", 40),
        ("K", 10),
        ("M", 20),
        ("G", 30),
        ("T", 40),
    ];
    let (digits, shift) = UNITS
        .into_iter()
        .find_map(|(unit, shift)| word.strip_suffix(unit).map(|digits| (digits, shift)))
        .unwrap_or((word, 0));
    let bytes = number(digits)?.checked_mul(1u64.checked_shl(shift)?)?;
    (bytes <= LARGEST).then_some(bytes)
}

pub(super) fn allow(word: &str) -> Option<BTreeSet<Allow>> {
    set(word, |word| {
        Allow::ALL
            .iter()
            .copied()
            .find(|allow| allow.as_str() == word)
    })
}

pub(super) fn categories(word: &str) -> Option<BTreeSet<Category>> {
    set(word, |word| word.parse().ok())
}

pub(super) fn pin(word: &str) -> Option<BTreeSet<Pin>> {
    set(word, |word| {
        (word == Pin::Program.as_str()).then_some(Pin::Program)
    })
}

pub(super) fn without(word: &str) -> Option<BTreeSet<Promise>> {
    set(word, |word| {
        word.parse::<Promise>()
            .ok()
            .filter(|promise| promise.may_be_given_up())
    })
}

fn set<T: Ord>(word: &str, one: impl Fn(&str) -> Option<T>) -> Option<BTreeSet<T>> {
    word.split(',').map(one).collect()
}

pub(super) const LIMIT_NAMES: &str = "memory, processes, files or file_size, joined by commas";

/// The names of limits.
pub(super) fn limit_names(word: &str) -> Option<BTreeSet<Limit>> {
    set(word, |word| {
        Some(match word {
            "memory" => Limit::Memory,
            "processes" => Limit::Processes,
            "files" => Limit::Files,
            "file_size" => Limit::FileSize,
            _ => return None,
        })
    })
}

/// The name of a header.
pub(super) fn header_name(word: &str) -> Option<String> {
    is_header_name(word).then(|| word.to_owned())
}

/// A header: `NAME=VALUE`, or `NAME: VALUE` as other tools write it.
pub(super) fn header(word: &str) -> Option<(String, String)> {
    let at = word.find(['=', ':'])?;
    let (name, rest) = word.split_at_checked(at)?;
    let value = rest
        .strip_prefix('=')
        .or_else(|| Some(rest.strip_prefix(':')?.trim_start()))?;
    (is_header_name(name) && is_header_value(value)).then(|| (name.to_owned(), value.to_owned()))
}

/// Whether a word looks like `NAME=VALUE`, and may hold a key where it stands by mistake.
pub(super) fn is_pair(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| name.parse::<super::EnvName>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_with_units() {
        let parsed = limits(Limits::default(), "memory=2GiB,processes=64,files=512");
        let expected = Limits {
            memory: Some(2 << 30),
            processes: Some(64),
            files: Some(512),
            file_size: None,
        };
        assert_eq!(parsed, Some(expected));
        for bad in [
            "",
            "memory",
            "memory=",
            "memory=lots",
            "colour=1",
            "files=0",
            "files=200,files=300",
            "files=63",
            "processes=3",
            "memory=10KiB",
            "memory=8388607",
            "file_size=0",
            "memory=-1",
            "memory=9007199254740992",
            "memory=99999999TiB",
            "files=1000K",
            "memory=1GB",
            "files=200,",
        ] {
            assert_eq!(limits(Limits::default(), bad), None, "{bad}");
        }
        let least = "memory=8MiB,processes=4,files=64,file_size=1";
        assert_eq!(
            limits(Limits::default(), least).map(|given| given.bound()),
            Some(LEAST)
        );
        for word in [
            "memory=SIZE from 8MiB",
            "processes=N from 4",
            "files=N from 64",
        ] {
            assert!(LIMIT.contains(word), "{word}");
        }
    }

    #[test]
    fn headers() {
        let pair = |name: &str, value: &str| Some((name.to_owned(), value.to_owned()));
        assert_eq!(
            header("Authorization=Bearer a=b:c"),
            pair("Authorization", "Bearer a=b:c")
        );
        assert_eq!(header("X-Key: a=b"), pair("X-Key", "a=b"));
        for bad in ["", "=v", "a b=c", "k=a\nb", "novalue"] {
            assert_eq!(header(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn lists() {
        assert_eq!(without("P3,R5").map(|set| set.len()), Some(2));
        assert_eq!(without("P1"), None);
        assert_eq!(without("Z99"), None);
        assert_eq!(allow("pty,loader-env").map(|set| set.len()), Some(2));
        assert_eq!(allow("everything"), None);
        assert_eq!(
            categories("read-only,open-world").map(|set| set.len()),
            Some(2)
        );
        for bad in ["", "all", "read-only,", "readonly"] {
            assert_eq!(categories(bad), None, "{bad}");
        }
    }
}
