use super::*;

fn parse(text: &str) -> Result<Settings, String> {
    Settings::parse(Some(text), "/s/settings.json".into()).map_err(|error| error.to_string())
}

#[test]
fn no_file_is_all_defaults() {
    let settings = Settings::parse(None, PathBuf::new()).unwrap();
    assert_eq!(
        (settings.max_message_bytes, settings.call_timeout),
        (10_000_000, None)
    );
    assert_eq!(parse(r#"{"version":1}"#).unwrap(), settings);
}

#[test]
fn arguments_are_checked_where_that_is_set() {
    assert!(!parse(r#"{"version":1}"#).unwrap().rules.check_arguments);
    let checked = parse(r#"{"version":1,"check_arguments":true}"#).unwrap();
    assert!(checked.rules.check_arguments);
    let error = parse(r#"{"version":1,"check_arguments":"yes"}"#).unwrap_err();
    assert!(error.contains("a boolean"), "{error}");
}

#[test]
fn limits_are_read_and_bounded() {
    let settings =
        parse(r#"{"version":1,"relay":{"max_message_bytes":65536,"call_timeout_s":30}}"#).unwrap();
    assert_eq!(settings.max_message_bytes, 65_536);
    assert_eq!(settings.call_timeout, Some(Duration::from_secs(30)));
    for (bad, says) in [
        (
            r#"{"version":1,"relay":{"max_message_bytes":1}}"#,
            "from 65536",
        ),
        (
            r#"{"version":1,"relay":{"call_timeout_s":0}}"#,
            "at least 1",
        ),
        (
            r#"{"version":1,"relay":{"call_timeout":1}}"#,
            "unknown field",
        ),
        (r#"{"version":1,"relay":{},"relay":{}}"#, "twice"),
        (r#"{"version":2}"#, "its version is 2"),
        (
            r#"{"version":1,"check":["x"]}"#,
            "the whole path of a program",
        ),
        (r#"{"version":1,"check":[]}"#, "the whole path of a program"),
        (r#"{"version":1,"check":"/bin/x"}"#, "expected a sequence"),
        (r#"{"version":1,"check":["/bin/x",7]}"#, "expected a string"),
        (
            r#"{"version":1,"relay":{"ask_timeout_s":0}}"#,
            "ask_timeout_s is at least 1",
        ),
        (r#"{"version":1,"#, "line 1"),
        (r#"{}"#, "version"),
    ] {
        let error = parse(bad).unwrap_err();
        assert!(error.contains(says), "{bad}: {error}");
    }
}

#[test]
fn rules_are_read_and_one_that_is_none_is_shown_by_its_place() {
    let settings = parse(
        r#"{"version":1,"permissions":{"deny":["Mcp(weather:get_alerts)"],"ask":["Mcp(weather)"],
          "allow":["Mcp(time:*)"],"default":"ask"},"relay":{"ask_timeout_s":7}}"#,
    )
    .unwrap();
    let rules = settings.rules;
    assert_eq!(rules.ask_limit, Duration::from_secs(7));
    let call = |alias, tool| rules.permissions.call(alias, tool).action;
    assert_eq!(call("weather", "get_alerts"), Action::Deny);
    assert_eq!(call("weather", "x"), Action::Ask);
    assert_eq!(call("time", "x"), Action::Allow);
    assert_eq!(call("other", "x"), Action::Ask);
    for (bad, says) in [
        (
            "{\"version\":1,\n\"permissions\":{\"deny\":[\"Mcp(weather:get_*)\"]}}",
            "line 2, column 24: \"Mcp(weather:get_*)\": a rule names a tool by its whole name",
        ),
        (
            r#"{"version":1,"permissions":{"deny":[7]}}"#,
            "a rule is a string",
        ),
        (
            r#"{"version":1,"permissions":{"ask":["Mcp(weather:roots/list)"]}}"#,
            "under `deny` alone",
        ),
        (
            r#"{"version":1,"permissions":{"deny":"Mcp(weather)"}}"#,
            "line 1",
        ),
        (
            r#"{"version":1,"permissions":{"default":"sometimes"}}"#,
            "unknown variant",
        ),
        (
            r#"{"version":1,"permissions":{"denied":[]}}"#,
            "unknown field",
        ),
        (
            r#"{"version":1,"permissions":{"deny":[],"deny":[]}}"#,
            "twice",
        ),
    ] {
        let error = parse(bad).unwrap_err();
        assert!(error.contains(says), "{bad}: {error}");
    }
}

#[test]
fn categories_are_of_whole_tools_each_of_one() {
    let settings = parse(
        r#"{"version":1,"categories":{"read-only":["Mcp(a:x)","Mcp(a:z)"],"open-world":["Mcp(b:x)"],"additive":[]}}"#,
    )
    .unwrap();
    let words = settings.rules.words;
    assert_eq!(words.on("a", "x"), Some(Category::ReadOnly));
    assert_eq!(words.on("b", "x"), Some(Category::OpenWorld));
    assert_eq!((words.on("b", "z"), words.on("a", "*")), (None, None));
    for (bad, says) in [
        (
            "{\"version\":1,\n\"categories\":{\"readonly\":[]}}",
            "unknown variant `readonly`, expected one of `read-only`, `additive`, `open-world`, `destructive` at line 2",
        ),
        (
            "{\"version\":1,\n\"categories\":{\"additive\":[\"Mcp(a)\"]}}",
            "line 2, column 27: \"Mcp(a)\": a category is of one tool, by its whole name",
        ),
        (
            r#"{"version":1,"categories":{"additive":["Mcp(a:*)"]}}"#,
            "of one tool",
        ),
        (
            r#"{"version":1,"categories":{"additive":["Mcp(a:get_*)"]}}"#,
            "a rule names a tool by its whole name",
        ),
        (
            r#"{"version":1,"categories":{"additive":["Mcp(a:roots/list)"]}}"#,
            "of one tool",
        ),
        (
            r#"{"version":1,"categories":{"additive":["Mcp(a:x)"],"read-only":["Mcp(a:\u0078)"]}}"#,
            "\"Mcp(a:x)\": the category of that tool is said twice",
        ),
        (
            r#"{"version":1,"categories":{"additive":["Mcp(a:x)","Mcp(a:x)"]}}"#,
            "said twice",
        ),
        (
            r#"{"version":1,"categories":{"additive":[7]}}"#,
            "a rule is a string",
        ),
        (
            r#"{"version":1,"categories":{"additive":"Mcp(a:x)"}}"#,
            "line 1",
        ),
        (
            r#"{"version":1,"categories":{"additive":[],"additive":[]}}"#,
            "twice",
        ),
        (r#"{"version":1,"categories":["additive"]}"#, "line 1"),
    ] {
        let error = parse(bad).unwrap_err();
        assert!(error.contains(says), "{bad}: {error}");
    }
}
