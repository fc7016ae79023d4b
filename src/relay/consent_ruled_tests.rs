//! What rules refuse, and what none changes.

use super::*;

#[test]
fn a_denied_call_is_refused_and_the_others_pass() {
    let mut play = Play::legacy(
        permissions(&["Mcp(weather:go)"], &[], &["Mcp(weather)"]),
        json!({}),
    );
    assert_eq!(refusal(&play.call("go")), refused("rule", "call-denied"));
    assert_eq!(play.call("stay").server.len(), 1);
    assert_eq!(
        play.ask("prompts/get", json!({"name": "go"})).server.len(),
        1
    );
    let unnamed = play.ask("tools/call", json!({"arguments": {}}));
    assert_eq!(unnamed.host[0]["error"]["code"], -32602);
    let alike = play.ask("tools/call", json!({"name": "stay", "Name": "go"}));
    assert_eq!(alike.host[0]["error"]["code"], -32600);
}

#[test]
fn a_rule_for_a_server_refuses_all_that_it_can_be_asked_to_do() {
    let mut play = Play::legacy(permissions(&["Mcp(weather)"], &[], &[]), json!({}));
    assert_eq!(refusal(&play.call("go")), refused("rule", "call-denied"));
    for method in ["prompts/get", "resources/read", "completion/complete"] {
        let prompt = json!({"type": "ref/prompt", "name": "x"});
        let did = play.ask(method, json!({"name": "x", "uri": "x:y", "ref": prompt}));
        assert!(did.server.is_empty());
        let error = &did.host[0]["error"];
        assert_eq!(
            (&error["code"], &error["data"]["code"]),
            (&json!(-31134), &json!("denied-by-rule"))
        );
    }
    assert_eq!(play.ask("tools/list", json!({})).server.len(), 1);
    let mut tools = Play::legacy(permissions(&["Mcp(weather:*)"], &[], &[]), json!({}));
    assert_eq!(refusal(&tools.call("go")), refused("rule", "call-denied"));
    assert_eq!(
        tools.ask("prompts/get", json!({"name": "x"})).server.len(),
        1
    );
}

#[test]
fn rules_of_another_server_and_of_none_change_nothing() {
    for rules in [
        permissions(&["Mcp(other)"], &["Mcp(other:go)"], &[]),
        Permissions::default(),
    ] {
        let mut play = Play::legacy(rules, json!({}));
        let line = br#"{ "jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"go" , "arguments":{"x":1.0}}}"#;
        assert_eq!(play.host(line).server, [line.to_vec()]);
    }
}

#[test]
fn rules_that_cannot_be_read_refuse_every_call() {
    let mut play = Play::legacy(Permissions::default(), json!({"elicitation": {}}));
    assert_eq!(play.call("go").server.len(), 1);
    play.gate.set_rules(Err("settings.json: line 1".to_owned()));
    assert_eq!(
        refusal(&play.call("go")),
        refused("rule", "settings-unreadable")
    );
    assert!(
        play.ask("resources/read", json!({"uri": "x:y"}))
            .server
            .is_empty()
    );
    assert_eq!(play.ask("tools/list", json!({})).server.len(), 1);
    play.gate.set_rules(Ok(Rules::default()));
    assert_eq!(play.call("go").server.len(), 1);
}
