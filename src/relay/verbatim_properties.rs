//! What no rule touches goes its way as it is, in any spelling, with every rule on.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::super::{Action, Permissions, Rules, Words};
use super::*;
use crate::declaration::Category;
use crate::surface::rows::tests::any_json;

/// Choices that come again and again.
struct Choices(Vec<u8>, usize);

impl Choices {
    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        self.1 += 1;
        words[usize::from(self.0[self.1 % self.0.len()]) % words.len()]
    }

    fn space(&mut self) -> &'static str {
        self.of(&["", "", " ", "\t", "  ", "   ", " \t "])
    }

    /// A string, some of its characters spelled out.
    fn text(&mut self, text: &str) -> String {
        let mut out = String::new();
        for character in text.chars() {
            if self.of(&["", "", "", "out"]).is_empty() {
                let quoted = Value::from(character.to_string()).to_string();
                out.push_str(quoted.get(1..quoted.len() - 1).unwrap());
            } else {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04X}"));
                }
            }
        }
        format!("\"{out}\"")
    }

    /// JSON with space wherever there may be some.
    fn spelled(&mut self, value: &Value) -> String {
        let inner = match value {
            Value::Object(members) => {
                let members = members.iter().map(|(name, value)| {
                    let (before, name, after) = (self.space(), self.text(name), self.space());
                    format!("{before}{name}{after}:{}", self.spelled(value))
                });
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            }
            Value::Array(list) => {
                let list = list.iter().map(|value| self.spelled(value));
                format!("[{}]", list.collect::<Vec<_>>().join(","))
            }
            Value::String(text) => self.text(text),
            Value::Number(number) => format!("{number}{}", self.of(&["", ".0", "e0", "E+00"])),
            other => other.to_string(),
        };
        format!("{}{inner}{}", self.space(), self.space())
    }

    /// An object of these members, in some order.
    fn object(&mut self, mut members: Vec<String>) -> String {
        if !self.of(&["", "turned"]).is_empty() {
            members.reverse();
        }
        format!("{}{{{}}}{}", self.space(), members.join(","), self.space())
    }
}

/// A gate that saw every list, with every rule on, none of which names what is asked for here.
fn ruled() -> Play {
    let list = |words: &[&str]| words.iter().map(|word| word.parse().unwrap()).collect();
    let globs = |words: &[&str]| words.iter().map(|word| word.parse().unwrap()).collect();
    let mut words = Words::default();
    words.say("Mcp(weather:a)".parse().unwrap(), Category::ReadOnly);
    let mut play = Play::new(|settings| {
        settings.max_message_bytes = 10_000_000;
        settings.filter.include = globs(&["a", "b*"]);
        settings.filter.exclude = globs(&["a"]);
        settings.filter.only = globs(&["*"]);
        settings.granted = BTreeSet::from([Category::ReadOnly]);
        settings.call_limit = Some(SECOND * 100);
        settings.start_limit = Some(SECOND * 100);
        settings.rules = Rules {
            permissions: Permissions {
                deny: list(&["Mcp(weather:b)", "Mcp(other)"]),
                ask: list(&["Mcp(weather:c)"]),
                allow: list(&["Mcp(weather:a)"]),
                default: Action::Deny,
                floor: Action::Allow,
            },
            words,
            own_words: true,
            ..Rules::default()
        };
    });
    let wishes = json!({"sampling": {}, "roots": {}, "elicitation": {}});
    let templates = json!([{"uriTemplate": "t://{id}", "name": "t"}]);
    for (method, params, result) in [
        (
            "initialize",
            json!({"capabilities": wishes}),
            json!({"instructions": "Be brief."}),
        ),
        ("tools/list", json!({}), both()),
        (
            "prompts/list",
            json!({}),
            json!({"prompts": [described("p", "ask")]}),
        ),
        (
            "resources/list",
            json!({}),
            json!({"resources": [{"uri": "x://r", "name": "r"}]}),
        ),
        (
            "resources/templates/list",
            json!({}),
            json!({"resourceTemplates": templates}),
        ),
    ] {
        let id = play.ask(method, &params);
        play.reply(&json!(id), &result);
        assert_eq!(play.host.last().unwrap()["result"], result);
    }
    play.says(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    play
}

/// What may be asked for, with what it names.
const ASKED: [(&str, &str); 9] = [
    ("tools/call", r#""name":"a""#),
    ("prompts/get", r#""name" : "\u0070""#),
    ("resources/read", r#""uri":"x:\/\/r""#),
    ("resources/subscribe", r#""uri":"t://1""#),
    (
        "completion/complete",
        r#""ref":{"type":"ref/prompt","name":"p"}"#,
    ),
    ("logging/setLevel", r#""level":"debug""#),
    ("ping", r#""a":1"#),
    ("tasks/get", r#""taskId":"a""#),
    ("x/y", r#""a":1"#),
];

/// What a server may ask, of a host that can be asked.
const WISHES: [&str; 4] = [
    "ping",
    "roots/list",
    "sampling/createMessage",
    "elicitation/create",
];

/// Nothing was done beside passing the line on.
fn untouched(play: &mut Play, step: &Step) -> bool {
    let quiet = |effect: &Effect| {
        !matches!(
            effect,
            Effect::ToHost(_) | Effect::ToServer(_) | Effect::Note(_)
        )
    };
    let quiet = play.gate.effects.iter().all(quiet);
    play.gate.effects.clear();
    *step == Step::Forward && quiet
}

proptest! {
    #[test]
    fn what_no_rule_touches_is_passed_on_in_any_spelling(
        says in proptest::collection::vec((any_json(), any_json(), 0..ASKED.len(), 0..WISHES.len()), 1..6),
        choices in proptest::collection::vec(any::<u8>(), 1..60),
    ) {
        let (mut play, mut choices) = (ruled(), Choices(choices, 0));
        for (number, (one, other, asked, wish)) in says.iter().enumerate() {
            let (one, other) = (choices.spelled(one), choices.spelled(other));
            let version = format!("\"jsonrpc\"{}:\"2.0\"", choices.space());
            let id = format!("\"id\":\"\\u002{}\u{e9}{number}\"", number % 8);
            let (method, named) = ASKED[*asked];
            let params = choices.object(vec![
                named.to_owned(), format!("\"arguments\":{one}"), format!("\"x\":{other}"),
            ]);
            let call = choices.object(vec![
                version.clone(), id.clone(), format!("\"method\":\"{method}\""),
                format!("\"params\":{params}"), format!("\"x\":{one}"),
            ]);
            let result = choices.object(vec![
                format!("\"structuredContent\":{one}"), format!("\"x\":{other}"), format!("\"content\":{other}"),
            ]);
            let answer = choices.object(vec![version.clone(), id.clone(), format!("\"result\":{result}")]);
            let told = choices.object(vec![
                version.clone(), format!("\"method\":\"notifications/message\""), format!("\"params\":{{\"data\":{one}}}"),
            ]);
            let wish = choices.object(vec![
                version.clone(), id.clone(), format!("\"method\":\"{}\"", WISHES[*wish]), format!("\"params\":{{\"x\":{other}}}"),
            ]);
            let granted = choices.object(vec![version, id, format!("\"result\":{{\"x\":{one}}}")]);
            for (host, line) in [
                (true, &call), (false, &told), (false, &wish), (true, &told), (true, &granted), (false, &answer),
            ] {
                let step = if host {
                    play.gate.host_line(line.as_bytes())
                } else {
                    play.gate.server_line(line.as_bytes())
                };
                prop_assert!(untouched(&mut play, &step), "{line}: {step:?}");
            }
        }
    }
}
