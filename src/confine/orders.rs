//! The orders of the shim on their way: one JSON document a line over a socket, and the
//! descriptors that come along with one.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Descriptors that travel in one message at most: the kernel's own bound (`SCM_MAX_FD`,
/// `unix(7)`).
const MOST: usize = 253;
/// Bytes read at a time.
const CHUNK: usize = 16_384;

/// The supervisor's end.
#[derive(Debug)]
pub struct Giver(UnixStream);

/// The shim's end.
#[derive(Debug)]
pub struct Taker {
    socket: UnixStream,
    read: Vec<u8>,
    descriptors: VecDeque<OwnedFd>,
}

/// Both ends; the shim's goes to it as its standard input.
///
/// # Errors
/// What the system says.
pub fn pair() -> io::Result<(Giver, OwnedFd)> {
    let (giver, socket) = UnixStream::pair()?;
    Ok((Giver(giver), socket.into()))
}

impl Giver {
    /// Sends a document, and these descriptors with its first bytes.
    ///
    /// # Errors
    /// What the system says: `BrokenPipe` where the shim has ended.
    pub fn give(&mut self, document: &impl Serialize, with: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut line = serde_json::to_vec(document)?;
        line.push(b'\n');
        let mut left = line.as_slice();
        let mut parts = with.chunks(MOST).peekable();
        while let Some(part) = parts.next() {
            // A byte for each but the last, which comes along with the rest.
            let bytes = match parts.peek() {
                Some(_) => left.get(..1).unwrap_or_default(),
                None => left,
            };
            let sent = self.send(bytes, part)?;
            left = left.get(sent..).unwrap_or_default();
        }
        self.0.write_all(left)
    }

    fn send(&self, bytes: &[u8], with: &[BorrowedFd<'_>]) -> io::Result<usize> {
        let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !ancillary.push(SendAncillaryMessage::ScmRights(with)) {
            return Err(io::Error::other("too many descriptors for one message"));
        }
        Ok(sendmsg(
            &self.0,
            &[IoSlice::new(bytes)],
            &mut ancillary,
            SendFlags::NOSIGNAL,
        )?)
    }
}

impl Taker {
    /// The shim's end, in the shim.
    #[must_use]
    pub fn new(socket: OwnedFd) -> Self {
        Self {
            socket: socket.into(),
            read: Vec::new(),
            descriptors: VecDeque::new(),
        }
    }

    /// The next document; `None` where there is none any more.
    ///
    /// # Errors
    /// What the system says; what is no such document.
    pub fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let rest = self.read.split_off(end.saturating_add(1));
                let line = std::mem::replace(&mut self.read, rest);
                return Ok(Some(serde_json::from_slice(&line)?));
            }
            if self.receive()? == 0 {
                return match self.read.is_empty() {
                    true => Ok(None),
                    false => Err(io::ErrorKind::UnexpectedEof.into()),
                };
            }
        }
    }

    /// The next descriptor that came along; `None` where no more did.
    pub fn descriptor(&mut self) -> Option<OwnedFd> {
        self.descriptors.pop_front()
    }

    fn receive(&mut self) -> io::Result<usize> {
        let start = self.read.len();
        self.read.resize(start.saturating_add(CHUNK), 0);
        let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let into = self.read.get_mut(start..).unwrap_or_default();
        let received = recvmsg(
            &self.socket,
            &mut [IoSliceMut::new(into)],
            &mut ancillary,
            RecvFlags::CMSG_CLOEXEC,
        );
        let count = received.as_ref().map_or(0, |received| received.bytes);
        self.read.truncate(start.saturating_add(count));
        received?;
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
            }
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn documents_and_descriptors_arrive_in_their_order() {
        let (mut giver, socket) = pair().unwrap();
        let mut taker = Taker::new(socket);
        let (mine, theirs) = io::pipe().unwrap();
        giver.give(&"first", &[]).unwrap();
        let long = "x".repeat(3 * CHUNK);
        let fds = [mine.as_fd(), theirs.as_fd()];
        giver.give(&long, &fds).unwrap();
        drop(giver);
        assert_eq!(taker.next().unwrap(), Some("first".to_owned()));
        assert_eq!(taker.next().unwrap(), Some(long));
        let kinds = std::iter::from_fn(|| taker.descriptor())
            .map(|fd| nix::fcntl::fcntl(fd, nix::fcntl::FcntlArg::F_GETFL).unwrap() & 0b11);
        assert_eq!(kinds.collect::<Vec<_>>(), [0, 1], "to read, and to write");
        assert_eq!(taker.next::<String>().unwrap(), None);
    }

    #[test]
    fn more_descriptors_than_one_message_carries_arrive_in_their_order() {
        let (mut giver, socket) = pair().unwrap();
        let mut taker = Taker::new(socket);
        let (mine, theirs) = io::pipe().unwrap();
        let mut fds = vec![mine.as_fd(); 2 * MOST];
        fds.push(theirs.as_fd());
        giver.give(&"many", &fds).unwrap();
        giver.give(&"none", &[]).unwrap();
        assert_eq!(taker.next().unwrap(), Some("many".to_owned()));
        let came: Vec<OwnedFd> = std::iter::from_fn(|| taker.descriptor()).collect();
        assert_eq!(came.len(), fds.len());
        let kind = |fd: &OwnedFd| nix::fcntl::fcntl(fd, nix::fcntl::FcntlArg::F_GETFL).unwrap();
        assert_eq!(
            kind(&came[came.len() - 1]) & 0b11,
            1,
            "the last is to write"
        );
        assert_eq!(kind(&came[came.len() - 2]) & 0b11, 0);
        assert_eq!(taker.next().unwrap(), Some("none".to_owned()));
    }

    #[test]
    fn half_a_document_is_none() {
        let (giver, taker) = pair().unwrap();
        let mut taker = Taker::new(taker);
        let Giver(mut socket) = giver;
        socket.write_all(b"\"cut").unwrap();
        drop(socket);
        assert!(taker.next::<String>().is_err());
    }
}
