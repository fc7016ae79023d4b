//! `PATH`, and what its entries bring along. A test's name begins with its row.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::Path;

use serde_json::Value;

use crate::judge::{done, printable, refused};
use crate::support::programs::{explained, grants, program, variable, with_path};
use crate::support::{TestContext, everybody, flat, is_root, set_mode, stderr, stdout};

#[test]
fn p1_relative_and_empty_entries_are_dropped() {
    for who in everybody() {
        let context = TestContext::new(who);
        for place in ["work", "work/bin"] {
            context.make_directory(place);
            program(&context, &format!("{place}/planted"), "#!/bin/sh\n");
        }
        for path in [
            "bin",
            "./bin:.",
            "::",
            ":",
            ".",
            "bin:/usr/bin:",
            ":/usr/bin:bin",
        ] {
            let add = with_path(&context, path, &["add", "a", "--", "planted"]);
            done(&add);
            let said = stdout(&add) + &stderr(&add);
            assert!(said.contains("not found"), "{path}: {said}");
            let run = with_path(&context, path, &["run", "a"]);
            assert_eq!(run.status.code(), Some(127), "{}", stderr(&run));
            done(&with_path(
                &context,
                path,
                &["add", "b", "-e", "PATH", "--", "true"],
            ));
            let explained = explained(&context, path, "b");
            let value = variable(&explained, "PATH").unwrap();
            assert!(
                value.split(':').all(|entry| entry.starts_with('/')),
                "{value}"
            );
            let work = context.path("work");
            let inside = |path: &str| Path::new(path).starts_with(&work);
            assert!(
                !grants(&explained).iter().any(|(path, _)| inside(path)),
                "{explained}"
            );
        }
    }
}

#[test]
fn p2_entries_that_are_missing_files_or_twice_are_no_error() {
    let context = TestContext::ordinary();
    let file = context.make_file("file", "");
    let path = format!(
        "/nonexistent:{}:/usr/bin:/usr/bin:/bin:/usr/bin/",
        file.display()
    );
    let words = ["add", "a", "-e", "PATH", "--no-inspect", "--", "true"];
    let mut command = context.supervisor(&words);
    command.env("PATH", &path);
    let (code, screen) = context.terminal(command, "y");
    assert_eq!(code, 0, "{screen}");
    let run = with_path(&context, &path, &["run", "a"]);
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    assert!(
        !grants(&explained(&context, &path, "a"))
            .iter()
            .any(|(path, _)| Path::new(path) == file)
    );
}

#[test]
fn p3_an_entry_that_the_server_may_write_is_refused() {
    for who in everybody() {
        let context = TestContext::new(who);
        let dir = context.make_directory("dir");
        let bin = context.make_directory("dir/bin");
        let dir = dir.to_str().unwrap();
        for entry in [dir, bin.to_str().unwrap(), "/dir/not/there"] {
            let entry = entry.replace("/dir/not/there", &format!("{dir}/later"));
            let path = format!("{entry}:/usr/bin:/bin");
            let output = with_path(
                &context,
                &path,
                &["add", "a", "--dir", dir, "-e", "PATH", "--", "true"],
            );
            assert_eq!(
                output.status.code(),
                Some(126),
                "{entry}: {}",
                stderr(&output)
            );
            printable(&output);
            let value = format!("PATH={path}");
            let output = context.run(&["add", "a", "--dir", dir, "-e", &value, "--", "true"]);
            assert_eq!(
                output.status.code(),
                Some(126),
                "{entry}: {}",
                stderr(&output)
            );
        }
        // A private home too: the server could plant a program for its next start.
        let server = TestContext::program("fixture-server");
        context.approved("b", &[], &[&server, "echo"]);
        context.host("b").end();
        let homes = fs::read_dir(context.path("home/.supervisor/home")).unwrap();
        let home = homes
            .map(|entry| entry.unwrap().path())
            .find(|path| path.is_dir())
            .unwrap();
        let value = format!("PATH={}:/usr/bin:/bin", home.display());
        let output = context.run(&["add", "c", "-e", &value, "--", "true"]);
        refused(&output, 126, "program-writable");
    }
}

#[test]
fn p4_entries_that_others_may_write_are_named() {
    let context = TestContext::ordinary();
    let bin = context.make_directory("bin");
    set_mode(&bin, 0o777);
    let question = |words: &str| {
        let mut command =
            context.supervisor(&["add", "a", "-e", "PATH", "--no-inspect", "--", "true"]);
        command.env("PATH", format!("/usr/bin:{}", bin.display()));
        let (_, screen) = context.terminal(command, "n");
        let flat = flat(&screen);
        assert!(flat.contains(words), "{words}: {screen}");
    };
    question("may be written by any user");
    if is_root() {
        set_mode(&bin, 0o755);
        chown(&bin, Some(54_322), Some(54_322)).unwrap();
        question("belongs to another user");
    }
}

#[test]
fn p5_entries_inside_the_home_bring_their_installation_and_no_more() {
    for who in everybody() {
        let context = TestContext::new(who);
        for place in [
            "home/.local",
            "home/.local/bin",
            "home/tools",
            "home/tools/one",
            "home/tools/one/bin",
        ] {
            context.make_directory(place);
        }
        let secret = context.make_file("home/secret", "secret");
        context.make_file("home/.local/secret", "secret");
        let script = format!(
            "#!/bin/sh\nfor at in {0}/secret {0}/.local/secret; do cat $at && echo $at > got; done\necho ran > ran\n",
            context.path("home").display()
        );
        program(&context, "home/tools/one/bin/tool", &script);
        symlink(
            "../../tools/one/bin/tool",
            context.path("home/.local/bin/tool"),
        )
        .unwrap();
        let path = format!(
            "{}:/usr/bin:/bin",
            context.path("home/.local/bin").display()
        );
        let dir = context.make_directory("dir");
        let words = [
            "add",
            "a",
            "--dir",
            dir.to_str().unwrap(),
            "--no-inspect",
            "--",
            "tool",
        ];
        let mut command = context.supervisor(&words);
        command.env("PATH", &path);
        let (code, screen) = context.terminal(command, "y");
        assert_eq!(code, 0, "{screen}");
        done(&with_path(&context, &path, &["run", "a"]));
        assert!(dir.join("ran").exists() && !dir.join("got").exists());
        let explained = explained(&context, &path, "a");
        for (path, _) in grants(&explained) {
            assert!(!secret.starts_with(&path) && path != "/", "{path}");
        }
    }
}

#[test]
fn p6_a_default_where_path_is_unset_or_empty() {
    let context = TestContext::ordinary();
    for value in [None, Some("")] {
        let mut command = context.supervisor(&["add", "a", "-e", "PATH", "--", "true"]);
        match value {
            Some(value) => command.env("PATH", value),
            None => command.env_remove("PATH"),
        };
        done(&command.output().unwrap());
        let mut command = context.supervisor(&["explain", "a", "--json"]);
        let output = command.env_remove("PATH").output().unwrap();
        let explained: Value = serde_json::from_slice(&output.stdout).unwrap();
        let path = variable(&explained, "PATH").unwrap();
        assert!(path.contains("/usr/local/bin:/usr/bin:/bin"), "{path}");
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/declaration.md");
    assert!(
        fs::read_to_string(docs)
            .unwrap()
            .contains("/usr/local/bin:/usr/bin:/bin")
    );
}
