//! What this kernel offers, asked without changing anything of ours.
#![expect(
    clippy::disallowed_methods,
    reason = "starts the process that tries namespaces"
)]

use std::process::{Command, Stdio};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, RestrictSelfAttr, Ruleset,
    RulesetAttr, Scope,
};
use nix::unistd::geteuid;

use super::apply::ApplyError;
use super::seccomp::Arch;
use crate::confine::KernelFacts;

/// What this kernel offers, asked without changing anything.
pub fn facts() -> KernelFacts {
    KernelFacts {
        landlock_abi: landlock_abi(),
        arch: Arch::current(),
        keyrings: !matches!(
            keyutils::Keyring::attach(keyutils::SpecialKeyring::Session).map_err(|error| error.0),
            Err(nix::libc::EPERM | nix::libc::ENOSYS)
        ),
        namespaces: probe_namespaces(),
        root: geteuid().is_root(),
    }
}

/// The first argument of the process that tries whether namespaces can be had.
pub const PROBE: &str = "__probe";

/// Whether namespaces can be had: a throw-away process tries. What the kernel's settings say is
/// not all there is to it: security modules and filters around us refuse too.
fn probe_namespaces() -> Result<(), String> {
    let output = Command::new("/proc/self/exe")
        .arg(PROBE)
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(())
    } else {
        let said = String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned();
        Err(if said.is_empty() {
            "the attempt was killed".to_owned()
        } else {
            said
        })
    }
}

/// The attempt: enters namespaces and makes what only their owner can make.
pub fn probe() -> Result<(), ApplyError> {
    super::mount::enter(&super::namespace::Namespaces::for_a_probe())?;
    super::mount::memory_at_root()
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
