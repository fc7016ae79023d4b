//! The compiled filters, run over calls by an interpreter of classic BPF with the kernel's own
//! rule for stacked filters. For both architectures, whichever this one is.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use seccompiler::compile_from_json;
use serde_json::Value;

use super::generate::{self, instruction};
use super::*;

const EPERM: Answer = Answer::Errno(1);
const ENOSYS: Answer = Answer::Errno(38);
const ARCHES: [Arch; 2] = [Arch::X86_64, Arch::Aarch64];
const FILTERS: [Filter; 7] = [
    Filter::Allow,
    Filter::Deny,
    Filter::NoSetGid,
    Filter::NoUnix,
    Filter::NoNetwork,
    Filter::OwnProcess,
    Filter::OwnIpc,
];
const BASE: [Filter; 2] = [Filter::Allow, Filter::Deny];
/// Every operand has these on top in one round: the kernel ignores the upper half of an int.
const HIGH: u64 = 0xdead_beef_0000_0000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Allow,
    Errno(u32),
    Kill,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    number: u32,
    audit_arch: u32,
    args: [u64; 6],
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    mismatch_action: Value,
    match_action: Value,
    filter: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    syscall: String,
    comment: String,
    #[serde(default)]
    args: Vec<Arg>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arg {
    index: usize,
    r#type: String,
    op: Value,
    val: u64,
    comment: String,
}

/// One step of `struct seccomp_data` and `bpf_prog_run`, of the instructions seccompiler emits.
fn run(instructions: &[Instruction], call: &Call) -> u32 {
    let mut data = Vec::new();
    data.extend(call.number.to_le_bytes());
    data.extend(call.audit_arch.to_le_bytes());
    data.extend(0_u64.to_le_bytes());
    call.args
        .iter()
        .for_each(|arg| data.extend(arg.to_le_bytes()));
    let (mut at, mut accumulator) = (0, 0_u32);
    loop {
        let (code, jt, jf, k) = instructions[at];
        at += 1;
        let jump = |holds: bool| usize::from(if holds { jt } else { jf });
        match code {
            0x20 => {
                let from = usize::try_from(k).unwrap();
                accumulator = u32::from_le_bytes(data[from..from + 4].try_into().unwrap());
            }
            0x54 => accumulator &= k,
            0x05 => at += usize::try_from(k).unwrap(),
            0x15 => at += jump(accumulator == k),
            0x25 => at += jump(accumulator > k),
            0x35 => at += jump(accumulator >= k),
            0x06 => return k,
            other => panic!("no such instruction {other:#x}"),
        }
    }
}

/// `seccomp_run_filters`: from the last installed to the first, the strongest answer, of equal
/// ones the first met. The action is compared as a signed number.
fn judge(programs: &[Program], call: &Call) -> Answer {
    let action = |answer: u32| (answer & 0xffff_0000).cast_signed();
    let answers = programs
        .iter()
        .rev()
        .map(|program| run(program.instructions, call));
    let strongest = answers
        .reduce(|a, b| if action(b) < action(a) { b } else { a })
        .unwrap();
    match strongest & 0xffff_0000 {
        0x8000_0000 => Answer::Kill,
        0x0005_0000 => Answer::Errno(strongest & 0xffff),
        0x7fff_0000 => Answer::Allow,
        other => panic!("no such action {other:#x}"),
    }
}

const fn audit_arch(arch: Arch) -> u32 {
    match arch {
        Arch::X86_64 => 0xc000_003e,
        Arch::Aarch64 => 0xc000_00b7,
    }
}

fn data(arch: Arch) -> BTreeMap<String, Data> {
    serde_json::from_str(arch.text()).unwrap()
}

/// The number of a call, asked of seccompiler's own table by compiling a rule for it.
fn number(arch: Arch, name: &str) -> Option<u32> {
    let rule = format!(
        r#"{{"x": {{"mismatch_action": "allow", "match_action": "trap",
            "filter": [{{"syscall": "{name}"}}]}}}}"#
    );
    let compiled = compile_from_json(rule.as_bytes(), arch.target()).ok()?;
    compiled["x"]
        .iter()
        .find(|i| i.code == 0x15 && i.jf == 1)
        .map(|i| i.k)
}

/// A filter and what it compiles to.
#[derive(Clone)]
struct Program {
    filter: Filter,
    instructions: &'static [Instruction],
}

/// Compiled ones, in the order they are named.
fn programs(arch: Arch, filters: &[Filter]) -> Vec<Program> {
    let program = |&filter: &Filter| Program {
        filter,
        instructions: arch.program(filter).unwrap(),
    };
    filters.iter().map(program).collect()
}

/// Filters in force on an architecture.
struct Stack {
    arch: Arch,
    programs: Vec<Program>,
}

impl Stack {
    fn new(arch: Arch, more: &[Filter]) -> Self {
        let filters = BASE.iter().chain(more).copied().collect();
        Self {
            arch,
            programs: programs(arch, &lower(arch, &filters).unwrap()),
        }
    }

    /// `None` where the architecture has no such call.
    fn asks(&self, name: &str, args: &[u64]) -> Option<Answer> {
        let mut all = [0; 6];
        all[..args.len()].copy_from_slice(args);
        let audit_arch = audit_arch(self.arch);
        let number = number(self.arch, name)?;
        Some(judge(
            &self.programs,
            &Call {
                number,
                audit_arch,
                args: all,
            },
        ))
    }

    #[track_caller]
    fn gives(&self, expected: Answer, name: &str, args: &[u64]) {
        if let Some(answer) = self.asks(name, args) {
            assert_eq!(answer, expected, "{}: {name}({args:x?})", self.arch);
        }
    }
}

fn both(more: &[Filter]) -> [Stack; 2] {
    ARCHES.map(|arch| Stack::new(arch, more))
}

/// Operands that an entry is about.
fn matching(entry: &Entry) -> [u64; 6] {
    let mut args = [0; 6];
    for arg in &entry.args {
        args[arg.index] = match arg.op.as_str() {
            Some("eq") => arg.val,
            Some("gt") => arg.val + 1,
            Some("ne") => 0x7e57,
            None if arg.op.get("masked_eq").is_some() => arg.val,
            other => panic!("no such operator {other:?}"),
        };
    }
    args
}

#[test]
fn every_entry_and_every_operand_of_every_file_has_a_reason() {
    for data in ARCHES.map(data) {
        for entry in data.values().flat_map(|filter| &filter.filter) {
            assert!(entry.comment.len() > 3, "{entry:?}");
            for arg in &entry.args {
                assert!(arg.comment.len() > 2, "{entry:?}");
                let written = arg.comment.split_once(" 0x").map(|(_, hex)| hex);
                if let Some(hex) = written.and_then(|hex| hex.split(' ').next()) {
                    let given = [
                        Some(arg.val),
                        arg.op.get("masked_eq").and_then(Value::as_u64),
                    ];
                    let value = u64::from_str_radix(hex, 16).unwrap();
                    assert!(given.contains(&Some(value)), "{entry:?}");
                }
            }
        }
    }
}

#[test]
fn the_files_hold_the_filters_that_are_named_with_their_actions() {
    let errno = |number: u32| serde_json::json!({ "errno": number });
    for data in ARCHES.map(data) {
        let names: BTreeSet<_> = data.keys().map(String::as_str).collect();
        let parts = FILTERS.iter().flat_map(|filter| filter.parts());
        assert_eq!(names, parts.copied().collect());
        for (name, filter) in &data {
            let (matched, other) = match name.as_str() {
                "allow" => (Value::from("allow"), errno(38)),
                _ => (errno(1), Value::from("allow")),
            };
            assert_eq!(
                (&filter.match_action, &filter.mismatch_action),
                (&matched, &other)
            );
        }
    }
    for filter in FILTERS {
        assert_eq!(serde_json::to_value(filter).unwrap(), filter.to_string());
    }
}

#[test]
fn no_entry_is_there_twice_or_makes_another_void() {
    for data in ARCHES.map(data) {
        for filter in data.values() {
            for (at, entry) in filter.filter.iter().enumerate() {
                let others = filter.filter[at + 1..]
                    .iter()
                    .filter(|e| e.syscall == entry.syscall);
                for other in others {
                    // seccompiler drops an unconditional entry beside a conditional one
                    assert!(
                        !entry.args.is_empty() && !other.args.is_empty(),
                        "{entry:?}"
                    );
                    assert_ne!(entry.args, other.args);
                }
            }
        }
        assert!(
            data["allow"]
                .filter
                .iter()
                .all(|entry| entry.args.is_empty())
        );
    }
}

#[test]
fn both_files_say_the_same_of_what_both_architectures_have() {
    let [x86, arm] = ARCHES.map(data);
    for filter in FILTERS {
        let of = |data: &BTreeMap<String, Data>, other: Arch| -> Vec<Entry> {
            let entries = data[filter.name()].filter.iter();
            entries
                .filter(|entry| number(other, &entry.syscall).is_some())
                .cloned()
                .collect()
        };
        assert_eq!(of(&x86, Arch::Aarch64), of(&arm, Arch::X86_64), "{filter}");
    }
}

#[test]
fn each_entry_of_each_refusing_filter_answers_eperm_whatever_the_upper_half_says() {
    for arch in ARCHES {
        let data = data(arch);
        for filter in FILTERS.into_iter().skip(1) {
            let stack = Stack::new(arch, &[filter]);
            for entry in &data[filter.name()].filter {
                let args = matching(entry);
                stack.gives(EPERM, &entry.syscall, &args);
                if entry.args.iter().all(|arg| arg.r#type == "dword") {
                    stack.gives(EPERM, &entry.syscall, &args.map(|arg| arg | HIGH));
                }
            }
        }
    }
}

#[test]
fn what_no_file_lists_answers_enosys() {
    for arch in ARCHES {
        let data = data(arch);
        let names = data
            .values()
            .flat_map(|filter| &filter.filter)
            .map(|entry| &entry.syscall);
        let listed: BTreeSet<_> = names.map(|name| number(arch, name).unwrap()).collect();
        let programs = Stack::new(arch, &[]).programs;
        let unlisted = (0..4096)
            .chain([u32::MAX, 0x8000_0000])
            .filter(|n| !listed.contains(n));
        for number in unlisted {
            let call = Call {
                number,
                audit_arch: audit_arch(arch),
                args: [0; 6],
            };
            assert_eq!(judge(&programs, &call), ENOSYS, "{arch}: {number}");
        }
    }
    for stack in both(&FILTERS) {
        // its flags lie behind a pointer; on ENOSYS the C library takes clone
        assert_eq!(stack.asks("clone3", &[]), Some(ENOSYS));
        for name in [
            "memfd_secret",
            "io_setup",
            "statmount",
            "cachestat",
            "vmsplice",
        ] {
            assert_eq!(stack.asks(name, &[]), Some(ENOSYS), "{name}");
        }
    }
}

#[test]
fn numbers_are_those_of_the_kernel() {
    let of = |name| ARCHES.map(|arch| number(arch, name));
    assert_eq!(of("clone3"), [Some(435), Some(435)]);
    assert_eq!(of("ptrace"), [Some(101), Some(117)]);
    assert_eq!(of("socket"), [Some(41), Some(198)]);
    assert_eq!(of("fork"), [Some(57), None]);
}

#[test]
fn x32_numbers_answer_enosys() {
    let programs = Stack::new(Arch::X86_64, &[]).programs;
    for number in 0..1024 {
        let number = number | 0x4000_0000;
        let call = Call {
            number,
            audit_arch: audit_arch(Arch::X86_64),
            args: [0; 6],
        };
        assert_eq!(judge(&programs, &call), ENOSYS);
    }
}

#[test]
fn a_foreign_abi_ends_the_caller_in_each_filter_alone() {
    let foreign = [0x4000_0003, 0x4000_0028, 0, u32::MAX, 0xc000_00f3];
    for arch in ARCHES {
        for program in programs(arch, &FILTERS) {
            let other = ARCHES
                .into_iter()
                .find(|other| *other != arch)
                .map(audit_arch);
            for audit_arch in foreign.into_iter().chain(other) {
                let call = Call {
                    number: 20,
                    audit_arch,
                    args: [0; 6],
                };
                assert_eq!(judge(std::slice::from_ref(&program), &call), Answer::Kill);
            }
        }
    }
}

#[test]
fn what_servers_do_passes() {
    for stack in both(&[]) {
        let passes = |name, args: &[u64]| stack.gives(Answer::Allow, name, args);
        passes("clone", &[0x003d_0f00]); // pthread_create
        passes("clone", &[0x0120_0011]); // fork, as glibc asks for it
        passes("clone", &[0x0000_4111]); // posix_spawn
        passes("clone", &[0x0000_1011 | 0x4000]); // Go, with a pidfd
        passes("personality", &[0xffff_ffff]);
        passes("personality", &[0]);
        passes("seccomp", &[1, 1]); // a filter for all threads, as Chromium installs
        passes("prctl", &[38, 1]); // PR_SET_NO_NEW_PRIVS, the next filter's first step
        passes("prctl", &[15]); // PR_SET_NAME
        passes("ioctl", &[0, 0x5401]); // TCGETS
        passes("ioctl", &[0, 0x540e, 1]); // TIOCSCTTY, for the server's own pty
        passes("ioctl", &[0, 0x541b]); // FIONREAD
        passes("ioctl", &[0, 0x4004_9409]); // FICLONE
        passes("mknod", &[0, 0o010_600]); // S_IFIFO
        passes("mknodat", &[0, 0, 0o010_600]);
        passes("mknodat", &[0, 0, 0o140_600]); // S_IFSOCK
        passes("setpriority", &[0, 0, 19]);
        passes("sched_setscheduler", &[0, 3]); // SCHED_BATCH
        passes("sched_setaffinity", &[0]);
        passes("move_pages", &[0]);
        passes("sendto", &[3, 0, 1, 0x4000]); // MSG_NOSIGNAL
        passes("setsockopt", &[3, 6, 1]); // TCP_NODELAY
        passes("setsockopt", &[3, 1, 31]); // 31 of another level than TCP's
        passes("shmget", &[0]);
    }
}

#[test]
fn the_calls_that_the_promises_name_answer_eperm() {
    let named = "mount umount2 fsopen fsconfig fsmount fspick move_mount open_tree mount_setattr \
        pivot_root chroot unshare setns ptrace process_vm_readv process_vm_writev \
        process_madvise process_mrelease pidfd_getfd kcmp migrate_pages add_key request_key \
        keyctl open_by_handle_at name_to_handle_at fanotify_init fanotify_mark quotactl bpf \
        perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register kexec_load \
        kexec_file_load init_module finit_module delete_module acct swapon swapoff reboot \
        settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname syslog \
        vhangup iopl ioperm modify_ldt sched_setattr";
    for stack in both(&[]) {
        for name in named.split_whitespace() {
            stack.gives(EPERM, name, &[]);
        }
    }
}

#[test]
fn dangerous_calls_by_argument() {
    for stack in both(&[]) {
        let refused = |name, args: &[u64]| stack.gives(EPERM, name, args);
        for flag in [0x0002_0000, 0x0200_0000, 0x1000_0000, 0x4000_0000, 0x8000] {
            refused("clone", &[flag | 17]);
            refused("clone", &[flag | 17 | HIGH]);
        }
        refused("ioctl", &[0, 0x5412]);
        refused("ioctl", &[0, 0x1_0000_5412]);
        refused("ioctl", &[0, 0xffff_ffff_0000_541c]);
        refused("personality", &[0x0004_0000]);
        refused("personality", &[0xffff_ffff_0004_0000]);
        refused("mknod", &[0, 0o020_666]);
        refused("mknodat", &[0, 0, 0o060_600]);
        refused("seccomp", &[1, 8]);
        refused("seccomp", &[1, 9]);
        refused("sched_setscheduler", &[0, 1]);
        refused("sched_setscheduler", &[0, 0x4000_0002]);
        refused("setpriority", &[0, 0, 0xffff_fffb]);
        refused("setpriority", &[0, 0, u64::MAX]);
        refused("sendmsg", &[3, 0, 0x2000_4000]);
        refused("setsockopt", &[3, 6, 31]);
    }
}

/// What `socket` answers for each family, type and protocol that is not refused.
#[test]
fn sockets_by_family_type_and_protocol() {
    const FLAGS: u64 = 0o2_004_000; // SOCK_CLOEXEC and SOCK_NONBLOCK
    let [local, inet, inet6, netlink] = [1, 2, 10, 16];
    let opens = |family, kind, protocol| match family {
        _ if family == local => true,
        _ if family == netlink => protocol == 0,
        _ if family == inet || family == inet6 => {
            ![3, 5, 6, 10].contains(&kind) && [0, 1, 6, 17, 58].contains(&protocol)
        }
        _ => false,
    };
    for arch in ARCHES {
        let [stack, no_unix, no_network] =
            [&[][..], &[Filter::NoUnix], &[Filter::NoNetwork]].map(|more| Stack::new(arch, more));
        let number = number(arch, "socket").unwrap();
        for family in 0..64 {
            for (kind, protocol) in (0..16).flat_map(|kind| {
                [0, 1, 2, 6, 15, 17, 33, 58, 115, 132, 136, 255, 256, 262].map(|p| (kind, p))
            }) {
                let args = [family, kind | FLAGS | HIGH, protocol | HIGH, 0, 0, 0];
                let call = Call {
                    number,
                    audit_arch: audit_arch(arch),
                    args,
                };
                let is = |open| if open { Answer::Allow } else { EPERM };
                let open = opens(family, kind, protocol);
                assert_eq!(judge(&stack.programs, &call), is(open), "{call:?}");
                let open_there = open && family != local;
                assert_eq!(judge(&no_unix.programs, &call), is(open_there), "{call:?}");
                let open_there = open && (family == local || family == netlink);
                assert_eq!(
                    judge(&no_network.programs, &call),
                    is(open_there),
                    "{call:?}"
                );
            }
        }
    }
}

#[test]
fn joined_sockets() {
    for arch in ARCHES {
        let [base, no_unix] = [&[][..], &[Filter::NoUnix]].map(|more| Stack::new(arch, more));
        for kind in 0..16 {
            let args = [1, kind | 0o2_000_000 | HIGH];
            base.gives(Answer::Allow, "socketpair", &args);
            no_unix.gives(
                if [1, 5].contains(&kind) {
                    Answer::Allow
                } else {
                    EPERM
                },
                "socketpair",
                &args,
            );
        }
        base.gives(EPERM, "socketpair", &[30, 1]); // TIPC
    }
}

#[test]
fn only_the_caller_s_own_priority_affinity_scheduling_and_limits() {
    let other = 4711;
    for stack in both(&[Filter::OwnProcess]) {
        let passes = |name, args: &[u64]| stack.gives(Answer::Allow, name, args);
        let refused = |name, args: &[u64]| stack.gives(EPERM, name, args);
        passes("setpriority", &[0, 0, 5]);
        refused("setpriority", &[0, other, 5]);
        refused("setpriority", &[1, 0, 5]);
        refused("setpriority", &[2, 0, 5]);
        passes("ioprio_set", &[1, 0, 0x6000]);
        refused("ioprio_set", &[1, other, 0x6000]);
        refused("ioprio_set", &[2, 0, 0x6000]);
        refused("ioprio_set", &[3, 0, 0x6000]);
        passes("prlimit64", &[0, 7, 0x1000, 0x2000]);
        passes("prlimit64", &[other, 7, 0, 0x2000]);
        refused("prlimit64", &[other, 7, 0x1000, 0]);
        refused("prlimit64", &[other, 7, 0x1_0000_0000, 0]);
        for name in ["sched_setaffinity", "sched_setscheduler", "sched_setparam"] {
            passes(name, &[0]);
            refused(name, &[other]);
            refused(name, &[u64::MAX]);
        }
        for name in ["sched_setattr", "migrate_pages", "move_pages"] {
            refused(name, &[other]);
        }
        passes("sched_getaffinity", &[other]);
        passes("getpriority", &[0, other]);
    }
}

#[test]
fn objects_of_the_machine_are_closed_without_a_namespace() {
    for arch in ARCHES {
        let [base, own] = [&[][..], &[Filter::OwnIpc]].map(|more| Stack::new(arch, more));
        for name in [
            "shmget", "shmat", "shmctl", "semget", "semop", "semctl", "msgget", "msgrcv",
        ] {
            base.gives(Answer::Allow, name, &[]);
            own.gives(EPERM, name, &[]);
        }
        base.gives(ENOSYS, "mq_open", &[]);
        own.gives(EPERM, "mq_open", &[]);
    }
}

#[test]
fn nothing_is_lowered_or_installed_without_its_two_first_filters() {
    let of = |filters: &[Filter]| lower(Arch::X86_64, &filters.iter().copied().collect());
    assert!(matches!(of(&[]), Err(SeccompError::Order)));
    assert!(matches!(of(&[Filter::Allow]), Err(SeccompError::Order)));
    assert!(matches!(
        of(&[Filter::Deny, Filter::NoUnix]),
        Err(SeccompError::Order)
    ));
    let mut programs = of(&[Filter::OwnIpc, Filter::Deny, Filter::Allow]).unwrap();
    assert_eq!(programs, [Filter::Allow, Filter::Deny, Filter::OwnIpc]);
    programs.swap(0, 1);
    assert!(matches!(install(&programs), Err(SeccompError::Order)));
    assert!(matches!(install(&[]), Err(SeccompError::Order)));
}

/// The one test that asks the kernel: on a thread of its own, which ends with it.
#[cfg(target_os = "linux")]
#[test]
fn the_kernel_takes_them_all_and_answers_as_the_interpreter_does() {
    use nix::errno::Errno;
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket, socketpair};
    use nix::sys::stat::{Mode, SFlag, mknod};

    let programs = lower(Arch::current().unwrap(), &FILTERS.into()).unwrap();
    let confined = std::thread::spawn(move || {
        install(&programs).unwrap();
        let none = SockFlag::empty();
        for family in [
            AddressFamily::Unix,
            AddressFamily::Inet,
            AddressFamily::Packet,
        ] {
            let answer = socket(family, SockType::Stream, none, None);
            assert_eq!(answer.unwrap_err(), Errno::EPERM, "{family:?}");
        }
        let pair = |kind| socketpair(AddressFamily::Unix, kind, None, none);
        pair(SockType::Stream).unwrap();
        assert_eq!(pair(SockType::Datagram).unwrap_err(), Errno::EPERM);
        let make = |kind| mknod("/nowhere/to/be/found", kind, Mode::S_IRUSR, 0);
        assert_eq!(make(SFlag::S_IFCHR).unwrap_err(), Errno::EPERM);
        assert_eq!(make(SFlag::S_IFIFO).unwrap_err(), Errno::ENOENT);
        assert_eq!(nix::sys::prctl::get_no_new_privs(), Ok(true));
        std::thread::spawn(|| 7).join().unwrap() // clone3 is refused, clone is not
    });
    assert_eq!(confined.join().unwrap(), 7);
}

fn any_call(arch: Arch) -> impl Strategy<Value = Call> {
    let number = prop_oneof![9 => 0..512_u32, 1 => any::<u32>()];
    let word =
        prop_oneof![3 => 0..64_u64, 1 => (0..64_u32).prop_map(|bit| 1 << bit), 1 => any::<u64>()];
    (number, proptest::array::uniform6(word)).prop_map(move |(number, args)| Call {
        number,
        audit_arch: audit_arch(arch),
        args,
    })
}

/// P4: what is left in a writable directory has no set-uid bit, and where the group is lent too no
/// set-gid bit, however it is made. A mode that no file is made with says nothing.
#[test]
fn no_file_gets_anothers_rights_to_give() {
    const CREATE: u64 = 0o100;
    const TMPFILE: u64 = 0o20_200_000;
    for (stacks, bit, other) in [
        (both(&[]), 0o4000, 0o2000),
        (both(&[Filter::NoSetGid]), 0o2000, 0o1000),
    ] {
        for stack in stacks {
            let mode = 0o755 | bit;
            let makes: [(&str, &[u64]); 11] = [
                ("chmod", &[0, mode]),
                ("fchmod", &[3, mode]),
                ("fchmodat", &[3, 0, mode]),
                ("fchmodat2", &[3, 0, mode]),
                ("creat", &[0, mode]),
                ("mknod", &[0, 0o100_000 | mode]),
                ("mknodat", &[3, 0, 0o100_000 | mode]),
                ("open", &[0, CREATE | 1, mode]),
                ("open", &[0, TMPFILE | 1, mode]),
                ("openat", &[3, 0, CREATE | 1, mode]),
                ("openat", &[3, 0, TMPFILE | 1, mode]),
            ];
            for (name, args) in makes {
                stack.gives(EPERM, name, args);
            }
            stack.gives(Answer::Allow, "fchmod", &[3, 0o755 | other]);
            stack.gives(Answer::Allow, "openat", &[3, 0, 0, mode]);
        }
    }
    for stack in both(&[]) {
        stack.gives(ENOSYS, "openat2", &[]);
    }
}

/// `--allow nested-sandbox`: namespaces of its own, and nothing else that is dangerous.
#[test]
fn a_nested_sandbox_makes_namespaces_and_no_more() {
    const NEW_USER: u64 = 0x1000_0000;
    for arch in ARCHES {
        let filters = [Filter::Allow, Filter::DenyButNamespaces];
        let nested = programs(arch, &lower(arch, &filters.into()).unwrap());
        let usual = Stack::new(arch, &[]).programs;
        let call = |name: &str, first: u64| Call {
            number: number(arch, name).unwrap(),
            audit_arch: audit_arch(arch),
            args: [first, 0, 0, 0, 0, 0],
        };
        for (name, first) in [("unshare", NEW_USER), ("clone", NEW_USER), ("chroot", 0)] {
            assert_eq!(judge(&usual, &call(name, first)), EPERM, "{name}");
            assert_eq!(judge(&nested, &call(name, first)), Answer::Allow, "{name}");
        }
        for name in ["mount", "setns", "ptrace", "pivot_root", "bpf", "keyctl"] {
            assert_eq!(judge(&nested, &call(name, 0)), EPERM, "{name}");
        }
    }
    let both = [Filter::Allow, Filter::Deny, Filter::DenyButNamespaces];
    assert!(lower(Arch::X86_64, &both.into()).is_err());
    assert!(lower(Arch::X86_64, &[Filter::Allow].into()).is_err());
}

/// A filter more never lets through what was refused.
#[test]
fn more_filters_refuse_more() {
    let base = Stack::new(Arch::X86_64, &[]).programs;
    let added = FILTERS[2..]
        .iter()
        .map(|more| Stack::new(Arch::X86_64, &[*more]).programs);
    let added: Vec<_> = added
        .chain([Stack::new(Arch::X86_64, &FILTERS[2..]).programs])
        .collect();
    let check = |call: Call| {
        if judge(&base, &call) != Answer::Allow {
            added
                .iter()
                .for_each(|more| assert_ne!(judge(more, &call), Answer::Allow));
        }
        Ok(())
    };
    TestRunner::default()
        .run(&any_call(Arch::X86_64), check)
        .unwrap();
}

/// The programs kept beside the data are what it compiles to.
/// `SUPERVISOR_WRITE=1 cargo test --lib generated` writes them anew.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads and writes files")]
fn the_generated_programs_are_current() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("policy/seccomp");
    for arch in ARCHES {
        let path = folder.join(format!("{arch}.bpf"));
        let text = generate::text(arch);
        if std::env::var_os("SUPERVISOR_WRITE").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{arch}");
    }
}

/// They answer as the programs that seccompiler makes of the whole data.
#[test]
fn a_search_changes_no_answer() {
    for arch in ARCHES {
        let whole = serde_json::to_vec(&generate::whole(arch)).unwrap();
        let long = compile_from_json(whole.as_slice(), arch.target()).unwrap();
        for Program {
            filter,
            instructions,
        } in programs(arch, &FILTERS)
        {
            let long: Vec<_> = long[filter.name()].iter().map(instruction).collect();
            let check = |call: Call| {
                assert_eq!(run(instructions, &call), run(&long, &call));
                Ok(())
            };
            for number in (0..1024).chain([0x4000_0000, 0x4000_0001, u32::MAX]) {
                let audit_arch = audit_arch(arch);
                for args in [[0; 6], [u64::MAX; 6], [1; 6]] {
                    let call = Call {
                        number,
                        audit_arch,
                        args,
                    };
                    check(call).unwrap();
                }
            }
            TestRunner::new(ProptestConfig::with_cases(500))
                .run(&any_call(arch), check)
                .unwrap();
        }
    }
}
