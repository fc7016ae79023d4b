//! The loop: two lanes, the server's stderr, signals, the server's end, the clock.
//!
//! One future owns everything, so that nothing is locked and no read is ever dropped. Each turn
//! tries all of it until nothing moves; the runtime wakes it when something can again.

use std::future::{Future, poll_fn};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::pin::{Pin, pin};
use std::process::ExitStatus;
use std::task::{Context, Poll};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tokio::process::Child;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::time::{Instant, Sleep, sleep_until};

use super::gate::{Fault, Gate, Gone};
use super::host::Ports;
use super::lane::Lane;
use super::port::{Inlet, Outlet, Way};
use super::shutdown::{Action, Shutdown};
use super::stderr::Record;
use super::{Bounds, End, Exit, Host, Outcome, RelayError, Server, Settings, answer};

/// Turns before the runtime gets its turn.
const TURNS: usize = 16;
/// Bytes of the server's stderr read in one turn.
const STDERR_CHUNK: usize = 16_384;
/// Bytes read from either side after the server's end: as much as its owner may enlarge a pipe
/// to, so that neither a descendant that goes on writing nor the host can hold us up.
const LEFTOVER: usize = 1_048_576;

/// Everything of one run.
pub(super) struct Run {
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
    pub(super) gate: Gate,
    pub(super) record: Record,
    /// Faults that a person was told of.
    pub(super) told: Vec<Fault>,
    /// What the server's stderr is read into.
    pub(super) scratch: Vec<u8>,
    process: Child,
    group: Pid,
    bounds: Box<dyn Bounds>,
    after_server: fn(),
    signals: [(SignalKind, Signals); 3],
    pub(super) shutdown: Shutdown,
    clock: Pin<Box<Sleep>>,
    pub(super) exit: Option<Exit>,
    /// Bytes that are still read of the host and of the server once the server ended.
    pub(super) left_of_host: usize,
    pub(super) left_of_server: usize,
    pub(super) left_of_stderr: usize,
    /// What the server left was read, and what waited for it is answered.
    pub(super) settled: bool,
    /// Since then nothing more came from the host.
    pub(super) quiet: bool,
    mumbled: bool,
    leave: bool,
}

impl Run {
    /// Takes hold of every descriptor and of the signals.
    pub(super) fn new(host: Host, server: Server, settings: &Settings) -> Result<Self, RelayError> {
        let Ports {
            stdin,
            stdout,
            stderr,
            terminal,
        } = host.ports()?;
        let server_in = server.stdin.into_owned_fd().and_then(unblocked);
        let server_out = server.stdout.into_owned_fd().and_then(unblocked);
        let server_err = server.stderr.into_owned_fd().and_then(unblocked);
        let inlet = |fd: io::Result<OwnedFd>| {
            fd.and_then(|fd| Inlet::new(fd, Way::Pipe))
                .map_err(RelayError::Pipe)
        };
        let outlet = |fd: io::Result<OwnedFd>| {
            fd.and_then(|fd| Outlet::new(fd, Way::Pipe))
                .map_err(RelayError::Pipe)
        };
        let listen = |kind: SignalKind| Ok((kind, signal(kind).map_err(RelayError::Signals)?));
        Ok(Self {
            host_in: Some(stdin),
            host_out: Some(stdout),
            host_err: Some(stderr),
            terminal,
            server_in: Some(outlet(server_in)?),
            server_out: Some(inlet(server_out)?),
            server_err: Some(inlet(server_err)?),
            up: Lane::new(settings.max_message_bytes),
            down: Lane::new(settings.max_message_bytes),
            gate: Gate::new(settings),
            record: Record::new(&settings.alias),
            told: Vec::new(),
            scratch: vec![0; STDERR_CHUNK],
            process: server.process,
            group: server.group,
            bounds: server.bounds,
            after_server: settings.after_server,
            signals: [
                listen(SignalKind::terminate())?,
                listen(SignalKind::interrupt())?,
                listen(SignalKind::hangup())?,
            ],
            shutdown: Shutdown::new(),
            clock: Box::pin(sleep_until(Instant::now())),
            exit: None,
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
    pub(super) async fn outcome(mut self) -> Result<Outcome, RelayError> {
        poll_fn(|cx| self.poll(cx)).await?;
        let mut counters = self.gate.counters;
        counters.stderr_cut = self.record.cut();
        Ok(Outcome {
            // Not reaped in the time there was: it got SIGKILL, and nothing else can have come of it.
            exit: self.exit.unwrap_or(Exit::Signal(9)),
            end: self.shutdown.end().unwrap_or(End::ServerEnded),
            by: self.shutdown.by().map(Instant::into_std),
            counters,
            tail: self.record.into_tail(),
        })
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), RelayError>> {
        self.watch_signals(cx);
        if let Err(error) = self.watch_exit(cx) {
            return Poll::Ready(Err(error));
        }
        self.watch_bounds(cx);
        self.watch_clock(cx);
        for _ in 0..TURNS {
            let moved = self.up(cx) | self.down(cx) | self.errors(cx) | self.settle();
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
        if self.exit.is_some() {
            return;
        }
        if let Poll::Ready(over) = self.bounds.poll_over(cx)
            && let Some(action) = self.shutdown.over_limit(Instant::now(), over)
        {
            self.close_server();
            self.act(action);
        }
    }

    fn watch_exit(&mut self, cx: &mut Context<'_>) -> Result<(), RelayError> {
        if self.exit.is_some() {
            return Ok(());
        }
        let Poll::Ready(status) = pin!(self.process.wait()).poll(cx) else {
            return Ok(());
        };
        self.exit = Some(exit(status.map_err(RelayError::Wait)?));
        if let Some(over) = self.bounds.ended() {
            // The kernel was quicker: there is nothing left to kill.
            let _ = self.shutdown.over_limit(Instant::now(), over);
        }
        self.shutdown.exited(Instant::now());
        // Its number may be given to another process from now on, but not to another group while
        // one of its processes lives; where none does there is nothing to kill.
        kill_group(self.group, Signal::SIGKILL);
        (self.after_server)();
        self.server_in = None;
        self.up.discard();
        for inlet in [&mut self.server_out, &mut self.server_err]
            .into_iter()
            .flatten()
        {
            inlet.exhaust();
        }
        Ok(())
    }

    /// Does what is due, and has the task woken when the next thing is. True if something was.
    fn watch_clock(&mut self, cx: &mut Context<'_>) -> bool {
        let mut acted = false;
        while let Some(at) = self.shutdown.deadline() {
            if self.clock.deadline() != at {
                self.clock.as_mut().reset(at);
            }
            if self.clock.as_mut().poll(cx).is_pending() {
                break;
            }
            // Not the clock's own reading, which may be a moment short of what it waited for.
            while let Some(action) = self.shutdown.due(Instant::now().max(at)) {
                self.act(action);
                acted = true;
            }
        }
        acted
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Tell => {
                let lines = self.gate.close(Gone::Mute);
                self.down.add(lines);
                self.record
                    .say("the server closed its stdout and is ended for it");
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
    pub(super) fn close_server(&mut self) {
        self.server_in = None;
        self.up.discard();
    }

    fn signal(&mut self, signal: Signal) {
        let reached = kill_group(self.group, signal);
        let Some(id) = self.process.id().filter(|_| self.exit.is_none()) else {
            return;
        };
        // Before the server leads its group there is none of that number.
        if let (false, Ok(id)) = (reached, i32::try_from(id)) {
            let _ = kill(Pid::from_raw(id), signal);
        }
    }

    /// Once all that the server left was read: answers what waits, and closes the books.
    fn settle(&mut self) -> bool {
        let Some(exit) = self.exit else { return false };
        if self.settled || self.server_out.is_some() || self.server_err.is_some() {
            return false;
        }
        self.settled = true;
        let (gone, fate) = match self.shutdown.end() {
            Some(end @ (End::HostLeft | End::Signalled(_) | End::Over(_))) if exit.code() != 0 => {
                (Gone::Stopped(exit, end), answer::stopped(exit, end))
            }
            _ => (Gone::Ended(exit), answer::fate(exit)),
        };
        let lines = self.gate.close(gone);
        self.down.add(lines);
        let by_itself = self.shutdown.end() == Some(End::ServerEnded);
        if by_itself || exit.code() != 0 {
            let why = if by_itself && exit.code() != 0 {
                format!("; what it was refused: {}", self.gate.hint())
            } else {
                String::new()
            };
            let fate = fate.trim_end_matches(',');
            self.record.say(&format!("the server {fate}{why}"));
        }
        self.record.finish(&self.gate.counters);
        true
    }
}

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(number)) => Exit::Signal(number),
        (None, None) => Exit::Code(i32::from(u8::MAX)),
    }
}

/// Sends a signal to every process of the group; false where there is none.
pub(super) fn kill_group(group: Pid, signal: Signal) -> bool {
    // 0 is our own group and 1 is init's: neither is ever a server's.
    group.as_raw() > 1 && killpg(group, signal).is_ok()
}

/// Our end of a pipe that we made: its description is ours.
fn unblocked(fd: OwnedFd) -> io::Result<OwnedFd> {
    let flags = OFlag::from_bits_retain(fcntl(&fd, FcntlArg::F_GETFL)?);
    fcntl(&fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(fd)
}
