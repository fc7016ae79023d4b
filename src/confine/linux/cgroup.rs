//! A control group (version 2) of the server's own: memory and processes of all of it together,
//! and one switch that ends all of it.
//!
//! It can be had where a group that this process is in, or one above it, is the person's to
//! divide: as a rule below a systemd user manager, or as root. The group is looked for by making
//! one and removing it again, since no setting tells all. The process that confines itself is
//! moved before it gets its orders, so nothing of the server's was ever outside.
//!
//! A group is named after the process that made it: what a supervisor that was killed left is
//! found by its name at the next start, ended and removed. Version 1 is not used.
#![expect(
    clippy::disallowed_methods,
    reason = "control groups are made and asked through files"
)]

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use nix::sys::statfs::{CGROUP2_SUPER_MAGIC, statfs};
use nix::unistd::{AccessFlags, access};
use serde::{Deserialize, Serialize};

use super::mountinfo::{self, unescaped};
use super::proc;

/// What every group of ours is called, before the numbers of the process that made it.
const PREFIX: &str = "supervisor";
/// The controllers that bound what the promise R5 names.
const CONTROLLERS: [&str; 2] = ["memory", "pids"];
/// Where systemd mounts the hierarchy: alone, or beside version 1.
const USUAL: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
/// The kernel refuses a larger bound on processes (`PID_MAX_LIMIT`).
const MOST_PROCESSES: u64 = 4_194_304;
/// How often an ended group is looked at until its last process is reaped, and how long between.
const LOOKS: usize = 100;
const PAUSE: Duration = Duration::from_millis(5);

/// The group of one run, as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// The group that it is made in.
    pub parent: PathBuf,
    /// `memory.max`, bytes: anonymous, shared and in memory files, kernel memory for it.
    pub memory: u64,
    /// `pids.max`: processes and threads.
    pub processes: u64,
}

/// A group that was made, with its bounds read back. It is ended and removed with the value.
#[derive(Debug)]
pub struct Cgroup {
    path: PathBuf,
}

/// What the kernel counted in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Processes that were ended because the group was out of memory.
    pub out_of_memory: u64,
    /// Processes and threads now.
    pub processes: u64,
}

/// The group in which groups of servers can be made here; why there is none.
pub fn find() -> Result<PathBuf, String> {
    let failed = |path: &'static str| move |error: io::Error| format!("{path}: {error}");
    let own = proc::text("/proc/self/cgroup").map_err(failed("/proc/self/cgroup"))?;
    let none = "no hierarchy of version 2 shows this process";
    let own = own_path(&own).ok_or(none)?;
    let (mounted, own) = match usual(own, &USUAL, is_version_2) {
        Some(found) => found,
        None => {
            let mounted = mountinfo::text().map_err(failed("/proc/self/mountinfo"))?;
            place(&mounted, own).ok_or(none)?
        }
    };
    let mut why = String::new();
    for group in own
        .ancestors()
        .take_while(|group| group.starts_with(&mounted))
    {
        match can_divide(group).and_then(|()| try_one(group)) {
            Ok(()) => return Ok(group.to_owned()),
            Err(error) => why = format!("{}: {error}", group.display()),
        }
    }
    Err(why)
}

/// The group of `/proc/self/cgroup` in the hierarchy of version 2.
fn own_path(text: &str) -> Option<&Path> {
    let path = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(Path::new(path))
}

/// The same as [`place`], at the places where that hierarchy is mounted as a rule: the kernel locks
/// what is mounted on the whole machine to list it, and the shim is entering its namespaces. That the
/// group there is this process's own is asked of the group.
fn usual(
    own: &Path,
    places: &[impl AsRef<Path>],
    is_mounted: impl Fn(&Path) -> bool,
) -> Option<(PathBuf, PathBuf)> {
    let below = own.strip_prefix("/").ok().filter(|below| plain(below))?;
    let this = std::process::id().to_string();
    let mut places = places.iter().map(AsRef::as_ref);
    places.find_map(|at| {
        let group = at.join(below);
        let members = || proc::text(group.join("cgroup.procs")).ok();
        let is_own = is_mounted(at) && members()?.lines().any(|member| member == this);
        is_own.then(|| (at.to_owned(), group))
    })
}

fn is_version_2(at: &Path) -> bool {
    statfs(at).is_ok_and(|found| found.filesystem_type() == CGROUP2_SUPER_MAGIC)
}

fn plain(path: &Path) -> bool {
    !path.components().any(|part| part.as_os_str() == "..")
}

/// Where the hierarchy of version 2 is mounted, and this process's group in it. Pure.
fn place(mountinfo: &str, own: &Path) -> Option<(PathBuf, PathBuf)> {
    mountinfo.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut words = before.split(' ').skip(3);
        let (root, at) = (unescaped(words.next()?), unescaped(words.next()?));
        if after.split(' ').next() != Some("cgroup2") {
            return None;
        }
        // A group outside what is mounted (`/..`) has no path here.
        let below = own.strip_prefix(Path::new(&root)).ok()?;
        let at = PathBuf::from(at);
        plain(below).then(|| (at.clone(), at.join(below)))
    })
}

/// Whether processes can be moved below a group of which this process is a member, and its
/// children are bounded, or become so now.
fn can_divide(group: &Path) -> io::Result<()> {
    // The common parent of where a process is and goes must be ours to write.
    access(&group.join("cgroup.procs"), AccessFlags::W_OK)?;
    let lacks = |file: &str| -> io::Result<bool> {
        let text = proc::text(group.join(file))?;
        Ok(!CONTROLLERS
            .iter()
            .all(|wanted| text.split_whitespace().any(|found| found == *wanted)))
    };
    if !lacks("cgroup.subtree_control")? {
        return Ok(());
    }
    if lacks("cgroup.controllers")? {
        return Err(io::Error::other("it has no memory and pids controllers"));
    }
    put(&group.join("cgroup.subtree_control"), "+memory +pids")
}

/// Writes to a file of a group; none is ever made.
fn put(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new()
        .write(true)
        .open(path)?
        .write_all(text.as_bytes())
}

/// Makes a group and removes it again.
fn try_one(parent: &Path) -> io::Result<()> {
    let group = Cgroup::new(parent)?;
    for file in ["memory.max", "memory.events", "pids.max", "cgroup.kill"] {
        access(&group.path.join(file), AccessFlags::F_OK)?;
    }
    match group.read("cgroup.type")?.trim() {
        "domain" => Ok(()),
        other => Err(io::Error::other(format!(
            "a group in it is of the type {other}"
        ))),
    }
}

impl Cgroup {
    /// Makes the group, sets its bounds and reads them back; removes what dead supervisors left.
    ///
    /// # Errors
    /// What the system says, or a bound that was not taken.
    pub fn make(bounds: &Bounds) -> io::Result<Self> {
        remove_stale(&bounds.parent);
        let group = Self::new(&bounds.parent)?;
        group.set("memory.max", bounds.memory)?;
        group.set("pids.max", bounds.processes.min(MOST_PROCESSES))?;
        // One process ended for want of memory ends all: half a server answers nothing.
        put(&group.path.join("memory.oom.group"), "1")?;
        // Not there on a kernel without swap.
        match put(&group.path.join("memory.swap.max"), "0") {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(group),
        }
    }

    fn new(parent: &Path) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let path = parent.join(Maker::this()?.name(NEXT.fetch_add(1, Ordering::Relaxed)));
        fs::create_dir(&path)?;
        Ok(Self { path })
    }

    fn read(&self, file: &str) -> io::Result<String> {
        proc::text(self.path.join(file))
    }

    fn set(&self, file: &str, bound: u64) -> io::Result<()> {
        put(&self.path.join(file), &bound.to_string())?;
        // The kernel rounds down to whole pages; no bound reads `max`.
        let taken: Option<u64> = self.read(file)?.trim().parse().ok();
        if taken.is_some_and(|taken| taken <= bound) {
            Ok(())
        } else {
            Err(io::Error::other(format!("{file} does not take {bound}")))
        }
    }

    /// Moves a process here, and with it all that it will start; reads that back.
    ///
    /// # Errors
    /// What the system says.
    pub fn enter(&self, pid: u32) -> io::Result<()> {
        let wanted = pid.to_string();
        put(&self.path.join("cgroup.procs"), &wanted)?;
        if self.read("cgroup.procs")?.lines().any(|pid| pid == wanted) {
            Ok(())
        } else {
            Err(io::Error::other("the process is not in its control group"))
        }
    }

    /// What the kernel counted so far.
    ///
    /// # Errors
    /// What the system says: the group or a controller is gone.
    pub fn counted(&self) -> io::Result<Counted> {
        Ok(Counted {
            out_of_memory: entry(&self.read("memory.events")?, "oom_kill")?,
            processes: self
                .read("pids.current")?
                .trim()
                .parse()
                .map_err(io::Error::other)?,
        })
    }

    /// Ends every process in it.
    ///
    /// # Errors
    /// What the system says.
    pub fn kill(&self) -> io::Result<()> {
        put(&self.path.join("cgroup.kill"), "1")
    }
}

/// The number after a word of a file such as `memory.events`.
fn entry(text: &str, word: &str) -> io::Result<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix(word)?.trim().parse().ok())
        .ok_or_else(|| io::Error::other(format!("there is no {word}")))
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.path) {
            tracing::warn!(group = %self.path.display(), %error, "a control group is left");
        }
    }
}

/// Removes a group, with what is in it.
fn remove(path: &Path) -> io::Result<()> {
    let busy = |error: &io::Error| error.kind() == ErrorKind::ResourceBusy;
    match fs::remove_dir(path) {
        Err(error) if busy(&error) => put(&path.join("cgroup.kill"), "1")?,
        other => return other,
    }
    for _ in 0..LOOKS {
        match fs::remove_dir(path) {
            Err(error) if busy(&error) => sleep(PAUSE),
            other => return other,
        }
    }
    Err(ErrorKind::ResourceBusy.into())
}

/// Ends and removes the groups of supervisors that are no more.
fn remove_stale(parent: &Path) {
    let (Ok(this), Ok(entries)) = (Maker::this(), fs::read_dir(parent)) else {
        return;
    };
    for entry in entries.flatten() {
        let maker = entry.file_name().to_str().and_then(Maker::named);
        if maker.is_some_and(|maker| maker.namespace == this.namespace && !maker.lives()) {
            // Another start may be quicker; what stays stays for the next.
            let _ = remove(&entry.path());
        }
    }
}

/// The process that made a group. A number alone is given out again, and means another process
/// in another process namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Maker {
    namespace: u64,
    pid: u32,
    started: u64,
}

impl Maker {
    fn this() -> io::Result<Self> {
        let pid = std::process::id();
        Ok(Self {
            namespace: fs::metadata("/proc/self/ns/pid")?.ino(),
            pid,
            started: started(pid).ok_or_else(|| io::Error::other("/proc does not read"))?,
        })
    }

    fn name(self, number: u32) -> String {
        let Self {
            namespace,
            pid,
            started,
        } = self;
        format!("{PREFIX}-{namespace}-{pid}-{started}-{number}")
    }

    fn named(name: &str) -> Option<Self> {
        let mut numbers = name.strip_prefix(PREFIX)?.strip_prefix('-')?.split('-');
        let found = Self {
            namespace: numbers.next()?.parse().ok()?,
            pid: numbers.next()?.parse().ok()?,
            started: numbers.next()?.parse().ok()?,
        };
        let number = numbers.next()?.parse().ok()?;
        (found.name(number) == name).then_some(found)
    }

    fn lives(self) -> bool {
        started(self.pid) == Some(self.started)
    }
}

/// When a process was started, in ticks since the boot (`proc_pid_stat(5)`).
fn started(pid: u32) -> Option<u64> {
    let stat = proc::text(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
#[path = "cgroup_tests.rs"]
mod tests;
