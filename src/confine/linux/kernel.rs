//! What this kernel offers, asked without changing anything of ours.

use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, RestrictSelfAttr, Ruleset,
    RulesetAttr, Scope,
};
use nix::unistd::geteuid;

use super::cure;
use super::proc;
use super::seccomp::Arch;
use crate::confine::spec::{Begun, Ids};
use crate::confine::{KernelFacts, Refused};

/// What this kernel offers: what it lets this process have, and what it let the shim have.
/// `kept` is what cannot be lent to the ids, `cgroup` what [`super::cgroup::find`] says.
pub fn facts(
    begun: Begun,
    ids: Option<Ids>,
    kept: Vec<String>,
    cgroup: Result<PathBuf, String>,
) -> KernelFacts {
    KernelFacts {
        landlock_abi: landlock_abi(),
        arch: Arch::current(),
        keyrings: begun.keyring,
        namespaces: match begun.refused {
            None => Ok(()),
            Some(why) => Err(Refused {
                why,
                cure: cure::cure(),
            }),
        },
        ids,
        kept,
        cgroup,
        pid_max: proc::text("/proc/sys/kernel/osrelease")
            .is_ok_and(|release| at_least(&release, (6, 14))),
        root: geteuid().is_root(),
    }
}

/// Whether the release of a kernel (`6.18.44-fc`) is that version or a later one. An unreadable
/// one is not.
fn at_least(release: &str, version: (u32, u32)) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut next = || numbers.next().and_then(|word| word.parse().ok());
    next()
        .zip(next())
        .is_some_and(|found: (u32, u32)| found >= version)
}

/// The newest ABI whose every part this kernel takes, found by building rulesets from the
/// newest down; nothing is enforced.
#[must_use]
pub fn landlock_abi() -> Option<u32> {
    let abis = [
        (10, ABI::V10),
        (9, ABI::V9),
        (8, ABI::V8),
        (7, ABI::V7),
        (6, ABI::V6),
        (5, ABI::V5),
        (4, ABI::V4),
        (3, ABI::V3),
        (2, ABI::V2),
        (1, ABI::V1),
    ];
    abis.into_iter()
        .find(|(_, abi)| takes(*abi).is_ok())
        .map(|(number, _)| number)
}

/// Builds a ruleset with all that an ABI has.
fn takes(abi: ABI) -> Result<(), landlock::RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))?;
    if abi >= ABI::V4 {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi))?;
    }
    if abi >= ABI::V6 {
        ruleset = ruleset.scope(Scope::from_all(abi))?;
    }
    let created = ruleset.create()?;
    let created = if abi >= ABI::V7 {
        created.log_subdomains(false)?
    } else {
        created
    };
    if abi >= ABI::V8 {
        created.all_threads(true)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_number() {
        for (release, is) in [
            ("6.14.0", true),
            ("6.18.44-fc-v657\n", true),
            ("7.0", true),
            ("10.1-rc1", true),
            ("6.9.12", false),
            ("5.15.0-100-generic", false),
            ("6", false),
            ("", false),
            ("six.14", false),
        ] {
            assert_eq!(at_least(release, (6, 14)), is, "{release}");
        }
    }
}
