//! Attacks on files: promises P1 to P7. Each returns what it got.
//!
//! A change is made in a way that can be seen outside: whoever judges looks there, since a server
//! may have a place of its own of the same name.
#![expect(
    clippy::disallowed_methods,
    reason = "these are attacks: they touch what they should not"
)]

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag};
use nix::mount::{MsFlags, mount as mount_at, umount};
use nix::sys::fanotify::{EventFFlags, Fanotify, InitFlags as FanotifyFlags};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::stat::{Mode, SFlag, UtimensatFlags, makedev, mknod, utimensat};
use nix::sys::time::TimeSpec;
use nix::unistd::{Gid, chown, getgid, mkfifo};

use super::{CANARY, not};

type Got = io::Result<String>;

/// A place of the attacker's own.
pub(super) fn own(name: &str) -> io::Result<PathBuf> {
    let home = std::env::var_os("HOME").ok_or_else(|| not("it has no home"))?;
    Ok(PathBuf::from(home).join(name))
}

/// Gone first, if an attack before left it.
fn fresh(name: &str) -> io::Result<PathBuf> {
    let path = own(name)?;
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(path),
    }
}

/// Whether a text is what was planted.
pub(super) fn saw(text: &str, detail: &str) -> Got {
    if text.contains(CANARY) {
        Ok(detail.to_owned())
    } else {
        Err(not("saw nothing of it"))
    }
}

pub(super) fn read(target: &str) -> Got {
    fs::read_to_string(target).and_then(|text| saw(&text, "read it"))
}

pub(super) fn read_through_link(target: &str) -> Got {
    let link = fresh("link-to-key")?;
    symlink(target, &link)?;
    fs::read_to_string(link).and_then(|text| saw(&text, "read it"))
}

pub(super) fn read_through_root(target: &str) -> Got {
    read(&format!("/proc/self/root{target}"))
}

pub(super) fn read_shadow(_: &str) -> Got {
    fs::read("/etc/shadow").map(|_| "read it".to_owned())
}

pub(super) fn list_root(_: &str) -> Got {
    fs::read_dir("/").map(|entries| format!("{} names", entries.count()))
}

pub(super) fn write(target: &str) -> Got {
    fs::write(target, "x").map(|()| "wrote it".to_owned())
}

pub(super) fn overwrite(target: &str) -> Got {
    let mut options = OpenOptions::new();
    let file = options.write(true).open(target)?;
    io::Write::write_all(&mut &file, b"x").map(|()| "wrote it".to_owned())
}

pub(super) fn truncate(target: &str) -> Got {
    nix::unistd::truncate(target, 0)?;
    Ok("truncated it".to_owned())
}

pub(super) fn make_directory(target: &str) -> Got {
    fs::create_dir(target).map(|()| "made it".to_owned())
}

/// To make one takes another right than to write it.
pub(super) fn mknod_file(target: &str) -> Got {
    mknod(target, SFlag::S_IFREG, Mode::S_IRWXU, 0)?;
    Ok("made it".to_owned())
}

pub(super) fn mknod_fifo(target: &str) -> Got {
    mkfifo(target, Mode::S_IRWXU)?;
    Ok("made it".to_owned())
}

/// As a node: where no socket can be opened, one can still be made.
pub(super) fn mknod_socket(target: &str) -> Got {
    mknod(target, SFlag::S_IFSOCK, Mode::S_IRWXU, 0)?;
    Ok("made it".to_owned())
}

pub(super) fn make_link(target: &str) -> Got {
    symlink(".", target).map(|()| "made it".to_owned())
}

pub(super) fn remove(target: &str) -> Got {
    fs::remove_file(target).map(|()| "removed it".to_owned())
}

pub(super) fn remove_directory(target: &str) -> Got {
    fs::remove_dir(target).map(|()| "removed it".to_owned())
}

/// A file and its new name, a line each.
pub(super) fn rename(target: &str) -> Got {
    let (from, to) = target.split_once('\n').ok_or_else(|| not("two paths"))?;
    fs::rename(from, to).map(|()| "renamed it".to_owned())
}

pub(super) fn link_from(target: &str) -> Got {
    let name = fresh("linked")?;
    fs::hard_link(target, name).map(|()| "linked it".to_owned())
}

/// A file that the mounts leave open, and only Landlock closes. What it takes is a name of this
/// very process.
pub(super) fn write_proc(_: &str) -> Got {
    let name = fs::read_to_string("/proc/self/comm")?;
    // Without truncating it, which takes another right.
    let mut options = OpenOptions::new();
    let file = options.write(true).open("/proc/self/comm")?;
    io::Write::write_all(&mut &file, name.trim_end().as_bytes())?;
    Ok("wrote it".to_owned())
}

pub(super) fn change_mode(target: &str) -> Got {
    fs::set_permissions(target, PermissionsExt::from_mode(0o640)).map(|()| "changed it".to_owned())
}

pub(super) fn change_time(target: &str) -> Got {
    let zero = TimeSpec::new(0, 0);
    utimensat(
        AT_FDCWD,
        target,
        &zero,
        &zero,
        UtimensatFlags::FollowSymlink,
    )?;
    Ok("changed it".to_owned())
}

/// To the group it has: the kernel asks for the right all the same.
pub(super) fn change_owner(target: &str) -> Got {
    chown(target, None, Some(Gid::from_raw(getgid().as_raw())))?;
    Ok("changed it".to_owned())
}

pub(super) fn change_attribute(target: &str) -> Got {
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(target, "user.probe", b"x", flags)?;
    Ok("changed it".to_owned())
}

/// Of a file of its own, which is the call that reaches every file that it may read.
pub(super) fn file_flags(_: &str) -> Got {
    use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
    let path = fresh("flagged")?;
    let file = fs::File::create(&path)?;
    let changed =
        ioctl_getflags(&file).and_then(|flags| ioctl_setflags(&file, flags.union(IFlags::NODUMP)));
    fs::remove_file(path)?;
    changed?;
    Ok("changed them".to_owned())
}

pub(super) fn set_uid_bit(_: &str) -> Got {
    set_id(0o4700)
}

pub(super) fn set_gid_bit(_: &str) -> Got {
    set_id(0o2710)
}

/// In its own home: whoever is let execute it there runs it as its owner.
fn set_id(mode: u32) -> Got {
    let path = fresh("set-id")?;
    let file = fs::File::create(&path)?;
    let changed = file
        .set_permissions(PermissionsExt::from_mode(mode))
        .and_then(|()| file.metadata());
    fs::remove_file(path)?;
    if changed?.permissions().mode() & 0o7777 == mode {
        Ok("made it".to_owned())
    } else {
        Err(not("the bit was dropped"))
    }
}

pub(super) fn execute(target: &str) -> Got {
    let null = || Stdio::null();
    let mut command = Command::new(target);
    let status = command.stdin(null()).stdout(null()).stderr(null()).status();
    if status?.success() {
        Ok("ran it".to_owned())
    } else {
        Err(not("it did not run to its end"))
    }
}

pub(super) fn open_terminal(_: &str) -> Got {
    let mut options = OpenOptions::new();
    let opened = options.read(true).write(true).open("/dev/ptmx");
    opened.map(|_| "opened one".to_owned())
}

/// The one device that takes no privilege to make: that of a file taken away in an overlay.
pub(super) fn make_device(_: &str) -> Got {
    let path = fresh("device")?;
    mknod(&path, SFlag::S_IFCHR, Mode::S_IRWXU, makedev(0, 0))?;
    fs::remove_file(path)?;
    Ok("made one".to_owned())
}

pub(super) fn watch(target: &str) -> Got {
    let watch = Inotify::init(InitFlags::IN_NONBLOCK)?;
    watch.add_watch(target, AddWatchFlags::IN_ALL_EVENTS)?;
    Ok("watches it".to_owned())
}

/// By file identities, which is what takes no privilege (`FAN_REPORT_FID`).
pub(super) fn watch_all(_: &str) -> Got {
    let flags = FanotifyFlags::FAN_CLASS_NOTIF | FanotifyFlags::from_bits_retain(0x200);
    Fanotify::init(flags, EventFFlags::O_RDONLY)?;
    Ok("opened one".to_owned())
}

pub(super) fn mount(_: &str) -> Got {
    let at = own("mounted")?;
    fs::create_dir_all(&at)?;
    let kind = Some("tmpfs");
    mount_at(kind, &at, kind, MsFlags::empty(), None::<&str>)?;
    umount(&at)?;
    Ok("mounted".to_owned())
}

/// To the root it has: the kernel asks for the right all the same.
pub(super) fn change_root(_: &str) -> Got {
    nix::unistd::chroot("/")?;
    Ok("changed it".to_owned())
}

pub(super) fn open_fifo(target: &str) -> Got {
    let flags = OFlag::O_RDWR | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    nix::fcntl::open(target, flags, Mode::empty())?;
    Ok("opened it".to_owned())
}

pub(super) fn see(target: &str) -> Got {
    fs::symlink_metadata(target).map(|found| format!("{} bytes", found.len()))
}

/// One that is on every machine and granted to no server.
pub(super) fn see_device(_: &str) -> Got {
    fs::symlink_metadata("/dev/tty").map(|_| "saw one".to_owned())
}

/// One of the whole machine, opened and not written.
pub(super) fn kernel_setting(_: &str) -> Got {
    let mut options = OpenOptions::new();
    let opened = options.write(true).open("/proc/sys/kernel/core_pattern");
    opened.map(|_| "opened one".to_owned())
}

/// What the end of a run has to find (promises G2 and G3): a repository, and a file that an
/// agent host obeys, in a directory of its own.
///
/// # Errors
/// What the system says.
pub fn leave_behind(dir: &Path) -> io::Result<()> {
    let git = dir.join("left/.git");
    for directory in ["objects", "refs"] {
        fs::create_dir_all(git.join(directory))?;
    }
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n")?;
    fs::write(dir.join(".mcp.json"), "{}")
}

/// A FIFO of the person's.
///
/// # Errors
/// What the system says.
pub fn make_fifo(path: &Path) -> io::Result<()> {
    match mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR) {
        Ok(()) | Err(Errno::EEXIST) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
