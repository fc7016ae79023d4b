//! Attacks that use more than their share, and the neighbours of who does: promise R5.
//!
//! Each bomb has an end of its own, which it reaches with nothing in its way.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::attack::{Attack, at};
use crate::support::{Host, TestContext, everybody, is_root};

/// What the host of a bomb hears.
struct Heard {
    code: String,
    message: String,
    exit: i32,
    stderr: String,
}

impl Heard {
    /// The run ended for this limit: the host was told, and so was the person.
    #[track_caller]
    fn is_over(&self, code: &str, words: &str) {
        assert_eq!(self.code, code, "{}", self.message);
        assert!(self.message.contains(words), "{}", self.message);
        assert!(self.stderr.contains(words), "{}", self.stderr);
        assert_eq!(self.exit, 137, "{}", self.stderr);
    }
}

/// Lets a bomb go and asks it something, which it never answers itself.
fn set_off(context: &TestContext, words: &[&str], flags: &[&str]) -> Heard {
    let words = [words, &["@on"]].concat();
    Attack::new(context, &words).with(flags).declare();
    let mut host = context.host("probe");
    let error = host.request("ping", &json!({}))["error"].take();
    let (exit, stderr) = host.wait();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    Heard {
        code: text(&error["data"]["code"]),
        message: text(&error["message"]),
        exit,
        stderr,
    }
}

/// It works with nothing in its way, and within these limits.
#[track_caller]
fn works(context: &TestContext, words: &[&str], flags: &[&str]) {
    let attack = Attack::new(context, words).with(flags);
    let alone = attack.alone();
    assert!(alone.got, "{words:?} does not work alone: {}", alone.detail);
    attack.is_allowed();
}

/// A server of the same person that is to notice nothing.
struct Neighbour(Host);

impl Neighbour {
    fn new(context: &TestContext, flags: &[&str]) -> Self {
        let program = TestContext::program("fixture-server");
        context.approved("neighbour", flags, &[&program]);
        let mut host = context.host("neighbour");
        host.initialize();
        Self(host)
    }

    #[track_caller]
    fn goes_on(mut self) {
        assert!(self.0.request("ping", &json!({}))["result"].is_object());
        assert_eq!(self.0.end().0, 0);
    }
}

#[test]
fn r5_one_process_is_bounded() {
    for who in everybody() {
        let context = TestContext::new(who);
        Attack::new(&context, &["memory", "5000"]).is_held();
        Attack::new(&context, &["memory", "3000"]).is_allowed();
        Attack::new(&context, &["files", "9000"]).is_stopped();
        Attack::new(&context, &["files", "8000"]).is_allowed();
        let dir = context.make_directory("dir");
        let flags = ["--dir", dir.to_str().unwrap()];
        let file = at(&dir.join("sparse"));
        let bytes = (17_u64 << 30).to_string();
        Attack::new(&context, &["file-size", &file, &bytes])
            .with(&flags)
            .is_stopped();
    }
}

#[test]
fn r5_processes_are_bounded_and_a_bomb_ends() {
    for who in everybody() {
        let context = TestContext::new(who);
        let neighbour = Neighbour::new(&context, &[]);
        let words = ["breed", "7", "@bred"];
        works(&context, &words, &["--limit", "processes=400"]);
        let heard = set_off(&context, &words, &["--limit", "processes=64"]);
        heard.is_over("limit-processes", "64 processes and threads");
        let log = context.run(&["audit", "--alias", "probe", "--json"]);
        let log: serde_json::Value = serde_json::from_slice(&log.stdout).unwrap();
        let lines = log["lines"].as_array().unwrap();
        let count = |event: &str| lines.iter().filter(|line| line["event"] == event).count();
        let last = lines.last().unwrap();
        assert_eq!(last["reason"], "limit-processes", "{last}");
        // What works was a run of its own.
        assert_eq!(count("start"), count("stop"), "nothing was started again");
        neighbour.goes_on();
    }
}

#[test]
fn r5_threads_are_bounded() {
    for who in everybody() {
        let context = TestContext::new(who);
        let attack = Attack::new(&context, &["threads", "600"]);
        attack.is_held();
        works(&context, &["threads", "400"], &[]);
    }
}

#[test]
fn r5_memory_is_bounded_over_all_processes_together() {
    for who in everybody() {
        let context = TestContext::new(who);
        let neighbour = Neighbour::new(&context, &[]);
        let limit = ["--limit", "memory=256MiB"];
        works(&context, &["memory-of-each", "2", "64"], &limit);
        let bomb = ["memory-of-each", "6", "64"];
        assert!(Attack::new(&context, &bomb).alone().got);
        set_off(&context, &bomb, &limit).is_over("limit-memory", "256.0 MiB of memory");
        neighbour.goes_on();
    }
}

#[test]
fn r5_memory_held_by_descriptor_is_bounded() {
    for who in everybody() {
        let context = TestContext::new(who);
        let limit = ["--limit", "memory=256MiB"];
        works(&context, &["memory-by-descriptor", "2", "64"], &limit);
        let bomb = ["memory-by-descriptor", "6", "64"];
        assert!(Attack::new(&context, &bomb).alone().got);
        set_off(&context, &bomb, &limit).is_over("limit-memory", "256.0 MiB of memory");
    }
}

#[test]
fn r5_file_systems_in_memory_are_bounded() {
    for who in everybody() {
        let context = TestContext::new(who);
        let name = format!("@/dev/shm/sv-test-{}-{who:?}", std::process::id());
        let words = ["fill", name.as_str(), "200"];
        let attack = Attack::new(&context, &words).with(&["--limit", "memory=256MiB"]);
        assert!(attack.alone().got);
        attack.is_stopped();
        works(
            &context,
            &["fill", &name, "20"],
            &["--limit", "memory=256MiB"],
        );
    }
}

/// A small file system of its own at a directory of a person's.
struct Disk(std::path::PathBuf);

impl Disk {
    fn new(context: &TestContext, mebibytes: u32) -> Self {
        let path = context.make_directory("disk");
        let owner = fs::metadata(&path).map(|found| {
            use std::os::unix::fs::MetadataExt;
            format!("size={mebibytes}m,mode=0700,uid={0},gid={0}", found.uid())
        });
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &owner.unwrap(), "none"])
            .arg(&path)
            .status();
        assert!(done.unwrap().success());
        Self(path)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn r5_a_server_that_fills_a_disk_ends_and_another_there_goes_on() {
    // Only root can mount one.
    for who in everybody().into_iter().filter(|_| is_root()) {
        let context = TestContext::new(who);
        let _disk = Disk::new(&context, 64);
        let (own, others) = (
            context.make_directory("disk/own"),
            context.make_directory("disk/others"),
        );
        let others = ["--dir", others.to_str().unwrap()];
        let neighbour = Neighbour::new(&context, &others);
        let flags = ["--dir", own.to_str().unwrap()];
        let file = at(&own.join("file"));
        works(&context, &["fill", &file, "20"], &flags);
        for words in [["fill", &file, "63"], ["fill-nameless", &file, "63"]] {
            assert!(Attack::new(&context, &words).alone().got);
            set_off(&context, &words, &flags).is_over("limit-disk", "it filled a disk");
            let _ = fs::remove_file(own.join("file"));
        }
        neighbour.goes_on();
    }
}

#[test]
fn r5_dumps_no_core() {
    let context = TestContext::ordinary();
    let program = TestContext::program("fixture-server");
    context.approved("dies", &[], &[&program, "die", "6"]);
    let (code, _) = context.host("dies").end();
    assert_eq!(code, 134);
}
