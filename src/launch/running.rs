//! The servers that run now: who holds which private home, and what the kernel says of them.
//!
//! A run holds the lock on the file beside its private home, which no server reaches: the kernel's
//! table of locks (`/proc/locks`) names the process, and that one's own words the command. What a
//! server writes into its command line counts for nothing. Runs with a home of their own
//! (`--ephemeral`) hold no such lock and are not found.
#![expect(
    clippy::disallowed_methods,
    reason = "reads /proc of processes that run servers"
)]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::processes;

/// A process that runs a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Its number.
    pub(crate) process: u32,
    /// Its command line.
    pub(crate) words: Vec<String>,
    /// What started it.
    pub(crate) host: Option<String>,
    /// When it was started.
    pub(crate) since: Option<Timestamp>,
}

/// What the kernel says of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Seen {
    /// The number of its main process.
    pub(crate) process: Option<u32>,
    /// Its processes.
    pub(crate) processes: usize,
    /// Its memory, pages of files not counted.
    pub(crate) memory_bytes: u64,
    /// What confines it, as far as `/proc` shows it.
    pub(crate) confined_by: Vec<String>,
}

/// Who holds the private home of this name, each process once.
pub(crate) fn holders(state: &Path, home: &str) -> Vec<Holder> {
    let mark = state.join("home").join(home).with_extension("digest");
    let Ok(found) = fs::metadata(&mark) else {
        return Vec::new();
    };
    let (major, minor) = (
        nix::sys::stat::major(found.dev()),
        nix::sys::stat::minor(found.dev()),
    );
    let table = fs::read_to_string("/proc/locks").unwrap_or_default();
    let mut holders = locks(&table, (major, minor, found.ino()));
    holders.sort_unstable();
    holders.dedup();
    holders.into_iter().filter_map(holder).collect()
}

/// The processes that hold a lock on a file, out of the kernel's table (`proc_locks(5)`).
fn locks(table: &str, (major, minor, number): (u64, u64, u64)) -> Vec<u32> {
    let file = format!("{major:02x}:{minor:02x}:{number}");
    let held = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words.as_slice() {
            [_, "FLOCK", _, _, process, on, ..] if *on == file => process.parse().ok(),
            _ => None,
        }
    };
    table.lines().filter_map(held).collect()
}

fn holder(process: u32) -> Option<Holder> {
    let line = fs::read(format!("/proc/{process}/cmdline")).ok()?;
    let words = line
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty());
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let parent = field(&stat, 2);
    let host = parent.and_then(|parent| fs::read_to_string(format!("/proc/{parent}/comm")).ok());
    Some(Holder {
        process,
        words: words
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect(),
        host: host.map(|name| crate::text::printable(name.trim_end())),
        since: field(&stat, 20).and_then(since),
    })
}

/// A number of `/proc/PID/stat`, counted from the state, which follows the name.
fn field(stat: &str, number: usize) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace()
        .nth(number.checked_sub(1)?)?
        .parse()
        .ok()
}

/// The time so many ticks after the machine's start.
fn since(ticks: u64) -> Option<Timestamp> {
    // USER_HZ, the same on every architecture that servers run on (`proc_pid_stat(5)`, `time(7)`).
    const TICKS: u64 = 100;
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let boot = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    let boot = Timestamp::from_second(boot.trim().parse().ok()?).ok()?;
    let after = i64::try_from(ticks / TICKS).ok()?;
    boot.checked_add(SignedDuration::from_secs(after)).ok()
}

/// What the kernel says of the server that a process runs.
pub(crate) fn seen(holder: u32) -> Seen {
    let below = processes::below(holder).unwrap_or_default();
    // What waits beside it comes before the server: the first process of its namespaces.
    let levels = numbers(holder).len();
    let ours = |process: &u32| {
        let numbers = numbers(*process);
        numbers.len() > levels && numbers.get(levels).is_some_and(|number| number == "1")
    };
    let servers: Vec<u32> = below.iter().copied().skip_while(ours).collect();
    let main = servers.first().copied();
    let mut text = Vec::new();
    let used = |process: &u32| processes::usage(*process, &mut text).anonymous;
    let memory_bytes = servers.iter().map(used).fold(0, u64::saturating_add);
    let status = main.and_then(|main| fs::read_to_string(format!("/proc/{main}/status")).ok());
    Seen {
        process: main,
        processes: servers.len(),
        memory_bytes,
        confined_by: status.map(|status| confined(&status)).unwrap_or_default(),
    }
}

/// The numbers of a process, from this process's namespace inwards; none where it has ended.
fn numbers(process: u32) -> Vec<String> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    let numbers = line.unwrap_or_default().split_ascii_whitespace();
    numbers.map(str::to_owned).collect()
}

/// What a `/proc/PID/status` says of confinement. Landlock and mounts do not show there.
fn confined(status: &str) -> Vec<String> {
    let value = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().to_owned())
    };
    let mut found = Vec::new();
    let levels = value("NSpid:").map_or(1, |ids| ids.split_ascii_whitespace().count());
    if levels > 1 {
        found.push("processes of its own".to_owned());
    }
    if value("NoNewPrivs:").as_deref() == Some("1") {
        found.push("no new privileges".to_owned());
    }
    let none = |set: &str| value(set).is_some_and(|mask| mask.trim_start_matches('0').is_empty());
    if ["CapEff:", "CapPrm:", "CapInh:", "CapAmb:"]
        .into_iter()
        .all(none)
    {
        found.push("no capabilities".to_owned());
    }
    if value("Seccomp:").as_deref() == Some("2") {
        let filters = value("Seccomp_filters:").unwrap_or_else(|| "some".to_owned());
        found.push(format!("{filters} system-call filters"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_of_a_lock() {
        let table = "1: FLOCK  ADVISORY  READ 812 08:01:77 0 EOF\n\
                     2: POSIX  ADVISORY  WRITE 813 08:01:77 0 EOF\n\
                     3: FLOCK  ADVISORY  READ 814 08:01:7 0 EOF\n\
                     4: FLOCK  ADVISORY  READ 815 08:01:77 0 EOF\n";
        assert_eq!(locks(table, (8, 1, 77)), [812, 815]);
    }

    #[test]
    fn what_a_status_says() {
        let status = "Name:\tx\nNSpid:\t900\t2\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n\
                      CapEff:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t2\n";
        assert_eq!(confined(status).len(), 4);
        assert!(confined("CapEff:\t0000000000000001\n").is_empty());
    }

    #[test]
    fn a_field_is_read_past_a_hostile_name() {
        assert_eq!(field("12 (a) S 1) R 77 1 1", 2), Some(77));
    }
}
