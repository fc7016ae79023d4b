//! What there is outside, for the person: what a refusal is held against.
#![expect(clippy::disallowed_methods, reason = "looks at what is there outside")]

use std::fs;
use std::io::Read;
use std::net::IpAddr;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

/// What a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    Socket,
    /// A FIFO or a device.
    Special,
}

/// What a path leads to; `None` where it leads nowhere.
pub(super) fn kind(path: &Path) -> Option<Kind> {
    let found = fs::metadata(path).ok()?.file_type();
    Some(if found.is_dir() {
        Kind::Directory
    } else if found.is_file() {
        Kind::File
    } else if found.is_socket() {
        Kind::Socket
    } else {
        Kind::Special
    })
}

/// Where a path leads.
pub(super) fn resolved(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

/// Whether the person may read, write or execute there.
pub(super) fn may(path: &Path, how: AccessFlags) -> bool {
    access(path, how).is_ok()
}

/// A small text file.
pub(super) fn text(path: &Path) -> Option<String> {
    const LARGEST: u64 = 1 << 20;
    let small = fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= LARGEST);
    small.then(|| fs::read_to_string(path).ok()).flatten()
}

/// A file whole, programs included.
pub(super) fn bytes(path: &Path) -> Option<Vec<u8>> {
    const LARGEST: u64 = 1 << 26;
    let small = fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= LARGEST);
    small.then(|| fs::read(path).ok()).flatten()
}

/// Whether a file is a program that nobody may execute yet.
pub(super) fn is_closed_program(path: &Path) -> bool {
    let program = |bytes: Vec<u8>| bytes.starts_with(b"\x7fELF") || bytes.starts_with(b"#!");
    !may(path, AccessFlags::X_OK) && head(path).is_some_and(program)
}

/// How a file begins.
fn head(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    let file = fs::File::open(path).ok()?;
    file.take(4).read_to_end(&mut head).ok()?;
    Some(head)
}

/// Whether a private home holds anything but its temporary directory.
pub(super) fn keeps_files(home: &Path) -> bool {
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.file_name() != "tmp")
}

/// The nearest directory at or above a path that is there.
pub(super) fn nearest(path: &Path) -> Option<&Path> {
    path.ancestors()
        .find(|above| kind(above) == Some(Kind::Directory))
}

/// Whether somebody listens at an abstract socket of this name (`proc_net(5)`).
pub(super) fn listens_abstract(name: &str) -> bool {
    let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let end = format!(" @{name}");
    table.lines().any(|line| line.ends_with(&end))
}

/// Whether somebody on this machine listens at a TCP port.
pub(super) fn listens(ip: IpAddr, port: u16) -> bool {
    const LISTENING: &str = "0A";
    let end = format!(":{port:04X}");
    let tables: &[&str] = match ip {
        IpAddr::V4(_) => &["/proc/net/tcp", "/proc/net/tcp6"],
        IpAddr::V6(_) => &["/proc/net/tcp6"],
    };
    tables.iter().any(|table| {
        let table = fs::read_to_string(table).unwrap_or_default();
        table.lines().any(|line| {
            let mut words = line.split_ascii_whitespace().skip(1);
            let local = words.next().is_some_and(|local| local.ends_with(&end));
            local && words.nth(1) == Some(LISTENING)
        })
    })
}
