//! System-call filters: data in `policy/seccomp/`, a reason for each entry, compiled here.
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

use seccompiler::{BpfMap, BpfProgram, TargetArch, apply_filter, compile_from_json, sock_filter};
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

    /// Its filters, all of them in one text.
    const fn text(self) -> &'static str {
        match self {
            Self::X86_64 => include_str!("../../../policy/seccomp/x86_64.json"),
            Self::Aarch64 => include_str!("../../../policy/seccomp/aarch64.json"),
        }
    }

    const fn target(self) -> TargetArch {
        match self {
            Self::X86_64 => TargetArch::x86_64,
            Self::Aarch64 => TargetArch::aarch64,
        }
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
    /// The parts of the data that it is made of.
    const fn parts(self) -> &'static [&'static str] {
        match self {
            Self::Allow => &["allow"],
            Self::Deny => &["deny", "no-namespaces"],
            Self::DenyButNamespaces => &["deny"],
            Self::NoUnix => &["no-unix"],
            Self::NoNetwork => &["no-network"],
            Self::OwnProcess => &["own-process"],
            Self::OwnIpc => &["own-ipc"],
        }
    }

    /// Its name in a spec and for a person.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::DenyButNamespaces => "deny-but-namespaces",
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

/// A compiled filter, as it travels to the process that installs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Which.
    pub filter: Filter,
    /// What the kernel runs for each call.
    pub instructions: Vec<Instruction>,
}

/// Why there is no filter in force.
#[derive(Debug, thiserror::Error)]
pub enum SeccompError {
    /// The data is no JSON: a fault of this program, found by its tests.
    #[error("the system-call filters for {arch} do not read")]
    Data {
        /// Whose.
        arch: Arch,
        /// What is wrong with them.
        #[source]
        source: serde_json::Error,
    },
    /// The data is not as seccompiler wants it: a fault of this program, found by its tests.
    #[error("the system-call filters for {arch} do not compile")]
    Compile {
        /// Whose.
        arch: Arch,
        /// What is wrong with them.
        #[source]
        source: seccompiler::Error,
    },
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

/// Compiles the named filters for an architecture, in the order of installation. Pure.
///
/// # Errors
/// [`SeccompError::Order`] where `allow` or `deny` is not among them: there is no confinement
/// without both. The others are faults of the data.
pub(crate) fn lower(arch: Arch, filters: &BTreeSet<Filter>) -> Result<Vec<Program>, SeccompError> {
    in_order(filters.iter().copied())?;
    compile(arch, filters)
}

/// Why a call is refused, in the words of the data: the promise, a colon, the reason. The parts
/// that are always in force are looked through, the one for namespaces included.
pub(crate) fn reason(call: &str) -> Option<String> {
    let data: BTreeMap<String, Value> = serde_json::from_str(Arch::current()?.text()).ok()?;
    Filter::Deny
        .parts()
        .iter()
        .filter_map(|part| data.get(*part)?.get("filter")?.as_array())
        .flatten()
        .find(|rule| rule.get("syscall").and_then(Value::as_str) == Some(call))
        .and_then(|rule| Some(rule.get("comment")?.as_str()?.to_owned()))
}

fn compile(arch: Arch, filters: &BTreeSet<Filter>) -> Result<Vec<Program>, SeccompError> {
    let mut compiled = compile_whole(arch, filters)?;
    let program = |&filter: &Filter| {
        let bpf = compiled
            .remove(filter.name())
            .ok_or(SeccompError::Missing { arch, filter })?;
        Ok(Program {
            filter,
            instructions: shorten(&bpf),
        })
    };
    filters.iter().map(program).collect()
}

/// Each filter by its name, as seccompiler makes it.
fn compile_whole(arch: Arch, filters: &BTreeSet<Filter>) -> Result<BpfMap, SeccompError> {
    let data: BTreeMap<String, Value> =
        serde_json::from_str(arch.text()).map_err(|source| SeccompError::Data { arch, source })?;
    let joined: BTreeMap<&str, Value> = filters
        .iter()
        .map(|filter| Ok((filter.name(), join(&data, arch, *filter)?)))
        .collect::<Result<_, SeccompError>>()?;
    let text = serde_json::to_vec(&joined).map_err(|source| SeccompError::Data { arch, source })?;
    compile_from_json(text.as_slice(), arch.target())
        .map_err(|source| SeccompError::Compile { arch, source })
}

/// One filter of the parts that it is made of, which have the same actions.
fn join(data: &BTreeMap<String, Value>, arch: Arch, filter: Filter) -> Result<Value, SeccompError> {
    let missing = || SeccompError::Missing { arch, filter };
    let mut parts = filter.parts().iter().map(|part| data.get(*part));
    let mut whole = parts.next().flatten().ok_or_else(missing)?.clone();
    for part in parts {
        let more = part.and_then(|part| part.get("filter")?.as_array());
        let rules = whole.get_mut("filter").and_then(Value::as_array_mut);
        let (rules, more) = rules.zip(more).ok_or_else(missing)?;
        rules.extend(more.iter().cloned());
    }
    Ok(whole)
}

/// Takes out of a compiled filter what decides nothing.
///
/// A call that is judged by its number alone compiles to five instructions, of which two jump
/// over one another: test the number, jump to the answer, jump past it, the answer, the other
/// answer. The test can skip the answer by itself. The kernel walks a filter once for each
/// number it knows when it is installed, so this saves a third of a millisecond of each start.
/// No jump leads over such a group or into it: all others stay within the rules of one call.
fn shorten(bpf: &[sock_filter]) -> Vec<Instruction> {
    const JUMP: u16 = 0x05;
    const RETURN: u16 = 0x06;
    const IF_EQUAL: u16 = 0x15;
    let long: Vec<Instruction> = bpf.iter().map(instruction).collect();
    let mut short = Vec::with_capacity(long.len());
    let mut rest = long.as_slice();
    loop {
        rest = match rest {
            [
                test @ (IF_EQUAL, 0, 1, _),
                (JUMP, _, _, 1),
                (JUMP, _, _, 2),
                answer @ (RETURN, ..),
                (RETURN, ..),
                after @ ..,
            ] => {
                short.extend([*test, *answer]);
                after
            }
            [first, after @ ..] => {
                short.push(*first);
                after
            }
            [] => return short,
        };
    }
}

const fn instruction(of: &sock_filter) -> Instruction {
    (of.code, of.jt, of.jf, of.k)
}

/// Puts the programs in force, for good, on the calling thread and all it will start; sets
/// no_new_privs. The caller has one thread and is about to become the server.
///
/// # Errors
/// [`SeccompError::Order`], before anything is installed, where they are not what [`lower`]
/// gives; [`SeccompError::Install`] where the kernel refuses one: those before it stay.
pub(crate) fn install(programs: &[Program]) -> Result<(), SeccompError> {
    in_order(programs.iter().map(|program| program.filter))?;
    for Program {
        filter,
        instructions,
    } in programs
    {
        let bpf: BpfProgram = instructions
            .iter()
            .map(|&(code, jt, jf, k)| sock_filter { code, jt, jf, k })
            .collect();
        apply_filter(&bpf).map_err(|source| SeccompError::Install {
            filter: *filter,
            source,
        })?;
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
mod tests;
