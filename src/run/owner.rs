//! What the relay asks of a run: the server anew, and that what happens is kept.

use std::rc::Rc;

use jiff::Timestamp;

use super::{Run, RunError, now, pending, refusal, ruled};
use crate::audit::Event;
use crate::declaration::store::State;
use crate::error::Error;
use crate::launch::{self, Prepared, Running, descendants};
use crate::plan::{Person, RunRequest};
use crate::relay::{Breaker, Discover, Last, Owner, Pending, Rules, Start, Verdict};

impl Owner for Run {
    fn start(&mut self) -> Start {
        self.last = None;
        // The one before may go now, and with it what it left in its temporary directory.
        self.held.borrow_mut().home = None;
        let (person, request) = (self.person.clone(), self.request.clone());
        let (held, say) = (Rc::clone(&self.held), self.say);
        Box::pin(async move {
            let launched = launched(&person, &request).await;
            let (prepared, running) = launched.map_err(|error| refusal(&error))?;
            let explanation = prepared.explanation();
            Ok(held.borrow_mut().take(explanation, running, say))
        })
    }

    fn started(&mut self) {
        let event = self.start_event(self.starts);
        self.starts = self.starts.saturating_add(1);
        self.record(event, now());
    }

    fn server_ended(&mut self, last: Option<Last>) {
        // Its first process has ended all others, and ends by itself.
        let going = last.as_ref().is_some_and(|last| last.process.is_going());
        self.last = last;
        if going {
            return;
        }
        if let Err(error) = descendants::sweep(descendants::AT_ONCE) {
            // Not R2 broken: what is left is swept again before this process ends.
            (self.say)(&format!("{error}; ended before the supervisor ends"));
        }
    }

    fn record(&mut self, event: Event, now: Timestamp) {
        if let Some(records) = &mut self.records {
            let recorded = records.log.record(event, now);
            self.told(recorded);
        }
    }

    fn rest(&mut self, now: Timestamp) {
        if let Some(records) = &mut self.records {
            let written = records.log.write(now);
            self.told(written);
        }
    }

    fn breaker(&mut self, verdict: Verdict) -> Breaker {
        self.breaker = match &self.records {
            None => self.breaker.after(verdict, now()),
            Some(records) => match records.kept.turn(verdict, now()) {
                Ok(breaker) => breaker,
                Err(error) => {
                    self.told(Err(error));
                    self.breaker.after(verdict, now())
                }
            },
        };
        self.breaker
    }

    fn discover(&mut self, how: Discover) {
        if let Some(records) = &self.records {
            let kept = records.kept.learn(how, now());
            self.told(kept);
        }
    }

    fn pending(&mut self, pending: &Pending) {
        if self.records.is_some() {
            let state = State::open(&self.person).map_err(RunError::from);
            let kept = state.and_then(|state| pending::saw(&state, &self.digest, pending, now()));
            self.told(kept);
        }
    }

    fn rules(&mut self, now: Timestamp) -> Option<Result<Rules, String>> {
        let required = self.held.borrow().required;
        let news = self.watch.news(now);
        if news.is_none() && required == self.required {
            return None;
        }
        self.required = required;
        let rules = match news {
            Some(news) => news.map(|settings| settings.rules),
            None => self.rules.clone(),
        };
        let rules = rules.map(|rules| ruled(rules, required));
        if rules == self.rules {
            return None;
        }
        self.rules.clone_from(&rules);
        Some(rules)
    }

    fn now(&self) -> Timestamp {
        now()
    }
}

/// By the whole road, from the declaration on.
async fn launched(person: &Person, request: &RunRequest) -> Result<(Prepared, Running), Error> {
    let mut prepared = launch::permit(launch::prepare(person, request)?)?;
    let running = launch::launch(&mut prepared).await?;
    Ok((prepared, running))
}
