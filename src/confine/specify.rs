//! Maps each promise to what holds it here. Pure.

use std::collections::BTreeSet;

use super::Mechanism as M;
use super::{
    ConfineError, Confinement, KernelFacts, Mechanism, Promise, Standing, State, mechanisms,
};
use crate::declaration::{Network, Stdio};
use crate::plan::Plan;

/// What will hold each promise in a run of this plan.
///
/// # Errors
/// [`ConfineError::PromiseUnheld`] where a mechanism that this version has cannot be had on
/// this machine and nothing stands in for. What else is not held here is [`State::Unheld`], with a note.
pub fn specify(
    plan: &Plan,
    declared: &Stdio,
    kernel: &KernelFacts,
) -> Result<Confinement, ConfineError> {
    let mechanisms = mechanisms::mechanisms(plan, declared, kernel)?;
    let promises = Promise::ALL
        .iter()
        .map(|promise| standing(*promise, plan, declared, kernel, &mechanisms))
        .collect();
    Ok(Confinement {
        promises,
        mechanisms,
        cure: kernel.namespaces.as_ref().err().map(|no| no.cure.clone()),
    })
}

/// How one promise stands.
fn standing(
    promise: Promise,
    plan: &Plan,
    declared: &Stdio,
    kernel: &KernelFacts,
    mechanisms: &BTreeSet<Mechanism>,
) -> Standing {
    let judged = judge(promise, plan, kernel, mechanisms);
    let state = match (declared.without.contains(&promise), judged.held) {
        (true, _) => State::GivenUp,
        (false, true) => State::Held,
        (false, false) => State::Unheld,
    };
    Standing {
        id: promise,
        state,
        // Only what is really put in force in this run is named.
        mechanisms: judged
            .by
            .iter()
            .copied()
            .filter(|mechanism| mechanisms.contains(mechanism))
            .collect(),
        note: judged.note.map(str::to_owned),
    }
}

/// Whether a promise is held, by what, and what a reader should know.
struct Judgement {
    held: bool,
    by: &'static [Mechanism],
    note: Option<&'static str>,
}

const fn held(by: &'static [Mechanism]) -> Judgement {
    Judgement {
        held: true,
        by,
        note: None,
    }
}

const fn held_but(by: &'static [Mechanism], note: &'static str) -> Judgement {
    Judgement {
        held: true,
        by,
        note: Some(note),
    }
}

/// Not in full.
const fn unheld(by: &'static [Mechanism], note: &'static str) -> Judgement {
    Judgement {
        held: false,
        by,
        note: Some(note),
    }
}

fn judge(
    promise: Promise,
    plan: &Plan,
    kernel: &KernelFacts,
    set: &BTreeSet<Mechanism>,
) -> Judgement {
    use Promise as P;
    // As root with no id of its own: on that id hang the owner's rights.
    let root = kernel.root && !set.contains(&M::UnprivilegedId);
    match promise {
        P::P1 | P::P2 | P::P3 | P::P4 | P::P5 | P::P6 | P::P7 => files(promise, root, set),
        P::R5 => bounds(root, set),
        P::R1 | P::R2 | P::R3 | P::R4 => processes(promise, root, set),
        P::N1 | P::N2 | P::N3 | P::N4 => network(promise, plan.network, set),
        _ => supervisor(promise),
    }
}

fn files(promise: Promise, root: bool, set: &BTreeSet<Mechanism>) -> Judgement {
    const DEVICES: &[Mechanism] = &[
        M::MountNamespace,
        M::LandlockFiles,
        M::Seccomp,
        M::Session,
        M::OwnTerminals,
    ];
    let namespaces = set.contains(&M::MountNamespace);
    match promise {
        Promise::P3 if namespaces => held(&[M::MountNamespace]),
        Promise::P3 => unheld(
            &[],
            "namespaces are refused here: mode, owner, times and attributes of the person's own files outside can be changed",
        ),
        Promise::P4 => held(&[
            M::MountNamespace,
            M::LandlockFiles,
            M::NoNewPrivs,
            M::Seccomp,
            M::SeccompNoSetGid,
        ]),
        Promise::P5 if set.contains(&M::OwnTerminals) => held_but(
            DEVICES,
            "terminals of its own too, by the declaration's word",
        ),
        Promise::P5 => held(DEVICES),
        Promise::P6 if namespaces => held(&[M::MountNamespace, M::Seccomp]),
        Promise::P6 => unheld(
            &[M::Seccomp],
            "fanotify, file handles and mounts are closed; namespaces are refused here, so inotify reaches paths outside",
        ),
        Promise::P7 if namespaces => held(&[M::MountNamespace, M::LandlockFiles]),
        Promise::P7 => unheld(
            &[M::LandlockFiles],
            "no FIFO outside opens; namespaces are refused here, so names, kinds, sizes, times and attributes of files outside show, and the mounts",
        ),
        Promise::P1 if root => unheld(
            &[M::MountNamespace, M::LandlockFiles],
            "the supervisor runs as root, and its servers can be given no id of their own: files in the granted system directories that only root may read can be read",
        ),
        _ => held(&[M::MountNamespace, M::LandlockFiles, M::UnprivilegedId]),
    }
}

fn processes(promise: Promise, root: bool, set: &BTreeSet<Mechanism>) -> Judgement {
    const OWN: &[Mechanism] = &[
        M::UnprivilegedId,
        M::Capabilities,
        M::NoNewPrivs,
        M::Rlimits,
        M::Seccomp,
    ];
    let namespaces = set.contains(&M::MountNamespace);
    match promise {
        Promise::R1 if namespaces => held(&[
            M::PidNamespace,
            M::IpcNamespace,
            M::LandlockFiles,
            M::LandlockScopes,
            M::Seccomp,
            M::Keyring,
        ]),
        Promise::R1 => unheld(
            &[
                M::LandlockFiles,
                M::LandlockScopes,
                M::Seccomp,
                M::SeccompOwnProcess,
                M::SeccompOwnIpc,
                M::Keyring,
            ],
            "no trace or memory access reaches outside, and from Landlock ABI 6 no signal; namespaces are refused here, so names and command lines of other processes show in /proc",
        ),
        Promise::R2 if namespaces => {
            held(&[M::PidNamespace, M::ParentDeath, M::ProcessGroup, M::Cgroup])
        }
        Promise::R2 => unheld(
            &[M::ProcessGroup, M::ParentDeath, M::Cgroup],
            "when the run ends, so do the server, its process group and what it left; namespaces are refused here, so where the supervisor itself is killed only the server's main process ends",
        ),
        Promise::R3 if root || namespaces => held(OWN),
        Promise::R3 => held_but(
            OWN,
            "its capability bounding set is not empty: that of an ordinary user empties only in a namespace of its own, which is refused here; no_new_privs keeps all that stands there from being gained",
        ),
        Promise::R5 if root || !namespaces => unheld(
            &[M::Rlimits],
            "bounded: private memory of each process, open files, file size, core files; the number of processes and shared memory are not, nor a core that the machine pipes to a program",
        ),
        Promise::R5 => unheld(
            &[M::Rlimits, M::UserNamespace],
            "bounded: processes and threads, private memory of each process, open files, file size, core files; the memory of all processes together and shared memory are not, nor a core that the machine pipes to a program",
        ),
        _ if set.contains(&M::SeccompButNamespaces) => held_but(
            &[M::Seccomp, M::SeccompButNamespaces],
            "namespaces of its own are open, by the declaration's word, and with them more of the kernel",
        ),
        _ => held(&[M::Seccomp]),
    }
}

/// What bounds memory, processes, descriptors and files. As root `RLIMIT_NPROC` binds nothing.
fn bounds(root: bool, set: &BTreeSet<Mechanism>) -> Judgement {
    let namespaces = set.contains(&M::UserNamespace);
    if set.contains(&M::Cgroup) {
        return held_but(
            &[M::Cgroup, M::Rlimits, M::UserNamespace, M::Watch],
            "not bounded: a core that the machine pipes to a program",
        );
    }
    if namespaces && set.contains(&M::PidMax) {
        return held_but(
            &[M::Rlimits, M::PidMax, M::Watch],
            "as root up to 300 processes more than the limit can be there until the server is ended for them; the memory of all processes together is added up, the more often the less is left, so a burst passes it for a moment; not bounded: pipe pages, descriptors in flight and other memory of the kernel's own, a core that the machine pipes to a program",
        );
    }
    if namespaces && !root {
        return held_but(
            &[M::Rlimits, M::UserNamespace, M::Watch],
            "the memory of all processes together is added up, the more often the less is left, so a burst passes it for a moment; not bounded: pipe pages, descriptors in flight and other memory of the kernel's own, a core that the machine pipes to a program",
        );
    }
    unheld(
        &[M::Rlimits, M::Watch],
        if namespaces {
            "as root the number of processes is not bounded here: there is no control group, and before Linux 6.14 a process namespace has no bound of its own; what the server uses is added up and ends it when it is seen"
        } else {
            "namespaces are refused here and there is no control group: processes are not bounded; what the server uses is added up and ends it when it is seen"
        },
    )
}

fn network(promise: Promise, network: Network, set: &BTreeSet<Mechanism>) -> Judgement {
    match promise {
        Promise::N1 if set.contains(&M::NetworkNamespace) => {
            held(&[M::NetworkNamespace, M::Seccomp])
        }
        Promise::N1 if network == Network::None => held_but(
            &[M::SeccompNoNetwork, M::LandlockNetwork],
            "namespaces are refused here, so there is no loopback inside",
        ),
        Promise::N1 => held_but(
            &[M::Check],
            "not asked for: this server has the network, this machine's own ports and a cloud's metadata address included",
        ),
        Promise::N2 if set.contains(&M::SeccompNoUnix) && set.contains(&M::MountNamespace) => {
            held_but(
                &[M::SeccompNoUnix, M::MountNamespace],
                "abstract sockets cannot be kept apart before Linux 6.12, so its own Unix sockets are closed too: full Chromium, playwright, tsx and Python's forkserver will not work, and .NET loses its diagnostics socket",
            )
        }
        Promise::N2 if set.contains(&M::SeccompNoUnix) => held_but(
            &[M::SeccompNoUnix, M::LandlockScopes],
            "namespaces are refused here, so its own Unix sockets are closed too: full Chromium, playwright, tsx and Python's forkserver will not work, and .NET loses its diagnostics socket",
        ),
        Promise::N2 if set.contains(&M::LandlockSockets) => {
            held(&[M::MountNamespace, M::LandlockSockets, M::LandlockScopes])
        }
        Promise::N2 if !set.contains(&M::MountNamespace) => unheld(
            &[M::LandlockScopes],
            "namespaces are refused here, and Landlock knows sockets by path from Linux 7.1",
        ),
        Promise::N2 => held_but(
            &[M::MountNamespace, M::LandlockScopes],
            "a socket that lies in a directory it may read can be spoken to, until Linux 7.1",
        ),
        Promise::N3 => held(&[M::Seccomp, M::Capabilities]),
        _ => held_but(&[M::Check], "not asked for: lists cannot be declared yet"),
    }
}

fn supervisor(promise: Promise) -> Judgement {
    match promise {
        Promise::G2 => held_but(
            &[M::Check, M::Supervisor],
            "where the supervisor itself is killed, the next start or `list` finds what lies in --dir",
        ),
        Promise::G3 => held_but(
            &[M::Supervisor],
            "not where the supervisor itself is killed",
        ),
        Promise::E1 => held(&[M::Environment]),
        Promise::E2 => held(&[M::Descriptors]),
        Promise::E3 => held(&[M::Session, M::Supervisor]),
        Promise::S1 => held(&[M::Approval, M::ExecByDescriptor]),
        Promise::S2 => held(&[M::Supervisor, M::Environment]),
        Promise::S4 | Promise::S6 => held(&[M::Supervisor]),
        _ => held(&[M::Check]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_held_says_why() {
        for promise in Promise::ALL {
            for root in [false, true] {
                let with = BTreeSet::from([M::MountNamespace]);
                let set = if root { BTreeSet::new() } else { with };
                let judged = match promise.id().split_at(1).0 {
                    "P" => files(*promise, root, &set),
                    "R" if *promise == Promise::R5 => bounds(root, &set),
                    "R" => processes(*promise, root, &set),
                    "N" => network(*promise, Network::None, &BTreeSet::new()),
                    _ => supervisor(*promise),
                };
                assert!(judged.held || judged.note.is_some(), "{promise}");
                assert!(!judged.held || !judged.by.is_empty(), "{promise}");
            }
        }
    }

    #[test]
    fn r5_is_held_where_every_part_is_bounded() {
        let own = [M::UserNamespace, M::Rlimits, M::Watch].as_slice();
        for (more, root, is) in [
            (&[][..], false, true),
            (&[], true, false),
            (&[M::PidMax], true, true),
            (&[M::Cgroup], true, true),
        ] {
            let set = own.iter().chain(more).copied().collect();
            assert_eq!(bounds(root, &set).held, is, "{more:?} {root}");
        }
        for root in [false, true] {
            let mut set = BTreeSet::from([M::Rlimits, M::Watch]);
            assert!(!bounds(root, &set).held);
            set.insert(M::Cgroup);
            assert!(bounds(root, &set).held);
        }
    }
}
