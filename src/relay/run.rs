//! The loop: two lanes, the server's stderr, signals, the server's end, the clock.
//!
//! One future owns everything, so that nothing is locked and no read is ever dropped. Each turn
//! tries all of it until nothing moves; the runtime wakes it when something can again.

use std::future::poll_fn;
use std::task::{Context, Poll};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::time::Instant;

use super::clock::Clock;
use super::gate::{Fault, Gate, Gone, Moment};
use super::host::Ports;
use super::lane::Lane;
use super::port::{Inlet, Outlet};
use super::process::Process;
use super::seat::{Pipes, Seat};
use super::shutdown::{Action, Shutdown};
use super::stderr::Record;
use super::{Bounds, End, Exit, Host, Last, Outcome, Owner, RelayError, Server, Settings};

/// Turns before the runtime gets its turn.
const TURNS: usize = 16;
/// Bytes of the server's stderr read in one turn.
const STDERR_CHUNK: usize = 16_384;
/// Bytes read from either side after the server's end: as much as its owner may enlarge a pipe
/// to, so that neither a descendant that goes on writing nor the host can hold us up.
pub(super) const LEFTOVER: usize = 1_048_576;

/// Everything of one run.
pub(super) struct Run<'a> {
    pub(super) host_in: Option<Inlet>,
    pub(super) host_out: Option<Outlet>,
    pub(super) host_err: Option<Outlet>,
    terminal: bool,
    pub(super) server_in: Option<Outlet>,
    pub(super) server_out: Option<Inlet>,
    pub(super) server_err: Option<Inlet>,
    /// Host to server.
    pub(super) up: Lane,
    /// Server to host.
    pub(super) down: Lane,
    /// The host's first words, said again.
    pub(super) again: Lane,
    pub(super) gate: Gate,
    pub(super) record: Record,
    pub(super) owner: &'a mut dyn Owner,
    /// Faults that a person was told of.
    pub(super) told: Vec<Fault>,
    /// What the server's stderr is read into.
    pub(super) scratch: Vec<u8>,
    pub(super) seat: Seat,
    /// The server's main process, until it is reaped.
    pub(super) process: Option<Process>,
    pub(super) group: Pid,
    /// What keeps the server within its limits.
    pub(super) bounds: Option<Box<dyn Bounds>>,
    signals: [(SignalKind, Signals); 3],
    pub(super) shutdown: Shutdown,
    clock: Clock,
    /// How the last server ended.
    pub(super) exit: Option<Exit>,
    /// The exit code of what kept it from being started again.
    pub(super) refused: Option<u8>,
    /// Bytes that are still read of the host and of the server once the server ended.
    pub(super) left_of_host: usize,
    pub(super) left_of_server: usize,
    pub(super) left_of_stderr: usize,
    /// What the last server left was read, and what waited for it is answered.
    pub(super) settled: bool,
    /// Since then nothing more came from the host.
    pub(super) quiet: bool,
    mumbled: bool,
    leave: bool,
}

impl<'a> Run<'a> {
    /// Takes hold of every descriptor and of the signals.
    pub(super) fn new(
        host: Host,
        server: Server,
        owner: &'a mut dyn Owner,
        settings: &Settings,
    ) -> Result<Self, (Pid, RelayError)> {
        let group = server.group;
        Self::held(host, server, owner, settings).map_err(|error| (group, error))
    }

    fn held(
        host: Host,
        server: Server,
        owner: &'a mut dyn Owner,
        settings: &Settings,
    ) -> Result<Self, RelayError> {
        let Ports {
            stdin,
            stdout,
            stderr,
            terminal,
        } = host.ports()?;
        let (group, pipes) = (server.group, Pipes::of(server)?);
        let listen = |kind: SignalKind| Ok((kind, signal(kind).map_err(RelayError::Signals)?));
        let now = Moment {
            at: Instant::now(),
            of_day: owner.now(),
        };
        let mut record = Record::new(&settings.alias);
        if settings.surface.is_none() {
            let alias = &settings.alias;
            record.say(&format!(
                "its surface was not approved, so it offers nothing; to look at it: supervisor approve {alias} --surface"
            ));
        }
        Ok(Self {
            host_in: Some(stdin),
            host_out: Some(stdout),
            host_err: Some(stderr),
            terminal,
            server_in: Some(pipes.stdin),
            server_out: Some(pipes.stdout),
            server_err: Some(pipes.stderr),
            up: Lane::new(settings.max_message_bytes),
            down: Lane::new(settings.max_message_bytes),
            again: Lane::new(0),
            gate: Gate::new(settings, now),
            record,
            owner,
            told: Vec::new(),
            scratch: vec![0; STDERR_CHUNK],
            seat: Seat::Taken,
            process: Some(pipes.process),
            group,
            bounds: Some(pipes.bounds),
            signals: [
                listen(SignalKind::terminate())?,
                listen(SignalKind::interrupt())?,
                listen(SignalKind::hangup())?,
            ],
            shutdown: Shutdown::new(),
            clock: Clock::new().map_err(RelayError::Clock)?,
            exit: None,
            refused: None,
            left_of_host: LEFTOVER,
            left_of_server: LEFTOVER,
            left_of_stderr: LEFTOVER,
            settled: false,
            quiet: false,
            mumbled: false,
            leave: false,
        })
    }

    /// Runs to the end.
    pub(super) async fn run(&mut self) -> Result<(), RelayError> {
        poll_fn(|cx| {
            let polled = self.poll(cx);
            self.owner.rest(self.gate.now.of_day);
            polled
        })
        .await
    }

    /// How it went.
    pub(super) fn outcome(self) -> Outcome {
        let mut counters = self.gate.counters;
        counters.stderr_cut = self.record.cut();
        Outcome {
            // Not reaped in the time there was: it got SIGKILL, and nothing else can have come of it.
            exit: self.exit.unwrap_or(Exit::Signal(9)),
            end: self.shutdown.end().unwrap_or(End::ServerEnded),
            refused: self.refused,
            by: self.shutdown.by().map(Instant::into_std),
            counters,
            tail: self.record.into_tail(),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), RelayError>> {
        self.gate.now = Moment {
            at: Instant::now(),
            of_day: self.owner.now(),
        };
        self.watch_signals(cx);
        if let Err(error) = self.watch_exit(cx) {
            return Poll::Ready(Err(error));
        }
        self.watch_bounds(cx);
        self.watch_clock(cx);
        self.watch_ports(cx);
        for _ in 0..TURNS {
            let moved = self.up() | self.down() | self.errors() | self.settle();
            let seated = match self.take_seat(cx) {
                Ok(seated) => seated,
                Err(error) => return Poll::Ready(Err(error)),
            };
            if seated || (moved && self.shares()) {
                self.watch_ports(cx);
            }
            let moved = moved | seated;
            if self.is_done() {
                return Poll::Ready(Ok(()));
            }
            if !moved && !self.watch_clock(cx) {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn is_done(&self) -> bool {
        let may_come = self.host_in.as_ref().is_some_and(|host| !host.hung_up());
        let ended_early = self.shutdown.end() == Some(End::ServerEnded) && !self.gate.was_asked();
        let waits_for_first = ended_early && may_come && !self.terminal;
        let said = self.mumbled || self.record.pending().is_empty();
        self.leave
            || (self.settled && self.quiet && self.down.is_written() && said && !waits_for_first)
    }

    fn watch_signals(&mut self, cx: &mut Context<'_>) {
        let mut got = Vec::new();
        for (kind, signals) in &mut self.signals {
            while let Poll::Ready(Some(())) = signals.poll_recv(cx) {
                got.push(kind.as_raw_value());
            }
        }
        for number in got {
            if let Some(action) = self.shutdown.signalled(Instant::now(), number) {
                self.act(action);
            }
        }
    }

    fn watch_bounds(&mut self, cx: &mut Context<'_>) {
        if let (Some(_), Some(bounds)) = (&self.process, &mut self.bounds)
            && let Poll::Ready(over) = bounds.poll_over(cx)
            && let Some(action) = self.shutdown.over_limit(Instant::now(), over)
        {
            self.close_server();
            self.act(action);
        }
    }

    fn watch_exit(&mut self, cx: &mut Context<'_>) -> Result<(), RelayError> {
        let polled = self.process.as_mut().map(|process| process.poll_wait(cx));
        let Some(Poll::Ready(exit)) = polled else {
            return Ok(());
        };
        self.exit = Some(exit.map_err(RelayError::Wait)?);
        if let Some(over) = self.bounds.as_mut().and_then(|bounds| bounds.ended()) {
            // The kernel was quicker: there is nothing left to kill.
            let _ = self.shutdown.over_limit(Instant::now(), over);
        }
        // Its number may be given to another process from now on, but not to another group while
        // one of its processes lives; where none does there is nothing to kill.
        kill_group(self.group, Signal::SIGKILL);
        let bounds = self.bounds.take();
        self.owner
            .server_ended(self.process.take().map(|process| Last {
                process,
                _bounds: bounds,
            }));
        self.server_in = None;
        for inlet in [&mut self.server_out, &mut self.server_err]
            .into_iter()
            .flatten()
        {
            inlet.exhaust();
        }
        self.stood_up();
        Ok(())
    }

    /// Does what is due, and has the task woken when the next thing is. True if something was.
    fn watch_clock(&mut self, cx: &mut Context<'_>) -> bool {
        let mut acted = false;
        while let Some(at) = self.deadline() {
            self.clock.set(at);
            if self.clock.poll(cx).is_pending() {
                break;
            }
            // Not the clock's own reading, which may be a moment short of what it waited for.
            let now = Instant::now().max(at);
            self.gate.now.at = now;
            while let Some(action) = self.shutdown.due(now) {
                self.act(action);
            }
            self.expire();
            acted = true;
        }
        acted
    }

    fn deadline(&self) -> Option<Instant> {
        let waits = !self.up.is_written();
        let seat = self
            .seat
            .deadline(waits)
            .filter(|at| *at > self.gate.now.at);
        [self.shutdown.deadline(), self.gate.deadline(), seat]
            .into_iter()
            .flatten()
            .min()
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Tell => {
                self.record
                    .say("the server closed its stdout and is ended for it");
                let goes_on = self.shutdown.end() == Some(End::ServerClosed);
                if goes_on && self.gate.may_restart() {
                    self.show_out();
                } else {
                    let lines = self.gate.close(Gone::Mute);
                    self.down.add(lines);
                }
                self.heed();
            }
            Action::Terminate => {
                self.close_server();
                self.signal(Signal::SIGTERM);
            }
            Action::Kill => self.signal(Signal::SIGKILL),
            Action::Mumble => self.mumbled = true,
            Action::Leave => self.leave = true,
        }
    }

    /// Closes the server's stdin, and leaves out what it did not take.
    fn close_server(&mut self) {
        self.server_in = None;
        self.up.discard();
    }

    pub(super) fn signal(&mut self, signal: Signal) {
        let reached = kill_group(self.group, signal);
        // Before the server leads its group there is none of that number.
        if let (false, Some(process)) = (reached, &self.process) {
            let _ = kill(process.id(), signal);
        }
    }

    /// After an error: nothing of the server is left.
    pub(super) fn kill(&mut self) {
        self.signal(Signal::SIGKILL);
    }
}

/// Sends a signal to every process of the group; false where there is none.
pub(super) fn kill_group(group: Pid, signal: Signal) -> bool {
    // 0 is our own group and 1 is init's: neither is ever a server's.
    group.as_raw() > 1 && killpg(group, signal).is_ok()
}
