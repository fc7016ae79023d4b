//! Bounds lowered to resource limits, as data. Pure.
//!
//! `RLIMIT_NPROC` is not among them: outside a user namespace it counts every process of the
//! person, so a busy desktop would starve the server, and root is not bound by it
//! (`setrlimit(2)`). It comes with the namespace layer.

use serde::{Deserialize, Serialize};

use super::cgroup::Bounds;
use crate::confine::{Confinement, KernelFacts, Mechanism};
use crate::declaration::BoundLimits;

/// Numbers of processes that a namespace gives once: when they are used up it begins anew above
/// them (`RESERVED_PIDS`), and as many as are allowed must still be there.
const GIVEN_ONCE: u64 = 300;
/// The most that any kernel takes (`PID_MAX_LIMIT`, 64 bits).
const MOST_PID_MAX: u32 = 4_194_304;

/// Hard and soft limits alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rlimits {
    /// `RLIMIT_DATA`, bytes: private writable memory of one process. Not `RLIMIT_AS`: engines
    /// reserve far more address space than they ever touch.
    pub data: u64,
    /// `RLIMIT_NOFILE`.
    pub nofile: u64,
    /// `RLIMIT_FSIZE`, bytes.
    pub fsize: u64,
    /// `RLIMIT_CORE`, bytes.
    pub core: u64,
    /// `RLIMIT_MEMLOCK`, bytes; locked memory is nothing a server needs much of.
    pub memlock: u64,
    /// `RLIMIT_RTPRIO`: no real-time priority.
    pub rtprio: u64,
    /// `RLIMIT_NICE`: the own priority is not raised.
    pub nice: u64,
    /// `RLIMIT_MSGQUEUE`, bytes of POSIX message queues.
    pub msgqueue: u64,
}

impl From<BoundLimits> for Rlimits {
    fn from(limits: BoundLimits) -> Self {
        Self {
            data: limits.memory,
            nofile: limits.files,
            fsize: limits.file_size,
            core: 0,
            memlock: 8 << 20,
            rtprio: 0,
            nice: 0,
            msgqueue: 0,
        }
    }
}

/// The control group of a run; `None` where the confinement has none.
#[must_use]
pub fn cgroup(
    limits: BoundLimits,
    confinement: &Confinement,
    kernel: &KernelFacts,
) -> Option<Bounds> {
    let parent = kernel.cgroup.as_ref().ok()?;
    confinement
        .mechanisms
        .contains(&Mechanism::Cgroup)
        .then(|| Bounds {
            parent: parent.clone(),
            memory: limits.memory,
            processes: limits.processes,
        })
}

/// The bound on the numbers of processes in a namespace; `None` where the confinement has none.
/// What is between it and the limit is for the watch to end.
#[must_use]
pub fn pid_max(limits: BoundLimits, confinement: &Confinement) -> Option<u32> {
    let bound = limits.processes.saturating_add(GIVEN_ONCE);
    confinement
        .mechanisms
        .contains(&Mechanism::PidMax)
        // What the kernel takes at most bounds nothing.
        .then(|| u32::try_from(bound).map_or(MOST_PID_MAX, |bound| bound.min(MOST_PID_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declaration::Limits;

    #[test]
    fn numbers_are_bounded_where_it_is_asked_for() {
        let with = |mechanism| Confinement {
            promises: Vec::new(),
            mechanisms: [mechanism].into(),
            cure: None,
        };
        let mut limits = Limits::DEFAULT;
        assert_eq!(pid_max(limits, &with(Mechanism::PidMax)), Some(812));
        assert_eq!(pid_max(limits, &with(Mechanism::Rlimits)), None);
        limits.processes = u64::MAX;
        assert_eq!(pid_max(limits, &with(Mechanism::PidMax)), Some(4_194_304));
    }
}
