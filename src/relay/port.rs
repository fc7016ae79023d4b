//! One end of a pipe, socket, terminal or file, read and written without ever waiting.
//!
//! The runtime is asked for edges only: [`Inlet::watch`] and [`Outlet::watch`] take what became
//! ready off it and keep it in a flag of their own, so that a peer that goes away is noticed even
//! while nothing is read (back-pressure), and a read that is not made loses nothing.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::task::{Context, Poll};

use nix::errno::Errno;
#[cfg(target_os = "linux")]
use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::socket::{MsgFlags, recv, sendmsg};
use nix::sys::uio::writev;
use nix::unistd;
use tokio::io::unix::AsyncFd;
use tokio::io::{Interest, Ready};

/// Bytes a pipe takes without blocking once it is ready: POSIX's least, macOS's own.
const PIPE_BUF: usize = 512;

/// Bytes that a pipe may hold while large messages pass; what an ordinary user may ask for.
#[cfg(target_os = "linux")]
const WIDE: i32 = 1 << 20;

/// How the descriptor is to be treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// An unnamed pipe whose open file description is ours alone and non-blocking.
    Pipe,
    /// A terminal or named pipe, likewise; of these a short read is no sign that no more is there.
    Stream,
    /// A socket: each call says that it does not wait.
    Socket,
    /// A regular file, for which readiness means nothing.
    Plain,
    /// A pipe or terminal that blocks, since its description is the host's too: one small call
    /// each time that it is ready.
    Shared,
}

/// What a read gave.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    Some(usize),
    Blocked,
    End,
}

/// What a write did.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wrote {
    Some(usize),
    Blocked,
    Closed,
}

#[derive(Debug)]
enum Port {
    Watched(AsyncFd<OwnedFd>, Way),
    /// What cannot be waited for: a regular file, `/dev/null`.
    Plain(OwnedFd),
    Closed,
}

impl Port {
    #[expect(
        deprecated,
        reason = "what takes its place is unsafe, for types whose descriptor may change under it; an OwnedFd's does not"
    )]
    fn new(fd: OwnedFd, way: Way, interest: Interest) -> io::Result<Self> {
        if way == Way::Plain {
            return Ok(Self::Plain(fd));
        }
        match AsyncFd::try_with_interest(fd, interest) {
            Ok(watched) => Ok(Self::Watched(watched, way)),
            Err(error) => {
                let (fd, cause) = error.into_parts();
                match cause.raw_os_error().map(Errno::from_raw) {
                    Some(Errno::EPERM | Errno::EINVAL | Errno::ENODEV) => Ok(Self::Plain(fd)),
                    _ => Err(cause),
                }
            }
        }
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Watched(watched, _) => Some(watched.get_ref().as_fd()),
            Self::Plain(fd) => Some(fd.as_fd()),
            Self::Closed => None,
        }
    }

    fn way(&self) -> Option<Way> {
        match self {
            Self::Watched(_, way) => Some(*way),
            Self::Plain(_) | Self::Closed => None,
        }
    }

    /// Has a pipe hold more: a large message passes in fewer turns of its three processes. Where
    /// the kernel refuses (its user has too many), or it is no pipe, all goes as before.
    #[cfg(target_os = "linux")]
    fn widen(&self) {
        if let Some(fd) = self.fd() {
            let _ = fcntl(fd, FcntlArg::F_SETPIPE_SZ(WIDE));
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn widen(&self) {}

    /// Asks anew whether it is ready, which an edge alone does not tell after a partial read.
    fn watch_anew(&mut self, interest: Interest) {
        *self = match std::mem::replace(self, Self::Closed) {
            Self::Watched(watched, way) => {
                Self::new(watched.into_inner(), way, interest).unwrap_or(Self::Closed)
            }
            other => other,
        };
    }
}

/// An end that is read.
#[derive(Debug)]
pub(super) struct Inlet {
    port: Port,
    ready: bool,
    hung_up: bool,
    /// A short read means that the pipe is empty.
    trusting: bool,
    wide: bool,
}

impl Inlet {
    pub(super) fn new(fd: OwnedFd, way: Way) -> io::Result<Self> {
        let port = Port::new(fd, way, Interest::READABLE)?;
        let ready = port.way() != Some(Way::Shared);
        Ok(Self {
            port,
            ready,
            hung_up: false,
            trusting: way == Way::Pipe,
            wide: false,
        })
    }

    /// Takes note of what became ready, and has the task woken by the next such thing.
    pub(super) fn watch(&mut self, cx: &mut Context<'_>) {
        while !self.hung_up
            && let Port::Watched(watched, _) = &self.port
            && let Poll::Ready(event) = watched.poll_read_ready(cx)
        {
            self.ready = true;
            match event {
                Ok(mut guard) => {
                    self.hung_up = guard.ready().is_read_closed();
                    guard.clear_ready_matching(Ready::READABLE);
                }
                Err(_) => self.hung_up = true,
            }
        }
    }

    /// Large messages pass from now on.
    pub(super) fn widen(&mut self) {
        if !std::mem::replace(&mut self.wide, true) {
            self.port.widen();
        }
    }

    /// Whether it is to be watched anew after each read.
    pub(super) fn is_shared(&self) -> bool {
        self.port.way() == Some(Way::Shared)
    }

    /// Whether the peer is gone, though bytes of it may be left to read.
    pub(super) fn hung_up(&self) -> bool {
        self.hung_up
    }

    /// From now on only the kernel's word counts that nothing is left: its writer ended.
    pub(super) fn exhaust(&mut self) {
        self.trusting = false;
        self.ready = true;
    }

    /// Reads what is there. An error is an end: nothing more will come.
    pub(super) fn read(&mut self, room: &mut [u8]) -> Read {
        if !self.ready {
            return Read::Blocked;
        }
        let way = self.port.way();
        loop {
            let Some(fd) = self.port.fd() else {
                return Read::End;
            };
            let got = match way {
                Some(Way::Socket) => recv(fd.as_raw_fd(), room, MsgFlags::MSG_DONTWAIT),
                _ => unistd::read(fd, room),
            };
            match got {
                Err(Errno::EINTR) => continue,
                Ok(0) => return Read::End,
                Ok(count) => {
                    if self.trusting && count < room.len() {
                        self.ready = self.hung_up;
                    }
                    if way == Some(Way::Shared) && !self.hung_up {
                        self.ready = false;
                        self.port.watch_anew(Interest::READABLE);
                    }
                    return Read::Some(count);
                }
                Err(Errno::EAGAIN) => {
                    self.ready = false;
                    return Read::Blocked;
                }
                Err(_) => return Read::End,
            }
        }
    }
}

/// An end that is written.
#[derive(Debug)]
pub(super) struct Outlet {
    port: Port,
    ready: bool,
    closed: bool,
    wide: bool,
}

impl Outlet {
    pub(super) fn new(fd: OwnedFd, way: Way) -> io::Result<Self> {
        let port = Port::new(fd, way, Interest::WRITABLE)?;
        let ready = port.way() != Some(Way::Shared);
        Ok(Self {
            port,
            ready,
            closed: false,
            wide: false,
        })
    }

    /// Large messages pass from now on.
    pub(super) fn widen(&mut self) {
        if !std::mem::replace(&mut self.wide, true) {
            self.port.widen();
        }
    }

    /// Takes note of what became ready, and has the task woken by the next such thing.
    pub(super) fn watch(&mut self, cx: &mut Context<'_>) {
        while !self.closed
            && let Port::Watched(watched, _) = &self.port
            && let Poll::Ready(event) = watched.poll_write_ready(cx)
        {
            self.ready = true;
            match event {
                Ok(mut guard) => {
                    self.closed = guard.ready().is_write_closed();
                    guard.clear_ready_matching(Ready::WRITABLE);
                }
                Err(_) => self.closed = true,
            }
        }
    }

    /// Whether it is to be watched anew after each write.
    pub(super) fn is_shared(&self) -> bool {
        self.port.way() == Some(Way::Shared)
    }

    /// Whether nobody reads the other end any more.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Writes what is taken now. An error means that nobody will read.
    pub(super) fn write(&mut self, slices: &[IoSlice<'_>]) -> Wrote {
        if self.closed {
            return Wrote::Closed;
        }
        if !self.ready {
            return Wrote::Blocked;
        }
        let way = self.port.way();
        loop {
            let Some(fd) = self.port.fd() else {
                return Wrote::Closed;
            };
            let first = slices.first().map_or(&[][..], |slice| slice);
            let wrote = match way {
                Some(Way::Socket) => {
                    sendmsg::<()>(fd.as_raw_fd(), slices, &[], MsgFlags::MSG_DONTWAIT, None)
                }
                Some(Way::Shared) => unistd::write(fd, first.get(..PIPE_BUF).unwrap_or(first)),
                _ if slices.len() == 1 => unistd::write(fd, first),
                _ => writev(fd, slices),
            };
            match wrote {
                Err(Errno::EINTR) => continue,
                Ok(count) => {
                    if way == Some(Way::Shared) {
                        self.ready = false;
                        self.port.watch_anew(Interest::WRITABLE);
                    }
                    return Wrote::Some(count);
                }
                Err(Errno::EAGAIN) => {
                    self.ready = false;
                    return Wrote::Blocked;
                }
                Err(_) => {
                    self.closed = true;
                    return Wrote::Closed;
                }
            }
        }
    }
}
