//! A changing server against the gate: no withheld item reaches the host, no call of one the server.

use super::*;

/// What the tools of a server are in turn: three, each as approved, changed, gone or renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Good,
    Changed,
    Gone,
    Renamed,
}

const TOOLS: [&str; 3] = ["t0", "t1", "t2"];

/// Anything may happen between a host, the gate and a server that changes.
struct World {
    play: Play,
    forms: [Form; 3],
    /// Requests at the server, each with the change that it was asked after; lines of the play that
    /// were looked at.
    asked: Vec<(Value, u64)>,
    seen: (usize, usize),
    epoch: u64,
    /// What the last answer with that tool said of it, since the last change.
    told: [Option<bool>; 3],
    calls: Vec<(u64, usize)>,
}

impl World {
    fn new() -> Self {
        let good = |name: &&str| Item::listed(Kind::Tool, described(name, "good")).unwrap();
        Self {
            play: Play::new(|settings| settings.surface = Some(TOOLS.iter().map(good).collect())),
            forms: [Form::Good; 3],
            asked: Vec::new(),
            seen: (0, 0),
            epoch: 0,
            told: [None; 3],
            calls: Vec::new(),
        }
    }

    fn forget(&mut self) {
        self.epoch += 1;
        self.told = [None; 3];
    }

    fn entry(&self, at: usize) -> Option<Value> {
        match self.forms[at] {
            Form::Good => Some(described(TOOLS[at], "good")),
            Form::Changed => Some(described(TOOLS[at], "evil")),
            Form::Renamed => Some(described(&format!("evil{at}"), "good")),
            Form::Gone => None,
        }
    }

    /// Looks at what went either way since the last look.
    fn look(&mut self) {
        while let Some(line) = self.play.server.get(self.seen.0).cloned() {
            self.seen.0 += 1;
            if line["method"] == "tools/call" {
                let at = TOOLS
                    .iter()
                    .position(|name| line["params"]["name"] == *name)
                    .unwrap();
                assert_eq!(
                    self.told[at],
                    Some(true),
                    "a call reached the server: {line}"
                );
            }
            if line.get("id").is_some() && line.get("method").is_some() {
                self.asked.push((line, self.epoch));
            }
        }
        for line in self.play.host.iter().skip(self.seen.1) {
            assert!(
                !line.to_string().contains("evil"),
                "it reached the host: {line}"
            );
            let id = line["id"].as_str().unwrap_or_default();
            assert!(!id.starts_with("supervisor:"), "our own: {line}");
        }
        self.seen.1 = self.play.host.len();
    }

    /// The server answers one of its requests.
    fn answers(&mut self, at: usize) {
        if at >= self.asked.len() {
            return;
        }
        let (request, epoch) = self.asked.remove(at);
        let page = request["params"]["cursor"] == "2";
        let result = match request["method"].as_str().unwrap() {
            "tools/list" => {
                let range = if page { 2..3 } else { 0..2 };
                for at in range.clone().filter(|_| epoch == self.epoch) {
                    match self.forms[at] {
                        Form::Good => self.told[at] = Some(true),
                        Form::Changed => self.told[at] = Some(false),
                        Form::Gone | Form::Renamed => {}
                    }
                }
                let tools: Vec<Value> = range.filter_map(|at| self.entry(at)).collect();
                let mut result = json!({"tools": tools, "resultType": "complete"});
                if !page {
                    result["nextCursor"] = json!("2");
                }
                result
            }
            "initialize" => json!({"capabilities": {}, "instructions": "evil"}),
            _ => json!({"content": [], "resultType": "complete"}),
        };
        self.play.reply(&request["id"], &result);
    }

    fn request(&mut self, method: &str, mut params: Value) -> u64 {
        if method != "initialize" {
            params["_meta"] =
                json!({META: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
        }
        if self.play.gate.away {
            // What is asked has it started again.
            self.play.gate.started();
        }
        let restarts = self.play.gate.session.era();
        let id = self.play.ask(method, &params);
        let now = self.play.gate.session.era();
        if restarts.is_some() && now != restarts {
            // To the other era: what was there is another process's.
            self.asked.clear();
            self.forget();
        }
        id
    }

    fn step(&mut self, (what, with): (u8, usize)) {
        match what {
            0 => drop(self.request("tools/list", json!({}))),
            1 => drop(self.request("tools/list", json!({"cursor": "2"}))),
            2..=4 => {
                let id = self.request("tools/call", json!({"name": TOOLS[with % 3]}));
                self.calls.push((id, with % 3));
            }
            5..=7 => self.answers(0),
            8 => self.answers(self.asked.len().wrapping_sub(1)),
            9 | 10 => {
                let forms = [Form::Good, Form::Changed, Form::Gone, Form::Renamed];
                self.forms[with % 3] = forms[with / 3 % 4];
                if what == 10 {
                    self.changed();
                }
            }
            11 => self.changed(),
            12 => self.dies(),
            13 => drop(self.request("initialize", json!({}))),
            14 => {
                if let Some((id, _)) = self.calls.last() {
                    let params = json!({"requestId": id});
                    self.play.says(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
                }
            }
            _ => {
                self.play.gate.now.at += SECOND * 31;
                let expired = self.play.gate.expire();
                self.play.host.extend(lines(&expired.to_host));
                self.play.heed();
            }
        }
        self.look();
    }

    fn changed(&mut self) {
        if !self.play.gate.away {
            self.forget();
            self.play.changes("tools");
        }
    }

    fn dies(&mut self) {
        if self.play.gate.may_restart() && !self.play.gate.away {
            let died = self.play.gate.died(Exit::Signal(9));
            self.play.host.extend(lines(&died));
            self.play.heed();
            self.asked.clear();
            self.forget();
        }
    }
}

proptest::proptest! {
    /// Whatever comes when, no item that is withheld reaches the host, and no call of one the server.
    #[test]
    fn nothing_withheld_gets_through(steps in proptest::collection::vec((0_u8..16, 0_usize..12), 0..60)) {
        let mut world = World::new();
        for step in steps {
            world.step(step);
        }
        // And nothing waits for ever: once the server answers, everything has an answer.
        for _ in 0..400 {
            world.answers(0);
            world.look();
        }
        proptest::prop_assert!(!world.play.gate.reading.is_under_way());
        proptest::prop_assert_eq!(world.play.gate.asked.only(), None);
    }
}
