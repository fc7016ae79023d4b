//! Numbers of calls: what no file lists, other ABIs.

use super::*;

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
