//! The same attacks where namespaces are refused: what `explain` still claims holds, and what it
//! does not claim it names.

use std::os::unix::net::UnixListener;
use std::{fs, thread};

use serde_json::Value;

use crate::attack::{Attack, Victim, WITHOUT, at};
use crate::support::{Host, TestContext, Who, flat, is_root, stderr, stdout};

/// The standings that `explain` gives, by number.
fn standings(context: &TestContext) -> Value {
    let output = context
        .without_namespaces(&["explain", "probe", "--json"])
        .output()
        .unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    said["promises"].clone()
}

fn standing<'a>(standings: &'a Value, promise: &str) -> &'a Value {
    let mut all = standings.as_array().unwrap().iter();
    all.find(|standing| standing["id"] == promise).unwrap()
}

fn state(standings: &Value, promise: &str) -> String {
    let state = &standing(standings, promise)["state"];
    state.as_str().unwrap().to_owned()
}

/// Whether Landlock keeps signals in, which it does from ABI 6 on.
fn has_scopes(context: &TestContext) -> bool {
    let all = standings(context);
    let by = standing(&all, "R1")["mechanisms"].as_array().unwrap();
    by.iter().any(|mechanism| mechanism == "landlock-scopes")
}

/// What a reader is told of a promise beside its state; nothing where there is nothing to tell.
fn note(standings: &Value, promise: &str) -> String {
    let note = &standing(standings, promise)["note"];
    note.as_str().unwrap_or_default().to_owned()
}

#[test]
fn p1_p2_n2_r1_hold_by_landlock_and_filters() {
    let context = TestContext::ordinary();
    let key = context.make_file("home/key", "secret");
    let socket = context.path("outside/agent.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    thread::spawn(move || listener.incoming().for_each(drop));
    fs::set_permissions(&socket, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let victim = Victim::new(&context);
    for words in [
        &["read", &at(&key)][..],
        &["write", &at(&context.path("outside/new"))],
        // By a filter, or from Landlock ABI 9 on by its own right.
        &["unix", &at(&socket)],
        &["signal", &victim.id()],
    ] {
        let attack = Attack::new(&context, words);
        assert!(attack.alone().got, "{words:?}");
        let confined = attack.confined_without_namespaces();
        // R1 is given up here; that no signal reaches outside all the same is Landlock's.
        let reaches = words.first() == Some(&"signal") && !has_scopes(&context);
        assert_eq!(confined.got, reaches, "{words:?} {}", confined.detail);
        let _ = fs::remove_file(context.path("outside/new"));
    }
    let allowed = Attack::new(&context, &["write", "@new"]).confined_without_namespaces();
    assert!(allowed.got, "{}", allowed.detail);
}

#[test]
fn r1_traces_nobody_outside_by_landlock_and_filters() {
    let context = TestContext::ordinary();
    let victim = Victim::new(&context);
    let attack = Attack::new(&context, &["trace", &victim.id()]);
    assert!(attack.alone().got);
    assert!(!attack.confined_without_namespaces().got);
}

#[test]
fn n1_holds_by_filters() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("@{}", listener.local_addr().unwrap());
    thread::spawn(move || listener.incoming().for_each(drop));
    let context = TestContext::ordinary();
    let attack = Attack::new(&context, &["tcp", &address]).with(&["--net", "none"]);
    assert!(attack.alone().got);
    assert!(!attack.confined_without_namespaces().got);
}

#[test]
fn what_is_not_held_is_not_claimed() {
    let context = TestContext::ordinary();
    let file = context.make_file("outside/file", "kept");
    let attack = Attack::new(&context, &["see", &at(&file)]);
    assert!(
        attack.confined_without_namespaces().got,
        "explain would claim too little"
    );
    let given_up = standings(&context);
    attack.declare();
    let not = standings(&context);
    for promise in ["P3", "P6", "P7", "R1", "R2", "R5"] {
        assert_eq!(state(&given_up, promise), "given-up", "{promise}");
        assert_eq!(state(&not, promise), "unheld", "{promise}");
    }
    for promise in ["P1", "P2", "P4", "N2", "E1", "E2", "R3", "R4", "S5"] {
        assert_eq!(state(&not, promise), "held", "{promise}");
    }
}

/// No capability and none to be gained. The bounding set stays as it was, and that is said: of root
/// alone and in namespaces it is emptied.
#[test]
fn r3_has_no_capability_and_says_what_stays() {
    let context = TestContext::ordinary();
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        let attack = Attack::new(&context, &["status", set]);
        let verdict = attack.confined_without_namespaces();
        assert!(!verdict.got, "{set} {}", verdict.detail);
    }
    let gained = Attack::new(&context, &["status", "NoNewPrivs"]).confined_without_namespaces();
    assert!(gained.got, "no_new_privs is not set");
    let bounding = Attack::new(&context, &["status", "CapBnd"]);
    let stays = bounding.confined_without_namespaces().got;
    let said = note(&standings(&context), "R3");
    assert_eq!(stays, said.contains("bounding set is not empty"), "{said}");
    let with = context.run(&["explain", "probe", "--json"]);
    let with: Value = serde_json::from_slice(&with.stdout).unwrap();
    if !with["lowered"]["namespaces"].is_null() {
        assert!(!bounding.confined().got);
        assert_eq!(note(&with["promises"], "R3"), "");
    }
}

/// No FIFO opens there; what shows all the same is said, before the start, on the page and in the
/// receipt, and each of it does show.
#[test]
fn p7_says_what_shows_and_opens_no_fifo() {
    let context = TestContext::ordinary();
    let fifo = context.path("outside/fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    fs::set_permissions(&fifo, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    let opens = Attack::new(&context, &["fifo", &at(&fifo)]);
    assert!(opens.alone().got);
    assert!(!opens.confined_without_namespaces().got);
    let file = context.make_file("outside/file", "kept");
    for words in [&["see", &at(&file)][..], &["read", "@/proc/self/mountinfo"]] {
        let shows = Attack::new(&context, words).confined_without_namespaces();
        assert!(shows.got, "{words:?} is claimed to show: {}", shows.detail);
    }
    let words = "no FIFO outside opens; namespaces are refused here, so names, kinds, sizes, times \
                 and attributes of files outside show, and the mounts";
    let all = standings(&context);
    assert_eq!(state(&all, "P7"), "given-up");
    assert_eq!(note(&all, "P7"), words);
    let page = context.without_namespaces(&["explain", "probe"]).output();
    let page = stdout(&page.unwrap());
    let page: Vec<&str> = page.split_whitespace().collect();
    assert!(page.join(" ").contains(words), "{page:?}");
    let run = context.without_namespaces(&["run", "probe", "--receipt", "receipt"]);
    let mut host = Host::start(run);
    host.message();
    host.end();
    let receipt = fs::read_to_string(context.path("work/receipt")).unwrap();
    let receipt: Value = serde_json::from_str(&receipt).unwrap();
    assert_eq!(standing(&receipt["promises"], "P7"), standing(&all, "P7"));
}

/// Its own sockets are closed with all others, below Landlock ABI 9: said before the start, on the
/// page too, and true.
#[test]
fn n2_says_that_its_own_sockets_do_not_work() {
    let context = TestContext::ordinary();
    let attack = Attack::new(&context, &["own-socket", "@s"]);
    assert!(attack.alone().got);
    let works = attack.confined_without_namespaces().got;
    let all = standings(&context);
    assert_eq!(state(&all, "N2"), "held");
    let said = note(&all, "N2");
    let closed = "its own Unix sockets are closed too: full Chromium, playwright";
    assert_eq!(works, !said.contains(closed), "{said}");
    let page = context.without_namespaces(&["explain", "probe"]).output();
    let page = stdout(&page.unwrap());
    let words: Vec<&str> = page.split_whitespace().collect();
    assert_eq!(works, !words.join(" ").contains(closed), "{page}");
}

/// Forty processes that each start one in a session of its own and end, until a file `stop` is there;
/// those that were let live for five minutes say so.
const CHAINS: &str = r#"
import os, time
until = time.monotonic() + 300
def chain():
    while not os.path.exists("stop"):
        if time.monotonic() > until:
            open("lived", "w")
            break
        if os.fork():
            break
        os.setsid()
    os._exit(0)
for _ in range(40):
    if not os.fork():
        chain()
print('{"jsonrpc":"2.0","method":"begun"}', flush=True)
"#;

/// R2 is given up here; the supervisor's own end is not. Processes that are never those of a moment
/// ago are killed for as long as there is a bound to it, and not until they end by themselves.
#[test]
fn r2_what_multiplies_does_not_keep_the_supervisor_from_its_end() {
    let context = TestContext::ordinary();
    let dir = context.make_directory("dir");
    let script = context.make_file("dir/chains.py", CHAINS);
    let flags = [&["--dir", dir.to_str().unwrap()][..], &WITHOUT].concat();
    context.approved("probe", &flags, &["python3", script.to_str().unwrap()]);
    let mut host = Host::start(context.without_namespaces(&["run", "probe"]));
    assert_eq!(host.message()["method"], "begun");
    let (code, words) = host.end();
    let lived = dir.join("lived").exists();
    fs::write(dir.join("stop"), "").unwrap();
    assert!(!lived, "it waited until they ended by themselves");
    // Otherwise it is the server's own end, which on a slow machine is by a signal.
    assert_eq!(code == 125, words.contains("R2:"), "{code} {words}");
}

/// S5: what is neither held nor given up by name keeps the server from starting, and the refusal
/// says what would cure the machine and what would do without.
#[test]
fn s5_does_not_start_without_what_nobody_gave_up() {
    let context = TestContext::ordinary();
    let attack = Attack::new(&context, &["write", "@ran"]);
    if attack.claims("P3") {
        assert!(attack.confined().got, "with namespaces it starts");
    }
    let output = context
        .without_namespaces(&["run", "probe"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(126));
    let said = stderr(&output);
    let said = flat(&said);
    for word in [
        "promise-unheld",
        "P3 (changes no mode",
        "supervisor set probe --without P3,P6,P7,R1,R2,R5",
        "once, on this machine",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
    // One of them is not enough.
    let flags = ["--without", "P3,P6,P7,R1,R2"];
    Attack::new(&context, &["write", "@ran"])
        .with(&flags)
        .declare();
    let output = context
        .without_namespaces(&["run", "probe"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(126));
    assert!(
        stderr(&output).contains("--without R5"),
        "{}",
        stderr(&output)
    );
}

/// P1: root's servers would be root for the kernel there, and that nobody can give up.
#[test]
fn p1_no_server_of_roots_starts() {
    if !is_root() {
        return;
    }
    let context = TestContext::new(Who::Root);
    Attack::new(&context, &["see", "/"])
        .with(&WITHOUT)
        .declare();
    let output = context
        .without_namespaces(&["run", "probe"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(126));
    assert!(stderr(&output).contains("P1"), "{}", stderr(&output));
    assert!(
        !stderr(&output).contains("--without"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn the_trial_is_held_by_landlock_and_filters() {
    let context = TestContext::ordinary();
    let output = context.without_namespaces(&["try"]).output().unwrap();
    Attack::new(&context, &["see", "/"]).declare();
    let held = if has_scopes(&context) { 7 } else { 6 };
    let page = stdout(&output);
    assert_eq!(output.status.success(), held == 7, "{page}");
    assert!(
        page.contains(&format!("{held} of 7 attacks held")),
        "{page}"
    );
}
