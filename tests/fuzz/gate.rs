//! Whatever either side writes, and whatever becomes of the server: each request is answered
//! once at most, all are answered at the end, and what is passed on was asked for.
//!
//! Each line of the input is a step: `h` and a line of the host's, `s` and one of the server's, `t`
//! and so many seconds, `d` the server dies, `u` another comes, `c` the end, `l` the server answers our
//! own question for a list, by these tools or by those that are approved, `a` and a word: the host says
//! that to the first open question of ours. A first line that begins with `g` grants destructive tools
//! alone.

mod lines;
mod settings;

use std::collections::BTreeSet;
use std::time::Duration;

use super::super::envelope::{Id, Message, Reply, read};
use super::super::gate::{Effect, Gate, Gone, Step};
use super::super::params::Params;
use super::super::{Action, Exit};
use super::driver::signature;
use lines::{asks, json};
use settings::{moment, settings};

struct Game {
    gate: Gate,
    /// Requests that wait for an answer.
    open: BTreeSet<String>,
    /// Cancelled ones: an answer may come, or not.
    late: BTreeSet<String>,
    /// Our own question, by its id.
    own: Option<String>,
    /// The person just said yes to something.
    yes: bool,
    /// States that we gave out, as JSON.
    given: BTreeSet<String>,
    /// The server has answered with questions of its own.
    rounds: bool,
    /// The request that the host just made.
    asking: Option<String>,
    /// Calls they said yes to, which wait for a reading of ours.
    agreed: BTreeSet<String>,
    ways: Vec<u8>,
}

pub fn target(input: &[u8]) -> u64 {
    let mut game = Game {
        gate: Gate::new(&settings(input), moment()),
        open: BTreeSet::new(),
        late: BTreeSet::new(),
        own: None,
        yes: false,
        given: BTreeSet::new(),
        rounds: false,
        asking: None,
        agreed: BTreeSet::new(),
        ways: Vec::new(),
    };
    for step in input.split(|byte| *byte == b'\n') {
        game.step(step);
    }
    let lines = game.gate.close(Gone::Ended(Exit::Code(0)));
    game.told(&lines, None);
    assert!(
        game.open.is_empty(),
        "unanswered at the end: {:?}",
        game.open
    );
    signature(&game.ways)
}

impl Game {
    fn step(&mut self, step: &[u8]) {
        match step {
            [b'h', line @ ..] => self.host(line),
            [b's', line @ ..] => self.server(line),
            [b'l', tools @ ..] => {
                if let Some(id) = self.own.take() {
                    let tools = std::str::from_utf8(tools).unwrap_or_default();
                    let tools = match tools {
                        "" => {
                            r#"[{"name":"a"},{"name":"b"},{"name":"c","annotations":{"readOnlyHint":true}}]"#
                        }
                        tools => tools,
                    };
                    let line =
                        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":{tools}}}}}"#);
                    self.server(line.as_bytes());
                }
            }
            [b'a', word @ ..] => {
                let word = String::from_utf8_lossy(word).replace(['"', '\\'], "");
                let question = self.gate.questions.open().next().map(Id::json);
                let id = question.unwrap_or_else(|| "7".to_owned());
                let line =
                    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"{word}"}}}}"#);
                self.host(line.as_bytes());
            }
            [b't', rest @ ..] => {
                let seconds = std::str::from_utf8(rest)
                    .ok()
                    .and_then(|text| text.parse().ok());
                let by = Duration::from_secs(seconds.unwrap_or(1).min(1_000));
                self.gate.now.at += by;
                self.gate.now.of_day = self.gate.now.of_day.saturating_add(by).unwrap();
                let expired = self.gate.expire();
                self.told(&expired.to_host, None);
                self.ways.push(u8::from(expired.slow));
            }
            b"d" if self.gate.may_restart() && !self.gate.away => {
                let lines = self.gate.died(Exit::Signal(11));
                self.told(&lines, None);
                let left = self.open.iter().find(|id| !self.is_held(id));
                assert!(left.is_none(), "unanswered at a death: {left:?}");
                self.late.clear();
                self.ways.push(b'd');
            }
            b"u" if self.gate.away => {
                self.ways.push(u8::from(self.gate.started().is_some()));
            }
            b"c" => {
                let lines = self.gate.close(Gone::Mute);
                self.told(&lines, None);
            }
            _ => {}
        }
        self.heed();
    }

    /// Whether a request waits for the person, and so for no server.
    fn is_held(&self, id: &str) -> bool {
        Id::read(id).is_some_and(|id| self.gate.questions.holds(&id))
    }

    /// Those that wait for the person.
    fn held(&self) -> Vec<String> {
        let held = self.open.iter().filter(|id| self.is_held(id));
        held.cloned().collect()
    }

    /// What goes to the server is what the rules let through.
    fn passes(&self, line: &[u8]) {
        let Ok(Message::Request { id, method, params }) = read(line) else {
            return;
        };
        if method == "tools/call"
            && let (Ok(rules), Some(tool)) = (&self.gate.rules, params.name())
        {
            let action = rules.permissions.call("a", &tool).action;
            // A round of the server's goes on with what the host brings for it.
            let goes_on = self.rounds && (params.state().is_some() || params.responses().is_some());
            let yes = self.yes || goes_on || self.agreed.contains(&id.json());
            let asked = action == Action::Ask && yes;
            assert!(
                action == Action::Allow || asked,
                "{tool} reached the server"
            );
            // It is of the one category that may be missing.
            assert!(
                tool != "c" || self.gate.granted.is_empty(),
                "{tool} reached the server without its category"
            );
        }
    }

    /// Whether a request brings a state that we gave out and that was not brought before, with a yes.
    fn brings_yes(&mut self, params: &Params<'_>) -> bool {
        let state = params.state().map(str::to_owned);
        state.is_some_and(|state| self.given.remove(&state))
            && params
                .responses()
                .is_some_and(|said| said.contains("accept"))
    }

    fn host(&mut self, line: &[u8]) {
        self.yes = match read(line) {
            Ok(Message::Response { reply, .. }) => {
                matches!(reply, Reply::Result(found) if found.json.contains("accept"))
            }
            Ok(Message::Request { params, .. }) => self.brings_yes(&params),
            _ => false,
        };
        let held = self.held();
        let step = self.gate.host_line(line);
        let asked = match read(line) {
            Ok(Message::Request { id, .. }) => Some(id.json()),
            Ok(Message::Notification { method, params }) if method == "notifications/cancelled" => {
                if let Some(id) = params.request().map(|id| id.json())
                    && self.open.remove(&id)
                {
                    self.late.insert(id);
                }
                None
            }
            _ => None,
        };
        if self.yes {
            self.agreed
                .extend(self.gate.reading.held_ids().map(Id::json));
        }
        // What goes before the line: answers to what an earlier server was asked.
        self.asking.clone_from(&asked);
        self.heed();
        self.asking = None;
        match step {
            Step::Forward => {
                self.ways.push(b'H');
                self.passes(line);
                if let Some(id) = asked {
                    assert!(self.open.insert(id.clone()), "{id} waits already");
                    self.late.remove(&id);
                }
            }
            Step::Skip => {
                // It waits for a reading of ours, and is answered as any other.
                let held: Vec<_> = self.gate.reading.held_ids().map(Id::json).collect();
                self.open.extend(asked.filter(|id| held.contains(id)));
            }
            Step::Withhold(withheld) if asks(&withheld.to_host) => {
                // Our question about it.
                let id = asked.as_ref().expect("a question is about a request");
                assert!(self.is_held(id), "{id} does not wait");
                self.open.extend(asked);
                self.ways.push(b'Q');
            }
            Step::Withhold(withheld) => {
                self.told_of(line, &withheld.to_host, asked.as_deref(), &held);
                json(&withheld.to_server);
                assert!(
                    asked.is_none() || !withheld.to_host.is_empty(),
                    "a request without an answer"
                );
                self.ways
                    .extend(withheld.note.map(|(fault, _)| fault.as_str().as_bytes()[0]));
            }
        }
    }

    fn server(&mut self, line: &[u8]) {
        if self.gate.away || self.gate.gone.is_some() {
            return;
        }
        let step = self.gate.server_line(line);
        self.rounds |= String::from_utf8_lossy(line).contains("input_required");
        match step {
            Step::Forward => {
                self.ways.push(b'S');
                match read(line).expect("what is no message is not passed on") {
                    Message::Response { id, .. } => {
                        let id = id.expect("an answer to nobody is not passed on").json();
                        assert!(
                            self.open.remove(&id) || self.late.remove(&id),
                            "nobody asked {id}"
                        );
                    }
                    Message::Request { .. } | Message::Notification { .. } => {}
                }
            }
            Step::Skip => {}
            Step::Withhold(withheld) => {
                self.told(&withheld.to_host, None);
                json(&withheld.to_server);
                self.ways
                    .extend(withheld.note.map(|(fault, _)| fault.as_str().as_bytes()[0]));
            }
        }
        self.heed();
    }

    /// Lines of ours for the host: each answers a request that waits, or the one just asked.
    fn told(&mut self, lines: &[u8], asked: Option<&str>) {
        for line in lines.split(|byte| *byte == b'\n') {
            let line: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
            let state = &line["result"]["requestState"];
            self.given
                .extend(state.is_string().then(|| state.to_string()));
        }
        for id in json(lines) {
            // A request just asked and not passed on, be it with the id of one that waits.
            if asked != Some(&*id) && !self.open.remove(&id) && !self.late.remove(&id) {
                // A line that is no message may have had the id.
                assert!(asked.is_none(), "{id}: {}", lines.escape_ascii());
            }
            self.ways.push(b'T');
        }
    }

    /// What the host is told of a line of its own. An error about one that is no message may bear the
    /// id of a request that goes on waiting; where it was to answer a question of ours, it refuses the
    /// call that was held for it.
    fn told_of(&mut self, line: &[u8], lines: &[u8], asked: Option<&str>, held: &[String]) {
        if read(line).is_err() {
            for id in json(lines) {
                if held.contains(&id) && !self.is_held(&id) {
                    self.open.remove(&id);
                }
            }
            self.ways.push(b'G');
        } else {
            self.told(lines, asked);
        }
    }

    fn heed(&mut self) {
        while !self.gate.effects.is_empty() {
            for effect in std::mem::take(&mut self.gate.effects) {
                match effect {
                    Effect::ToHost(lines) => self.told(&lines, None),
                    Effect::Verdict(verdict) => {
                        let breaker = self.gate.breaker.after(verdict, self.gate.now.of_day);
                        self.gate.turn_breaker(breaker);
                    }
                    Effect::NewServer => {
                        assert!(
                            self.open.is_empty(),
                            "unanswered at a switch: {:?}",
                            self.open
                        );
                        self.late.clear();
                        self.gate.away = true;
                        self.ways.push(b'N');
                    }
                    Effect::Differs => {
                        let lines = self.gate.close(Gone::Differs);
                        self.told(&lines, None);
                    }
                    Effect::Event(event) => self.ways.push(event.name().as_bytes()[0]),
                    Effect::Replayed(_) | Effect::Discover(_) | Effect::Note(_) => {}
                    Effect::Pending(_) => {}
                    Effect::ToServer(line) => {
                        let id = json(&line).remove(0);
                        if id.starts_with("\"supervisor:") {
                            self.own = Some(id);
                        } else {
                            self.passes(line.strip_suffix(b"\n").unwrap());
                            if self.asking.as_ref() == Some(&id) {
                                self.open.insert(id.clone());
                            }
                            assert!(self.open.contains(&id), "{id} does not wait");
                        }
                        self.ways.push(b'O');
                    }
                }
            }
        }
    }
}
