//! The gate's way for what comes from the server: its answers, its own requests, what it tells.
//!
//! Pure. An answer goes to the host once, and not unless somebody asked. What it holds is judged by the
//! request that it answers, here, whatever road it took: a result, a task's, a notification about one.

use super::answer;
use super::envelope::{self, Id, Malformed, Message, Reply};
use super::era;
use super::gate::{CANCELLED, EXCERPT, Fault, Gate, LISTEN, MAX_CALLED, Step, Withheld};
use super::ledger::{Answer, Asked, Full};
use super::params::Params;
use super::reading::Reading;
use super::wanted::Unwanted;
use super::{mark, sanitize};

const PROGRESS: &str = "notifications/progress";
/// How notifications about tasks begin (2026-07-28, and an experiment of 2025-11-25).
const TASKS: &str = "notifications/tasks";

impl Gate {
    /// A line of the server's, without its LF.
    pub(super) fn server_line(&mut self, line: &[u8]) -> Step {
        let step = match envelope::read(line) {
            Ok(Message::Request { id, method, .. }) => self.call(line, id, &method),
            Ok(Message::Notification { method, params }) => {
                match (&*method, params.progress()) {
                    (CANCELLED, _) => self.server_cancels(&params),
                    (PROGRESS, Some(token)) => self.asked.progress(&token, self.now.at),
                    _ => self.list_changed(&method),
                }
                let own = params.request().is_some_and(|id| Reading::owns(&id));
                if method == CANCELLED && own {
                    Step::Skip
                } else {
                    self.notified(line, &method)
                }
            }
            Ok(Message::Response { id, reply }) => self.server_answer(line, id.as_ref(), &reply),
            Err(Malformed::Blank) => Step::Skip,
            Err(fault) => self.junk(line, &fault.to_string()),
        };
        if step == Step::Forward {
            self.counters.from_server += 1;
        }
        step
    }

    /// A notification of the server's. One about a task may hold what a result would.
    fn notified(&mut self, line: &[u8], method: &str) -> Step {
        if !method.starts_with(TASKS) {
            return Step::Forward;
        }
        if let Some(step) = self.tells_in_vain(line) {
            return step;
        }
        match self.marked(line, "params", None) {
            Some(marked) => self.instead(marked),
            None => Step::Forward,
        }
    }

    /// A line of ours in place of one of the server's.
    fn instead(&mut self, mut to_host: Vec<u8>) -> Step {
        to_host.push(b'\n');
        self.counters.from_server += 1;
        Step::Withhold(Withheld {
            to_host,
            ..Withheld::default()
        })
    }

    fn call(&mut self, line: &[u8], id: Id, method: &str) -> Step {
        if self.session.era() == Some(era::Era::Modern) {
            // 2026-07-28: a server writes no requests, and reads no answers.
            self.counters.junk += 1;
            let note = format!(
                "a request of the server's, which this era has not, was dropped: {}",
                sanitize::excerpt(line, EXCERPT)
            );
            return self.noted(Vec::new(), Vec::new(), Fault::ServerRequest, note);
        }
        if let Some(step) = self.kept_from_host(line, &id, method) {
            return step;
        }
        let asked = Asked {
            method: method.to_owned(),
            tool: None,
            modern: false,
            page: None,
            declared: self.host,
            token: None,
            bytes: line.len(),
            arguments: (String::new(), None),
            consent: None,
            since: self.now.at,
            limit: None,
        };
        let message = match self.called.enter(id.clone(), asked) {
            Ok(()) => return Step::Forward,
            Err(Full::Taken) => {
                "its id is that of a request which still waits for its answer".to_owned()
            }
            Err(Full::TooMany) => format!("{MAX_CALLED} requests of the server wait already"),
        };
        let line = answer::error(Some(&id), answer::INVALID_REQUEST, &message, None);
        let note = format!("a request of the server's was not passed on: {message}");
        self.noted(Vec::new(), line, Fault::TooMany, note)
    }

    fn server_answer(&mut self, line: &[u8], id: Option<&Id>, reply: &Reply<'_>) -> Step {
        if let Some(id) = id.filter(|id| self.replay.awaits(id)) {
            return self.replayed(line, id);
        }
        if id.is_some_and(|id| self.reading.awaits(id)) {
            self.read(line, reply);
            return Step::Skip;
        }
        // One that waits for a reading of ours was not sent: nobody asked the server yet.
        let sent = id.filter(|id| !self.reading.holds(id));
        let why = match sent.map(|id| (id, self.asked.settle(id))) {
            Some((id, Answer::Asked(mut open))) => {
                let unwanted = self.unwanted_result(&open.asked, reply);
                self.settled(line, id, &mut open.asked, (reply, unwanted.is_none()));
                return match unwanted {
                    Some(unwanted) => self.refuse_result(id, &open.asked, &unwanted),
                    None => self.passed(line, id, &open.asked, reply),
                };
            }
            Some((id, Answer::Late(open))) => {
                return match self.unwanted_result(&open.asked, reply) {
                    Some(_) => Step::Skip,
                    None => self.passed(line, id, &open.asked, reply),
                };
            }
            Some((_, Answer::Again)) => "a second answer to one request was dropped",
            Some((_, Answer::Unasked | Answer::Abandoned)) | None => {
                "an answer to an id that nobody asked was dropped"
            }
        };
        self.counters.dropped_answers += 1;
        let note = format!("{why}: {}", sanitize::excerpt(line, EXCERPT));
        self.noted(Vec::new(), Vec::new(), Fault::Dropped, note)
    }

    /// Why a result is not passed on.
    fn unwanted_result(&self, asked: &Asked, reply: &Reply<'_>) -> Option<Unwanted> {
        match reply {
            Reply::Result(found) if found.asks => self.asks_in_vain(found.json, asked.declared),
            Reply::Result(_) | Reply::Error(_) => None,
        }
    }

    /// An answer on its way to the host. What the server says of itself in it: as far as it was
    /// approved. What a model would read: marked, where that is set. An error: in our words, likewise.
    fn passed(&mut self, line: &[u8], id: &Id, asked: &Asked, reply: &Reply<'_>) -> Step {
        let opens = matches!(&*asked.method, era::INITIALIZE | era::DISCOVER);
        let changed = match reply {
            Reply::Error(error) => self.reworded(id, asked, error),
            Reply::Result(_) if asked.page.is_some() || opens => {
                self.shown(line, asked.page.as_ref())
            }
            Reply::Result(_) if mark::speaks(asked) => {
                self.marked(line, "result", asked.tool.as_deref())
            }
            Reply::Result(_) => None,
        };
        match changed {
            Some(line) => self.instead(line),
            None => Step::Forward,
        }
    }

    fn server_cancels(&mut self, params: &Params<'_>) {
        let Some(id) = params.request() else { return };
        let listens = self
            .asked
            .get(&id)
            .is_some_and(|asked| asked.method == LISTEN);
        if self.called.cancel(&id).is_none() && listens {
            self.asked.cancel(&id);
        }
    }
}
