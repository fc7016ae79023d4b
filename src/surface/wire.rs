//! One child's pipes: what goes in, what comes out, and its end. All of it in bounded memory
//! and time, whatever the child does.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::{Instant, timeout, timeout_at};

use crate::launch::Running;
use crate::launch::home::Home;
use crate::relay::peer::{Heard, Peer, Tail};
use crate::relay::{Bounds, Exit, Process, Server};

/// How often a wait is looked up from.
const TICK: Duration = Duration::from_millis(100);
/// From the end of its stdin to SIGTERM, and from there to SIGKILL, as `supervisor run` does it.
const GRACE: Duration = Duration::from_millis(1_000);
const TERM: Duration = Duration::from_millis(500);
/// How long a child that closed its stdout may take to end, and its last words to come.
const LAST: Duration = Duration::from_millis(250);
/// Bytes that wait for a child that does not read.
const WAITING: usize = 1 << 20;
/// Bytes of stderr taken at a time, and how many times in one turn.
const CHUNK: usize = 16_384;
const TURNS: usize = 16;

/// What came of waiting.
#[derive(Debug)]
pub(super) enum Event {
    /// It said something.
    Heard(Heard),
    /// Its process ended, and all it had written was heard.
    Ended(Exit),
    /// It closed its stdout and lives.
    Closed,
    /// The time is over.
    Due,
    /// The bytes are used up.
    TooMuch,
    /// It takes nothing of what waits for it.
    Flood,
    /// The person does not wait any longer.
    Interrupted,
}

/// A child.
#[derive(Debug)]
pub(super) struct Wire {
    stdin: Option<Sender>,
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
    process: Process,
    group: Pid,
    bounds: Box<dyn Bounds>,
    /// Its temporary directory is not emptied by another start meanwhile.
    _home: Home,
    peer: Peer,
    tail: Tail,
    out: Vec<u8>,
    written: usize,
    exit: Option<Exit>,
}

impl Wire {
    pub(super) fn new(running: Running) -> io::Result<Self> {
        let Running { server, home, .. } = running;
        let Server {
            stdin,
            stdout,
            stderr,
            process,
            group,
            bounds,
        } = server;
        Ok(Self {
            stdin: Some(Sender::from_owned_fd(stdin)?),
            stdout: Some(Receiver::from_owned_fd(stdout)?),
            stderr: Some(Receiver::from_owned_fd(stderr)?),
            process,
            group,
            bounds,
            _home: home,
            peer: Peer::new(),
            tail: Tail::new(),
            out: Vec::new(),
            written: 0,
            exit: None,
        })
    }

    /// Puts a message in line for the child.
    pub(super) fn say(&mut self, message: &serde_json::Value) {
        if self.stdin.is_some() {
            self.out.extend(message.to_string().bytes());
            self.out.push(b'\n');
        }
    }

    /// A line of its stdout that is no message.
    pub(super) fn quarantine(&mut self, line: &str) {
        self.tail.stdout(line);
    }

    /// Waits for what comes next, not longer than `until`; what is read of its stdout is taken
    /// off `bytes`.
    pub(super) async fn next(
        &mut self,
        until: Instant,
        bytes: &mut u64,
        interrupted: &AtomicBool,
    ) -> Event {
        loop {
            let now = Instant::now();
            if interrupted.load(Ordering::Relaxed) {
                return Event::Interrupted;
            }
            if now >= until {
                return Event::Due;
            }
            if self.out.len().saturating_sub(self.written) > WAITING {
                return Event::Flood;
            }
            let tick = until.min(now + TICK);
            if let Ok(event) = timeout_at(tick, poll_fn(|cx| self.poll(cx, bytes))).await {
                return event;
            }
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>, bytes: &mut u64) -> Poll<Event> {
        if self.exit.is_none()
            && let Poll::Ready(over) = self.bounds.poll_over(cx)
        {
            kill(self.group, Signal::SIGKILL);
            self.tail.say(&format!("supervisor ended it, since {over}"));
        }
        self.write(cx);
        self.drain(cx);
        loop {
            if let Some(heard) = self.peer.next() {
                return Poll::Ready(Event::Heard(heard));
            }
            match self.read(cx) {
                Poll::Ready(0) if self.stdout.take().is_some() => {}
                Poll::Ready(0) => break,
                Poll::Ready(count) => {
                    let count = u64::try_from(count).unwrap_or(u64::MAX);
                    *bytes = bytes.saturating_sub(count);
                    if *bytes == 0 {
                        return Poll::Ready(Event::TooMuch);
                    }
                }
                Poll::Pending => break,
            }
        }
        if let Poll::Ready(exit) = self.ended(cx) {
            return Poll::Ready(Event::Ended(exit));
        }
        match &self.stdout {
            Some(_) => Poll::Pending,
            None => Poll::Ready(Event::Closed),
        }
    }

    fn write(&mut self, cx: &mut Context<'_>) {
        while let Some(stdin) = &mut self.stdin {
            let waiting = self.out.get(self.written..).unwrap_or_default();
            if waiting.is_empty() {
                self.out.clear();
                self.written = 0;
                return;
            }
            match Pin::new(stdin).poll_write(cx, waiting) {
                Poll::Ready(Ok(count @ 1..)) => self.written = self.written.saturating_add(count),
                Poll::Ready(_) => {
                    self.stdin = None;
                    self.out.clear();
                    self.written = 0;
                }
                Poll::Pending => return,
            }
        }
    }

    /// Takes what is there of its stderr.
    fn drain(&mut self, cx: &mut Context<'_>) {
        let mut chunk = [0; CHUNK];
        for _ in 0..TURNS {
            let Some(stderr) = &mut self.stderr else {
                return;
            };
            let mut buffer = ReadBuf::new(&mut chunk);
            match Pin::new(stderr).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    self.tail.stderr(buffer.filled());
                }
                Poll::Ready(_) => self.stderr = None,
                Poll::Pending => return,
            }
        }
        // There is more, and it has its turn again after its stdout had one.
        cx.waker().wake_by_ref();
    }

    /// Reads of its stdout into the peer; 0 at its end.
    fn read(&mut self, cx: &mut Context<'_>) -> Poll<usize> {
        let Some(stdout) = &mut self.stdout else {
            return Poll::Ready(0);
        };
        let mut buffer = ReadBuf::new(self.peer.room());
        match Pin::new(stdout).poll_read(cx, &mut buffer) {
            Poll::Ready(Ok(())) => {
                let count = buffer.filled().len();
                self.peer.filled(count);
                Poll::Ready(count)
            }
            Poll::Ready(Err(_)) => Poll::Ready(0),
            Poll::Pending => Poll::Pending,
        }
    }

    fn ended(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        if let Some(exit) = self.exit {
            return Poll::Ready(exit);
        }
        match self.process.poll_wait(cx) {
            Poll::Ready(Ok(exit)) => {
                self.exit = Some(exit);
                if let Some(over) = self.bounds.ended() {
                    self.tail.say(&format!("the kernel ended it, since {over}"));
                }
                Poll::Ready(exit)
            }
            Poll::Ready(Err(_)) => Poll::Ready(Exit::Code(i32::from(u8::MAX))),
            Poll::Pending => Poll::Pending,
        }
    }

    /// The end of a child that closed its stdout, where it comes soon.
    pub(super) async fn fate(&mut self) -> Option<Exit> {
        timeout(LAST, poll_fn(|cx| self.ended(cx))).await.ok()
    }

    /// Ends the child and its process group, and hands back the last lines it said beside the
    /// protocol. What left the group is the caller's to end.
    pub(super) async fn end(mut self, lines: usize) -> Vec<String> {
        self.stdin = None;
        self.stdout = None;
        for (wait, signal) in [(GRACE, Signal::SIGTERM), (TERM, Signal::SIGKILL)] {
            if timeout(wait, poll_fn(|cx| self.drained_end(cx)))
                .await
                .is_ok()
            {
                break;
            }
            kill(self.group, signal);
        }
        // Killed by now: it is reaped, and what it left of its group goes.
        let _ = timeout(TERM, poll_fn(|cx| self.drained_end(cx))).await;
        kill(self.group, Signal::SIGKILL);
        // A descendant may hold the pipe open.
        let _ = timeout(LAST, poll_fn(|cx| self.drained(cx))).await;
        self.tail.last(lines)
    }

    /// Ready at its end; its stderr is taken meanwhile, so that it can come to it.
    fn drained_end(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        self.drain(cx);
        self.ended(cx)
    }

    fn drained(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.drain(cx);
        match self.stderr {
            Some(_) => Poll::Pending,
            None => Poll::Ready(()),
        }
    }
}

/// Signals a process group, which is never ours or init's.
fn kill(group: Pid, signal: Signal) {
    if group.as_raw() > 1 {
        // None of it is left: as good.
        let _ = killpg(group, signal);
    }
}
