use super::*;
use proptest::prelude::*;

fn fault(line: &str) -> Malformed {
    match read(line.as_bytes()) {
        Ok(message) => panic!("{line}: read as {message:?}"),
        Err(fault) => fault,
    }
}

fn id(line: &str) -> Option<Id> {
    match read(line.as_bytes()) {
        Ok(Message::Request { id, .. }) => Some(id),
        Ok(Message::Response { id, .. }) => id,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn the_three_shapes() {
    let request = r#" { "params" : {"arguments":{"name":"x"},"name":"echo"}, "method":"tools/call" ,"id":1,"jsonrpc":"2.0"} "#;
    let Ok(Message::Request { id, method, params }) = read(request.as_bytes()) else {
        panic!()
    };
    assert_eq!(
        (id, &*method, params.name().as_deref()),
        (Id::Integer("1".into()), "tools/call", Some("echo"))
    );
    assert!(matches!(method, Cow::Borrowed(_)));

    let cancel =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#;
    let Ok(Message::Notification { params, .. }) = read(cancel.as_bytes()) else {
        panic!()
    };
    assert_eq!(params.request(), Some(Id::Text("a".into())));

    let escaped = r#"{"jsonrpc":"2.0","id":1,"\u006dethod":"tools\/call"}"#;
    assert!(
        matches!(read(escaped.as_bytes()), Ok(Message::Request { method, .. }) if method == "tools/call")
    );
    for ok in [
        r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"extra":{"unknown":[true]},"result":{"":0}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"big":123456789012345678901234567890,"x":1e999,"t":"\ud800\u0000"}}"#,
    ] {
        let id = Id::Integer("1".into());
        assert!(
            matches!(read(ok.as_bytes()), Ok(Message::Response { id: Some(read), .. }) if read == id),
            "{ok}"
        );
    }
    for params in ["null", "[1,[2]]", "7", "-1.5", "true", "\"x\"", "{}"] {
        let line = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{params}}}"#);
        assert!(
            matches!(read(line.as_bytes()), Ok(Message::Notification { .. })),
            "{params}"
        );
    }
}

#[test]
fn ids_compare_exactly() {
    let of = |spelling: &str| {
        id(&format!(
            r#"{{"jsonrpc":"2.0","id":{spelling},"result":0}}"#
        ))
    };
    assert_eq!(of("1"), Some(Id::Integer("1".into())));
    assert_eq!(of(r#""1""#), Some(Id::Text("1".into())));
    assert_eq!(of(r#""\u0061b""#), of(r#""ab""#));
    assert_ne!(of("9007199254740993"), of("9007199254740992"));
    for nobody in ["1.0", "1e0", "1e300", "-0", "null", r#""\ud800""#] {
        assert_eq!(of(nobody), None, "{nobody}");
    }
    for odd in ["[1]", "{}", "true"] {
        assert_eq!(
            fault(&format!(r#"{{"jsonrpc":"2.0","id":{odd},"result":0}}"#)),
            Malformed::Id
        );
    }
    for odd in ["1.0", "null", "[]", "-", "01"] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{odd},"method":"m"}}"#);
        assert!(
            matches!(fault(&line), Malformed::Id | Malformed::Json),
            "{odd}"
        );
    }
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":"{}","method":"m"}}"#,
        "k".repeat(MAX_ID_BYTES)
    );
    assert_eq!(fault(&long), Malformed::Id);
}

#[test]
fn nothing_that_could_be_read_in_two_ways() {
    for twice in [
        r#"{"jsonrpc":"2.0","id":999,"id":3,"result":1}"#,
        r#"{"jsonrpc":"2.0","id":3,"\u0069d":4,"result":1}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"a","method":"b"}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"a","params":{},"params":{}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"a","params":{"name":"a","n\u0061me":"b"}}"#,
        r#"{"jsonrpc":"2.0","id":3,"x":1,"x":1,"result":1}"#,
    ] {
        assert_eq!(fault(twice), Malformed::Twice, "{twice}");
    }
    for alike in [
        "ID",
        "Id",
        "Method",
        "RESULT",
        "Error",
        "PARAMS",
        "param\u{17f}",
        "JSONRPC",
        "jſonrpc",
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":3,"{alike}":4,"result":1}}"#);
        assert_eq!(fault(&line), Malformed::Lookalike, "{alike}");
    }
    let many: String = (0..100).map(|n| format!(r#""x{n}":0,"#)).collect();
    assert_eq!(
        fault(&format!(r#"{{{many}"jsonrpc":"2.0","id":3,"result":1}}"#)),
        Malformed::TooMany
    );
}

#[test]
fn what_is_no_message() {
    for (line, why) in [
        ("", Malformed::Blank),
        ("  \t", Malformed::Blank),
        ("Server listening...", Malformed::Json),
        ("[1,2", Malformed::Json),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            Malformed::Batch,
        ),
        ("null", Malformed::NoObject),
        ("42", Malformed::NoObject),
        ("\"text\"", Malformed::NoObject),
        (r#"{"jsonrpc":"2.0","id":806,"method":"#, Malformed::Json),
        (r#"{"jsonrpc":"2.0","id":1,"result":1} {"#, Malformed::Json),
        (r#"{"jsonrpc":"2.0","id":1,"result":1,}"#, Malformed::Json),
        ("{}", Malformed::Version),
        // A reader that ends lines there finds another message in it.
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\r{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\r}}",
            Malformed::Return,
        ),
        (
            "{\r\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}",
            Malformed::Return,
        ),
        (r#"{"jsonrpc":2.0,"id":1,"result":1}"#, Malformed::Version),
        (r#"{"jsonrpc":"1.0","id":1,"result":1}"#, Malformed::Version),
        (r#"{"jsonrpc":"2.0"}"#, Malformed::Shape),
        (r#"{"jsonrpc":"2.0","id":1}"#, Malformed::Shape),
        (r#"{"jsonrpc":"2.0","result":1}"#, Malformed::Shape),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#,
            Malformed::Shape,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","result":1}"#,
            Malformed::Shape,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, Malformed::Shape),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":"text"}"#,
            Malformed::Shape,
        ),
    ] {
        assert_eq!(fault(line), why, "{line}");
    }
    assert_eq!(
        read(b"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":\"\xff\"}"),
        Err(Malformed::Encoding)
    );
}

#[test]
fn depth_costs_no_stack() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let (open, close) = (open.repeat(200_000), close.repeat(200_000));
        let middle = if open.starts_with('[') { "" } else { "0" };
        let line = format!(r#"{{"jsonrpc":"2.0","id":3,"result":{open}{middle}{close}}}"#);
        assert_eq!(id(&line), Some(Id::Integer("3".into())));
        let line =
            format!(r#"{{"jsonrpc":"2.0","id":3,"method":"m","params":{open}{middle}{close}}}"#);
        assert!(read(line.as_bytes()).is_ok() || fault(&line) == Malformed::Json);
    }
}

proptest! {
    #[test]
    fn an_id_reads_back(text in any::<String>()) {
        prop_assume!(text.len() * 6 + 2 <= MAX_ID_BYTES);
        let id = Id::Text(text);
        prop_assert_eq!(Id::read(&id.json()), Some(id));
    }

    #[test]
    fn an_integer_is_its_digits(number in any::<i128>()) {
        prop_assert_eq!(Id::read(&number.to_string()).map(|id| id.json()), Some(number.to_string()));
    }

    #[test]
    fn no_bytes_make_it_fail_otherwise(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
    }

    /// What is taken for a message is one for a parser that keeps everything, with the same id and method.
    #[test]
    fn another_parser_agrees(
        line in r#"\{("(jsonrpc|id|method|params|result|error|x)":("2.0"|"[a-z\\u00e9/]{0,6}"|[0-9]{1,3}|\{"name":"b"\}|\[\]|null|-?[0-9]\.[0-9]),?){0,6}\}"#,
    ) {
        if let Ok(message) = read(line.as_bytes()) {
            let value: serde_json::Value = serde_json::from_str(&line).expect("valid JSON");
            let (id, method) = match &message {
                Message::Request { id, method, .. } => (Some(id), Some(&**method)),
                Message::Notification { method, .. } => (None, Some(&**method)),
                Message::Response { id, .. } => (id.as_ref(), None),
            };
            prop_assert_eq!(value.get("method").and_then(|m| m.as_str()), method);
            if let Some(id) = id {
                prop_assert_eq!(value.get("id").map(ToString::to_string), Some(id.json()));
            }
        }
    }
}

#[test]
fn an_answer_tells_an_error_from_a_result() {
    for (reply, code, tool_error) in [
        (
            r#""error":{"code":-32603,"message":"m"}"#,
            Some(-32_603),
            false,
        ),
        (r#""error":{"code":1.5}"#, Some(0), false),
        (r#""error":{}"#, Some(0), false),
        (r#""result":{"content":[],"isError":true}"#, None, true),
        (r#""result":{"isErr\u006fr":true}"#, None, true),
        (
            r#""result":{"isError":false,"a":{"isError":true}}"#,
            None,
            false,
        ),
        (r#""result":[true]"#, None, false),
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,{reply}}}"#);
        let Ok(Message::Response { reply, .. }) = read(line.as_bytes()) else {
            panic!("{line}")
        };
        assert_eq!(
            (reply.code(), reply.is_tool_error()),
            (code, tool_error),
            "{line}"
        );
    }
}
