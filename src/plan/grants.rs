//! The system's own places as data, and how grants are put together. Pure.
//!
//! Which of the places exist here is asked by `facts`.

use std::ffi::OsStr;

use super::{Grant, Rights};

/// One place of the system that every server gets where it exists.
#[derive(Debug)]
pub(crate) struct SystemPlace {
    /// Absolute; as it is spelled.
    pub(crate) path: &'static str,
    /// How it is looked for.
    pub(crate) look: Look<'static>,
    /// What a server may do there.
    pub(crate) rights: Rights,
    /// Why, in a few words.
    pub(crate) reason: &'static str,
}

/// How a place is looked for. A directory with a pattern is listed, once for all in it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Look<'a> {
    /// By its path.
    Asked,
    /// By its path, where this directory lists this name.
    Listed(&'a str, &'a str),
    /// It stands for all names that this directory lists and that begin so.
    Pattern(&'a str, &'a str),
}

struct SystemPlaces {
    places: &'static [SystemPlace],
    /// Sorted.
    names: &'static [&'static str],
}

/// `policy/grants/linux.json`, in its order.
static SYSTEM: SystemPlaces = include!(concat!(env!("OUT_DIR"), "/grants.rs"));

/// The places of the system, in the order of the file.
pub(crate) fn system_places() -> &'static [SystemPlace] {
    SYSTEM.places
}

/// Whether a path is one of them as it is spelled there; no pattern.
pub(crate) fn is_system_name(path: &OsStr) -> bool {
    let found = SYSTEM
        .names
        .binary_search_by(|name| OsStr::new(name).cmp(path));
    found.is_ok()
}

impl Rights {
    /// The rights one by one: list, read, execute, change, drive a device.
    const fn bits(self) -> u8 {
        match self {
            Self::List => 0b00001,
            Self::Read => 0b00011,
            Self::ReadExecute => 0b00111,
            Self::Write => 0b01111,
            Self::Device => 0b10010,
        }
    }

    /// Whether these rights hold all of the others. Not every two can be compared: a device's
    /// do not hold those to list or execute, nor is it driven by a right to write files.
    #[must_use]
    pub(crate) const fn cover(self, others: Self) -> bool {
        others.bits() & !self.bits() == 0
    }
}

/// All grants of a plan, sorted by path. `declared` ones all stay. Of `ours`, one is left out
/// where another, on the same path or above it, holds its rights already.
///
/// Each path comes once, with the wider rights and the reasons of both; twice only where
/// neither rights hold the other, since to join those would grant what nobody asked for.
#[must_use]
pub(crate) fn merge(ours: Vec<Grant>, declared: Vec<Grant>) -> Vec<Grant> {
    let declared = declared.into_iter().map(|grant| (grant, true));
    let ours = ours.into_iter().map(|grant| (grant, false));
    let mut all: Vec<(Grant, bool)> = declared.chain(ours).collect();
    // By their bytes: paths are compared part by part, which takes many times as long. Those of one
    // path keep their order.
    all.sort_by(|(a, _), (b, _)| a.path.as_os_str().cmp(b.path.as_os_str()));
    let mut merged: Vec<(Grant, bool)> = Vec::with_capacity(all.len());
    for (grant, stays) in all {
        let same = merged
            .iter_mut()
            .rev()
            .take_while(|(kept, _)| kept.path.as_os_str() == grant.path.as_os_str());
        let joined = same
            .filter(|(kept, _)| kept.rights.cover(grant.rights) || grant.rights.cover(kept.rights))
            .last();
        match joined {
            Some((kept, kept_stays)) => {
                if grant.rights.cover(kept.rights) {
                    kept.rights = grant.rights;
                }
                if !kept.reason.split("; ").any(|reason| reason == grant.reason) {
                    kept.reason = format!("{}; {}", kept.reason, grant.reason).into();
                }
                *kept_stays |= stays;
            }
            None => merged.push((grant, stays)),
        }
    }
    let covered = |grant: &Grant| {
        let mut above = grant.path.ancestors().skip(1);
        above.any(|path| {
            of(&merged, path.as_os_str()).any(|(wider, _)| wider.rights.cover(grant.rights))
        })
    };
    let stay: Vec<bool> = merged
        .iter()
        .map(|(grant, stays)| *stays || !covered(grant))
        .collect();
    let grants = merged.into_iter().zip(stay).filter(|(_, stays)| *stays);
    let mut grants: Vec<Grant> = grants.map(|((grant, _), _)| grant).collect();
    grants.sort();
    grants
}

/// Those of sorted ones that are for a path.
fn of<'a>(sorted: &'a [(Grant, bool)], path: &'a OsStr) -> impl Iterator<Item = &'a (Grant, bool)> {
    let first = sorted.partition_point(|(grant, _)| grant.path.as_os_str() < path);
    let from = sorted.get(first..).unwrap_or_default().iter();
    from.take_while(move |(grant, _)| grant.path.as_os_str() == path)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use proptest::prelude::*;

    const ALL: [Rights; 5] = [
        Rights::List,
        Rights::Read,
        Rights::Device,
        Rights::ReadExecute,
        Rights::Write,
    ];

    fn grant(path: &str, rights: Rights, reason: &str) -> Grant {
        Grant {
            path: path.into(),
            rights,
            reason: reason.to_owned().into(),
        }
    }

    #[test]
    fn nothing_that_holds_secrets_is_granted_by_the_data() {
        // P1: what holds secrets is named by no grant, nor by one above it.
        for secret in [
            "/etc/shadow",
            "/etc/ssl/private/key.pem",
            "/etc/ssh/ssh_host_rsa_key",
            "/var/lib/x",
            "/home/u",
            "/tmp",
            "/run/user/1000",
            "/dev/sda",
            "/dev/shm/x",
            "/boot",
        ] {
            assert!(
                !system_places()
                    .iter()
                    .any(|place| Path::new(secret).starts_with(place.path)),
                "{secret}"
            );
        }
    }

    #[test]
    fn the_names_of_the_system_are_those_of_single_places() {
        for place in system_places() {
            let pattern = matches!(place.look, Look::Pattern(..));
            assert_eq!(place.path.ends_with('*'), pattern, "{place:?}");
            assert_ne!(is_system_name(OsStr::new(place.path)), pattern, "{place:?}");
        }
        for other in ["", "/", "/us", "/usr/", "/usr2", "/etc"] {
            assert!(!is_system_name(OsStr::new(other)), "{other}");
        }
    }

    #[test]
    fn one_path_comes_once_with_the_wider_rights_and_both_reasons() {
        let merged = merge(
            vec![
                grant("/a", Rights::Read, "one"),
                grant("/a", Rights::ReadExecute, "two"),
                grant("/a", Rights::List, "one"),
            ],
            vec![],
        );
        assert_eq!(merged, [grant("/a", Rights::ReadExecute, "one; two")]);
    }

    #[test]
    fn what_cannot_be_compared_is_not_joined() {
        let both = vec![
            grant("/a", Rights::Device, "d"),
            grant("/a", Rights::ReadExecute, "x"),
        ];
        assert_eq!(merge(both.clone(), vec![]), both);
    }

    #[test]
    fn a_grant_above_covers_ours_and_not_what_was_declared() {
        let merged = merge(
            vec![
                grant("/usr", Rights::ReadExecute, "system"),
                grant("/usr/bin", Rights::ReadExecute, "PATH"),
                grant("/usr/x", Rights::Write, "w"),
            ],
            vec![
                grant("/usr/share/words", Rights::Read, "--read"),
                grant("/usrlocal", Rights::Read, "--read"),
            ],
        );
        assert_eq!(
            merged
                .iter()
                .map(|grant| grant.path.to_str().unwrap())
                .collect::<Vec<_>>(),
            ["/usr", "/usr/share/words", "/usr/x", "/usrlocal"]
        );
    }

    fn any_grant() -> impl Strategy<Value = Grant> {
        let name = prop_oneof![Just("a"), Just("b"), Just("ab")];
        (proptest::collection::vec(name, 0..4), 0..ALL.len()).prop_map(|(names, rights)| {
            let path: PathBuf = std::iter::once("/").chain(names).collect();
            Grant {
                path,
                rights: ALL[rights],
                reason: "r".into(),
            }
        })
    }

    /// The rights that a list of grants gives at a path, as the kernel adds them up.
    fn at(grants: &[Grant], path: &Path) -> u8 {
        grants
            .iter()
            .filter(|g| path.starts_with(&g.path))
            .fold(0, |bits, g| bits | g.rights.bits())
    }

    proptest! {
        #[test]
        fn merging_neither_widens_nor_narrows(
            ours in proptest::collection::vec(any_grant(), 0..6),
            declared in proptest::collection::vec(any_grant(), 0..4),
        ) {
            let all: Vec<Grant> = ours.iter().chain(&declared).cloned().collect();
            let merged = merge(ours, declared.clone());
            for grant in &all {
                prop_assert_eq!(at(&merged, &grant.path), at(&all, &grant.path), "{:?}", grant.path);
            }
            for grant in &declared {
                prop_assert!(merged.iter().any(|kept| kept.path == grant.path));
            }
            let mut sorted = merged.clone();
            sorted.sort();
            sorted.dedup_by(|a, b| a.path == b.path && a.rights == b.rights);
            prop_assert_eq!(sorted, merged);
        }
    }
}
