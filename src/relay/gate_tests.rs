use super::super::answer;
use super::super::frame::Progress;
use super::super::present::Page;
use super::super::salvage::Salvage;
use super::*;
use crate::surface::Kind;
use crate::surface::canonical::Item;

pub(in crate::relay) fn settings() -> Settings {
    Settings {
        alias: "weather".into(),
        max_message_bytes: 1_000,
        surface: Some(NAMES.iter().map(|name| tool(name)).collect()),
        ..super::super::tests::support::settings()
    }
}

pub(in crate::relay) fn moment() -> Moment {
    Moment {
        at: Instant::now(),
        of_day: Timestamp::from_second(1_800_000_000).unwrap(),
    }
}

/// The tools that are approved in these tests, and listed as they were.
const NAMES: [&str; 3] = ["go", "slow", "leave"];

/// A tool of that name.
pub(in crate::relay) fn tool(name: &str) -> Item {
    Item::listed(Kind::Tool, serde_json::json!({ "name": name })).unwrap()
}

/// A gate that saw the list of tools.
pub(in crate::relay) fn listed(mut gate: Gate) -> Gate {
    let page = Page {
        offered: NAMES.map(str::to_owned).to_vec(),
        ..Page::default()
    };
    gate.present.of_mut(Kind::Tool).page(None, &page).unwrap();
    gate
}

fn gate() -> Gate {
    let mut gate = listed(Gate::new(&settings(), moment()));
    gate.host = Capabilities::read(r#"{"sampling":{},"roots":{}}"#);
    gate
}

fn ask(gate: &mut Gate, id: &str) -> Step {
    gate.host_line(
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"go"}}}}"#)
            .as_bytes(),
    )
}

fn reply(gate: &mut Gate, id: &str) -> Step {
    gate.server_line(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#).as_bytes())
}

fn withheld(step: Step) -> Withheld {
    match step {
        Step::Withhold(withheld) => withheld,
        other => panic!("{other:?}"),
    }
}

/// The one error in `lines`: its id as JSON, its code, its message.
fn error(lines: &[u8]) -> (String, i64, String) {
    let value: serde_json::Value = serde_json::from_slice(lines).expect("one line of JSON");
    let error = &value["error"];
    (
        value["id"].to_string(),
        error["code"].as_i64().unwrap(),
        error["message"].as_str().unwrap().to_owned(),
    )
}

#[test]
fn one_answer_a_request_of_the_same_id() {
    let mut gate = gate();
    assert_eq!(ask(&mut gate, "1"), Step::Forward);
    for other in [
        "999999",
        "-1",
        "\"1\"",
        "1.0",
        "1e300",
        "null",
        "10000000000000000000000000000000000000000",
    ] {
        assert_eq!(
            withheld(reply(&mut gate, other)).note.unwrap().0,
            Fault::Dropped,
            "{other}"
        );
    }
    assert_eq!(
        withheld(reply(&mut gate, "[1]")).note.unwrap().0,
        Fault::Junk
    );
    assert_eq!(reply(&mut gate, "1"), Step::Forward);
    let again = withheld(reply(&mut gate, "1"));
    assert!(again.note.unwrap().1.starts_with("a second answer"));
    assert!(again.to_host.is_empty() && again.to_server.is_empty());
    assert_eq!((gate.counters.dropped_answers, gate.counters.junk), (8, 1));
    assert_eq!((gate.counters.from_host, gate.counters.from_server), (1, 1));
}

#[test]
fn the_ids_of_both_sides_are_apart() {
    let mut gate = gate();
    ask(&mut gate, "1");
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#;
    assert_eq!(gate.server_line(call), Step::Forward);
    assert_eq!(
        error(&withheld(gate.server_line(call)).to_server).1,
        answer::INVALID_REQUEST
    );
    let roots = br#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#;
    assert_eq!(gate.host_line(roots), Step::Forward);
    assert_eq!(
        withheld(gate.host_line(roots)).note.unwrap().0,
        Fault::HostAnswer
    );
    assert_eq!(reply(&mut gate, "1"), Step::Forward);
}

#[test]
fn requests_are_bounded_both_ways() {
    let mut gate = gate();
    for n in 0..MAX_ASKED {
        assert_eq!(ask(&mut gate, &n.to_string()), Step::Forward);
    }
    let (id, code, _) = error(&withheld(ask(&mut gate, "\"more\"")).to_host);
    assert_eq!((&*id, code), ("\"more\"", answer::TOO_MANY));
    let call =
        |n: usize| format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"sampling/createMessage"}}"#);
    for n in 0..MAX_CALLED {
        assert_eq!(gate.server_line(call(n).as_bytes()), Step::Forward);
    }
    let over = withheld(gate.server_line(call(MAX_CALLED).as_bytes()));
    assert!(over.to_host.is_empty() && !over.to_server.is_empty());
}

#[test]
fn cancelled_requests_do_not_fill_the_ledger() {
    let mut gate = gate();
    for n in 0..MAX_ASKED + 9 {
        assert_eq!(ask(&mut gate, &n.to_string()), Step::Forward);
        let cancel = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{n}}}}}"#
        );
        assert_eq!(gate.host_line(cancel.as_bytes()), Step::Forward);
    }
    assert_eq!(
        reply(&mut gate, &(MAX_ASKED + 8).to_string()),
        Step::Forward,
        "a late answer"
    );
    assert!(gate.close(Gone::Mute).is_empty());
}

#[test]
fn the_server_may_cancel_a_listen_and_its_own() {
    let mut gate = gate();
    gate.host_line(br#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}"#);
    ask(&mut gate, "2");
    for id in [1, 2] {
        let cancel = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        );
        assert_eq!(gate.server_line(cancel.as_bytes()), Step::Forward);
    }
    assert_eq!(error(&gate.close(Gone::Mute)).0, "2");
}

#[test]
fn host_lines_that_are_no_message_are_answered() {
    let mut gate = gate();
    let mut told = |line: &[u8]| {
        let (id, code, _) = error(&withheld(gate.host_line(line)).to_host);
        (id, code)
    };
    assert_eq!(told(b"hello"), ("null".into(), answer::PARSE_ERROR));
    assert_eq!(
        told(br#"{"jsonrpc":"2.0","id":806,"method":"#),
        ("806".into(), answer::PARSE_ERROR)
    );
    assert_eq!(
        told(br#"[{"jsonrpc":"2.0","id":805,"method":"ping"}]"#),
        ("null".into(), answer::INVALID_REQUEST)
    );
    assert_eq!(
        told(br#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#),
        ("null".into(), answer::INVALID_REQUEST)
    );
    assert_eq!(
        told(br#"{"id":7,"method":"m"}"#),
        ("7".into(), answer::INVALID_REQUEST)
    );
    assert_eq!(
        told(b"{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"\xff\"}"),
        ("8".into(), answer::PARSE_ERROR)
    );
    for skipped in [&b""[..], b"   ", b"\t"] {
        assert_eq!(gate.host_line(skipped), Step::Skip);
    }
    ask(&mut gate, "9");
    let (id, _, _) = error(&withheld(gate.host_line(br#"{"id":9,"method":"m"}"#)).to_host);
    assert_eq!(id, "null", "not the id of a request that waits");
    let (id, code, _) = error(&withheld(ask(&mut gate, "9")).to_host);
    assert_eq!((&*id, code), ("9", answer::INVALID_REQUEST));
}

#[test]
fn junk_that_seems_to_be_an_answer_settles_its_request() {
    let mut gate = gate();
    for id in ["3", "4"] {
        ask(&mut gate, id);
    }
    let twice =
        withheld(gate.server_line(br#"{"jsonrpc":"2.0","id":999,"id":3,"result":{},"result":{}}"#));
    assert!(twice.quarantine);
    let (id, code, message) = error(&twice.to_host);
    assert_eq!((&*id, code), ("3", answer::UNREADABLE));
    assert_eq!(
        message,
        "the answer of weather cannot be read: a member stands there twice"
    );
    let bytes = withheld(gate.server_line(b"{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":\"\xff\"}"));
    assert_eq!(error(&bytes.to_host).0, "4");
    let banner = withheld(gate.server_line(b"Server \x1b[1mlistening"));
    assert!(banner.to_host.is_empty() && banner.quarantine);
    assert!(
        banner
            .note
            .unwrap()
            .1
            .ends_with(r"it is not JSON: Server \u{1b}[1mlistening")
    );
    assert_eq!(gate.counters.junk, 3);
}

#[test]
fn lines_over_the_cap_are_answered_both_ways() {
    let mut gate = gate();
    let request = Salvage::of(br#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":"qqq"#);
    let step = gate
        .long_from_host(&request, Progress::Begins)
        .expect("the id was seen");
    assert_eq!(error(&withheld(step).to_host).1, answer::TOO_LONG);

    let late = Salvage::of(br#"{"method":"tools/call","params":"qqq"#);
    assert_eq!(gate.long_from_host(&late, Progress::Begins), None);
    let late = Salvage::of(br#"{"method":"tools/call","params":"qqq","jsonrpc":"2.0","id":6}"#);
    let step = gate
        .long_from_host(&late, Progress::Ends)
        .expect("at the end");
    assert_eq!(error(&withheld(step).to_host).0, "6");

    ask(&mut gate, "7");
    ask(&mut gate, "8");
    let answer = Salvage::of(br#"{"jsonrpc":"2.0","id":7,"result":"yyy"#);
    let step = gate
        .long_from_server(&answer, Progress::Begins)
        .expect("the id was seen");
    assert_eq!(error(&withheld(step).to_host).0, "7");
    assert_eq!(
        withheld(reply(&mut gate, "7")).note.unwrap().0,
        Fault::Dropped
    );

    gate.server_line(br#"{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage"}"#);
    let response = Salvage::of(br#"{"jsonrpc":"2.0","id":"s","result":"zzz"#);
    let step = withheld(
        gate.long_from_host(&response, Progress::Begins)
            .expect("seen"),
    );
    assert!(step.to_host.is_empty());
    assert_eq!(error(&step.to_server).0, "\"s\"");
    assert_eq!(gate.counters.oversize, 4);
}

#[test]
fn a_long_line_without_an_id_answers_the_one_that_waits() {
    let mut gate = gate();
    ask(&mut gate, "1");
    ask(&mut gate, "2");
    let junk = Salvage::of(b"xxxxxxx");
    assert_eq!(
        gate.long_from_server(&junk, Progress::Begins),
        None,
        "whose it is cannot be told"
    );
    reply(&mut gate, "1");
    let notification =
        Salvage::of(br#"{"jsonrpc":"2.0","method":"notifications/message","params":"#);
    assert_eq!(gate.long_from_server(&notification, Progress::Begins), None);
    let step = withheld(
        gate.long_from_server(&notification, Progress::Ends)
            .expect("ends"),
    );
    assert!(step.to_host.is_empty() && step.to_server.is_empty());
    let step = gate
        .long_from_server(&junk, Progress::Begins)
        .expect("one waits");
    assert_eq!(error(&withheld(step).to_host).0, "2");
}

#[test]
fn a_server_that_is_gone_answers_by_us() {
    let mut gate = gate();
    for id in ["30", "\"a\"", "4"] {
        ask(&mut gate, id);
    }
    let lines = gate.close(Gone::Ended(Exit::Code(3)));
    let lines: Vec<_> = lines
        .split_inclusive(|byte| *byte == b'\n')
        .map(error)
        .collect();
    assert_eq!(
        lines.iter().map(|(id, ..)| &**id).collect::<Vec<_>>(),
        ["30", "\"a\"", "4"]
    );
    assert_eq!(lines[0].1, answer::SERVER_ENDED);
    assert_eq!(
        lines[0].2,
        "server weather exited with code 3 before it answered tools/call (tool go)"
    );
    assert_eq!(error(&withheld(ask(&mut gate, "5")).to_host).0, "5");
    assert_eq!(
        gate.host_line(br#"{"jsonrpc":"2.0","method":"x"}"#),
        Step::Skip
    );
    assert_eq!(gate.counters.answered_by_relay, 4);
}

#[test]
fn an_unfinished_line_is_no_message() {
    let mut gate = gate();
    ask(&mut gate, "1");
    let half = withheld(gate.unfinished_from_server(br#"{"jsonrpc":"2.0","id":"#));
    assert!(half.quarantine && half.to_host.is_empty());
    assert_eq!(gate.unfinished_from_server(b""), Step::Skip);
    let half = withheld(gate.unfinished_from_host(br#"{"jsonrpc":"2.0","id":2,"method":"x"}"#));
    assert_eq!(error(&half.to_host).0, "2");
}
