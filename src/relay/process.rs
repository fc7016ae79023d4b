//! A child process by its descriptor: waited for, signalled and ended whatever its number is
//! given to next.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::task::{Context, Poll, ready};

use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use rustix::process::{self, PidfdFlags, Signal};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::Exit;

/// A child of this process. One that was not waited for is killed with the value.
#[derive(Debug)]
pub struct Process {
    id: Pid,
    fd: OwnedFd,
    /// Registered with the runtime when it is first waited for.
    ended: Option<AsyncFd<OwnedFd>>,
    exit: Option<Exit>,
}

impl Process {
    /// Takes hold of a child that was not waited for yet, so that its number is its own.
    ///
    /// # Errors
    /// There is none of that number; what the system says.
    pub fn of(id: u32) -> io::Result<Self> {
        let id = i32::try_from(id).map_err(io::Error::other)?;
        let known = process::Pid::from_raw(id).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self {
            id: Pid::from_raw(id),
            fd: process::pidfd_open(known, PidfdFlags::empty())?,
            ended: None,
            exit: None,
        })
    }

    /// Its number; of nobody certain once it was waited for.
    #[must_use]
    pub fn id(&self) -> Pid {
        self.id
    }

    /// Kills it; one that has ended is as good.
    pub fn kill(&self) {
        let _ = process::pidfd_send_signal(&self.fd, Signal::KILL);
    }

    /// Waits for the end of one that ends by itself at once. This thread does nothing meanwhile.
    ///
    /// # Errors
    /// What the system says; somebody else waited for it.
    pub fn join(mut self) -> io::Result<()> {
        let ended = waitid(Id::PIDFd(self.fd.as_fd()), WaitPidFlag::WEXITED)?;
        self.exit = Some(match ended {
            WaitStatus::Exited(_, code) => Exit::Code(code),
            _ => Exit::Code(i32::from(crate::error::FAILED)),
        });
        Ok(())
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// What the system says; somebody else waited for it.
    ///
    /// # Panics
    /// Outside a Tokio runtime with I/O.
    pub async fn wait(&mut self) -> io::Result<Exit> {
        std::future::poll_fn(|cx| self.poll_wait(cx)).await
    }

    /// The same, for a future of one's own.
    ///
    /// # Errors
    /// As [`Process::wait`].
    ///
    /// # Panics
    /// As [`Process::wait`].
    pub fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Exit>> {
        loop {
            if let Some(exit) = self.exit {
                return Poll::Ready(Ok(exit));
            }
            let ended = match &self.ended {
                Some(ended) => ended,
                None => {
                    #[expect(
                        deprecated,
                        reason = "for types that hand out another descriptor each time, which an owned one does not; what comes in its place is unsafe"
                    )]
                    let ended = AsyncFd::with_interest(self.fd.try_clone()?, Interest::READABLE)?;
                    self.ended.insert(ended)
                }
            };
            let mut ready = ready!(ended.poll_read_ready(cx))?;
            let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG;
            match waitid(Id::PIDFd(self.fd.as_fd()), flags)? {
                WaitStatus::Exited(_, code) => self.exit = Some(Exit::Code(code)),
                #[expect(
                    clippy::as_conversions,
                    reason = "the numbers of an enumeration of the system's"
                )]
                WaitStatus::Signaled(_, signal, _) => self.exit = Some(Exit::Signal(signal as i32)),
                _ => ready.clear_ready(),
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.exit.is_none() {
            self.kill();
            // It is gone at once, or the next who waits for any child takes it.
            let _ = waitid(
                Id::PIDFd(self.fd.as_fd()),
                WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG,
            );
        }
    }
}
