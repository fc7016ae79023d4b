//! What is mounted in the namespace of this process (`proc_pid_mountinfo(5)`).
#![expect(clippy::disallowed_methods, reason = "reads what is mounted")]

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use nix::mount::MsFlags;
use nix::sys::statvfs::{FsFlags, statvfs};

/// Bytes that are read at a time at first: what is mounted on most machines.
const PIECE: usize = 32 << 10;

/// The kernel's own text, read in few pieces: for each it locks what is mounted on the whole
/// machine, and the shim may be mounting.
///
/// # Errors
/// It cannot be read.
pub fn text() -> io::Result<String> {
    let mut text = String::with_capacity(PIECE);
    File::open("/proc/self/mountinfo")?.read_to_string(&mut text)?;
    Ok(text)
}

/// Every mount, in the order they were made: where it is, and its own flags.
pub fn mounts() -> io::Result<Vec<(PathBuf, MsFlags)>> {
    read(&text()?, |_| true)
}

/// The same of those alone that have not all of these flags.
pub fn lacking(wanted: MsFlags) -> io::Result<Vec<(PathBuf, MsFlags)>> {
    read(&text()?, |flags| !flags.contains(wanted))
}

/// The mounts of a text whose flags are such. What is not such, most of them, is not read further.
fn read(text: &str, such: impl Fn(MsFlags) -> bool) -> io::Result<Vec<(PathBuf, MsFlags)>> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut words = line.split(' ').skip(4);
        let (Some(path), Some(options)) = (words.next(), words.next()) else {
            return Err(io::Error::other("mountinfo does not read"));
        };
        let flags = own_flags(options);
        if such(flags) {
            found.push((PathBuf::from(unescaped(path)), flags));
        }
    }
    Ok(found)
}

/// The flags of the mount that a path lies on. What the file system itself refuses counts too.
pub fn flags(path: &Path) -> io::Result<MsFlags> {
    let found = statvfs(path)?.flags();
    let flags = [
        (FsFlags::ST_RDONLY, MsFlags::MS_RDONLY),
        (FsFlags::ST_NOSUID, MsFlags::MS_NOSUID),
        (FsFlags::ST_NODEV, MsFlags::MS_NODEV),
        (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
        (FsFlags::ST_NOATIME, MsFlags::MS_NOATIME),
        (FsFlags::ST_NODIRATIME, MsFlags::MS_NODIRATIME),
        (FsFlags::ST_RELATIME, MsFlags::MS_RELATIME),
    ];
    let there = flags.into_iter().filter(|(flag, _)| found.contains(*flag));
    Ok(there.map(|(_, flag)| flag).collect())
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
pub(super) fn unescaped(word: &str) -> OsString {
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
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_read_and_those_that_lack_a_flag() {
        let text = "22 27 0:21 / /proc ro,nosuid,nodev,noexec,relatime - proc proc rw\n\
                    23 27 0:22 / /a\\040b rw,nosuid - tmpfs tmpfs rw\n";
        let closed = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        let open = (PathBuf::from("/a b"), MsFlags::MS_NOSUID);
        let all = read(text, |_| true).unwrap();
        assert_eq!(all.len(), 2);
        assert!(all[0].1.contains(closed));
        assert_eq!(all[1], open);
        assert_eq!(read(text, |flags| !flags.contains(closed)).unwrap(), [open]);
        assert!(read("22 27 0:21 / /proc", |_| true).is_err());
    }

    #[test]
    fn paths_of_mountinfo_read() {
        assert_eq!(unescaped(r"/a\040b\134c\011"), "/a b\\c\t");
        assert_eq!(unescaped(r"/a\04"), r"/a\04");
    }
}
