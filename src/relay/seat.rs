//! The place of the server: one sits there, leaves, is awaited, is told the first words again.
//!
//! One at a time: the next is started when the one before and its descendants are gone, and not
//! before the host asks for something. Until then what the host asks waits in its lane.

use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::Signal;
use tokio::time::Instant;

use super::gate::{Effect, Gone};
use super::port::{Inlet, Outlet, Way};
use super::process::Process;
use super::run::{LEFTOVER, Run};
use super::shutdown::{Shutdown, TERM};
use super::{Bounds, End, Exit, Refusal, RelayError, Server, Start, answer};
use crate::audit::Event;
use crate::why::cause::Cause;

/// Who sits there.
pub(super) enum Seat {
    /// A server that can be spoken to.
    Taken,
    /// One that hears the host's first words again.
    Replaying,
    /// One that is to go, since the host turned to the other era: by then, or it is killed.
    Leaving(Option<Instant>),
    /// One that ended; what it left is read. Whether it was to go.
    Left { ousted: bool },
    /// Nobody; the next may come from then on.
    Empty(Instant),
    /// The next is being started.
    Starting(Start),
    /// Nobody, and nobody will come.
    Closed,
}

impl Seat {
    /// When to look again; `waits` where the host asks for something.
    pub(super) fn deadline(&self, waits: bool) -> Option<Instant> {
        match self {
            Self::Leaving(at) => *at,
            Self::Empty(at) if waits => Some(*at),
            _ => None,
        }
    }
}

/// A server's process and our ends of its pipes, ready for use.
pub(super) struct Pipes {
    pub(super) stdin: Outlet,
    pub(super) stdout: Inlet,
    pub(super) stderr: Inlet,
    pub(super) process: Process,
    pub(super) bounds: Box<dyn Bounds>,
}

impl Pipes {
    pub(super) fn of(server: Server) -> Result<Self, RelayError> {
        let stdin = unblocked(server.stdin);
        let stdout = unblocked(server.stdout);
        let stderr = unblocked(server.stderr);
        let inlet = |fd: io::Result<OwnedFd>| {
            fd.and_then(|fd| Inlet::new(fd, Way::Pipe))
                .map_err(RelayError::Pipe)
        };
        Ok(Self {
            stdin: stdin
                .and_then(|fd| Outlet::new(fd, Way::Pipe))
                .map_err(RelayError::Pipe)?,
            stdout: inlet(stdout)?,
            stderr: inlet(stderr)?,
            process: server.process,
            bounds: server.bounds,
        })
    }
}

/// Our end of a pipe that we made: its description is ours.
fn unblocked(fd: OwnedFd) -> io::Result<OwnedFd> {
    let flags = OFlag::from_bits_retain(fcntl(&fd, FcntlArg::F_GETFL)?);
    fcntl(&fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(fd)
}

impl Run<'_> {
    /// Whether lines of the host's are judged now: not between a server's end and what follows.
    pub(super) fn hears_host(&self) -> bool {
        let judged = !matches!(self.seat, Seat::Left { .. }) || self.shutdown.end().is_some();
        judged && !self.gate.reading.is_full()
    }

    /// Whether what was judged goes to the server now, or nowhere.
    pub(super) fn speaks_to_server(&self) -> bool {
        match self.seat {
            Seat::Taken | Seat::Closed => true,
            Seat::Left { ousted } => !ousted && self.shutdown.end().is_some(),
            _ => false,
        }
    }

    /// The process has ended.
    pub(super) fn stood_up(&mut self) {
        let ousted = matches!(self.seat, Seat::Leaving(_));
        self.seat = Seat::Left { ousted };
        self.again.discard();
        if ousted {
            return;
        }
        self.up.discard();
        let by_itself = matches!(self.shutdown.end(), None | Some(End::ServerClosed));
        if by_itself && self.gate.may_restart() {
            // It closed its stdout first, or not; either way the run goes on.
            self.shutdown = Shutdown::new();
        } else {
            self.shutdown.exited(Instant::now());
        }
    }

    /// Once all that a server left was read: the run goes on without it, or ends.
    pub(super) fn settle(&mut self) -> bool {
        let (Seat::Left { ousted }, Some(exit)) = (&self.seat, self.exit) else {
            return self.give_up_seat();
        };
        let ousted = *ousted;
        if self.server_out.is_some() || self.server_err.is_some() {
            return self.give_up_seat();
        }
        if self.shutdown.end().is_some() {
            self.seat = Seat::Closed;
            self.close_books(exit);
            return true;
        }
        self.record.end_line();
        let now = Instant::now();
        if ousted {
            self.seat = Seat::Empty(now + self.gate.wait());
            return true;
        }
        self.gate.cause = Some(Cause::of(&self.record.last_lines()));
        let lines = self.gate.died(exit);
        self.down.add(lines);
        let fate = answer::fate(exit);
        self.record.say(&format!(
            "the server {fate}; it is started again when it is asked for something"
        ));
        self.seat = Seat::Empty(now + self.gate.wait());
        self.heed();
        true
    }

    /// Once all that the last server left was read: answers what waits, and closes the books.
    fn close_books(&mut self, exit: Exit) {
        self.settled = true;
        let end = self.shutdown.end();
        let fault = match end {
            Some(End::ServerEnded) => Some("server-ended"),
            Some(End::Over(over)) => Some(over.code()),
            _ => None,
        };
        let (gone, fate) = match end {
            Some(end @ (End::HostLeft | End::Signalled(_) | End::Over(_))) if exit.code() != 0 => {
                (Gone::Stopped(exit, end), answer::stopped(exit, end))
            }
            _ => (Gone::Ended(exit), answer::fate(exit)),
        };
        if let Some(fault) = fault {
            self.gate.failed((fault, Some(exit)));
        }
        // Where it is known already why nothing comes, that stands.
        if self.gate.gone.is_none() {
            self.gate.cause = Some(Cause::of(&self.record.last_lines()));
            let lines = self.gate.close(gone);
            self.down.add(lines);
        }
        if (fault.is_some() || exit.code() != 0) && !self.gate.away {
            let why = if fault.is_some() && exit.code() != 0 {
                format!("; what it was refused: {}", self.gate.hint())
            } else {
                String::new()
            };
            let fate = fate.trim_end_matches(',');
            self.record.say(&format!("the server {fate}{why}"));
        }
        self.record.finish(&self.gate.counters);
        self.heed();
    }

    /// The run is to end, and no server is there that has to end first.
    fn give_up_seat(&mut self) -> bool {
        if self.shutdown.end().is_none() {
            return false;
        }
        match self.seat {
            Seat::Empty(_) | Seat::Starting(_) => {
                // Dropped, a start that is under way ends what it has started.
                self.seat = Seat::Left { ousted: false };
                self.owner.server_ended(None);
                self.up.discard();
                self.shutdown.exited(Instant::now());
                true
            }
            Seat::Left { .. } if !self.shutdown.has_exited() => {
                self.up.discard();
                self.shutdown.exited(Instant::now());
                true
            }
            _ => false,
        }
    }

    /// The host turned to the other era: this server is to go, and another to come.
    fn oust(&mut self) {
        // What waits is for the one that goes.
        self.up.discard();
        if matches!(self.seat, Seat::Taken | Seat::Replaying) {
            self.end_seated();
            self.record.say(
                "the host turned to the other era of the protocol, so the server is started again",
            );
        }
    }

    /// The server closed its stdout and lives: what it was asked is answered, and it is to go.
    pub(super) fn show_out(&mut self) {
        let lines = self.gate.muted();
        self.down.add(lines);
        self.up.discard();
        self.shutdown = Shutdown::new();
        self.end_seated();
    }

    fn end_seated(&mut self) {
        self.server_in = None;
        self.server_out = None;
        self.again.discard();
        self.signal(Signal::SIGTERM);
        self.seat = Seat::Leaving(Some(Instant::now() + TERM));
    }

    /// Has somebody come where nobody sits, as far as it may be. True if anything moved.
    pub(super) fn take_seat(&mut self, cx: &mut Context<'_>) -> Result<bool, RelayError> {
        let now = self.gate.now.at;
        match &mut self.seat {
            Seat::Leaving(until) if until.is_some_and(|until| until <= now) => {
                *until = None;
                self.signal(Signal::SIGKILL);
                Ok(true)
            }
            Seat::Empty(from)
                if *from <= now && !self.up.is_written() && self.down.is_written() =>
            {
                self.seat = Seat::Starting(self.owner.start());
                Ok(true)
            }
            Seat::Starting(start) => match start.as_mut().poll(cx) {
                Poll::Pending => Ok(false),
                Poll::Ready(Ok(server)) => self.sit_down(server).map(|()| true),
                Poll::Ready(Err(refusal)) => {
                    self.refuse(refusal);
                    Ok(true)
                }
            },
            _ => Ok(false),
        }
    }

    fn sit_down(&mut self, server: Server) -> Result<(), RelayError> {
        self.group = server.group;
        let pipes = Pipes::of(server)?;
        self.server_in = Some(pipes.stdin);
        self.server_out = Some(pipes.stdout);
        self.server_err = Some(pipes.stderr);
        self.process = Some(pipes.process);
        self.bounds = Some(pipes.bounds);
        (self.left_of_server, self.left_of_stderr) = (LEFTOVER, LEFTOVER);
        self.down.renew();
        self.gate.counters.restarts += 1;
        self.owner.started();
        self.seat = match self.gate.started() {
            Some(words) => {
                self.again.add(words);
                self.record.say(
                    "the server was started again and hears the host's first words; log level and subscriptions are not restored",
                );
                Seat::Replaying
            }
            None => Seat::Taken,
        };
        Ok(())
    }

    /// It was not started again: the host learns why, and the run ends.
    fn refuse(&mut self, refusal: Refusal) {
        self.refused = Some(refusal.exit);
        self.record.say(&format!(
            "the server was not started again: {}",
            refusal.message
        ));
        let code = refusal.code.clone();
        self.owner
            .record(Event::Refused { code }, self.gate.now.of_day);
        self.end_without_server(Gone::Refused(Box::new(refusal)));
        self.seat = Seat::Left { ousted: false };
        self.shutdown.exited(Instant::now());
    }

    fn end_without_server(&mut self, gone: Gone) {
        let lines = self.gate.close(gone);
        self.down.add(lines);
        self.up.discard();
        self.shutdown.not_started();
    }

    /// Does what follows from a line beside its way on.
    pub(super) fn heed(&mut self) {
        while !self.gate.effects.is_empty() {
            let mut effects = std::mem::take(&mut self.gate.effects);
            for effect in effects.drain(..) {
                self.heed_one(effect);
            }
            if self.gate.effects.is_empty() {
                // Its memory, for those of the next line.
                self.gate.effects = effects;
            }
        }
    }

    fn heed_one(&mut self, effect: Effect) {
        match effect {
            Effect::Event(event) => self.owner.record(event, self.gate.now.of_day),
            Effect::Verdict(verdict) => {
                let now = self.owner.breaker(verdict);
                self.gate.turn_breaker(now);
            }
            Effect::Discover(how) => self.owner.discover(how),
            Effect::ToHost(lines) => self.down.add(lines),
            // What is for a server that is gone is for no other.
            Effect::ToServer(_) if matches!(self.seat, Seat::Left { .. }) => {}
            Effect::ToServer(line) => self.up.add(line),
            Effect::Pending(pending) => self.owner.pending(&pending),
            Effect::NewServer => self.oust(),
            Effect::Replayed(next) => {
                self.again.add(next);
                self.seat = Seat::Taken;
            }
            Effect::Differs => {
                self.record.say(
                    "the server answers initialize otherwise than the first time, and is ended",
                );
                self.end_without_server(Gone::Differs);
                self.signal(Signal::SIGKILL);
            }
            Effect::Note(text) => self.record.say(&text),
        }
    }

    /// Answers what has waited long enough.
    pub(super) fn expire(&mut self) {
        let expired = self.gate.expire();
        self.down.add(expired.to_host);
        if matches!(self.seat, Seat::Taken) {
            self.add_up(expired.to_server);
        }
        if expired.slow {
            self.record
                .say("the server gave no answer in the time that its start may take, and is ended");
            self.signal(Signal::SIGKILL);
        }
        self.heed();
    }
}
