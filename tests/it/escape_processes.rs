//! Attacks on other processes, and processes that would stay: promises R1, R2.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use nix::sys::ptrace;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::attack::{Attack, Victim, at};
use crate::support::{TestContext, everybody};

#[test]
fn r1_signals_nobody_outside() {
    for who in everybody() {
        let context = TestContext::new(who);
        let victim = Victim::new(&context);
        Attack::new(&context, &["signal", &victim.id()]).is_held();
    }
}

#[test]
fn r1_traces_and_reads_nobody_outside() {
    for who in everybody() {
        let context = TestContext::new(who);
        let victim = Victim::new(&context);
        for words in [
            ["trace", &victim.id()],
            ["memory-of", &victim.id()],
            ["environment-of", &victim.id()],
        ] {
            Attack::new(&context, &words).is_held();
        }
    }
}

#[test]
fn r1_reads_nothing_of_the_supervisor() {
    for who in everybody() {
        let context = TestContext::new(who);
        Attack::new(&context, &["environment-of-parent"])
            .variable("CALLER_SECRET", "x")
            .is_stopped();
        Attack::new(&context, &["trace", &std::process::id().to_string()]).is_stopped();
    }
}

/// Whether a process is there and no zombie.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

/// Waits for something; a generous bound, for a loaded machine.
fn comes_true(fact: impl Fn() -> bool) -> bool {
    (0..300).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        fact()
    })
}

/// The processes that have a word on their command line, whatever namespace they are in.
fn with_word(word: &str) -> Vec<String> {
    let numbered = |entry: fs::DirEntry| {
        entry
            .file_name()
            .into_string()
            .ok()
            .filter(|pid| pid.parse::<u32>().is_ok())
    };
    let has = |pid: &String| {
        let line = fs::read(Path::new("/proc").join(pid).join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .any(|part| part == word.as_bytes())
    };
    let entries = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| numbered(entry.ok()?));
    entries.filter(has).filter(|pid| runs(pid)).collect()
}

#[test]
fn r2_a_daemon_ends_with_the_run() {
    for who in everybody() {
        let context = TestContext::new(who);
        let dir = context.make_directory("dir");
        let file = dir.join("daemon");
        let attack = Attack::new(&context, &["daemon", &at(&file)]);

        let daemons = || with_word(file.to_str().unwrap());

        attack.alone();
        let alone = daemons();
        assert_eq!(alone.len(), 1, "a daemon outlives the server alone");
        for pid in alone {
            let pid = Pid::from_raw(pid.parse().unwrap());
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
        }
        assert!(comes_true(|| daemons().is_empty()));

        let confined = attack.with(&["--dir", dir.to_str().unwrap()]).confined();
        assert!(confined.got, "{}", confined.detail);
        assert!(
            comes_true(|| daemons().is_empty()),
            "the daemon outlived the run"
        );
    }
}

/// Starts that are killed.
const KILLED: u64 = 300;

/// A start has many processes on its way to a server, each of which is bound to the supervisor by
/// other means: whenever that is killed, none of them stays, nor does a server.
#[test]
fn r2_nothing_stays_of_a_start_that_is_killed() {
    for who in everybody() {
        let context = TestContext::new(who);
        // On the command line of what confines, which was forked, and of the server.
        let alias = format!("killed-{}-{who:?}", std::process::id()).to_lowercase();
        let program = TestContext::program("fixture-server");
        context.approved(&alias, &[], &[&program, "ignore-eof", &alias]);
        for number in 0..KILLED {
            let mut command = context.supervisor(&["run", &alias]);
            let nothing = Stdio::null;
            command
                .stdin(Stdio::piped())
                .stdout(nothing())
                .stderr(nothing());
            let mut child = command.spawn().unwrap();
            // Between nothing and longer than a start takes, in no order.
            thread::sleep(Duration::from_micros(
                number * 37 % KILLED * 20_000 / KILLED,
            ));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let gone = comes_true(|| with_word(&alias).is_empty());
        assert!(gone, "left: {:?}", with_word(&alias));
    }
}

#[test]
fn r2_the_server_ends_with_a_killed_supervisor() {
    for who in everybody() {
        let context = TestContext::new(who);
        context.approved(
            "mute",
            &[],
            &[&TestContext::program("fixture-server"), "ignore-eof"],
        );
        let mut host = context.host("mute");
        let supervisor = host.id();
        let children = format!("/proc/{supervisor}/task/{supervisor}/children");
        let server = loop {
            let text = fs::read_to_string(&children).unwrap();
            if let Some(pid) = text.split_whitespace().next() {
                break pid.to_owned();
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        host.kill();
        assert!(
            comes_true(|| !runs(&server)),
            "the server outlived a killed supervisor"
        );
    }
}

/// The last of a line of processes that each have one child, once its command line has a word.
fn last_of_line(first: u32, word: &str) -> Pid {
    loop {
        let mut last = first.to_string();
        while let Ok(children) = fs::read_to_string(format!("/proc/{last}/task/{last}/children"))
            && let Some(child) = children.split_whitespace().next()
        {
            last = child.to_owned();
        }
        if with_word(word).contains(&last) {
            return Pid::from_raw(last.parse().unwrap());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A killed server whose end somebody holds up, as a busy machine does: a tracer.
#[test]
fn r2_a_server_that_is_long_in_ending_is_waited_for() {
    for who in everybody() {
        let context = TestContext::new(who);
        let server = TestContext::program("fixture-server");
        context.approved("mute", &[], &[&server, "ignore-eof"]);
        let mut host = context.host("mute");
        let supervisor = host.id().to_string();
        let server = last_of_line(host.id(), "ignore-eof");
        ptrace::seize(server, ptrace::Options::empty()).unwrap();
        host.close();
        assert!(comes_true(|| !runs(&server.to_string())), "it is killed");
        // Longer than the relay itself gives it.
        std::thread::sleep(Duration::from_secs(2));
        assert!(runs(&supervisor), "the supervisor left what it was to end");
        // Its stops at signals are told first.
        while !matches!(waitpid(server, None), Ok(WaitStatus::Signaled(..))) {}
        let (_, said) = host.wait();
        assert!(!said.contains("R2"), "{said}");
        assert!(!Path::new("/proc").join(server.to_string()).exists());
    }
}

#[test]
fn r1_reads_no_command_line_outside() {
    for who in everybody() {
        let context = TestContext::new(who);
        let victim = Victim::new(&context);
        let attack = Attack::new(&context, &["name-of", &victim.id()]);
        assert!(attack.alone().detail.contains("stay"));
        // The number may be another process's of its own.
        assert!(!attack.claims("R1") || !attack.confined().detail.contains("stay"));
    }
}

#[test]
fn r2_a_daemon_ends_with_a_killed_supervisor() {
    for who in everybody() {
        let context = TestContext::new(who);
        let dir = context.make_directory("dir");
        let file = dir.join("daemon");
        let attack =
            Attack::new(&context, &["daemon", &at(&file)]).with(&["--dir", dir.to_str().unwrap()]);
        if !attack.claims("R2") {
            continue;
        }
        let mut host = context.host("probe");
        host.message();
        let daemons = || with_word(file.to_str().unwrap());
        assert!(
            comes_true(|| !daemons().is_empty()),
            "there is a daemon to end"
        );
        host.kill();
        assert!(
            comes_true(|| daemons().is_empty()),
            "the daemon outlived a killed supervisor"
        );
    }
}
