//! A run that was refused: the host learns why, as the answer to what it asks.
//!
//! A host that probes with `server/discover` falls back to `initialize`, so every request is
//! answered, for at most [`LISTEN`]. `initialize` is what hosts fall back to: [`QUIET`] after its
//! answer nothing more is waited for.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use super::envelope::{self, Message};
use super::frame::{Frame, Progress};
use super::host::Ports;
use super::lane::{Lane, OWN_LIMIT};
use super::port::{Inlet, Outlet, Read, Wrote};
use super::salvage::Likeness;
use super::{Host, MAX_MESSAGE_BYTES, Refusal, answer};

/// How long requests are waited for.
const LISTEN: Duration = Duration::from_secs(5);
/// How long after `initialize` was answered, and after each request from then on.
const QUIET: Duration = Duration::from_millis(500);

/// Answers every request of the host with the refusal: until its stdin ends, until it is quiet
/// after an answered `initialize`, and never longer than 5 s. Notifications and what is no
/// message are skipped. Nothing is written to stderr. Descriptors that cannot be used are a host
/// that does not listen.
pub async fn refuse(host: Host, refusal: &Refusal) {
    let Ok(Ports { stdin, stdout, .. }) = host.ports() else {
        return;
    };
    let until = Instant::now() + LISTEN;
    let mut refusing = Refusing {
        stdin,
        stdout,
        asked: Lane::new(MAX_MESSAGE_BYTES),
        answers: Lane::new(0),
        ended: false,
        closed: false,
        initialized: false,
        last: until,
        until,
        clock: Box::pin(sleep_until(until)),
    };
    poll_fn(|cx| refusing.poll(cx, refusal)).await;
}

struct Refusing {
    stdin: Inlet,
    stdout: Outlet,
    asked: Lane,
    answers: Lane,
    ended: bool,
    closed: bool,
    initialized: bool,
    /// Not later than this.
    last: Instant,
    until: Instant,
    clock: Pin<Box<Sleep>>,
}

impl Refusing {
    fn poll(&mut self, cx: &mut Context<'_>, refusal: &Refusal) -> Poll<()> {
        self.stdin.watch(cx);
        self.stdout.watch(cx);
        while self.flush() | self.split(refusal) | self.read() {}
        if self.closed || (self.ended && self.answers.is_written()) {
            return Poll::Ready(());
        }
        if self.clock.deadline() != self.until {
            self.clock.as_mut().reset(self.until);
        }
        self.clock.as_mut().poll(cx)
    }

    fn read(&mut self) -> bool {
        let Some(room) = self.asked.room().filter(|_| !self.ended && !self.closed) else {
            return false;
        };
        match self.stdin.read(room) {
            Read::Some(count) => {
                self.asked.filled(count);
                true
            }
            Read::Blocked => false,
            Read::End => {
                self.ended = true;
                false
            }
        }
    }

    fn split(&mut self, refusal: &Refusal) -> bool {
        let mut moved = false;
        while self.answers.own() < OWN_LIMIT
            && Instant::now() < self.until
            && let Some(frame) = self.asked.next()
        {
            moved = true;
            let (id, method) = match frame {
                Frame::Line(range) => {
                    let text = self
                        .asked
                        .inbox()
                        .bytes(range.start..range.end.saturating_sub(1));
                    let Ok(Message::Request { id, method, .. }) = envelope::read(text) else {
                        continue;
                    };
                    (id, method.into_owned())
                }
                Frame::Long(Progress::Ends) => {
                    let seen = self.asked.inbox().seen();
                    let request = seen.likeness() == Likeness::Request;
                    let ([id], true) = (seen.ids(), request) else {
                        continue;
                    };
                    (id.clone(), String::new())
                }
                Frame::Long(_) => continue,
            };
            self.answers.add(answer::refusal(&id, refusal));
            self.initialized |= method == "initialize";
            if self.initialized {
                self.until = self.last.min(Instant::now() + QUIET);
            }
        }
        moved
    }

    fn flush(&mut self) -> bool {
        let mut moved = false;
        while !self.answers.is_written() && !self.closed {
            let (slices, count) = self.answers.slices();
            match self.stdout.write(slices.get(..count).unwrap_or_default()) {
                Wrote::Some(count) => self.answers.wrote(count),
                Wrote::Blocked => break,
                Wrote::Closed => self.closed = true,
            }
            moved = true;
        }
        moved
    }
}
