//! What the server's processes use together, where no control group counts it.
//!
//! What the whole machine has of such memory is one short read, and by how much that grew the
//! server has grown at most: only when that comes near the limit, or the last sum is old, are its
//! processes added up. Pages that a fork shares count for each process first; before anything is
//! ended for them they are counted by their shares.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use nix::sys::statvfs::statvfs;
use tokio::time::Instant;

use super::super::processes::{self, Use};

/// How old a sum may be, and how many times as old as what it took.
const AGE: Duration = Duration::from_secs(1);
const SHARE: u32 = 50;

/// Of whom the memory is added up.
#[derive(Clone, Debug)]
pub(super) struct Whose {
    /// Its descendants are the server's processes.
    pub(super) root: u32,
    /// It and so many less one of the first of them are ours, wait, and count too; 0 where it is
    /// the supervisor itself.
    pub(super) ours: usize,
    /// File systems in memory of its own.
    pub(super) in_memory: Vec<std::path::PathBuf>,
}

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    /// Processes and threads.
    pub(super) threads: u64,
    /// Bytes.
    pub(super) memory: u64,
}

/// What was found last, and when.
#[derive(Debug)]
pub(super) struct Memory {
    whose: Whose,
    /// The least that the machine had of shared memory.
    shared: u64,
    sum: Sum,
    /// What the machine had in all then.
    machine: u64,
    due: Instant,
    text: Vec<u8>,
}

/// What the machine has of memory of processes' own, and of shared memory and files in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    anonymous: u64,
    shared: u64,
}

impl Machine {
    /// As it is now.
    pub(super) fn look(text: &mut Vec<u8>) -> io::Result<Self> {
        processes::read("/proc/meminfo", text)?;
        Ok(Self {
            anonymous: processes::kib(text, &["AnonPages:"]),
            shared: processes::kib(text, &["Shmem:"]),
        })
    }

    const fn all(self) -> u64 {
        self.anonymous.saturating_add(self.shared)
    }
}

impl Memory {
    /// Of a server before whose start the machine had so much: it may have taken some by now.
    pub(super) fn new(whose: Whose, before: Machine) -> Self {
        Self {
            whose,
            shared: before.shared,
            sum: Sum::default(),
            machine: before.all(),
            due: Instant::now(),
            text: Vec::new(),
        }
    }

    /// What the server uses: added up where that is due (`now` at the latest), else at most what
    /// it can have grown to since.
    pub(super) fn sum(&mut self, limit: u64, now: bool) -> io::Result<Sum> {
        let found = Machine::look(&mut self.text)?;
        let (machine, shared) = (found.all(), found.shared);
        self.shared = self.shared.min(shared);
        let grown = machine.saturating_sub(self.machine);
        let memory = self.sum.memory.saturating_add(grown);
        let near = memory >= limit.saturating_sub(limit >> 3);
        let began = Instant::now();
        if !now && !near && began < self.due {
            return Ok(Sum { memory, ..self.sum });
        }
        self.sum = self.add_up(limit, shared.saturating_sub(self.shared))?;
        self.machine = machine;
        self.due = Instant::now() + AGE.max(began.elapsed().saturating_mul(SHARE));
        Ok(self.sum)
    }

    fn add_up(&mut self, limit: u64, grown: u64) -> io::Result<Sum> {
        let mut all = processes::below(self.whose.root)?;
        if self.whose.ours > 0 {
            all.insert(0, self.whose.root);
        }
        let mut threads = 0_u64;
        let mut own = 0_u64;
        for process in &all {
            let used: Use = processes::usage(*process, &mut self.text);
            threads = threads.saturating_add(used.threads);
            own = own.saturating_add(used.anonymous);
        }
        let files = self.file_systems(&all);
        // The machine's shared memory grew by little: whose it is does not matter.
        let shared = if grown < limit >> 2 {
            files
        } else {
            self.shared(&all, files, grown)
        };
        let mut memory = own.saturating_add(shared);
        if memory > limit {
            memory = self.by_shares(&all).saturating_add(shared);
        }
        Ok(Sum { threads, memory })
    }

    /// Each page of its own counted once.
    fn by_shares(&mut self, all: &[u32]) -> u64 {
        let text = &mut self.text;
        all.iter()
            .map(|process| match processes::shares(*process, text) {
                Some((own, _)) => own,
                // Where the kernel does not tell: what it uses, shared or not.
                None => processes::usage(*process, text).anonymous,
            })
            .fold(0, u64::saturating_add)
    }

    /// What is in memory by name, by descriptor, or mapped and neither: never more than the
    /// machine's grew by, which is what counts where a process does not show its descriptors.
    fn shared(&mut self, all: &[u32], files: u64, grown: u64) -> u64 {
        let mut held: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        let mut mapped = 0_u64;
        for process in all.iter().skip(self.whose.ours) {
            if let Some((_, shared)) = processes::shares(*process, &mut self.text) {
                mapped = mapped.saturating_add(shared);
            }
            let Some(descriptors) = processes::held(*process) else {
                // One that has ended meanwhile holds nothing.
                if processes::usage(*process, &mut self.text).anonymous > 0 {
                    return grown;
                }
                continue;
            };
            let in_memory = descriptors.iter().filter(|file| file.in_memory);
            held.extend(in_memory.map(|file| (file.id, file.bytes)));
        }
        held.values()
            .fold(files.saturating_add(mapped), |sum, bytes| {
                sum.saturating_add(*bytes)
            })
            .min(grown)
    }

    /// What lies in its own file systems in memory, as one of its processes sees them.
    fn file_systems(&self, all: &[u32]) -> u64 {
        let used = |process: &u32| -> Option<u64> {
            let mut sum = 0_u64;
            for place in &self.whose.in_memory {
                let place = place.strip_prefix("/").ok()?;
                let root = format!("/proc/{process}/root");
                let found = statvfs(&std::path::Path::new(&root).join(place)).ok()?;
                let blocks = found.blocks().saturating_sub(found.blocks_free());
                sum = sum.saturating_add(blocks.saturating_mul(found.fragment_size()));
            }
            Some(sum)
        };
        let mut theirs = all.iter().skip(self.whose.ours);
        theirs.find_map(used).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_this_process() -> Memory {
        let whose = Whose {
            root: nix::unistd::getppid().as_raw().try_into().unwrap(),
            ours: 0,
            in_memory: Vec::new(),
        };
        Memory::new(whose, Machine::look(&mut Vec::new()).unwrap())
    }

    #[tokio::test]
    async fn what_is_allocated_is_seen() {
        let mut memory = of_this_process();
        let before = memory.sum(64 << 30, true).unwrap();
        assert!(before.threads > 1 && before.memory > 0);
        let taken = vec![1_u8; 64 << 20];
        let after = memory.sum(64 << 30, true).unwrap();
        assert!(after.memory >= before.memory + (32 << 20), "{after:?}");
        // Counted by shares it is there as well.
        let exact = memory.sum(1, true).unwrap();
        assert!(exact.memory >= 64 << 20, "{exact:?}");
        drop(taken);
    }
}
