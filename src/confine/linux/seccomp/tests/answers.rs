//! What the filters answer to the calls of servers and of attacks.

use super::*;

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
