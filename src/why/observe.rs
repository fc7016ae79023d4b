//! Watches a run from outside: the calls of the server that fail, and which program made them.
//!
//! The road of a run is taken by a child of this process, as `supervisor run` takes it; this
//! process follows the server with `ptrace(2)`, and does nothing but look. It takes hold of the
//! confining process while that waits for its orders, before it closes itself to others of the
//! same user, and follows what it forks; the processes that only wait are let go of again, and
//! from the server's own exec on every call is looked at when it returns. Nothing of the rules
//! changes for it; if this process ends, the kernel ends the server (`PTRACE_O_EXITKILL`).
//!
//! A parent, since where no namespaces are to be had the system lets only those trace
//! (`/proc/sys/kernel/yama/ptrace_scope` 1), and a process of its own, since the end of a traced
//! child is told to its tracer first: the one that started it must not be the same.

use std::collections::HashMap;
use std::io::{self, PipeReader, Read};
use std::rc::Rc;

use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use rustix::process::{WaitOptions, WaitStatus, wait};

use super::attempt::{Attempt, Target, Trace};
use super::call;
use super::tracee::{self, Stopped};

/// Different attempts that are kept.
const KEPT: usize = 4_096;
/// Children of clones are waited for too (`__WALL`, `waitpid(2)`).
const ALL: WaitOptions = WaitOptions::from_bits_retain(0x4000_0000);

/// Why nothing was seen of a run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ObserveError {
    /// The system does not let us look.
    #[error("this machine does not let a person trace their own processes: {0}")]
    Seize(nix::Error),
    /// A wait failed.
    #[error("{0}")]
    Wait(#[from] io::Error),
}

/// What a thread is to us.
#[derive(Clone)]
struct Thread {
    /// It belongs to the server; else it only prepares for it.
    server: bool,
    /// Within a call; with what must be kept of its start.
    within: Option<u64>,
    /// The programs from the server's own down to this one.
    by: Rc<[String]>,
    /// Those above it: what an exec adds its program to.
    above: Rc<[String]>,
}

/// Takes hold of the confining process with this number, which waits for its orders.
///
/// # Errors
/// [`ObserveError::Seize`]: the server is not followed then.
pub(crate) fn seize(shim: u32) -> Result<Observer, ObserveError> {
    let pid = i32::try_from(shim).map_err(io::Error::other)?;
    let pid = Pid::from_raw(pid);
    let options = Options::PTRACE_O_EXITKILL
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACEVFORK;
    ptrace::seize(pid, options).map_err(ObserveError::Seize)?;
    let mut observer = Observer::default();
    let none: Rc<[String]> = Rc::new([]);
    let shim = Thread {
        server: false,
        within: None,
        by: Rc::clone(&none),
        above: none,
    };
    observer.threads.insert(pid, shim);
    Ok(observer)
}

/// Follows one run.
#[derive(Default)]
pub(crate) struct Observer {
    threads: HashMap<Pid, Thread>,
    /// Stopped before whoever made them was heard of.
    early: Vec<Pid>,
    found: HashMap<(Target, i32, Rc<[String]>), usize>,
    /// Connections that were begun and not waited for, by their sockets.
    begun: HashMap<u64, Target>,
    trace: Trace,
    count: u64,
}

impl Observer {
    /// Looks until `child` of ours has ended; what was seen.
    ///
    /// # Errors
    /// The system does not let us wait.
    pub(crate) fn follow(mut self, child: u32) -> Result<Trace, ObserveError> {
        loop {
            let Some((pid, status)) = wait(ALL).map_err(io::Error::from)? else {
                continue;
            };
            let pid = Pid::from_raw(pid.as_raw_nonzero().get());
            if status.stopped() {
                self.stopped(pid, status);
            } else {
                self.threads.remove(&pid);
                if u32::try_from(pid.as_raw()) == Ok(child) {
                    return Ok(self.trace);
                }
            }
        }
    }

    /// A thread stopped: looks, and lets it go on.
    fn stopped(&mut self, pid: Pid, status: WaitStatus) {
        let raw = status.as_raw();
        let (signal, event) = (raw >> 8 & 0xff, raw >> 16);
        if !self.threads.contains_key(&pid) {
            self.early.push(pid);
            return;
        }
        match (signal, event) {
            // The mark of a call's start or end.
            (0x85, 0) => {
                self.call(pid);
                self.go_on(pid, None);
            }
            (_, 0) => self.signalled(pid, signal),
            (_, EVENT_FORK | EVENT_VFORK | EVENT_CLONE) => self.forked(pid, event),
            (_, EVENT_EXEC) => {
                self.executed(pid);
                self.go_on(pid, None);
            }
            _ => self.go_on(pid, None),
        }
    }

    /// On to the next call where it is the server's. One that ended meanwhile needs nothing.
    fn go_on(&self, pid: Pid, signal: Option<Signal>) {
        let server = self.threads.get(&pid).is_some_and(|thread| thread.server);
        let _ = if server {
            ptrace::syscall(pid, signal)
        } else {
            ptrace::cont(pid, signal)
        };
    }

    /// A signal is passed on. Real-time ones have no name to be passed on by: the thread is let
    /// go of, and gets the next.
    fn signalled(&mut self, pid: Pid, signal: i32) {
        match Signal::try_from(signal) {
            Ok(signal) => self.go_on(pid, Some(signal)),
            Err(_) => {
                self.trace.let_go = self.trace.let_go.saturating_add(1);
                self.let_go(pid);
            }
        }
    }

    fn let_go(&mut self, pid: Pid) {
        self.threads.remove(&pid);
        let _ = ptrace::detach(pid, None);
    }

    /// A process or thread was made, which stops or has stopped at its first step.
    fn forked(&mut self, pid: Pid, event: i32) {
        let made = ptrace::getevent(pid).ok();
        let made = made.and_then(|made| i32::try_from(made).ok());
        let Some(parent) = self.threads.get(&pid).cloned() else {
            return;
        };
        if let Some(made) = made.map(Pid::from_raw) {
            let mut child = Thread {
                within: None,
                ..parent.clone()
            };
            if event != EVENT_CLONE {
                child.above = Rc::clone(&parent.by);
                let one = u64::from(parent.server);
                self.trace.processes = self.trace.processes.saturating_add(one);
            }
            self.threads.insert(made, child);
            if let Some(at) = self.early.iter().position(|early| *early == made) {
                self.early.swap_remove(at);
                self.go_on(made, None);
            }
        }
        if parent.server {
            self.go_on(pid, None);
        } else {
            // It waits for what it made, and nothing else.
            self.let_go(pid);
        }
    }

    /// A program was executed; the first is the server.
    fn executed(&mut self, pid: Pid) {
        // Another thread of the process may have asked for it: it goes on under this number.
        let former = ptrace::getevent(pid).ok();
        let former = former.and_then(|former| i32::try_from(former).ok());
        if let Some(former) = former.map(Pid::from_raw).filter(|former| *former != pid) {
            self.threads.remove(&former);
        }
        if let Some(thread) = self.threads.get_mut(&pid) {
            let name = tracee::program(pid);
            thread.by = thread.above.iter().cloned().chain([name]).collect();
            thread.server = true;
            // The end of the call that executed it is next.
            thread.within = Some(0);
        }
    }

    /// A call starts or ends.
    fn call(&mut self, pid: Pid) {
        let Some(thread) = self.threads.get_mut(&pid) else {
            return;
        };
        let Some(first) = thread.within.take() else {
            thread.within = Some(tracee::entered(pid));
            return;
        };
        let by = Rc::clone(&thread.by);
        let Some(call) = tracee::returned(pid, first) else {
            return;
        };
        let memory = Stopped(pid);
        if let Some((targets, errno)) = call::missed(&call, &memory) {
            for target in targets {
                self.keep(target, errno, &by);
            }
        } else if let Some((socket, target)) = call::begun(&call, &memory) {
            if self.begun.len() < KEPT {
                self.begun.insert(socket, target);
            }
        } else if let Some((socket, errno)) = call::came_to(&call, &memory)
            && let Some(target) = self.begun.remove(&socket)
        {
            self.keep(target, errno, &by);
        }
    }

    fn keep(&mut self, target: Target, errno: nix::errno::Errno, by: &Rc<[String]>) {
        self.count = self.count.saturating_add(1);
        let attempts = &mut self.trace.attempts;
        let key = (target, number(errno), Rc::clone(by));
        if let Some(known) = self.found.get(&key).and_then(|at| attempts.get_mut(*at)) {
            known.times = known.times.saturating_add(1);
            known.last = self.count;
        } else if attempts.len() < KEPT {
            let attempt = Attempt {
                target: key.0.clone(),
                errno,
                by: by.to_vec(),
                times: 1,
                last: self.count,
            };
            self.found.insert(key, attempts.len());
            attempts.push(attempt);
        } else {
            self.trace.left_out = self.trace.left_out.saturating_add(1);
        }
    }
}

#[expect(
    clippy::as_conversions,
    reason = "the numbers of an enumeration of the system's"
)]
const fn number(errno: nix::errno::Errno) -> i32 {
    errno as i32
}

const EVENT_FORK: i32 = 1;
const EVENT_VFORK: i32 = 2;
const EVENT_CLONE: i32 = 3;
const EVENT_EXEC: i32 = 4;

/// The first line of a pipe: what the child says before it says anything else.
///
/// # Errors
/// What the system says.
pub(crate) fn first_line(pipe: &mut PipeReader) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut one = [0];
    loop {
        if pipe.read(&mut one)? == 0 {
            return Ok(None);
        }
        match one {
            [b'\n'] => return Ok(String::from_utf8(line).ok()),
            [byte] => line.push(byte),
        }
    }
}
