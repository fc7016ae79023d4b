//! The state directory and its files: what is trusted, and that what is not is left as it is.
//! A test's name begins with its row. What stands in the files is in `cli_state_content`, kills and
//! concurrent writers are in `cli_state_kills`.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Output;

use nix::sys::stat::{Mode, SFlag, mknod};
use nix::unistd::mkfifo;

use crate::judge::{done, picture, printable, refused, refuses};
use crate::support::state::{COMMANDS, all_refuse, record, somebody, state};
use crate::support::{ORDINARY, TestContext, Who, everybody, is_root, mode, set_mode, stderr};

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
        let other = if who == Who::Root { ORDINARY } else { 0 };
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
            context.own(&file);
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
        context.own(&state);
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
                context.own(&file);
                refuses(&context, words, 126, "state-kind");
                let _ = fs::remove_file(&file).or_else(|_| fs::remove_dir(&file));
                fs::write(&file, &kept).unwrap();
                set_mode(&file, 0o600);
                context.own(&file);
            }
        }
        let (code, _) = context.host("a").end();
        assert_eq!(code, 0);
        // The directory itself.
        fs::remove_dir_all(state(&context)).unwrap();
        mkfifo(&state(&context), Mode::S_IRWXU).unwrap();
        context.own(&state(&context));
        all_refuse(&context, "state-kind");
    }
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
