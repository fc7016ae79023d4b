//! Grants lowered to Landlock rules, as data. Pure.
//!
//! One ruleset; every right of the ABI in force is handled, so that what no rule grants is
//! refused. Rights are granted by name: a right that a later ABI adds is never given by a rule
//! written before it was known. Source: `Documentation/userspace-api/landlock.rst`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::mount::TERMINALS;
use super::right_set::RightSet;
use crate::confine::{Confinement, Mechanism};
use crate::plan::{Plan, Rights};

/// One right on files; the ABI that added it stands in [`Right::since`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    Execute,
    WriteFile,
    ReadFile,
    ReadDir,
    RemoveDir,
    RemoveFile,
    MakeChar,
    MakeDir,
    MakeReg,
    MakeSock,
    MakeFifo,
    MakeBlock,
    MakeSym,
    Refer,
    Truncate,
    IoctlDev,
    ResolveUnix,
}

impl Right {
    /// Every right this program knows.
    pub const ALL: [Self; 17] = [
        Self::Execute,
        Self::WriteFile,
        Self::ReadFile,
        Self::ReadDir,
        Self::RemoveDir,
        Self::RemoveFile,
        Self::MakeChar,
        Self::MakeDir,
        Self::MakeReg,
        Self::MakeSock,
        Self::MakeFifo,
        Self::MakeBlock,
        Self::MakeSym,
        Self::Refer,
        Self::Truncate,
        Self::IoctlDev,
        Self::ResolveUnix,
    ];

    /// The ABI that added it.
    #[must_use]
    pub const fn since(self) -> u32 {
        match self {
            Self::Refer => 2,
            Self::Truncate => 3,
            Self::IoctlDev => 5,
            Self::ResolveUnix => 9,
            _ => 1,
        }
    }

    /// Its place in a [`RightSet`].
    #[expect(clippy::as_conversions, reason = "the place of a name among its like")]
    pub(super) const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Whether it can be granted on a file that is no directory.
    #[must_use]
    pub const fn fits_a_file(self) -> bool {
        matches!(
            self,
            Self::Execute
                | Self::WriteFile
                | Self::ReadFile
                | Self::Truncate
                | Self::IoctlDev
                | Self::ResolveUnix
        )
    }
}

/// What [`Rights`] of a plan are in the kernel's words.
const fn kernel_rights(rights: Rights) -> &'static [Right] {
    match rights {
        Rights::List => &[Right::ReadDir],
        Rights::Read => &[Right::ReadFile, Right::ReadDir],
        Rights::Device => &[Right::ReadFile, Right::WriteFile, Right::IoctlDev],
        Rights::ReadExecute => &[Right::ReadFile, Right::ReadDir, Right::Execute],
        // No devices: none can be made, and none that lies there may be driven.
        Rights::Write => &[
            Right::Execute,
            Right::WriteFile,
            Right::ReadFile,
            Right::ReadDir,
            Right::RemoveDir,
            Right::RemoveFile,
            Right::MakeDir,
            Right::MakeReg,
            Right::MakeSock,
            Right::MakeFifo,
            Right::MakeSym,
            Right::Refer,
            Right::Truncate,
            Right::ResolveUnix,
        ],
    }
}

/// A ruleset as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// The ABI it is written for; the kernel must have at least this one.
    pub abi: u32,
    /// Every right handled: refused unless a rule grants it.
    pub handled: RightSet,
    /// Whether abstract sockets and signals stay inside.
    pub scoped: bool,
    /// Whether every TCP (and from ABI 10 UDP) port is refused.
    pub no_network: bool,
    /// What is granted.
    pub rules: Vec<Rule>,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The file, or the directory with all below it.
    pub path: PathBuf,
    /// The rights; on a file only those that fit one are granted.
    pub rights: RightSet,
}

/// The ruleset of a plan.
#[must_use]
pub fn rules(plan: &Plan, confinement: &Confinement, abi: u32) -> Rules {
    let handled: RightSet = Right::ALL
        .into_iter()
        .filter(|right| right.since() <= abi)
        .collect();
    let mut rules: Vec<Rule> = plan
        .grants
        .iter()
        .map(|grant| Rule {
            path: grant.path.clone(),
            rights: kernel_rights(grant.rights)
                .iter()
                .copied()
                .filter(|right| handled.contains(*right))
                .collect(),
        })
        .collect();
    if confinement.mechanisms.contains(&Mechanism::MountNamespace) {
        // Its own there, in memory.
        rules.extend(super::namespace::in_memory(plan).into_iter().map(|path| {
            let rights = in_memory_rights(plan, &path).filter(|right| handled.contains(*right));
            Rule {
                rights: rights.collect(),
                path,
            }
        }));
    }
    let own = |path: &str, rights: &[Right]| Rule {
        path: PathBuf::from(path),
        rights: rights
            .iter()
            .copied()
            .filter(|right| handled.contains(*right))
            .collect(),
    };
    if confinement.mechanisms.contains(&Mechanism::OwnTerminals) {
        let terminal = [
            Right::ReadDir,
            Right::ReadFile,
            Right::WriteFile,
            Right::IoctlDev,
        ];
        rules.push(own(TERMINALS, &terminal));
    }
    if confinement
        .mechanisms
        .contains(&Mechanism::SeccompButNamespaces)
    {
        // The maps of a namespace inside; what reaches the whole machine is read-only there.
        rules.push(own("/proc", &[Right::WriteFile]));
    }
    Rules {
        abi,
        handled,
        scoped: confinement.mechanisms.contains(&Mechanism::LandlockScopes),
        no_network: confinement.mechanisms.contains(&Mechanism::LandlockNetwork),
        rules,
    }
}

/// The rights on a place in memory. A rule reaches through the mounts below its path, and nothing
/// takes back there what it gives: what is granted below and is not to be executed, or whose
/// sockets are not to be spoken to, keeps the whole place from it. (That it is not written its
/// mount sees to.)
fn in_memory_rights(plan: &Plan, place: &Path) -> impl Iterator<Item = Right> {
    let below = |lacks: Right| {
        plan.grants.iter().any(|grant| {
            grant.path.starts_with(place) && !kernel_rights(grant.rights).contains(&lacks)
        })
    };
    let kept = [Right::Execute, Right::ResolveUnix].map(|right| (right, below(right)));
    kernel_rights(Rights::Write)
        .iter()
        .copied()
        .filter(move |right| !kept.contains(&(*right, true)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_grant_makes_or_drives_a_device() {
        for rights in [
            Rights::List,
            Rights::Read,
            Rights::ReadExecute,
            Rights::Write,
        ] {
            for right in [Right::MakeChar, Right::MakeBlock, Right::IoctlDev] {
                assert!(
                    !kernel_rights(rights).contains(&right),
                    "{rights:?} {right:?}"
                );
            }
        }
    }

    #[test]
    fn only_a_write_grant_writes() {
        let reading = [Right::Execute, Right::ReadFile, Right::ReadDir];
        for rights in [Rights::List, Rights::Read, Rights::ReadExecute] {
            assert!(
                kernel_rights(rights)
                    .iter()
                    .all(|right| reading.contains(right)),
                "{rights:?}"
            );
        }
        assert!(!kernel_rights(Rights::Read).contains(&Right::Execute));
        assert!(!kernel_rights(Rights::List).contains(&Right::ReadFile));
    }
}
