//! The rules over time: eras, deaths, limits, the breaker, the account.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::{Audit, answer};

use super::tests::{listed, moment, settings};

use super::*;

use crate::audit::event::Outcome;

const SECOND: Duration = Duration::from_secs(1);

struct Play {
    gate: Gate,
    id: u64,
    events: Vec<Event>,
    effects: Vec<Effect>,
}

impl Play {
    fn new(change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = settings();
        change(&mut settings);
        Self {
            gate: listed(Gate::new(&settings, moment())),
            id: 0,
            events: Vec::new(),
            effects: Vec::new(),
        }
    }

    fn plain() -> Self {
        Self::new(|_| ())
    }

    /// As the owner of a run does.
    fn heed(&mut self) {
        while !self.gate.effects.is_empty() {
            for effect in std::mem::take(&mut self.gate.effects) {
                match effect {
                    Effect::Event(event) => self.events.push(event),
                    Effect::Verdict(verdict) => {
                        let now = self.gate.breaker.after(verdict, self.gate.now.of_day);
                        self.gate.turn_breaker(now);
                    }
                    other => self.effects.push(other),
                }
            }
        }
    }

    fn later(&mut self, by: Duration) {
        self.gate.now.at += by;
        self.gate.now.of_day = self.gate.now.of_day.saturating_add(by).unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) -> Step {
        self.id += 1;
        let line = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params});
        let step = self.gate.host_line(line.to_string().as_bytes());
        self.heed();
        step
    }

    fn call(&mut self, tool: &str) -> Step {
        self.ask("tools/call", json!({"name": tool, "arguments": {"a": 1}}))
    }

    fn modern(&mut self, method: &str) -> Step {
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
        self.ask(method, json!({"name": "go", "_meta": meta}))
    }

    fn reply(&mut self, member: &str, value: Value) -> Step {
        let line = json!({"jsonrpc": "2.0", "id": self.id, member: value});
        let step = self.gate.server_line(line.to_string().as_bytes());
        self.heed();
        step
    }

    fn fails(&mut self) {
        assert_eq!(self.call("go"), Step::Forward);
        self.reply("error", json!({"code": -32_603, "message": "m"}));
    }

    fn initialized(&mut self) {
        self.ask("initialize", json!({"protocolVersion": "2025-06-18"}));
        self.reply("result", json!({"capabilities": {}}));
        let line = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(self.gate.host_line(line), Step::Forward);
    }

    fn outcomes(&self) -> Vec<Outcome> {
        let outcome = |event: &Event| match event {
            Event::Call(call) => Some(call.outcome),
            _ => None,
        };
        self.events.iter().filter_map(outcome).collect()
    }
}

fn answer_of(step: Step) -> Value {
    match step {
        Step::Withhold(withheld) => serde_json::from_slice(&withheld.to_host).expect("one line"),
        other => panic!("{other:?}"),
    }
}

fn lines(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

#[test]
fn three_failures_in_a_row_open_the_breaker_and_one_success_closes_it() {
    let mut play = Play::plain();
    play.fails();
    play.fails();
    // What is the host's own doing does not count, and is no success either.
    play.call("go");
    play.reply("error", json!({"code": -32_602, "message": "m"}));
    // A list is no call: a host that starts anew reads one each time.
    play.ask("tools/list", json!({}));
    play.reply("result", json!({"tools": [{"name": "go"}]}));
    play.fails();
    let refused = answer_of(play.call("go"));
    let facts = &refused["result"]["structuredContent"];
    assert_eq!(
        (&facts["layer"], &facts["reason"]),
        (&json!("breaker"), &json!("breaker-open"))
    );
    let text = refused["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("retry will not help yet, wait 60 s"),
        "{text}"
    );
    let other = answer_of(play.ask("prompts/get", json!({"name": "p"})));
    assert_eq!(other["error"]["code"], answer::BREAKER_OPEN);
    assert_eq!(
        play.ask("tools/list", json!({})),
        Step::Forward,
        "only calls are refused"
    );
    play.later(SECOND * 60);
    assert_eq!(play.call("go"), Step::Forward, "one is let through");
    play.reply("error", json!({"code": -32_603, "message": "m"}));
    answer_of(play.call("go"));
    play.later(SECOND * 61);
    assert_eq!(play.call("go"), Step::Forward);
    play.reply("result", json!({"content": [], "isError": true}));
    assert_eq!(play.gate.breaker, Breaker::default());
    let states: Vec<&str> = play
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Breaker { state, .. } => Some(*state),
            _ => None,
        })
        .collect();
    assert_eq!(states, ["open", "open", "closed"]);
}

#[test]
fn a_refusal_goes_by_what_was_approved_of_the_tool_before_any_list_was_seen() {
    let item =
        |item| crate::surface::canonical::Item::listed(crate::surface::Kind::Tool, item).unwrap();
    let mut case = Play::new(|settings| {
        settings.filter.exclude = vec!["x*".parse().unwrap()];
        let plain = item(json!({"name": "xa"}));
        let strict = item(json!({"name": "xb", "outputSchema": {"type": "object"}}));
        settings.surface = Some([plain, strict].into_iter().collect());
    });
    let structured = |answer: Value| answer["result"].get("structuredContent").is_some();
    assert!(structured(answer_of(case.call("xa"))));
    assert!(!structured(answer_of(case.call("xb"))));
    let unknown = answer_of(case.call("xc"));
    assert_eq!(unknown["error"]["code"], -32602);
}

#[test]
fn a_request_is_answered_when_its_time_is_up_and_progress_makes_it_longer() {
    let mut play = Play::new(|settings| settings.call_limit = Some(SECOND * 5));
    play.initialized();
    let meta = json!({"progressToken": "p"});
    play.ask("tools/call", json!({"name": "slow", "_meta": meta}));
    play.later(SECOND * 3);
    let note = br#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}"#;
    assert_eq!(play.gate.server_line(note), Step::Forward);
    play.later(SECOND * 3);
    assert_eq!(play.gate.expire(), Default::default());
    play.later(SECOND * 2);
    assert_eq!(play.gate.deadline(), Some(play.gate.now.at));
    let expired = play.gate.expire();
    play.heed();
    let answer = &lines(&expired.to_host)[0];
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(2), &json!(answer::CALL_TIMEOUT))
    );
    assert_eq!(answer["error"]["data"]["code"], "call-timeout");
    let told = &lines(&expired.to_server)[0];
    assert_eq!(
        (&told["method"], &told["params"]["requestId"]),
        (&json!(CANCELLED), &json!(2))
    );
    assert!(!expired.slow);
    // A late answer is a second one.
    assert!(matches!(play.reply("result", json!({})), Step::Withhold(_)));
    assert_eq!(
        (play.gate.counters.dropped_answers, play.outcomes()),
        (1, vec![Outcome::Timeout])
    );
    assert_eq!(play.gate.breaker.failures, 1);
    // A listen waits for ever.
    play.ask("subscriptions/listen", json!({}));
    assert_eq!(play.gate.deadline(), None);
}

#[test]
fn a_server_that_answers_nothing_in_the_time_of_its_start_is_given_up() {
    let mut play = Play::new(|settings| settings.start_limit = Some(SECOND * 10));
    play.later(SECOND * 100);
    assert_eq!(play.gate.deadline(), None, "nothing was asked yet");
    play.ask("initialize", json!({}));
    play.later(SECOND * 10);
    let expired = play.gate.expire();
    play.heed();
    assert!(expired.slow);
    let answer = &lines(&expired.to_host)[0];
    assert_eq!(answer["error"]["code"], answer::START_TIMEOUT);
    assert!(!play.gate.may_restart());
    play.gate.failed(("server-ended", Some(Exit::Signal(9))));
    play.heed();
    assert_eq!(
        play.gate.breaker.failures, 1,
        "its end is not another failure"
    );
    let mut play = Play::new(|settings| settings.start_limit = Some(SECOND * 10));
    play.initialized();
    play.call("go");
    assert_eq!(play.gate.deadline(), None);
}

#[test]
fn a_modern_server_asks_nothing() {
    let mut play = Play::plain();
    play.modern("tools/call");
    let ask = br#"{"jsonrpc":"2.0","id":"r","method":"sampling/createMessage"}"#;
    let Step::Withhold(withheld) = play.gate.server_line(ask) else {
        panic!()
    };
    assert!(withheld.to_host.is_empty() && withheld.to_server.is_empty());
    assert_eq!(withheld.note.unwrap().0, Fault::ServerRequest);
}

#[test]
fn a_refused_restart_is_the_answer_to_what_waits() {
    let mut play = Play::plain();
    play.modern("tools/list");
    play.gate.died(Exit::Code(1));
    play.modern("tools/list");
    let refusal = Refusal {
        number: -31_004,
        message: "changed".into(),
        code: "changed".into(),
        hint: None,
        exit: 126,
    };
    let told = lines(&play.gate.close(Gone::Refused(Box::new(refusal))));
    assert_eq!(told[0]["error"]["data"]["code"], "changed");
    assert_eq!(
        answer_of(play.modern("tools/list"))["error"]["code"],
        -31_004
    );
    assert!(!play.gate.may_restart());
}

#[test]
fn a_call_is_recorded_once_without_its_arguments() {
    let mut play = Play::plain();
    play.call("go");
    play.later(Duration::from_millis(12));
    play.reply("result", json!({"content": []}));
    play.call("slow");
    play.gate.host_line(
        br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#,
    );
    play.reply("result", json!({}));
    let Event::Call(call) = &play.events[0] else {
        panic!()
    };
    assert_eq!(
        (&*call.tool, call.outcome, call.duration_ms),
        ("go", Outcome::Ok, 12)
    );
    assert_eq!(
        call.arguments_sha256,
        crate::audit::verify::sha256(br#"{"a":1}"#)
    );
    assert_eq!((&call.arguments, call.response_bytes), (&None, 48));
    assert_eq!(play.outcomes(), [Outcome::Ok, Outcome::Error]);
    let mut play = Play::new(|settings| settings.audit = Audit::Arguments);
    play.call("go");
    play.reply("result", json!({}));
    let Event::Call(call) = &play.events[0] else {
        panic!()
    };
    assert_eq!(call.arguments, Some(json!({"a": 1})));
    let mut play = Play::new(|settings| settings.audit = Audit::Off);
    play.call("go");
    play.reply("result", json!({}));
    assert!(play.events.is_empty());
}

#[path = "rules_deaths_tests.rs"]
mod deaths;
