//! Both eras, limits of time, and the breaker.

use super::*;

/// A request of the 2026-07-28 era.
fn modern(host: &mut Player, method: &str, tool: &str) -> Value {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let id = host.ask(method, json!({"name": tool, "_meta": meta}));
    host.answer(id)
}

#[test]
fn each_era_reaches_a_server_that_speaks_both_and_locks() {
    // A host that tries the modern era and goes back.
    let (mut host, _kept) = Player::owned(Keeper::new(&["era", "dual"]), settings());
    assert!(modern(&mut host, "server/discover", "")["result"].is_object());
    host.initialize();
    let id = host.call("echo", json!({}));
    assert_eq!(host.answer(id)["result"]["content"][0]["text"], "legacy");
    let (outcome, words) = host.close_and_end();
    assert_eq!((outcome.exit_code(), outcome.counters.restarts), (0, 1));
    assert_eq!(words.matches("[fake] dual starts").count(), 2, "{words}");
    // One that stays.
    let (mut host, kept) = Player::owned(Keeper::new(&["era", "dual"]), settings());
    assert!(modern(&mut host, "server/discover", "")["result"].is_object());
    assert_eq!(
        modern(&mut host, "tools/call", "echo")["result"]["content"][0]["text"],
        "modern"
    );
    // It dies, and is there again when it is asked.
    assert_eq!(
        modern(&mut host, "tools/call", "leave")["error"]["data"]["exit"],
        4
    );
    assert_eq!(
        modern(&mut host, "tools/call", "echo")["result"]["content"][0]["text"],
        "modern"
    );
    let (outcome, _) = host.close_and_end();
    assert_eq!((outcome.exit_code(), outcome.counters.restarts), (0, 1));
    let keeper = kept.recv().unwrap();
    assert_eq!(keeper.discover, Some(Discover::Answers));
    assert_eq!(keeper.breaker, Breaker::default(), "a success closed it");
}

#[test]
fn a_server_that_is_silent_or_exits_is_answered_for_once_known() {
    for (words, known) in [
        (&["era", "silent"][..], Discover::Silent),
        (&["leave-discover"][..], Discover::Exits),
    ] {
        let (mut host, kept) = Player::owned(Keeper::new(words), settings());
        let id = host.ask("server/discover", json!({}));
        if known == Discover::Exits {
            assert_eq!(host.error(id).0, -32_601);
        } else {
            // Longer than a slow start could explain.
            thread::sleep(Duration::from_millis(2_500));
        }
        let asked = host.ask("initialize", json!({"protocolVersion": "2025-06-18"}));
        if known == Discover::Silent {
            assert_eq!(host.error(id).0, answer::SERVER_ENDED);
        }
        assert!(host.answer(asked)["result"].is_object());
        assert_eq!(host.close_and_end().0.counters.restarts, 1);
        let keeper = kept.recv().unwrap();
        // On a machine that is slow enough, silence could be a slow start.
        let told = keeper.discover == Some(known);
        assert!(told || (known == Discover::Silent && keeper.discover.is_none()));
        assert_eq!(keeper.breaker, Breaker::default());
        let mut settings = settings();
        settings.discover = Some(known);
        let (mut host, _kept) = Player::owned(Keeper::new(words), settings);
        let id = host.ask("server/discover", json!({}));
        assert_eq!(host.error(id).0, -32_601);
        host.initialize();
        assert_eq!(host.close_and_end().0.counters.restarts, 0);
    }
}

#[test]
fn a_call_that_takes_too_long_is_answered_and_progress_extends_it() {
    let limited = || {
        let mut settings = settings();
        settings.call_limit = Some(Duration::from_secs(1));
        settings
    };
    let (mut host, kept) = Player::owned(Keeper::new(&["hang"]), limited());
    host.initialize();
    let id = host.call("go", json!({}));
    assert_eq!(host.error(id).0, answer::CALL_TIMEOUT);
    host.works();
    host.close_and_end();
    let keeper = kept.recv().unwrap();
    let outcomes: Vec<Outcome> = keeper
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Call(call) => Some(call.outcome),
            _ => None,
        })
        .collect();
    assert_eq!(outcomes, [Outcome::Timeout, Outcome::Ok]);
    let (mut host, _kept) = Player::owned(Keeper::new(&["slow"]), limited());
    host.initialize();
    let meta = json!({"progressToken": "slow"});
    let id = host.ask(
        "tools/call",
        json!({"name": "go", "arguments": {"count": 4}, "_meta": meta}),
    );
    for _ in 0..4 {
        assert_eq!(host.message()["method"], "notifications/progress");
    }
    assert_eq!(host.answer(id)["result"]["content"][0]["text"], "slow");
    host.close_and_end();
}

#[test]
fn a_server_that_never_answers_its_first_request_is_ended() {
    let mut settings = settings();
    settings.start_limit = Some(Duration::from_secs(1));
    let (mut host, kept) = Player::owned(Keeper::new(&["mute"]), settings);
    let id = host.ask("initialize", json!({}));
    assert_eq!(host.error(id).0, answer::START_TIMEOUT);
    let (outcome, words) = host.end();
    assert_eq!((outcome.exit_code(), outcome.end), (137, End::ServerEnded));
    assert!(words.contains("gave no answer in the time"), "{words}");
    assert_eq!(kept.recv().unwrap().breaker.failures, 1);
}

#[test]
fn the_breaker_answers_in_place_of_a_server_that_fails() {
    let (mut host, kept) = Player::owned(Keeper::new(&["fail"]), settings());
    host.initialize();
    for _ in 0..3 {
        let id = host.call("go", json!({}));
        assert_eq!(host.error(id).0, -32_603, "the server's own words");
    }
    let id = host.call("echo", json!({}));
    let refused = host.answer(id);
    assert_eq!(
        refused["result"]["_meta"]["supervisor/refusal"]["layer"],
        "breaker"
    );
    let (_, words) = host.close_and_end();
    assert!(words.contains("it failed 3 times in a row"), "{words}");
    let keeper = kept.recv().unwrap();
    let mut settings = settings();
    settings.breaker = keeper.breaker;
    let (mut host, _kept) = Player::owned(keeper, settings);
    host.initialize();
    let id = host.call("echo", json!({}));
    assert_eq!(host.answer(id)["result"]["isError"], true, "another run");
    host.close_and_end();
}
