//! Our own reading of a list, and what waits for it.

use super::*;

#[test]
fn an_answer_from_before_a_change_makes_nothing_known() {
    let mut play = Play::plain();
    let list = play.ask("tools/list", &json!({}));
    play.changes("tools");
    play.reply(&json!(list), &both());
    assert_eq!(
        play.host[1]["result"],
        both(),
        "what was approved may be shown"
    );
    let call = play.call("a");
    assert!(!play.reached(call));
    // It changes while we read, too.
    play.changes("tools");
    play.lists("tools/list", &both());
    play.lists("tools/list", &json!({"tools": []}));
    assert_eq!(play.refused(call), "surface-removed");
    // One that changes for ever is read four times, and then goes by what was seen.
    play.changes("tools");
    let call = play.call("a");
    for _ in 0..4 {
        play.changes("tools");
        play.lists("tools/list", &both());
    }
    assert_eq!(play.refused(call), "surface-unknown");
}

#[test]
fn pages_are_read_to_the_last_and_never_for_ever() {
    let mut play = Play::plain();
    let call = play.call("b");
    assert!(play.own("tools/list")["params"].get("cursor").is_none());
    play.lists(
        "tools/list",
        &json!({"tools": [described("a", "one")], "nextCursor": "\u{e9}\""}),
    );
    assert_eq!(play.own("tools/list")["params"]["cursor"], "\u{e9}\"");
    assert!(!play.reached(call));
    play.lists(
        "tools/list",
        &json!({"tools": [described("b", "two")], "nextCursor": null}),
    );
    assert!(play.reached(call));
    // Leads back: what was seen stands, what was not is refused.
    let mut play = Play::plain();
    let (a, b) = (play.call("a"), play.call("b"));
    let page = json!({"tools": [described("a", "one")], "nextCursor": "c"});
    play.lists("tools/list", &page);
    play.lists("tools/list", &page);
    assert!(play.reached(a));
    assert_eq!(play.refused(b), "surface-unknown");
    // The host's own walk ends there too.
    let mut play = Play::plain();
    let first = play.ask("tools/list", &json!({}));
    play.reply(&json!(first), &page);
    let second = play.ask("tools/list", &json!({"cursor": "c"}));
    play.reply(&json!(second), &page);
    let cursors: Vec<bool> = play
        .host
        .iter()
        .map(|line| line["result"].get("nextCursor").is_some())
        .collect();
    assert_eq!(cursors, [true, false]);
    assert_eq!(play.host[1]["result"]["tools"], page["tools"]);
}

#[test]
fn a_reading_ends_in_its_time() {
    let mut play = Play::plain();
    // The time of a start is the start's: a runner may fetch what it runs.
    let first = play.ask("initialize", &json!({}));
    let call = play.call("a");
    play.gate.now.at += SECOND * 100;
    play.gate.expire();
    play.heed();
    play.reply(&json!(first), &json!({"capabilities": {}}));
    play.gate.now.at += SECOND * 29;
    assert!(play.gate.deadline().is_some());
    play.gate.expire();
    play.heed();
    assert_eq!(play.host.len(), 1);
    play.gate.now.at += SECOND;
    play.gate.expire();
    play.heed();
    assert_eq!(play.refused(call), "surface-unknown");
    // A late answer is for nobody, and no host's request has its id.
    let own = play.own("tools/list")["id"].clone();
    play.says(&json!({"jsonrpc": "2.0", "id": own, "method": "ping"}));
    assert_eq!(play.host.last().unwrap()["error"]["code"], -32600);
    let before = play.host.len();
    play.reply(&own, &json!({"tools": [described("z", "spoofed")]}));
    assert_eq!(play.host.len(), before);
}

#[test]
fn what_cannot_be_read_is_refused() {
    for answer in [
        json!({"error": {"code": -32603, "message": "m"}}),
        json!({"result": {"tools": [], "nextCursor": "x"}}),
        json!({"result": []}),
    ] {
        let mut play = Play::plain();
        let call = play.call("a");
        let mut line = json!({"jsonrpc": "2.0", "id": play.own("tools/list")["id"]});
        let members = answer.as_object().unwrap().clone();
        line.as_object_mut().unwrap().extend(members.clone());
        play.hears(&line);
        if answer.pointer("/result/nextCursor").is_some() {
            let id = play.own("tools/list")["id"].clone();
            play.hears(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": 1, "message": ""}}));
        }
        assert_eq!(play.refused(call), "surface-unknown", "{answer}");
    }
    // No JSON under our id; a server without tools.
    let mut play = Play::plain();
    let call = play.call("a");
    let id = play.own("tools/list")["id"].clone();
    let step = play
        .gate
        .server_line(format!("{{\"id\":{id},\"jsonrpc\":\"2.0\",\"result\":{{,}}}}").as_bytes());
    assert!(matches!(step, Step::Withhold(_)));
    play.heed();
    assert_eq!(play.refused(call), "surface-unknown");
    let mut play = Play::plain();
    let call = play.call("a");
    let id = play.own("tools/list")["id"].clone();
    play.hears(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": ""}}));
    assert_eq!(play.refused(call), "surface-removed");
}

#[test]
fn only_the_call_waits_and_it_can_be_cancelled() {
    let mut play = Play::plain();
    play.gate.host = Capabilities::read(r#"{"roots":{}}"#);
    let call = play.call("a");
    // The server asks first, and the host's answer passes by what waits.
    play.hears(&json!({"jsonrpc": "2.0", "id": "s", "method": "roots/list"}));
    play.says(&json!({"jsonrpc": "2.0", "id": "s", "result": {"roots": []}}));
    let ping = play.ask("ping", &json!({}));
    assert!(play.reached(ping) && play.server.iter().any(|line| line["id"] == "s"));
    let second = play.call("b");
    play.says(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}}));
    assert!(
        play.server
            .iter()
            .all(|line| line["method"] != "notifications/cancelled"),
        "the server knows nothing of it"
    );
    let own = play.own_first();
    play.reply(&own, &both());
    assert!(!play.reached(call) && play.reached(second));
    assert!(play.host.iter().all(|line| line["id"] != call));
    // The server cannot cancel what is ours.
    let before = play.host.len();
    play.hears(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": own}}));
    assert_eq!(play.host.len(), before);
}

impl Play {
    /// The id of our first request.
    fn own_first(&self) -> Value {
        let own = |line: &&Value| {
            line["id"]
                .as_str()
                .is_some_and(|id| id.starts_with("supervisor:"))
        };
        self.server.iter().find(own).expect("one of ours")["id"].clone()
    }
}

#[test]
fn what_waits_has_its_own_time_and_its_bound() {
    let mut play = Play::new(|settings| settings.call_limit = Some(SECOND * 5));
    let call = play.call("a");
    play.gate.now.at += SECOND * 5;
    let expired = play.gate.expire();
    play.host.extend(lines(&expired.to_host));
    assert!(expired.to_server.is_empty(), "it never got there");
    assert_eq!(play.refused(call), "call-timeout");
    play.lists("tools/list", &both());
    assert!(!play.reached(call));
    // A megabyte may wait, and one line more.
    let mut play = Play::plain();
    let text = "x".repeat(400_000);
    for _ in 0..3 {
        assert!(!play.gate.reading.is_full());
        play.ask(
            "tools/call",
            &json!({"name": "a", "arguments": {"text": text}}),
        );
    }
    assert!(play.gate.reading.is_full());
    play.lists("tools/list", &both());
    assert!(!play.gate.reading.is_full() && play.reached(1) && play.reached(3));
}

#[test]
fn another_process_is_read_anew() {
    let mut play = Play::plain();
    let meta = json!({META: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {"a": 1.0}, "progressToken": 7});
    let call = |play: &mut Play| play.ask("tools/call", &json!({"name": "a", "_meta": meta}));
    let first = call(&mut play);
    // In the era of the call, and as its host; no token is ours to give.
    let own = play.own("tools/list");
    let said =
        json!({META: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {"a": 1.0}});
    assert_eq!(own["params"]["_meta"], said);
    play.lists("tools/list", &both());
    assert!(play.reached(first));
    let waits = {
        play.changes("tools");
        call(&mut play)
    };
    let died = play.gate.died(Exit::Code(1));
    play.host.extend(lines(&died));
    assert_eq!(play.refused(first), "server-ended");
    assert_eq!(play.refused(waits), "server-ended");
    assert!(!play.gate.reading.is_under_way());
    // What is asked next has it started again, and the first it hears is our question.
    let next = call(&mut play);
    assert!(!play.reached(next));
    let own = play.own("tools/list");
    assert!(play.gate.started().is_none());
    play.reply(
        &own["id"],
        &json!({"tools": [described("a", "other")], "resultType": "complete"}),
    );
    let answer = play.host.iter().find(|line| line["id"] == next).unwrap();
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(play.refused(next), "surface-changed");
    assert!(!play.reached(next));
}
