//! System-call filters: data in `policy/seccomp/`, a reason for each entry, and what it compiles
//! to beside it.
//!
//! To compile the data takes longer than all the rest of a start. So what it compiles to is kept
//! with it, as a search for the call's number in place of a list: the kernel walks a filter for
//! each number it knows when it is installed. A test compiles the data anew and compares, and
//! puts each of the two to the same calls.
//!
//! Each [`Filter`] is a program of its own and they are stacked. The kernel asks all of them and
//! takes the strongest answer; of two refusals the one installed last wins. So `allow` comes
//! first and says ENOSYS to all it does not list, which libraries take as an old kernel and fall
//! back, and `deny` comes second and says EPERM to what is dangerous. The others close what a
//! namespace or a newer Landlock would hold, where this machine has neither; they only ever
//! refuse more. A call of a foreign ABI (i386, 32-bit ARM) ends the process in every one of
//! them; an x32 number is on no list. Source: seccomp(2); `docs/decisions/0003`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use seccompiler::{BpfProgram, apply_filter, sock_filter};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An architecture that there are filters for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Arch {
    /// 64-bit x86.
    #[serde(rename = "x86_64")]
    X86_64,
    /// 64-bit ARM.
    #[serde(rename = "aarch64")]
    Aarch64,
}

impl Arch {
    /// The one this program was built for; `None` where there are no filters for it.
    #[must_use]
    pub const fn current() -> Option<Self> {
        if cfg!(target_arch = "x86_64") {
            Some(Self::X86_64)
        } else if cfg!(target_arch = "aarch64") {
            Some(Self::Aarch64)
        } else {
            None
        }
    }

    /// Its filters, all of them in one text, a reason for each entry.
    const fn text(self) -> &'static str {
        match self {
            Self::X86_64 => include_str!("../../../policy/seccomp/x86_64.json"),
            Self::Aarch64 => include_str!("../../../policy/seccomp/aarch64.json"),
        }
    }

    /// Its filters, compiled.
    const fn programs(self) -> &'static [(&'static str, &'static [Instruction])] {
        match self {
            Self::X86_64 => &include!("../../../policy/seccomp/x86_64.bpf"),
            Self::Aarch64 => &include!("../../../policy/seccomp/aarch64.bpf"),
        }
    }

    /// The one of a name.
    fn program(self, filter: Filter) -> Result<&'static [Instruction], SeccompError> {
        let mut programs = self.programs().iter();
        programs
            .find(|(name, _)| *name == filter.name())
            .map(|(_, program)| *program)
            .ok_or(SeccompError::Missing { arch: self, filter })
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        })
    }
}

/// One filter of the data. Their order is the order of installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Filter {
    /// What servers need; ENOSYS to the rest. Always installed.
    Allow,
    /// What is dangerous, by name or argument: EPERM. Installed unless the next one is.
    Deny,
    /// The same but for namespaces of one's own (`--allow nested-sandbox`).
    DenyButNamespaces,
    /// P4 where something is lent: no set-gid bit, since the group on disk is the owner's.
    NoSetGid,
    /// N2 without a mount namespace and below Landlock ABI 9: no local socket but joined ones that
    /// reach only each other.
    NoUnix,
    /// N1 without a network namespace: no socket but local ones and route look-ups.
    NoNetwork,
    /// R1 without a pid namespace: priority, affinity, scheduling and limits of the caller only.
    /// Signals are not among these: Landlock's scope (ABI 6) holds them.
    OwnProcess,
    /// R1 without an IPC namespace: no SysV objects and POSIX message queues.
    OwnIpc,
}

impl Filter {
    /// Its name in a spec and for a person.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::DenyButNamespaces => "deny-but-namespaces",
            Self::NoSetGid => "no-set-gid",
            Self::NoUnix => "no-unix",
            Self::NoNetwork => "no-network",
            Self::OwnProcess => "own-process",
            Self::OwnIpc => "own-ipc",
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Classic BPF: code, jump if true, jump if false, operand.
pub type Instruction = (u16, u8, u8, u32);

/// Why there is no filter in force.
#[derive(Debug, thiserror::Error)]
pub enum SeccompError {
    /// The data lacks a filter: a fault of this program, found by its tests.
    #[error("the system-call filters for {arch} lack `{filter}`")]
    Missing {
        /// Whose.
        arch: Arch,
        /// Which.
        filter: Filter,
    },
    /// `allow` or `deny` is not there, or they and the others are not in their order, which
    /// decides what a refused call answers.
    #[error("the system-call filters are not `allow`, `deny` and then others in their order")]
    Order,
    /// The kernel refuses a filter: one without seccomp, or one already confined too deep.
    #[error("the kernel does not take the system-call filter `{filter}`")]
    Install {
        /// Which.
        filter: Filter,
        /// What the system said.
        #[source]
        source: seccompiler::Error,
    },
}

/// The named filters in the order of installation, where an architecture has them all. Pure.
///
/// # Errors
/// [`SeccompError::Order`] where `allow` or `deny` is not among them: there is no confinement
/// without both. [`SeccompError::Missing`], a fault of the data.
pub(crate) fn lower(arch: Arch, filters: &BTreeSet<Filter>) -> Result<Vec<Filter>, SeccompError> {
    in_order(filters.iter().copied())?;
    for filter in filters {
        arch.program(*filter)?;
    }
    Ok(filters.iter().copied().collect())
}

/// Why a call is refused, in the words of the data: the promise, a colon, the reason. The parts
/// that are always in force are looked through, the one for namespaces included.
pub(crate) fn reason(call: &str) -> Option<String> {
    let data: BTreeMap<String, Value> = serde_json::from_str(Arch::current()?.text()).ok()?;
    ["deny", "no-namespaces"]
        .into_iter()
        .filter_map(|part| data.get(part)?.get("filter")?.as_array())
        .flatten()
        .find(|rule| rule.get("syscall").and_then(Value::as_str) == Some(call))
        .and_then(|rule| Some(rule.get("comment")?.as_str()?.to_owned()))
}

/// Puts the filters in force, for good, on the calling thread and all it will start; sets
/// no_new_privs. The caller has one thread and is about to become the server.
///
/// # Errors
/// [`SeccompError::Order`], before anything is installed, where they are not what [`lower`]
/// gives; [`SeccompError::Install`] where the kernel refuses one: those before it stay.
pub(crate) fn install(filters: &[Filter]) -> Result<(), SeccompError> {
    in_order(filters.iter().copied())?;
    let arch = Arch::current().ok_or(SeccompError::Order)?;
    for &filter in filters {
        let bpf: BpfProgram = arch
            .program(filter)?
            .iter()
            .map(|&(code, jt, jf, k)| sock_filter { code, jt, jf, k })
            .collect();
        apply_filter(&bpf).map_err(|source| SeccompError::Install { filter, source })?;
    }
    Ok(())
}

/// `allow`, `deny`, then any others, each once and in their order.
fn in_order(filters: impl Iterator<Item = Filter>) -> Result<(), SeccompError> {
    let filters: Vec<Filter> = filters.collect();
    let base = matches!(
        filters.as_slice(),
        [Filter::Allow, Filter::Deny | Filter::DenyButNamespaces, rest @ ..]
            if !rest.contains(&Filter::DenyButNamespaces)
    );
    if base && filters.is_sorted_by(|a, b| a < b) {
        Ok(())
    } else {
        Err(SeccompError::Order)
    }
}

#[cfg(test)]
mod generate;
#[cfg(test)]
mod shorten;
#[cfg(test)]
mod tests;
