use proptest::prelude::*;

use super::super::Settings;
use super::*;

fn rule(word: &str) -> Rule {
    word.parse().unwrap()
}

#[test]
fn the_first_rule_makes_the_file() {
    let text = put(
        None,
        List::Calls(Action::Deny),
        &rule("Mcp(weather:get_alerts)"),
    );
    let want = "{\n  \"version\": 1,\n  \"permissions\": {\n    \"deny\": [\"Mcp(weather:get_alerts)\"]\n  }\n}\n";
    assert_eq!(text, want);
    let text = put(Some(&text), List::Calls(Action::Ask), &rule("Mcp(time)"));
    let want = "{\n  \"version\": 1,\n  \"permissions\": {\n    \"deny\": [\"Mcp(weather:get_alerts)\"],\n    \"ask\": [\"Mcp(time)\"]\n  }\n}\n";
    assert_eq!(text, want);
}

#[test]
fn every_other_byte_stays() {
    let text = "{ \"permissions\" : {\"deny\":[\"Mcp(a)\",  \"Mcp(b)\" ], \"default\":\"ask\"},\t\"version\":1 }";
    let text = put(Some(text), List::Calls(Action::Deny), &rule("Mcp(c)"));
    assert_eq!(
        text,
        "{ \"permissions\" : {\"deny\":[\"Mcp(a)\",  \"Mcp(b)\",  \"Mcp(c)\" ], \"default\":\"ask\"},\t\"version\":1 }"
    );
    let text = put(Some(&text), List::Calls(Action::Allow), &rule("Mcp(b)"));
    assert_eq!(
        text,
        "{ \"permissions\" : {\"deny\":[\"Mcp(a)\",  \"Mcp(c)\" ], \"default\":\"ask\", \"allow\": [\"Mcp(b)\"]},\t\"version\":1 }"
    );
    let (text, count) = drop(&text, &|_, one| one.alias().as_str() != "b");
    assert_eq!(
        (&*text, count),
        (
            "{ \"permissions\" : {\"deny\":[ ], \"default\":\"ask\", \"allow\": [\"Mcp(b)\"]},\t\"version\":1 }",
            2
        )
    );
    assert_eq!(drop(&text, &|_, _| false), (text.clone(), 0));
    assert_eq!(
        put(Some(&text), List::Calls(Action::Allow), &rule("Mcp(b)")),
        text
    );
}

#[test]
fn a_rule_goes_with_its_alias() {
    let text = r#"{"version":1,"permissions":{"deny":["Mcp(a)","Mcp(a:*)","Mcp(ab:x)"],"ask":["Mcp(\u0061:x)"]},"categories":{"additive":["Mcp(a:x)"]}}"#;
    let (old, new) = ("a".parse().unwrap(), "z".parse().unwrap());
    let both = copy(text, &old, &new);
    assert_eq!(copy(&both, &old, &new), both);
    assert_eq!(
        drop(&both, &|_, rule| *rule.alias() == old),
        (
            r#"{"version":1,"permissions":{"deny":["Mcp(ab:x)","Mcp(z)","Mcp(z:*)"],"ask":["Mcp(z:x)"]},"categories":{"additive":["Mcp(z:x)"]}}"#
                .to_owned(),
            4
        )
    );
}

#[test]
fn a_tool_is_of_one_category_and_its_rule_for_calls_stays() {
    let (tool, deny) = (rule("Mcp(a:x)"), List::Calls(Action::Deny));
    let text = put(None, List::Tools(Category::ReadOnly), &tool);
    let want =
        "{\n  \"version\": 1,\n  \"categories\": {\n    \"read-only\": [\"Mcp(a:x)\"]\n  }\n}\n";
    assert_eq!(text, want);
    let text = put(Some(&text), deny, &tool);
    let text = put(Some(&text), List::Tools(Category::OpenWorld), &tool);
    let want = "{\n  \"version\": 1,\n  \"categories\": {\n    \"read-only\": [],\n    \"open-world\": [\"Mcp(a:x)\"]\n  },\n  \"permissions\": {\n    \"deny\": [\"Mcp(a:x)\"]\n  }\n}\n";
    assert_eq!(text, want);
    let (text, count) = drop(&text, &|list, _| list != deny);
    assert_eq!(count, 1);
    assert!(text.contains("\"deny\": [\"Mcp(a:x)\"]"), "{text}");
}

fn some() -> impl Strategy<Value = Rule> {
    let tool = prop_oneof![Just(""), Just(":*"), Just(":x"), Just(":y\\\"é")];
    ("[ab]", tool).prop_map(|(alias, tool)| rule(&format!("Mcp({alias}{tool})")))
}

fn list() -> impl Strategy<Value = List> {
    proptest::sample::select(lists().collect::<Vec<_>>())
}

/// What a list can hold of a rule: a category is of one tool.
fn fits(list: List, rule: Rule) -> Rule {
    match list {
        List::Tools(_) if rule.tool().is_none() => {
            Rule::of(rule.alias().clone(), Some("x")).unwrap()
        }
        _ => rule,
    }
}

proptest! {
    #[test]
    fn what_is_written_is_what_was_meant(
        steps in proptest::collection::vec((proptest::option::of(list()), some()), 1..12),
        spread in any::<bool>(),
    ) {
        let mut text = if spread {
            "{\n  \"permissions\": {\n    \"ask\": [\n    ]\n  },\n  \"version\": 1\n}".to_owned()
        } else {
            r#"{"version":1,"permissions":{}}"#.to_owned()
        };
        let mut want: Vec<(List, Rule)> = Vec::new();
        for (list, rule) in steps {
            match list {
                Some(list) => {
                    let rule = fits(list, rule);
                    text = put(Some(&text), list, &rule);
                    want.retain(|(of, one)| *one != rule || of.place().0 != list.place().0);
                    want.push((list, rule));
                }
                None => {
                    text = drop(&text, &|_, one| *one == rule).0;
                    want.retain(|(_, one)| *one != rule);
                }
            }
            let read = Settings::parse(Some(&text), "s".into()).unwrap().rules;
            let calls = read.permissions.listed().map(|(list, rule)| (List::Calls(list), rule));
            let tools = read.words.listed().map(|(category, rule)| (List::Tools(category), rule));
            let mut got: Vec<_> = calls.chain(tools).map(|(list, rule)| (list, rule.clone())).collect();
            got.sort();
            want.sort();
            prop_assert_eq!(&got, &want, "{}", text);
        }
    }
}
