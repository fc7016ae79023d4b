//! The gate's other half: lines that are no message, or over the cap.
//!
//! Pure. None is passed on. What a request would wait for because of it is answered with an
//! error, as far as the id can be made out.

use super::answer::{self, Data};
use super::envelope::{Id, Malformed};
use super::frame::Progress;
use super::gate::{EXCERPT, Effect, Fault, Gate, Step, Withheld};
use super::ledger::Answer;
use super::salvage::{Likeness, Salvage};
use super::sanitize;

impl Gate {
    /// A line of the host's that is no message. The id is repeated where it can be read and is
    /// not that of another request; else it is null, as JSON-RPC says.
    pub(super) fn host_garbage(&mut self, line: &[u8], fault: &Malformed) -> Step {
        self.counters.host_garbage += 1;
        let (code, word) = match fault {
            Malformed::Json | Malformed::Encoding => (answer::PARSE_ERROR, "parse error"),
            _ => (answer::INVALID_REQUEST, "invalid request"),
        };
        let seen = Salvage::of(line);
        let message = format!("{word}: {fault}");
        let id = self.free_id(&seen);
        let note = format!("a line of the host's is no message and was not passed on: {fault}");
        let mut to_host = answer::error(id, code, &message, None);
        to_host.extend(self.lost_word(&seen));
        self.noted(to_host, Vec::new(), Fault::HostGarbage, note)
    }

    /// The answer to a call, where the line seems to be the person's word about it.
    fn lost_word(&mut self, seen: &Salvage) -> Vec<u8> {
        let [id] = seen.ids() else { return Vec::new() };
        if seen.likeness() == Likeness::Request {
            return Vec::new();
        }
        self.no_word(id)
    }

    fn free_id<'a>(&self, seen: &'a Salvage) -> Option<&'a Id> {
        let id = seen.ids().first().filter(|_| seen.ids().len() == 1)?;
        let waits = self.asked.get(id).is_some() || self.questions.holds(id);
        let request = seen.likeness() != Likeness::Response && !waits;
        request.then_some(id)
    }

    /// A line of the server's that is no message. A request that it seems to answer is answered.
    pub(super) fn junk(&mut self, line: &[u8], why: &str) -> Step {
        self.counters.junk += 1;
        let seen = Salvage::of(line);
        let mut to_host = Vec::new();
        if seen.likeness() != Likeness::Request {
            let message = format!("the answer of {} cannot be read: {why}", self.alias);
            to_host = self.fail(
                seen.ids(),
                answer::UNREADABLE,
                "answer-unreadable",
                &message,
            );
        }
        let shown = sanitize::excerpt(line, EXCERPT);
        let note = format!(
            "a line on the server's stdout is no message and was kept from the host, {why}: {shown}"
        );
        Step::Withhold(Withheld {
            to_host,
            quarantine: true,
            note: Some((Fault::Junk, note)),
            ..Withheld::default()
        })
    }

    /// Answers those of the ids that wait, with an error.
    fn fail(&mut self, ids: &[Id], code: i64, word: &str, message: &str) -> Vec<u8> {
        let hint = self.hint();
        let data = Data {
            code: word,
            hint: Some(&hint),
            exit: None,
        };
        let mut lines = Vec::new();
        for id in ids {
            if self.replay.awaits(id) {
                self.effects.push(Effect::Differs);
            }
            if self.reading.awaits(id) {
                self.read_nothing();
            }
            if !self.reading.holds(id)
                && self.asked.get(id).is_some()
                && let Answer::Asked(open) = self.asked.settle(id)
            {
                self.spoilt(&open.asked);
                lines.extend(answer::error(Some(id), code, message, Some(data)));
                self.counters.answered_by_relay += 1;
            }
        }
        lines
    }

    /// A line of the host's is over the cap. `None`: not yet known whom to tell.
    pub(super) fn long_from_host(&mut self, seen: &Salvage, progress: Progress) -> Option<Step> {
        let likeness = seen.likeness();
        if progress != Progress::Ends && (seen.ids().is_empty() || likeness == Likeness::Unknown) {
            return None;
        }
        self.counters.oversize += 1;
        let message = format!(
            "the message is over {} bytes, the limit of the relay",
            self.cap
        );
        let data = Data {
            code: "message-too-long",
            hint: None,
            exit: None,
        };
        let mut to_server = Vec::new();
        let error = |id: &Id| answer::error(Some(id), answer::TOO_LONG, &message, Some(data));
        let to_host = match seen.ids() {
            [id] if likeness == Likeness::Response => {
                if matches!(self.called.settle(id), Answer::Asked(_)) {
                    to_server = error(id);
                }
                self.no_word(id)
            }
            _ => self.free_id(seen).map(error).unwrap_or_default(),
        };
        let note = format!(
            "a line of the host's was not passed on: over {} bytes",
            self.cap
        );
        Some(self.noted(to_host, to_server, Fault::LongFromHost, note))
    }

    /// A line of the server's is over the cap. `None`: not yet known whom to tell.
    ///
    /// Where no id comes in sight and one request alone waits, that one is answered: what fills
    /// the pipe is its answer, or stands before it.
    pub(super) fn long_from_server(&mut self, seen: &Salvage, progress: Progress) -> Option<Step> {
        let likeness = seen.likeness();
        let known = !seen.ids().is_empty() && likeness != Likeness::Unknown;
        let hopeless = likeness == Likeness::NoObject || progress == Progress::GivenUp;
        if progress != Progress::Ends && !known && !(hopeless && self.asked.only().is_some()) {
            return None;
        }
        self.counters.oversize += 1;
        let (mut to_host, mut to_server) = (Vec::new(), Vec::new());
        let message = format!(
            "the answer of {} is over {} bytes, the limit of the relay",
            self.alias, self.cap
        );
        if likeness == Likeness::Request {
            let data = Data {
                code: "message-too-long",
                hint: None,
                exit: None,
            };
            let text = format!("the message is over {} bytes", self.cap);
            let error = |id| answer::error(Some(id), answer::TOO_LONG, &text, Some(data));
            to_server = seen.ids().first().map(error).unwrap_or_default();
        } else {
            let only: Vec<Id> = self.asked.only().into_iter().collect();
            let ids = if seen.ids().is_empty() {
                &only
            } else {
                seen.ids()
            };
            to_host = self.fail(ids, answer::TOO_LONG, "message-too-long", &message);
        }
        let note = format!(
            "a line on the server's stdout was kept from the host: over {} bytes",
            self.cap
        );
        Some(self.noted(to_host, to_server, Fault::LongFromServer, note))
    }

    /// The stream of the host ended within a line.
    pub(super) fn unfinished_from_host(&mut self, rest: &[u8]) -> Step {
        if rest.iter().all(u8::is_ascii_whitespace) {
            return Step::Skip;
        }
        self.host_garbage(rest, &Malformed::Json)
    }

    /// The stream of the server ended within a line.
    pub(super) fn unfinished_from_server(&mut self, rest: &[u8]) -> Step {
        if rest.iter().all(u8::is_ascii_whitespace) {
            return Step::Skip;
        }
        self.counters.junk += 1;
        let note =
            "the server's stdout ended within a line, which was kept from the host".to_owned();
        Step::Withhold(Withheld {
            quarantine: true,
            note: Some((Fault::Junk, note)),
            ..Withheld::default()
        })
    }
}
