use std::collections::BTreeMap;

use super::*;

/// A memory of two addresses' worth.
#[derive(Default)]
struct Fake(BTreeMap<u64, Vec<u8>>);

impl Memory for Fake {
    fn bytes(&self, address: u64, count: usize) -> Option<Vec<u8>> {
        self.0.get(&address)?.get(..count).map(<[u8]>::to_vec)
    }

    fn text(&self, address: u64) -> Option<Vec<u8>> {
        self.0.get(&address).cloned()
    }

    fn socket(&self, descriptor: i32) -> Option<u64> {
        (descriptor == 5).then_some(4_711)
    }

    fn leads_to(&self, descriptor: i32) -> Option<PathBuf> {
        (descriptor == 7).then(|| "/held".into())
    }

    fn directory(&self) -> Option<PathBuf> {
        Some("/work/in".into())
    }
}

#[expect(clippy::as_conversions, reason = "the number of an enumeration")]
fn of(number: i64, arguments: [u64; 6], errno: Errno, memory: &[(u64, &[u8])]) -> Vec<Target> {
    let memory = Fake(
        memory
            .iter()
            .map(|(at, bytes)| (*at, bytes.to_vec()))
            .collect(),
    );
    let call = Call {
        number,
        arguments,
        answer: -i64::from(errno as i32),
    };
    missed(&call, &memory).map_or_else(Vec::new, |(targets, said)| {
        assert_eq!(said, errno);
        targets
    })
}

const HERE: u64 = 0xffff_ff9c;

#[test]
fn paths_are_made_absolute() {
    let reads = |at: u64, path: &[u8]| {
        of(
            libc::SYS_openat,
            [at, 64, 0, 0, 0, 0],
            Errno::ENOENT,
            &[(64, path)],
        )
    };
    let path = |path: &str| vec![Target::Path(path.into(), Intent::Read)];
    assert_eq!(reads(HERE, b"/etc/./x//y/../z"), path("/etc/x/z"));
    assert_eq!(reads(HERE, b"../up"), path("/work/up"));
    assert_eq!(reads(7, b"below"), path("/held/below"));
    assert_eq!(reads(HERE, b""), []);
    // A descriptor that is not there.
    assert_eq!(reads(3, b"below"), []);
}

#[test]
fn what_a_file_is_opened_for() {
    let opens = |flags: i32| opened(u64::from(flags.cast_unsigned()));
    assert_eq!(opens(libc::O_RDONLY | libc::O_CLOEXEC), Intent::Read);
    assert_eq!(opens(libc::O_RDONLY | libc::O_DIRECTORY), Intent::List);
    assert_eq!(opens(libc::O_RDWR), Intent::Write);
    assert_eq!(opens(libc::O_WRONLY | libc::O_CREAT), Intent::Make);
    assert_eq!(opens(libc::O_PATH | libc::O_DIRECTORY), Intent::Look);
}

#[test]
fn addresses_of_every_family() {
    let local = [&1_u16.to_ne_bytes()[..], b"/run/x.sock\0rest"].concat();
    let hidden = [&1_u16.to_ne_bytes()[..], b"\0name"].concat();
    let four = [
        &2_u16.to_ne_bytes()[..],
        &443_u16.to_be_bytes(),
        &[10, 0, 0, 1],
        &[0; 8],
    ]
    .concat();
    let connects = |bytes: &[u8], errno| {
        let length = u64::try_from(bytes.len()).unwrap();
        of(
            libc::SYS_connect,
            [3, 64, length, 0, 0, 0],
            errno,
            &[(64, bytes)],
        )
    };
    assert_eq!(
        connects(&local, Errno::ENOENT),
        [Target::Local("/run/x.sock".into())]
    );
    assert_eq!(
        connects(&hidden, Errno::EPERM),
        [Target::Abstract("name".into())]
    );
    assert_eq!(
        connects(&four, Errno::ENETUNREACH),
        [Target::Remote([10, 0, 0, 1].into(), 443)]
    );
    assert_eq!(
        of(
            libc::SYS_bind,
            [3, 64, 16, 0, 0, 0],
            Errno::EACCES,
            &[(64, &four)]
        ),
        [Target::Listen([10, 0, 0, 1].into(), 443)]
    );
}

#[test]
fn bounds_and_calls() {
    let none = [0; 6];
    assert_eq!(
        of(libc::SYS_clone, none, Errno::EAGAIN, &[]),
        [Target::Bound(Bound::Processes, 0)]
    );
    assert_eq!(
        of(libc::SYS_mmap, [0, 4096, 0, 0, 0, 0], Errno::ENOMEM, &[]),
        [Target::Bound(Bound::Memory, 4096)]
    );
    let user = 0x1000_0000;
    assert_eq!(
        of(libc::SYS_unshare, [user, 0, 0, 0, 0, 0], Errno::EPERM, &[]),
        [Target::Namespace("unshare", true)]
    );
    assert_eq!(
        of(libc::SYS_bpf, none, Errno::EPERM, &[]),
        [Target::Call("bpf")]
    );
    // Asked for, not there, and no refusal: a read that would block, a call that is answered.
    assert_eq!(of(libc::SYS_read, none, Errno::EAGAIN, &[]), []);
    assert_eq!(of(libc::SYS_getpid, none, Errno::ENOENT, &[]), []);
    assert_eq!(of(libc::SYS_clone3, none, Errno::ENOSYS, &[]), []);
}

#[test]
fn an_answer_is_no_refusal() {
    let call = |answer| Call {
        number: libc::SYS_openat,
        arguments: [0; 6],
        answer,
    };
    for answer in [0, 3, -512, i64::MIN] {
        assert_eq!(missed(&call(answer), &Fake::default()), None);
    }
}

/// Node, Go, asyncio and whoever sets a time-out learn later what came of a connection.
#[test]
fn a_connection_that_is_not_waited_for() {
    let mut address = vec![2, 0, 0x15, 0x38, 127, 0, 0, 1];
    address.resize(16, 0);
    let memory = |error: i32| {
        let told = error.to_ne_bytes().to_vec();
        Fake([(64, address.clone()), (128, told)].into())
    };
    let call = |number, arguments, answer| Call {
        number,
        arguments,
        answer,
    };
    let connect = |socket, answer| call(libc::SYS_connect, [socket, 64, 16, 0, 0, 0], answer);
    let wanted = Target::Remote(IpAddr::from([127, 0, 0, 1]), 5432);
    let in_progress = i64::from(libc::EINPROGRESS).saturating_neg();
    assert_eq!(
        begun(&connect(5, in_progress), &memory(0)),
        Some((4_711, wanted))
    );
    assert_eq!(begun(&connect(5, 0), &memory(0)), None);
    assert_eq!(begun(&connect(6, in_progress), &memory(0)), None);
    let asks = |option| {
        let level = u64::from(libc::SOL_SOCKET.unsigned_abs());
        call(libc::SYS_getsockopt, [5, level, option, 128, 0, 0], 0)
    };
    let error = u64::from(libc::SO_ERROR.unsigned_abs());
    for (told, errno) in [
        (libc::ECONNREFUSED, Some(Errno::ECONNREFUSED)),
        (libc::ENETUNREACH, Some(Errno::ENETUNREACH)),
        (0, None),
        (libc::EPIPE, None),
    ] {
        let wanted = errno.map(|errno| (4_711, errno));
        assert_eq!(came_to(&asks(error), &memory(told)), wanted, "{told}");
    }
    assert_eq!(came_to(&asks(3), &memory(libc::ECONNREFUSED)), None);
}

#[test]
fn a_set_uid_bit_is_told_from_another_mode() {
    let set = |mode, errno| of(libc::SYS_fchmod, [5, mode, 0, 0, 0, 0], errno, &[]);
    assert_eq!(set(0o4755, Errno::EPERM), [Target::Call("fchmod")]);
    assert_eq!(set(0o755, Errno::EPERM), []);
    assert_eq!(set(0o4755, Errno::EROFS), []);
    let at = [HERE, 64, 0o4711, 0, 0, 0];
    let by_path = of(libc::SYS_fchmodat, at, Errno::EPERM, &[(64, b"tool")]);
    assert_eq!(by_path, [Target::Call("fchmod")]);
    assert!(crate::confine::linux::seccomp::reason("fchmod").is_some());
}
