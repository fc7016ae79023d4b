use super::*;
use proptest::prelude::*;

fn rules(words: &[&str]) -> Vec<Rule> {
    words.iter().map(|word| word.parse().unwrap()).collect()
}

#[test]
fn a_rule_is_read_back_as_it_is_written() {
    for word in [
        "Mcp(weather)",
        "Mcp(weather:*)",
        "Mcp(weather:get_alerts)",
        "Mcp(w-1_x:a.b/c:d (e))",
    ] {
        assert_eq!(word.parse::<Rule>().unwrap().to_string(), word);
    }
}

#[test]
fn whole_names_only() {
    use RuleError::{Alias, Form, Pattern, Tool};
    for (word, error) in [
        ("weather", Form),
        ("mcp(weather)", Form),
        ("Mcp(weather", Form),
        ("Mcp(weather) ", Form),
        ("Bash(ls)", Form),
        ("Mcp()", Alias),
        ("Mcp(*)", Alias),
        ("Mcp(we ather)", Alias),
        ("Mcp(:x)", Alias),
        ("Mcp(weather:get_*)", Pattern),
        ("Mcp(weather:**)", Pattern),
        ("Mcp(weather:get_?)", Pattern),
        ("Mcp(weather:)", Tool),
        ("Mcp(weather: x)", Tool),
        ("Mcp(weather:x\u{200b})", Tool),
        ("Mcp(weather:\n)", Tool),
    ] {
        assert_eq!(word.parse::<Rule>(), Err(error), "{word}");
    }
}

#[test]
fn deny_wins_then_ask_then_allow_then_the_default() {
    let mut all = Permissions {
        deny: rules(&["Mcp(weather:deny)", "Mcp(other)"]),
        ask: rules(&["Mcp(weather:deny)", "Mcp(weather:ask)"]),
        allow: rules(&["Mcp(weather:*)"]),
        default: Action::Deny,
        floor: Action::Allow,
    };
    let decide = |all: &Permissions, tool| all.call("weather", tool);
    assert_eq!(decide(&all, "deny").action, Action::Deny);
    assert_eq!(decide(&all, "ask").action, Action::Ask);
    assert_eq!(
        decide(&all, "else"),
        Decision {
            action: Action::Allow,
            by: By::Rule("Mcp(weather:*)".parse().unwrap())
        }
    );
    assert_eq!(
        all.call("elsewhere", "x"),
        Decision {
            action: Action::Deny,
            by: By::Default
        }
    );
    assert!(all.denies_server("other").is_some());
    assert!(all.denies_server("weather").is_none());
    all.floor = Action::Ask;
    assert_eq!(
        decide(&all, "else"),
        Decision {
            action: Action::Ask,
            by: By::Floor
        }
    );
    assert_eq!(decide(&all, "deny").action, Action::Deny);
}

pub(crate) fn some() -> impl Strategy<Value = Rule> {
    let alias = prop_oneof![Just("a"), Just("b")];
    let tool = prop_oneof![Just(""), Just(":*"), Just(":x"), Just(":y")];
    (alias, tool).prop_map(|(alias, tool)| format!("Mcp({alias}{tool})").parse().unwrap())
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![Just(Action::Allow), Just(Action::Ask), Just(Action::Deny)]
}

fn permissions() -> impl Strategy<Value = Permissions> {
    let list = || proptest::collection::vec(some(), 0..4);
    (list(), list(), list(), action(), action()).prop_map(|(deny, ask, allow, default, floor)| {
        Permissions {
            deny,
            ask,
            allow,
            default,
            floor,
        }
    })
}

proptest! {
    #[test]
    fn one_more_rule_under_deny_or_a_higher_floor_lets_nothing_more_through(
        mut all in permissions(), rule in some(), floor in action(),
        alias in "[ab]", tool in "[xyz]",
    ) {
        let before = all.call(&alias, &tool).action;
        prop_assert!(before >= all.floor);
        all.deny.push(rule);
        let denied = all.call(&alias, &tool).action;
        prop_assert!(denied >= before);
        all.floor = all.floor.max(floor);
        prop_assert!(all.call(&alias, &tool).action >= denied);
    }

    #[test]
    fn the_order_of_rules_decides_nothing(all in permissions(), alias in "[ab]", tool in "[xyz]") {
        let mut turned = all.clone();
        turned.deny.reverse();
        turned.ask.reverse();
        turned.allow.reverse();
        prop_assert_eq!(all.call(&alias, &tool).action, turned.call(&alias, &tool).action);
    }
}
