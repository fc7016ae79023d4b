//! Rules at the gate: what is refused, what is put to the person, what reaches the server.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::gate::Withheld;
use super::super::gate::tests::{moment, settings};
use super::super::rules::Rule;
use super::super::{Permissions, Rules, reading};
use super::*;
use crate::surface::Kind;
use crate::surface::canonical::Item;

/// What the server lists, and what was approved of it.
const TOOLS: [&str; 4] = ["go", "stay", "a", "b"];
const PROMPTS: [&str; 2] = ["go", "x"];

const META: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

pub(in crate::relay) fn permissions(deny: &[&str], ask: &[&str], allow: &[&str]) -> Permissions {
    let list =
        |words: &[&str]| -> Vec<Rule> { words.iter().map(|word| word.parse().unwrap()).collect() };
    Permissions {
        deny: list(deny),
        ask: list(ask),
        allow: list(allow),
        ..Permissions::default()
    }
}

/// What the gate did with one line.
#[derive(Default, Debug)]
pub(in crate::relay) struct Did {
    pub(in crate::relay) host: Vec<Value>,
    pub(in crate::relay) server: Vec<Vec<u8>>,
}

pub(in crate::relay) struct Play {
    pub(in crate::relay) gate: Gate,
    pub(in crate::relay) id: u64,
}

impl Play {
    pub(in crate::relay) fn new(permissions: Permissions) -> Self {
        let mut settings = settings();
        settings.max_message_bytes = 100_000;
        let tools = TOOLS.map(|name| (Kind::Tool, name));
        let prompts = PROMPTS.map(|name| (Kind::Prompt, name));
        let approved = tools.into_iter().chain(prompts);
        let item = |(kind, name)| Item::listed(kind, json!({ "name": name })).unwrap();
        settings.surface = Some(approved.map(item).collect());
        settings.rules = Rules {
            permissions,
            ask_limit: Duration::from_secs(60),
            ..Rules::default()
        };
        Self {
            gate: Gate::new(&settings, moment()),
            id: 0,
        }
    }

    /// A session of the legacy era with a host that declares this.
    pub(in crate::relay) fn legacy(permissions: Permissions, capabilities: Value) -> Self {
        let mut play = Self::new(permissions);
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": capabilities});
        assert_eq!(play.ask("initialize", hello).server.len(), 1);
        play.server(&json!({"jsonrpc": "2.0", "id": play.id, "result": {}}));
        play.host(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        play
    }

    pub(in crate::relay) fn host(&mut self, line: &[u8]) -> Did {
        let step = self.gate.host_line(line);
        self.did(step, Some(line))
    }

    pub(in crate::relay) fn server(&mut self, message: &Value) -> Did {
        let step = self.gate.server_line(message.to_string().as_bytes());
        let forwarded = step == Step::Forward;
        let mut did = self.did(step, None);
        if forwarded {
            did.host.push(message.clone());
        }
        did
    }

    pub(in crate::relay) fn did(&mut self, step: Step, line: Option<&[u8]>) -> Did {
        let mut did = Did::default();
        while !self.gate.effects.is_empty() {
            for effect in std::mem::take(&mut self.gate.effects) {
                match effect {
                    Effect::ToHost(lines) => did.host.extend(values(&lines)),
                    Effect::ToServer(line) => {
                        let line = line.strip_suffix(b"\n").unwrap();
                        if !self.lists(line) {
                            did.server.push(line.to_vec());
                        }
                    }
                    _ => {}
                }
            }
        }
        match (step, line) {
            (Step::Forward, Some(line)) => did.server.push(line.to_vec()),
            (
                Step::Withhold(Withheld {
                    to_host, to_server, ..
                }),
                _,
            ) => {
                did.host.extend(values(&to_host));
                let lines = to_server.split(|byte| *byte == b'\n');
                did.server
                    .extend(lines.filter(|line| !line.is_empty()).map(<[u8]>::to_vec));
            }
            _ => {}
        }
        did
    }

    /// Whether that is a question of the relay's own for a list, which is answered then.
    fn lists(&mut self, line: &[u8]) -> bool {
        let asked: Value = serde_json::from_slice(line).unwrap();
        if !asked["id"]
            .as_str()
            .is_some_and(|id| id.starts_with(reading::PREFIX))
        {
            return false;
        }
        let named = |names: &[&str]| -> Vec<Value> {
            names.iter().map(|name| json!({ "name": name })).collect()
        };
        let result = match asked["method"].as_str().unwrap() {
            "tools/list" => json!({"tools": named(&TOOLS)}),
            "prompts/list" => json!({"prompts": named(&PROMPTS)}),
            "resources/list" => json!({"resources": []}),
            _ => json!({"resourceTemplates": []}),
        };
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
        let step = self.gate.server_line(answer.to_string().as_bytes());
        assert_eq!(step, Step::Skip);
        true
    }

    pub(in crate::relay) fn ask(&mut self, method: &str, params: Value) -> Did {
        self.id += 1;
        let line = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params});
        self.host(line.to_string().as_bytes())
    }

    pub(in crate::relay) fn call(&mut self, tool: &str) -> Did {
        self.ask("tools/call", json!({"name": tool, "arguments": {"a": 1}}))
    }

    pub(in crate::relay) fn modern(&mut self, tool: &str, further: Value) -> Did {
        let mut params = json!({
            "name": tool, "arguments": {"a": 1},
            "_meta": {META: "2026-07-28", CAPABILITIES: {"elicitation": {}}},
        });
        let members = params.as_object_mut().unwrap();
        members.extend(further.as_object().unwrap().clone());
        self.ask("tools/call", params)
    }

    pub(in crate::relay) fn says(&mut self, question: &Value, result: Value) -> Did {
        let line = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
        self.host(line.to_string().as_bytes())
    }
}

fn values(lines: &[u8]) -> Vec<Value> {
    let lines = lines.split(|byte| *byte == b'\n');
    lines
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

/// The refusal in the one answer that went to the host.
pub(in crate::relay) fn refusal(did: &Did) -> (String, String) {
    assert!(did.server.is_empty(), "{did:?}");
    let result = &did.host.last().unwrap()["result"];
    assert_eq!(result["isError"], true);
    let facts = &result["_meta"]["supervisor/refusal"];
    assert_eq!(
        (&facts["refused"], &facts["retry_will_succeed"]),
        (&json!(true), &json!(false))
    );
    let word = |key: &str| facts[key].as_str().unwrap().to_owned();
    (word("layer"), word("reason"))
}

fn refused(layer: &str, reason: &str) -> (String, String) {
    (layer.to_owned(), reason.to_owned())
}

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

#[test]
fn a_question_holds_its_call_and_nothing_else() {
    let mut play = Play::legacy(
        permissions(&[], &["Mcp(weather:go)"], &[]),
        json!({"elicitation": {}}),
    );
    let line = br#"{ "params":{"name":"go","arguments":{"x":1.0}},"id":"a","jsonrpc":"2.0","method":"tools/call" }"#;
    let did = play.host(line);
    assert!(did.server.is_empty());
    let question = did.host[0].clone();
    assert_eq!(question["method"], "elicitation/create");
    let message = question["params"]["message"].as_str().unwrap();
    assert!(
        message.contains("tool: go") && message.contains(r#"{"x":1.0}"#),
        "{message}"
    );
    assert_eq!(play.call("stay").server.len(), 1);
    // The id waits for its answer.
    assert_eq!(play.host(line).host[0]["error"]["code"], -32600);
    let did = play.says(&question, json!({"action": "accept", "content": {}}));
    assert_eq!((did.host.len(), did.server), (0, vec![line.to_vec()]));
    // A second answer goes nowhere.
    let again = play.says(&question, json!({"action": "accept"}));
    assert!(again.host.is_empty() && again.server.is_empty());
    let answer = json!({"jsonrpc": "2.0", "id": "a", "result": {"content": []}});
    assert_eq!(play.server(&answer).host, [answer]);
}

#[test]
fn only_a_yes_lets_a_call_through() {
    for (result, reason) in [
        (json!({"action": "decline"}), "ask-declined"),
        (json!({"action": "cancel"}), "ask-cancelled"),
        (json!({"action": "Accept"}), "ask-unanswered"),
        (json!({"action": true}), "ask-unanswered"),
        (json!({}), "ask-unanswered"),
        (json!([]), "ask-unanswered"),
    ] {
        let mut play = Play::legacy(
            permissions(&[], &["Mcp(weather)"], &[]),
            json!({"elicitation": {}}),
        );
        let question = play.call("go").host[0].clone();
        let did = play.says(&question, result.clone());
        assert_eq!(refusal(&did), refused("rule", reason), "{result}");
        assert_eq!(did.host[0]["id"], play.id);
    }
    let mut play = Play::legacy(
        permissions(&[], &["Mcp(weather)"], &[]),
        json!({"elicitation": {}}),
    );
    let question = play.call("go").host[0].clone();
    let error =
        json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32601, "message": ""}});
    assert_eq!(
        refusal(&play.host(error.to_string().as_bytes())),
        refused("rule", "ask-failed")
    );
}

#[test]
fn a_host_that_cannot_ask_gets_a_refusal_that_says_so() {
    for capabilities in [
        json!({}),
        json!({"elicitation": {"url": {}}}),
        json!({"elicitation": null}),
    ] {
        let mut play = Play::legacy(permissions(&[], &["Mcp(weather)"], &[]), capabilities);
        let did = play.call("go");
        assert_eq!(refusal(&did), refused("rule", "ask-impossible"));
        let text = did.host[0]["result"]["content"][0]["text"]
            .as_str()
            .unwrap();
        assert!(
            text.contains("elicitation") && text.contains("supervisor rules drop weather"),
            "{text}"
        );
    }
    let mut floor = permissions(&[], &[], &["Mcp(weather:go)"]);
    floor.floor = Action::Ask;
    let mut play = Play::legacy(floor, json!({}));
    assert_eq!(
        refusal(&play.call("go")),
        refused("policy", "ask-impossible")
    );
}

#[test]
fn what_changed_while_a_call_waited_holds_for_it() {
    let rules = permissions(&[], &["Mcp(weather)"], &[]);
    let mut play = Play::legacy(rules, json!({"elicitation": {}}));
    let question = play.call("go").host[0].clone();
    let denied = permissions(&["Mcp(weather:go)"], &[], &[]);
    play.gate.set_rules(Ok(Rules {
        permissions: denied,
        ..Rules::default()
    }));
    let did = play.says(&question, json!({"action": "accept"}));
    assert_eq!(refusal(&did), refused("rule", "call-denied"));
}

#[test]
fn a_call_that_is_cancelled_or_too_old_waits_no_longer() {
    let mut play = Play::legacy(
        permissions(&[], &["Mcp(weather)"], &[]),
        json!({"elicitation": {}}),
    );
    let question = play.call("go").host[0].clone();
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": play.id}});
    let did = play.host(cancel.to_string().as_bytes());
    assert!(did.server.is_empty(), "the server never saw the call");
    assert_eq!(did.host[0]["params"]["requestId"], question["id"]);
    let late = play.says(&question, json!({"action": "accept"}));
    assert!(late.server.is_empty() && late.host.is_empty());

    let question = play.call("go").host[0].clone();
    play.gate.now.at += Duration::from_secs(60);
    assert!(play.gate.deadline().is_some());
    let expired = values(&play.gate.expire().to_host);
    assert_eq!(expired[0]["params"]["requestId"], question["id"]);
    assert_eq!(
        expired[1]["result"]["_meta"]["supervisor/refusal"]["reason"],
        "ask-timeout"
    );
    assert!(
        play.says(&question, json!({"action": "accept"}))
            .server
            .is_empty()
    );

    play.call("go");
    let closed = values(&play.gate.close(Gone::Mute));
    assert_eq!(
        (closed.len(), &closed[1]["error"]["code"]),
        (2, &json!(answer::SERVER_ENDED))
    );
}

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
        breaker.after(super::super::Verdict::Failed, play.gate.now.of_day)
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
