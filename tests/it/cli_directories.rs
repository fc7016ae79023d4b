//! `--dir` and what may be granted. A test's name begins with its row. Repositories are in
//! `cli_directories_git`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::thread;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::judge::{Over, done, printable, refused, refuses};
use crate::support::directories::{declare, refused_at_add, repository};
use crate::support::{TestContext, Who, everybody, is_root, set_mode, stderr, stdout};

#[test]
fn d7_places_that_others_may_replace() {
    let context = TestContext::ordinary();
    let open = context.make_directory("open");
    for mode in [0o777, 0o707, 0o702] {
        set_mode(&open, mode);
        let state = open.join("state");
        let mut command = context.supervisor(&["add", "a", "--", "/bin/true"]);
        let output = command.env("SUPERVISOR_HOME", &state).output().unwrap();
        refused(&output, 126, "state-parent");
        assert!(
            stderr(&output).contains("chmod go-w"),
            "{}",
            stderr(&output)
        );
        assert!(!state.exists());
    }
    set_mode(&open, 0o1777);
    let mut command = context.supervisor(&["add", "a", "--", "/bin/true"]);
    done(
        &command
            .env("SUPERVISOR_HOME", open.join("state"))
            .output()
            .unwrap(),
    );
    set_mode(&open, 0o777);
    let mut command = context.supervisor(&["run", "a"]);
    let output = command
        .env("SUPERVISOR_HOME", open.join("state"))
        .output()
        .unwrap();
    refused(&output, 126, "state-parent");
    // Such a parent is not passed over when repositories are looked for.
    context.make_directory("open/dir");
    repository(&context, "open/.git");
    refused_at_add(&context, "open/dir", "dir-refused");
}

#[test]
fn d7_places_below_another_users_directory() {
    if !is_root() {
        // Only root gives directories away.
        return;
    }
    for who in everybody() {
        let context = TestContext::new(who);
        let foreign = context.make_directory("foreign");
        std::os::unix::fs::chown(&foreign, Some(54_322), Some(54_322)).unwrap();
        set_mode(&foreign, 0o777 | 0o1000);
        let mut command = context.supervisor(&["add", "a", "--", "/bin/true"]);
        let output = command
            .env("SUPERVISOR_HOME", foreign.join("state"))
            .output()
            .unwrap();
        refused(&output, 126, "state-parent");
        assert!(!foreign.join("state").exists());
    }
}

#[test]
fn d8_a_parent_that_cannot_be_read() {
    // As an ordinary user: root reads everything.
    let context = TestContext::ordinary();
    let parent = context.make_directory("parent");
    context.make_directory("parent/dir/below");
    for mode in [0o300, 0o400, 0o000] {
        set_mode(&parent, mode);
        let words = ["add", "a", "--dir", "../parent/dir", "--", "/bin/true"];
        refuses(&context, &words, 126, "dir-refused");
    }
    set_mode(&parent, 0o700);
    set_mode(&context.path("parent/dir/below"), 0o300);
    refused_at_add(&context, "parent/dir", "dir-refused");
    set_mode(&context.path("parent/dir/below"), 0o700);
    done(&declare(&context, &context.path("parent/dir")));
}

#[test]
fn d9_odd_names_work_and_are_shown_in_one_line() {
    let context = TestContext::ordinary();
    let names: &[&[u8]] = &[
        b"with space",
        b"it's",
        b"\"quoted\"",
        b"-dash",
        b"%s%n",
        b"a\\b",
        b"$(id)",
        b"`id`",
        b"new\nline: injected",
        b"tab\there",
        b"\x1b[31mred",
        b"bell\x07",
        "bidi\u{202e}".as_bytes(),
        b"\xff\xfe",
    ];
    for name in names {
        let name = OsStr::from_bytes(name);
        let dir = context.make_directory("odd").join(name);
        fs::create_dir(&dir).unwrap();
        context.own(&dir);
        let mut command = context.supervisor(&["add", "a", "--dir"]);
        command
            .arg(&dir)
            .args(["--", "/bin/sh", "-c", "echo x > written"]);
        let output = command.output().unwrap();
        printable(&output);
        let said = stdout(&output) + &stderr(&output);
        assert!(
            !said.lines().any(|line| line.starts_with("line: injected")),
            "{said}"
        );
        if !output.status.success() {
            assert!(name.to_str().is_none(), "{name:?}: {said}");
            continue;
        }
        for command in ["list", "get", "explain"] {
            let words = if command == "list" {
                vec![command]
            } else {
                vec![command, "a"]
            };
            let output = context.run(&words);
            printable(&output);
            let said = stdout(&output);
            assert!(
                !said
                    .lines()
                    .any(|line| line.trim_start().starts_with("line: injected")),
                "{said}"
            );
        }
        let words = ["--dir", dir.to_str().unwrap()];
        context.approved("a", &words, &["/bin/sh", "-c", "echo x > written"]);
        context.host("a").end();
        assert!(dir.join("written").exists(), "{name:?}");
    }
}

#[test]
fn d19_places_that_are_promised_to_be_hidden_or_read_only() {
    for who in everybody() {
        let context = TestContext::new(who);
        context.make_directory("home/.ssh");
        context.make_directory("home/project/.vscode");
        let home = context.path("home");
        let mut dirs: Vec<String> = [
            "/",
            "/home",
            "/tmp",
            "/etc",
            "/usr",
            "/usr/bin",
            "/proc",
            "/proc/self",
            "/dev",
            "/dev/shm",
            "/sys",
            "/var/lib",
            "/boot",
            "/run",
        ]
        .into_iter()
        .filter(|dir| Path::new(dir).is_dir())
        .map(str::to_owned)
        .collect();
        for path in [".", "..", ".ssh", "project/.vscode"] {
            dirs.push(home.join(path).to_str().unwrap().to_owned());
        }
        for dir in &dirs {
            refuses(
                &context,
                &["add", "a", "--dir", dir, "--", "/bin/true"],
                126,
                "dir-refused",
            );
        }
        // A directory of PATH, what lies above it, and the installation of the program.
        let bin = context.make_directory("tools/bin");
        fs::copy("/bin/true", bin.join("tool")).unwrap();
        for (dir, code) in [("tools/bin", "dir-refused"), ("tools", "program-writable")] {
            let mut command = context.supervisor(&["add", "a", "--dir"]);
            command.arg(context.path(dir)).args(["--", "tool"]);
            let output = command.env("PATH", &bin).output().unwrap();
            refused(&output, 126, code);
        }
        let tool = bin.join("tool");
        let words = [
            "add",
            "a",
            "--dir",
            bin.to_str().unwrap(),
            "--",
            tool.to_str().unwrap(),
        ];
        refuses(&context, &words, 126, "dir-refused");
    }
}

#[test]
fn d19_s11_the_state_directory_and_what_lies_above_it() {
    for who in everybody() {
        let context = TestContext::new(who);
        let above = context.make_directory("places/above");
        let state = above.join("state");
        let with_state = |words: &[&str]| {
            let mut command = context.supervisor(words);
            command.env("SUPERVISOR_HOME", &state).output().unwrap()
        };
        let add = |dir: &Path| {
            with_state(&[
                "add",
                "a",
                "--dir",
                dir.to_str().unwrap(),
                "--",
                "/bin/true",
            ])
        };
        refused(&add(&above), 126, "dir-refused");
        refused(&add(above.parent().unwrap()), 126, "dir-refused");
        done(&with_state(&["add", "b", "--", "/bin/true"]));
        fs::create_dir(state.join("inner")).unwrap();
        refused(&add(&state), 126, "dir-refused");
        refused(&add(&state.join("inner")), 126, "dir-refused");
        // At a start too: declared while the state was elsewhere.
        let dir = above.to_str().unwrap();
        context.approved("c", &["--dir", dir], &["/bin/true"]);
        fs::remove_dir_all(&state).unwrap();
        fs::rename(context.path("home/.supervisor"), &state).unwrap();
        refused(&with_state(&["run", "c"]), 126, "dir-refused");
    }
}

#[test]
fn d20_grants_that_overlap() {
    for who in everybody() {
        let context = TestContext::new(who);
        let data = context.make_directory("data");
        let out = context.make_directory("data/out");
        context.make_file("data/kept", "kept");
        let script = format!(
            "echo x > {0}/out/written; echo x > {0}/kept; echo x > {0}/new; cat {0}/kept > {0}/out/read",
            data.display()
        );
        let words = [
            "--dir",
            out.to_str().unwrap(),
            "--read",
            data.to_str().unwrap(),
        ];
        context.approved("a", &words, &["/bin/sh", "-c", &script]);
        context.host("a").end();
        assert_eq!(fs::read_to_string(data.join("kept")).unwrap(), "kept");
        assert!(!data.join("new").exists());
        assert!(out.join("written").exists());
        assert_eq!(fs::read_to_string(out.join("read")).unwrap(), "kept");
    }
}

#[test]
fn d21_what_is_no_directory() {
    let context = TestContext::ordinary();
    context.make_file("file", "");
    mkfifo(&context.path("fifo"), Mode::S_IRWXU).unwrap();
    symlink("nowhere", context.path("dangling")).unwrap();
    for dir in ["gone", "file", "fifo", "file/below", "dangling"] {
        refused_at_add(&context, dir, "dir-unusable");
    }
    symlink("circle", context.path("circle")).unwrap();
    refused_at_add(&context, "circle", "dir-refused");
}

/// Swaps `--dir` for a link to another directory while servers start: what is written is written
/// in the directory that was checked, or the start is refused.
#[test]
fn d21_a_directory_swapped_between_check_and_start() {
    for who in everybody() {
        let context = TestContext::new(who);
        let dir = context.make_directory("swap/dir");
        let other = context.make_directory("other");
        let script = format!(
            "echo x > here; echo x > {}/there; mkdir made",
            dir.display()
        );
        context.approved(
            "a",
            &["--dir", dir.to_str().unwrap()],
            &["/bin/sh", "-c", &script],
        );
        let (away, stop) = (context.path("swap/away"), Over::default());
        let (mut started, mut refusals) = (0, 0);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut turn = 0_u64;
                while !stop.is() {
                    turn += 1;
                    fs::rename(&dir, &away).unwrap();
                    symlink(&other, &dir).unwrap();
                    thread::sleep(std::time::Duration::from_micros(turn * 37 % 900));
                    fs::remove_file(&dir).unwrap();
                    fs::rename(&away, &dir).unwrap();
                    thread::sleep(std::time::Duration::from_micros(500 + turn * 53 % 5_000));
                }
            });
            let _ends = stop.with_this();
            for _ in 0..120 {
                let (code, said) = context.host("a").end();
                match code {
                    125 | 126 => refusals += 1,
                    _ => started += 1,
                }
                assert_eq!(fs::read_dir(&other).unwrap().count(), 0, "{said}");
            }
        });
        assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
        assert!(
            dir.join("here").exists(),
            "no start wrote in its own directory"
        );
        assert!(started > 0, "{refusals} refused, and none started");
    }
}

#[test]
fn d22_a_working_directory_that_is_gone_or_closed() {
    for who in everybody() {
        let context = TestContext::new(who);
        context.approved("a", &[], &["/bin/true"]);
        let program = TestContext::program("supervisor");
        for prepare in [
            "mkdir gone && cd gone && rmdir ../gone",
            "d=$(mktemp -d -p .) && cd $d && chmod 000 .",
        ] {
            for (words, codes) in [
                ("list", vec![0]),
                ("get a", vec![0]),
                ("explain a", vec![0]),
                ("run a", vec![0, 125]),
                ("add b -- /bin/true", vec![0]),
                (
                    "add c --dir . -- /bin/true",
                    if who == Who::Root {
                        vec![0, 126]
                    } else {
                        vec![126]
                    },
                ),
                ("add d -- ./server", vec![0, 126, 127]),
            ] {
                let mut command = context.command("/bin/sh");
                command.args(["-c", &format!("{prepare} && exec {program} {words}")]);
                let output = command.output().unwrap();
                let code = output.status.code().unwrap();
                assert!(
                    codes.contains(&code),
                    "{prepare}; {words}: {code} {}",
                    stderr(&output)
                );
                printable(&output);
            }
        }
    }
}
