//! The kernel's ids that a server gets where the supervisor is root.
//!
//! Mapping ids in a namespace is not enough: a process whose id is 0 for the kernel keeps the
//! owner's rights on every file of root's, and is bounded by no `RLIMIT_NPROC`.

use super::proc;
use crate::confine::spec::Ids;
use crate::declaration::LaunchDigest;

/// Ids that no distribution, service manager or container engine gives to anybody
/// (`systemd.io/UIDS-GIDS`): 0x7000_0000 to 0x7fff_ffff.
const UNUSED: (u32, u32) = (0x7000_0000, 0x1000_0000);
/// Where those are not there, in a container: the ones that services are given for as long as
/// they run.
const PASSING: (u32, u32) = (61_184, 4_336);

/// The ids of a declaration's servers: its own, the same at each start, since its private home
/// belongs to them. `None` where this system has none to give.
#[must_use]
pub fn of(digest: &LaunchDigest) -> Option<Ids> {
    let users = proc::text("/proc/self/uid_map").ok()?;
    let groups = proc::text("/proc/self/gid_map").ok()?;
    [UNUSED, PASSING].into_iter().find_map(|range| {
        let id = chosen(digest, range)?;
        let there = holds(&users, id) && holds(&groups, id);
        there.then_some(Ids {
            user: id,
            group: id,
        })
    })
}

/// Whether an id is one that [`of`] gives.
#[must_use]
pub fn is_servers(id: u32) -> bool {
    [UNUSED, PASSING]
        .into_iter()
        .any(|(first, count)| id.checked_sub(first).is_some_and(|at| at < count))
}

/// The id of a digest among so many from a first one on.
fn chosen(digest: &LaunchDigest, (first, count): (u32, u32)) -> Option<u32> {
    let number = u32::from_str_radix(digest.as_str().get(..8)?, 16).ok()?;
    first.checked_add(number.checked_rem(count)?)
}

/// Whether a map of `user_namespaces(7)` has an id: lines of first inside, first outside, count.
fn holds(map: &str, id: u32) -> bool {
    map.lines().any(|line| {
        let numbers: Option<Vec<u32>> = line
            .split_whitespace()
            .map(|number| number.parse().ok())
            .collect();
        match numbers.as_deref() {
            Some([inside, _, count]) => id.checked_sub(*inside).is_some_and(|at| at < *count),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_declarations_own_and_never_a_persons() {
        let digest: LaunchDigest = "ff".repeat(32).parse().unwrap();
        for range in [UNUSED, PASSING] {
            let id = chosen(&digest, range).unwrap();
            assert!(id >= range.0 && id - range.0 < range.1);
            assert!(is_servers(id));
        }
        assert!(!is_servers(0) && !is_servers(1000) && !is_servers(65_534));
        let other: LaunchDigest = "ab".repeat(32).parse().unwrap();
        assert_ne!(chosen(&digest, UNUSED), chosen(&other, UNUSED));
    }

    #[test]
    fn only_a_mapped_id_is_given() {
        let container = "         0     100000      65536\n";
        assert!(holds(container, 65_535));
        assert!(!holds(container, 65_536));
        assert!(holds("0 0 4294967295", UNUSED.0));
        assert!(!holds("", 0));
        assert!(!holds("0 0", 0));
    }
}
