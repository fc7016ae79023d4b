use super::*;
use crate::surface::Surface;
use proptest::prelude::*;
use serde_json::{Value, json};

fn surface(items: &[(Kind, Value)]) -> Surface {
    let item = |(kind, item): &(Kind, Value)| match item {
        Value::String(words) => Item::instructions(words),
        item => Item::listed(*kind, item.clone()).unwrap(),
    };
    items.iter().map(item).collect()
}

struct Case {
    pins: Pins,
    filter: Filter,
    whole: bool,
    differs: bool,
}

impl Case {
    fn new(items: &[(Kind, Value)]) -> Self {
        Self {
            pins: Pins::new(Some(surface(items))),
            filter: Filter::default(),
            whole: false,
            differs: false,
        }
    }

    fn edit(&self, line: &str) -> Edit {
        let judge = Judge {
            pins: &self.pins,
            filter: &self.filter,
            whole: self.whole,
            differs: self.differs,
        };
        judge.edit(line, &result_of(line).unwrap(), Some(Kind::Tool))
    }

    fn line(&self, line: &str, meta: Option<&str>) -> Option<String> {
        let edit = self.edit(line);
        edit.line(line, &result_of(line).unwrap(), meta)
    }
}

fn tool(name: &str) -> (Kind, Value) {
    (Kind::Tool, json!({"name": name}))
}

#[test]
fn a_list_loses_what_is_withheld_and_nothing_else() {
    let case = Case::new(&[
        tool("a1"),
        (Kind::Tool, json!({"name": "a2", "x": [100.0]})),
    ]);
    for (line, out) in [
        (
            r#" {"id":1, "result":{ "tools" : [ {"name":"a1"} , {"name":"b"},{"name":"a2","x":[1.0e2]} ],"nextCursor":"c","ttlMs":1.50 },"jsonrpc":"2.0"}"#,
            Some(
                r#" {"id":1, "result":{ "tools" : [{"name":"a1"},{"name":"a2","x":[1.0e2]}],"nextCursor":"c","ttlMs":1.50 },"jsonrpc":"2.0"}"#,
            ),
        ),
        (
            r#"{"id":1,"result":{"tools":[ {"name":"a\u0031"} ]}}"#,
            None,
        ),
        // Beside a name that spells no characters, which some readers take.
        (
            r#"{"id":1,"result":{"\ud800":0,"tools":[{"name":"b"}],"a\udc00":{}}}"#,
            Some(r#"{"id":1,"result":{"\ud800":0,"tools":[],"a\udc00":{}}}"#),
        ),
        (
            r#"{"id":1,"result":{"tools":[{"name":"a1","\ud800":"words"},{"\ud800":{"name":"b"}}]}}"#,
            Some(r#"{"id":1,"result":{"tools":[]}}"#),
        ),
        (
            r#"{"id":1,"result":{"tools":[{"name":"\u0062"}],"_meta":{}}}"#,
            Some(r#"{"id":1,"result":{"tools":[],"_meta":{}}}"#),
        ),
        (
            r#"{"id":1,"result":{"tools":[{"name":"a1","name":"b"},{"name":"a1","Name":"b"},{},7]}}"#,
            Some(r#"{"id":1,"result":{"tools":[]}}"#),
        ),
        (
            r#"{"id":1,"result":{"tools":[{"name":"a1"}],"tools":[{"name":"b"}],"Tools":[{"name":"b"},{"name":"a1"}]}}"#,
            Some(
                r#"{"id":1,"result":{"tools":[{"name":"a1"}],"tools":[],"Tools":[{"name":"a1"}]}}"#,
            ),
        ),
        (
            r#"{"id":1,"result":{"tools":{"0":{"name":"b"}},"prompts":[{"name":"p"}],"too\u017f":[]}}"#,
            Some(r#"{"id":1,"result":{"tools":[],"prompts":[],"too\u017f":[]}}"#),
        ),
        (r#"{"id":1,"result":{"other":[{"name":"b"}]}}"#, None),
    ] {
        assert_eq!(case.line(line, None).as_deref(), out, "{line}");
    }
}

#[test]
fn one_name_with_two_forms_is_withheld_in_both() {
    let case = Case::new(&[tool("a"), tool("b")]);
    let line = r#"{"result":{"tools":[{"name":"a"},{"name":"a","description":"x"},{"name":"b"}]}}"#;
    assert_eq!(
        case.line(line, None).as_deref(),
        Some(r#"{"result":{"tools":[{"name":"b"}]}}"#)
    );
    assert_eq!(case.edit(line).count, 2);
}

#[test]
fn whole_or_not_at_all() {
    let mut case = Case::new(&[tool("a"), (Kind::Instructions, json!("Be brief."))]);
    case.whole = true;
    let line = r#"{"result":{"tools":[{"name":"a"},{"name":"b"}]}}"#;
    let none = r#"{"result":{"tools":[]}}"#;
    assert_eq!(case.line(line, None).as_deref(), Some(none));
    for entry in [r#"{"name":"x","name":"y"}"#, r#"{"name":"x","Name":"y"}"#] {
        let line = format!(r#"{{"result":{{"tools":[{{"name":"a"}},{entry}]}}}}"#);
        assert_eq!(case.line(&line, None).as_deref(), Some(none), "{entry}");
    }
    // Wherever in the answer it stands.
    let line = r#"{"result":{"tools":[{"name":"a"}],"instructions":7}}"#;
    assert_eq!(case.line(line, None).as_deref(), Some(none));
    // What cannot be asked for is left out as ever.
    let line = r#"{"result":{"tools":[{"name":"a"},{}]}}"#;
    let one = r#"{"result":{"tools":[{"name":"a"}]}}"#;
    assert_eq!(case.line(line, None).as_deref(), Some(one));
    let line = r#"{"result":{"tools":[{"name":"a"}],"instructions":"Be brief."}}"#;
    assert_eq!(case.line(line, None), None);
    case.differs = true;
    assert_eq!(case.line(line, None).as_deref(), Some(none));
}

#[test]
fn what_is_filtered_is_no_difference() {
    let mut case = Case::new(&[tool("a"), tool("b")]);
    case.filter.exclude = vec!["b".parse().unwrap()];
    let line = r#"{"result":{"tools":[{"name":"a"},{"name":"b"}]}}"#;
    let edit = case.edit(line);
    assert_eq!((edit.count, edit.page.offered.len()), (0, 2));
    let want = r#"{"result":{"tools":[{"name":"a"}]}}"#;
    assert_eq!(case.line(line, None).as_deref(), Some(want));
}

#[test]
fn instructions_go_with_their_comma() {
    let case = Case::new(&[(Kind::Instructions, json!("Be brief."))]);
    for (line, out) in [
        (r#"{"result":{"a":1, "instructions":"Be brief."}}"#, None),
        (r#"{"result":{"instructions":""}}"#, None),
        (
            r#"{"result":{"a":1, "instructions" : "x" , "b":2}}"#,
            Some(r#"{"result":{"a":1 , "b":2}}"#),
        ),
        (
            r#"{"result":{"a":1, "instructions":"x" }}"#,
            Some(r#"{"result":{"a":1 }}"#),
        ),
        (
            r#"{"result":{ "instructions":"x", "b":2}}"#,
            Some(r#"{"result":{ "b":2}}"#),
        ),
        (
            r#"{"result":{ "instructions":["x"] }}"#,
            Some(r#"{"result":{  }}"#),
        ),
        (
            r#"{"result":{"instructions":"x","Instructions":"y","b":2,"instructions":"Be brief.","INSTRUCTIONS":"z"}}"#,
            Some(r#"{"result":{"b":2,"instructions":"Be brief."}}"#),
        ),
    ] {
        assert_eq!(case.line(line, None).as_deref(), out, "{line}");
    }
}

#[test]
fn it_is_said_in_the_meta_there_is_or_in_one_of_its_own() {
    let case = Case::new(&[]);
    let meta = Some("\"s\":1");
    for (line, out) in [
        (
            r#"{"result":{ "tools":[7]}}"#,
            r#"{"result":{"_meta":{"s":1}, "tools":[]}}"#,
        ),
        (
            r#"{"result":{"instructions":"x"}}"#,
            r#"{"result":{"_meta":{"s":1}}}"#,
        ),
        (
            r#"{"result":{"tools":[7],"_meta":{ }}}"#,
            r#"{"result":{"tools":[],"_meta":{"s":1 }}}"#,
        ),
        (
            r#"{"result":{"_meta":{"a":2},"instructions":"x"}}"#,
            r#"{"result":{"_meta":{"s":1,"a":2}}}"#,
        ),
        (
            r#"{"result":{"tools":[7],"_meta":7}}"#,
            r#"{"result":{"tools":[],"_meta":7}}"#,
        ),
    ] {
        assert_eq!(case.line(line, meta).as_deref(), Some(out), "{line}");
    }
    assert_eq!(case.line(r#"{"result":{"tools":[]}}"#, meta), None);
}

#[test]
fn a_cursor_that_ends_goes_too() {
    let case = Case::new(&[]);
    let line = r#"{"result":{"tools":[],"nextCursor":"c","ttlMs":0}}"#;
    let mut edit = case.edit(line);
    assert_eq!(edit.next(line), Some("\"c\""));
    edit.ends();
    let got = edit.line(line, &result_of(line).unwrap(), None);
    assert_eq!(got.as_deref(), Some(r#"{"result":{"tools":[],"ttlMs":0}}"#));
}

proptest! {
    /// Whatever a server answers, what is left is JSON and holds no item that was not approved; and
    /// where nothing is withheld, it is what the server wrote.
    #[test]
    fn any_result(
        tools in proptest::collection::vec(("[ab]", "[xy]?"), 0..6),
        words in proptest::option::of("[xy]?"),
        order in any::<bool>(),
        cursor in any::<bool>(),
        meta in any::<bool>(),
    ) {
        let tool = |name: &str, text: &str| json!({"name": name, "description": text});
        let case = Case::new(&[
            (Kind::Tool, tool("a", "x")),
            (Kind::Tool, tool("b", "")),
            (Kind::Instructions, json!("x")),
        ]);
        let mut members: Vec<String> = Vec::new();
        let listed: Vec<Value> = tools.iter().map(|(name, text)| tool(name, text)).collect();
        members.push(format!("\"tools\" :{}", json!(listed)));
        members.extend(words.as_ref().map(|words| format!("\"instructions\": {}", json!(words))));
        members.extend(cursor.then(|| "\"nextCursor\":\"c\"".to_owned()));
        members.extend(meta.then(|| "\"_meta\": {\"m\":1}".to_owned()));
        if order {
            members.reverse();
        }
        let line = format!("{{\"id\":1,\"result\":{{{}}}}}", members.join(" , "));
        let got = case.line(&line, Some("\"s\":1"));
        let shown: Value = serde_json::from_str(got.as_deref().unwrap_or(&line)).unwrap();
        let fine = |(name, text): &(String, String)| (name.as_str(), text.as_str()) == ("a", "x") || (name.as_str(), text.as_str()) == ("b", "");
        let pure = |name: &str| tools.iter().filter(|(other, _)| other == name).all(fine);
        let want: Vec<Value> = tools.iter().filter(|(name, _)| pure(name)).map(|(name, text)| tool(name, text)).collect();
        prop_assert_eq!(&shown["result"]["tools"], &json!(want));
        let said = words.filter(|words| words == "x" || words.is_empty());
        let said = said.map(Value::from);
        prop_assert_eq!(shown["result"].get("instructions"), said.as_ref());
        prop_assert_eq!(shown["result"].get("nextCursor").is_some(), cursor);
        let same = tools.iter().all(fine) && shown["result"].get("instructions").is_some() == line.contains("instructions");
        prop_assert_eq!(got.is_none(), same);
        prop_assert_eq!(shown["result"]["_meta"].get("s").is_some(), !same);
        prop_assert_eq!(shown["result"]["_meta"].get("m").is_some(), meta);
    }
}
