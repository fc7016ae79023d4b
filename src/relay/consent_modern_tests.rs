//! Asking in the modern era: results, states, rounds.

use super::*;

#[test]
fn a_modern_host_brings_the_answer_with_its_next_attempt() {
    let mut play = Play::new(permissions(&[], &["Mcp(weather:go)"], &[]));
    assert_eq!(play.modern("stay", json!({})).server.len(), 1);
    let did = play.modern("go", json!({}));
    assert!(did.server.is_empty());
    let result = did.host[0]["result"].clone();
    assert_eq!(result["resultType"], "input_required");
    assert_eq!(result["inputRequests"][KEY]["method"], "elicitation/create");
    let state = result["requestState"].clone();
    let said =
        |action: &str| json!({"inputResponses": {KEY: {"action": action}}, "requestState": state});
    let did = play.modern("go", said("accept"));
    let sent: Value = serde_json::from_slice(&did.server[0]).unwrap();
    assert_eq!(
        (&sent["id"], &sent["params"]["name"]),
        (&json!(play.id), &json!("go"))
    );
    assert!(
        sent["params"].get("inputResponses").is_none()
            && sent["params"].get("requestState").is_none()
    );
    assert_eq!(sent["params"]["_meta"][META], "2026-07-28");
    // Used, it asks anew.
    let did = play.modern("go", said("accept"));
    assert_eq!(did.host[0]["result"]["resultType"], "input_required");
    assert_ne!(did.host[0]["result"]["requestState"], state);
    let state = did.host[0]["result"]["requestState"].clone();
    let did = play.modern(
        "go",
        json!({"inputResponses": {KEY: {"action": "decline"}}, "requestState": state}),
    );
    assert_eq!(refusal(&did), refused("rule", "ask-declined"));
    assert_eq!(did.host[0]["result"]["resultType"], "complete");
}

#[test]
fn a_state_that_was_not_given_out_for_this_call_asks_anew() {
    let mut play = Play::new(permissions(&[], &["Mcp(weather)"], &[]));
    let state = play.modern("go", json!({})).host[0]["result"]["requestState"].clone();
    let yes = json!({KEY: {"action": "accept"}});
    for further in [
        json!({"inputResponses": yes, "requestState": "supervisor-00000000000000000000000000000000"}),
        json!({"inputResponses": yes, "requestState": "else"}),
        json!({"inputResponses": yes}),
        json!({"inputResponses": yes, "requestState": state, "arguments": {"a": 2}}),
    ] {
        let did = play.modern("go", further.clone());
        assert!(did.server.is_empty(), "{further}");
        assert_eq!(
            did.host[0]["result"]["resultType"], "input_required",
            "{further}"
        );
    }
    let state = play.modern("go", json!({})).host[0]["result"]["requestState"].clone();
    let did = play.modern(
        "stay",
        json!({"inputResponses": yes, "requestState": state}),
    );
    assert!(did.server.is_empty());
    let without = json!({"name": "go", "_meta": {META: "2026-07-28", CAPABILITIES: {}}});
    assert_eq!(
        refusal(&play.ask("tools/call", without)),
        refused("rule", "ask-impossible")
    );
}

#[test]
fn the_servers_own_rounds_pass_unharmed() {
    let mut play = Play::new(permissions(&[], &["Mcp(weather)"], &[]));
    let state = play.modern("go", json!({})).host[0]["result"]["requestState"].clone();
    play.modern(
        "go",
        json!({"inputResponses": {KEY: {"action": "accept"}}, "requestState": state}),
    );
    let round = json!({"jsonrpc": "2.0", "id": play.id, "result": {
        "resultType": "input_required", "requestState": "theirs",
        "inputRequests": {"name": {"method": "elicitation/create", "params": {"message": "?"}}}}});
    assert_eq!(play.server(&round).host, [round]);
    // The same call goes on: nobody is asked again, and not a byte of it changes.
    let theirs = json!({"inputResponses": {"name": {"action": "accept", "content": {}}}, "requestState": "theirs"});
    let did = play.modern("go", theirs.clone());
    assert!(did.host.is_empty());
    let sent: Value = serde_json::from_slice(&did.server[0]).unwrap();
    assert_eq!(sent["params"]["requestState"], "theirs");
    assert_eq!(sent["params"]["inputResponses"], theirs["inputResponses"]);
    // Once.
    let did = play.modern("go", theirs.clone());
    let ours = did.host[0]["result"]["requestState"].clone();
    assert!(did.server.is_empty() && ours.is_string());
    // Asked about while it carries the server's state: that comes back beside the yes.
    let did = play.modern(
        "go",
        json!({"inputResponses": {KEY: {"action": "accept"}}, "requestState": ours}),
    );
    let sent: Value = serde_json::from_slice(&did.server[0]).unwrap();
    assert_eq!(sent["params"]["requestState"], "theirs");
    assert_eq!(sent["params"]["inputResponses"], theirs["inputResponses"]);
}

#[test]
fn a_state_of_ours_never_reaches_the_server() {
    let mut play = Play::new(permissions(&[], &["Mcp(weather)"], &[]));
    let state = play.modern("go", json!({})).host[0]["result"]["requestState"].clone();
    play.gate.set_rules(Ok(Rules::default()));
    let did = play.modern(
        "go",
        json!({"inputResponses": {KEY: {"action": "accept"}, "x": {}}, "requestState": state}),
    );
    let sent = String::from_utf8(did.server[0].clone()).unwrap();
    assert!(
        !sent.contains("supervisor") && sent.contains(r#""inputResponses":{"x":{}}"#),
        "{sent}"
    );
}

/// Only the modern era has rounds, and only a host that brings something goes on with one.
#[test]
fn a_server_cannot_have_the_next_call_pass_unasked() {
    let accept = json!({"action": "accept"});
    let round = |id: u64| json!({"jsonrpc": "2.0", "id": id, "result": {"content": [], "resultType": "input_required"}});
    let ask = || permissions(&[], &["Mcp(weather:go)"], &[]);
    let mut play = Play::legacy(ask(), json!({"elicitation": {}}));
    for _ in 0..2 {
        let question = play.call("go").host[0].clone();
        assert_eq!(question["method"], "elicitation/create");
        assert_eq!(play.says(&question, accept.clone()).server.len(), 1);
        play.server(&round(play.id));
    }
    let mut play = Play::new(ask());
    let state = |did: &Did| did.host[0]["result"]["requestState"].clone();
    let yes = |state: Value| json!({"inputResponses": {KEY: {"action": "accept"}}, "requestState": state});
    let given = state(&play.modern("go", json!({})));
    assert_eq!(play.modern("go", yes(given)).server.len(), 1);
    play.server(&round(play.id));
    assert!(play.modern("go", json!({})).server.is_empty());
    // With what was asked for it is the round; later it is another call.
    let brings = json!({"inputResponses": {"x": {}}});
    assert_eq!(play.modern("go", brings.clone()).server.len(), 1);
    play.server(&round(play.id));
    play.gate.now.at += Duration::from_secs(61);
    assert!(play.modern("go", brings).server.is_empty());
}
