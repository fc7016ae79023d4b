use super::*;

fn patterns(words: &[&str]) -> Vec<Pattern> {
    words.iter().map(|word| word.parse().unwrap()).collect()
}

fn filter(only: &[&str], include: &[&str], exclude: &[&str]) -> Filter {
    Filter {
        only: patterns(only),
        include: patterns(include),
        exclude: patterns(exclude),
    }
}

#[test]
fn what_is_offered() {
    for (only, include, exclude, offered) in [
        (&[][..], &[][..], &[][..], "get_a set_a admin/x"),
        (&["get_*"], &[], &[], "get_a"),
        (&["get_?", "admin*"], &[], &[], "get_a admin/x"),
        (&[], &["{get,set}_a"], &[], "get_a set_a"),
        (&[], &[], &["set_*"], "get_a admin/x"),
        (&[], &["get_*"], &["*"], "get_a"),
        (&["*_a"], &[], &["set_*"], "get_a"),
        (&["GET_*"], &[], &[], ""),
        (&["*"], &["get_a"], &[], "get_a"),
    ] {
        let filter = filter(only, include, exclude);
        let names = ["get_a", "set_a", "admin/x"];
        let kept: Vec<&str> = names
            .into_iter()
            .filter(|name| filter.offers(name))
            .collect();
        assert_eq!(kept.join(" "), offered, "{only:?} {include:?} {exclude:?}");
    }
    for bad in ["", "[", "{a", "a[z-a]"] {
        assert!(bad.parse::<Pattern>().is_err(), "{bad}");
    }
}

#[test]
fn a_list_loses_what_is_left_out_and_nothing_else() {
    let mut tools = Tools::new(filter(&["a*"], &[], &[]));
    for (line, out) in [
        (
            r#" {"id":1, "result":{ "tools" : [ {"name":"a1"} , {"name":"b"},{"name":"a2","x":[1.0e2]} ],"nextCursor":"c" },"jsonrpc":"2.0"}"#,
            Some(
                r#" {"id":1, "result":{ "tools" : [{"name":"a1"},{"name":"a2","x":[1.0e2]}],"nextCursor":"c" },"jsonrpc":"2.0"}"#,
            ),
        ),
        (
            r#"{"id":1,"result":{"tools":[ {"name":"a\u0031"} ]}}"#,
            None,
        ),
        (
            r#"{"id":1,"result":{"tools":[{"name":"\u0062"}],"_meta":{}}}"#,
            Some(r#"{"id":1,"result":{"tools":[],"_meta":{}}}"#),
        ),
        (
            r#"{"id":1,"result":{"tools":[{"name":"a","name":"b"},{"name":"a","Name":"b"},{},7]}}"#,
            Some(r#"{"id":1,"result":{"tools":[]}}"#),
        ),
        (
            r#"{"id":1,"result":{"tools":[{"name":"b"}],"Tools":[{"name":"b"}]}}"#,
            Some(r#"{"id":1,"result":{"tools":[],"Tools":[]}}"#),
        ),
        (r#"{"id":1,"result":{"tools":{"name":"b"}}}"#, None),
        (r#"{"id":1,"result":[{"name":"b"}]}"#, None),
        (r#"{"id":1,"error":{"tools":[{"name":"b"}]}}"#, None),
    ] {
        let got = tools
            .list(line.as_bytes())
            .map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(got.as_deref(), out, "{line}");
    }
}

#[test]
fn calls_by_what_was_seen() {
    let mut tools = Tools::new(filter(&["a*"], &[], &[]));
    assert_eq!(tools.call(Some("a1")), Called::Offered);
    assert_eq!(tools.call(None), Called::Offered);
    assert_eq!(tools.call(Some("b")), Called::Refused);
    tools.list(
        br#"{"result":{"tools":[{"name":"b"},{"name":"c","outputSchema":{}}],"nextCursor":"2"}}"#,
    );
    assert_eq!(tools.call(Some("b")), Called::Refused);
    assert_eq!(tools.call(Some("c")), Called::Refused);
    assert_eq!(tools.call(Some("d")), Called::Refused);
    tools.list(br#"{"result":{"tools":[]}}"#);
    assert_eq!(tools.call(Some("d")), Called::Unknown);
    assert_eq!(
        Tools::new(Filter::default()).call(Some("x")),
        Called::Offered
    );
}

#[test]
fn a_pattern_that_matches_nothing_is_named_once() {
    let mut tools = Tools::new(filter(&["a*"], &[], &["b", "zz"]));
    tools.list(br#"{"result":{"tools":[{"name":"b"}],"nextCursor":"2"}}"#);
    assert!(tools.idle().is_empty());
    tools.list(br#"{"result":{"tools":[]}}"#);
    let said = tools.idle();
    assert_eq!(
        said,
        [
            "--only `a*` matches no tool",
            "tools.exclude `zz` matches no tool"
        ]
    );
    assert!(tools.idle().is_empty());
}

proptest::proptest! {
    /// Where nothing is left out nothing changes; what stays, stays byte for byte.
    #[test]
    fn any_list(names in proptest::collection::vec("[ab][a-z]{0,3}", 0..8)) {
        let items: Vec<String> = names.iter().map(|name| format!("{{ \"name\": \"{name}\" }}")).collect();
        let line = format!("{{\"id\":1,\"result\":{{\"tools\":[{}]}}}}", items.join(" , "));
        let got = Tools::new(filter(&[], &[], &["b*"])).list(line.as_bytes());
        let kept: Vec<&str> = items.iter().filter(|item| !item.contains("\"b")).map(String::as_str).collect();
        if kept.len() == items.len() {
            proptest::prop_assert_eq!(got, None);
        } else {
            let want = format!("{{\"id\":1,\"result\":{{\"tools\":[{}]}}}}", kept.join(","));
            proptest::prop_assert_eq!(got, Some(want.into_bytes()));
        }
    }
}
