//! What a declaration opens by name, `--allow`: that, and nothing beside it.

use crate::attack::{Attack, Victim, at};
use crate::support::{TestContext, everybody};

/// R4: namespaces of its own, for a browser's sandbox.
#[test]
fn r4_namespaces_are_open_by_name_only() {
    for who in everybody() {
        let context = TestContext::new(who);
        Attack::new(&context, &["unshare-user"]).is_held();
        let nested = ["--allow", "nested-sandbox"];
        let open = Attack::new(&context, &["unshare-user"])
            .with(&nested)
            .confined();
        assert!(open.got, "{}", open.detail);
        let kept = context.make_file("home/key", "secret");
        let victim = Victim::new(&context);
        for words in [
            &["read", &at(&kept)][..],
            &["signal", &victim.id()],
            &["trace", &victim.id()],
            &["mount", &at(&context.path("outside"))],
        ] {
            Attack::new(&context, words).with(&nested).is_stopped();
        }
    }
}

/// P5: terminals of its own, and nobody else's.
#[test]
fn p5_terminals_are_its_own_and_by_name_only() {
    for who in everybody() {
        let context = TestContext::new(who);
        Attack::new(&context, &["own-terminal"]).is_held();
        let own = ["--allow", "pty"];
        let open = Attack::new(&context, &["own-terminal"])
            .with(&own)
            .confined();
        assert_eq!(open.detail, "/dev/pts/0", "one that nobody else has");
        Attack::new(&context, &["terminal"]).with(&own).is_stopped();
    }
}
