//! Descriptors that the caller gave by number, and writing to what may not be read.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Instant;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl, open};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::Mode;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

/// What may be written to a pipe that poll(2) calls writable, without waiting: `PIPE_BUF`.
const CHUNK: usize = 4096;

/// Takes over a descriptor that the caller left open for us: no process that is started after
/// this inherits it. To be called before anything else is opened, since a number that the
/// caller did not open may be one of ours later.
///
/// # Errors
/// It is not open, or not to be written.
pub(crate) fn take(number: RawFd) -> io::Result<OwnedFd> {
    let fd = duplicate(number)?;
    let flags = OFlag::from_bits_retain(fcntl(&fd, FcntlArg::F_GETFL)?);
    if flags & OFlag::O_ACCMODE == OFlag::O_RDONLY || flags.contains(OFlag::O_PATH) {
        return Err(io::Error::new(
            ErrorKind::PermissionDenied,
            "it is not open to be written",
        ));
    }
    nix::unistd::close(number)?;
    Ok(fd)
}

/// The same description under a number of ours. A number alone is no descriptor that dup(2)
/// takes without unsafe code; asking the kernel for one of this very process's is the same
/// (pidfd_getfd(2), Linux 5.6), sockets included. Where a filter around us refuses that call,
/// what stands there is opened anew, which all but a socket can be.
fn duplicate(number: RawFd) -> io::Result<OwnedFd> {
    let own = pidfd_open(getpid(), PidfdFlags::empty())
        .and_then(|this| pidfd_getfd(this, number, PidfdGetfdFlags::empty()));
    match own {
        Ok(fd) => Ok(fd),
        Err(rustix::io::Errno::PERM | rustix::io::Errno::NOSYS) => {
            let path = format!("/proc/self/fd/{number}");
            let flags = OFlag::O_WRONLY | OFlag::O_APPEND | OFlag::O_CLOEXEC | OFlag::O_NOCTTY;
            open(path.as_str(), flags, Mode::empty()).map_err(|errno| match errno {
                Errno::ENOENT => Errno::EBADF.into(),
                errno => errno.into(),
            })
        }
        Err(error) => Err(error.into()),
    }
}

/// Writes all of it, and waits for a reader no longer than until then: the description may be
/// one that somebody else uses too, so that it is not told not to wait.
///
/// # Errors
/// What the system says; [`ErrorKind::TimedOut`].
pub(crate) fn write(fd: BorrowedFd<'_>, bytes: &[u8], until: Instant) -> io::Result<()> {
    let mut file = File::from(fd.try_clone_to_owned()?);
    let mut rest = bytes;
    while !rest.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        let left = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
        let mut ready = [PollFd::new(file.as_fd(), PollFlags::POLLOUT)];
        match poll(&mut ready, left) {
            Ok(0) => return Err(ErrorKind::TimedOut.into()),
            Ok(_) => {}
            Err(Errno::EINTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let chunk = rest.get(..CHUNK).unwrap_or(rest);
        match file.write(chunk) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::{AsRawFd, IntoRawFd};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(50)
    }

    #[test]
    fn a_descriptor_is_taken_and_its_number_is_free() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let number = theirs.into_raw_fd();
        let taken = take(number).unwrap();
        assert_ne!(taken.as_raw_fd(), number);
        write(taken.as_fd(), b"receipt", soon()).unwrap();
        drop(taken);
        let mut text = String::new();
        (&ours).read_to_string(&mut text).unwrap();
        assert_eq!(text, "receipt", "nothing else holds it open");
        let (reader, _writer) = io::pipe().unwrap();
        assert!(take(reader.as_raw_fd()).is_err(), "it is to be read only");
        assert!(take(900).is_err());
    }

    #[test]
    fn nobody_who_does_not_read_is_waited_for() {
        let (reader, writer) = io::pipe().unwrap();
        let much = vec![b'x'; 1 << 20];
        let error = write(writer.as_fd(), &much, soon()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        drop(reader);
        let error = write(writer.as_fd(), b"x", soon()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    }
}
