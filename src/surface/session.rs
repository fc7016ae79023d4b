//! One child, spoken to in one era with one set of capabilities declared.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::canonical::{Item, Kind};
use super::error::Trouble;
use super::page::{self, Reply};
use super::read::Progress;
use super::reading::{Era, Reading, client};
use super::wire::{Event, Wire};
use crate::relay::answer;
use crate::relay::peer::Heard;
use crate::why::cause;

/// Pages of one list, and entries of all lists of one reading.
const PAGES: usize = 1_000;
/// Servers whose tools go by what the client declares tell of them a moment after the start.
const SETTLE: Duration = Duration::from_millis(500);
/// How often a list is read again because the server says that it changed.
const ROUNDS: usize = 3;
/// How often a wait for the first answer is told.
const TELL: Duration = Duration::from_secs(1);
const METHOD_NOT_FOUND: i64 = -32_601;

/// What is left of the limits, over all children of one inspection.
#[derive(Debug)]
pub(super) struct Budget {
    /// Bytes of stdout.
    pub(super) bytes: u64,
    /// Time after first answers.
    pub(super) talk: Duration,
    /// The whole of it, for the words.
    pub(super) whole: Duration,
    /// The same of the bytes.
    pub(super) most: u64,
}

/// What a reading brought.
#[derive(Debug, Default)]
pub(super) struct Read {
    /// Every item seen.
    pub(super) items: Vec<Item>,
    /// Entries that have no name to be asked for by.
    pub(super) nameless: usize,
    /// Lists that it answered with an error, and which.
    pub(super) refused: BTreeSet<(&'static str, i64)>,
}

/// How an opening went.
pub(super) enum Opening {
    /// The era is spoken: the result of `initialize` or `server/discover`.
    Spoken(Value),
    /// It is not, and how that showed.
    NotSpoken(Trouble),
}

/// A child and how it is spoken to.
pub(super) struct Session<'a> {
    pub(super) wire: Wire,
    pub(super) reading: Reading,
    pub(super) budget: &'a mut Budget,
    pub(super) interrupted: &'a AtomicBool,
    pub(super) progress: &'a dyn Fn(Progress),
    /// How long the first answer may take.
    limit: Duration,
    /// No child has answered before.
    first: bool,
    started: Instant,
    /// When the first answer came.
    answered: Option<Instant>,
    id: u64,
    changed: bool,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        wire: Wire,
        reading: Reading,
        (limit, first): (Duration, bool),
        budget: &'a mut Budget,
        interrupted: &'a AtomicBool,
        progress: &'a dyn Fn(Progress),
    ) -> Self {
        Self {
            wire,
            reading,
            budget,
            interrupted,
            progress,
            limit,
            first,
            started: Instant::now(),
            answered: None,
            id: 0,
            changed: false,
        }
    }

    /// Takes the time since the first answer off the budget, and ends the child. The last lines
    /// of what it said.
    pub(super) async fn end(self, lines: usize) -> Vec<String> {
        if let Some(answered) = self.answered {
            self.budget.talk = self.budget.talk.saturating_sub(answered.elapsed());
        }
        self.wire.end(lines).await
    }

    /// How long the first answer took.
    pub(super) fn start_took(&self) -> Option<Duration> {
        Some(self.answered?.duration_since(self.started))
    }

    /// Says the first word of the era.
    pub(super) async fn open(&mut self) -> Result<Opening, Trouble> {
        let method = self.reading.era.opening();
        let params = match self.reading.era {
            Era::Legacy => json!({
                "protocolVersion": Era::Legacy.version(),
                "capabilities": self.reading.declared.capabilities(Era::Legacy),
                "clientInfo": client(),
            }),
            Era::Modern => json!({}),
        };
        let result = match self.request(method, params).await {
            Ok(Reply::Result(result)) => result,
            Ok(Reply::Error(code)) => {
                return Ok(Opening::NotSpoken(Trouble::Refused { method, code }));
            }
            Err(trouble @ (Trouble::Ended(_) | Trouble::Closed | Trouble::Unreadable { .. })) => {
                return Ok(Opening::NotSpoken(trouble));
            }
            Err(trouble @ (Trouble::Mute { .. } | Trouble::TooLong))
                if self.reading.era == Era::Modern =>
            {
                return Ok(Opening::NotSpoken(trouble));
            }
            Err(trouble) => return Err(trouble),
        };
        let spoken = match self.reading.era {
            Era::Legacy => result.get("capabilities").is_some_and(Value::is_object),
            Era::Modern => supports(&result),
        };
        if !spoken {
            let why = "it names no capabilities, or no version of that era";
            return Ok(Opening::NotSpoken(Trouble::Unreadable { method, why }));
        }
        if self.reading.era == Era::Legacy {
            let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            self.wire.say(&initialized);
        }
        Ok(Opening::Spoken(result))
    }

    /// Reads all that the opening's result says is there.
    pub(super) async fn read(&mut self, opening: &Value) -> Result<Read, Trouble> {
        let mut read = Read::default();
        let said = opening.get("instructions").and_then(Value::as_str);
        if let Some(text) = said.filter(|text| !text.is_empty()) {
            read.items.push(Item::instructions(text));
        }
        let offers = |name: &str| {
            let offered = opening.pointer(&format!("/capabilities/{name}"));
            offered.is_some_and(Value::is_object)
        };
        let lists: Vec<Kind> = [
            ("tools", Kind::Tool),
            ("prompts", Kind::Prompt),
            ("resources", Kind::Resource),
            ("resources", Kind::Template),
        ]
        .into_iter()
        .filter_map(|(name, kind)| offers(name).then_some(kind))
        .collect();
        for _ in 0..ROUNDS {
            self.changed = false;
            read.nameless = 0;
            read.refused.clear();
            for kind in &lists {
                self.list(*kind, &mut read).await?;
            }
            // A server of the modern era tells of changes to who listens only.
            if self.reading.era == Era::Modern || lists.is_empty() {
                break;
            }
            self.settle().await?;
            if !self.changed {
                break;
            }
        }
        Ok(read)
    }

    async fn list(&mut self, kind: Kind, read: &mut Read) -> Result<(), Trouble> {
        let Some(method) = listing(kind) else {
            return Ok(());
        };
        let mut cursors = BTreeSet::new();
        let mut cursor: Option<String> = None;
        for _ in 0..PAGES {
            let params = match &cursor {
                Some(cursor) => json!({ "cursor": cursor }),
                None => json!({}),
            };
            let result = match self.request(method, params).await? {
                Reply::Result(result) => result,
                // It has resources and no templates, or the other way round.
                Reply::Error(METHOD_NOT_FOUND) if cursor.is_none() => return Ok(()),
                // A server works without its resources, which may be somewhere that is not
                // reached now. None that was not seen is approved.
                Reply::Error(code) if kind != Kind::Tool => {
                    read.refused.insert((method, code));
                    return Ok(());
                }
                Reply::Error(code) => return Err(Trouble::Refused { method, code }),
            };
            let unreadable = |why| Trouble::Unreadable { method, why };
            let page = page::page(kind, result).map_err(unreadable)?;
            read.items.extend(page.items);
            read.nameless = read.nameless.saturating_add(page.nameless);
            let Some(next) = page.next else {
                return Ok(());
            };
            if !cursors.insert(next.clone()) {
                return Err(Trouble::Circle { method });
            }
            cursor = Some(next);
        }
        Err(Trouble::Pages {
            method,
            limit: PAGES,
        })
    }

    /// Waits a moment for the word that a list changed.
    async fn settle(&mut self) -> Result<(), Trouble> {
        self.stay(SETTLE).await
    }

    /// Listens for so long; the trouble that came up meanwhile.
    pub(super) async fn stay(&mut self, long: Duration) -> Result<(), Trouble> {
        let until = Instant::now() + long;
        loop {
            match self.hear(until, "a list").await {
                Ok(_) => {}
                Err(Trouble::Mute { .. }) => return Ok(()),
                Err(trouble) => return Err(trouble),
            }
        }
    }

    async fn request(&mut self, method: &'static str, params: Value) -> Result<Reply, Trouble> {
        self.id = self.id.saturating_add(1);
        let id = self.id.to_string();
        let mut params = params;
        if let (Era::Modern, Some(params)) = (self.reading.era, params.as_object_mut()) {
            params.insert("_meta".to_owned(), self.reading.meta());
        }
        let request = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params});
        self.wire.say(&request);
        loop {
            let until = match self.answered {
                Some(answered) => answered + self.budget.talk,
                None => self.started + self.limit,
            };
            if let Some((answered, line)) = self.hear(until, method).await? {
                self.answered.get_or_insert_with(Instant::now);
                if answered.as_deref() == Some(id.as_str()) {
                    let unreadable = |why| Trouble::Unreadable { method, why };
                    return page::reply(&line).map_err(unreadable);
                }
            }
        }
    }

    /// The next answer, whatever it answers; `None` for anything else that was dealt with.
    async fn hear(
        &mut self,
        until: Instant,
        method: &'static str,
    ) -> Result<Option<(Option<String>, Vec<u8>)>, Trouble> {
        let mut now = Instant::now();
        let step = until.min(now + TELL);
        let event = self
            .wire
            .next(step, &mut self.budget.bytes, self.interrupted)
            .await;
        match event {
            Event::Heard(Heard::Answer { id, line }) => return Ok(Some((id, line))),
            Event::Heard(Heard::Request { id, method }) => self.reply(&id, &method),
            Event::Heard(Heard::Notice { method }) => {
                self.changed |= method.ends_with("/list_changed");
            }
            Event::Heard(Heard::Junk(line)) => {
                self.wire.quarantine(&line);
                if cause::is_header(&line) {
                    return Err(Trouble::Framed);
                }
            }
            Event::Heard(Heard::TooLong) => return Err(Trouble::TooLong),
            Event::Ended(exit) => return Err(Trouble::Ended(answer::fate(exit))),
            Event::Closed => {
                let fate = self.wire.fate().await.map(answer::fate);
                return Err(fate.map_or(Trouble::Closed, Trouble::Ended));
            }
            Event::TooMuch => {
                return Err(Trouble::TooMuch {
                    limit: self.budget.most,
                });
            }
            Event::Flood => return Err(Trouble::Flood),
            Event::Interrupted => return Err(Trouble::Interrupted),
            Event::Due => {
                now = Instant::now();
                if now < until {
                    if self.answered.is_none() {
                        (self.progress)(Progress::Waiting {
                            since: self.started.elapsed(),
                            first: self.first,
                        });
                    }
                    return Ok(None);
                }
                return Err(self.late(method, until));
            }
        }
        Ok(None)
    }

    fn late(&self, method: &'static str, until: Instant) -> Trouble {
        match self.answered {
            Some(answered) if until >= answered + self.budget.talk => Trouble::Slow {
                limit: self.budget.whole,
            },
            _ => Trouble::Mute {
                method,
                limit: self.limit,
            },
        }
    }

    /// Answers a request of the server's: we have no roots, no model, and nobody to ask.
    fn reply(&mut self, id: &str, method: &str) {
        let declared = self.reading.declared;
        let answer = match method {
            "ping" => json!({ "result": {} }),
            "roots/list" if declared.roots() => json!({ "result": {"roots": []} }),
            _ => json!({ "error": {"code": METHOD_NOT_FOUND, "message": "Method not found"} }),
        };
        let (Ok(id), Value::Object(mut answer)) = (serde_json::from_str::<Value>(id), answer)
        else {
            return;
        };
        // A client of the modern era writes no answers.
        if self.reading.era == Era::Modern {
            return;
        }
        answer.insert("jsonrpc".to_owned(), json!("2.0"));
        answer.insert("id".to_owned(), id);
        self.wire.say(&Value::Object(answer));
    }
}

fn listing(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Instructions => return None,
        Kind::Tool => "tools/list",
        Kind::Prompt => "prompts/list",
        Kind::Resource => "resources/list",
        Kind::Template => "resources/templates/list",
    })
}

fn supports(result: &Value) -> bool {
    let versions = result.get("supportedVersions").and_then(Value::as_array);
    let modern = Some(Era::Modern.version());
    versions.is_some_and(|versions| versions.iter().any(|version| version.as_str() == modern))
}
