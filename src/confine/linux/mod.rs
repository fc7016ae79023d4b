//! Confinement on Linux: the lowering (pure) and the calls that put it in force.
//!
//! `landlock`, `seccomp` and `limits` turn a confinement into rules as plain data, so that
//! `explain` prints exactly what the shim will enforce; `apply` makes the system calls.

pub(crate) mod apply;
pub(crate) mod capabilities;
pub(crate) mod cgroup;
pub(crate) mod close;
pub(crate) mod cure;
pub(crate) mod entry;
pub(crate) mod ids;
pub(crate) mod kernel;
pub(crate) mod landlock;
pub(crate) mod lend;
pub(crate) mod limits;
pub(crate) mod links;
pub(crate) mod mount;
pub(crate) mod mountinfo;
pub(crate) mod namespace;
pub(crate) mod proc;
pub(crate) mod right_set;
pub(crate) mod ruleset;
pub(crate) mod seccomp;
pub(crate) mod source;
pub(crate) mod way;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::spec::Ids;
use super::{ConfineError, Confinement, KernelFacts, Mechanism, Promise};
use crate::plan::Plan;

/// The rules for one run, as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Linux {
    /// The kernel's ids it runs under, where they are not the supervisor's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<Ids>,
    /// Namespaces and a root file system of its own, where they can be had.
    pub namespaces: Option<namespace::Namespaces>,
    /// Files, sockets, signals and ports.
    pub landlock: landlock::Rules,
    /// System calls, in the order of installation.
    pub seccomp: Vec<seccomp::Filter>,
    /// Resource limits.
    pub limits: limits::Rlimits,
    /// A control group of its own, where it can be had.
    pub cgroup: Option<cgroup::Bounds>,
}

/// Lowers a confinement to rules. Pure.
///
/// # Errors
/// [`ConfineError`] where the filters do not build for this machine.
pub fn lower(
    plan: &Plan,
    confinement: &Confinement,
    kernel: &KernelFacts,
) -> Result<Linux, ConfineError> {
    let arch = kernel.arch.ok_or_else(|| ConfineError::PromiseUnheld {
        promise: Promise::R4,
        why: "there are no system-call filters for this architecture".to_owned(),
        cure: "run on x86_64 or aarch64".to_owned(),
    })?;
    let abi = kernel
        .landlock_abi
        .ok_or_else(|| ConfineError::PromiseUnheld {
            promise: Promise::P1,
            why: "this kernel has no Landlock".to_owned(),
            cure: "boot Linux 6.2 or later with Landlock".to_owned(),
        })?;
    Ok(Linux {
        ids: kernel
            .ids
            .filter(|_| confinement.mechanisms.contains(&Mechanism::UnprivilegedId)),
        namespaces: namespace::namespaces(plan, confinement),
        landlock: landlock::rules(plan, confinement, abi),
        seccomp: seccomp::lower(arch, &filters(&confinement.mechanisms))?,
        limits: limits::Rlimits::from(plan.limits),
        cgroup: limits::cgroup(plan.limits, confinement, kernel),
    })
}

/// The filters that the mechanisms of a confinement ask for.
fn filters(mechanisms: &BTreeSet<Mechanism>) -> BTreeSet<seccomp::Filter> {
    let nested = mechanisms.contains(&Mechanism::SeccompButNamespaces);
    mechanisms
        .iter()
        .flat_map(|mechanism| match mechanism {
            Mechanism::Seccomp if nested => &[seccomp::Filter::Allow][..],
            Mechanism::Seccomp => &[seccomp::Filter::Allow, seccomp::Filter::Deny],
            Mechanism::SeccompButNamespaces => &[seccomp::Filter::DenyButNamespaces],
            Mechanism::SeccompNoSetGid => &[seccomp::Filter::NoSetGid],
            Mechanism::SeccompNoUnix => &[seccomp::Filter::NoUnix],
            Mechanism::SeccompNoNetwork => &[seccomp::Filter::NoNetwork],
            Mechanism::SeccompOwnProcess => &[seccomp::Filter::OwnProcess],
            Mechanism::SeccompOwnIpc => &[seccomp::Filter::OwnIpc],
            _ => &[],
        })
        .copied()
        .collect()
}
