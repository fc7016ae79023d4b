//! Servers that die, and hosts that turn to the other era.

use super::*;

#[test]
fn a_modern_server_that_dies_is_started_again() {
    let mut play = Play::plain();
    play.modern("server/discover");
    play.reply("result", json!({}));
    play.modern("tools/call");
    assert!(play.gate.may_restart());
    let told = lines(&play.gate.died(Exit::Code(4)));
    play.heed();
    assert_eq!(
        told[0]["error"]["message"],
        "server weather exited with code 4 before it answered tools/call (tool go)"
    );
    assert_eq!(
        play.gate
            .host_line(br#"{"jsonrpc":"2.0","method":"notifications/x"}"#),
        Step::Skip
    );
    assert_eq!(play.modern("tools/list"), Step::Forward);
    assert_eq!(play.gate.started(), None, "nothing is said again");
    assert_eq!(play.reply("result", json!({"tools": []})), Step::Forward);
    assert_eq!(play.gate.wait(), Duration::ZERO);
    for _ in 0..3 {
        play.modern("tools/list");
        play.gate.died(Exit::Code(4));
        play.gate.started();
    }
    assert_eq!(play.gate.wait(), SECOND);
    assert_eq!(play.outcomes(), [Outcome::Died]);
}

#[test]
fn a_legacy_server_that_dies_hears_the_hosts_words_again() {
    let mut play = Play::plain();
    assert!(!play.gate.may_restart(), "it heard nothing");
    play.ask(
        "initialize",
        json!({"x": 1.0, "capabilities": {"roots": {}}}),
    );
    assert!(!play.gate.may_restart(), "it answered nothing");
    play.reply("result", json!({"capabilities": {"tools": {}}}));
    play.gate
        .host_line(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    play.call("go");
    play.gate
        .server_line(br#"{"jsonrpc":"2.0","id":"s","method":"roots/list"}"#);
    play.gate.died(Exit::Signal(11));
    // What the one that is gone asked is not answered to the next, and its id is not free yet.
    play.call("go");
    let words = play.gate.started().expect("words to say again");
    assert!(words.starts_with(br#"{"id":1,"jsonrpc":"2.0","method":"initialize""#));
    assert!(!play.gate.may_restart(), "not in the middle of it");
    let answer = br#"{"result":{"capabilities":{"tools":{}}},"jsonrpc":"2.0","id":1}"#;
    assert_eq!(
        play.gate.server_line(answer),
        Step::Skip,
        "the host has had one"
    );
    play.heed();
    let Some(Effect::Replayed(next)) = play.effects.pop() else {
        panic!()
    };
    assert_eq!(
        next,
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
    );
    let again = br#"{"jsonrpc":"2.0","id":"s","method":"roots/list"}"#;
    assert!(matches!(play.gate.server_line(again), Step::Withhold(_)));
    assert_eq!(
        play.gate
            .host_line(br#"{"jsonrpc":"2.0","id":"s","result":{}}"#),
        Step::Skip
    );
    assert_eq!(play.gate.server_line(again), Step::Forward);
    // The next one lists its tools before it is called.
    assert!(matches!(play.reply("result", json!({})), Step::Withhold(_)));
    let list =
        br#"{"jsonrpc":"2.0","id":"supervisor:surface:1","result":{"tools":[{"name":"go"}]}}"#;
    assert_eq!(play.gate.server_line(list), Step::Skip);
    play.heed();
    assert_eq!(play.reply("result", json!({})), Step::Forward);
    // Another answer is another server.
    play.gate.died(Exit::Signal(11));
    play.call("go");
    play.gate.started().unwrap();
    let answer = br#"{"jsonrpc":"2.0","id":1,"result":{"capabilities":{}}}"#;
    assert_eq!(play.gate.server_line(answer), Step::Skip);
    assert_eq!(play.gate.effects.pop(), Some(Effect::Differs));
}

#[test]
fn a_host_that_turns_to_the_other_era_gets_another_server() {
    let mut play = Play::plain();
    assert_eq!(play.ask("server/discover", json!({})), Step::Forward);
    play.reply("result", json!({}));
    play.modern("tools/list");
    assert_eq!(play.ask("initialize", json!({})), Step::Forward);
    assert_eq!(play.effects.pop(), Some(Effect::NewServer));
    let Some(Effect::ToHost(told)) = play.effects.pop() else {
        panic!()
    };
    let told = lines(&told);
    assert_eq!(
        (told.len(), &told[0]["error"]["code"]),
        (1, &json!(answer::SERVER_ENDED))
    );
    assert_eq!(play.gate.started(), None);
    play.reply("result", json!({}));
    assert_eq!(play.gate.breaker.failures, 0, "it did nothing wrong");
}

#[test]
fn a_server_that_exits_on_discover_is_answered_for() {
    let mut play = Play::plain();
    play.ask("server/discover", json!({}));
    assert!(play.gate.may_restart());
    let told = lines(&play.gate.died(Exit::Code(1)));
    play.heed();
    assert_eq!(told[0]["error"]["code"], -32_601);
    assert_eq!(play.effects, [Effect::Discover(Discover::Exits)]);
    assert_eq!(
        (play.gate.breaker.failures, play.gate.wait()),
        (0, Duration::ZERO)
    );
    assert_eq!(
        answer_of(play.ask("server/discover", json!({})))["error"]["code"],
        -32_601
    );
    assert_eq!(play.ask("initialize", json!({})), Step::Forward);
    let mut play = Play::new(|settings| settings.discover = Some(Discover::Silent));
    assert_eq!(
        answer_of(play.modern("server/discover"))["error"]["code"],
        -32_601
    );
    assert_eq!(play.ask("initialize", json!({})), Step::Forward);
    assert!(
        play.effects.is_empty(),
        "it is the first word that the server hears"
    );
}
