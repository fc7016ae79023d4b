#![expect(clippy::disallowed_methods, reason = "tests read and write files")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::super::files::files;
use super::super::read::Reader;
use super::*;
use crate::plan::Person;

struct Home {
    _directory: tempfile::TempDir,
    person: Person,
}

impl Home {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        let person = Person {
            state: home.join(".supervisor"),
            home,
            uid: nix::unistd::geteuid().as_raw(),
        };
        Self {
            _directory: directory,
            person,
        }
    }

    fn log(&self, alias: &str) -> Log {
        let run = Run {
            run: "0123456789abcdef".into(),
            alias: alias.into(),
            digest: None,
        };
        Log::open(&State::open(&self.person).unwrap(), run).unwrap()
    }

    fn reader(&self) -> Reader {
        Reader::open(State::open(&self.person).unwrap())
    }

    fn damage(&self) -> Vec<(String, usize)> {
        let look = self.reader().verify().unwrap();
        look.damage
            .into_iter()
            .map(|one| (one.file, one.line))
            .collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.person.state.join("audit").join(name)
    }
}

/// Records an event as a run does that was quiet for a while.
fn put(log: &mut Log, word: &str) -> Result<(), AuditError> {
    log.said = None;
    put_at_once(log, word)
}

/// Records one right after another.
fn put_at_once(log: &mut Log, word: &str) -> Result<(), AuditError> {
    log.record(event(word), Timestamp::UNIX_EPOCH)?;
    log.write(Timestamp::UNIX_EPOCH)
}

fn event(word: &str) -> Event {
    Event::Refused { code: word.into() }
}

fn codes(lines: &[Line]) -> Vec<&str> {
    lines
        .iter()
        .map(|line| line.text("code").unwrap())
        .collect()
}

#[test]
fn two_runs_write_one_chain() {
    let home = Home::new();
    assert_eq!(home.reader().lines().unwrap(), (vec![], 0));
    let state = home.person.state.clone();
    fs::create_dir(&state).unwrap();
    let mut reader = home.reader();
    let (mut one, mut two) = (home.log("one"), home.log("two"));
    for word in ["a", "b"] {
        put(&mut one, word).unwrap();
        put(&mut two, word).unwrap();
    }
    let (lines, unreadable) = home.reader().lines().unwrap();
    assert_eq!((codes(&lines), unreadable), (vec!["a", "a", "b", "b"], 0));
    assert_eq!(lines[3].alias, "two");
    assert_eq!(home.damage(), []);
    // A reader that was opened before there was a log, and goes on.
    assert_eq!(reader.lines().unwrap().0.len(), 4);
    put(&mut one, "c").unwrap();
    assert_eq!(codes(&reader.lines().unwrap().0), ["c"]);
    one.close().unwrap();
    let mode = |name| fs::metadata(home.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode("head"), mode("000001.jsonl"), mode("")),
        (0o600, 0o600, 0o700)
    );
}

#[test]
fn it_is_rotated_and_the_chain_goes_on() {
    let home = Home::new();
    let mut log = home.log("a");
    log.rotate = 2_000;
    for number in 0..400 {
        put(&mut log, &format!("c{number}")).unwrap();
    }
    let names = files(&log.folder).unwrap();
    assert_eq!(names.len(), KEPT);
    assert!(names[0] > name(1), "the oldest went: {}", names[0]);
    assert_eq!(home.damage(), []);
    let (lines, _) = home.reader().lines().unwrap();
    assert_eq!(lines.last().unwrap().seq, 400);
    // A file in the middle, and the newest one.
    fs::remove_file(home.path(&names[4])).unwrap();
    assert_eq!(home.damage(), [(names[5].clone(), 1)]);
    fs::remove_file(home.path(&names[KEPT - 1])).unwrap();
    assert_eq!(home.damage().len(), 2);
}

/// What stands on the disk where a process is killed at any point of a rotation.
#[test]
fn a_rotation_whose_writer_was_killed_is_no_damage() {
    let home = Home::new();
    let mut log = home.log("a");
    log.rotate = 2_000;
    while files(&log.folder).unwrap().len() < KEPT {
        put(&mut log, "c").unwrap();
    }
    let oldest = home.path(&name(1));
    let kept = fs::read(&oldest).unwrap();
    // Killed when all of it was done but the line that it was for.
    let locked = log.lock(1, true).unwrap().unwrap().head;
    let mut head = read_head(&locked).unwrap().unwrap().unwrap();
    log.follow_head(&head).unwrap();
    log.rotate(&locked, &mut head).unwrap();
    drop((locked, log));
    assert!(!oldest.exists());
    assert_eq!(home.damage(), []);
    // Before the oldest went.
    fs::write(&oldest, kept).unwrap();
    fs::set_permissions(&oldest, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(home.damage(), []);
    // After the line, before the head said so.
    let before = fs::read(home.path("head")).unwrap();
    put(&mut home.log("a"), "d").unwrap();
    fs::write(home.path("head"), before).unwrap();
    let mut log = home.log("a");
    log.rotate = 2_000;
    for _ in 0..30 {
        put(&mut log, "e").unwrap();
    }
    assert_eq!(home.damage(), []);
    assert!(!oldest.exists(), "the next rotation takes it along");
    let (lines, _) = home.reader().lines().unwrap();
    assert!(codes(&lines).contains(&"d"));
}

/// The head follows the lines, by a moment: whoever writes meanwhile goes on after them.
#[test]
fn lines_that_the_head_does_not_know_yet_are_gone_on_after() {
    let home = Home::new();
    let (mut one, mut two) = (home.log("one"), home.log("two"));
    put(&mut one, "a").unwrap();
    let head = || fs::read_to_string(home.path("head")).unwrap();
    let before = head();
    for word in ["b", "c"] {
        put_at_once(&mut one, word).unwrap();
    }
    assert_eq!(head(), before);
    put_at_once(&mut two, "d").unwrap();
    assert_ne!(
        head(),
        before,
        "its first line, after a while for all it knows"
    );
    put_at_once(&mut one, "e").unwrap();
    let behind = head();
    assert_eq!(home.damage(), []);
    // Nothing more comes: the head is made to say all, once.
    let later = Timestamp::UNIX_EPOCH + BEHIND;
    one.write(later).unwrap();
    assert_ne!(head(), behind);
    two.close().unwrap();
    one.close().unwrap();
    let (lines, _) = home.reader().lines().unwrap();
    assert_eq!(codes(&lines), ["a", "b", "c", "d", "e"]);
    assert_eq!(home.damage(), []);
}

#[test]
fn what_is_cut_off_before_the_head_knew_of_it_is_found() {
    let home = Home::new();
    let mut log = home.log("a");
    let path = home.path(&name(1));
    put(&mut log, "a").unwrap();
    let one = fs::read(&path).unwrap();
    put_at_once(&mut log, "b").unwrap();
    fs::write(&path, one).unwrap();
    put_at_once(&mut log, "c").unwrap();
    log.close().unwrap();
    assert_eq!(home.damage(), [(name(1), 2)]);
}

#[test]
fn a_head_that_says_nothing_is_not_written_over() {
    let home = Home::new();
    let mut log = home.log("a");
    put(&mut log, "a").unwrap();
    fs::write(home.path("head"), "nothing").unwrap();
    put_at_once(&mut log, "b").unwrap();
    assert!(log.write(Timestamp::UNIX_EPOCH + BEHIND).is_err());
    assert!(log.close().is_err());
    assert_eq!(fs::read_to_string(home.path("head")).unwrap(), "nothing");
}

/// Where the log begins must be known: what cannot be read is no place to begin.
#[test]
fn what_is_damaged_is_not_dropped_with_the_oldest() {
    let home = Home::new();
    let mut log = home.log("a");
    log.rotate = 2_000;
    let mut number = 0;
    while files(&log.folder).unwrap().len() < KEPT {
        number += 1;
        put(&mut log, &format!("c{number}")).unwrap();
    }
    let path = home.path(&name(2));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen('{', "x", 1)).unwrap();
    for more in 0..60 {
        put(&mut log, &format!("d{more}")).unwrap();
    }
    assert!(home.path(&name(1)).exists() && path.exists());
    assert!(home.damage().contains(&(name(2), 1)));
}

#[test]
fn what_is_cut_or_edited_is_found_and_stays_found() {
    let home = Home::new();
    let mut log = home.log("a");
    for word in ["a", "b", "c"] {
        put(&mut log, word).unwrap();
    }
    let path = home.path("000001.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, whole.replace("\"code\":\"b\"", "\"code\":\"x\"")).unwrap();
    assert_eq!(home.damage(), [("000001.jsonl".into(), 2)]);
    fs::write(&path, whole.lines().next().unwrap().to_owned() + "\n").unwrap();
    assert_eq!(home.damage(), [("000001.jsonl".into(), 1)]);
    put(&mut log, "d").unwrap();
    assert_eq!(
        home.damage(),
        [("000001.jsonl".into(), 2)],
        "the lines between are missing"
    );
    fs::write(&path, whole.clone() + "{\"v\":1").unwrap();
    put(&mut log, "e").unwrap();
    assert!(home.damage().contains(&("000001.jsonl".into(), 4)));
    fs::remove_file(home.path("head")).unwrap();
    assert_eq!(home.damage(), [("head".into(), 0)]);
}

#[test]
fn a_line_whose_writer_was_killed_before_the_head_is_taken_up() {
    let home = Home::new();
    let mut log = home.log("a");
    put(&mut log, "a").unwrap();
    let before = fs::read(home.path("head")).unwrap();
    put(&mut log, "b").unwrap();
    fs::write(home.path("head"), before).unwrap();
    put(&mut log, "c").unwrap();
    assert_eq!(home.damage(), []);
    assert_eq!(codes(&home.reader().lines().unwrap().0), ["a", "b", "c"]);
}

/// A turn's lines are written at once: the process may end after any byte of them.
#[test]
fn of_many_lines_whose_writer_was_killed_the_whole_ones_are_taken_up() {
    let home = Home::new();
    let mut log = home.log("a");
    put(&mut log, "a").unwrap();
    let (head, path) = (fs::read(home.path("head")).unwrap(), home.path(&name(1)));
    let one = fs::metadata(&path).unwrap().len();
    for word in ["b", "c", "d"] {
        log.record(event(word), Timestamp::UNIX_EPOCH).unwrap();
    }
    log.write(Timestamp::UNIX_EPOCH).unwrap();
    let all = fs::read(&path).unwrap();
    let length = (all.len() - usize::try_from(one).unwrap()) / 3;
    for cut in [1, 20, length, length + 30, 3 * length - 1, 3 * length] {
        let until = usize::try_from(one).unwrap() + cut;
        fs::write(&path, &all[..until]).unwrap();
        fs::write(home.path("head"), &head).unwrap();
        put(&mut home.log("a"), "e").unwrap();
        let want = [&["a", "b", "c", "d"][..1 + cut / length], &["e"]].concat();
        let (lines, unreadable) = home.reader().lines().unwrap();
        assert_eq!((codes(&lines), unreadable), (want, 0), "{cut}");
        assert_eq!(home.damage(), [], "{cut}");
    }
}

#[test]
fn what_waited_goes_into_as_many_files_as_it_takes() {
    let home = Home::new();
    let mut log = home.log("a");
    log.rotate = 2_000;
    for number in 0..60 {
        log.record(event(&format!("c{number}")), Timestamp::UNIX_EPOCH)
            .unwrap();
    }
    log.write(Timestamp::UNIX_EPOCH).unwrap();
    assert!(files(&log.folder).unwrap().len() > 3);
    let (lines, _) = home.reader().lines().unwrap();
    assert_eq!((lines.len(), home.damage()), (60, vec![]));
}

#[test]
fn what_cannot_be_written_waits() {
    let home = Home::new();
    let mut log = home.log("a");
    put(&mut log, "a").unwrap();
    let path = home.path(&name(1));
    let aside = home.path("aside");
    fs::rename(&path, &aside).unwrap();
    log.file = None;
    fs::create_dir(&path).unwrap();
    put(&mut log, "b").unwrap_err();
    put(&mut log, "c").unwrap_err();
    fs::remove_dir(&path).unwrap();
    fs::rename(&aside, &path).unwrap();
    log.close().unwrap();
    assert_eq!(codes(&home.reader().lines().unwrap().0), ["a", "b", "c"]);
    assert_eq!(home.damage(), []);
}

#[test]
fn a_held_log_is_not_waited_for_and_loses_nothing() {
    let home = Home::new();
    let mut log = home.log("a");
    put(&mut log, "a").unwrap();
    let head = fs::File::open(home.path("head")).unwrap();
    let held = Flock::lock(head, FlockArg::LockExclusive).unwrap();
    for _ in 0..3 {
        put(&mut log, "b").unwrap();
    }
    assert_eq!(home.reader().lines().unwrap().0.len(), 1);
    drop(held);
    log.close().unwrap();
    assert_eq!(
        codes(&home.reader().lines().unwrap().0),
        ["a", "b", "b", "b"]
    );
    assert_eq!(home.damage(), []);
}

#[test]
fn a_log_that_is_removed_begins_anew() {
    let home = Home::new();
    let mut log = home.log("a");
    put(&mut log, "a").unwrap();
    for name in ["head", "000001.jsonl"] {
        fs::remove_file(home.path(name)).unwrap();
    }
    // At the very next line, however soon that comes.
    put_at_once(&mut log, "b").unwrap();
    assert_eq!(codes(&home.reader().lines().unwrap().0), ["b"]);
    log.close().unwrap();
    assert_eq!(home.damage(), []);
}

#[test]
fn what_cannot_be_trusted_is_not_written_to() {
    let home = Home::new();
    drop(home.log("a"));
    fs::write(home.path("head"), "").unwrap();
    fs::set_permissions(home.path("head"), fs::Permissions::from_mode(0o644)).unwrap();
    let error = put(&mut home.log("a"), "a").unwrap_err();
    assert_eq!(error.code(), "state-mode");
    fs::remove_file(home.path("head")).unwrap();
    fs::write(home.path("head"), "nothing").unwrap();
    fs::set_permissions(home.path("head"), fs::Permissions::from_mode(0o600)).unwrap();
    let error = put(&mut home.log("a"), "a").unwrap_err();
    assert_eq!(error.code(), "audit-head-unreadable");
}
