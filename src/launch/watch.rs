//! Watches that a running server stays within its limits (promise R5), and says when it does not.
//!
//! Where a control group counts, the kernel bounds memory and processes, and this reads what it
//! counted; else it adds up what the server's processes use. In both cases it looks at free disk.
//! One look is a few short reads; [`pace`] says when the next one is. It is polled by the relay's
//! one task: there is no thread.

mod disk;
mod memory;
mod pace;

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use nix::unistd::{SysconfVar, sysconf};
use tokio::time::Instant;

use self::disk::Disks;
use self::memory::{Machine, Memory, Whose};
use self::pace::Crowd;
use crate::confine::linux::cgroup::Cgroup;
use crate::plan::Plan;
use crate::relay::{Bounds, Clock, Over};

/// The watch over one server.
#[derive(Debug)]
pub(super) struct Watch {
    memory_limit: u64,
    processes_limit: u64,
    root: u32,
    cgroup: Option<Cgroup>,
    memory: Memory,
    crowd: Crowd,
    disks: Disks,
    processors: u64,
    clock: Clock,
}

/// What there is before a server starts. It may have taken much of it before it is watched.
#[derive(Debug)]
pub(super) struct Before {
    disks: Disks,
    machine: Machine,
    processors: u64,
    at: Instant,
}

/// The processors of this machine: all, since a server may widen what it was started on. As many as
/// there can be where that is not told.
fn processors() -> u64 {
    let told = sysconf(SysconfVar::_NPROCESSORS_ONLN).ok().flatten();
    told.and_then(|count| u64::try_from(count).ok())
        .unwrap_or(u64::MAX)
}

impl Before {
    /// Looks at the disks that it may write to, at the machine's memory and at its processors.
    ///
    /// # Errors
    /// One of them cannot be looked at.
    pub(super) fn look(plan: &Plan) -> io::Result<Self> {
        let places = [Some(plan.home.as_path()), plan.dir.as_deref()];
        Ok(Self {
            disks: Disks::of(places.into_iter().flatten())?,
            machine: Machine::look(&mut Vec::new())?,
            processors: processors(),
            at: Instant::now(),
        })
    }

    /// When a server that starts now must be looked at first, whatever it does: as after a look.
    fn first_look(&self, memory_limit: u64) -> Instant {
        let left = memory_limit.min(self.disks.left_before());
        self.at + pace::pause(left, self.processors, Duration::ZERO)
    }
}

impl Watch {
    /// Begins to watch the server whose first process has this number; `namespaces` tells whether
    /// that one is ours, and which file systems in memory it has.
    ///
    /// # Errors
    /// There is no timer to be had.
    pub(super) fn begin(
        plan: &Plan,
        main: u32,
        namespaces: Option<&[PathBuf]>,
        cgroup: Option<Cgroup>,
        before: Before,
    ) -> io::Result<Self> {
        let whose = match namespaces {
            Some(in_memory) => Whose {
                root: main,
                ours: 1,
                in_memory: in_memory.to_vec(),
            },
            // What leaves its parent is adopted by this process.
            None => Whose {
                root: std::process::id(),
                ours: 0,
                in_memory: Vec::new(),
            },
        };
        let mut clock = Clock::new()?;
        clock.set(before.first_look(plan.limits.memory));
        Ok(Self {
            memory_limit: plan.limits.memory,
            processes_limit: plan.limits.processes,
            root: whose.root,
            cgroup,
            memory: Memory::new(whose, before.machine),
            crowd: Crowd::default(),
            disks: before.disks,
            processors: before.processors,
            clock,
        })
    }

    /// Directories on disks that were low at the start, with what is free there.
    pub(super) fn low(&self) -> impl Iterator<Item = (&Path, u64)> {
        self.disks.low()
    }

    /// One look: the limit that the server is over, or how much is left of the scarcest.
    fn look(&mut self) -> io::Result<ControlFlow<Over, u64>> {
        let (space, over) = self.disks.look(self.root)?;
        if let Some(over) = over {
            return Ok(ControlFlow::Break(over));
        }
        let limit = self.memory_limit;
        match self.cgroup.as_ref().map(Cgroup::counted) {
            // Memory is the kernel's to bound: no look can be too late.
            Some(Ok(counted)) => {
                if counted.out_of_memory > 0 {
                    return Ok(ControlFlow::Break(Over::Memory { limit }));
                }
                Ok(self.crowded(counted.processes, space))
            }
            // The group is gone, or a controller: what it counted is counted here.
            Some(Err(_)) | None => {
                let close = self.crowd.pause() < pace::MOST;
                let sum = self.memory.sum(limit, close)?;
                if sum.memory > limit {
                    return Ok(ControlFlow::Break(Over::Memory { limit }));
                }
                let left = limit.saturating_sub(sum.memory).min(space);
                Ok(self.crowded(sum.threads, left))
            }
        }
    }

    fn crowded(&mut self, count: u64, left: u64) -> ControlFlow<Over, u64> {
        let limit = self.processes_limit;
        if self.crowd.seen(count, limit) {
            ControlFlow::Break(Over::Processes { limit })
        } else {
            ControlFlow::Continue(left)
        }
    }
}

impl Bounds for Watch {
    fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<Over> {
        loop {
            ready!(self.clock.poll(cx));
            let began = Instant::now();
            let left = match self.look() {
                Ok(ControlFlow::Continue(left)) => left,
                Ok(ControlFlow::Break(over)) => return Poll::Ready(over),
                Err(error) => {
                    tracing::warn!(%error, "what the server uses cannot be read");
                    0
                }
            };
            let pause = pace::pause(left, self.processors, began.elapsed());
            let next = Instant::now() + pause.min(self.crowd.pause());
            self.clock.set(next);
        }
    }

    fn ended(&mut self) -> Option<Over> {
        let cgroup = self.cgroup.as_ref()?;
        let over = cgroup
            .counted()
            .is_ok_and(|counted| counted.out_of_memory > 0)
            .then_some(Over::Memory {
                limit: self.memory_limit,
            });
        if let Err(error) = cgroup.kill() {
            tracing::warn!(%error, "the control group does not end");
        }
        over
    }
}
