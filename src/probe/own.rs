//! What a process finds itself started with: promises E1 to E3, and what of the others shows in
//! its own `/proc`. Here nothing is attacked: the process reads what was done to it, and what
//! was not.
#![expect(
    clippy::disallowed_methods,
    reason = "these are attacks: they look at what they should not have"
)]

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::OnceLock;

use nix::sys::stat::{SFlag, fstat};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{geteuid, getgroups, getpid, getppid, getsid};
use serde::{Deserialize, Serialize};

use super::files::saw;
use super::{VARIABLE, not, unseen};

type Got = io::Result<String>;

/// `SIGUSR2` as a bit of a mask: the caller ignores it, so that a server could inherit that.
const IGNORED: u64 = 1 << 11;

/// The bounds that a server should be held to.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Bounds {
    /// Bytes of private memory.
    pub memory: u64,
    /// Processes and threads.
    pub processes: u64,
    /// Open files.
    pub files: u64,
    /// Bytes of one file.
    pub file_size: u64,
    /// Bytes of locked memory.
    pub locked: u64,
    /// Bytes of a file system in memory.
    pub temporary: u64,
    /// Paths that may be watched.
    pub watches: u64,
    /// Watches that may be opened.
    pub instances: u64,
}

impl Bounds {
    /// As it was told.
    pub(super) fn told(target: &str) -> io::Result<Self> {
        serde_json::from_str(target).map_err(io::Error::other)
    }
}

/// What the kernel says of this process. One that cannot look has not been stopped.
fn told(path: &str) -> io::Result<String> {
    fs::read_to_string(path).map_err(|error| unseen("it cannot look", &error))
}

fn unreadable() -> io::Error {
    unseen("it cannot tell", &not("what it reads is something else"))
}

/// A line of `/proc/self/status`.
fn status(key: &str) -> io::Result<String> {
    let text = told("/proc/self/status")?;
    let found = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name == key).then(|| value.trim().to_owned())
    });
    found.ok_or_else(unreadable)
}

/// How many system-call filters this process is under.
///
/// # Errors
/// What the system says.
pub fn filters() -> io::Result<u64> {
    status("Seccomp_filters")?.parse().map_err(|_| unreadable())
}

/// What the very first instructions of this program found.
static FIRST: OnceLock<Option<String>> = OnceLock::new();

/// Looks at how this process stands, before anything else is done.
pub fn look_first() {
    FIRST.get_or_init(|| status("Seccomp").ok());
}

pub(super) fn started_unconfined(_: &str) -> Got {
    match FIRST.get() {
        Some(Some(mode)) if mode == "2" => Err(not("it was confined")),
        _ => Ok("it was not confined".to_owned()),
    }
}

/// The path that the kernel executed (`AT_EXECFN`, `getauxval(3)`); by descriptor it is none.
pub(super) fn started_by_path(_: &str) -> Got {
    let name = rustix::param::linux_execfn().to_string_lossy();
    if name.starts_with("/dev/fd/") {
        Err(not("by descriptor"))
    } else {
        Ok("by its path".to_owned())
    }
}

/// Its own environment, then that of the process that started it.
pub(super) fn environment(_: &str) -> Got {
    if let Ok(value) = std::env::var(VARIABLE) {
        return saw(&value, "saw it");
    }
    let bytes = fs::read(format!("/proc/{}/environ", getppid()))?;
    saw(&String::from_utf8_lossy(&bytes), "saw it in /proc")
}

/// The names it should have, a line each.
pub(super) fn unnamed_variable(target: &str) -> Got {
    let named: BTreeSet<&str> = target.lines().collect();
    let unnamed = std::env::vars_os()
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .find(|name| !named.contains(name.as_str()));
    unnamed.ok_or_else(|| not("only those named"))
}

/// Beyond the three, and the one that lists them.
pub(super) fn inherited_descriptor(_: &str) -> Got {
    let cannot = |error| unseen("it cannot look", &error);
    for entry in fs::read_dir("/proc/self/fd").map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let number: u32 = name.parse().map_err(|_| unreadable())?;
        let leads = fs::read_link(entry.path()).unwrap_or_default();
        if number > 2 && !leads.ends_with("fd") {
            return Ok(format!("number {number}"));
        }
    }
    Err(not("only its three"))
}

pub(super) fn inherited_file(_: &str) -> Got {
    let found = fstat(io::stderr().as_fd())?;
    if SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT == SFlag::S_IFREG {
        Ok("it has".to_owned())
    } else {
        Err(not("it is a pipe"))
    }
}

pub(super) fn foreign_session(_: &str) -> Got {
    if getsid(None)? == getpid() {
        Err(not("in its own"))
    } else {
        Ok("it is".to_owned())
    }
}

pub(super) fn open_umask(_: &str) -> Got {
    let mask = status("Umask")?;
    let bits = u32::from_str_radix(&mask, 8).map_err(|_| unreadable())?;
    if bits & 0o077 == 0o077 {
        Err(not("it is closed"))
    } else {
        Ok(format!("it is {mask}"))
    }
}

pub(super) fn ignored_signal(_: &str) -> Got {
    let mask = u64::from_str_radix(&status("SigIgn")?, 16).map_err(|_| unreadable())?;
    if mask & IGNORED == IGNORED {
        Ok("it does".to_owned())
    } else {
        Err(not("none of the caller's"))
    }
}

pub(super) fn blocked_signal(_: &str) -> Got {
    match status("SigBlk")?.trim_start_matches('0') {
        "" => Err(not("there is none")),
        mask => Ok(format!("those of {mask}")),
    }
}

/// The field `tty_nr` of `proc_pid_stat(5)`, the fifth after the name.
pub(super) fn has_terminal(_: &str) -> Got {
    let stat = told("/proc/self/stat")?;
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    match rest.split_whitespace().nth(4) {
        Some("0") => Err(not("it has none")),
        Some(_) => Ok("it has".to_owned()),
        None => Err(unreadable()),
    }
}

pub(super) fn new_privileges(_: &str) -> Got {
    if status("NoNewPrivs")? == "0" {
        Ok("it could".to_owned())
    } else {
        Err(not("no_new_privs is set"))
    }
}

fn held_in(sets: &[&str]) -> Got {
    for set in sets {
        if !status(set)?.trim_start_matches('0').is_empty() {
            return Ok(format!("some in {set}"));
        }
    }
    Err(not("there is none"))
}

pub(super) fn capability(_: &str) -> Got {
    held_in(&["CapInh", "CapPrm", "CapEff", "CapAmb"])
}

pub(super) fn bounding_capability(_: &str) -> Got {
    held_in(&["CapBnd"])
}

pub(super) fn roots_id(_: &str) -> Got {
    if geteuid().is_root() {
        Ok("it does".to_owned())
    } else {
        Err(not("it has one of its own"))
    }
}

pub(super) fn roots_groups(_: &str) -> Got {
    if getgroups()?.iter().any(|group| group.as_raw() == 0) {
        Ok("it does".to_owned())
    } else {
        Err(not("none of them"))
    }
}

/// The name of the outside's namespace, as its link has it, is the target.
pub(super) fn shares_namespace(target: &str) -> Got {
    let kind = target.split(':').next().unwrap_or_default();
    let own = fs::read_link(Path::new("/proc/self/ns").join(kind))
        .map_err(|error| unseen("it cannot look", &error))?;
    if own == Path::new(target) {
        Ok("the same".to_owned())
    } else {
        Err(not("another"))
    }
}

/// The number of filters that were outside already and those planned.
pub(super) fn fewer_filters(target: &str) -> Got {
    let planned: u64 = target.parse().map_err(io::Error::other)?;
    let found = filters()?;
    if found < planned {
        Ok(format!("{found} of {planned}"))
    } else {
        Err(not("all are there"))
    }
}

pub(super) fn nested_namespaces(_: &str) -> Got {
    let text = told("/proc/sys/user/max_user_namespaces")?;
    match text.trim() {
        "0" => Err(not("none")),
        count => Ok(format!("{count} of them")),
    }
}

pub(super) fn many_watches(target: &str) -> Got {
    let Bounds {
        watches, instances, ..
    } = Bounds::told(target)?;
    for (setting, bound) in [
        ("max_inotify_watches", watches),
        ("max_inotify_instances", instances),
    ] {
        let text = told(&format!("/proc/sys/user/{setting}"))?;
        let found: u64 = text.trim().parse().map_err(|_| unreadable())?;
        if found > bound {
            return Ok(format!("{setting} is {found}"));
        }
    }
    Err(not("it is bounded"))
}

pub(super) fn boundless_temporary(target: &str) -> Got {
    let bound = Bounds::told(target)?.temporary;
    for place in ["/dev/shm", "/var/tmp", "/tmp"] {
        let Ok(found) = statvfs(place) else { continue };
        let size = found.blocks().saturating_mul(found.fragment_size());
        let closed = found.flags().contains(FsFlags::ST_RDONLY);
        if !closed && size > bound {
            return Ok(format!("{place} has {size} bytes"));
        }
    }
    Err(not("they are bounded"))
}

/// What `proc_pid_mountinfo(5)` says of a mount: where it is, its flags, its optional fields.
struct Mounted {
    at: String,
    flags: Vec<String>,
    shared: bool,
}

fn mounts() -> io::Result<Vec<Mounted>> {
    let text = told("/proc/self/mountinfo")?;
    let parsed = |line: &str| {
        let (own, _) = line.split_once(" - ")?;
        let mut words = own.split(' ').skip(4);
        Some(Mounted {
            at: words.next()?.to_owned(),
            flags: words.next()?.split(',').map(str::to_owned).collect(),
            shared: words.next().is_some(),
        })
    };
    Ok(text.lines().filter_map(parsed).collect())
}

fn first(wanted: impl Fn(&Mounted) -> bool) -> Got {
    let found = mounts()?.into_iter().find(|mounted| wanted(mounted));
    found.map_or_else(|| Err(not("there is none")), |mounted| Ok(mounted.at))
}

fn has(mounted: &Mounted, flag: &str) -> bool {
    mounted.flags.iter().any(|own| own == flag)
}

/// Where it may write, a path a line.
pub(super) fn writable_mount(target: &str) -> Got {
    first(|mounted| {
        let granted = target
            .lines()
            .any(|place| Path::new(&mounted.at).starts_with(place));
        !granted && mounted.at != "/proc" && !has(mounted, "ro")
    })
}

pub(super) fn set_uid_mount(_: &str) -> Got {
    first(|mounted| !has(mounted, "nosuid"))
}

pub(super) fn device_mount(_: &str) -> Got {
    first(|mounted| {
        let device = mounted.at.starts_with("/dev/") && mounted.at != "/dev/shm";
        !device && !has(mounted, "nodev")
    })
}

pub(super) fn shared_mount(_: &str) -> Got {
    first(|mounted| mounted.shared)
}

pub(super) fn machines_proc(_: &str) -> Got {
    for part in ["sys", "sysrq-trigger", "irq", "bus"] {
        let path = Path::new("/proc").join(part);
        if let Ok(found) = statvfs(&path)
            && !found.flags().contains(FsFlags::ST_RDONLY)
        {
            return Ok(path.display().to_string());
        }
    }
    Err(not("it is read-only"))
}
