//! Servers that are given a `--dir`, and marks of repositories laid out by hand: nothing of git's
//! takes part in the decision.

use std::path::Path;
use std::process::Output;

use super::TestContext;
use crate::judge::refuses;

pub fn declare(context: &TestContext, dir: &Path) -> Output {
    let dir = dir.to_str().unwrap();
    context.run(&["add", "a", "--dir", dir, "--", "/bin/true"])
}

/// Refused at `add` with nothing written.
#[track_caller]
pub fn refused_at_add(context: &TestContext, dir: &str, code: &str) {
    let dir = context.path(dir);
    let words = [
        "add",
        "a",
        "--dir",
        dir.to_str().unwrap(),
        "--",
        "/bin/true",
    ];
    refuses(context, &words, 126, code);
    assert!(
        !context.path("home/.supervisor").exists(),
        "something was written"
    );
}

pub fn repository(context: &TestContext, at: &str) {
    for part in ["", "objects", "refs"] {
        context.make_directory(&format!("{at}/{part}"));
    }
    context.make_file(&format!("{at}/HEAD"), "ref: refs/heads/main\n");
}
