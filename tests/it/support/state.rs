//! Somebody with a state, and the commands that refuse one which cannot be trusted.

use std::fs;
use std::path::PathBuf;

use super::{TestContext, Who, stdout};
use crate::judge::refuses;

/// Somebody with an approved server `a`.
pub fn somebody(who: Who) -> TestContext {
    let context = TestContext::new(who);
    context.approved("a", &["-e", "KEY=stored-value"], &["/bin/true"]);
    context
}

pub fn state(context: &TestContext) -> PathBuf {
    context.path("home/.supervisor")
}

/// The record of the approval.
pub fn record(context: &TestContext) -> PathBuf {
    let mut records = fs::read_dir(state(context).join("approvals")).unwrap();
    records.next().unwrap().unwrap().path()
}

pub const COMMANDS: [&[&str]; 5] = [
    &["run", "a"],
    &["explain", "a"],
    &["get", "a"],
    &["remove", "a"],
    &["add", "b", "--", "/bin/true"],
];

/// Every command refuses the state as it is, and leaves it so.
#[track_caller]
pub fn all_refuse(context: &TestContext, code: &str) -> String {
    let mut said = String::new();
    for words in COMMANDS {
        said = refuses(context, words, 126, code);
        assert!(!said.contains("stored-value"), "{said}");
    }
    let list = context.run(&["list"]);
    assert!(!list.status.success(), "list: {}", stdout(&list));
    said
}
