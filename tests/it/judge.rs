//! What a command did, judged: refused whole, or done.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{TestContext, stderr, stdout};

/// It was refused with this exit code and kebab-case code: one error, nothing on stdout.
#[track_caller]
pub fn refused(output: &Output, exit: i32, code: &str) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(exit), "{said}");
    assert!(said.contains(&format!("({code})")), "{code}: {said}");
    assert_eq!(stdout(output), "", "{said}");
    printable(output);
}

/// It ended well.
#[track_caller]
pub fn done(output: &Output) {
    assert!(output.status.success(), "{}", stderr(output));
    printable(output);
}

/// Nothing unprintable was shown.
#[track_caller]
pub fn printable(output: &Output) {
    for text in [stdout(output), stderr(output)] {
        let odd = |c: &char| c.is_control() && *c != '\n' || ('\u{202a}'..='\u{202e}').contains(c);
        assert_eq!(text.chars().find(odd), None, "{text:?}");
        assert!(!text.contains("panicked"), "{text}");
    }
}

/// Everything below a directory as it is: kind, mode, size or content.
pub fn picture(directory: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(path) = waiting.pop() {
        let Ok(stat) = fs::symlink_metadata(&path) else {
            continue;
        };
        let content = if stat.is_file() && stat.len() < 1 << 20 {
            format!("{:?}", fs::read(&path))
        } else {
            format!("{}", stat.ino())
        };
        if stat.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            waiting.extend(entries.map(|entry| entry.path()));
        }
        found.insert(path, format!("{:o} {content}", stat.mode()));
    }
    found
}

/// The same without the log, where each run that is refused is recorded.
pub fn picture_but_log(context: &TestContext) -> BTreeMap<PathBuf, String> {
    let log = context.path("home/.supervisor/audit");
    let mut found = picture(&context.path("home"));
    found.retain(|path, _| !path.starts_with(&log));
    found
}

/// Runs a command without a terminal; it is refused, and nothing in the home changes. A run that
/// is refused is recorded, unless it is the state itself that cannot be trusted or read.
#[track_caller]
pub fn refuses(context: &TestContext, words: &[&str], exit: i32, code: &str) -> String {
    let before = picture(&context.path("home"));
    let output = context.run(words);
    refused(&output, exit, code);
    let mut after = picture(&context.path("home"));
    let of_state = ["state-", "declarations-", "approvals-"];
    if words.first() == Some(&"run") && !of_state.iter().any(|start| code.starts_with(start)) {
        let log = context.path("home/.supervisor/audit");
        after.retain(|path, _| !path.starts_with(&log) || before.contains_key(path));
        let head = log.join("head");
        let written = |path: &PathBuf| path.starts_with(&log) && path.is_file();
        assert!(head.is_file(), "nothing was recorded");
        for (path, was) in before.iter().filter(|(path, _)| written(path)) {
            after.insert(path.clone(), was.clone());
        }
    }
    assert!(before == after, "something changed: {before:?} {after:?}");
    stderr(&output)
}

/// Says when it is dropped, by a failure too, so that a test's other threads end with it.
#[derive(Default)]
pub struct Over(AtomicBool);

/// Ends what [`Over::is`] keeps going.
pub struct Ends<'a>(&'a Over);

impl Over {
    pub fn is(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub fn with_this(&self) -> Ends<'_> {
        Ends(self)
    }
}

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}
