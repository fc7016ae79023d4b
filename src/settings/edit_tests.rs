use proptest::prelude::*;

use super::super::Settings;
use super::*;

fn rule(word: &str) -> Rule {
    word.parse().unwrap()
}

#[test]
fn the_first_rule_makes_the_file() {
    let text = put(None, Action::Deny, &rule("Mcp(weather:get_alerts)"));
    let want = "{\n  \"version\": 1,\n  \"permissions\": {\n    \"deny\": [\"Mcp(weather:get_alerts)\"]\n  }\n}\n";
    assert_eq!(text, want);
    let text = put(Some(&text), Action::Ask, &rule("Mcp(time)"));
    let want = "{\n  \"version\": 1,\n  \"permissions\": {\n    \"deny\": [\"Mcp(weather:get_alerts)\"],\n    \"ask\": [\"Mcp(time)\"]\n  }\n}\n";
    assert_eq!(text, want);
}

#[test]
fn every_other_byte_stays() {
    let text = "{ \"permissions\" : {\"deny\":[\"Mcp(a)\",  \"Mcp(b)\" ], \"default\":\"ask\"},\t\"version\":1 }";
    let text = put(Some(text), Action::Deny, &rule("Mcp(c)"));
    assert_eq!(
        text,
        "{ \"permissions\" : {\"deny\":[\"Mcp(a)\",  \"Mcp(b)\",  \"Mcp(c)\" ], \"default\":\"ask\"},\t\"version\":1 }"
    );
    let text = put(Some(&text), Action::Allow, &rule("Mcp(b)"));
    assert_eq!(
        text,
        "{ \"permissions\" : {\"deny\":[\"Mcp(a)\",  \"Mcp(c)\" ], \"default\":\"ask\", \"allow\": [\"Mcp(b)\"]},\t\"version\":1 }"
    );
    let (text, count) = drop(&text, &|one| one.alias().as_str() != "b");
    assert_eq!(
        (&*text, count),
        (
            "{ \"permissions\" : {\"deny\":[ ], \"default\":\"ask\", \"allow\": [\"Mcp(b)\"]},\t\"version\":1 }",
            2
        )
    );
    assert_eq!(drop(&text, &|_| false), (text.clone(), 0));
    assert_eq!(put(Some(&text), Action::Allow, &rule("Mcp(b)")), text);
}

#[test]
fn a_rule_goes_with_its_alias() {
    let text = r#"{"version":1,"permissions":{"deny":["Mcp(a)","Mcp(a:*)","Mcp(ab:x)"],"ask":["Mcp(\u0061:x)"]}}"#;
    let (old, new) = ("a".parse().unwrap(), "z".parse().unwrap());
    let both = copy(text, &old, &new);
    assert_eq!(copy(&both, &old, &new), both);
    assert_eq!(
        drop(&both, &|rule| *rule.alias() == old),
        (
            r#"{"version":1,"permissions":{"deny":["Mcp(ab:x)","Mcp(z)","Mcp(z:*)"],"ask":["Mcp(z:x)"]}}"#
                .to_owned(),
            3
        )
    );
}

fn some() -> impl Strategy<Value = Rule> {
    let tool = prop_oneof![Just(""), Just(":*"), Just(":x"), Just(":y\\\"é")];
    ("[ab]", tool).prop_map(|(alias, tool)| rule(&format!("Mcp({alias}{tool})")))
}

fn list() -> impl Strategy<Value = Action> {
    prop_oneof![Just(Action::Deny), Just(Action::Ask), Just(Action::Allow)]
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
        let mut want: Vec<(Action, Rule)> = Vec::new();
        for (list, rule) in steps {
            match list {
                Some(list) => {
                    text = put(Some(&text), list, &rule);
                    want.retain(|(_, one)| *one != rule);
                    want.push((list, rule));
                }
                None => {
                    text = drop(&text, &|one| *one == rule).0;
                    want.retain(|(_, one)| *one != rule);
                }
            }
            let read = Settings::parse(Some(&text), "s".into()).unwrap().rules.permissions;
            let mut got: Vec<_> = read.listed().map(|(list, rule)| (list, rule.clone())).collect();
            got.sort();
            want.sort();
            prop_assert_eq!(&got, &want, "{}", text);
        }
    }
}
