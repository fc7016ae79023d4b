//! What this kernel offers, asked without changing anything of ours.

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, RestrictSelfAttr, Ruleset,
    RulesetAttr, Scope,
};
use nix::unistd::geteuid;

use super::seccomp::Arch;
use crate::confine::KernelFacts;
use crate::confine::spec::{Begun, Ids};

/// What this kernel offers: what it lets this process have, and what it let the shim have.
/// `kept` is what cannot be lent to the ids.
pub fn facts(begun: Begun, ids: Option<Ids>, kept: Vec<String>) -> KernelFacts {
    KernelFacts {
        landlock_abi: landlock_abi(),
        arch: Arch::current(),
        keyrings: begun.keyring,
        namespaces: begun.refused.map_or(Ok(()), Err),
        ids,
        kept,
        root: geteuid().is_root(),
    }
}

/// The newest ABI whose every part this kernel takes, found by building rulesets from the
/// newest down; nothing is enforced.
fn landlock_abi() -> Option<u32> {
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
