//! Bounds lowered to resource limits, as data. Pure.
//!
//! `RLIMIT_NPROC` is not among them: outside a user namespace it counts every process of the
//! person, so a busy desktop would starve the server, and root is not bound by it
//! (`setrlimit(2)`). It comes with the namespace layer.

use serde::{Deserialize, Serialize};

use super::cgroup::Bounds;
use crate::confine::{Confinement, KernelFacts, Mechanism};
use crate::declaration::BoundLimits;

/// The least bound on the numbers of processes that is set in a namespace: numbers below 300 are
/// given once, so that of a smaller bound little would be left when they are used up.
const LEAST_PID_MAX: u64 = 512;
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
#[must_use]
pub fn pid_max(limits: BoundLimits, confinement: &Confinement) -> Option<u32> {
    let bound = limits.processes.max(LEAST_PID_MAX);
    confinement
        .mechanisms
        .contains(&Mechanism::PidMax)
        // What the kernel takes at most bounds nothing.
        .then(|| u32::try_from(bound).map_or(MOST_PID_MAX, |bound| bound.min(MOST_PID_MAX)))
}
