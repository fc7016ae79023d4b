//! The calls that make the server's own root file system.
//!
//! Every source is held by descriptor before anything is mounted over it; what is not to be
//! written is made read-only, and read back, before anything of the server's runs.
#![expect(
    clippy::disallowed_methods,
    reason = "makes mount points and links in a file system of the server's own"
)]

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use nix::libc;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{chdir, pivot_root};

use super::apply::ApplyError;
use super::lend::Lent;
use super::links;
use super::mountinfo::mounts;
use super::namespace::Namespaces;
use crate::confine::spec::Inode;

/// Where the new root is put together: any directory that is there on every system.
pub const ROOT: &str = "/tmp";
pub const NONE: Option<&str> = None;
/// The devices a server gets (promise P5).
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// Links that programs expect in `/dev`.
const LINKS: [(&str, &str); 4] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];
/// Where pseudo-terminals are.
pub const TERMINALS: &str = "/dev/pts";
/// Parts of `/proc` that reach the whole machine.
const MACHINE: [&str; 4] = ["sys", "sysrq-trigger", "irq", "bus"];

/// Puts the new root together. Nothing is entered yet; `/proc` is still the machine's. What is
/// mounted for `dir` must be the very directory that was checked.
pub fn build(
    namespaces: &Namespaces,
    lent: Vec<Lent>,
    dir: Option<&(PathBuf, Inode)>,
) -> Result<(), ApplyError> {
    // Others than the one who makes it look a path up in it.
    umask(Mode::S_IWGRP | Mode::S_IWOTH);
    let devices = DEVICES.map(|name| Path::new("/dev").join(name));
    let own = lent.iter().map(|lent| &lent.path);
    let plain = namespaces
        .mounted()
        .filter(|path| !own.clone().any(|own| own == *path));
    let mut sources = hold(devices.iter().chain(plain))?;
    for lent in &lent {
        sources.push(Source::lent(lent)?);
    }
    // A parent before what lies in it.
    sources.sort_by_key(|source| source.path);
    if let Some((path, checked)) = dir
        && sources
            .iter()
            .any(|source| source.path == path && source.inode != *checked)
    {
        let error = io::Error::other("it is not the directory that was checked");
        return Err(held_error(path, error));
    }
    let links = links::along_all(&namespaces.names, &namespaces.writable)?;
    memory(Path::new(ROOT), "mode=0755")?;
    for name in ["dev", "proc", "run", "tmp", "var"] {
        fs::create_dir(inside(Path::new(name)))?;
    }
    for name in ["dev/shm", "var/tmp"] {
        fs::create_dir(inside(Path::new(name)))?;
    }
    let size = format!("mode=1777,size={}", namespaces.memory);
    for place in &namespaces.in_memory {
        memory(&inside(place), &size)?;
    }
    let below = links.iter().map(|(path, _)| path.as_path());
    let below = below.chain(sources.iter().map(|source| source.path));
    for path in below {
        hide_way(path, &namespaces.in_memory)?;
    }
    for (path, target) in links {
        link(&path, &target)?;
    }
    for source in &sources {
        bind(source)?;
    }
    for (name, target) in LINKS {
        link(&Path::new("/dev").join(name), Path::new(target))?;
    }
    if namespaces.terminals {
        own_terminals()?;
    }
    Ok(())
}

/// Mode of a directory that is only on the way to something: it is gone through, not listed.
const ON_THE_WAY: u32 = 0o111;

/// A path below a place in memory gets its way there in a mount of its own, which is closed with
/// the others: the server may list and change the place, and neither list nor change what lies on
/// the way to what it is granted.
fn hide_way(path: &Path, in_memory: &[PathBuf]) -> Result<(), ApplyError> {
    let place = in_memory.iter().find(|place| path.starts_with(place));
    let Some((place, rest)) = place.and_then(|place| Some((place, path.strip_prefix(place).ok()?)))
    else {
        return Ok(());
    };
    let mut parts = rest.components();
    let (Some(first), Some(_)) = (parts.next(), parts.next()) else {
        return Ok(());
    };
    let at = inside(&place.join(first));
    match fs::create_dir(&at) {
        Ok(()) => memory(&at, &format!("mode={ON_THE_WAY:o},size=1m")),
        // For another path.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Makes the directories above a path that are not there.
fn way(at: &Path) -> io::Result<()> {
    let mut directories = DirBuilder::new();
    directories.recursive(true).mode(ON_THE_WAY);
    at.parent()
        .map_or(Ok(()), |parent| directories.create(parent))
}

/// Pseudo-terminals that are there for nobody else (`Documentation/filesystems/devpts.rst`).
fn own_terminals() -> Result<(), ApplyError> {
    let at = inside(Path::new(TERMINALS));
    fs::create_dir(&at)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    let options = Some("newinstance,ptmxmode=0666,mode=0600");
    mount(Some("devpts"), &at, Some("devpts"), flags, options)?;
    link(Path::new("/dev/ptmx"), Path::new("pts/ptmx"))
}

/// A source of a mount.
struct Source<'a> {
    path: &'a Path,
    from: From<'a>,
    directory: bool,
    inode: Inode,
}

/// Where it comes from.
enum From<'a> {
    Held(File),
    Lent(&'a Lent),
}

impl<'a> Source<'a> {
    fn held(path: &'a Path) -> Result<Self, ApplyError> {
        let flags = libc::O_PATH | libc::O_NOFOLLOW;
        let mut options = OpenOptions::new();
        let opened = options.read(true).custom_flags(flags).open(path);
        let looked = opened.and_then(|file| Ok((file.metadata()?, file)));
        let (found, file) = looked.map_err(|error| held_error(path, error))?;
        if found.file_type().is_symlink() {
            let error = io::Error::other("it has become a link");
            return Err(held_error(path, error));
        }
        Ok(Self {
            path,
            from: From::Held(file),
            directory: found.is_dir(),
            inode: inode(&found),
        })
    }

    fn lent(lent: &'a Lent) -> Result<Self, ApplyError> {
        let found = lent
            .metadata()
            .map_err(|error| held_error(&lent.path, error))?;
        Ok(Self {
            path: &lent.path,
            from: From::Lent(lent),
            directory: found.is_dir(),
            inode: inode(&found),
        })
    }
}

fn hold<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<Vec<Source<'a>>, ApplyError> {
    paths.map(|path| Source::held(path)).collect()
}

fn inode(found: &fs::Metadata) -> Inode {
    Inode {
        dev: found.dev(),
        ino: found.ino(),
    }
}

fn held_error(path: &Path, source: io::Error) -> ApplyError {
    ApplyError::Held {
        path: path.to_owned(),
        source,
    }
}

/// Where a path of the server's stands while the root is put together.
fn inside(path: &Path) -> PathBuf {
    Path::new(ROOT).join(path.strip_prefix("/").unwrap_or(path))
}

/// A file system in memory.
pub fn memory(at: &Path, options: &str) -> Result<(), ApplyError> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), at, Some("tmpfs"), flags, Some(options))?;
    Ok(())
}

/// Mounts a source, with all that is mounted in it, at its path in the new root.
fn bind(source: &Source) -> Result<(), ApplyError> {
    let at = inside(source.path);
    let mounted = place(&at, source.directory).and_then(|()| match &source.from {
        From::Lent(lent) => lent.put(&at),
        From::Held(file) => {
            let from = format!("/proc/self/fd/{}", file.as_raw_fd());
            let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
            Ok(mount(Some(from.as_str()), &at, NONE, flags, NONE)?)
        }
    });
    mounted.map_err(|error| held_error(source.path, error))
}

/// A place to mount at, and the directories above it. In a source that is mounted already it is
/// there.
fn place(at: &Path, directory: bool) -> io::Result<()> {
    let make = || {
        if directory {
            fs::create_dir(at)
        } else {
            File::create_new(at).map(drop)
        }
    };
    let made = match make() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            way(at)?;
            make()
        }
        made => made,
    };
    match made {
        // Also what is mounted read-only and has the place.
        Err(_) if fs::symlink_metadata(at).is_ok() => Ok(()),
        made => made,
    }
}

/// Makes a link in the new root, where nothing stands yet.
fn link(path: &Path, target: &Path) -> Result<(), ApplyError> {
    let at = inside(path);
    let made = match symlink(target, &at) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            way(&at)?;
            symlink(target, &at)
        }
        made => made,
    };
    match made {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error.into()),
        _ => Ok(()),
    }
}

/// The server's own `/proc`, which only a process of its namespace can mount: other processes
/// have no name there. What reaches the whole machine is a mount of its own, to be closed.
pub fn own_proc(namespaces: &Namespaces) -> Result<(), ApplyError> {
    let at = inside(Path::new("proc"));
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), &at, Some("proc"), flags, NONE)?;
    if let Some(bound) = namespaces.pid_max {
        bound_numbers(&at.join("sys/kernel/pid_max"), bound)?;
    }
    for (name, value) in [
        ("max_user_namespaces", namespaces.nested),
        ("max_inotify_instances", namespaces.inotify_instances),
        ("max_inotify_watches", namespaces.inotify_watches),
    ] {
        fs::write(at.join("sys/user").join(name), value.to_string())?;
    }
    for name in MACHINE {
        let part = at.join(name);
        let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
        match mount(Some(&part), &part, NONE, flags, NONE) {
            // Not every kernel has all of them.
            Ok(()) | Err(nix::Error::ENOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Bounds the numbers that processes and threads of this namespace are given, and so how many there
/// are, whoever they belong to. Only for a kernel that keeps this setting for each namespace: on
/// another it would be the machine's.
fn bound_numbers(setting: &Path, bound: u32) -> Result<(), ApplyError> {
    fs::write(setting, bound.to_string())?;
    let taken = fs::read_to_string(setting)?;
    if taken.trim().parse() == Ok(bound) {
        Ok(())
    } else {
        Err(ApplyError::Partial(format!("pid_max is {taken}")))
    }
}

/// Makes the new root the root, and the old one gone from sight; then every mount that is not
/// the server's to write is closed.
pub fn enter_root(namespaces: &Namespaces) -> Result<(), ApplyError> {
    chdir(ROOT)?;
    pivot_root(".", ".")?;
    umount2(".", MntFlags::MNT_DETACH)?;
    chdir("/")?;
    for (mounted, flags) in mounts()? {
        let wanted = flags | wanted(&mounted, namespaces);
        if wanted != flags {
            remount(&mounted, wanted)?;
        }
    }
    // What the kernel says now, not what it was asked for.
    match mounts()?
        .into_iter()
        .find(|(mounted, flags)| !flags.contains(wanted(mounted, namespaces)))
    {
        Some((mounted, _)) => Err(ApplyError::Partial(format!(
            "{} stays open",
            mounted.display()
        ))),
        None => Ok(()),
    }
}

/// The flags that a mount of the server's must have: none gives privileges; none is written but
/// those granted so, what is in memory, and the files of `/proc` that are its own processes';
/// none but the five in `/dev` has devices.
fn wanted(mounted: &Path, namespaces: &Namespaces) -> MsFlags {
    let below = |places: &[PathBuf]| places.iter().any(|place| mounted.starts_with(place));
    let open = below(&namespaces.writable)
        || namespaces.in_memory.iter().any(|place| mounted == place)
        || mounted == Path::new("/proc")
        || mounted == Path::new(TERMINALS);
    let mut flags = MsFlags::MS_NOSUID;
    if !open {
        flags |= MsFlags::MS_RDONLY;
    }
    if !mounted.starts_with("/dev") || mounted == Path::new("/dev/shm") {
        flags |= MsFlags::MS_NODEV;
    }
    flags
}

/// Changes a mount's own flags. Those that came from outside are locked: a remount without them
/// is refused.
fn remount(at: &Path, flags: MsFlags) -> Result<(), ApplyError> {
    let how = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | flags;
    mount(NONE, at, NONE, how, NONE).map_err(|errno| held_error(at, errno.into()))
}
