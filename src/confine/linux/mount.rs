//! The calls that make the namespaces and the server's own root file system.
//!
//! The order is that of the attacks it stops: nothing is mounted writable before all else is
//! read-only, and every source is held by descriptor before anything is mounted over it.
#![expect(
    clippy::disallowed_methods,
    reason = "makes mount points and links in a file system of the server's own"
)]

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use nix::libc;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};
use nix::unistd::{chdir, getegid, geteuid, pivot_root};

use super::apply::ApplyError;
use super::links;
use super::namespace::Namespaces;

/// Where the new root is put together: any directory that is there on every system.
const ROOT: &str = "/tmp";
const NONE: Option<&str> = None;
/// The devices a server gets (promise P5).
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// Links that programs expect in `/dev`.
const LINKS: [(&str, &str); 4] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];
/// Parts of `/proc` that reach the whole machine.
const MACHINE: [&str; 4] = ["sys", "sysrq-trigger", "irq", "bus"];

/// The namespaces themselves; the process namespace begins with the next child.
pub fn flags(network: bool) -> CloneFlags {
    let mut flags = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWCGROUP;
    if network {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    flags
}

/// Enters new namespaces; the person's ids stay what they are, and are the only ones there.
pub fn enter(namespaces: &Namespaces) -> Result<(), ApplyError> {
    let (user, group) = (geteuid(), getegid());
    unshare(flags(namespaces.network))?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1\n"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1\n"))?;
    // Counted in this user namespace from here on; before, all of the person's would count.
    let (_, hard) = getrlimit(Resource::RLIMIT_NPROC)?;
    let bound = namespaces.processes.min(hard);
    setrlimit(Resource::RLIMIT_NPROC, bound, bound)?;
    if namespaces.network {
        loopback_up()?;
    }
    // Nothing that is mounted from here on is seen outside, nor the other way round.
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)?;
    Ok(())
}

/// `RTM_NEWLINK` that sets `IFF_UP` on the first interface, which is the loopback
/// (`rtnetlink(7)`): a header of 16 bytes and an `ifinfomsg` of 16.
fn loopback_up() -> Result<(), ApplyError> {
    let netlink = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?;
    let mut message = Vec::with_capacity(32);
    message.extend(32_u32.to_ne_bytes());
    message.extend(16_u16.to_ne_bytes());
    // NLM_F_REQUEST and NLM_F_ACK.
    message.extend(5_u16.to_ne_bytes());
    message.extend([0; 8]);
    message.extend([0; 4]);
    message.extend(1_i32.to_ne_bytes());
    message.extend(1_u32.to_ne_bytes());
    message.extend(1_u32.to_ne_bytes());
    let mut netlink = File::from(netlink);
    netlink.write_all(&message)?;
    let mut answer = [0; 64];
    let count = netlink.read(&mut answer)?;
    // An acknowledgement is an error message whose error is 0.
    match answer.get(16..20) {
        Some([0, 0, 0, 0]) if count >= 20 => Ok(()),
        _ => Err(io::Error::other("the loopback does not come up").into()),
    }
}

/// Puts the new root together. Nothing is entered yet; `/proc` is still the machine's. `dir` is
/// held already, from outside, and so cannot be a source here: what is mounted in its place must
/// be that very directory.
pub fn build(namespaces: &Namespaces, dir: Option<&(PathBuf, File)>) -> Result<(), ApplyError> {
    let read_only = hold(&namespaces.read_only)?;
    let writable = hold(&namespaces.writable)?;
    if let Some((path, held)) = dir {
        let checked = held.metadata()?;
        for source in writable.iter().filter(|source| source.path == *path) {
            let found = source.file.metadata()?;
            if (found.dev(), found.ino()) != (checked.dev(), checked.ino()) {
                return Err(ApplyError::Held {
                    path: path.clone(),
                    source: io::Error::other("it is not the directory that was checked"),
                });
            }
        }
    }
    let devices = hold(&DEVICES.map(|name| Path::new("/dev").join(name)))?;
    let links = links::along_all(&namespaces.names, &namespaces.writable)?;
    memory(Path::new(ROOT), "mode=0755")?;
    for name in ["dev/shm", "proc", "run", "tmp", "var/tmp"] {
        fs::create_dir_all(inside(Path::new(name)))?;
    }
    let size = format!("mode=1777,size={}", namespaces.memory);
    let own: Vec<PathBuf> = namespaces
        .in_memory
        .iter()
        .map(|path| inside(path))
        .collect();
    for place in &own {
        memory(place, &size)?;
    }
    for (path, target) in links {
        link(&path, &target)?;
    }
    for source in &read_only {
        bind(source, &source.path)?;
    }
    for device in &devices {
        bind(device, &device.path)?;
    }
    for (name, target) in LINKS {
        link(&Path::new("/dev").join(name), Path::new(target))?;
    }
    close_below(Path::new(ROOT), &own)?;
    for source in &writable {
        bind(source, &source.path)?;
        plain(&source.path)?;
    }
    Ok(())
}

/// Mounts a file system in memory where the new root will be: what a probe needs to know.
pub fn memory_at_root() -> Result<(), ApplyError> {
    memory(Path::new(ROOT), "mode=0755")
}

/// A source of a mount.
struct Source {
    path: PathBuf,
    file: File,
    directory: bool,
}

fn hold(paths: &[PathBuf]) -> Result<Vec<Source>, ApplyError> {
    let held = |path: &PathBuf| {
        let at = |source: io::Error| ApplyError::Held {
            path: path.clone(),
            source,
        };
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_PATH | libc::O_NOFOLLOW)
            .open(path)
            .map_err(at)?;
        let kind = file.metadata().map_err(at)?.file_type();
        if kind.is_symlink() {
            return Err(at(io::Error::other("it has become a link")));
        }
        let directory = kind.is_dir();
        Ok(Source {
            path: path.clone(),
            file,
            directory,
        })
    };
    paths.iter().map(held).collect()
}

/// Where a path of the server's stands while the root is put together.
fn inside(path: &Path) -> PathBuf {
    Path::new(ROOT).join(path.strip_prefix("/").unwrap_or(path))
}

/// A file system in memory.
fn memory(at: &Path, options: &str) -> Result<(), ApplyError> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), at, Some("tmpfs"), flags, Some(options))?;
    Ok(())
}

/// Mounts a source, with all that is mounted in it, at a path of the new root.
fn bind(source: &Source, path: &Path) -> Result<(), ApplyError> {
    let at = inside(path);
    let made = |error: io::Error| ApplyError::Held {
        path: path.to_owned(),
        source: error,
    };
    // In a source that is mounted already it is there.
    if fs::symlink_metadata(&at).is_err() {
        if let Some(parent) = at.parent() {
            fs::create_dir_all(parent).map_err(made)?;
        }
        if source.directory {
            fs::create_dir(&at).map_err(made)?;
        } else {
            File::create(&at).map_err(made)?;
        }
    }
    let from = format!("/proc/self/fd/{}", source.file.as_raw_fd());
    mount(
        Some(from.as_str()),
        &at,
        NONE,
        MsFlags::MS_BIND | MsFlags::MS_REC,
        NONE,
    )?;
    Ok(())
}

/// No set-uid programs and no devices, whatever the file system underneath has.
fn plain(path: &Path) -> Result<(), ApplyError> {
    let at = inside(path);
    let flags = mounts()?
        .into_iter()
        .rev()
        .find(|(mounted, _)| *mounted == at)
        .map_or(MsFlags::empty(), |(_, flags)| flags);
    let flags = flags | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    remount(&at, flags - MsFlags::MS_RDONLY)
}

/// Makes every mount below a path but these read-only, its own flags kept (those that came from
/// outside are locked: a remount without them is refused), and reads that back.
fn close_below(path: &Path, but: &[PathBuf]) -> Result<(), ApplyError> {
    let below = |mounted: &Path| {
        mounted.starts_with(path) && mounted != path && !but.iter().any(|own| own == mounted)
    };
    for (mounted, flags) in mounts()? {
        if below(&mounted) {
            remount(&mounted, flags | MsFlags::MS_RDONLY | MsFlags::MS_NOSUID)?;
        }
    }
    match mounts()?
        .into_iter()
        .find(|(mounted, flags)| below(mounted) && !flags.contains(MsFlags::MS_RDONLY))
    {
        Some((mounted, _)) => Err(ApplyError::Partial(format!(
            "{} stays writable",
            mounted.display()
        ))),
        None => Ok(()),
    }
}

fn remount(at: &Path, flags: MsFlags) -> Result<(), ApplyError> {
    let how = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | flags;
    mount(NONE, at, NONE, how, NONE).map_err(|errno| ApplyError::Held {
        path: at.to_owned(),
        source: errno.into(),
    })
}

/// Every mount of this process: where it is, and its own flags (`proc_pid_mountinfo(5)`).
fn mounts() -> Result<Vec<(PathBuf, MsFlags)>, ApplyError> {
    let text = fs::read_to_string("/proc/self/mountinfo")?;
    let parsed = |line: &str| {
        let mut words = line.split(' ').skip(4);
        Some((
            PathBuf::from(unescaped(words.next()?)),
            own_flags(words.next()?),
        ))
    };
    text.lines()
        .map(|line| parsed(line).ok_or_else(|| io::Error::other("mountinfo does not read").into()))
        .collect()
}

fn own_flags(options: &str) -> MsFlags {
    options
        .split(',')
        .map(|option| match option {
            "ro" => MsFlags::MS_RDONLY,
            "nosuid" => MsFlags::MS_NOSUID,
            "nodev" => MsFlags::MS_NODEV,
            "noexec" => MsFlags::MS_NOEXEC,
            "noatime" => MsFlags::MS_NOATIME,
            "nodiratime" => MsFlags::MS_NODIRATIME,
            "relatime" => MsFlags::MS_RELATIME,
            _ => MsFlags::empty(),
        })
        .collect()
}

/// A path of mountinfo: space, tab, newline and backslash stand as three octal digits.
fn unescaped(word: &str) -> std::ffi::OsString {
    use std::os::unix::ffi::OsStringExt;
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let octal = (*first == b'\\')
            .then(|| tail.get(..3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match octal {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    std::ffi::OsString::from_vec(bytes)
}

/// Makes a link in the new root, where nothing stands yet.
fn link(path: &Path, target: &Path) -> Result<(), ApplyError> {
    let at = inside(path);
    if let Some(parent) = at.parent() {
        fs::create_dir_all(parent)?;
    }
    match symlink(target, &at) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error.into()),
        _ => Ok(()),
    }
}

/// The server's own `/proc`, which only a process of its namespace can mount: other processes
/// have no name there, and what reaches the whole machine is read-only.
pub fn own_proc(namespaces: &Namespaces) -> Result<(), ApplyError> {
    let at = inside(Path::new("proc"));
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), &at, Some("proc"), flags, NONE)?;
    for (name, value) in [
        ("max_user_namespaces", 0),
        ("max_inotify_instances", namespaces.inotify_instances),
        ("max_inotify_watches", namespaces.inotify_watches),
    ] {
        fs::write(at.join("sys/user").join(name), value.to_string())?;
    }
    for name in MACHINE {
        let part = at.join(name);
        if fs::symlink_metadata(&part).is_ok() {
            mount(
                Some(&part),
                &part,
                NONE,
                MsFlags::MS_BIND | MsFlags::MS_REC,
                NONE,
            )?;
            remount(&part, flags | MsFlags::MS_RDONLY)?;
        }
    }
    Ok(())
}

/// Makes the new root the root, the old one gone from sight, and the new one itself read-only.
pub fn enter_root() -> Result<(), ApplyError> {
    chdir(ROOT)?;
    pivot_root(".", ".")?;
    umount2(".", MntFlags::MNT_DETACH)?;
    chdir("/")?;
    let flags = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    remount(Path::new("/"), flags)
}

#[cfg(test)]
#[path = "mount_tests.rs"]
mod tests;
