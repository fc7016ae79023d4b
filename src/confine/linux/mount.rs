//! The calls that make the server's own root file system.
//!
//! Every source is held by descriptor before anything is mounted over it; what is not to be
//! written is made read-only, and read back, before anything of the server's runs.
//!
//! What every server gets of this system is put in place before there are orders ([`Root::begin`]),
//! beside the supervisor's reading; what the orders name besides, after ([`Root::finish`]).
#![expect(
    clippy::disallowed_methods,
    reason = "makes mount points and links in a file system of the server's own"
)]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::libc;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{chdir, pivot_root};

use super::apply::ApplyError;
use super::close::{Machine, Mounted, close, close_in, open, remount, wanted};
use super::lend::Lent;
use super::links::{self, Link};
use super::namespace::Namespaces;
use super::source::{Source, held_error, position, sort};
use super::way::{hide_way, inside, link};
use crate::confine::spec::{Common, Inode};

/// Where the new root is put together: a directory that is there on every system, and in which
/// lies nothing that the orders may name.
pub const ROOT: &str = "/dev";
pub const NONE: Option<&str> = None;
/// The devices a server gets (promise P5).
const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];
/// Links that programs expect in `/dev`.
const LINKS: [(&str, &str); 4] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];
/// Where pseudo-terminals are.
pub const TERMINALS: &str = "/dev/pts";
/// Parts of `/proc` that reach the whole machine.
const MACHINE: [&str; 4] = ["sys", "sysrq-trigger", "irq", "bus"];
/// Directories of the new root, a parent first.
const DIRECTORIES: [&str; 7] = ["dev", "proc", "run", "tmp", "var", "dev/shm", "var/tmp"];

/// A new root in the making.
pub struct Root {
    /// What every server gets. Sorted, so that a parent comes before what lies in it.
    system: Vec<Source>,
    /// The links on the way to it, and those in `/`.
    links: Vec<Link>,
    /// What was held for the orders besides.
    granted: Vec<Source>,
    /// The mount that the machine's own root is.
    machine: Machine,
    /// What else was mounted on the machine when this began.
    mounted: Mounted,
    /// The settings below `/proc/sys`, held before they were closed.
    settings: Option<File>,
}

impl Root {
    /// What can be done while no id is mapped, and so no file made: the devices that every server
    /// gets are held, before anything is mounted over them, and the machine's own root is closed.
    pub fn prepare() -> Result<Self, ApplyError> {
        let devices = DEVICES.iter().map(|device| Source::held(Path::new(device)));
        let machine = Machine::look()?;
        Ok(Self {
            system: devices.collect::<Result<_, _>>()?,
            links: Vec::new(),
            granted: Vec::new(),
            machine,
            mounted: machine.close()?,
            settings: None,
        })
    }

    /// Puts together what is in every server's root on every system: its devices and a `/proc` of
    /// its own. Nothing is entered yet.
    pub fn begin(&mut self) -> Result<(), ApplyError> {
        // Others than the one who makes it look a path up in it.
        umask(Mode::S_IWGRP | Mode::S_IWOTH);
        for name in DIRECTORIES {
            fs::create_dir(inside(Path::new(name)))?;
        }
        for device in &mut self.system {
            device.bind_current(self.machine)?;
        }
        for (name, target) in LINKS {
            link(Path::new(name), Path::new(target))?;
        }
        self.own_proc()
    }

    /// Adds what every server gets of this system: what the supervisor found, by the descriptors
    /// that came along. `/proc` is still the machine's.
    pub fn furnish(
        &mut self,
        found: Common,
        mut descriptor: impl FnMut() -> Option<OwnedFd>,
    ) -> Result<(), ApplyError> {
        let mut places = Vec::with_capacity(found.places.len());
        for place in found.places {
            let Some(held) = descriptor() else {
                let missing = io::Error::other("its descriptor did not come");
                return Err(held_error(&place.path, missing));
            };
            places.push(Source::found(place, held));
        }
        sort(&mut places);
        // Two names of one place.
        places.dedup_by(|a, b| a.path.as_os_str() == b.path.as_os_str());
        close_in(&places, std::mem::take(&mut self.mounted))?;
        for place in &mut places {
            place.bind_current(self.machine)?;
        }
        self.system.append(&mut places);
        sort(&mut self.system);
        self.links = found.links;
        Ok(())
    }

    /// The server's own `/proc`, which only a process of its namespace can mount: other processes
    /// have no name there. What reaches the whole machine is a mount of its own, and closed.
    fn own_proc(&mut self) -> Result<(), ApplyError> {
        let at = inside(Path::new("proc"));
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        mount(Some("proc"), &at, Some("proc"), flags, NONE)?;
        let mut options = OpenOptions::new();
        let held = options.read(true).custom_flags(libc::O_PATH);
        self.settings = Some(held.open(at.join("sys"))?);
        for name in MACHINE {
            let part = at.join(name);
            let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
            match mount(Some(&part), &part, NONE, flags, NONE) {
                Ok(()) => close(&part, true)?,
                // Not every kernel has all of them.
                Err(nix::Error::ENOENT) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Holds what the orders name besides what every server gets. That must be granted, or lie in
    /// what is; what is held for `dir` must be the very directory that was checked.
    pub fn hold(
        &mut self,
        namespaces: &Namespaces,
        lent: Vec<Lent>,
        dir: Option<&(PathBuf, Inode)>,
    ) -> Result<(), ApplyError> {
        self.hold_granted(namespaces, lent)?;
        let mut sources = self.system.iter().chain(&self.granted);
        if let Some((path, checked)) = dir
            && sources.any(|source| source.path == *path && source.inode != *checked)
        {
            let error = io::Error::other("it is not the directory that was checked");
            return Err(held_error(path, error));
        }
        Ok(())
    }

    /// Adds what was held for the orders, and what else they ask for.
    pub fn finish(&mut self, namespaces: &Namespaces) -> Result<(), ApplyError> {
        let size = format!("mode=1777,size={}", namespaces.memory);
        for place in &namespaces.in_memory {
            memory(&inside(place), &size)?;
        }
        let links = self.links(namespaces);
        let below = links.iter().map(|link| link.path.as_path());
        let below = below.chain(self.granted.iter().map(|source| source.path.as_path()));
        let mut hidden = Vec::new();
        for path in below {
            hidden.extend(hide_way(path, &namespaces.in_memory)?);
        }
        for Link { path, target } in links {
            link(&path, &target)?;
        }
        for source in &self.granted {
            self.bind(source, namespaces)?;
        }
        for source in self
            .system
            .iter()
            .filter(|source| self.is_covered(source, namespaces))
        {
            self.bind(source, namespaces)?;
        }
        // One that is granted itself is covered by that by now.
        for way in hidden.iter().filter(|way| !namespaces.mounts(way)) {
            close(&inside(way), true)?;
        }
        if namespaces.terminals {
            own_terminals()?;
        }
        Ok(())
    }

    fn bind(&self, source: &Source, namespaces: &Namespaces) -> Result<(), ApplyError> {
        let read_only = !namespaces.is_writable(&source.path);
        source.bind(read_only, self.machine)
    }

    /// Whether what every server gets was covered by what the orders name, and is granted as
    /// itself.
    fn is_covered(&self, source: &Source, namespaces: &Namespaces) -> bool {
        let granted = self.granted.iter().map(|granted| &granted.path);
        let mut above = granted.chain(&namespaces.in_memory);
        above.any(|above| source.path.starts_with(above)) && namespaces.mounts(&source.path)
    }

    /// Bounds what the namespaces may make, by settings of their own. Also where this root is not
    /// entered yet.
    pub fn bound(&self, namespaces: &Namespaces) -> Result<(), ApplyError> {
        let held = self.settings.as_ref();
        let held = held.ok_or_else(|| io::Error::other("no settings are held"))?;
        let settings = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
        if let Some(bound) = namespaces.pid_max {
            bound_numbers(&settings.join("kernel/pid_max"), bound)?;
        }
        for (name, value) in [
            ("max_user_namespaces", namespaces.nested),
            ("max_inotify_instances", namespaces.inotify_instances),
            ("max_inotify_watches", namespaces.inotify_watches),
        ] {
            fs::write(settings.join("user").join(name), value.to_string())?;
        }
        Ok(())
    }

    fn hold_granted(&mut self, namespaces: &Namespaces, lent: Vec<Lent>) -> Result<(), ApplyError> {
        let system = &self.system;
        let mounted: BTreeSet<&OsStr> = namespaces.mounted().map(|path| path.as_os_str()).collect();
        for source in system {
            let device = DEVICES.iter().any(|name| source.path.as_os_str() == *name);
            let granted = || {
                let mut above = source.path.ancestors();
                above.any(|path| mounted.contains(path.as_os_str()))
            };
            if !device && !granted() {
                let error = io::Error::other("it was prepared and is not granted");
                return Err(held_error(&source.path, error));
            }
        }
        let own = |path: &Path| lent.iter().any(|lent| lent.path == path);
        let mut granted = mounted
            .into_iter()
            .map(Path::new)
            .filter(|path| position(system, path).is_none() && !own(path))
            .map(Source::held)
            .collect::<Result<Vec<_>, _>>()?;
        for lent in lent {
            granted.push(Source::lent(lent)?);
        }
        sort(&mut granted);
        self.granted = granted;
        Ok(())
    }

    /// Every link along the names and in `/`. None that a server may have made is followed: it
    /// would lead where that likes.
    fn links(&mut self, namespaces: &Namespaces) -> Vec<Link> {
        let stays = |link: &Link| !namespaces.is_writable(&link.path);
        let mut found = std::mem::take(&mut self.links);
        found.retain(stays);
        for name in &namespaces.names {
            found.extend(links::along(name).into_iter().take_while(stays));
        }
        found
    }

    /// The file that was mounted at a path, by its descriptor, and whether it is a directory.
    pub fn held(&self, path: &Path) -> Option<(BorrowedFd<'_>, bool)> {
        [&self.system, &self.granted]
            .into_iter()
            .find_map(|sources| sources.get(position(sources, path)?)?.file())
    }
}

/// A file system in memory.
pub fn memory(at: &Path, options: &str) -> Result<(), ApplyError> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), at, Some("tmpfs"), flags, Some(options))?;
    Ok(())
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

/// Makes the new root the root, of every process in this namespace, and the old one gone from sight.
pub fn enter() -> Result<(), ApplyError> {
    chdir(ROOT)?;
    pivot_root(".", ".")?;
    umount2(".", MntFlags::MNT_DETACH)?;
    chdir("/")?;
    close(Path::new("/"), true)
}

/// Closes every mount in the root that is not the server's to write, as the kernel says in the end.
pub fn closed(namespaces: &Namespaces) -> Result<(), ApplyError> {
    let left = open(namespaces)?;
    if left.is_empty() {
        return Ok(());
    }
    // Came along inside of what was mounted.
    for (mounted, flags) in left {
        remount(&mounted, flags | wanted(&mounted, namespaces))?;
    }
    match open(namespaces)?.first() {
        Some((mounted, _)) => Err(ApplyError::Partial(format!(
            "{} stays open",
            mounted.display()
        ))),
        None => Ok(()),
    }
}
