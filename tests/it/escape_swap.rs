//! Promise S1 while the program is swapped: one start never runs a binary other than the one it
//! checked. `SUPERVISOR_SWAPS=10000 cargo test --release --test it s1_` starts it that
//! often.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use serde_json::Value;

use crate::judge::Over;
use crate::support::fleet::Fleet;
use crate::support::{Host, TestContext, everybody, stderr};

/// Starts of each kind in the default set.
const STARTS: u64 = 60;
/// What the server exits with: it is the approved one, it is the other.
const APPROVED: i32 = 3;
const OTHER: i32 = 4;

fn starts() -> u64 {
    let named = std::env::var("SUPERVISOR_SWAPS").ok();
    named.map_or(STARTS, |count| count.parse().unwrap())
}

/// What is renamed. A directory that is leaves no mark on the files in it, not even a time.
#[derive(Clone, Copy)]
enum Swapped {
    File,
    Directory,
}

/// A shell that exits by its own size, and the same with a byte more.
struct Programs {
    at: PathBuf,
    other: PathBuf,
    script: String,
    swapped: Swapped,
}

impl Programs {
    fn new(context: &TestContext, swapped: Swapped) -> Self {
        context.make_directory("programs/here");
        context.make_directory("programs/there");
        let at = context.path("programs/here/sh");
        let other = context.path("programs/there/sh");
        let shell = fs::read("/bin/sh").unwrap();
        let copy = |path: &Path, bytes: &[u8]| {
            fs::copy("/bin/sh", path).unwrap();
            fs::write(path, bytes).unwrap();
        };
        copy(&at, &shell);
        copy(&other, &[shell.as_slice(), b"x"].concat());
        let script = format!(
            "if [ \"$(wc -c < /proc/self/exe)\" = {} ]; then exit {APPROVED}; fi; exit {OTHER}",
            shell.len()
        );
        Self {
            at,
            other,
            script,
            swapped,
        }
    }

    fn swap(&self) {
        let (one, other) = match self.swapped {
            Swapped::File => (self.at.as_path(), self.other.as_path()),
            Swapped::Directory => (self.at.parent().unwrap(), self.other.parent().unwrap()),
        };
        let exchange = RenameFlags::RENAME_EXCHANGE;
        renameat2(AT_FDCWD, one, AT_FDCWD, other, exchange).unwrap();
    }
}

/// What came of all starts.
#[derive(Debug, Default)]
struct Came {
    approved: u64,
    other: u64,
    changed: u64,
}

fn start_while_swapped(context: &TestContext, swapped: Swapped, pinned: bool) -> Came {
    let programs = Programs::new(context, swapped);
    let flags: &[&str] = if pinned { &["--pin", "program"] } else { &[] };
    let program = programs.at.to_str().unwrap();
    context.approved("swapped", flags, &[program, "-c", &programs.script]);
    let sums = [sum(&programs.at), sum(&programs.other)];
    let how = (swapped, pinned);
    let (over, swaps) = (Over::default(), AtomicU64::new(0));
    let mut came = Came::default();
    let begun = Instant::now();
    one(context, 0, how, &sums, &mut came);
    // The first one on a busy machine says little.
    let long = begun.elapsed().min(Duration::from_millis(100));
    thread::scope(|scope| {
        let _ends = over.with_this();
        scope.spawn(|| {
            while !over.is() {
                programs.swap();
                let count = swaps.fetch_add(1, Ordering::Relaxed);
                // At every point of a start sooner or later, and not in every start.
                let part = u32::try_from(count * 37 % 64).unwrap();
                thread::sleep(long * part / 16);
            }
        });
        for number in 1..=starts() {
            one(context, number, how, &sums, &mut came);
        }
    });
    assert!(swaps.into_inner() >= starts() / 8, "hardly any swap");
    came
}

/// One start: what ran is what the receipt says was checked.
fn one(
    context: &TestContext,
    number: u64,
    (swapped, pinned): (Swapped, bool),
    sums: &[String; 2],
    came: &mut Came,
) {
    let receipt = context.path("work/receipt");
    let _ = fs::remove_file(&receipt);
    let words = ["run", "swapped", "--receipt", receipt.to_str().unwrap()];
    let mut command = context.supervisor(&words);
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    let checked = || {
        let said: Value = serde_json::from_slice(&fs::read(&receipt).unwrap()).unwrap();
        said["program"]["sha256"].as_str().unwrap().to_owned()
    };
    match output.status.code() {
        Some(APPROVED) => {
            assert_eq!(checked(), sums[0], "start {number}");
            came.approved += 1;
        }
        Some(OTHER) => {
            assert!(!pinned, "start {number} ran what is pinned away");
            assert_eq!(checked(), sums[1], "start {number}");
            came.other += 1;
        }
        Some(126) => {
            let said = stderr(&output);
            // A directory that is another one now may be missed at any step.
            let says = said.contains("changed") || matches!(swapped, Swapped::Directory);
            assert!(says, "start {number}: {said}");
            came.changed += 1;
        }
        other => panic!("start {number}: {other:?}: {}", stderr(&output)),
    }
}

fn sum(path: &Path) -> String {
    use sha2::Digest;
    let digest = sha2::Sha256::digest(fs::read(path).unwrap());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn s1_what_runs_is_what_was_checked() {
    for who in everybody() {
        let came = start_while_swapped(&TestContext::new(who), Swapped::File, false);
        // Otherwise nothing was tried.
        assert!(came.approved > 0 && came.other > 0, "{came:?}");
        assert!(came.changed > 0, "{came:?}");
    }
}

#[test]
fn s1_a_pinned_program_alone_runs() {
    for who in everybody() {
        let came = start_while_swapped(&TestContext::new(who), Swapped::File, true);
        assert!(came.approved > 0 && came.changed > 0, "{came:?}");
        assert_eq!(came.other, 0);
    }
}

#[test]
fn s1_a_directory_that_is_swapped_hides_no_other_program() {
    for who in everybody() {
        for pinned in [false, true] {
            let came = start_while_swapped(&TestContext::new(who), Swapped::Directory, pinned);
            // Otherwise nothing was tried: either program came up, or was refused where it is not the
            // one that is pinned.
            let (no, yes) = if pinned {
                (came.other, came.changed)
            } else {
                (0, came.other)
            };
            assert!(came.approved > 0 && yes > 0 && no == 0, "{came:?}");
        }
    }
}

/// A file of the system's that is replaced while servers start keeps none from it: what stands there
/// is what they get.
#[test]
fn p1_a_system_file_that_is_replaced_refuses_no_start() {
    for who in everybody() {
        let Some(fleet) = Fleet::new(who) else {
            continue;
        };
        let (file, new) = (fleet.at("../resolv.conf"), fleet.at("../resolv.conf.new"));
        fs::create_dir_all(fleet.at("")).unwrap();
        let over = Over::default();
        thread::scope(|scope| {
            let _ends = over.with_this();
            scope.spawn(|| {
                while !over.is() {
                    fs::write(&new, "nameserver 192.0.2.1\n").unwrap();
                    fs::rename(&new, &file).unwrap();
                    thread::sleep(Duration::from_micros(300));
                }
            });
            for number in 0..starts() / 2 {
                let mut host = Host::start(fleet.command(&["run", "a"]));
                let answer = host.initialize();
                assert!(answer["result"].is_object(), "start {number}: {answer}");
                host.end();
            }
        });
    }
}
