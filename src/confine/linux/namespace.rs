//! Grants lowered to namespaces and a root file system of the server's own, as data. Pure.
//!
//! What is not granted is not there: no name, no FIFO, no socket, nothing to change or watch.
//! What is granted to be read is mounted read-only, so that no call changes it, whoever owns it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::limits;
use crate::confine::{Confinement, Mechanism};
use crate::plan::{Grant, Plan, Rights};

/// Inotify instances that the server's user may have in its namespace.
const INOTIFY_INSTANCES: u32 = 128;
/// Paths it may watch in all.
const INOTIFY_WATCHES: u32 = 65_536;
/// User namespaces that a browser's sandbox may make inside: one for each of its processes.
const NESTED: u32 = 64;
/// Bytes of each file system in memory that is the server's own, or half of its memory where that
/// is less.
const MEMORY: u64 = 1 << 30;

/// Namespaces of the server's own, and what is mounted there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Namespaces {
    /// A network of its own, with nothing but a loopback.
    pub network: bool,
    /// Pseudo-terminals of its own.
    pub terminals: bool,
    /// User namespaces inside it.
    pub nested: u32,
    /// Mounted read-only, a parent before what lies in it.
    pub read_only: Vec<PathBuf>,
    /// Mounted writable, after those.
    pub writable: Vec<PathBuf>,
    /// Paths as somebody spells them: the links along them are made anew.
    pub names: Vec<PathBuf>,
    /// Processes and threads.
    pub processes: u64,
    /// The highest number of a process or thread, where the bound above binds nothing.
    pub pid_max: Option<u32>,
    /// See [`INOTIFY_INSTANCES`].
    pub inotify_instances: u32,
    /// See [`INOTIFY_WATCHES`].
    pub inotify_watches: u32,
    /// File systems in memory of its own.
    pub in_memory: Vec<PathBuf>,
    /// Bytes of each of them.
    pub memory: u64,
}

impl Namespaces {
    /// Every path that is mounted, in the order of mounting.
    pub fn mounted(&self) -> impl Iterator<Item = &PathBuf> {
        self.read_only.iter().chain(&self.writable)
    }

    /// Whether a path is one of them.
    #[must_use]
    pub fn mounts(&self, path: &Path) -> bool {
        self.mounted().any(|mounted| mounted == path)
    }

    /// Whether a path lies where the server may write.
    #[must_use]
    pub fn is_writable(&self, path: &Path) -> bool {
        self.writable.iter().any(|place| path.starts_with(place))
    }
}

/// The namespaces of a plan; `None` where the confinement has none.
#[must_use]
pub fn namespaces(plan: &Plan, confinement: &Confinement) -> Option<Namespaces> {
    if !confinement.mechanisms.contains(&Mechanism::MountNamespace) {
        return None;
    }
    let (writable, read): (Vec<&Grant>, Vec<&Grant>) = plan
        .grants
        .iter()
        .filter(|grant| !made_anew(&grant.path))
        .partition(|grant| grant.rights == Rights::Write);
    Some(Namespaces {
        network: confinement
            .mechanisms
            .contains(&Mechanism::NetworkNamespace),
        terminals: confinement.mechanisms.contains(&Mechanism::OwnTerminals),
        nested: if confinement
            .mechanisms
            .contains(&Mechanism::SeccompButNamespaces)
        {
            NESTED
        } else {
            0
        },
        read_only: outermost(&read),
        // One in another stays: the outer may be a link's target later, a mount is not.
        writable: writable.iter().map(|grant| grant.path.clone()).collect(),
        names: plan.names.clone(),
        processes: plan.limits.processes,
        pid_max: limits::pid_max(plan.limits, confinement),
        inotify_instances: INOTIFY_INSTANCES,
        inotify_watches: INOTIFY_WATCHES,
        in_memory: in_memory(plan),
        memory: MEMORY.min(plan.limits.memory >> 1),
    })
}

/// What of the system's own places is mounted for every server, before there is a plan.
#[must_use]
pub fn prepared(system: &[Grant]) -> Vec<PathBuf> {
    let read: Vec<&Grant> = system
        .iter()
        .filter(|grant| !made_anew(&grant.path))
        .collect();
    outermost(&read)
}

/// Where everybody may write outside: there the server gets a file system in memory, in which
/// what is granted below it has its place. Not where the person granted the place itself.
#[must_use]
pub fn in_memory(plan: &Plan) -> Vec<PathBuf> {
    let granted = |place: &Path| {
        plan.grants
            .iter()
            .any(|grant| place.starts_with(&grant.path))
    };
    ["/tmp", "/var/tmp", "/dev/shm"]
        .map(PathBuf::from)
        .into_iter()
        .filter(|place| !granted(place))
        .collect()
}

/// Whether a path lies in a file system that the server gets one of its own of.
fn made_anew(path: &Path) -> bool {
    ["/proc", "/dev"].iter().any(|own| path.starts_with(own))
}

/// The paths that lie in no other: a mount brings all below it.
fn outermost(grants: &[&Grant]) -> Vec<PathBuf> {
    let mut kept: Vec<PathBuf> = Vec::new();
    let mut paths: Vec<&PathBuf> = grants.iter().map(|grant| &grant.path).collect();
    // Component by component a parent sorts right before all that lies in it: as bytes do where
    // what parts them is the least.
    paths.sort_by(|a, b| {
        let least = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
        let [a, b] = [a, b].map(|path| path.as_os_str().as_bytes().iter().map(least));
        a.cmp(b)
    });
    for path in paths {
        if !kept.last().is_some_and(|parent| path.starts_with(parent)) {
            kept.push(path.clone());
        }
    }
    kept
}
