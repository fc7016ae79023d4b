//! Attacks on the kernel and its limits: promises R3 to R5.

use crate::attack::Attack;
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
