//! Programs: what may be one, what it is given, what it gains. A test's name begins with its row.
//! `PATH` is in `cli_programs_path`, version managers and runners are in `cli_programs_managers`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{chown, symlink};
use std::path::Path;
use std::process::Stdio;

use nix::sys::stat::{Mode, SFlag, mknod};
use nix::unistd::mkfifo;
use serde_json::Value;

use crate::judge::{done, printable, refused};
use crate::support::programs::{explained, grants, program};
use crate::support::{TestContext, Who, everybody, is_root, set_mode, stderr, stdout};

#[test]
fn p12_arguments_pass_byte_for_byte_and_are_shown_escaped() {
    for who in everybody() {
        let context = TestContext::new(who);
        let dir = context.make_directory("dir");
        let odd = "new\nline 'single' \"double\" \\ $HOME `id` \u{1b}[31m \t \u{202e}end";
        let script = "printf '%s|' \"$@\" > got";
        let argv = ["/bin/sh", "-c", script, "name", odd, "", "--help", "-e"];
        context.approved("a", &["--dir", dir.to_str().unwrap()], &argv);
        context.host("a").end();
        let got = fs::read_to_string(dir.join("got")).unwrap();
        assert_eq!(got, format!("{odd}||--help|-e|"));
        for command in [&["list"][..], &["get", "a"], &["explain", "a"]] {
            let output = context.run(command);
            done(&output);
        }
        // Part of the approval.
        let again = [
            &["add", "a", "--dir", dir.to_str().unwrap(), "--"][..],
            &argv[..4],
        ]
        .concat();
        done(&context.run(&again));
        refused(&context.run(&["run", "a"]), 126, "not-approved");
        let mut command = context.supervisor(&["add", "b", "--", "/bin/echo"]);
        let output = command.arg(OsStr::from_bytes(b"\xff")).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        printable(&output);
    }
}

#[test]
fn p13_a_set_uid_program_gains_nothing() {
    if !is_root() {
        // Only root makes one; `escape_files` shows `no_new_privs` to everybody.
        return;
    }
    let context = TestContext::ordinary();
    let dir = context.make_directory("set-uid");
    chown(&dir, Some(0), Some(0)).unwrap();
    set_mode(&dir, 0o755);
    let program = dir.join("program");
    fs::copy(TestContext::program("fixture-probe"), &program).unwrap();
    for mode in [0o4755, 0o2755, 0o6755] {
        set_mode(&program, mode);
        context.approved("a", &[], &[program.to_str().unwrap(), "status", "@Uid"]);
        let mut host = context.host("a");
        let verdict = host.message().to_string();
        host.end();
        assert!(
            verdict.contains("54321") && !verdict.contains("\\t0\\t"),
            "{mode:o} {verdict}"
        );
    }
}

#[test]
fn p14_what_is_no_program_is_refused_without_a_wait() {
    for who in everybody() {
        let context = TestContext::new(who);
        context.make_directory("directory");
        mkfifo(&context.path("fifo"), Mode::S_IRWXU).unwrap();
        let plain = context.make_file("plain", "#!/bin/sh\n");
        set_mode(&plain, 0o644);
        program(&context, "text", "no program at all\n");
        program(&context, "empty", "");
        program(&context, "half", "\u{7f}ELF");
        program(&context, "gone-interpreter", "#!/nonexistent/interpreter\n");
        program(&context, "relative-interpreter", "#!bin/sh\n");
        // The head of a program for another architecture (e_machine 0x2a, SuperH).
        let mut other = fs::read("/bin/true").unwrap();
        other[18] = 0x2a;
        fs::write(context.path("other"), &other).unwrap();
        set_mode(&context.path("other"), 0o755);
        symlink("circle", context.path("circle")).unwrap();
        let mut names = vec![
            "directory",
            "fifo",
            "plain",
            "text",
            "empty",
            "half",
            "gone-interpreter",
            "relative-interpreter",
            "other",
            "circle",
        ];
        if is_root() {
            let device = nix::sys::stat::makedev(1, 3);
            mknod(
                &context.path("device"),
                SFlag::S_IFCHR,
                Mode::S_IRWXU,
                device,
            )
            .unwrap();
            names.push("device");
        }
        for name in names {
            let path = context.path(name);
            let add = context.run(&["add", "a", "--", path.to_str().unwrap()]);
            printable(&add);
            assert!(
                matches!(add.status.code(), Some(126 | 127)),
                "{name}: {:?} {}",
                add.status,
                stderr(&add) + &stdout(&add)
            );
            let named = name
                .trim_start_matches("gone-")
                .trim_start_matches("relative-");
            assert!(stderr(&add).contains(named), "{name}: {}", stderr(&add));
        }
        // One that is not there is declared all the same, and said.
        let gone = context.path("gone");
        let add = context.run(&["add", "a", "--", gone.to_str().unwrap()]);
        done(&add);
        assert_eq!(context.run(&["run", "a"]).status.code(), Some(127));
    }
}

#[test]
fn p14_a_program_on_a_file_system_that_executes_nothing() {
    if !is_root() {
        return;
    }
    let context = TestContext::new(Who::Root);
    let mounted = context.make_directory("mounted");
    let script = "mount -t tmpfs -o noexec none \"$AT\" && cp /bin/true \"$AT/program\" && \
        \"$0\" add a -- \"$AT/program\"; echo \"code $?\"";
    let mut command = context.with_mounts(script);
    command.env("AT", &mounted);
    let output = command.output().unwrap();
    assert!(
        stdout(&output).contains("code 126"),
        "{} {}",
        stdout(&output),
        stderr(&output)
    );
}

#[test]
fn p15_no_installation_grants_more_than_reading() {
    for who in everybody() {
        let context = TestContext::new(who);
        context.approved("a", &[], &["/usr/bin/env", "true"]);
        let explained = explained(&context, "/usr/bin:/bin", "a");
        let state = context.path("home/.supervisor");
        for (path, rights) in grants(&explained) {
            assert_ne!(path, "/");
            assert!(
                rights != "write" || Path::new(&path).starts_with(&state),
                "{path} {rights}"
            );
        }
    }
}

#[test]
fn p16_a_relative_program_is_resolved_when_it_is_declared() {
    let context = TestContext::ordinary();
    let dir = context.make_directory("dir");
    program(&context, "work/server", "#!/bin/sh\necho first > got\n");
    context.approved("a", &["--dir", dir.to_str().unwrap()], &["./server"]);
    let text = fs::read_to_string(context.path("home/.supervisor/mcp.json")).unwrap();
    let absolute = context.path("work/server");
    assert!(text.contains(absolute.to_str().unwrap()), "{text}");
    let elsewhere = context.make_directory("elsewhere");
    program(
        &context,
        "elsewhere/server",
        "#!/bin/sh\necho second > got\n",
    );
    let mut command = context.supervisor(&["run", "a"]);
    done(&command.current_dir(elsewhere).output().unwrap());
    assert_eq!(fs::read_to_string(dir.join("got")).unwrap(), "first\n");
    // Written by hand, it is refused.
    let edited = text.replace(absolute.to_str().unwrap(), "./server");
    fs::write(context.path("home/.supervisor/mcp.json"), edited).unwrap();
    refused(&context.run(&["run", "a"]), 126, "entry-unusable");
}

#[test]
fn a_program_that_is_installed_anew_is_read_by_one_start() {
    let context = TestContext::ordinary();
    context.make_directory("programs");
    let (at, new) = (context.path("programs/cat"), context.path("programs/new"));
    let install = |bytes: &[u8]| {
        fs::copy("/bin/cat", &new).unwrap();
        fs::write(&new, bytes).unwrap();
        fs::rename(&new, &at).unwrap();
    };
    let bytes = fs::read("/bin/cat").unwrap();
    install(&bytes);
    context.approved("again", &[], &[at.to_str().unwrap()]);
    let kept = context.path("home/.supervisor/content");
    let run = || {
        let receipt = context.path("work/receipt");
        let words = ["run", "again", "--receipt", receipt.to_str().unwrap()];
        let output = context.supervisor(&words).stdin(Stdio::null()).output();
        let output = output.unwrap();
        done(&output);
        let said: Value = serde_json::from_slice(&fs::read(&receipt).unwrap()).unwrap();
        (said["program"]["sha256"].clone(), stderr(&output))
    };
    let approved = run();
    assert!(!kept.exists(), "the approval says all");
    install(&bytes);
    // Kept only of a file that is at rest: what is written at once again might show no other time.
    std::thread::sleep(std::time::Duration::from_millis(2_200));
    assert_eq!(run(), approved);
    let file = fs::read_dir(&kept).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&file).unwrap();
    // The next start goes by what stands there, and so has not read the program.
    let other = "0".repeat(64);
    fs::write(&file, text.replace(approved.0.as_str().unwrap(), &other)).unwrap();
    let (sha256, said) = run();
    assert_eq!(sha256, Value::from(other));
    assert!(said.contains("is not the file that"), "{said}");
    // Another file is read.
    install(&bytes);
    assert_eq!(run(), approved);
    install(&[bytes.as_slice(), b"x"].concat());
    let (sha256, said) = run();
    assert_ne!(sha256, approved.0);
    assert!(said.contains("is not the file that"), "{said}");
    fs::write(&file, "{}").unwrap();
    let output = context.supervisor(&["run", "again"]).output().unwrap();
    refused(&output, 126, "record-unreadable");
}
