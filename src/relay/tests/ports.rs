//! Files, named pipes, shared descriptions, and pipes made wider.

use super::*;

#[test]
fn files_are_read_and_written_as_they_are() {
    let mut requests = tempfile::tempfile().unwrap();
    let mut answers = tempfile::tempfile().unwrap();
    let words = tempfile::tempfile().unwrap();
    for id in 0..100 {
        writeln!(requests, r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).unwrap();
    }
    requests.rewind().unwrap();
    let host = Host::new(
        requests.into(),
        answers.try_clone().unwrap().into(),
        words.into(),
    );
    let outcome = relay_over(host, &["echo"]);
    assert_eq!(outcome.exit, Exit::Code(0));
    let mut text = String::new();
    answers.rewind().unwrap();
    answers.read_to_string(&mut text).unwrap();
    assert_eq!(text.lines().count(), 100);
}

#[test]
fn a_named_pipe_whose_writer_is_gone_ends() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fifo");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let end = |flags| nix::fcntl::open(&path, flags, nix::sys::stat::Mode::empty()).unwrap();
    let stdin = end(OFlag::O_RDONLY | OFlag::O_NONBLOCK);
    let mut to = std::fs::File::from(end(OFlag::O_WRONLY));
    to.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n")
        .unwrap();
    drop(to);
    let file = || tempfile::tempfile().unwrap().into();
    let outcome = relay_over(Host::new(stdin, file(), file()), &["echo"]);
    assert_eq!(
        (outcome.exit, outcome.counters.from_host),
        (Exit::Code(0), 1)
    );
}

#[test]
fn the_hosts_descriptions_keep_their_flags() {
    let (stdin, to) = pipe();
    let (from, stdout) = pipe();
    let (words, stderr) = pipe();
    let shared = [
        stdin.try_clone().unwrap(),
        stdout.try_clone().unwrap(),
        stderr.try_clone().unwrap(),
    ];
    let run = thread::spawn(move || relay_over(Host::new(stdin, stdout, stderr), &["echo"]));
    let mut to = std::fs::File::from(to);
    to.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n")
        .unwrap();
    let mut byte = [0];
    std::fs::File::from(from).read_exact(&mut byte).unwrap();
    for fd in &shared {
        let flags = OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL).unwrap());
        assert!(!flags.contains(OFlag::O_NONBLOCK));
    }
    drop((to, words));
    run.join().unwrap();
}

/// Where a description cannot be made our own it is shared and blocks: as on macOS.
#[test]
fn a_shared_description_is_used_without_blocking() {
    let (reader, writer) = pipe();
    let blocks = |fd: &OwnedFd| {
        fcntl(fd.as_fd(), FcntlArg::F_GETFL).unwrap() & OFlag::O_NONBLOCK.bits() == 0
    };
    assert!(blocks(&reader) && blocks(&writer));
    let sent: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    let expected = sent.clone();
    let sender = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (mut outlet, mut at) = (Outlet::new(writer, Way::Shared).unwrap(), 0);
            poll_fn(|cx| {
                outlet.watch(cx);
                while at < sent.len() {
                    match outlet.write(&[IoSlice::new(&sent[at..])]) {
                        Wrote::Some(count) => at += count,
                        Wrote::Blocked => {
                            outlet.watch(cx);
                            return Poll::Pending;
                        }
                        Wrote::Closed => panic!("closed at {at}"),
                    }
                    outlet.watch(cx);
                }
                Poll::Ready(())
            })
            .await;
        });
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let got = runtime.block_on(async {
        let (mut inlet, mut got, mut room) = (
            Inlet::new(reader, Way::Shared).unwrap(),
            Vec::new(),
            vec![0; 7_000],
        );
        poll_fn(|cx| {
            loop {
                inlet.watch(cx);
                match inlet.read(&mut room) {
                    port::Read::Some(count) => got.extend_from_slice(&room[..count]),
                    port::Read::Blocked => return Poll::Pending,
                    port::Read::End => return Poll::Ready(()),
                }
            }
        })
        .await;
        got
    });
    sender.join().unwrap();
    assert!(got == expected, "{} of {} bytes", got.len(), expected.len());
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_holds_more_once_large_messages_pass() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let _entered = runtime.enter();
    let (reader, writer) = pipe();
    let size = {
        let other = writer.try_clone().unwrap();
        move || fcntl(other.as_fd(), FcntlArg::F_GETPIPE_SZ).unwrap()
    };
    let before = size();
    let (mut inlet, mut outlet) = (
        Inlet::new(reader, Way::Pipe).unwrap(),
        Outlet::new(writer, Way::Pipe).unwrap(),
    );
    assert_eq!(size(), before);
    inlet.widen();
    assert!(size() > before);
    outlet.widen();
    // A regular file has no such size, and is used all the same.
    let mut file = Outlet::new(tempfile::tempfile().unwrap().into(), Way::Plain).unwrap();
    file.widen();
    assert_eq!(file.write(&[IoSlice::new(b"x")]), Wrote::Some(1));
}
