//! A child process by its descriptor: waited for, signalled and ended whatever its number is
//! given to next.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::task::{Context, Poll, ready};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use rustix::process::{self, PidfdFlags, Signal};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe::Receiver;

use super::Exit;

/// How long one that said it is over may take for its last steps, in milliseconds: a matter of what
/// the kernel takes down with it.
const LAST_STEPS: u16 = 1_000;

/// A child of this process. One that was not waited for is killed with the value.
#[derive(Debug)]
pub struct Process {
    id: Pid,
    fd: OwnedFd,
    /// On which the first process of namespaces says how the server ended.
    word: Word,
    /// Registered with the runtime when it is first waited for.
    ended: Option<AsyncFd<OwnedFd>>,
    exit: Option<Exit>,
    reaped: bool,
}

/// The last word of a process: one byte, its exit code.
#[derive(Debug)]
enum Word {
    /// There is none, or no more.
    None,
    /// Not waited for yet.
    Due(OwnedFd),
    /// Registered with the runtime.
    Awaited(Receiver),
}

impl Word {
    /// The word; `None` where none comes.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<u8>> {
        if matches!(self, Self::Due(_))
            && let Self::Due(pipe) = std::mem::replace(self, Self::None)
            && let Ok(pipe) = Receiver::from_owned_fd(pipe)
        {
            *self = Self::Awaited(pipe);
        }
        loop {
            let Self::Awaited(pipe) = self else {
                return Poll::Ready(None);
            };
            let mut word = [0];
            let read = match ready!(pipe.poll_read_ready(cx)) {
                Ok(()) => pipe.try_read(&mut word),
                Err(error) => Err(error),
            };
            match read {
                Ok(1) => return Poll::Ready(word.first().copied()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Its other end closed without a word: at an exec, or as it was killed.
                _ => *self = Self::None,
            }
        }
    }
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
            word: Word::None,
            ended: None,
            exit: None,
            reaped: false,
        })
    }

    /// The same, which says on a pipe how it ended when nothing of its namespace is left but itself:
    /// what it takes the kernel to take that down need not be waited for.
    #[must_use]
    pub fn with_word(mut self, pipe: OwnedFd) -> Self {
        self.word = Word::Due(pipe);
        self
    }

    /// Whether it has said how it ended, and is on its last steps.
    #[must_use]
    pub fn is_going(&self) -> bool {
        self.exit.is_some() && !self.reaped
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
        self.reaped = true;
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
            if let Some(code) = ready!(self.word.poll(cx)) {
                self.exit = Some(Exit::Code(i32::from(code)));
                continue;
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
                _ => {
                    ready.clear_ready();
                    continue;
                }
            }
            self.reaped = true;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        self.kill();
        if self.is_going() {
            let mut asked = [PollFd::new(self.fd.as_fd(), PollFlags::POLLIN)];
            // A signal may come in between, as its own end does.
            while poll(&mut asked, PollTimeout::from(LAST_STEPS)) == Err(Errno::EINTR) {}
        }
        // It is gone at once, or the next who waits for any child takes it.
        let _ = waitid(
            Id::PIDFd(self.fd.as_fd()),
            WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG,
        );
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "starts processes of its own")]
mod tests {
    use std::io::Write;
    use std::process::Command;

    use super::*;

    /// A process that lives until it is killed, and the other end of its pipe.
    fn sleeping() -> (Process, io::PipeWriter) {
        let (pipe, word) = io::pipe().unwrap();
        let child = Command::new("sleep").arg("1000").spawn();
        let process = Process::of(child.unwrap().id()).unwrap();
        (process.with_word(pipe.into()), word)
    }

    /// Whether a process of that number is there, be it only to be waited for.
    fn is_there(id: Pid) -> bool {
        nix::sys::signal::kill(id, None).is_ok()
    }

    #[tokio::test]
    async fn its_word_is_its_end_and_letting_go_waits_for_the_rest() {
        let (mut process, mut word) = sleeping();
        let mut once = Box::pin(process.wait());
        tokio::select! {
            biased;
            _ = &mut once => panic!("it has neither ended nor said so"),
            () = tokio::task::yield_now() => {}
        }
        word.write_all(&[7]).unwrap();
        assert_eq!(once.await.unwrap(), Exit::Code(7));
        assert!(process.is_going());
        let id = process.id();
        assert!(is_there(id));
        drop(process);
        assert!(!is_there(id));
    }

    #[tokio::test]
    async fn without_a_word_its_end_is_what_the_system_says() {
        let (mut process, word) = sleeping();
        drop(word);
        process.kill();
        assert_eq!(process.wait().await.unwrap(), Exit::Signal(9));
        assert!(!process.is_going());
    }
}
