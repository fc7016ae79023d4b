//! `--dir` and what may be granted. A test's name begins with its row.
//!
//! Marks of repositories are laid out by hand: nothing of git's takes part in the decision.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Output;
use std::thread;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::judge::{Over, done, printable, refused, refuses};
use crate::support::{TestContext, Who, everybody, is_root, stderr, stdout};

fn declare(context: &TestContext, dir: &Path) -> Output {
    let dir = dir.to_str().unwrap();
    context.run(&["add", "a", "--dir", dir, "--", "/bin/true"])
}

/// Refused at `add` with nothing written.
#[track_caller]
fn refused_at_add(context: &TestContext, dir: &str, code: &str) {
    let dir = context.path(dir);
    let words = [
        "add",
        "a",
        "--dir",
        dir.to_str().unwrap(),
        "--",
        "/bin/true",
    ];
    refuses(context, &words, 126, code);
    assert!(
        !context.path("home/.supervisor").exists(),
        "something was written"
    );
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn repository(context: &TestContext, at: &str) {
    for part in ["", "objects", "refs"] {
        context.make_directory(&format!("{at}/{part}"));
    }
    context.make_file(&format!("{at}/HEAD"), "ref: refs/heads/main\n");
}

#[test]
fn d1_in_and_below_a_repository() {
    for who in everybody() {
        let context = TestContext::new(who);
        repository(&context, "tree/.git");
        context.make_directory("tree/a/b");
        for dir in ["tree", "tree/a", "tree/a/b", "tree/.git", "tree/.git/refs"] {
            refused_at_add(&context, dir, "dir-refused");
        }
        // Above one, too: the server could write into it.
        context.make_directory("above");
        repository(&context, "above/deep/er/.git");
        refused_at_add(&context, "above", "dir-refused");
    }
}

#[test]
fn d2_d4_worktrees_and_submodules() {
    let context = TestContext::ordinary();
    context.make_directory("worktree/sub");
    context.make_file("worktree/.git", "gitdir: /gone/.git/worktrees/x\n");
    refused_at_add(&context, "worktree/sub", "dir-refused");
    repository(&context, "super/.git");
    context.make_directory("super/module/src");
    context.make_file("super/module/.git", "gitdir: ../.git/modules/module\n");
    refused_at_add(&context, "super/module/src", "dir-refused");
    // The own directory of a linked working tree.
    context.make_directory("linked");
    context.make_file("linked/HEAD", "");
    context.make_file("linked/commondir", "../..\n");
    refused_at_add(&context, "linked", "dir-refused");
}

#[test]
fn d3_bare_repositories() {
    let context = TestContext::ordinary();
    repository(&context, "bare");
    context.make_directory("bare/hooks");
    for dir in ["bare", "bare/hooks", "bare/refs"] {
        refused_at_add(&context, dir, "dir-refused");
    }
}

#[test]
fn d5_d6_links_are_resolved_and_the_resolved_path_is_kept() {
    let context = TestContext::ordinary();
    repository(&context, "tree/.git");
    context.make_directory("tree/sub");
    context.make_directory("plain/sub");
    symlink(context.path("tree"), context.path("into")).unwrap();
    refused_at_add(&context, "into", "dir-refused");
    refused_at_add(&context, "into/sub", "dir-refused");
    symlink(context.path("plain"), context.path("tree/out")).unwrap();
    done(&declare(&context, &context.path("tree/out/sub")));
    let resolved = context.path("plain/sub");
    let text = fs::read_to_string(context.path("home/.supervisor/mcp.json")).unwrap();
    assert!(
        text.contains(resolved.to_str().unwrap()) && !text.contains("tree/out"),
        "{text}"
    );
    let shown = stdout(&context.run(&["get", "a"]));
    assert!(
        shown.contains("plain/sub") && !shown.contains("tree/out"),
        "{shown}"
    );
}

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
        if is_root() {
            std::os::unix::fs::chown(&dir, Some(54_321), Some(54_321)).unwrap();
        }
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
fn d10_variables_of_git_decide_nothing() {
    let context = TestContext::ordinary();
    repository(&context, "tree/.git");
    context.make_directory("tree/sub");
    context.make_directory("plain");
    let elsewhere = context.path("tree/.git");
    for (dir, exit) in [("tree/sub", 126), ("plain", 0)] {
        let dir = context.path(dir);
        let mut command = context.supervisor(&["add", "a", "--dir", dir.to_str().unwrap()]);
        let output = command
            .args(["--", "/bin/true"])
            .env("GIT_DIR", &elsewhere)
            .env("GIT_WORK_TREE", context.path("plain"))
            .env("GIT_CEILING_DIRECTORIES", context.path("tree"))
            .env("GIT_DISCOVERY_ACROSS_FILESYSTEM", "0")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(exit), "{}", stderr(&output));
    }
}

#[test]
fn d11_a_git_directory_elsewhere() {
    let context = TestContext::ordinary();
    repository(&context, "far");
    context.make_directory("tree/sub");
    let far = context.path("far");
    context.make_file("tree/.git", &format!("gitdir: {}\n", far.display()));
    refused_at_add(&context, "tree/sub", "dir-refused");
    // `core.worktree` alone leaves no mark, and the documentation says so.
    context.make_directory("unmarked");
    let worktree = context.path("unmarked");
    context.make_file(
        "far/config",
        &format!("[core]\nworktree = {}\n", worktree.display()),
    );
    done(&declare(&context, &worktree));
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/threat-model.md");
    assert!(fs::read_to_string(docs).unwrap().contains("core.worktree"));
}

#[test]
fn d12_a_home_that_is_a_git_tree() {
    for who in everybody() {
        let context = TestContext::new(who);
        repository(&context, "home/.git");
        context.make_directory("home/notes");
        let output = context.run(&["add", "a", "--", "/bin/true"]);
        done(&output);
        assert!(
            stderr(&output).contains("git work tree"),
            "never silent: {}",
            stderr(&output)
        );
        let ignore = context.path("home/.supervisor/.gitignore");
        assert_eq!(fs::read_to_string(&ignore).unwrap(), "*\n");
        assert!(!stderr(&context.run(&["list"])).contains("work tree"));
        // Kept where a later command finds it gone, or the tree came later.
        fs::remove_file(&ignore).unwrap();
        done(&context.run(&["add", "b", "--", "/bin/true"]));
        assert_eq!(fs::read_to_string(&ignore).unwrap(), "*\n");
        let output = declare(&context, &context.path("home/notes"));
        refused(&output, 126, "dir-refused");
    }
}

#[test]
fn d13_an_ignored_directory_is_in_the_repository_all_the_same() {
    let context = TestContext::ordinary();
    repository(&context, "tree/.git");
    context.make_directory("tree/build");
    context.make_file("tree/.gitignore", "/build/\n*\n");
    refused_at_add(&context, "tree/build", "dir-refused");
}

#[test]
fn d14_letter_case_is_the_file_systems_to_judge() {
    let context = TestContext::ordinary();
    context.make_directory("tree/.GIT");
    context.make_directory("tree/sub");
    let folds = context.path("tree/.git").exists();
    let output = declare(&context, &context.path("tree/sub"));
    assert_eq!(output.status.success(), !folds, "{}", stderr(&output));
}

#[test]
fn d15_marks_that_are_no_directory() {
    let context = TestContext::ordinary();
    let mark = |name: &str| context.make_directory(name).join(".git");
    symlink("nowhere", mark("dangling")).unwrap();
    mkfifo(&mark("fifo"), Mode::S_IRUSR).unwrap();
    fs::write(mark("file"), "").unwrap();
    fs::create_dir(mark("directory")).unwrap();
    for dir in ["dangling", "fifo", "file", "directory"] {
        refused_at_add(&context, dir, "dir-refused");
    }
}

#[test]
fn d16_a_repository_that_comes_later_refuses_the_next_start() {
    for who in everybody() {
        let context = TestContext::new(who);
        let dir = context.make_directory("work/notes");
        let words = ["--dir", dir.to_str().unwrap()];
        context.approved("a", &words, &["/bin/sh", "-c", "echo x > written"]);
        context.host("a").end();
        assert!(dir.join("written").exists());
        for place in ["work/.git", "work/notes/.git", "work/notes/deep/.git"] {
            fs::remove_file(dir.join("written")).unwrap();
            context.make_directory(place);
            let output = context.run(&["run", "a"]);
            refused(&output, 126, "dir-refused");
            assert!(stderr(&output).contains("hint: "), "{}", stderr(&output));
            assert!(!dir.join("written").exists());
            fs::remove_dir(context.path(place)).unwrap();
            context.host("a").end();
            assert!(dir.join("written").exists());
        }
        // The directory has become a link since.
        fs::rename(&dir, context.path("work/moved")).unwrap();
        symlink("moved", &dir).unwrap();
        refused(&context.run(&["run", "a"]), 126, "dir-refused");
    }
}

#[test]
fn d17_other_systems_are_named() {
    for mark in [".hg", ".svn", ".jj", ".bzr", "_darcs", ".fossil", "CVS"] {
        let context = TestContext::ordinary();
        context.make_directory(&format!("tree/{mark}"));
        let dir = context.make_directory("tree/sub");
        let words = [
            "add",
            "a",
            "--dir",
            dir.to_str().unwrap(),
            "--no-inspect",
            "--",
            "/bin/true",
        ];
        let (_, screen) = context.at_terminal(&words, "n");
        let flat: String = screen.split_whitespace().collect();
        assert!(flat.contains(&format!("tree/{mark}")), "{mark}: {screen}");
    }
}

#[test]
fn d18_the_search_goes_on_across_mounts() {
    if !is_root() {
        // Mounting is root's; the search asks each directory for its `..` and knows of no mount.
        return;
    }
    let context = TestContext::ordinary();
    repository(&context, "tree/.git");
    context.make_directory("tree/mnt");
    let mounted = context.path("tree/mnt");
    let script = format!(
        "mount -t tmpfs none {0} && mkdir -m 777 {0}/sub && exec setpriv --reuid 54321 --regid 54321 --clear-groups \"$0\" \"$@\"",
        mounted.display()
    );
    let mut command = std::process::Command::new("unshare");
    command.args([
        "-m",
        "sh",
        "-c",
        &script,
        &TestContext::program("supervisor"),
    ]);
    command
        .args(["add", "a", "--dir"])
        .arg(mounted.join("sub"))
        .args(["--", "/bin/true"]);
    command
        .env_clear()
        .env("HOME", context.path("home"))
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    refused(&command.output().unwrap(), 126, "dir-refused");
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
