//! How runs end: servers that die, close or hang, hosts that leave.

use super::*;

#[test]
fn a_death_is_answered_and_the_server_started_again() {
    for (mode, words, name) in [
        ("leave", &["leave"][..], "exited with code 7"),
        ("half", &["half"][..], "exited with code 3"),
        ("fall", &["fall"][..], "was killed by SIGKILL"),
        // The main process counts, not the grandchild that holds the pipes.
        ("daemon", &["daemon"][..], "exited with code 0"),
    ] {
        let words: &'static [&'static str] = words;
        let mut host = Player::new(Kind::Sockets, words);
        host.initialize();
        host.list();
        // In one write: the second must be there before the first ends it.
        let go = r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"go"}}"#;
        let list = r#"{"jsonrpc":"2.0","id":9,"method":"prompts/list"}"#;
        host.write(format!("{go}\n{list}\n").as_bytes());
        let (first, second) = (8, 9);
        let (number, message) = host.error(first);
        assert_eq!(number, answer::SERVER_ENDED, "{mode}");
        assert_eq!(
            message,
            format!("server fake {name} before it answered tools/call (tool go)")
        );
        host.error(second);
        host.works();
        let (outcome, words) = host.close_and_end();
        assert_eq!(
            (outcome.exit_code(), outcome.end, outcome.counters.restarts),
            (0, End::HostLeft, 1),
            "{mode}"
        );
        assert!(
            words.contains(&format!("supervisor: [fake] the server {name}")),
            "{words}"
        );
        assert!(
            mode != "leave" || words.contains("[fake] the database is locked"),
            "{words}"
        );
    }
}

#[test]
fn a_host_that_asks_nothing_of_a_server_that_died_gets_its_code() {
    for (words, code) in [(&["leave"][..], 7), (&["fall"][..], 137)] {
        let mut host = Player::new(Kind::Pipes, words);
        host.initialize();
        let id = host.call("go", json!({}));
        host.error(id);
        let (outcome, _) = host.close_and_end();
        assert_eq!((outcome.exit_code(), outcome.end), (code, End::HostLeft));
    }
}

#[test]
fn a_death_before_there_is_anything_to_say_again_ends_the_run() {
    for (words, code) in [
        (&["leave"][..], 7),
        (&["fall"][..], 137),
        (&["daemon"][..], 0),
    ] {
        let mut host = Player::new(Kind::Pipes, words);
        let id = host.call("go", json!({}));
        assert_eq!(host.error(id).0, answer::SERVER_ENDED);
        assert_eq!(host.line(), None);
        let (outcome, _) = host.end();
        assert_eq!((outcome.exit_code(), outcome.end), (code, End::ServerEnded));
    }
}

#[test]
fn a_restart_that_is_refused_is_told_and_ends_the_run() {
    let mut keeper = Keeper::new(&["leave"]);
    keeper.starts = 1;
    let (mut host, kept) = Player::owned(keeper, settings());
    host.initialize();
    for _ in 0..2 {
        let id = host.call("go", json!({}));
        host.error(id);
    }
    let id = host.call("go", json!({}));
    assert_eq!(host.error(id), (-31_001, "weather is not approved".into()));
    let (outcome, words) = host.end();
    assert_eq!((outcome.exit_code(), outcome.end), (126, End::NotStarted));
    assert!(
        words.contains("not started again: weather is not approved"),
        "{words}"
    );
    let keeper = kept.recv().unwrap();
    let refused = Event::Refused {
        code: "not-approved".into(),
    };
    assert!(keeper.events.contains(&refused), "{:?}", keeper.events);
    assert_eq!(keeper.breaker.failures, 2);
}

#[test]
fn a_server_that_ends_at_once_is_told_of_to_the_first_request() {
    for words in [&["exit", "3"][..], &["die", "6"]] {
        let mut host = Player::new(Kind::Pipes, words);
        thread::sleep(Duration::from_millis(100));
        let id = host.ask("initialize", json!({}));
        let number = crate::exit_codes::rpc_number("exit-before-handshake");
        assert_eq!(host.error(id).0, number);
        let code = if words.contains(&"3") { 3 } else { 134 };
        assert_eq!(host.end().0.exit_code(), code);
    }
    let mut host = Player::new(Kind::Pipes, &["exit", "3"]);
    host.close();
    assert_eq!(host.line(), None, "nobody asked, nobody is answered");
    assert_eq!(host.end().0.exit, Exit::Code(3));
}

#[test]
fn a_server_that_closes_its_stdout_is_ended() {
    let mut host = Player::new(Kind::Pipes, &["close-stdout"]);
    let id = host.call("go", json!({}));
    assert_eq!(
        host.error(id).1,
        "server fake closed its stdout before it answered tools/call (tool go)"
    );
    let late = host.call("go", json!({}));
    host.error(late);
    assert_eq!(host.line(), None, "it had not been initialized");
    let (outcome, words) = host.end();
    assert_eq!(
        (outcome.end, outcome.exit),
        (End::ServerClosed, Exit::Signal(15))
    );
    assert!(words.contains("the server closed its stdout"), "{words}");
}

/// It might be started again, but for a host that has left.
#[test]
fn the_run_ends_where_the_host_leaves_as_the_server_closes_its_stdout() {
    let mut host = Player::new(Kind::Pipes, &["close-stdout"]);
    host.initialize();
    let id = host.call("go", json!({}));
    host.close();
    host.error(id);
    let (outcome, _) = host.end();
    assert_eq!((outcome.end, outcome.counters.restarts), (End::HostLeft, 0));
}

#[test]
fn a_server_over_a_limit_is_not_started_again_and_the_breaker_counts_it() {
    let over = Over::Processes { limit: 64 };
    let mut keeper = Keeper::new(&["echo"]);
    keeper.over = Some(over);
    let (mut host, kept) = Player::owned(keeper, settings());
    let id = host.call("go", json!({}));
    let error = host.answer(id)["error"].take();
    assert_eq!(
        (&error["code"], &error["data"]["code"]),
        (&json!(-31_125), &json!("limit-processes"))
    );
    assert_eq!(host.line(), None);
    let (outcome, words) = host.end();
    assert_eq!(
        (outcome.end, outcome.exit_code(), outcome.counters.restarts),
        (End::Over(over), 137, 0)
    );
    assert!(words.contains("64 processes and threads"), "{words}");
    let keeper = kept.recv().unwrap();
    assert_eq!(keeper.breaker.failures, 1);
    assert!(keeper.events.contains(&Event::Fault {
        fault: "limit-processes",
        exit: Some(Exit::Signal(9)),
    }));
}

#[test]
fn a_server_that_ignores_everything_is_killed() {
    let mut host = Player::new(Kind::Pipes, &["ignore-eof"]);
    host.initialize();
    let (outcome, _) = host.close_and_end();
    assert_eq!((outcome.exit, outcome.exit_code()), (Exit::Signal(9), 137));
}

#[test]
fn a_host_that_reads_nothing_can_still_end_the_run() {
    for kind in BOTH {
        let mut host = Player::deaf(kind, &["flood"]);
        host.call("go", json!({"count": 100_000}));
        thread::sleep(Duration::from_millis(100));
        assert_eq!(host.close_and_end().0.end, End::HostLeft);
        let mut host = Player::deaf(kind, &["flood"]);
        host.call("go", json!({"count": 100_000}));
        thread::sleep(Duration::from_millis(100));
        host.close_stdout();
        assert_eq!(host.end().0.end, End::HostLeft, "stdin is still open");
    }
}

#[test]
fn a_server_that_reads_nothing_holds_the_host_back_and_ends_with_it() {
    for kind in BOTH {
        let mut host = Player::new(kind, &["never-reads"]);
        host.initialize();
        let stdin = host.stdin.as_mut().unwrap();
        fcntl(stdin.as_fd(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
        let (mut taken, mut refused) = (0, 0);
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":\"{}\"}}\n",
            "w".repeat(900)
        );
        while refused < 20 {
            match stdin.write(line.as_bytes()) {
                Ok(count) => taken += count,
                Err(_) => {
                    refused += 1;
                    thread::sleep(Duration::from_millis(10));
                }
            }
        }
        assert!(taken < 2_000_000, "{taken} bytes were taken");
        // The end of stdin is seen although what stands before it cannot be read.
        let (outcome, _) = host.close_and_end();
        assert_eq!(
            (outcome.end, outcome.exit),
            (End::HostLeft, Exit::Signal(15))
        );
    }
}

#[test]
fn unread_stderr_never_holds_up_the_protocol() {
    for kind in BOTH {
        let mut host = Player::deaf(kind, &["stderr"]);
        host.listen_to_stdout();
        let id = host.call("go", json!({"count": 5_000}));
        host.answer(id);
        host.works();
        let (outcome, _) = host.close_and_end();
        assert_eq!(outcome.counters.stderr_bytes, 5_000_000);
        assert!(outcome.counters.stderr_cut > 1_000_000);
        assert!(outcome.tail.len() <= crate::relay::stderr::TAIL);
    }
}
