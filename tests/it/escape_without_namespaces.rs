//! The same attacks where namespaces are refused: what `explain` still claims holds, and what it
//! does not claim it names.

use std::os::unix::net::UnixListener;
use std::{fs, thread};

use serde_json::Value;

use crate::attack::{Attack, Victim, at};
use crate::support::{TestContext, everybody, stdout};

/// The standings that `explain` gives, by number.
fn standings(context: &TestContext) -> Value {
    let output = context
        .without_namespaces(&["explain", "probe", "--json"])
        .output()
        .unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    said["promises"].clone()
}

fn state(standings: &Value, promise: &str) -> String {
    let all = standings.as_array().unwrap();
    let standing = all
        .iter()
        .find(|standing| standing["id"] == promise)
        .unwrap();
    standing["state"].as_str().unwrap().to_owned()
}

#[test]
fn p1_p2_n2_r1_hold_by_landlock_and_filters() {
    for who in everybody() {
        let context = TestContext::new(who);
        let key = context.make_file("home/key", "secret");
        let socket = context.path("outside/agent.sock");
        let _listener = UnixListener::bind(&socket).unwrap();
        fs::set_permissions(&socket, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        let victim = Victim::new(&context);
        for words in [
            &["read", &at(&key)][..],
            &["write", &at(&context.path("outside/new"))],
            &["own-socket", "@s"],
            &["signal", &victim.id()],
            &["trace", &victim.id()],
        ] {
            let attack = Attack::new(&context, words);
            assert!(attack.alone().got, "{words:?}");
            let confined = attack.confined_without_namespaces();
            assert!(!confined.got, "{words:?} got {}", confined.detail);
            let _ = fs::remove_file(context.path("outside/new"));
            let _ = fs::remove_file(context.path("work/s"));
        }
        let allowed = Attack::new(&context, &["write", "@new"]).confined_without_namespaces();
        assert!(allowed.got, "{}", allowed.detail);
    }
}

#[test]
fn n1_holds_by_filters() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("@{}", listener.local_addr().unwrap());
    thread::spawn(move || listener.incoming().for_each(drop));
    for who in everybody() {
        let context = TestContext::new(who);
        let attack = Attack::new(&context, &["tcp", &address]).with(&["--net", "none"]);
        assert!(attack.alone().got);
        assert!(!attack.confined_without_namespaces().got);
    }
}

#[test]
fn p3_and_p7_are_not_claimed_and_not_held() {
    for who in everybody() {
        let context = TestContext::new(who);
        let file = context.make_file("outside/file", "kept");
        let attack = Attack::new(&context, &["see", &at(&file)]);
        assert!(
            attack.confined_without_namespaces().got,
            "explain would claim too little"
        );
        let standings = standings(&context);
        for promise in ["P3", "P6", "P7", "R1", "R2", "R5"] {
            assert_eq!(state(&standings, promise), "unheld", "{promise}");
        }
        for promise in ["P2", "P4", "N2", "E1", "E2", "R4"] {
            assert_eq!(state(&standings, promise), "held", "{promise}");
        }
    }
}

#[test]
fn the_trial_is_held_by_landlock_and_filters() {
    for who in everybody() {
        let context = TestContext::new(who);
        let output = context.without_namespaces(&["try"]).output().unwrap();
        assert!(output.status.success(), "{}", stdout(&output));
        assert!(
            stdout(&output).contains("7 of 7 attacks held"),
            "{}",
            stdout(&output)
        );
    }
}
