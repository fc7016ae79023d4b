//! The host's side: our own stdin, stdout and stderr.
//!
//! The host's open file descriptions are shared with it, and with whatever else it handed them
//! to: to set O_NONBLOCK on one would break its owner's blocking reads and writes (`fcntl(2)`:
//! file status flags belong to the description). So a pipe or terminal is opened anew through
//! `/proc/self/fd`, which makes a description of ours; a socket, which cannot be opened, is told
//! with each call not to wait; a regular file is read plainly. Where there is no such way (macOS,
//! whose `/dev/fd` duplicates; a pipe of another user's) the description stays blocking and is
//! touched only when it is ready.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use nix::fcntl::{OFlag, open, readlink};
use nix::sys::stat::{Mode, SFlag, fstat};
use nix::unistd::isatty;

use super::RelayError;
use super::port::{Inlet, Outlet, Way};

/// The three descriptors the host gave us.
#[derive(Debug)]
pub struct Host {
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

/// The same, ready for use within a runtime.
pub(super) struct Ports {
    pub(super) stdin: Inlet,
    pub(super) stdout: Outlet,
    pub(super) stderr: Outlet,
    /// A person sits at stdin.
    pub(super) terminal: bool,
}

impl Host {
    /// The process's own descriptors 0, 1 and 2.
    ///
    /// # Errors
    ///
    /// No descriptor is left to duplicate them to.
    pub fn open() -> Result<Self, RelayError> {
        let own = |fd: BorrowedFd<'_>| fd.try_clone_to_owned().map_err(RelayError::Stdio);
        Ok(Self {
            stdin: own(io::stdin().as_fd())?,
            stdout: own(io::stdout().as_fd())?,
            stderr: own(io::stderr().as_fd())?,
        })
    }

    /// Any three descriptors.
    #[cfg(test)]
    pub(super) fn new(stdin: OwnedFd, stdout: OwnedFd, stderr: OwnedFd) -> Self {
        Self {
            stdin,
            stdout,
            stderr,
        }
    }

    /// Registers them with the current runtime.
    pub(super) fn ports(self) -> Result<Ports, RelayError> {
        let terminal = isatty(&self.stdin).unwrap_or(false);
        let (stdin, way) = ours(self.stdin, OFlag::O_RDONLY).map_err(RelayError::Stdio)?;
        let stdin = Inlet::new(stdin, way).map_err(RelayError::Stdio)?;
        let outlet = |fd| {
            let (fd, way) = ours(fd, OFlag::O_WRONLY)?;
            Outlet::new(fd, way)
        };
        let stdout = outlet(self.stdout).map_err(RelayError::Stdio)?;
        let stderr = outlet(self.stderr).map_err(RelayError::Stdio)?;
        Ok(Ports {
            stdin,
            stdout,
            stderr,
            terminal,
        })
    }
}

/// A descriptor whose description nobody else's calls go through, where there can be one.
fn ours(fd: OwnedFd, access: OFlag) -> io::Result<(OwnedFd, Way)> {
    let kind = SFlag::from_bits_truncate(fstat(&fd)?.st_mode) & SFlag::S_IFMT;
    let stream = kind == SFlag::S_IFIFO || (kind == SFlag::S_IFCHR && isatty(&fd).unwrap_or(false));
    if kind == SFlag::S_IFSOCK {
        return Ok((fd, Way::Socket));
    }
    if kind == SFlag::S_IFREG {
        // Not opened anew: it would lose its offset and its append flag.
        return Ok((fd, Way::Plain));
    }
    if stream && cfg!(target_os = "linux") {
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        let flags = access | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let unnamed =
            readlink(path.as_str()).is_ok_and(|link| link.as_bytes().starts_with(b"pipe:["));
        if let Ok(own) = open(path.as_str(), flags, Mode::empty()) {
            return Ok((own, if unnamed { Way::Pipe } else { Way::Stream }));
        }
    }
    Ok((fd, Way::Shared))
}
