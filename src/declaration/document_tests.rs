use super::*;

fn parse(text: &str) -> Result<Declarations, DocumentError> {
    Declarations::parse(text)
}

#[test]
fn what_is_not_changed_is_kept_as_written() {
    let text = r#"{
 "$schema" : "https://example.com/s.json",
 "mcpServers": {
    "zed":   {"command":"/bin/a",  "args":["\u00e9"]},
    "odd/name": [1, 2],
    "later": {"command": "x", "colour": "red"}
 }, "version": 1}"#;
    let mut declarations = parse(text).unwrap();
    let states: Vec<_> = declarations
        .iter()
        .map(|(name, entry)| (name.to_owned(), entry.is_ok()))
        .collect();
    assert_eq!(
        states,
        [
            ("zed".into(), true),
            ("odd/name".into(), false),
            ("later".into(), false)
        ]
    );
    let declaration = declarations.find("zed").unwrap().unwrap().clone();
    declarations
        .insert(&"new".parse().unwrap(), declaration)
        .unwrap();
    let text = declarations.to_text();
    for kept in [
        r#""zed": {"command":"/bin/a",  "args":["\u00e9"]}"#,
        r#""odd/name": [1, 2]"#,
        r#""later": {"command": "x", "colour": "red"}"#,
        "https://example.com/s.json",
    ] {
        assert!(text.contains(kept), "{kept} in {text}");
    }
    assert_eq!(parse(&text).unwrap().to_text(), text);
    assert!(declarations.remove("odd/name") && !declarations.remove("odd/name"));
}

#[test]
fn places_and_no_values() {
    let error = |text: &str| parse(text).unwrap_err().to_string();
    assert_eq!(
        error("{\"version\":1,\n \"version\":1}"),
        "line 2, column 10: the key `version` stands twice"
    );
    assert_eq!(
        error("{\"version\":1,\n  \"extra\":\"sk-key\"}"),
        "line 2, column 11: unknown key `extra`"
    );
    assert_eq!(
        error("{\"version\":\"sk-key\"}"),
        "line 1, column 12: `version` must be 1"
    );
    assert_eq!(
        error("{\"version\":1,\"mcpServers\":\"sk-key\"}"),
        "line 1, column 27: `mcpServers` must be an object"
    );
    assert_eq!(
        error("{\"version\":7}"),
        "it is of version 7, and this program knows version 1"
    );
    assert!(error("{\"version\":1} sk-key").starts_with("line 1, column 15: trailing characters"));
    assert!(!error("{\"version\":1, \"a\": \"sk-key\" oops}").contains("sk-key"));
    assert!(error(&"[".repeat(100_000)).contains("recursion limit"));
}
