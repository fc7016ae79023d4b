//! Calls whose arguments are checked: at once, after a reading of ours, after the person's word.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::consent::tests::{Did, permissions, refusal};
use super::super::gate::tests::{moment, settings};
use super::super::gate::{Effect, Step};
use super::super::reading::PREFIX;
use super::super::{Permissions, Rules};
use super::*;

const META: &str = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}"#;

fn form(schema: &Value) -> Item {
    let tool = json!({"name": "go", "inputSchema": schema});
    Item::listed(Kind::Tool, tool).unwrap()
}

fn numbers() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "number"}}, "additionalProperties": false})
}

fn rules(permissions: &Permissions, check: bool) -> Rules {
    Rules {
        permissions: permissions.clone(),
        check_arguments: check,
        ..Rules::default()
    }
}

fn refused(reason: &str) -> (String, String) {
    ("surface".to_owned(), reason.to_owned())
}

fn values(lines: &[u8]) -> impl Iterator<Item = Value> {
    let lines = lines.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap())
}

/// A session in which `go` was approved in some forms, and its arguments are checked.
struct Play {
    gate: Gate,
    id: u64,
    /// Questions of the relay's own for the list.
    readings: Vec<Value>,
}

impl Play {
    fn new(permissions: &Permissions, forms: Vec<Item>) -> Self {
        let mut settings = settings();
        settings.max_message_bytes = 100_000;
        settings.surface = Some(forms.into_iter().collect());
        settings.rules = rules(permissions, true);
        let mut play = Self {
            gate: Gate::new(&settings, moment()),
            id: 0,
            readings: Vec::new(),
        };
        play.ask("initialize", r#""capabilities":{"elicitation":{}}"#);
        play.server(&json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
        play.host(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        play
    }

    /// The same where the list was seen.
    fn seen(permissions: &Permissions, schemas: &[Value]) -> Self {
        let mut play = Self::new(permissions, schemas.iter().map(form).collect());
        play.ask("tools/list", "");
        let id = play.id;
        play.lists(&json!(id), schemas);
        play
    }

    fn lists(&mut self, id: &Value, schemas: &[Value]) -> Did {
        let tools: Vec<Value> = schemas.iter().map(|one| form(one).item().clone()).collect();
        self.server(&json!({"jsonrpc": "2.0", "id": id, "result": {"tools": tools}}))
    }

    fn host(&mut self, line: &[u8]) -> Did {
        let step = self.gate.host_line(line);
        let forwarded = step == Step::Forward;
        let mut did = self.did(step);
        if forwarded {
            did.server.push(line.to_vec());
        }
        did
    }

    fn server(&mut self, message: &Value) -> Did {
        let step = self.gate.server_line(message.to_string().as_bytes());
        self.did(step)
    }

    fn did(&mut self, step: Step) -> Did {
        let mut did = Did::default();
        while !self.gate.effects.is_empty() {
            for effect in std::mem::take(&mut self.gate.effects) {
                match effect {
                    Effect::ToHost(lines) => did.host.extend(values(&lines)),
                    Effect::ToServer(line) => {
                        let asked: Value = serde_json::from_slice(&line).unwrap();
                        let id = asked["id"].as_str().unwrap_or_default();
                        if id.starts_with(PREFIX) {
                            self.readings.push(asked);
                        } else {
                            did.server.push(line);
                        }
                    }
                    _ => {}
                }
            }
        }
        if let Step::Withhold(withheld) = step {
            did.host.extend(values(&withheld.to_host));
        }
        did
    }

    fn ask(&mut self, method: &str, params: &str) -> Did {
        self.id += 1;
        let id = self.id;
        let line =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#);
        self.host(line.as_bytes())
    }

    /// A call, with these members of its parameters too.
    fn calls(&mut self, arguments: &str, further: &str) -> Did {
        let params = format!(r#""name":"go","arguments":{arguments}{further}"#);
        self.ask("tools/call", &params)
    }

    fn go(&mut self, arguments: &str) -> Did {
        self.calls(arguments, "")
    }

    fn yes(&mut self, question: &Value) -> Did {
        let line = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}});
        self.host(line.to_string().as_bytes())
    }
}

fn text(did: &Did) -> String {
    did.host[0]["result"]["content"][0]["text"].to_string()
}

#[test]
fn what_does_not_fit_is_refused_by_its_place() {
    let mut play = Play::seen(&Permissions::default(), &[numbers()]);
    assert_eq!(play.go(r#"{ "n" : 1.0 }"#).server.len(), 1);
    let did = play.go(r#"{"n":"secret"}"#);
    assert_eq!(refusal(&did), refused("arguments-invalid"));
    let said = text(&did);
    assert!(said.contains("at /n it says type: number"), "{said}");
    assert!(!said.contains("secret"), "{said}");
    // What two readers could read in two ways.
    for odd in [r#"{"n":1,"n":"x"}"#, r#"{"n":1e999}"#, r#"{"\ud800":1}"#] {
        let did = play.go(odd);
        assert_eq!(refusal(&did), refused("arguments-invalid"), "{odd}");
    }
    // None at all is an object of nothing.
    assert_eq!(play.ask("tools/call", r#""name":"go""#).server.len(), 1);
    play.gate
        .set_rules(Ok(rules(&Permissions::default(), false)));
    assert_eq!(play.go(r#"{"n":"x"}"#).server.len(), 1);
}

#[test]
fn one_approved_form_is_enough() {
    let mut play = Play::seen(
        &Permissions::default(),
        &[numbers(), json!({"required": ["m"]})],
    );
    assert_eq!(play.go(r#"{"n":1}"#).server.len(), 1);
    assert_eq!(play.go(r#"{"m":1}"#).server.len(), 1);
    let did = play.go(r#"{"o":1}"#);
    assert_eq!(refusal(&did), refused("arguments-invalid"));
    // Whether they fit a form that cannot be read is not known.
    let mut play = Play::seen(&Permissions::default(), &[numbers(), json!({"type": 7})]);
    assert_eq!(play.go(r#"{"n":1}"#).server.len(), 1);
    let did = play.go(r#"{"o":1}"#);
    assert_eq!(refusal(&did), refused("arguments-unchecked"));
}

#[test]
fn what_cannot_be_checked_is_refused_and_says_why() {
    for (schema, says) in [
        (
            json!({"$ref": "https://example.com/x"}),
            "leads out of the document at /$ref",
        ),
        (json!({"$ref": "#"}), "takes too much"),
        (
            json!({"properties": {"n": {"pattern": "(?=a)"}}}),
            "linear time at /properties/n/pattern",
        ),
    ] {
        let mut play = Play::seen(&Permissions::default(), &[schema]);
        let did = play.go("{}");
        assert_eq!(refusal(&did), refused("arguments-unchecked"));
        assert!(text(&did).contains(says), "{}", text(&did));
    }
    let bare = Item::listed(Kind::Tool, json!({"name": "go"})).unwrap();
    let mut play = Play::new(&Permissions::default(), vec![bare]);
    assert!(text(&play.go("{}")).contains("is missing at the top"));
}

#[test]
fn a_call_that_waited_for_the_person_is_checked_when_it_goes_on() {
    let ask = permissions(&[], &["Mcp(weather:go)"], &[]);
    let mut play = Play::seen(&ask, &[numbers()]);
    // Nobody is asked about what does not fit.
    assert_eq!(
        refusal(&play.go(r#"{"n":"x"}"#)),
        refused("arguments-invalid")
    );
    play.gate.set_rules(Ok(rules(&ask, false)));
    let question = play.go(r#"{"n":"x"}"#).host[0].clone();
    assert_eq!(question["method"], "elicitation/create");
    play.gate.set_rules(Ok(rules(&ask, true)));
    let did = play.yes(&question);
    assert!(did.server.is_empty());
    assert_eq!(refusal(&did), refused("arguments-invalid"));
}

#[test]
fn a_call_that_waited_for_a_list_is_checked_when_it_goes_on() {
    let none = Permissions::default();
    let mut play = Play::new(&none, vec![form(&numbers())]);
    play.gate.set_rules(Ok(rules(&none, false)));
    for arguments in [r#"{"n":"x"}"#, r#"{"n":1}"#] {
        assert!(play.go(arguments).server.is_empty());
    }
    play.gate.set_rules(Ok(rules(&none, true)));
    let asked = play.readings.pop().unwrap();
    let did = play.lists(&asked["id"], &[numbers()]);
    assert_eq!((did.host.len(), did.server.len()), (1, 1));
    let facts = &did.host[0]["result"]["_meta"]["supervisor/refusal"];
    assert_eq!(facts["reason"], "arguments-invalid");
    assert_eq!(arguments_of(&did.server[0]).unwrap(), r#"{"n":1}"#);
}

#[derive(Clone, Debug)]
enum Move {
    /// A call with these arguments, of either era.
    Call(bool, usize),
    /// The person's yes to a question.
    Yes(usize),
    /// The setting, and whether they are asked.
    Rules(bool, bool),
    /// The list changed; nobody has looked at it since.
    Changed,
    /// What waits for a reading of ours goes on.
    Read,
}

const ARGUMENTS: [(&str, bool); 5] = [
    (r#"{"n":1}"#, true),
    (r#"{}"#, true),
    (r#"{"n":"x"}"#, false),
    (r#"{"n":1,"n":2}"#, false),
    (r#"{"m":1}"#, false),
];

fn some_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        4 => (any::<bool>(), 0..ARGUMENTS.len()).prop_map(|(modern, at)| Move::Call(modern, at)),
        3 => (0..6_usize).prop_map(Move::Yes),
        2 => (any::<bool>(), any::<bool>()).prop_map(|(check, ask)| Move::Rules(check, ask)),
        1 => Just(Move::Changed),
        2 => Just(Move::Read),
    ]
}

/// What the gate says to one move.
fn played(play: &mut Play, one: &Move, questions: &[Value]) -> Did {
    match one {
        Move::Call(false, at) => play.go(ARGUMENTS[*at].0),
        Move::Call(true, at) => play.calls(ARGUMENTS[*at].0, META),
        Move::Yes(at) => match questions.get(*at) {
            Some(question) if question["method"] == "elicitation/create" => play.yes(question),
            Some(asked) => {
                let state = &asked["result"]["requestState"];
                let further = format!(
                    r#"{META},"inputResponses":{{"supervisor":{{"action":"accept"}}}},"requestState":{state}"#
                );
                let arguments = asked["arguments"].as_str().unwrap();
                play.calls(arguments, &further)
            }
            None => Did::default(),
        },
        Move::Rules(check, ask) => {
            let named: &[&str] = if *ask { &["Mcp(weather)"] } else { &[] };
            let permissions = permissions(&[], named, &[]);
            play.gate.set_rules(Ok(rules(&permissions, *check)));
            Did::default()
        }
        Move::Changed => {
            play.server(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))
        }
        Move::Read => match play.readings.pop() {
            Some(asked) => play.lists(&asked["id"], &[numbers()]),
            None => Did::default(),
        },
    }
}

proptest! {
    /// While arguments are checked, none that does not fit is at the server, whatever happened before.
    #[test]
    fn no_interleaving_brings_unfit_arguments_to_the_server(
        moves in proptest::collection::vec(some_move(), 1..40),
    ) {
        let mut play = Play::seen(&Permissions::default(), &[numbers()]);
        let mut is_checked = true;
        let mut questions: Vec<Value> = Vec::new();
        for one in &moves {
            if let Move::Rules(check, _) = one {
                is_checked = *check;
            }
            let did = played(&mut play, one, &questions);
            for line in &did.server {
                let Some(sent) = arguments_of(line) else { continue };
                let fit = ARGUMENTS.iter().any(|(text, fits)| *text == sent && *fits);
                prop_assert!(fit || !is_checked, "{sent}");
            }
            for mut line in did.host {
                let is_question = line["method"] == "elicitation/create";
                let is_asked = line["result"]["resultType"] == "input_required";
                if let (true, Move::Call(_, at)) = (is_asked, one) {
                    line["arguments"] = ARGUMENTS[*at].0.into();
                }
                if is_question || line.get("arguments").is_some() {
                    questions.push(line);
                }
            }
        }
    }
}
