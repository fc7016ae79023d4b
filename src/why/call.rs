//! What a call that failed had wanted. Pure but for the memory it is handed.
//!
//! Only the calls that reach for something outside the process are read; the numbers are those
//! of the architecture this program was built for. Of a call's answers, those count that a
//! refusal can look like: whether it is one is judged elsewhere.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::libc;

use super::attempt::{Bound, Intent, Target};
use super::call_names;
use super::tracee::{Call, Memory};

/// Answers of the kernel's are at most so far below zero; lower ones are its own affair.
const ERRORS: i64 = 511;
/// A socket address holds at most so many bytes.
const ADDRESS: u64 = 128;

/// What a returned call wanted and did not get, with what the kernel said.
pub(super) fn missed(call: &Call, memory: &impl Memory) -> Option<(Vec<Target>, Errno)> {
    if call.answer >= 0 || call.answer < -ERRORS {
        return None;
    }
    let errno = Errno::from_raw(i32::try_from(call.answer.saturating_neg()).ok()?);
    let bound = |bound, size| vec![Target::Bound(bound, size)];
    let targets = match errno {
        Errno::EMFILE => bound(Bound::Files, 0),
        Errno::EFBIG => bound(Bound::FileSize, 0),
        Errno::ENOSPC | Errno::EDQUOT => bound(Bound::Space, 0),
        Errno::ENOMEM => bound(Bound::Memory, wanted_memory(call)?),
        Errno::EAGAIN if forks(call.number) => bound(Bound::Processes, 0),
        Errno::EACCES
        | Errno::EPERM
        | Errno::ENOENT
        | Errno::ENOTDIR
        | Errno::EROFS
        | Errno::ENXIO
        | Errno::ENOSYS
        | Errno::ENETUNREACH
        | Errno::EHOSTUNREACH
        | Errno::ECONNREFUSED
        | Errno::ENETDOWN
        | Errno::EAFNOSUPPORT
        | Errno::EPROTONOSUPPORT
        | Errno::ESOCKTNOSUPPORT
        | Errno::EADDRNOTAVAIL => wanted(call, errno, memory),
        _ => Vec::new(),
    };
    (!targets.is_empty()).then_some((targets, errno))
}

/// A connection that a call began and did not wait for: the socket, and what was wanted.
pub(super) fn begun(call: &Call, memory: &impl Memory) -> Option<(u64, Target)> {
    let [descriptor, at, length, ..] = call.arguments;
    let errno = i32::try_from(call.answer.saturating_neg()).ok()?;
    if call.number != libc::SYS_connect || Errno::from_raw(errno) != Errno::EINPROGRESS {
        return None;
    }
    let target = spoken_to(memory, at, length).pop()?;
    Some((memory.socket(int(descriptor))?, target))
}

/// What became of a connection that was begun, where the server asks (`SO_ERROR`, `socket(7)`): the
/// socket, and the error that it was told.
pub(super) fn came_to(call: &Call, memory: &impl Memory) -> Option<(u64, Errno)> {
    let [descriptor, level, option, at, ..] = call.arguments;
    let asks = call.number == libc::SYS_getsockopt
        && int(level) == libc::SOL_SOCKET
        && int(option) == libc::SO_ERROR;
    if !asks || call.answer != 0 {
        return None;
    }
    let errno = i32::from_ne_bytes(memory.bytes(at, 4)?.try_into().ok()?);
    let errno = Errno::from_raw(errno);
    matches!(
        errno,
        Errno::ECONNREFUSED | Errno::ENETUNREACH | Errno::EHOSTUNREACH
    )
    .then_some((memory.socket(int(descriptor))?, errno))
}

/// The size that was asked for by a call for memory; nothing where it is another call.
fn wanted_memory(call: &Call) -> Option<u64> {
    match call.number {
        libc::SYS_mmap => call.arguments.get(1).copied(),
        libc::SYS_mremap => call.arguments.get(2).copied(),
        number if forks(number) => Some(0),
        _ => None,
    }
}

fn forks(number: i64) -> bool {
    #[cfg(target_arch = "x86_64")]
    if matches!(number, libc::SYS_fork | libc::SYS_vfork) {
        return true;
    }
    matches!(number, libc::SYS_clone | libc::SYS_clone3)
}

/// Flags of `clone` and `unshare` that ask for namespaces (`namespaces(7)`).
const NAMESPACES: u64 = 0x7e02_0000;
/// The one that asks for a user namespace.
const USER: u64 = 0x1000_0000;

/// `fchmodat2`, since Linux 6.6; the same number everywhere.
const FCHMODAT2: i64 = 452;

fn wanted(call: &Call, errno: Errno, memory: &impl Memory) -> Vec<Target> {
    let [first, second, third, _, fifth, sixth] = call.arguments;
    let refused = matches!(errno, Errno::EPERM | Errno::ENOSYS | Errno::EACCES);
    match call.number {
        libc::SYS_connect => spoken_to(memory, second, third),
        libc::SYS_sendto => spoken_to(memory, fifth, sixth),
        libc::SYS_bind => listened_at(memory, second, third),
        libc::SYS_socket => vec![Target::Socket(int(first), int(second) & 0xf)],
        libc::SYS_unshare if refused && first & NAMESPACES != 0 => {
            vec![Target::Namespace("unshare", first & USER != 0)]
        }
        libc::SYS_clone if refused && first & NAMESPACES != 0 => {
            vec![Target::Namespace("clone", first & USER != 0)]
        }
        _ if errno == Errno::EPERM && sets_uid(call) => vec![Target::Call("fchmod")],
        // Libraries ask by the newer call and fall back.
        libc::SYS_clone3 => Vec::new(),
        number => match wants(call, memory) {
            Some((start, address, intent)) => path(memory, start, address)
                .map(|path| Target::Path(path, intent))
                .into_iter()
                .collect(),
            None if refused => call_names::name(number)
                .map(Target::Call)
                .into_iter()
                .collect(),
            None => Vec::new(),
        },
    }
}

/// Whether a call would make a program that runs as its owner, whoever executes it.
fn sets_uid(call: &Call) -> bool {
    const SET_UID: u64 = 0o4000;
    let [_, second, third, ..] = call.arguments;
    let mode = match call.number {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chmod => second,
        libc::SYS_fchmod => second,
        libc::SYS_fchmodat | FCHMODAT2 => third,
        _ => 0,
    };
    mode & SET_UID != 0
}

/// An argument that the kernel takes as an `int`: its lower half.
fn int(argument: u64) -> i32 {
    u32::try_from(argument & 0xffff_ffff).map_or(0, u32::cast_signed)
}

/// The path among the arguments of a call: where it begins (a directory's descriptor), where it
/// is, what for.
fn wants(call: &Call, memory: &impl Memory) -> Option<(i32, u64, Intent)> {
    let [first, second, third, fourth, ..] = call.arguments;
    let here = libc::AT_FDCWD;
    Some(match call.number {
        libc::SYS_openat => (int(first), second, opened(third)),
        libc::SYS_openat2 => {
            let how = memory.bytes(third, 8).and_then(|how| how.try_into().ok());
            let flags = how.map_or(0, u64::from_ne_bytes);
            (int(first), second, opened(flags))
        }
        libc::SYS_newfstatat | libc::SYS_statx | libc::SYS_readlinkat => {
            (int(first), second, Intent::Look)
        }
        libc::SYS_faccessat | libc::SYS_faccessat2 => (int(first), second, asked(third)),
        libc::SYS_execve => (here, first, Intent::Execute),
        libc::SYS_execveat => (int(first), second, Intent::Execute),
        libc::SYS_chdir | libc::SYS_statfs => (here, first, Intent::Look),
        libc::SYS_inotify_add_watch => (here, second, Intent::Watch),
        libc::SYS_mkdirat => (int(first), second, Intent::MakeDirectory),
        libc::SYS_mknodat => (int(first), second, Intent::Make),
        libc::SYS_symlinkat => (int(second), third, Intent::Make),
        libc::SYS_linkat | libc::SYS_renameat | libc::SYS_renameat2 => {
            (int(third), fourth, Intent::Make)
        }
        libc::SYS_unlinkat => (int(first), second, Intent::Remove),
        libc::SYS_truncate => (here, first, Intent::Write),
        libc::SYS_fchmodat | libc::SYS_fchownat | libc::SYS_utimensat => {
            (int(first), second, Intent::Change)
        }
        libc::SYS_setxattr | libc::SYS_lsetxattr => (here, first, Intent::Change),
        number => return older(number, &call.arguments),
    })
}

/// The calls that only older architectures have: each a newer one at the working directory.
#[cfg(target_arch = "x86_64")]
fn older(number: i64, arguments: &[u64; 6]) -> Option<(i32, u64, Intent)> {
    let [first, second, ..] = *arguments;
    let here = libc::AT_FDCWD;
    Some(match number {
        libc::SYS_open => (here, first, opened(second)),
        libc::SYS_creat => (here, first, Intent::Make),
        libc::SYS_stat | libc::SYS_lstat | libc::SYS_readlink => (here, first, Intent::Look),
        libc::SYS_access => (here, first, asked(second)),
        libc::SYS_mkdir => (here, first, Intent::MakeDirectory),
        libc::SYS_mknod => (here, first, Intent::Make),
        libc::SYS_symlink | libc::SYS_link | libc::SYS_rename => (here, second, Intent::Make),
        libc::SYS_unlink | libc::SYS_rmdir => (here, first, Intent::Remove),
        libc::SYS_chmod
        | libc::SYS_chown
        | libc::SYS_lchown
        | libc::SYS_utimes
        | libc::SYS_utime => (here, first, Intent::Change),
        libc::SYS_futimesat => (int(first), second, Intent::Change),
        _ => return None,
    })
}

#[cfg(not(target_arch = "x86_64"))]
fn older(_: i64, _: &[u64; 6]) -> Option<(i32, u64, Intent)> {
    None
}

/// What a file is opened for, by its flags.
fn opened(flags: u64) -> Intent {
    let flags = int(flags);
    let has = |flag: i32| flags & flag == flag;
    if has(libc::O_CREAT) {
        Intent::Make
    } else if flags & libc::O_ACCMODE != libc::O_RDONLY || has(libc::O_TRUNC) {
        Intent::Write
    } else if has(libc::O_PATH) {
        Intent::Look
    } else if has(libc::O_DIRECTORY) {
        Intent::List
    } else {
        Intent::Read
    }
}

/// What is asked about, by the mode of `access`.
fn asked(mode: u64) -> Intent {
    match int(mode) {
        mode if mode & libc::W_OK != 0 => Intent::Write,
        mode if mode & libc::X_OK != 0 => Intent::Execute,
        mode if mode & libc::R_OK != 0 => Intent::Read,
        _ => Intent::Look,
    }
}

/// A path among the arguments, absolute and without `.` and `..`.
fn path(memory: &impl Memory, start: i32, address: u64) -> Option<PathBuf> {
    let text = memory.text(address).filter(|text| !text.is_empty())?;
    let path = Path::new(std::ffi::OsStr::from_bytes(&text));
    if path.is_absolute() {
        return Some(tidy(path));
    }
    let start = if start == libc::AT_FDCWD {
        memory.directory()?
    } else {
        memory.leads_to(start)?
    };
    Some(tidy(&start.join(path)))
}

/// Without `.` and `..`, by the letters: what links make of `..` is not looked at.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(tidy.pop()),
            Component::CurDir => {}
            other => tidy.push(other),
        }
    }
    tidy
}

/// A socket address.
enum Address {
    Path(PathBuf),
    Abstract(String),
    Internet(IpAddr, u16),
}

fn address(memory: &impl Memory, at: u64, length: u64) -> Option<Address> {
    let length = usize::try_from(length.min(ADDRESS)).ok()?;
    let bytes = memory.bytes(at, length)?;
    let (family, rest) = bytes.split_at_checked(2)?;
    let family = i32::from(u16::from_ne_bytes(family.try_into().ok()?));
    if family == libc::AF_UNIX {
        return match rest.split_first()? {
            (0, name) => Some(Address::Abstract(crate::text::printable(
                &String::from_utf8_lossy(name),
            ))),
            _ => {
                let path = rest.split(|byte| *byte == 0).next()?;
                let path = Path::new(std::ffi::OsStr::from_bytes(path));
                let absolute = if path.is_absolute() {
                    path.to_owned()
                } else {
                    memory.directory()?.join(path)
                };
                Some(Address::Path(tidy(&absolute)))
            }
        };
    }
    let (port, rest) = rest.split_at_checked(2)?;
    let port = u16::from_be_bytes(port.try_into().ok()?);
    let ip = match family {
        libc::AF_INET => {
            let ip: [u8; 4] = rest.get(..4)?.try_into().ok()?;
            IpAddr::from(Ipv4Addr::from(ip))
        }
        libc::AF_INET6 => {
            let ip: [u8; 16] = rest.get(4..20)?.try_into().ok()?;
            IpAddr::from(Ipv6Addr::from(ip))
        }
        _ => return None,
    };
    Some(Address::Internet(ip, port))
}

fn spoken_to(memory: &impl Memory, at: u64, length: u64) -> Vec<Target> {
    let target = match address(memory, at, length) {
        Some(Address::Path(path)) => Target::Local(path),
        Some(Address::Abstract(name)) => Target::Abstract(name),
        Some(Address::Internet(ip, port)) => Target::Remote(ip, port),
        None => return Vec::new(),
    };
    vec![target]
}

fn listened_at(memory: &impl Memory, at: u64, length: u64) -> Vec<Target> {
    match address(memory, at, length) {
        Some(Address::Path(path)) => vec![Target::Path(path, Intent::Make)],
        Some(Address::Internet(ip, port)) => vec![Target::Listen(ip, port)],
        _ => Vec::new(),
    }
}

#[cfg(test)]
#[path = "call_tests.rs"]
mod tests;
