//! The processes below one, and what each uses, as `/proc` shows them.
#![expect(
    clippy::disallowed_methods,
    reason = "reads /proc for the descendants of this process"
)]

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::confine::linux::proc;

/// Every process below one, itself not among them. Those that come and go meanwhile may be
/// missed: who asks asks again.
///
/// # Errors
/// `/proc` cannot be read.
pub(super) fn below(root: u32) -> io::Result<Vec<u32>> {
    match listed(root) {
        Err(error) if error.kind() == ErrorKind::NotFound => searched(root),
        other => other,
    }
}

/// The children of a process.
///
/// # Errors
/// `/proc` cannot be read.
pub(super) fn children(parent: u32) -> io::Result<Vec<u32>> {
    let mut found = Vec::new();
    match children_listed(parent, &mut found) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let all = every()?;
            found.extend(all.iter().filter(|(_, of)| *of == parent).map(|(id, _)| id));
            Ok(found)
        }
        Err(error) => Err(error),
        Ok(()) => Ok(found),
    }
}

/// As the kernel lists them (`CONFIG_PROC_CHILDREN`): cheap however many there are besides.
fn listed(root: u32) -> io::Result<Vec<u32>> {
    let mut found = Vec::new();
    children_listed(root, &mut found)?;
    let mut next = 0;
    while let Some(process) = found.get(next).copied() {
        next += 1;
        // One that has ended meanwhile has none.
        let _ = children_listed(process, &mut found);
    }
    Ok(found)
}

fn children_listed(parent: u32, found: &mut Vec<u32>) -> io::Result<()> {
    for task in fs::read_dir(format!("/proc/{parent}/task"))? {
        let text = proc::text(task?.path().join("children"))?;
        found.extend(
            text.split_ascii_whitespace()
                .filter_map(|word| word.parse::<u32>().ok()),
        );
    }
    Ok(())
}

/// Among all processes, by their parents.
fn searched(root: u32) -> io::Result<Vec<u32>> {
    let mut all = every()?;
    let mut found = vec![root];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        all.retain(|(process, of)| {
            let is_child = *of == parent;
            if is_child {
                found.push(*process);
            }
            !is_child
        });
    }
    found.remove(0);
    Ok(found)
}

/// Every process and its parent.
fn every() -> io::Result<Vec<(u32, u32)>> {
    let mut found = Vec::new();
    let mut text = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(process) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // A process that ended meanwhile has no file.
        if read(&format!("/proc/{process}/stat"), &mut text).is_ok()
            && let Some(of) = parent(&text)
        {
            found.push((process, of));
        }
    }
    Ok(found)
}

/// The parent in a line of `/proc/PID/stat`: the second word after the name, which may itself
/// hold spaces and brackets.
fn parent(stat: &[u8]) -> Option<u32> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end.saturating_add(1)..)?).ok()?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Reads a file into a buffer that is used again.
pub(super) fn read(path: &str, text: &mut Vec<u8>) -> io::Result<()> {
    proc::bytes_of(path, text)
}

/// What one process uses; bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Use {
    /// Threads; a zombie is one too.
    pub(super) threads: u64,
    /// Memory of its own, in the machine's and swapped out. Pages that a fork shares count for
    /// each that has them.
    pub(super) anonymous: u64,
}

/// What a process uses; nothing where it has ended.
pub(super) fn usage(process: u32, text: &mut Vec<u8>) -> Use {
    match read(&format!("/proc/{process}/status"), text) {
        Ok(()) => Use {
            threads: number(text, "Threads:").unwrap_or(1),
            anonymous: kib(text, &["RssAnon:", "VmSwap:", "VmPTE:"]),
        },
        Err(_) => Use::default(),
    }
}

/// Its memory with each shared page counted by its share: of its own, and of memory that is
/// shared by name or descriptor. `None` where that cannot be read.
pub(super) fn shares(process: u32, text: &mut Vec<u8>) -> Option<(u64, u64)> {
    read(&format!("/proc/{process}/smaps_rollup"), text).ok()?;
    // Before Linux 5.4 the shares are not told apart.
    number(text, "Pss_Anon:")?;
    Some((
        kib(text, &["Pss_Anon:", "SwapPss:"]),
        kib(text, &["Pss_Shmem:"]),
    ))
}

/// A file that a process holds by descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    /// Its device and number.
    pub(super) id: (u64, u64),
    /// What it takes up.
    pub(super) bytes: u64,
    /// It was made by `memfd_create`.
    pub(super) in_memory: bool,
    /// It has no name any more.
    pub(super) nameless: bool,
}

/// The files that a process holds by descriptor. `None` where that cannot be read.
pub(super) fn held(process: u32) -> Option<Vec<Held>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(format!("/proc/{process}/fd")).ok()? {
        let path = entry.ok()?.path();
        // One that is closed meanwhile is nothing.
        if let (Ok(name), Ok(file)) = (fs::read_link(&path), fs::metadata(&path)) {
            found.push(Held {
                id: (file.dev(), file.ino()),
                bytes: file.blocks().saturating_mul(512),
                in_memory: is_memfd(&name),
                nameless: file.nlink() == 0,
            });
        }
    }
    Some(found)
}

fn is_memfd(name: &Path) -> bool {
    let name = name.as_os_str().as_encoded_bytes();
    name.starts_with(b"/memfd:")
}

/// The number after a word at the beginning of a line.
pub(super) fn number(text: &[u8], word: &str) -> Option<u64> {
    text.split(|byte| *byte == b'\n').find_map(|line| {
        let rest = std::str::from_utf8(line.strip_prefix(word.as_bytes())?).ok()?;
        rest.split_ascii_whitespace().next()?.parse().ok()
    })
}

/// The sum of the lines that begin so, which are in KiB; one that is not there is nothing.
pub(super) fn kib(text: &[u8], words: &[&str]) -> u64 {
    let sum = words
        .iter()
        .filter_map(|word| number(text, word))
        .fold(0, u64::saturating_add);
    sum.saturating_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a child to find")]
    fn a_grandchild_is_found_both_ways() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "sleep 60 & wait"])
            .spawn()
            .unwrap();
        let me = std::process::id();
        let both = |found: &[u32]| {
            found.contains(&child.id())
                && found
                    .iter()
                    .any(|id| children(child.id()).is_ok_and(|of| of.contains(id)))
        };
        while children(child.id()).unwrap().is_empty() {}
        assert!(both(&searched(me).unwrap()));
        // A kernel without the list is what the search is for.
        assert!(listed(me).map_or(true, |found| both(&found)));
        assert!(both(&below(me).unwrap()));
        assert!(!below(me).unwrap().contains(&me));
        for process in below(child.id()).unwrap() {
            let pid = nix::unistd::Pid::from_raw(process.try_into().unwrap());
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
        }
        child.wait().unwrap();
    }

    #[test]
    fn the_parent_is_read_past_a_hostile_name() {
        assert_eq!(parent(b"12 (a) S 1) R 77 1 1"), Some(77));
        assert_eq!(parent(b"12 (\xff) R 7 1"), Some(7));
        assert_eq!(parent(b"12"), None);
    }

    #[test]
    fn what_is_used_is_read() {
        let text = b"Name:\tThreads: 9\nVmSwap:\t     1 kB\nRssAnon:\t  2 kB\nThreads:\t3\n";
        assert_eq!(number(text, "Threads:"), Some(3));
        assert_eq!(kib(text, &["RssAnon:", "VmSwap:", "VmPTE:"]), 3 * 1024);
        let mut text = Vec::new();
        let own = usage(std::process::id(), &mut text);
        assert!(own.threads > 1 && own.anonymous > 100_000, "{own:?}");
        assert_eq!(usage(u32::MAX, &mut text), Use::default());
        let (mine, _) = shares(std::process::id(), &mut text).unwrap();
        assert!(mine > 100_000 && mine <= 2 * own.anonymous, "{mine}");
        assert_eq!(shares(u32::MAX, &mut text), None);
    }

    #[test]
    fn a_file_in_memory_is_seen_with_what_it_holds() {
        use std::io::Write;
        let made = nix::sys::memfd::memfd_create(c"x", nix::sys::memfd::MFdFlags::empty());
        let mut file = std::fs::File::from(made.unwrap());
        file.write_all(&[1; 1 << 20]).unwrap();
        let all = held(std::process::id()).unwrap();
        let own = file.metadata().unwrap();
        let mine = all.iter().find(|one| one.id == (own.dev(), own.ino()));
        let mine = mine.unwrap();
        assert!(mine.bytes >= 1 << 20 && mine.in_memory, "{mine:?}");
        assert_eq!(held(u32::MAX), None);
    }
}
