use super::*;

fn read(text: &str) -> Result<AdminPolicy, FileProblem> {
    parse(text, Path::new("/etc/supervisor/managed.json"), Some(0))
}

/// The whole of the form.
const WHOLE: &str = r#"{
  "$schema": "https://example.com/managed.json",
  "$comment": {"anything": [1, null]},
  "mcp": {
    "$comment": "for MCP servers",
    "allow": [
      {"host": "*.example.com", "$comment": "ours"},
      {"command": ["/usr/bin/npx", "-y", "a@1.4.0"], "env": ["TOKEN"], "dir": false},
      {
        "command": ["/opt/x", "…"],
        "sha256": "0000000000000000000000000000000000000000000000000000000000000000"
      }
    ],
    "deny": [{"host": "staging.example.com"}],
    "floor": {"network": "none", "pinned": true, "runners": false, "landlock_abi": 6, "promises": "all"}
  }
}"#;

#[test]
fn the_whole_form_reads() {
    let policy = read(WHOLE).unwrap();
    let allow = policy.allow.unwrap();
    assert_eq!(allow.len(), 3);
    assert_eq!((allow[0].line, allow[2].line), (7, 9));
    assert_eq!(allow[0].comment.as_deref(), Some("ours"));
    assert_eq!(allow[0].name, r#"allow[0] {"host":"*.example.com"}"#);
    assert!(
        allow[2]
            .name
            .starts_with(r#"allow[2] {"command":["/opt/x","…"],"sha256":"0"#)
    );
    assert_eq!((policy.deny.len(), policy.deny[0].line), (1, 14));
    assert_eq!(policy.floors[0].line, 15);
    assert_eq!(
        policy.floors[0].floors.listed(),
        [
            "network: none",
            "pinned: true",
            "runners: false",
            "landlock_abi: 6",
            "promises: all"
        ]
    );
}

#[test]
fn no_list_is_not_an_empty_one() {
    assert_eq!(read(r#"{"mcp": {}}"#).unwrap().allow, None);
    assert_eq!(
        read(r#"{"mcp": {"allow": []}}"#).unwrap().allow,
        Some(Vec::new())
    );
}

/// Line, column, and a word of what is wrong.
#[track_caller]
fn refused(text: &str, line: usize, column: usize, word: &str) {
    let problem = read(text).expect_err(text);
    assert_eq!(problem.code(), "policy-invalid");
    let said = problem.to_string();
    let expected =
        format!("/etc/supervisor/managed.json (owner root), line {line}, column {column}: ");
    assert!(
        said.starts_with(&expected) && said.contains(word),
        "{text}: {said}"
    );
}

#[test]
fn what_is_no_policy() {
    refused("", 1, 1, "EOF");
    refused(WHOLE.get(..100).unwrap(), 4, 10, "EOF");
    refused("nonsense", 1, 2, "expected");
    refused("[]", 1, 1, "an object");
    refused("[null, null, {}]", 1, 1, "an object");
    refused("{\"mcp\": []}", 1, 9, "an object");
    refused("{\"mcp\": [null, [], []]}", 1, 9, "an object");
    refused("{}", 1, 2, "missing field `mcp`");
    refused("null", 1, 1, "an object");
    refused("{\"mcp\": {}} x", 1, 13, "trailing");
    refused("{\"mcp\": {}, \"mcp\": {}}", 1, 17, "stands twice");
    refused("{\"mcp\": null}", 1, 9, "an object");
    refused("{\"mcp\": {\"allow\": null}}", 1, 22, "null");
    refused("{\"mcp\": {\"allow\": {}}}", 1, 18, "sequence");
    refused("{\"mcp\": {\"deny\": null}}", 1, 21, "null");
    refused("{\"mcp\": {\"floor\": null}}", 1, 19, "an object");
    refused("{\"mcp\": {\n  \"alow\": []}}", 2, 8, "unknown key `alow`");
    refused("{\"mcpServers\": {}, \"mcp\": {}}", 1, 13, "declares none");
    refused("// open\n{\"mcp\": {}}", 1, 1, "expected");
}

#[test]
fn what_is_no_entry() {
    let sha = "0".repeat(64);
    for (entry, word) in [
        ("{}".to_owned(), "names a `host`"),
        ("1".to_owned(), "an object"),
        ("\"example.com\"".to_owned(), "an object"),
        ("[]".to_owned(), "an object"),
        (r#"[null, "example.com"]"#.to_owned(), "an object"),
        (r#"{"env": ["A"]}"#.to_owned(), "names a `host`"),
        (r#"{"$comment": "x"}"#.to_owned(), "names a `host`"),
        (r#"{"host": null}"#.to_owned(), "null"),
        (
            r#"{"host": "https://example.com"}"#.to_owned(),
            "a name alone",
        ),
        (
            r#"{"host": "example.com", "dir": false}"#.to_owned(),
            "stands alone",
        ),
        (
            format!(r#"{{"host": "example.com", "sha256": "{sha}"}}"#),
            "stands alone",
        ),
        (r#"{"command": []}"#.to_owned(), "absolute path"),
        (r#"{"command": "/usr/bin/npx"}"#.to_owned(), "sequence"),
        (r#"{"command": ["npx"]}"#.to_owned(), "absolute path"),
        (
            r#"{"command": ["/usr/bin/npx", "…", "x"]}"#.to_owned(),
            "last word only",
        ),
        (r#"{"sha256": "abc"}"#.to_owned(), "64"),
        (r#"{"command": ["/x"], "env": ["A B"]}"#.to_owned(), "`A B`"),
        (r#"{"command": ["/x"], "env": null}"#.to_owned(), "null"),
        (r#"{"command": ["/x"], "dir": "no"}"#.to_owned(), "boolean"),
        (
            r#"{"command": ["/x"], "command": ["/y"]}"#.to_owned(),
            "twice",
        ),
        (
            r#"{"serverName": "weather"}"#.to_owned(),
            "what runs or where",
        ),
        (
            r#"{"command": ["/x"], "args": []}"#.to_owned(),
            "unknown key `args`",
        ),
    ] {
        let text = format!("{{\"mcp\": {{\n  \"allow\": [\n    {entry}\n  ]}}}}");
        let said = read(&text).expect_err(&entry).to_string();
        assert!(
            said.contains("line 3") && said.contains(word),
            "{entry}: {said}"
        );
    }
    // What bounds an allowed command means nothing to a denied one.
    for bound in [r#""env": ["A"]"#, r#""dir": false"#] {
        let text = format!(r#"{{"mcp": {{"deny": [{{"command": ["/x"], {bound}}}]}}}}"#);
        assert!(
            read(&text).unwrap_err().to_string().contains("unknown key"),
            "{text}"
        );
    }
}

#[test]
fn what_is_no_floor() {
    for (floor, word) in [
        (r#"{"surface": "items"}"#, "unknown variant `items`"),
        (r#"{"calls": "allow"}"#, "unknown variant `allow`"),
        (r#"{"marking": 1}"#, "invalid type"),
        (r#"{"networks": "none"}"#, "unknown key `networks`"),
        (r#"{"network": "lan"}"#, "unknown variant"),
        (r#"{"network": null}"#, "expected value"),
        (r#"{"pinned": "yes"}"#, "boolean"),
        (r#"{"landlock_abi": -1}"#, "u32"),
        (r#"{"landlock_abi": 6.5}"#, "u32"),
        (r#"{"promises": "some"}"#, "\"all\""),
        (r#"{"promises": ["P99"]}"#, "P99"),
        (r#"{"promises": true}"#, "\"all\""),
        ("[]", "an object"),
        ("null", "an object"),
    ] {
        let text = format!("{{\"mcp\": {{\n\n\"floor\": {floor}}}}}");
        let said = read(&text).expect_err(floor).to_string();
        assert!(
            said.contains("line 3") && said.contains(word),
            "{floor}: {said}"
        );
    }
}
