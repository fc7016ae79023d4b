//! Maps each promise to what holds it here. Pure.

use std::collections::BTreeSet;

use super::Mechanism as M;
use super::{Confinement, ConfineError, KernelFacts, Mechanism, Promise, Standing, State};
use crate::declaration::{Network, Stdio};
use crate::plan::Plan;

/// The oldest Landlock ABI that servers are started on: below it files can be truncated.
pub const LANDLOCK_FLOOR: u32 = 3;
/// The ABI that scopes abstract sockets and signals.
pub const LANDLOCK_SCOPES: u32 = 6;
/// The ABI that holds pathname sockets by path.
pub const LANDLOCK_SOCKETS: u32 = 9;
/// The ABI that holds TCP by port.
pub const LANDLOCK_NETWORK: u32 = 4;

/// What will hold each promise in a run of this plan.
///
/// # Errors
/// [`ConfineError::PromiseUnheld`] where a mechanism that this version has cannot be had on
/// this machine. A promise whose mechanism is not built yet is [`State::Unheld`] with a note.
pub fn specify(
    plan: &Plan,
    declared: &Stdio,
    kernel: &KernelFacts,
) -> Result<Confinement, ConfineError> {
    let mechanisms = mechanisms(plan, kernel)?;
    let promises = Promise::ALL
        .iter()
        .map(|promise| standing(*promise, plan, declared, kernel, &mechanisms))
        .collect();
    Ok(Confinement { promises, mechanisms })
}

/// Everything that will be put in force.
fn mechanisms(plan: &Plan, kernel: &KernelFacts) -> Result<BTreeSet<Mechanism>, ConfineError> {
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
    let mut set = BTreeSet::from([
        M::LandlockFiles,
        M::Seccomp,
        M::SeccompOwnProcess,
        M::SeccompOwnIpc,
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
    ]);
    // Where keyrings are refused to us, the filters refuse them to the server all the same.
    if kernel.keyrings {
        set.insert(M::Keyring);
    }
    if abi >= LANDLOCK_SCOPES {
        set.insert(M::LandlockScopes);
    }
    set.insert(if abi >= LANDLOCK_SOCKETS { M::LandlockSockets } else { M::SeccompNoUnix });
    if plan.network == Network::None {
        set.insert(M::SeccompNoNetwork);
        if abi >= LANDLOCK_NETWORK {
            set.insert(M::LandlockNetwork);
        }
    }
    Ok(set)
}

/// How one promise stands.
fn standing(
    promise: Promise,
    plan: &Plan,
    declared: &Stdio,
    kernel: &KernelFacts,
    mechanisms: &BTreeSet<Mechanism>,
) -> Standing {
    let (held, by, note) = judge(promise, plan, kernel, mechanisms);
    let state = match (declared.without.contains(&promise), held) {
        (true, _) => State::GivenUp,
        (false, true) => State::Held,
        (false, false) => State::Unheld,
    };
    Standing {
        id: promise,
        state,
        // Only what is really put in force in this run is named.
        mechanisms: by.iter().copied().filter(|mechanism| mechanisms.contains(mechanism)).collect(),
        note: note.map(str::to_owned),
    }
}

/// Whether a promise is held, by what, and what a reader should know.
///
/// `false` always goes with a note: the promise's full mechanism is the namespace layer, which
/// this version does not have.
fn judge(
    promise: Promise,
    plan: &Plan,
    kernel: &KernelFacts,
    mechanisms: &BTreeSet<Mechanism>,
) -> (bool, &'static [Mechanism], Option<&'static str>) {
    let no_unix = mechanisms.contains(&M::SeccompNoUnix);
    match promise {
        Promise::P1 | Promise::P2 => (true, &[M::LandlockFiles], None),
        Promise::P3 => (false, &[], Some("the mount namespace that holds it is not built yet: mode, owner, times and attributes of the person's own files outside can be changed")),
        Promise::P4 => (true, &[M::LandlockFiles, M::NoNewPrivs], None),
        Promise::P5 => (true, &[M::LandlockFiles, M::Seccomp, M::Session], None),
        Promise::P6 => (false, &[M::Seccomp], Some("fanotify, file handles and mounts are closed; inotify on paths outside needs the mount namespace, which is not built yet")),
        Promise::P7 => (false, &[M::LandlockFiles], Some("no FIFO outside opens; names and kinds of files outside show until the mount namespace is built")),
        Promise::G1 => (true, &[M::Check], None),
        Promise::G2 => (false, &[], Some("the search at the end of a run is not built yet; a repository left behind refuses the next start (G1)")),
        Promise::G3 => (false, &[], Some("the search at the end of a run is not built yet")),
        Promise::E1 => (true, &[M::Environment], None),
        Promise::E2 => (true, &[M::Descriptors], None),
        Promise::E3 => (true, &[M::Session, M::Supervisor], None),
        Promise::R1 => (false, &[M::LandlockFiles, M::LandlockScopes, M::Seccomp, M::SeccompOwnProcess, M::SeccompOwnIpc, M::Keyring], Some("no signal, trace or memory access reaches outside; names and command lines of other processes show in /proc until the process namespace is built")),
        Promise::R2 => (false, &[M::ProcessGroup, M::ParentDeath], Some("ended with the supervisor: the server, its process group and what it adopted; a descendant in a session of its own outlives a SIGKILL of the supervisor until the process namespace is built")),
        Promise::R3 if kernel.root => (true, &[M::Capabilities, M::NoNewPrivs, M::Rlimits, M::Seccomp], None),
        Promise::R3 => (false, &[M::Capabilities, M::NoNewPrivs, M::Rlimits, M::Seccomp], Some("no capability is held or can be gained; the bounding set of an ordinary user empties only in a user namespace, which is not built yet")),
        Promise::R4 => (true, &[M::Seccomp], None),
        Promise::R5 => (false, &[M::Rlimits], Some("bounded: memory of each process, open files, file size, core dumps; the number of processes is not, until the user namespace is built")),
        Promise::N1 if plan.network == Network::None => (true, &[M::SeccompNoNetwork, M::LandlockNetwork], Some("there is no loopback inside until the network namespace is built")),
        Promise::N1 => (true, &[M::Check], Some("not asked for: this server has the network, this machine's own ports and a cloud's metadata address included")),
        Promise::N2 if no_unix => (true, &[M::SeccompNoUnix, M::LandlockScopes], Some("its own Unix sockets are closed too: full Chromium, playwright, tsx and Python's forkserver will not work, and .NET loses its diagnostics socket, until the mount namespace is built, or on Linux 7.1 and later")),
        Promise::N2 => (true, &[M::LandlockSockets, M::LandlockScopes], None),
        Promise::N3 => (true, &[M::Seccomp, M::Capabilities], None),
        Promise::N4 => (true, &[M::Check], Some("not asked for: lists cannot be declared yet")),
        Promise::S1 => (true, &[M::Approval, M::ExecByDescriptor], None),
        Promise::S2 => (true, &[M::Supervisor, M::Environment], None),
        Promise::S3 | Promise::S5 => (true, &[M::Check], None),
        Promise::S4 | Promise::S6 => (true, &[M::Supervisor], None),
    }
}
