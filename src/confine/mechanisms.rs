//! What will be put in force in one run on this machine. Pure.

use std::collections::BTreeSet;

use super::Mechanism as M;
use super::{ConfineError, KernelFacts, Mechanism, Promise};
use crate::declaration::{Allow, Network, Stdio};
use crate::plan::Plan;

/// The oldest Landlock ABI that servers are started on: below it files can be truncated.
pub const LANDLOCK_FLOOR: u32 = 3;
/// The ABI that scopes abstract sockets and signals.
pub const LANDLOCK_SCOPES: u32 = 6;
/// The ABI that holds pathname sockets by path.
pub const LANDLOCK_SOCKETS: u32 = 9;
/// The ABI that holds TCP by port.
pub const LANDLOCK_NETWORK: u32 = 4;

/// What every run has.
const ALWAYS: [Mechanism; 15] = [
    M::LandlockFiles,
    M::Seccomp,
    M::Capabilities,
    M::NoNewPrivs,
    M::Session,
    M::Rlimits,
    M::Descriptors,
    M::Environment,
    M::ProcessGroup,
    M::ParentDeath,
    M::Check,
    M::Approval,
    M::ExecByDescriptor,
    M::Supervisor,
    M::Watch,
];

/// Refuses a kernel without what no other mechanism stands in for.
fn floor(kernel: &KernelFacts) -> Result<u32, ConfineError> {
    let abi = kernel.landlock_abi.unwrap_or(0);
    if abi < LANDLOCK_FLOOR {
        return Err(ConfineError::PromiseUnheld {
            promise: Promise::P1,
            why: match kernel.landlock_abi {
                None => "this kernel has no Landlock, or it is switched off".to_owned(),
                Some(abi) => format!("this kernel's Landlock is ABI {abi}; {LANDLOCK_FLOOR} or later is needed"),
            },
            cure: "boot Linux 6.2 or later with `landlock` among the modules of the kernel's lsm= line".to_owned(),
        });
    }
    if kernel.arch.is_none() {
        return Err(ConfineError::PromiseUnheld {
            promise: Promise::R4,
            why: "there are system-call filters for x86_64 and aarch64 only".to_owned(),
            cure: "run on x86_64 or aarch64".to_owned(),
        });
    }
    if kernel.namespaces.is_ok() && !kernel.kept.is_empty() {
        return Err(ConfineError::PromiseUnheld {
            promise: Promise::P1,
            why: format!(
                "as root, servers run under an id of their own, and what it is granted cannot be lent to that: {}",
                kernel.kept.join("; ")
            ),
            cure: "run the supervisor as the owner of it, an ordinary user; or move it to a file system whose mounts can map ids (ext4, xfs, btrfs)".to_owned(),
        });
    }
    Ok(abi)
}

/// Everything that will be put in force.
pub(super) fn mechanisms(
    plan: &Plan,
    declared: &Stdio,
    kernel: &KernelFacts,
) -> Result<BTreeSet<Mechanism>, ConfineError> {
    let abi = floor(kernel)?;
    let mut set = BTreeSet::from(ALWAYS);
    // Where keyrings are refused to us, the filters refuse them to the server all the same.
    if kernel.keyrings {
        set.insert(M::Keyring);
    }
    if abi >= LANDLOCK_SCOPES {
        set.insert(M::LandlockScopes);
    }
    let namespaces = kernel.namespaces.is_ok();
    let allowed = |what| declared.allow.contains(&what);
    set.extend(if namespaces {
        [
            M::UserNamespace,
            M::MountNamespace,
            M::PidNamespace,
            M::IpcNamespace,
        ]
        .as_slice()
    } else {
        // What a namespace would keep apart is closed instead.
        [M::SeccompOwnProcess, M::SeccompOwnIpc].as_slice()
    });
    for (is, mechanism) in [
        (kernel.ids.is_some(), M::UnprivilegedId),
        (kernel.ids.is_some(), M::SeccompNoSetGid),
        (allowed(Allow::NestedSandbox), M::SeccompButNamespaces),
        (allowed(Allow::Pty), M::OwnTerminals),
    ] {
        if namespaces && is {
            set.insert(mechanism);
        }
    }
    if abi >= LANDLOCK_SOCKETS {
        set.insert(M::LandlockSockets);
    } else if (!namespaces || abi < LANDLOCK_SCOPES) && !declared.without.contains(&Promise::N2) {
        // Where it is given up, its own sockets work.
        set.insert(M::SeccompNoUnix);
    }
    if kernel.cgroup.is_ok() {
        set.insert(M::Cgroup);
    } else if namespaces && kernel.root && kernel.ids.is_none() && kernel.pid_max {
        // Root is not held by RLIMIT_NPROC.
        set.insert(M::PidMax);
    }
    if plan.network == Network::None {
        if namespaces {
            set.insert(M::NetworkNamespace);
        } else {
            set.insert(M::SeccompNoNetwork);
            if abi >= LANDLOCK_NETWORK {
                set.insert(M::LandlockNetwork);
            }
        }
    }
    Ok(set)
}
