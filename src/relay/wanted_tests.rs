use serde_json::{Value, json};

use super::super::Permissions;
use super::super::consent::tests::{Play, permissions, refusal};

const META: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// What a server may ask for, and what a host must declare for it.
fn wants() -> Vec<(Value, Value)> {
    let form = json!({"message": "name?", "requestedSchema": {"type": "object", "properties": {}}});
    let page = json!({"mode": "url", "message": "go", "url": "https://example.com"});
    let talk = json!({"messages": [], "maxTokens": 1});
    let tools = json!({"messages": [], "maxTokens": 1, "tools": []});
    vec![
        (
            json!({"method": "elicitation/create", "params": form}),
            json!({"elicitation": {}}),
        ),
        (
            json!({"method": "elicitation/create", "params": page}),
            json!({"elicitation": {"url": {}}}),
        ),
        (
            json!({"method": "sampling/createMessage", "params": talk}),
            json!({"sampling": {}}),
        ),
        (
            json!({"method": "sampling/createMessage", "params": tools}),
            json!({"sampling": {"tools": {}}}),
        ),
        (json!({"method": "roots/list"}), json!({"roots": {}})),
    ]
}

/// Whether the host of this declaration is asked, as a request of the server's.
fn legacy(want: &Value, declared: &Value, rules: Permissions) -> Result<(), i64> {
    let mut play = Play::legacy(rules, declared.clone());
    let mut line = json!({"jsonrpc": "2.0", "id": 7});
    line.as_object_mut()
        .unwrap()
        .extend(want.as_object().unwrap().clone());
    let did = play.server(&line);
    match did.host.as_slice() {
        [passed] => {
            assert_eq!((passed, did.server.len()), (&line, 0));
            Ok(())
        }
        _ => {
            let answer: Value = serde_json::from_slice(&did.server[0]).unwrap();
            assert_eq!(answer["id"], 7);
            Err(answer["error"]["code"].as_i64().unwrap())
        }
    }
}

/// The same, as an entry of a result to this request.
fn modern(method: &str, want: &Value, declared: &Value, rules: Permissions) -> Result<(), String> {
    let mut play = Play::new(rules);
    let meta = json!({META: "2026-07-28", CAPABILITIES: declared});
    let did = play.ask(
        method,
        json!({"name": "go", "uri": "x:y", "taskId": "t", "_meta": meta}),
    );
    assert_eq!(did.server.len(), 1);
    let answer = json!({"jsonrpc": "2.0", "id": play.id, "result": {
        "resultType": "input_required", "status": "input_required",
        "requestState": "s", "inputRequests": {"one": want}}});
    let did = play.server(&answer);
    assert_eq!(did.host.len(), 1);
    if did.host == [answer] {
        return Ok(());
    }
    assert_eq!(did.host[0]["id"], play.id);
    if method == "tools/call" {
        let (layer, reason) = refusal(&did);
        assert_eq!(layer, "rule");
        return Err(reason);
    }
    assert_eq!(did.host[0]["error"]["code"], -31135);
    Err("error".to_owned())
}

#[test]
fn nothing_reaches_a_host_that_did_not_declare_it_on_either_road() {
    for (want, declared) in wants() {
        let none = Permissions::default;
        assert_eq!(legacy(&want, &declared, none()), Ok(()), "{want}");
        assert_eq!(legacy(&want, &json!({}), none()), Err(-32601), "{want}");
        for method in ["tools/call", "prompts/get", "resources/read", "tasks/get"] {
            assert_eq!(
                modern(method, &want, &declared, none()),
                Ok(()),
                "{method} {want}"
            );
            let refused = modern(method, &want, &json!({}), none()).unwrap_err();
            let expected = if method == "tools/call" {
                "capability-undeclared"
            } else {
                "error"
            };
            assert_eq!(refused, expected, "{method} {want}");
        }
    }
    let page = &wants()[1].0;
    assert!(legacy(page, &json!({"elicitation": {}}), Permissions::default()).is_err());
    let form = &wants()[0].0;
    assert!(
        legacy(
            form,
            &json!({"elicitation": {"url": {}}}),
            Permissions::default()
        )
        .is_err()
    );
    let tools = &wants()[3].0;
    assert!(
        modern(
            "tools/call",
            tools,
            &json!({"sampling": {}}),
            Permissions::default()
        )
        .is_err()
    );
}

#[test]
fn a_rule_decides_alike_on_both_roads() {
    for (want, declared) in wants() {
        let method = want["method"].as_str().unwrap();
        for (rule, denied) in [
            (format!("Mcp(weather:{method})"), true),
            ("Mcp(weather:*)".to_owned(), false),
            (format!("Mcp(other:{method})"), false),
        ] {
            let rules = || permissions(&[&rule], &[], &[]);
            let first = legacy(&want, &declared, rules());
            assert_eq!(
                first,
                if denied { Err(-1) } else { Ok(()) },
                "{rule} {want}"
            );
            let second = modern("prompts/get", &want, &declared, rules());
            assert_eq!(second.is_err(), denied, "{rule} {want}");
        }
        let whole = || permissions(&["Mcp(weather)"], &[], &[]);
        assert_eq!(legacy(&want, &declared, whole()), Err(-1));
        let mut play = Play::new(Permissions::default());
        let meta = json!({META: "2026-07-28", CAPABILITIES: declared});
        play.ask("tools/call", json!({"name": "go", "_meta": meta}));
        play.gate.set_rules(Ok(super::Rules {
            permissions: whole(),
            ..super::Rules::default()
        }));
        let round =
            json!({"jsonrpc": "2.0", "id": play.id, "result": {"inputRequests": {"one": want}}});
        assert_eq!(refusal(&play.server(&round)).1, "request-denied");
    }
}

#[test]
fn what_two_readers_could_read_in_two_ways_is_not_passed_on() {
    let all = json!({"elicitation": {}, "sampling": {}, "roots": {}});
    for requests in [
        r#"{"one":{"method":"roots/list"},"two":{"method":"else/where"}}"#,
        r#"{"one":{"method":"roots/list","method":"sampling/createMessage"}}"#,
        r#"{"one":{"method":"roots/list","Method":"sampling/createMessage"}}"#,
        r#"{"one":{"params":{}}}"#,
        r#"{"one":7}"#,
        r#"{"one":{"method":"elicitation/create","params":{"mode":"form","Mode":"url"}}}"#,
        r#"{"one":{"method":"elicitation/create","params":{},"params":{"mode":"url"}}}"#,
    ] {
        let mut play = Play::new(permissions(
            &["Mcp(weather:sampling/createMessage)"],
            &[],
            &[],
        ));
        let meta = json!({META: "2026-07-28", CAPABILITIES: all});
        play.ask("tools/call", json!({"name": "go", "_meta": meta}));
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"InputRequests":{requests}}}}}"#,
            play.id
        );
        let step = play.gate.server_line(line.as_bytes());
        assert!(matches!(step, super::Step::Withhold(_)), "{requests}");
    }
}

#[test]
fn what_is_told_of_a_task_is_judged_too() {
    let mut play = Play::new(Permissions::default());
    let meta = json!({META: "2026-07-28", CAPABILITIES: {"roots": {}}});
    play.ask("tools/call", json!({"name": "go", "_meta": meta}));
    let told = |method: &str| {
        json!({"jsonrpc": "2.0", "method": "notifications/tasks", "params": {
            "taskId": "t", "status": "input_required", "inputRequests": {"one": {"method": method}}}})
    };
    assert_eq!(play.server(&told("roots/list")).host.len(), 1);
    assert!(play.server(&told("sampling/createMessage")).host.is_empty());
}

/// A name that spells no characters stands beside it (some readers take that), or a letter that
/// others take for one of ours.
#[test]
fn what_is_asked_for_is_seen_beside_a_name_that_not_every_reader_takes() {
    let requests = r#"{"one":{"method":"sampling/createMessage"}}"#;
    for result in [
        format!(r#"{{"\ud800":1,"inputRequests":{requests}}}"#),
        format!(r#"{{"inputRequests":{requests},"a\udfff":{{}}}}"#),
        format!(r#"{{"inputReque\u017fts":{requests}}}"#),
        format!(r#"{{"inputRequests":null,"inputRequests":{requests}}}"#),
        r#"{"inputRequests":{"\ud800":{"method":"sampling/createMessage"}}}"#.to_owned(),
    ] {
        let mut play = Play::new(Permissions::default());
        let meta = json!({META: "2026-07-28", CAPABILITIES: {"elicitation": {}}});
        play.ask("tools/call", json!({"name": "go", "_meta": meta}));
        let line = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, play.id);
        let step = play.gate.server_line(line.as_bytes());
        assert!(matches!(step, super::Step::Withhold(_)), "{result}");
    }
}
