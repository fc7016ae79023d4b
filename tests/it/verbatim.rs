//! What no rule touches is passed on byte for byte, with every rule on: a host and a server that play
//! a script of messages in every spelling that JSON has, and compare what came with what was sent.

use serde_json::{Value, json};

use crate::support::TestContext;

/// What one side writes, and what the other one must read: the line end and a byte order mark are
/// no part of a message.
struct Turn {
    host: String,
    server: Vec<String>,
}

fn turn(host: &str, server: &[&str]) -> Turn {
    Turn {
        host: host.to_owned(),
        server: server.iter().map(|line| (*line).to_owned()).collect(),
    }
}

/// The message of a line: without its CR and its byte order mark.
fn message(line: &str) -> &str {
    let line = line.strip_prefix('\u{feff}').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// What is approved; the scripts list the same in other spellings.
fn surface() -> Value {
    json!({
        "eras": ["legacy", "modern"],
        "instructions": "Keeps notes: \"é\" / 雪.",
        "tools": [
            {"name": "say", "inputSchema": {"type": "object", "x": 1e21},
             "annotations": {"readOnlyHint": true}},
            {"name": "get", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}},
            {"name": "write", "inputSchema": {"type": "object"}},
            {"name": "wipe", "inputSchema": {"type": "object"}},
        ],
        "prompts": [{"name": "p", "description": "a\tb"}],
        "resources": [{"uri": "x://r", "name": "r"}],
        "templates": [{"uriTemplate": "t://{id}", "name": "t"}],
    })
}

const TOOLS: &str = r#"{"tools" : [ {"annotations":{ "readOnlyHint":true },"inputSchema":{"x":1000000000000000000000.0 ,"type":"\u006fbject"},"name":"s\u0061y"} ,	{"outputSchema":{"type":"object"},"name":"get","inputSchema":{"type":"object"}},{"name":"write","inputSchema":{"type":"object"}},{"inputSchema":{"type":"object"},"name":"wipe"}] , "ttlMs":0.0,"x":[1e400,-0,"\ud800"]META}"#;
const PROMPTS: &str =
    r#"{"x":{"a":1,"a":2},"prompts":[{"description":"a\u0009b" , "name":"p"}]META}"#;
const RESOURCES: &str =
    r#"{"resources":[ {"name":"r","uri":"x:\/\/r"} ],"nextCursor" : null META}"#;
const TEMPLATES: &str =
    r#"{ "resourceTemplates":[{"uriTemplate":"t:\u002f/{id}","name":"t"}]META}"#;

/// JSON in spellings that a reader which writes it anew would not keep.
const ODD: [&str; 9] = [
    r#"{"z":1,"a":2,"m":{"b":[],"a":{}}}"#,
    "{ \"a\" :\t1.0 , \"b\":  [ 1E+2 ,1e-7,-0, -0.0,100e-2 ]  }",
    r#"{"big":123456789012345678901234567890,"tiny":1e-400,"huge":1e400,"f":0.1000000000000000055511151231257827}"#,
    r#"{"\u0061\/\"\\\b\f\n\r\t":"\u00e9\ud83d\ude00\u2028\u0000\u007f"}"#,
    "{\"é雪\":\"日本語 \u{2028}\u{2029}\u{85}\u{feff}\u{202e}\u{200b}\u{e0041} 😀\"}",
    r#"{"twice":1,"twice":2,"Twice":[{"id":1,"id":2,"method":"x","jsonrpc":"1.0"}]}"#,
    r#"{"half":"\ud800 and \udfff","ansi":"\u001b[31m","token":"<|im_start|>system [INST] </s>"}"#,
    r#"{"deep":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[{"a":[null,true,false]}]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}"#,
    r#"{"":"","name":"wipe","tools":[],"_meta":{"supervisor/refusal":null},"requestState":"supervisor"}"#,
];

/// Those of them that two readers could read in two ways: where arguments are checked, they fit nothing.
const TWOFOLD: [usize; 3] = [2, 5, 6];

/// The lists, each in its own spelling, so that nothing has to be read between.
fn lists(meta: &str, done: &str) -> Vec<Turn> {
    let kinds = [
        ("tools/list", TOOLS),
        ("prompts/list", PROMPTS),
        ("resources/list", RESOURCES),
        ("resources/templates/list", TEMPLATES),
    ];
    let list = |(number, (method, result)): (usize, (&str, &str))| {
        let id = format!("\"l\\u002d{number}\"");
        let result = result.replace("META", done);
        turn(
            &format!(
                r#" {{"method":"{method}" , "id":{id},"jsonrpc":"2.0","params":{{ {meta} }}}}"#
            ),
            &[&format!(
                "{{\"result\":{result} ,\"id\":\"l-{number}\",\t\"jsonrpc\":\"2.0\"}}  "
            )],
        )
    };
    kinds.into_iter().enumerate().map(list).collect()
}

/// Requests that have a server do something, and its results, in every odd spelling.
fn requests(meta: &str, done: &str, checked: bool) -> Vec<Turn> {
    let mut turns = Vec::new();
    let comma = if meta.is_empty() { "" } else { "," };
    for (number, odd) in ODD.iter().enumerate() {
        let arguments = match checked && TWOFOLD.contains(&number) {
            true => "{\t}",
            false => odd,
        };
        let tool = ["say", "g\\u0065t"][number % 2];
        let end = ["", "\r"][number % 2];
        let mark = ["", "\u{feff}"][usize::from(number % 3 == 0)];
        let id = format!("-9{number}000000000000000000001");
        turns.push(turn(
            &format!(
                r#"{mark}{{ "params":{{"arguments":{arguments} ,"name":"{tool}"{comma}{meta}}},"id":{id},"method":"tools\/call","x":{odd},"jsonrpc":"2.0"}}{end}"#
            ),
            &[&format!(
                r#"{mark}{{"result":{{"structuredContent":{odd},"content":[ {{"text":"<|im_end|>\u001b[0m","type":"text","_meta":{odd}}} ],"isError":false,"_meta":{odd}{done}}},"y":{odd},"id":{id} ,"jsonrpc":"2.0"}}{end}"#
            )],
        ));
    }
    for (number, (method, params, result)) in [
        ("prompts/get", r#""name":"\u0070","arguments":{"a":"\/"}"#, r#""messages":[{"role":"user","content":{"type":"text","text":"[INST]"}}]"#),
        ("resources/read", r#""uri":"x:\/\/r""#, r#""contents":[{"uri":"x://r","text":"\ud83d\ude00","mimeType":"text/html"},{"uri":"x://r","blob":"AA=="}]"#),
        ("resources/read", r#""uri":"t://7""#, r#""contents":[]"#),
        ("resources/subscribe", r#""uri":"x://r""#, r#""x":1.10"#),
        ("completion/complete", r#""ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"\u0000"}"#, r#""completion":{"values":[ ],"total":0.0}"#),
        ("logging/setLevel", r#""level":"debug""#, r#""x":-0"#),
        ("tasks/get", r#""taskId":"1""#, r#""status":"working","pollInterval":1E3"#),
        ("x/y\\u007a", r#""odd":[1.00]"#, r#""odd":{"a":1,"a":1}"#),
        ("ping", r#""x":1"#, r#""x" : 1"#),
    ]
    .into_iter()
    .enumerate()
    {
        turns.push(turn(
            &format!(r#"{{"id":9{number}00,"jsonrpc":"2.0","method":"{method}","params":{{{params}{comma}{meta}}}}}"#),
            &[
                r#"{"jsonrpc":"2.0","method":"notifications\/message","params":{"level":"info","data":{"a":1.0,"a":"\u001b"}}}"#,
                &format!(r#"{{"jsonrpc":"2.0","result":{{{result}{done}}},"id":9{number}00}}"#),
            ],
        ));
    }
    let large = "é\\u00e9/\\/".repeat(60_000);
    turns.push(turn(
        &format!(r#"{{"jsonrpc":"2.0","id":"large","method":"tools/call","params":{{"name":"say","arguments":{{"a":"{large}"}}{comma}{meta}}}}}"#),
        &[&format!(r#"{{"jsonrpc":"2.0","id":"large","result":{{"content":[{{"type":"text","text":"{large}"}}]{done}}}}}"#)],
    ));
    turns
}

/// Notifications of the host's, and of the server's that come without being asked.
fn notifications() -> Vec<Turn> {
    vec![
        turn(
            "{\"params\":{\"requestId\":\"nobody\" ,\"reason\":\"\\u00e9\"},\"method\":\"notifications/cancelled\",\"jsonrpc\":\"2.0\"}\r",
            &[
                r#"{ "jsonrpc":"2.0" ,"method":"notifications/progress","params":{"progressToken":1.5,"progress":1e0,"x":{"a":1,"a":2}}}"#,
                "{\"method\":\"x/odd\",\"jsonrpc\":\"2.0\",\"params\":[1,2.0,\"\u{2028}\"]}\r",
            ],
        ),
        turn(
            r#"{"jsonrpc":"2.0","method":"x\/odd","params":{"a":1e400,"a":-0}}"#,
            &[
                r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:\/\/r"}}"#,
            ],
        ),
    ]
}

/// What a server of the legacy era asks its host for, and what it is answered.
fn questions() -> Vec<Turn> {
    let mut turns = vec![turn(
        r#"{"jsonrpc":"2.0","method":"notifications/initialized","x":[1.0]}"#,
        &[
            r#"{"id" : "\u0070ing","jsonrpc":"2.0","method":"ping"}"#,
            r#"{"params":{"_meta":{"a":1,"a":2}},"id":-5,"jsonrpc":"2.0","method":"roots\/list"}"#,
            r#"{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"sampling/createMessage","params":{"maxTokens":1E2,"messages":[{"role":"user","content":{"type":"text","text":"<|im_start|>\ud800"}}],"tools":[ ]}}"#,
            r#"{"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{"message":"\u001b[2J?","requestedSchema":{"type":"object","properties":{ }}}}"#,
        ],
    )];
    for answer in [
        r#"{"result":{ } ,"id":"ping","jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":-5,"result":{"roots":[{"uri":"file:\/\/\/a","x":1.0}],"x":{"a":1,"a":2}}}"#,
        r#"{"jsonrpc":"2.0","error":{"message":"\u006eo","code":-1,"data":{"a":1e400}},"id":123456789012345678901234567890}"#,
        "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0065\",\"result\":{\"action\":\"accept\",\"content\":{\"é\":-0.0}}}\r",
    ] {
        turns.push(turn(answer, &[]));
    }
    turns
}

/// Errors of the server's: with `own_words` they are put in the supervisor's.
fn errors(meta: &str) -> Vec<Turn> {
    let comma = if meta.is_empty() { "" } else { "," };
    [
        ("tools/call", r#""name":"say""#, -32_602),
        ("prompts/get", r#""name":"p""#, -32_000),
        ("x/y", r#""a":1"#, -32_601),
    ]
    .into_iter()
    .enumerate()
    .map(|(number, (method, params, code))| {
        turn(
            &format!(r#"{{"jsonrpc":"2.0","id":"e{number}","method":"{method}","params":{{{params}{comma}{meta}}}}}"#),
            &[&format!(r#"{{"error":{{"data":{{"a":1.0,"a":"\/"}},"code":{code} ,"message":"\u001b[31mno"}},"id":"e{number}","jsonrpc":"2.0"}}"#)],
        )
    })
    .collect()
}

fn legacy(checked: bool) -> Vec<Turn> {
    let mut turns = vec![turn(
        "\u{feff}{\"params\":{\"clientInfo\":{\"version\":\"1\",\"name\":\"h\\u006fst\"},\"capabilities\":{\"sampling\":{\"tools\":{}},\"roots\":{\"listChanged\":true},\"elicitation\":{\"form\":{},\"url\":{}}},\"protocolVersion\":\"2025-11-25\" , \"x\":1.0},\"method\":\"initialize\",\"id\":\"\\u0030\",\"jsonrpc\":\"2.0\"}\r",
        &[
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"up\u0021","level":"info"}}"#,
            r#"{"id":"0" ,"result":{"instructions":"Keeps notes: \"\u00e9\" \/ \u96ea.","serverInfo":{"version":"1","name":"n"},"capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true},"completions":{},"logging":{},"x":1e400},"protocolVersion":"2025-11-25"},"jsonrpc":"2.0"}"#,
        ],
    )];
    turns.extend(questions());
    turns.extend(lists("", ""));
    turns.extend(requests("", "", checked));
    turns.extend(notifications());
    turns
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/clientInfo":{"name":"host","version":"1"},"io.modelcontextprotocol\/clientCapabilities":{"elicitation":{"form":{ }}},"io.modelcontextprotocol/protocolVersion":"2026-07-28","x":[1.0,1e400]}"#;

fn modern(checked: bool) -> Vec<Turn> {
    let done = r#","resultType":"complete""#;
    let mut turns = vec![turn(
        &format!(r#"{{"method":"server\/discover","params":{{ {META} }},"id":7,"jsonrpc":"2.0"}}"#),
        &[
            r#"{"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"n","version":"1"},"instructions":"Keeps notes: \"é\" / 雪.","ttlMs":0.0,"resultType":"complete"},"id":7,"jsonrpc":"2.0"}"#,
        ],
    )];
    turns.extend(lists(META, done));
    turns.extend(requests(META, done, checked));
    // A question of the server's own, in a result, and the attempt that brings the answer.
    turns.push(turn(
        &format!(r#"{{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{{"name":"say",{META}}}}}"#),
        &[
            r#"{"jsonrpc":"2.0","id":"q","result":{"requestState":"s\u0074","resultType":"input_required","inputRequests":{"\u0061":{"params":{"message":"\u001b?","requestedSchema":{"type":"object","properties":{ }}},"method":"elicitation\/create"}}}}"#,
        ],
    ));
    turns.push(turn(
        &format!(r#"{{"jsonrpc":"2.0","id":"r","method":"tools/call","params":{{"requestState":"\u0073t","inputResponses":{{"a":{{"action":"accept","content":{{"x":1.0}}}}}},"name":"say",{META}}}}}"#),
        &[r#"{"jsonrpc":"2.0","id":"r","result":{"content":[],"resultType":"complete"}}"#],
    ));
    turns.extend(notifications());
    turns
}

/// Every rule there is, and none that names what is called here.
fn settings(all: bool) -> Value {
    json!({
        "version": 1,
        "permissions": {
            "deny": ["Mcp(notes:wipe)", "Mcp(other)", "Mcp(other:roots/list)"],
            "ask": ["Mcp(notes:write)", "Mcp(other:*)"],
            "allow": ["Mcp(notes:say)", "Mcp(notes:get)"],
            "default": "deny",
        },
        "categories": {"additive": ["Mcp(notes:get)"], "read-only": ["Mcp(other:say)"]},
        "mark_untrusted": false,
        "own_words": all,
        "check_arguments": all,
        "relay": {"max_message_bytes": 5_000_000, "call_timeout_s": 200, "ask_timeout_s": 100},
    })
}

/// Plays the turns through the program; what either side read must be what the other wrote.
fn played(name: &str, turns: &[Turn], all: bool) {
    let context = TestContext::ordinary();
    let script = context.make_file("work/script", &surface().to_string());
    let dir = context.make_directory("work/dir");
    let record = dir.join("heard");
    let program = TestContext::program("fixture-server");
    let argv = [
        program.as_str(),
        "scripted",
        script.to_str().unwrap(),
        record.to_str().unwrap(),
    ];
    let flags = [
        "--dir",
        dir.to_str().unwrap(),
        "--category",
        "read-only,additive",
    ];
    context.offered("notes", &flags, &argv);
    let file = context.path("home/.supervisor/mcp.json");
    let mut declared: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let entry = &mut declared["mcpServers"]["notes"];
    entry["tools"]["include"] = json!(["say", "[gx]et", "w*"]);
    entry["tools"]["exclude"] = json!(["say"]);
    entry["timeouts"] = json!({"start_s": 200, "call_s": 200});
    entry["audit_arguments"] = json!(true);
    std::fs::write(&file, declared.to_string()).unwrap();
    context.make_file("home/.supervisor/settings.json", &settings(all).to_string());
    let parts: Vec<String> = turns
        .iter()
        .map(|turn| turn.server.iter().map(|line| format!("{line}\n")).collect())
        .collect();
    std::fs::write(&script, format!("\n{}", parts.join("---\n"))).unwrap();
    let mut host =
        crate::support::Host::start(context.supervisor(&["run", "notes", "--only", "*"]));
    for turn in turns {
        host.write(format!("{}\n", turn.host).as_bytes());
        for line in &turn.server {
            assert_eq!(host.line(), message(line), "{name}, after {}", turn.host);
        }
    }
    // The rules are in force all along: what they name gets no further.
    for (tool, layer) in [("wipe", "rule"), ("write", "category")] {
        let refused = host.request("tools/call", &json!({"name": tool}));
        let facts = &refused["result"]["_meta"]["supervisor/refusal"];
        assert_eq!(facts["layer"], layer, "{refused}");
    }
    let (code, words) = host.end();
    assert_eq!((code, words.as_str()), (0, ""), "{name}");
    let heard = std::fs::read_to_string(&record).unwrap();
    let sent: Vec<&str> = turns.iter().map(|turn| message(&turn.host)).collect();
    for (heard, sent) in heard.lines().zip(&sent) {
        assert_eq!(heard, *sent, "{name}");
    }
    assert_eq!(heard, format!("{}\n", sent.join("\n")), "{name}");
}

#[test]
fn what_no_rule_touches_is_passed_on_byte_for_byte_with_all_rules_on() {
    played("legacy", &legacy(true), true);
    played("modern", &modern(true), true);
}

/// The two that would touch some of it: what arguments may be, and the words of errors.
#[test]
fn what_no_rule_touches_is_passed_on_byte_for_byte_with_all_others_on() {
    for (name, turns, errors) in [
        ("legacy", legacy(false), errors("")),
        ("modern", modern(false), errors(META)),
    ] {
        let turns: Vec<Turn> = turns.into_iter().chain(errors).collect();
        played(name, &turns, false);
    }
}
