//! Categories at the gate: what is refused and how, whose word counts, and that a narrower grant lets
//! nothing more through.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::super::rules::Rule;
use super::super::super::{Permissions, Rules, Words};
use super::*;
use crate::declaration::Category;

const NAMES: [&str; 4] = ["reads", "adds", "sends", "says_nothing"];

/// What each says of itself.
fn tool(name: &str) -> Value {
    let said = match name {
        "reads" => json!({"readOnlyHint": true}),
        "adds" => json!({"destructiveHint": false, "openWorldHint": false}),
        "sends" => json!({"readOnlyHint": false, "destructiveHint": false}),
        _ => json!({"title": "Reads only, promised"}),
    };
    json!({"name": name, "annotations": said})
}

fn all() -> Value {
    json!({"tools": NAMES.map(tool)})
}

fn granted(categories: &[Category]) -> Play {
    let mut play = Play::new(|settings| {
        let item = |name| Item::listed(Kind::Tool, tool(name)).unwrap();
        settings.surface = Some(NAMES.into_iter().map(item).collect());
        settings.granted = categories.iter().copied().collect();
    });
    let id = play.ask("tools/list", &json!({}));
    play.reply(&json!(id), &all());
    play
}

fn words(said: &[(&str, Category)]) -> Words {
    let mut words = Words::default();
    for (tool, category) in said {
        let rule: Rule = format!("Mcp(weather:{tool})").parse().unwrap();
        assert!(words.say(rule, *category));
    }
    words
}

fn rules(said: &[(&str, Category)], permissions: Permissions) -> Result<Rules, String> {
    Ok(Rules {
        permissions,
        words: words(said),
        ..Rules::default()
    })
}

/// The facts of a refusal.
fn facts(play: &Play, id: u64) -> Value {
    assert!(!play.reached(id));
    let answer = play.host.iter().find(|line| line["id"] == id);
    answer.expect("an answer")["result"]["_meta"]["supervisor/refusal"].clone()
}

fn which(facts: &Value) -> (&str, &str) {
    let word = |key: &str| facts[key].as_str().unwrap();
    (word("layer"), word("reason"))
}

#[test]
fn a_call_of_another_category_says_what_it_needs_and_what_there_is() {
    let mut play = granted(&[Category::Additive, Category::ReadOnly]);
    let passes = ["reads", "adds"].map(|tool| play.call(tool));
    assert!(passes.iter().all(|id| play.reached(*id)));
    for (tool, requires, whose) in [
        ("sends", "open-world", "the server's own word"),
        ("says_nothing", "destructive", "the server does not say"),
    ] {
        let id = play.call(tool);
        let answer = play.host.last().unwrap()["result"].clone();
        assert_eq!(
            answer["_meta"]["supervisor/refusal"],
            json!({
                "tool": tool, "refused": true, "layer": "category",
                "reason": "category-not-granted", "requires": [requires],
                "granted": ["read-only", "additive"], "retry_will_succeed": false,
            })
        );
        assert_eq!(
            answer["structuredContent"],
            answer["_meta"]["supervisor/refusal"]
        );
        assert_eq!(answer["isError"], true);
        let text = answer["content"][0]["text"].as_str().unwrap();
        let (granted, known) = (
            "granted are read-only, additive;",
            "tools of weather are of read-only, additive, open-world, destructive;",
        );
        let cure = format!("supervisor set weather --category {requires}");
        for part in [whose, granted, known, &cure] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!play.reached(id));
    }
    let refused = play.events.iter().filter_map(|event| match event {
        Event::Call(call) => Some((call.layer?, call.reason?)),
        _ => None,
    });
    assert_eq!(
        refused.collect::<Vec<_>>(),
        [("category", "category-not-granted"); 2]
    );
}

#[test]
fn without_a_grant_every_category_is_granted_and_lists_stay_as_they_are() {
    let mut play = granted(&[]);
    let passes = NAMES.map(|tool| play.call(tool));
    assert!(passes.iter().all(|id| play.reached(*id)));
    let play = granted(&[Category::ReadOnly]);
    assert_eq!(play.host[0]["result"], all());
}

#[test]
fn the_persons_word_counts_for_the_next_call() {
    let mut play = granted(&[Category::ReadOnly]);
    let said = [
        ("says_nothing", Category::ReadOnly),
        ("reads", Category::OpenWorld),
    ];
    play.gate.set_rules(rules(&said, Permissions::default()));
    let id = play.call("says_nothing");
    assert!(play.reached(id));
    let id = play.call("reads");
    assert_eq!(facts(&play, id)["requires"], json!(["open-world"]));
    let text = play.host.last().unwrap().to_string();
    assert!(text.contains("your word in settings.json"), "{text}");
    // A word on a tool of another server is none on this one's.
    let other: Rule = "Mcp(other:says_nothing)".parse().unwrap();
    let mut words = Words::default();
    words.say(other, Category::ReadOnly);
    play.gate.set_rules(Ok(Rules {
        words,
        ..Rules::default()
    }));
    let id = play.call("says_nothing");
    assert_eq!(which(&facts(&play, id)).0, "category");
    play.gate.set_rules(Err("unreadable".to_owned()));
    let id = play.call("reads");
    assert_eq!(which(&facts(&play, id)), ("rule", "settings-unreadable"));
}

#[test]
fn other_layers_come_first_and_no_rule_lifts_it() {
    let list = |word: &str| vec![word.parse().unwrap()];
    let mut play = granted(&[Category::ReadOnly]);
    play.gate.set_rules(rules(
        &[],
        Permissions {
            deny: list("Mcp(weather:adds)"),
            ask: list("Mcp(weather:sends)"),
            allow: list("Mcp(weather)"),
            ..Permissions::default()
        },
    ));
    let id = play.call("adds");
    assert_eq!(which(&facts(&play, id)), ("rule", "call-denied"));
    // Nobody is asked about what is refused all the same, and `allow` does not let it pass.
    for tool in ["sends", "says_nothing"] {
        let id = play.call(tool);
        assert_eq!(which(&facts(&play, id)).0, "category");
    }
    let unknown = play.call("nobody");
    let answer = play.host.iter().find(|line| line["id"] == unknown).unwrap();
    assert_eq!(answer["error"]["code"], -32602);
    let unnamed = play.ask("tools/call", &json!({"arguments": {}}));
    let answer = play.host.iter().find(|line| line["id"] == unnamed).unwrap();
    assert_eq!(answer["error"]["code"], -32602);
    // What is no tool has no category.
    let id = play.ask("prompts/get", &json!({"name": "p"}));
    assert_eq!(play.own("prompts/list")["method"], "prompts/list");
    play.lists("prompts/list", &json!({"prompts": []}));
    assert_eq!(play.refused(id), "-32602");
}

/// Another word of the server's is no word before it was approved: neither a milder one lets a call
/// pass, nor does the tool go on under the old one.
#[test]
fn what_a_server_says_today_is_not_what_it_was_granted_for() {
    for (name, now) in [
        ("says_nothing", json!({"readOnlyHint": true})),
        (
            "reads",
            json!({"readOnlyHint": true, "openWorldHint": true}),
        ),
    ] {
        let mut play = granted(&[Category::ReadOnly]);
        play.changes("tools");
        let mut tools = all();
        for tool in tools["tools"].as_array_mut().unwrap() {
            if tool["name"] == name {
                tool["annotations"] = now.clone();
            }
        }
        let list = play.ask("tools/list", &json!({}));
        play.reply(&json!(list), &tools);
        let id = play.call(name);
        assert_eq!(which(&facts(&play, id)), ("surface", "surface-changed"));
    }
}

/// A first call, before anything was listed: what was approved is known, and what was not waits.
#[test]
fn nothing_needs_to_be_listed_to_refuse() {
    let mut play = Play::new(|settings| {
        let item = |name| Item::listed(Kind::Tool, tool(name)).unwrap();
        settings.surface = Some(NAMES.into_iter().map(item).collect());
        settings.granted = BTreeSet::from([Category::ReadOnly]);
    });
    let id = play.call("sends");
    assert_eq!(which(&facts(&play, id)).0, "category");
    assert!(play.server.is_empty());
    let unknown = play.call("nobody");
    play.lists("tools/list", &all());
    assert_eq!(play.refused(unknown), "-32602");
}

#[test]
fn of_two_approved_forms_the_worse_counts() {
    let mut play = Play::new(|settings| {
        let forms = [tool("reads"), json!({"name": "reads"})];
        let item = |form| Item::listed(Kind::Tool, form).unwrap();
        settings.surface = Some(forms.into_iter().map(item).collect());
        settings.granted = BTreeSet::from([Category::ReadOnly]);
    });
    let id = play.call("reads");
    assert_eq!(facts(&play, id)["requires"], json!(["destructive"]));
}

/// What may happen.
#[derive(Debug, Clone)]
enum Move {
    Call(usize),
    Modern(usize),
    List,
    Answer,
    Changes(usize),
    Says(usize, Category),
    Forgets,
}

fn some_move() -> impl Strategy<Value = Move> {
    let category = || proptest::sample::select(Category::ALL.to_vec());
    prop_oneof![
        3 => (0..5_usize).prop_map(Move::Call),
        2 => (0..5_usize).prop_map(Move::Modern),
        2 => Just(Move::List),
        4 => Just(Move::Answer),
        1 => (0..4_usize).prop_map(Move::Changes),
        2 => (0..4_usize, category()).prop_map(|(at, category)| Move::Says(at, category)),
        1 => Just(Move::Forgets),
    ]
}

/// A play of the same moves; what the server is asked is answered in turn.
struct World {
    play: Play,
    said: Vec<(&'static str, Category)>,
    tools: Value,
    answered: usize,
}

impl World {
    fn new(granted: &BTreeSet<Category>) -> Self {
        let granted: Vec<Category> = granted.iter().copied().collect();
        Self {
            play: self::granted(&granted),
            said: Vec::new(),
            tools: all(),
            answered: 1,
        }
    }

    fn step(&mut self, one: &Move) {
        let name = |at: usize| NAMES.get(at).copied().unwrap_or("nobody");
        match one {
            Move::Call(at) => drop(self.play.call(name(*at))),
            Move::Modern(at) => {
                let meta =
                    json!({META: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
                let params = json!({"name": name(*at), "_meta": meta});
                self.play.ask("tools/call", &params);
            }
            Move::List => drop(self.play.ask("tools/list", &json!({}))),
            Move::Answer => {
                if let Some(request) = self.play.server.get(self.answered).cloned() {
                    self.answered += 1;
                    let result = if request["method"] == "tools/list" {
                        self.tools.clone()
                    } else {
                        json!({"content": []})
                    };
                    self.play.reply(&request["id"], &result);
                }
            }
            Move::Changes(at) => {
                let milder = &mut self.tools["tools"][*at]["annotations"];
                *milder = match milder["readOnlyHint"] {
                    Value::Bool(true) => tool(NAMES[*at])["annotations"].clone(),
                    _ => json!({"readOnlyHint": true}),
                };
                self.play.changes("tools");
            }
            Move::Says(at, category) => {
                self.said.retain(|(name, _)| *name != NAMES[*at]);
                self.said.push((NAMES[*at], *category));
                let rules = rules(&self.said, Permissions::default());
                self.play.gate.set_rules(rules);
            }
            Move::Forgets => {
                self.said.clear();
                self.play.gate.set_rules(Ok(Rules::default()));
            }
        }
    }

    /// The calls that reached the server.
    fn calls(&self) -> Vec<(String, String)> {
        let calls = self.play.server.iter();
        calls
            .filter(|line| line["method"] == "tools/call")
            .map(|line| (line["id"].to_string(), line["params"]["name"].to_string()))
            .collect()
    }

    /// What a tool is of now.
    fn category(&self, name: &str) -> Category {
        let said = self.said.iter().find(|(tool, _)| *tool == name);
        said.map_or_else(|| Category::said(&tool(name)).0, |(_, category)| *category)
    }
}

/// Plays moves, and looks that each call that reaches the server is of a granted category then.
fn played(world: &mut World, granted: &BTreeSet<Category>, moves: &[Move]) {
    for one in moves {
        let before = world.calls().len();
        world.step(one);
        for (_, name) in world.calls().iter().skip(before) {
            let category = world.category(name.trim_matches('"'));
            assert!(granted.contains(&category), "{name} is {category:?}");
        }
    }
}

proptest! {
    /// Whatever the server lists and answers and when, whatever the person says meanwhile.
    #[test]
    fn no_call_of_a_category_that_is_not_granted_reaches_the_server(
        granted in proptest::sample::subsequence(Category::ALL.to_vec(), 1..=4),
        moves in proptest::collection::vec(some_move(), 1..40),
    ) {
        let granted: BTreeSet<Category> = granted.into_iter().collect();
        played(&mut World::new(&granted), &granted, &moves);
    }

    /// A category that is taken from a grant lets no call through that the wider grant refused.
    #[test]
    fn a_narrower_grant_lets_nothing_more_through(
        wide in proptest::sample::subsequence(Category::ALL.to_vec(), 2..=4),
        gone in 0..4_usize,
        moves in proptest::collection::vec(some_move(), 1..40),
    ) {
        // A call that waits for a list, or for another process, comes through at another time in each.
        let waits = |one: &Move| matches!(one, Move::Changes(_) | Move::List | Move::Call(4) | Move::Modern(_));
        let moves: Vec<Move> = moves.into_iter().filter(|one| !waits(one)).collect();
        let wide: BTreeSet<Category> = wide.into_iter().collect();
        let gone = wide.iter().nth(gone % wide.len()).copied().unwrap();
        let narrow: BTreeSet<Category> = wide.iter().copied().filter(|one| *one != gone).collect();
        let (mut wider, mut narrower) = (World::new(&wide), World::new(&narrow));
        played(&mut wider, &wide, &moves);
        played(&mut narrower, &narrow, &moves);
        let (wide, narrow) = (wider.calls(), narrower.calls());
        for call in &narrow {
            prop_assert!(wide.contains(call), "{call:?} passes the narrower grant alone");
        }
    }
}
