//! The state directory and its files: what is trusted, and that what is not is left as it is.
//! A test's name begins with its row. Kills and concurrent writers are in `cli_state_kills`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Output;

use nix::sys::stat::{Mode, SFlag, mknod};
use nix::unistd::mkfifo;

use crate::judge::{done, picture, printable, refused, refuses};
use crate::support::{TestContext, Who, everybody, is_root, stderr, stdout};

/// Somebody with an approved server `a`.
fn somebody(who: Who) -> TestContext {
    let context = TestContext::new(who);
    context.approved("a", &["-e", "KEY=stored-value"], &["/bin/true"]);
    context
}

fn state(context: &TestContext) -> PathBuf {
    context.path("home/.supervisor")
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn own(path: &Path, who: Who) {
    if who == Who::Ordinary && is_root() {
        std::os::unix::fs::lchown(path, Some(54_321), Some(54_321)).unwrap();
    }
}

const COMMANDS: [&[&str]; 5] = [
    &["run", "a"],
    &["explain", "a"],
    &["get", "a"],
    &["remove", "a"],
    &["add", "b", "--", "/bin/true"],
];

/// Every command refuses the state as it is, and leaves it so.
#[track_caller]
fn all_refuse(context: &TestContext, code: &str) -> String {
    let mut said = String::new();
    for words in COMMANDS {
        said = refuses(context, words, 126, code);
        assert!(!said.contains("stored-value"), "{said}");
    }
    let list = context.run(&["list"]);
    assert!(!list.status.success(), "list: {}", stdout(&list));
    said
}

/// The record of the approval.
fn record(context: &TestContext) -> PathBuf {
    let mut records = fs::read_dir(state(context).join("approvals")).unwrap();
    records.next().unwrap().unwrap().path()
}

#[test]
fn s1_files_open_to_others() {
    for who in everybody() {
        let context = somebody(who);
        for file in [
            state(&context).join("mcp.json"),
            state(&context).join("approved"),
            record(&context),
        ] {
            for open in [0o644, 0o660, 0o666, 0o604] {
                set_mode(&file, open);
                let words: &[&str] = &["run", "a"];
                let said = refuses(&context, words, 126, "state-mode");
                assert!(said.contains("chmod 600"), "{said}");
            }
            set_mode(&file, 0o600);
        }
        set_mode(&state(&context).join("mcp.json"), 0o644);
        all_refuse(&context, "state-mode");
    }
}

#[test]
fn s1_directories_open_to_others_are_closed() {
    for who in everybody() {
        let context = somebody(who);
        for open in [0o755, 0o777, 0o750, 0o1777] {
            set_mode(&state(&context), open);
            let output = context.run(&["list"]);
            done(&output);
            assert!(stderr(&output).contains("0700"), "{}", stderr(&output));
            assert_eq!(mode(&state(&context)) & 0o777, 0o700);
        }
        set_mode(&state(&context).join("approvals"), 0o755);
        done(&context.run(&["list"]));
        assert_eq!(mode(&state(&context).join("approvals")), 0o700);
    }
}

#[test]
fn s2_files_of_another_user() {
    if !is_root() {
        // Only root gives files away.
        return;
    }
    for who in everybody() {
        let other = if who == Who::Root { 54_321 } else { 0 };
        for part in ["mcp.json", "approved", ".lock", ""] {
            let context = somebody(who);
            chown(state(&context).join(part), Some(other), Some(other)).unwrap();
            let words: &[&str] = if part == ".lock" {
                &["remove", "a"]
            } else {
                &["run", "a"]
            };
            let said = refuses(&context, words, 126, "state-owner");
            assert!(said.contains("chown"), "{said}");
        }
    }
}

#[test]
fn s3_links() {
    for who in everybody() {
        let context = somebody(who);
        let (state, outside) = (state(&context), context.path("outside"));
        for part in ["mcp.json", "approved", "approvals"] {
            let (file, away) = (state.join(part), outside.join(part));
            fs::rename(&file, &away).unwrap();
            symlink(&away, &file).unwrap();
            own(&file, who);
            let before = picture(&outside);
            refuses(&context, &["run", "a"], 126, "state-link");
            refuses(&context, &["remove", "a"], 126, "state-link");
            assert_eq!(before, picture(&outside));
            fs::remove_file(&file).unwrap();
            fs::rename(&away, &file).unwrap();
        }
        // The directory may be one: it is resolved once, then checked.
        let real = context.path("outside/real");
        fs::rename(&state, &real).unwrap();
        symlink(&real, &state).unwrap();
        own(&state, who);
        done(&context.run(&["get", "a"]));
        set_mode(&real, 0o755);
        done(&context.run(&["get", "a"]));
        assert_eq!(mode(&real), 0o700);
        set_mode(&context.path("outside"), 0o777);
        all_refuse(&context, "state-parent");
        set_mode(&context.path("outside"), 0o700);
        let (code, _) = context.host("a").end();
        assert_eq!(code, 0);
    }
}

#[test]
fn s4_second_names() {
    for who in everybody() {
        let context = somebody(who);
        for file in [
            state(&context).join("mcp.json"),
            state(&context).join("approved"),
            record(&context),
        ] {
            fs::hard_link(&file, context.path("outside/second")).unwrap();
            refuses(&context, &["run", "a"], 126, "state-hard-link");
            fs::remove_file(context.path("outside/second")).unwrap();
        }
        fs::hard_link(
            state(&context).join("mcp.json"),
            context.path("outside/second"),
        )
        .unwrap();
        all_refuse(&context, "state-hard-link");
    }
}

type Make = Box<dyn Fn(&Path)>;

#[test]
fn s5_what_is_no_file() {
    for who in everybody() {
        let context = somebody(who);
        for part in ["mcp.json", "approved", ".lock"] {
            let file = state(&context).join(part);
            let kept = fs::read(&file).unwrap();
            let words: &[&str] = if part == ".lock" {
                &["remove", "a"]
            } else {
                &["run", "a"]
            };
            let mut kinds: Vec<Make> = vec![
                Box::new(|path| mkfifo(path, Mode::S_IRWXU).unwrap()),
                Box::new(|path| drop(UnixListener::bind(path).unwrap())),
                Box::new(|path| fs::create_dir(path).unwrap()),
            ];
            if is_root() {
                let device = nix::sys::stat::makedev(1, 5);
                kinds.push(Box::new(move |path| {
                    mknod(path, SFlag::S_IFCHR, Mode::S_IRWXU, device).unwrap();
                }));
            }
            for make in kinds {
                fs::remove_file(&file).unwrap();
                make(&file);
                own(&file, who);
                refuses(&context, words, 126, "state-kind");
                let _ = fs::remove_file(&file).or_else(|_| fs::remove_dir(&file));
                fs::write(&file, &kept).unwrap();
                set_mode(&file, 0o600);
                own(&file, who);
            }
        }
        let (code, _) = context.host("a").end();
        assert_eq!(code, 0);
        // The directory itself.
        fs::remove_dir_all(state(&context)).unwrap();
        mkfifo(&state(&context), Mode::S_IRWXU).unwrap();
        own(&state(&context), who);
        all_refuse(&context, "state-kind");
    }
}

#[test]
fn s6_texts_that_are_no_declarations() {
    let context = somebody(Who::Ordinary);
    let file = state(&context).join("mcp.json");
    let good = fs::read_to_string(&file).unwrap();
    let deep = format!(r#"{{"version":1,"mcpServers":{}"#, "[".repeat(200_000));
    for (text, place) in [
        ("", "line 1"),
        (" \n ", "line 2"),
        (&good[..good.len() / 2], "line "),
        (&good[..good.len() - 2], "line "),
        ("\u{feff}{}", "line 1, column 1"),
        ("{\"version\": 1,\n \"version\": 1}", "line 2, column 10"),
        ("{\"version\": 1,\n \"other\": {}}", "line 2"),
        ("{\"version\": 1,\n \"mcpServers\": []}", "line 2"),
        (
            "{\"version\": 1, \"mcpServers\": {\"a\": {\"command\": \"/bin/true\"}, \"a\": {}}}",
            "line 1",
        ),
        ("null", "line 1"),
        (&deep, "line 1"),
    ] {
        fs::write(&file, text).unwrap();
        let said = all_refuse(&context, "declarations-unreadable");
        assert!(
            said.contains(place) || said.replace("\n  ", " ").contains(place),
            "{place}: {said}"
        );
    }
    fs::write(&file, b"{\"version\": 1, \"mcpServers\": {\"\xff\": {}}}").unwrap();
    all_refuse(&context, "state-not-utf8");
    for part in ["mcp.json", "approved"] {
        fs::write(&file, &good).unwrap();
        let large = fs::OpenOptions::new()
            .write(true)
            .open(state(&context).join(part))
            .unwrap();
        large.set_len(1 << 30).unwrap();
        refuses(&context, &["run", "a"], 126, "state-too-large");
    }
}

/// One entry that cannot be used is a row; the others work, and it stays as it is written.
#[test]
fn s6_an_unknown_field_makes_its_entry_unusable() {
    let context = somebody(Who::Ordinary);
    let file = state(&context).join("mcp.json");
    let odd = r#""odd": {"command": "/bin/true",   "colour": "red"}"#;
    let text = fs::read_to_string(&file).unwrap();
    fs::write(
        &file,
        text.replace("\"mcpServers\": {", &format!("\"mcpServers\": {{\n{odd},")),
    )
    .unwrap();
    let list = context.run(&["list"]);
    assert_eq!(list.status.code(), Some(1));
    assert!(stdout(&list).contains("colour"), "{}", stdout(&list));
    refused(&context.run(&["run", "odd"]), 126, "entry-unusable");
    let (code, _) = context.host("a").end();
    assert_eq!(code, 0);
    done(&context.run(&["add", "b", "--", "/bin/true"]));
    assert!(fs::read_to_string(&file).unwrap().contains(odd));
}

#[test]
fn s6_approvals_that_do_not_read_approve_nothing() {
    let context = somebody(Who::Ordinary);
    let (list, record) = (state(&context).join("approved"), record(&context));
    let (good_list, good_record) = (
        fs::read_to_string(&list).unwrap(),
        fs::read_to_string(&record).unwrap(),
    );
    for bad in [
        good_list.trim_end().get(..40).unwrap().to_owned(),
        format!("{good_list}\n"),
        good_list.replace('\n', "\r\n"),
        good_list.replace("server", "Server"),
        format!("{good_list}server *\n"),
        "\u{feff}".to_owned() + &good_list,
    ] {
        fs::write(&list, &bad).unwrap();
        refuses(&context, &["run", "a"], 126, "approvals-unreadable");
        refuses(&context, &["remove", "a"], 126, "approvals-unreadable");
    }
    fs::write(&list, &good_list).unwrap();
    let longer = good_record.replacen('{', "{\"extra\": 1,", 1);
    let twice = good_record.replacen("\"version\": 1,", "\"version\": 1, \"version\": 1,", 1);
    let newer = good_record.replacen("\"version\": 1,", "\"version\": 2,", 1);
    for bad in [
        "",
        "{",
        &good_record[..good_record.len() / 2],
        "null",
        &longer,
        &twice,
        &newer,
    ] {
        fs::write(&record, bad).unwrap();
        refuses(&context, &["run", "a"], 126, "not-approved");
        assert_eq!(fs::read_to_string(&record).unwrap(), bad);
    }
    fs::write(&record, &good_record).unwrap();
    let (code, _) = context.host("a").end();
    assert_eq!(code, 0);
}

#[test]
fn s7_a_newer_version_is_refused() {
    let context = somebody(Who::Ordinary);
    let file = state(&context).join("mcp.json");
    for version in ["2", "18446744073709551615"] {
        fs::write(
            &file,
            format!("{{\"version\": {version}, \"mcpServers\": {{}}}}"),
        )
        .unwrap();
        all_refuse(&context, "declarations-newer");
    }
    // No version came before 1.
    for version in ["0", "-1", "1.0", "\"1\"", "99999999999999999999"] {
        fs::write(
            &file,
            format!("{{\"version\": {version}, \"mcpServers\": {{}}}}"),
        )
        .unwrap();
        all_refuse(&context, "declarations-unreadable");
    }
}

#[test]
fn s8_a_bound_on_file_size_keeps_the_old_content() {
    for who in everybody() {
        let context = somebody(who);
        let before = picture(&state(&context));
        let value = format!("BIG={}", "x".repeat(100_000));
        let mut command = context.command("/bin/sh");
        let script = "ulimit -f 8; exec \"$0\" \"$@\"";
        command.args(["-c", script, &TestContext::program("supervisor")]);
        command.args(["add", "b", "-e", &value, "--", "/bin/true"]);
        let output = command.output().unwrap();
        refused(&output, 125, "state-io");
        assert_eq!(before, picture(&state(&context)));
        let (code, _) = context.host("a").end();
        assert_eq!(code, 0);
    }
}

/// A file system of one page more than what is there, in a mount namespace of the command's.
#[test]
fn s8_a_full_disk_keeps_the_old_content() {
    if !is_root() {
        // Mounting is root's; a bound on file size fails the same write for everybody.
        return;
    }
    let context = TestContext::new(Who::Root);
    let small = context.make_directory("small");
    let script = r#"
        mount -t tmpfs -o size=64k,mode=700 none "$SMALL" || exit 99
        supervisor() { "$0" "$@"; }
        supervisor add a -- /bin/true >/dev/null || exit 98
        head -c 40000 /dev/zero > "$SMALL/filler"
        cp "$SMALL/state/mcp.json" /dev/shm/before.$$
        value=$(head -c 30000 /dev/zero | tr '\0' x)
        supervisor add b -e "BIG=$value" -- /bin/true
        echo "code $?"
        cmp "$SMALL/state/mcp.json" /dev/shm/before.$$ && echo same
        rm -f /dev/shm/before.$$ "$SMALL/filler"
        ls -A "$SMALL/state"
        supervisor list >/dev/null && echo listed
        supervisor add c -- /bin/true >/dev/null && echo added
    "#;
    let mut command = std::process::Command::new("unshare");
    command.args([
        "-m",
        "sh",
        "-c",
        script,
        &TestContext::program("supervisor"),
    ]);
    command
        .env("SMALL", &small)
        .env("SUPERVISOR_HOME", small.join("state"));
    command.env("HOME", context.path("home"));
    let output = command.output().unwrap();
    let said = stdout(&output);
    for word in ["code 125", "same", "listed", "added"] {
        assert!(said.contains(word), "{word}: {said} {}", stderr(&output));
    }
    assert!(!said.contains(".new"), "{said}");
}

#[test]
fn s9_modes_do_not_depend_on_the_umask() {
    for who in everybody() {
        for umask in ["000", "077", "777", "177"] {
            let context = TestContext::new(who);
            let under = |words: &str| -> Output {
                let mut command = context.command("/bin/sh");
                let program = TestContext::program("supervisor");
                command.args(["-c", &format!("umask {umask}; exec {program} {words}")]);
                command.env("SUPERVISOR_HOME", context.path("home/new/state"));
                command.output().unwrap()
            };
            for alias in ["a", "b"] {
                done(&under(&format!("add {alias} -e K=v -- /bin/true")));
            }
            done(&under("list"));
            let state = context.path("home/new/state");
            for (path, expected) in [
                ("..", 0o700),
                ("", 0o700),
                ("mcp.json", 0o600),
                (".lock", 0o600),
            ] {
                assert_eq!(mode(&state.join(path)), expected, "{umask} {path}");
            }
        }
    }
}

/// An access list that lets user 12345 read, as `setfacl` writes it (acl(5), `linux/posix_acl_xattr.h`).
fn access_list() -> Vec<u8> {
    let none = u32::MAX;
    let entries: [(u16, u16, u32); 5] = [
        (1, 7, none),
        (2, 4, 12_345),
        (4, 0, none),
        (16, 4, none),
        (32, 0, none),
    ];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(rights.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    list
}

fn set_access_list(path: &Path, kind: &str) {
    let name = format!("system.posix_acl_{kind}");
    rustix::fs::setxattr(
        path,
        name.as_str(),
        &access_list(),
        rustix::fs::XattrFlags::empty(),
    )
    .unwrap();
}

#[test]
fn s10_access_lists() {
    for who in everybody() {
        let (access, default) = ("access", "default");
        for (part, kind) in [
            ("", access),
            ("", default),
            ("mcp.json", access),
            ("approvals", default),
            ("approved", access),
        ] {
            let context = somebody(who);
            let path = state(&context).join(part);
            set_access_list(&path, kind);
            let code = if part.contains('.') || part == "approved" {
                "state-mode"
            } else {
                "state-acl"
            };
            let said = refuses(&context, &["run", "a"], 126, code);
            // A mode that hides the list's mask opens nothing now, and would with the next change.
            if kind == access {
                let private = if part.is_empty() { 0o700 } else { 0o600 };
                set_mode(&path, private);
                let said = refuses(&context, &["run", "a"], 126, "state-acl");
                assert!(said.contains("setfacl -b"), "{said}");
            } else {
                assert!(said.contains("setfacl -b"), "{said}");
            }
        }
        // What the home's own default list puts on a directory just made is taken off.
        let context = TestContext::new(who);
        set_access_list(&context.path("home"), "default");
        done(&context.run(&["add", "a", "--", "/bin/true"]));
        done(&context.run(&["list"]));
        assert_eq!(mode(&state(&context)), 0o700);
    }
}

#[test]
fn s12_no_home() {
    for who in everybody() {
        let context = TestContext::new(who);
        for home in [
            None,
            Some(""),
            Some("relative"),
            Some("/nonexistent/home"),
            Some("/dev/null"),
        ] {
            for words in [
                vec!["list"],
                vec!["add", "a", "--", "/bin/true"],
                vec!["run", "a"],
            ] {
                let mut command = context.supervisor(&words);
                match home {
                    Some(home) => command.env("HOME", home),
                    None => command.env_remove("HOME"),
                };
                let output = command
                    .env("XDG_STATE_HOME", context.path("work"))
                    .output()
                    .unwrap();
                assert!(!output.status.success(), "{home:?} {words:?}");
                printable(&output);
                assert!(stderr(&output).contains("(no-home)"), "{}", stderr(&output));
                assert_eq!(
                    picture(&context.path("work")).len(),
                    1,
                    "something was made"
                );
            }
        }
        let mut command = context.supervisor(&["add", "a", "--", "/bin/true"]);
        let output = command.env("SUPERVISOR_HOME", "relative").output().unwrap();
        assert!(
            stderr(&output).contains("(state-not-absolute)"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn s13_root_with_the_home_of_a_user() {
    if !is_root() {
        return;
    }
    let context = somebody(Who::Ordinary);
    for words in COMMANDS {
        let before = picture(&context.path("home"));
        let mut command = std::process::Command::new(TestContext::program("supervisor"));
        let output = command
            .args(words)
            .env("HOME", context.path("home"))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(126), "{}", stderr(&output));
        assert_eq!(before, picture(&context.path("home")));
    }
    // Nothing of root's is made there either.
    fs::remove_dir_all(state(&context)).unwrap();
    let mut command = std::process::Command::new(TestContext::program("supervisor"));
    command
        .args(["add", "a", "--", "/bin/true"])
        .env("HOME", context.path("home"));
    refused(&command.output().unwrap(), 126, "state-parent");
    assert!(!state(&context).exists());
}

#[test]
fn s14_an_approval_is_of_one_declaration() {
    for who in everybody() {
        let context = somebody(who);
        let file = state(&context).join("mcp.json");
        let good = fs::read_to_string(&file).unwrap();
        for (from, to) in [
            ("\"/bin/true\"", "\"/bin/false\""),
            (
                "\"command\": \"/bin/true\"",
                "\"command\": \"/bin/true\", \"args\": [\"x\"]",
            ),
            (
                "\"command\": \"/bin/true\"",
                "\"command\": \"/bin/true\", \"dir\": \"/var/empty-dir\"",
            ),
            (
                "\"command\": \"/bin/true\"",
                "\"command\": \"/bin/true\", \"pass\": [\"TOKEN\"]",
            ),
            (
                "\"command\": \"/bin/true\"",
                "\"command\": \"/bin/true\", \"reads\": [{\"path\": \"/etc/hosts\", \"why\": \"flag\"}]",
            ),
            (
                "\"command\": \"/bin/true\"",
                "\"command\": \"/bin/true\", \"limits\": {\"processes\": 100000}",
            ),
            (
                "\"command\": \"/bin/true\"",
                "\"command\": \"/bin/true\", \"allow\": [\"pty\"]",
            ),
            (
                "\"command\": \"/bin/true\"",
                "\"command\": \"/bin/true\", \"without\": [\"P3\"]",
            ),
        ] {
            assert!(good.contains(from), "{good}");
            fs::write(&file, good.replace(from, to)).unwrap();
            let output = context.run(&["run", "a"]);
            let code = output.status.code();
            assert!(
                matches!(code, Some(126 | 127)),
                "{to}: {code:?} {}",
                stderr(&output)
            );
        }
    }
}

#[test]
fn s14_an_approval_is_copied_to_nothing_else() {
    for who in everybody() {
        let context = somebody(who);
        // Copied from another declaration: the line alone, and with the record renamed to it.
        done(&context.run(&["add", "b", "--", "/bin/echo"]));
        let get = context.run(&["get", "b", "--json"]);
        let get: serde_json::Value = serde_json::from_slice(&get.stdout).unwrap();
        let digest = get["digest"].as_str().unwrap();
        let list = state(&context).join("approved");
        let lines = fs::read_to_string(&list).unwrap();
        fs::write(&list, format!("{lines}server {digest} b\n")).unwrap();
        refused(&context.run(&["run", "b"]), 126, "not-approved");
        let copied = state(&context)
            .join("approvals")
            .join(format!("{digest}.json"));
        fs::copy(record(&context), &copied).unwrap();
        own(&copied, who);
        refused(&context.run(&["run", "b"]), 126, "not-approved");
        // From another person's state: their record of their own declaration of that name.
        let other = TestContext::new(who);
        other.approved("b", &[], &["/bin/echo", "other"]);
        fs::copy(record(&other), &copied).unwrap();
        refused(&context.run(&["run", "b"]), 126, "not-approved");
    }
}
