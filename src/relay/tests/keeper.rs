//! The owner of a run, played by a test.

use std::task::{Context, Poll};

use super::support::start;
use crate::audit::Event;
use crate::relay::{Bounds, Breaker, Discover, Last, Over, Owner, Pending, Start, Verdict};

/// An owner that starts the same server again, as often as it may, and keeps all in memory.
pub struct Keeper {
    pub words: Vec<String>,
    /// Further starts that are granted.
    pub starts: usize,
    pub events: Vec<Event>,
    pub breaker: Breaker,
    pub discover: Option<Discover>,
    pub pending: Option<Pending>,
    /// The limit that the server is over from its start.
    pub over: Option<Over>,
}

/// A watch that has found this.
impl Bounds for Option<Over> {
    fn poll_over(&mut self, _: &mut Context<'_>) -> Poll<Over> {
        self.map_or(Poll::Pending, Poll::Ready)
    }

    fn ended(&mut self) -> Option<Over> {
        *self
    }
}

impl Keeper {
    pub fn new(words: &[&str]) -> Self {
        Self {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            starts: usize::MAX,
            events: Vec::new(),
            breaker: Breaker::default(),
            discover: None,
            pending: None,
            over: None,
        }
    }
}

impl Owner for Keeper {
    fn start(&mut self) -> Start {
        let granted = self.starts > 0;
        self.starts = self.starts.saturating_sub(1);
        let words = self.words.clone();
        Box::pin(async move {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            if granted {
                Ok(start(&words))
            } else {
                Err(super::refusal())
            }
        })
    }

    fn started(&mut self) {
        self.events.push(Event::Start {
            program: "again".into(),
            restart: 0,
        });
    }

    fn server_ended(&mut self, _: Option<Last>) {}

    fn record(&mut self, event: Event, _: jiff::Timestamp) {
        self.events.push(event);
    }

    fn rest(&mut self, _: jiff::Timestamp) {}

    fn breaker(&mut self, verdict: Verdict) -> Breaker {
        self.breaker = self.breaker.after(verdict, self.now());
        self.breaker
    }

    fn pending(&mut self, pending: &Pending) {
        self.pending = Some(pending.clone());
    }

    fn discover(&mut self, how: Discover) {
        self.discover = Some(how);
    }

    fn rules(&mut self, _: jiff::Timestamp) -> Option<Result<crate::relay::Rules, String>> {
        None
    }

    #[expect(clippy::disallowed_methods, reason = "a test tells the time itself")]
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::now()
    }
}
