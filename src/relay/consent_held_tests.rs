//! Calls that wait for a list, or for the person, while other things happen.

use super::*;

/// A gate that has not seen the list yet, and a call that waits for it.
fn waits_for_list(rules: Permissions) -> (Play, Vec<u8>) {
    let mut play = Play::legacy(rules, json!({"elicitation": {}}));
    play.id += 1;
    let line =
        json!({"jsonrpc": "2.0", "id": play.id, "method": "tools/call", "params": {"name": "go"}});
    assert_eq!(play.gate.host_line(line.to_string().as_bytes()), Step::Skip);
    let Some(Effect::ToServer(own)) = play.gate.effects.pop() else {
        panic!("the list is asked for");
    };
    (play, own)
}

#[test]
fn what_was_ruled_while_a_call_waited_for_a_list_holds_for_it() {
    let now = |play: &mut Play, own: &[u8], permissions: Permissions| {
        play.gate.set_rules(Ok(Rules {
            permissions,
            ask_limit: Duration::from_secs(60),
            ..Rules::default()
        }));
        assert!(play.lists(own.strip_suffix(b"\n").unwrap()));
        play.did(Step::Skip, None)
    };
    let (mut play, own) = waits_for_list(Permissions::default());
    assert_eq!(now(&mut play, &own, Permissions::default()).server.len(), 1);
    let (mut play, own) = waits_for_list(Permissions::default());
    let did = now(&mut play, &own, permissions(&["Mcp(weather:go)"], &[], &[]));
    assert_eq!(refusal(&did), refused("rule", "call-denied"));
    let (mut play, own) = waits_for_list(Permissions::default());
    let did = now(&mut play, &own, permissions(&[], &["Mcp(weather:go)"], &[]));
    assert!(did.server.is_empty());
    let question = did.host[0].clone();
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(
        play.says(&question, json!({"action": "accept"}))
            .server
            .len(),
        1
    );
    let (mut play, own) = waits_for_list(Permissions::default());
    play.gate.breaker = (0..3).fold(play.gate.breaker, |breaker, _| {
        breaker.after(crate::relay::Verdict::Failed, play.gate.now.of_day)
    });
    let did = now(&mut play, &own, Permissions::default());
    assert_eq!(refusal(&did), refused("breaker", "breaker-open"));
}

#[test]
fn a_server_answers_no_call_that_it_was_not_sent() {
    let (mut play, own) = waits_for_list(Permissions::default());
    let id = play.id;
    let guessed = json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}});
    assert!(play.server(&guessed).host.is_empty());
    play.gate
        .server_line(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#).as_bytes());
    assert!(play.lists(own.strip_suffix(b"\n").unwrap()));
    assert_eq!(play.did(Step::Skip, None).server.len(), 1);
    assert_eq!(play.server(&guessed).host.len(), 1);
    // Nor one that was cancelled before it was.
    let (mut play, _) = waits_for_list(Permissions::default());
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": play.id}});
    assert!(play.host(cancel.to_string().as_bytes()).server.is_empty());
    let late = json!({"jsonrpc": "2.0", "id": play.id, "result": {"content": []}});
    assert!(play.server(&late).host.is_empty());
}

#[test]
fn garbage_answers_nothing_that_waits_for_the_person() {
    let ask = permissions(&[], &["Mcp(weather:go)"], &[]);
    let mut play = Play::legacy(ask, json!({"elicitation": {}}));
    let question = play.call("go").host[0].clone();
    let twice = format!(
        r#"{{"jsonrpc":"2.0","id":{},"method":"x","method":"x"}}"#,
        play.id
    );
    assert_eq!(play.host(twice.as_bytes()).host[0]["id"], Value::Null);
    // A word that cannot be read is none, and the call does not wait for another.
    let id = &question["id"];
    let broken =
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"accept"}},"result":{{}}}}"#);
    let did = play.host(broken.as_bytes());
    assert_eq!(refusal(&did), refused("rule", "ask-failed"));
    assert!(
        play.says(&question, json!({"action": "accept"}))
            .server
            .is_empty()
    );
}
