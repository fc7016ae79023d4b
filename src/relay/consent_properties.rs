//! No interleaving of calls, words of the person, rules and time lets a call through that was not
//! asked about.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::rules::{Action, Rule};
use super::super::{Permissions, Rules};
use super::tests::{Did, Play, permissions};
use super::{KEY, Step};

#[derive(Clone, Debug)]
enum Move {
    Call(&'static str),
    Modern(&'static str, usize),
    Say(&'static str, usize, &'static str),
    Cancel(u64),
    Rules(Permissions),
    Later,
    Reply(u64, bool),
}

fn some_rules() -> impl Strategy<Value = Permissions> {
    let rule = prop_oneof![
        Just("Mcp(weather)"),
        Just("Mcp(weather:*)"),
        Just("Mcp(weather:a)"),
        Just("Mcp(weather:b)"),
        Just("Mcp(other)"),
    ];
    let list = || proptest::collection::vec(rule.clone(), 0..3);
    let floor = prop_oneof![3 => Just(Action::Allow), 1 => Just(Action::Ask)];
    (list(), list(), list(), floor).prop_map(|(deny, ask, allow, floor)| Permissions {
        floor,
        ..permissions(&deny, &ask, &allow)
    })
}

fn some_move() -> impl Strategy<Value = Move> {
    let tool = || prop_oneof![Just("a"), Just("b")];
    let action = prop_oneof![3 => Just("accept"), 1 => Just("decline")];
    prop_oneof![
        tool().prop_map(Move::Call),
        (tool(), 0..4_usize).prop_map(|(tool, at)| Move::Modern(tool, at)),
        (tool(), 0..4_usize, action).prop_map(|(tool, at, action)| Move::Say(tool, at, action)),
        (1..20_u64).prop_map(Move::Cancel),
        some_rules().prop_map(Move::Rules),
        Just(Move::Later),
        (1..20_u64, any::<bool>()).prop_map(|(id, state)| Move::Reply(id, state)),
    ]
}

/// Each about a tool.
type About = Vec<(String, Value)>;

/// Those about this tool.
fn of(all: &[(String, Value)], tool: &str) -> Vec<Value> {
    let about = all.iter().filter(|one| one.0 == tool);
    about.map(|one| one.1.clone()).collect()
}

/// The tool that a question is about.
fn about(question: &Value) -> &'static str {
    let message = question["params"]["message"].as_str().unwrap();
    if message.contains("tool: a\n") {
        "a"
    } else {
        "b"
    }
}

/// Plays one move.
fn played(
    play: &mut Play,
    one: &Move,
    now: &Permissions,
    (questions, states): (&About, &About),
) -> Did {
    match one {
        Move::Call(tool) => play.call(tool),
        Move::Modern(tool, at) => match of(states, tool).get(*at) {
            None => play.modern(tool, json!({})),
            Some(state) => play.modern(
                tool,
                json!({"inputResponses": {KEY: {"action": "accept"}}, "requestState": state}),
            ),
        },
        Move::Say(tool, at, action) => match of(questions, tool).get(*at).cloned() {
            Some(question) => play.says(&question, json!({"action": action})),
            None => Did::default(),
        },
        Move::Cancel(id) => {
            let line = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
            play.host(line.to_string().as_bytes());
            Did::default()
        }
        Move::Rules(_) => {
            play.gate.set_rules(Ok(Rules {
                permissions: now.clone(),
                ..Rules::default()
            }));
            Did::default()
        }
        Move::Later => {
            play.gate.now.at += Duration::from_secs(100);
            play.gate.expire();
            play.did(Step::Skip, None)
        }
        Move::Reply(id, state) => {
            let mut result = json!({"resultType": "input_required"});
            if *state {
                result["requestState"] = "t".into();
            }
            play.server(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
        }
    }
}

/// Plays moves; each call that reached the server, with what the rules said of it at that moment, and
/// whether the person had said yes right then.
fn reached(
    first: Permissions,
    moves: &[Move],
    further: Option<&Rule>,
) -> Vec<(String, Action, bool)> {
    let mut now = first;
    now.deny.extend(further.cloned());
    let mut play = Play::legacy(now.clone(), json!({"elicitation": {}}));
    let (mut questions, mut states): (About, About) = (Vec::new(), Vec::new());
    let mut reached = Vec::new();
    let mut used: Vec<Value> = Vec::new();
    for one in moves {
        let yes = match one {
            Move::Say(_, _, action) => *action == "accept",
            // A state that was given out for this tool, and with which no call passed yet.
            Move::Modern(tool, at) => of(&states, tool)
                .get(*at)
                .is_some_and(|state| !used.contains(state)),
            _ => false,
        };
        if let Move::Rules(rules) = one {
            now = rules.clone();
            now.deny.extend(further.cloned());
        }
        let did = played(&mut play, one, &now, (&questions, &states));
        if let (Move::Modern(tool, at), false) = (one, did.server.is_empty()) {
            used.extend(of(&states, tool).get(*at).cloned());
        }
        for line in &did.server {
            let sent: Value = serde_json::from_slice(line).unwrap();
            if let Some(tool) = sent["params"]["name"].as_str() {
                reached.push((tool.to_owned(), now.call("weather", tool).action, yes));
            }
        }
        for line in did.host {
            if line["method"] == "elicitation/create" {
                questions.push((about(&line).to_owned(), line));
            } else if line["result"]["resultType"] == "input_required"
                && line["result"]["requestState"]
                    .as_str()
                    .is_some_and(|state| state != "t")
            {
                let Move::Modern(tool, _) = one else {
                    panic!("{line}")
                };
                states.push(((*tool).to_owned(), line["result"]["requestState"].clone()));
            }
        }
    }
    reached
}

proptest! {
    #[test]
    fn no_interleaving_makes_a_refused_call_reach_the_server(
        rules in some_rules(), moves in proptest::collection::vec(some_move(), 1..40),
    ) {
        for (tool, action, yes) in reached(rules, &moves, None) {
            prop_assert!(action == Action::Allow || (action == Action::Ask && yes), "{} {:?}", tool, action);
        }
    }

    #[test]
    fn one_more_rule_under_deny_lets_no_more_through(
        rules in some_rules(), moves in proptest::collection::vec(some_move(), 1..40),
        more in prop_oneof![Just("Mcp(weather)"), Just("Mcp(weather:a)"), Just("Mcp(other)")],
    ) {
        let more: Rule = more.parse().unwrap();
        let count = |all: &[(String, Action, bool)], tool: &str| {
            all.iter().filter(|one| one.0 == tool).count()
        };
        let before = reached(rules.clone(), &moves, None);
        let after = reached(rules, &moves, Some(&more));
        let named = permissions(&[&more.to_string()], &[], &[]);
        for tool in ["a", "b"] {
            prop_assert!(count(&after, tool) <= count(&before, tool));
            if named.call("weather", tool).action == Action::Deny {
                prop_assert_eq!(count(&after, tool), 0);
            }
        }
    }
}
