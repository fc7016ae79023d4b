//! Bounds lowered to resource limits, as data. Pure.
//!
//! `RLIMIT_NPROC` is not among them: outside a user namespace it counts every process of the
//! person, so a busy desktop would starve the server, and root is not bound by it
//! (`setrlimit(2)`). It comes with the namespace layer.

use serde::{Deserialize, Serialize};

use crate::declaration::BoundLimits;

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
