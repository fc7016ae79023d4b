//! Attacks on the network and on local sockets: promises N1 to N3. Nothing is sent beyond this
//! machine.
#![expect(
    clippy::disallowed_methods,
    reason = "these are attacks: they touch what they should not"
)]

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixDatagram, UnixStream};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, send, setsockopt, socket, sockopt,
};

use super::files::{own, saw};
use super::{CANARY, not, unseen};

type Got = io::Result<String>;

/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(2);

fn spoken(mut stream: impl Read) -> Got {
    let mut text = String::new();
    stream.read_to_string(&mut text).map_err(answer)?;
    saw(&text, "spoke to it")
}

/// Whoever waited in vain was not stopped: what is planted answers at once, where it gets to run.
fn answer(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => unseen("no answer", &error),
        _ => error,
    }
}

fn spoken_to(stream: UnixStream) -> Got {
    stream.set_read_timeout(Some(PATIENCE))?;
    spoken(stream)
}

pub(super) fn connect_socket(target: &str) -> Got {
    spoken_to(UnixStream::connect(target)?)
}

pub(super) fn connect_through_link(target: &str) -> Got {
    let link = own("link-to-socket")?;
    let _ = fs::remove_file(&link);
    symlink(target, &link)?;
    spoken_to(UnixStream::connect(link)?)
}

pub(super) fn connect_abstract(target: &str) -> Got {
    let address = UnixAddress::from_abstract_name(target)?;
    spoken_to(UnixStream::connect_addr(&address)?)
}

pub(super) fn send_to_socket(target: &str) -> Got {
    UnixDatagram::unbound()?.send_to(CANARY.as_bytes(), target)?;
    Ok("sent to it".to_owned())
}

pub(super) fn connect_port(target: &str) -> Got {
    let address: SocketAddr = target.parse().map_err(io::Error::other)?;
    let stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(answer)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    spoken(stream)
}

/// Whoever is there answers.
pub(super) fn send_datagram(target: &str) -> Got {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.set_read_timeout(Some(PATIENCE))?;
    // Refused at once where nobody is there.
    socket.connect(target)?;
    socket.send(b"x")?;
    let mut buffer = [0; 64];
    let count = socket.recv(&mut buffer).map_err(answer)?;
    let said = buffer.get(..count).unwrap_or_default();
    saw(&String::from_utf8_lossy(said), "was answered")
}

fn opened(family: AddressFamily, kind: SockType, protocol: Option<SockProtocol>) -> Got {
    socket(family, kind, SockFlag::SOCK_CLOEXEC, protocol)?;
    Ok("opened one".to_owned())
}

pub(super) fn packet(_: &str) -> Got {
    opened(AddressFamily::Packet, SockType::Raw, None)
}

pub(super) fn raw(_: &str) -> Got {
    let icmp = Some(SockProtocol::Icmp);
    opened(AddressFamily::Inet, SockType::Raw, icmp)
}

pub(super) fn vsock(_: &str) -> Got {
    opened(AddressFamily::Vsock, SockType::Stream, None)
}

pub(super) fn crypto(_: &str) -> Got {
    opened(AddressFamily::Alg, SockType::SeqPacket, None)
}

pub(super) fn uevent(_: &str) -> Got {
    let events = Some(SockProtocol::NetlinkKObjectUEvent);
    opened(AddressFamily::Netlink, SockType::Raw, events)
}

/// Multipath TCP, which rules on TCP ports do not see (`IPPROTO_MPTCP` is 262).
pub(super) fn mptcp(_: &str) -> Got {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with};
    let flags = SocketFlags::CLOEXEC;
    let protocol = Some(ipproto::MPTCP);
    socket_with(AddressFamily::INET, SocketType::STREAM, flags, protocol)?;
    Ok("opened one".to_owned())
}

/// With the flag that a connection is made by (`MSG_FASTOPEN`), on sockets that need none.
pub(super) fn fast_open(_: &str) -> Got {
    let (socket, _other) = UnixStream::pair()?;
    let flag = MsgFlags::from_bits_retain(0x2000_0000);
    send(socket.as_raw_fd(), b"x", flag)?;
    Ok("sent it".to_owned())
}

/// The kernel need not have it, and says so; the filter says something else.
pub(super) fn stacked(_: &str) -> Got {
    let stream = socket(
        AddressFamily::Inet,
        SockType::Stream,
        SockFlag::SOCK_CLOEXEC,
        None,
    )?;
    match setsockopt(&stream, sockopt::TcpUlp::default(), b"tls") {
        Err(errno @ Errno::EPERM) => Err(errno.into()),
        Err(errno) => Ok(format!("the kernel looked at it: {errno}")),
        Ok(()) => Ok("it was done".to_owned()),
    }
}

/// Any that is free.
pub(super) fn privileged_port(_: &str) -> Got {
    let mut last = not("there is none");
    for port in [1, 7, 9, 13, 17, 19] {
        match TcpListener::bind(("127.0.0.1", port)) {
            Ok(_) => return Ok("took one".to_owned()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::super::{Outcome, Went};
    use super::*;

    struct Fails(ErrorKind);

    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_connection_that_is_not_answered_in_time_was_not_stopped() {
        for (kind, went) in [
            (ErrorKind::WouldBlock, Went::Unknown),
            (ErrorKind::TimedOut, Went::Unknown),
            (ErrorKind::ConnectionReset, Went::Stopped),
        ] {
            assert_eq!(Outcome::from(spoken(Fails(kind))).result, went, "{kind}");
        }
        let answered = Outcome::from(spoken(CANARY.as_bytes()));
        assert_eq!(answered.result, Went::Succeeded);
    }
}
