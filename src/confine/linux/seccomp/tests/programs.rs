//! What holds of every program: the kernel agrees, more filters refuse more, none is stale.

use super::*;

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

/// The numbers of the calls that a filter judges by their arguments, each with what is compared there and
/// what lies beside that.
fn judged_by_arguments(arch: Arch, filter: Filter) -> BTreeMap<u32, BTreeSet<u64>> {
    let mut judged: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
    let data = data(arch);
    for entry in filter.parts().iter().flat_map(|part| &data[*part].filter) {
        for arg in &entry.args {
            let values = judged.entry(number(arch, &entry.syscall).unwrap());
            let beside = [arg.val, arg.val ^ 1, arg.val + 1, arg.val | HIGH];
            values.or_default().extend(beside);
        }
    }
    judged
}

/// Every program beside the one that seccompiler makes of the same data whole.
fn beside_the_long_ones() -> Vec<(Arch, Program, Vec<Instruction>)> {
    let of = |arch: Arch| {
        let whole = serde_json::to_vec(&generate::whole(arch)).unwrap();
        let long = compile_from_json(whole.as_slice(), arch.target()).unwrap();
        let beside = move |program: Program| {
            let long = long[program.filter.name()].iter().map(instruction);
            let long = long.collect();
            (arch, program, long)
        };
        programs(arch, &FILTERS).into_iter().map(beside)
    };
    ARCHES.into_iter().flat_map(of).collect()
}

#[test]
fn shortened_programs_answer_as_the_long_ones() {
    for (arch, program, long) in beside_the_long_ones() {
        for (number, values) in judged_by_arguments(arch, program.filter) {
            let values: Vec<u64> = values.into_iter().chain([0]).collect();
            // A third one decides only of calls with few values.
            let few = if values.len() > 40 { 1 } else { values.len() };
            for first in &values {
                for second in &values {
                    for third in &values[..few] {
                        let call = Call {
                            number,
                            audit_arch: audit_arch(arch),
                            args: [*first, *second, *third, *first, 0, *second],
                        };
                        let answer = run(program.instructions, &call);
                        assert_eq!(answer, run(&long, &call), "{call:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_search_changes_no_answer() {
    for (arch, program, long) in beside_the_long_ones() {
        let check = |call: Call| {
            assert_eq!(run(program.instructions, &call), run(&long, &call));
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
