//! Attacks on variables, descriptors and the state a process starts in: promises E1 to E3, S2, S4.

use std::fs::{self, File};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::unistd::geteuid;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use crate::attack::Attack;
use crate::support::{Host, TestContext, everybody, stderr, stdout};

#[test]
fn e1_sees_no_variable_of_the_caller() {
    for who in everybody() {
        let context = TestContext::new(who);
        Attack::new(&context, &["variable", "CALLER_SECRET"])
            .variable("CALLER_SECRET", "x")
            .is_held();
        Attack::new(&context, &["environment-of-parent"])
            .variable("CALLER_SECRET", "x")
            .is_stopped();
    }
}

#[test]
fn e1_has_the_variables_named_and_no_other() {
    let context = TestContext::ordinary();
    let said = Attack::new(&context, &["variables"])
        .with(&["-e", "STORED=1", "-e", "PASSED", "-e", "ABSENT"])
        .variable("PASSED", "2")
        .variable("OTHER", "3")
        .confined();
    let mut names: Vec<&str> = said.detail.split(' ').collect();
    names.sort_unstable();
    assert_eq!(names, ["HOME", "PASSED", "STORED", "TMPDIR"]);
}

#[test]
fn e2_inherits_no_descriptor() {
    for who in everybody() {
        let context = TestContext::new(who);
        let key = context.make_file("home/key", "secret");
        let home = File::open(context.path("home")).unwrap();
        let open = File::open(&key).unwrap();
        for held in [&home, &open] {
            fcntl(held, FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
        }
        Attack::new(&context, &["descriptors"]).is_held();
        let number = home.as_raw_fd().to_string();
        Attack::new(&context, &["through-descriptor", &number, "key"]).is_held();
    }
}

#[test]
fn e3_starts_clean() {
    for who in everybody() {
        let context = TestContext::new(who);
        Attack::new(&context, &["status", "SigBlk"]).is_stopped();
        Attack::new(&context, &["ignores", "10"])
            .after("trap '' USR1")
            .is_held();
        Attack::new(&context, &["ignores", "1"])
            .after("trap '' HUP")
            .is_held();
        Attack::new(&context, &["session-is-foreign"]).is_held();
        Attack::new(&context, &["umask-is-open"]).is_held();
        Attack::new(&context, &["terminal"]).is_stopped();
    }
}

/// What callers were seen to leave: children that nobody waits for, few descriptors.
const STATES: [&str; 2] = ["trap '' CHLD", "ulimit -Sn 64"];

#[test]
fn e3_what_the_caller_ignores_or_is_held_to_keeps_no_server_from_its_end() {
    let context = TestContext::ordinary();
    let file = context.make_file("home/receipt.json", "");
    let supervisor = TestContext::program("supervisor");
    context.approved("s", &[], &["/bin/sh", "-c", "read x; exit 7"]);
    for state in STATES {
        // Forked and executed: with a descriptor of the caller's the shim is executed.
        for line in ["run s", "run s --receipt-fd 9 9>\"$RECEIPT\""] {
            let mut command = context.command("/bin/sh");
            command
                .args(["-c", &format!("{state}; exec {supervisor} {line}")])
                .env("RECEIPT", &file);
            let mut host = Host::start(command);
            host.write(b"{}\n");
            let (code, words) = host.end();
            assert_eq!(code, 7, "{state}, {line}: {words}");
        }
    }
}

#[test]
fn e3_what_the_caller_ignores_keeps_no_command_from_its_end() {
    let context = TestContext::ordinary();
    let supervisor = TestContext::program("supervisor");
    let server = TestContext::program("fixture-server");
    context.approved("s", &[], &[&server, "echo"]);
    for state in STATES {
        for line in ["explain s", "prepare s", "why s", "tools s"] {
            let mut command = context.command("/bin/sh");
            command.args(["-c", &format!("{state}; exec {supervisor} {line}")]);
            let output = command.output().unwrap();
            assert!(
                output.status.success(),
                "{state}, {line}: {}",
                stderr(&output)
            );
        }
        let mut command = context.command("/bin/sh");
        let approve = format!("{state}; exec {supervisor} approve s --surface");
        command.args(["-c", &approve]);
        let (code, screen) = context.terminal(command, "y");
        assert_eq!(code, 0, "{state}: {screen}");
    }
}

#[test]
fn s2_a_loader_variable_does_not_act_before_the_confinement() {
    let context = TestContext::ordinary();
    // A library that cannot be loaded makes the loader speak: on the shim's behalf it would do
    // so before anything is confined, on the server's only after.
    let library = context.path("outside/absent.so");
    let pair = format!("LD_PRELOAD={}", library.display());
    let attack = Attack::new(&context, &["status", "NoNewPrivs"]).with(&[
        "--allow",
        "loader-env",
        "-e",
        &pair,
    ]);
    let said = attack.confined();
    assert_eq!(said.detail, "1");
    let mut host = context.host("probe");
    host.message();
    let (_, words) = host.end();
    let complaints = words.matches("absent.so").count();
    assert_eq!(complaints, 1, "the loader of the server alone: {words}");
    assert!(
        words
            .lines()
            .filter(|line| line.contains("absent.so"))
            .all(|line| line.starts_with("[probe]")),
        "{words}"
    );
}

#[test]
fn s2_what_confines_holds_nothing_of_the_callers() {
    for who in everybody() {
        let context = TestContext::new(who);
        let program = TestContext::program("fixture-server");
        let line = ["add", "s", "--no-inspect", "--", &program, "echo"];
        assert_eq!(context.at_terminal(&line, "y").0, 0);
        let secret = "of-the-caller-1f6b";
        let mut command = context.supervisor(&["run", "s"]);
        command.env("CALLER_SECRET", secret);
        let mut host = Host::start(command);
        host.initialize();
        // Root reads them; nobody else may, for they are not dumpable.
        let readable = geteuid().is_root();
        assert_eq!(holds(host.id(), secret), readable, "the supervisor has it");
        let confine = below(host.id());
        assert_eq!(confine.len(), WAITING, "{confine:?}");
        for process in confine {
            assert!(!holds(process, secret), "{process}");
            let environment = fs::read(format!("/proc/{process}/environ"));
            assert_eq!(environment.is_ok(), readable);
            assert!(
                environment
                    .unwrap_or_default()
                    .iter()
                    .all(|byte| *byte == 0)
            );
        }
        host.end();
    }
}

#[test]
fn s2_what_confines_is_forked_of_a_static_program_alone() {
    let context = TestContext::ordinary();
    let program = TestContext::program("fixture-server");
    context.approved("s", &[], &[&program, "echo"]);
    let mut host = context.host("s");
    host.initialize();
    let confine = below(host.id());
    let line = fs::read(format!("/proc/{}/cmdline", confine[0])).unwrap();
    let executed = line
        .split(|byte| *byte == 0)
        .any(|word| word == b"__confine");
    let loaded = names_a_loader(&fs::read(TestContext::program("supervisor")).unwrap());
    assert_eq!(executed, loaded);
    let claimed = cfg!(any(linked_static, target_feature = "crt-static"));
    assert_eq!(loaded, !claimed, "linked otherwise than the build says");
    host.end();
}

#[test]
fn s2_what_confines_is_executed_where_it_cannot_forget() {
    for who in everybody() {
        let context = TestContext::new(who);
        let program = TestContext::program("fixture-server");
        context.approved("s", &[], &[&program, "echo"]);
        let mut command = context.command(&TestContext::program("fixture-probe"));
        command.args(["without-memory", &TestContext::program("supervisor")]);
        command.args(["run", "s"]);
        let mut host = Host::start(command);
        host.initialize();
        let confine = below(host.id());
        assert_eq!(confine.len(), WAITING, "{confine:?}");
        let line = fs::read(format!("/proc/{}/cmdline", confine[0])).unwrap();
        assert!(
            line.split(|byte| *byte == 0)
                .any(|word| word == b"__confine")
        );
        let (code, words) = host.end();
        assert_eq!(code, 0, "{words}");
    }
}

/// Whether a program of 64 bits has a segment `PT_INTERP` (`elf(5)`).
fn names_a_loader(elf: &[u8]) -> bool {
    let number = |at: usize, length: usize| {
        let bytes = elf[at..at + length].iter().rev();
        bytes.fold(0, |sum, byte| sum << 8 | usize::from(*byte))
    };
    let (start, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    assert_eq!(elf[..5], *b"\x7fELF\x02");
    (0..count).any(|segment| number(start + segment * size, 4) == 3)
}

/// Processes of ours that wait beside a server.
const WAITING: usize = 1;

/// The processes below one that confine.
fn below(process: u32) -> Vec<u32> {
    let children = format!("/proc/{process}/task/{process}/children");
    let children = fs::read_to_string(children).unwrap_or_default();
    let children = children.split_whitespace().map(|id| id.parse().unwrap());
    children
        .flat_map(|child| {
            let name = fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default();
            let own = (name == "__confine\n").then_some(child);
            own.into_iter().chain(below(child))
        })
        .collect()
}

/// Whether a text stands in what can be read of a process's memory.
fn holds(process: u32, text: &str) -> bool {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    let memory = File::open(format!("/proc/{process}/mem"));
    maps.lines().any(|line| {
        let (range, rest) = line.split_once(' ').unwrap();
        let (start, end) = range.split_once('-').unwrap();
        let number = |digits| u64::from_str_radix(digits, 16).unwrap();
        let mut bytes = vec![0; usize::try_from(number(end) - number(start)).unwrap()];
        let read = memory.as_ref().is_ok_and(|memory| {
            rest.starts_with("rw") && memory.read_exact_at(&mut bytes, number(start)).is_ok()
        });
        read && bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    })
}

#[test]
fn s4_a_stored_value_shows_nowhere() {
    let context = TestContext::ordinary();
    let secret = "sk-4815162342";
    let pair = format!("TOKEN={secret}");
    let program = TestContext::program("fixture-server");
    let (code, screen) = context.at_terminal(
        &[
            "add",
            "s",
            "-e",
            &pair,
            "--no-inspect",
            "--",
            &program,
            "echo",
        ],
        "y",
    );
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains(secret), "{screen}");
    for words in [
        &["list"][..],
        &["list", "--json"],
        &["explain", "s"],
        &["explain", "s", "--json"],
        &["remove", "absent"],
    ] {
        let output = context.run(words);
        assert!(!stdout(&output).contains(secret), "{words:?}");
        assert!(!stderr(&output).contains(secret), "{words:?}");
    }
    let mut host = context.host("s");
    host.initialize();
    let of = |pid: u32, file: &str| {
        fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default()
    };
    assert!(!of(host.id(), "cmdline").contains(secret));
    assert!(!of(host.id(), "environ").contains(secret));
    let (_, words) = host.end();
    assert!(!words.contains(secret), "{words}");
    let state = context.path("home/.supervisor");
    for entry in fs::read_dir(state.join("approvals")).unwrap() {
        assert!(
            !fs::read_to_string(entry.unwrap().path())
                .unwrap()
                .contains(secret)
        );
    }
}
