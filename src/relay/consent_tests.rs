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

#[path = "consent_held_tests.rs"]
mod held;

#[path = "consent_modern_tests.rs"]
mod modern;

#[path = "consent_ruled_tests.rs"]
mod ruled;
