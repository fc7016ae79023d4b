//! Attacks on the kernel and its limits: promises R3 to R5.

use crate::attack::{Attack, at};
use crate::support::{TestContext, Who, everybody, is_root};

#[test]
fn r3_has_no_capability() {
    for who in everybody() {
        let context = TestContext::new(who);
        for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            Attack::new(&context, &["status", set]).is_stopped();
        }
    }
    if is_root() {
        let context = TestContext::new(Who::Root);
        for set in ["CapPrm", "CapEff", "CapBnd"] {
            Attack::new(&context, &["status", set]).is_held();
        }
    }
}

#[test]
fn r3_gains_no_privilege() {
    for who in everybody() {
        let context = TestContext::new(who);
        for key in ["NoNewPrivs", "Seccomp"] {
            let said = Attack::new(&context, &["status", key]).confined();
            assert!(said.got, "{key} is 0");
        }
    }
}

#[test]
fn r4_makes_no_user_namespace() {
    for who in everybody() {
        let context = TestContext::new(who);
        Attack::new(&context, &["unshare-user"]).is_held();
    }
}

#[test]
fn r4_changes_no_personality() {
    for who in everybody() {
        Attack::new(&TestContext::new(who), &["personality"]).is_held();
    }
}

#[test]
fn r5_is_bounded() {
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
fn r5_dumps_no_core() {
    let context = TestContext::ordinary();
    let program = TestContext::program("fixture-server");
    context.approved("dies", &[], &[&program, "die", "6"]);
    let (code, _) = context.host("dies").end();
    assert_eq!(code, 134);
}
