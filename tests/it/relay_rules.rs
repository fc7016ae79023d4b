//! The person's rules and the administrator's floors, against the program as a host runs it.

use serde_json::{Value, json};

use crate::support::described::Described;
use crate::support::fleet::Fleet;
use crate::support::page::Page;
use crate::support::{Host, TestContext, Who};

const TEXT: &str = "a <|im_start|> b";

fn settings(context: &TestContext, permissions: &Value, further: &Value) {
    let mut all = json!({"version": 1, "permissions": permissions});
    all.as_object_mut()
        .unwrap()
        .extend(further.as_object().unwrap().clone());
    context.make_file("home/.supervisor/settings.json", &all.to_string());
}

fn call(host: &mut Host, tool: &str) -> Value {
    host.request(
        "tools/call",
        &json!({"name": tool, "arguments": {"text": TEXT}}),
    )
}

fn refusal(answer: &Value) -> (&str, &str) {
    let facts = &answer["result"]["_meta"]["supervisor/refusal"];
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    (
        facts["layer"].as_str().unwrap(),
        facts["reason"].as_str().unwrap(),
    )
}

fn started(context: &TestContext) -> Host {
    let program = TestContext::program("fixture-server");
    context.offered("s", &[], &[&program, "echo"]);
    let mut host = context.host("s");
    host.initialize();
    host
}

#[test]
fn a_rule_that_is_added_while_a_server_runs_holds_for_the_next_call() {
    let context = TestContext::ordinary();
    let mut host = started(&context);
    assert!(call(&mut host, "echo")["result"]["content"].is_array());
    assert!(context.run(&["rules", "deny", "s:echo"]).status.success());
    assert_eq!(refusal(&call(&mut host, "echo")), ("rule", "call-denied"));
    assert!(call(&mut host, "sink")["result"].get("_meta").is_none());
    assert!(context.run(&["rules", "ask", "s:echo"]).status.success());
    assert_eq!(
        refusal(&call(&mut host, "echo")),
        ("rule", "ask-impossible")
    );
    // What cannot be read any more is not known.
    context.make_file(
        "home/.supervisor/settings.json",
        r#"{"version":1,"permissions":{"deny":["s"]}}"#,
    );
    assert_eq!(
        refusal(&call(&mut host, "sink")),
        ("rule", "settings-unreadable")
    );
    settings(&context, &json!({}), &json!({}));
    assert!(call(&mut host, "echo")["result"].get("_meta").is_none());
    let (code, words) = host.end();
    assert_eq!(code, 0, "{words}");
    let shown = context.run(&["audit", "--json", "--outcome", "refused"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let reasons: Vec<&str> = shown["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["reason"].as_str().unwrap())
        .collect();
    assert_eq!(
        reasons,
        ["call-denied", "ask-impossible", "settings-unreadable"]
    );
}

#[test]
fn a_rule_for_what_a_server_asks_its_host_for_is_not_idle() {
    let context = TestContext::ordinary();
    let program = TestContext::program("fixture-server");
    context.offered("s", &[], &[&program, "echo"]);
    for (rule, idle) in [
        ("s:sampling/createMessage", false),
        ("s:elicitation/create", false),
        ("s:roots/list", false),
        ("s:echo", false),
        ("s:sampling", true),
        ("t:sampling/createMessage", true),
    ] {
        let shown = context.run(&["rules", "deny", rule, "--json"]);
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        let rows = shown["rules"].as_array().unwrap();
        let row = rows
            .iter()
            .find(|row| row["rule"] == format!("Mcp({rule})"));
        assert_eq!(row.unwrap()["idle"].is_string(), idle, "{shown}");
    }
}

#[test]
fn a_call_waits_for_the_persons_yes() {
    let context = TestContext::ordinary();
    let program = TestContext::program("fixture-server");
    context.offered("s", &[], &[&program, "echo"]);
    settings(&context, &json!({"ask": ["Mcp(s:echo)"]}), &json!({}));
    let mut host = context.host("s");
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "host", "version": "1"}});
    assert!(host.request("initialize", &hello)["result"].is_object());
    host.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    let line = r#"{ "id":"x","jsonrpc":"2.0","params":{"arguments":{"text":"so it is"},"name":"echo" },"method":"tools/call"}"#;
    for (action, passes) in [("accept", true), ("decline", false)] {
        host.write(format!("{line}\n").as_bytes());
        let question = host.message();
        assert_eq!(question["method"], "elicitation/create");
        // Nothing else waits.
        assert!(host.request("ping", &json!({}))["result"].is_object());
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": action, "content": {}}});
        host.write(format!("{answer}\n").as_bytes());
        let answer = host.message();
        assert_eq!(answer["id"], "x");
        if passes {
            assert!(answer.to_string().contains("so it is"), "{answer}");
            assert!(answer["result"].get("_meta").is_none(), "{answer}");
        } else {
            assert_eq!(refusal(&answer), ("rule", "ask-declined"));
        }
    }
    let (code, words) = host.end();
    assert_eq!(code, 0, "{words}");
}

/// Where the tests are started as root: nobody else lays a policy down.
#[test]
fn floors_hold_whatever_the_person_rules() {
    let Some(fleet) = Fleet::new(Who::Ordinary) else {
        return;
    };
    let (code, screen) = fleet
        .context
        .at_terminal(&["approve", "a", "--surface"], "y");
    assert_eq!(code, 0, "{screen}");
    settings(
        &fleet.context,
        &json!({"allow": ["Mcp(a)"]}),
        &json!({"mark_untrusted": false}),
    );
    for (floor, refused) in [
        (json!({"marking": true}), None),
        (json!({"calls": "ask"}), Some(("policy", "ask-impossible"))),
        (json!({"calls": "deny"}), Some(("policy", "call-denied"))),
    ] {
        let policy = json!({"mcp": {"floor": floor}});
        fleet.install("managed.json", &policy.to_string());
        let mut host = Host::start(fleet.command(&["run", "a"]));
        host.initialize();
        let answer = call(&mut host, "echo");
        match refused {
            Some(refused) => assert_eq!(refusal(&answer), refused),
            None => {
                let text = answer["result"]["content"][0]["text"].as_str().unwrap();
                let begins = "[untrusted text of a, tool echo: begins";
                assert!(text.starts_with(begins), "{text}");
                assert!(text.contains("< |im_start| >"), "{text}");
            }
        }
        let (code, words) = host.end();
        assert_eq!(code, 0, "{words}");
    }
}

/// A server with these tools, said yes to.
fn described() -> Described {
    let schema = json!({"type": "object", "additionalProperties": false, "required": ["city"],
        "properties": {"city": {"type": "string", "maxLength": 20}, "days": {"$ref": "#/$defs/days"}},
        "$defs": {"days": {"type": "integer", "minimum": 1}}});
    let says = json!({"eras": ["legacy", "modern"], "tools": [
        {"name": "plain", "inputSchema": schema},
        {"name": "strict", "inputSchema": schema, "outputSchema": {"type": "object"}},
        {"name": "remote", "inputSchema": {"$ref": "https://example.com/schema.json"}},
    ]});
    Described::offered("s", &[], &says)
}

const SECRET: &str = "sk-0123456789-0123456789";

/// Arguments that do not fit the approved schema never reach the server, in either era.
#[test]
fn arguments_are_held_against_the_approved_schema() {
    let context = described().context;
    settings(&context, &json!({}), &json!({"check_arguments": true}));
    for modern in [false, true] {
        let mut host = context.host("s");
        if !modern {
            host.initialize();
        }
        let mut call = |tool: &str, arguments: Value| {
            let mut params = json!({"name": tool, "arguments": arguments});
            if modern {
                params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {}});
            }
            host.request("tools/call", &params)
        };
        for tool in ["plain", "strict"] {
            let answer = call(tool, json!({"city": "Bern", "days": 2.0}));
            assert!(answer["result"].get("isError").is_none(), "{answer}");
            for (arguments, says) in [
                (
                    json!({"city": SECRET}),
                    "at /city it says at most 20 characters",
                ),
                (
                    json!({"city": "Bern", "days": 0}),
                    "at /days it says minimum: 1",
                ),
                (json!({"days": 1}), "at the top it says required: \"city\""),
                (
                    json!({"city": "Bern", "to": SECRET}),
                    "at /to it says nothing is allowed here",
                ),
            ] {
                let answer = call(tool, arguments);
                assert_eq!(refusal(&answer), ("surface", "arguments-invalid"));
                let text = answer.to_string();
                assert!(text.contains(&says.replace('"', "\\\"")), "{text}");
                assert!(!text.contains(SECRET), "{text}");
                // Strict clients hold that against the tool's own schema.
                let structured = answer["result"].get("structuredContent");
                assert_eq!(structured.is_some(), tool == "plain", "{answer}");
                let word = modern.then_some("complete");
                assert_eq!(answer["result"]["resultType"].as_str(), word);
            }
        }
        let answer = call("remote", json!({}));
        assert_eq!(refusal(&answer), ("surface", "arguments-unchecked"));
        assert!(
            answer
                .to_string()
                .contains("leads out of the document at /$ref"),
            "{answer}"
        );
        let (code, words) = host.end();
        assert_eq!(code, 0, "{words}");
    }
    let shown = context.run(&["audit", "--json", "--outcome", "refused"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["lines"].as_array().unwrap().len(), 18, "{shown}");
}

/// `tests/cli/checked-arguments.md` tells it, and every line of that page is compared.
#[test]
fn arguments_that_do_not_fit_from_the_settings_to_the_log() {
    let schema = json!({"type": "object", "additionalProperties": false, "required": ["city"],
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}}});
    let says = json!({"tools": [
        {"name": "forecast", "description": "The weather of some days", "inputSchema": schema},
        {"name": "lookup", "inputSchema": {"$ref": "https://example.com/schema.json"}},
    ]});
    let weather = Described::offered("weather", &["--net", "none"], &says);
    let mut page = Page::new(&weather.context);
    page.command(&["tools", "weather"]);
    page.settings(r#"{"version": 1, "check_arguments": true}"#);
    let mut host = weather.host();
    host.initialize();
    for (tool, arguments) in [
        ("forecast", r#"{"city": "Bern", "days": 2}"#),
        ("forecast", r#"{"city": "Bern", "days": "2"}"#),
        ("forecast", r#"{"days": 2}"#),
        ("forecast", r#"{"city": "Bern", "path": "/etc/passwd"}"#),
        ("lookup", "{}"),
    ] {
        page.call(&mut host, tool, arguments);
    }
    page.settings(r#"{"version": 1, "check_arguments": "yes"}"#);
    page.call(&mut host, "forecast", r#"{"city": "Bern"}"#);
    page.settings(r#"{"version": 1}"#);
    page.call(&mut host, "forecast", "{}");
    host.end();
    page.is_told_by(include_str!("../cli/checked-arguments.md"));
}

/// A person is not asked about what does not fit, and what they said yes to is checked once more.
#[test]
fn a_call_that_was_put_to_the_person_is_checked_before_and_after() {
    let context = described().context;
    let ask = json!({"ask": ["Mcp(s)"]});
    let mut host = context.host("s");
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "host", "version": "1"}});
    for (checked, method) in [(true, Value::Null), (false, json!("elicitation/create"))] {
        settings(&context, &ask, &json!({"check_arguments": checked}));
        if checked {
            assert!(host.request("initialize", &hello)["result"].is_object());
            host.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        }
        let call = json!({"jsonrpc": "2.0", "id": "x", "method": "tools/call",
            "params": {"name": "plain", "arguments": {"city": 7}}});
        host.write(format!("{call}\n").as_bytes());
        let said = host.message();
        assert_eq!(said["method"], method, "{said}");
        if checked {
            assert_eq!(refusal(&said), ("surface", "arguments-invalid"));
            continue;
        }
        settings(&context, &ask, &json!({"check_arguments": true}));
        let yes = json!({"jsonrpc": "2.0", "id": said["id"], "result": {"action": "accept", "content": {}}});
        host.write(format!("{yes}\n").as_bytes());
        assert_eq!(refusal(&host.message()), ("surface", "arguments-invalid"));
    }
    let (code, words) = host.end();
    assert_eq!(code, 0, "{words}");
}
