//! Programs that stand in for others: runners that fetch, version managers, snaps.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::programs::{explained, program, variable};
use crate::support::{Host, TestContext, flat, set_mode, stderr, stdout};

#[test]
fn p11_runners_that_fetch_are_named_with_what_they_pin() {
    let context = TestContext::ordinary();
    let bin = context.make_directory("bin");
    for runner in ["npx", "uvx"] {
        program(&context, &format!("bin/{runner}"), "#!/bin/sh\n");
    }
    for (argv, named) in [
        (
            vec!["npx", "-y", "thing@latest"],
            vec![
                "fetches what it runs",
                "thing@latest names no exact version",
            ],
        ),
        (
            vec!["npx", "-y", "thing@1.2"],
            vec!["fetches what it runs", "thing@1.2 names no exact version"],
        ),
        (
            vec!["npx", "-y", "thing@1.2.3"],
            vec!["fetches what it runs"],
        ),
        (
            vec!["uvx", "thing"],
            vec!["fetches what it runs", "thing names no exact version"],
        ),
        (
            vec!["npx", "--odd-flag", "thing@1.2.3"],
            vec!["which package"],
        ),
    ] {
        let words = [&["add", "a", "--no-inspect", "--"][..], &argv].concat();
        let mut command = context.supervisor(&words);
        command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        let (_, screen) = context.terminal(command, "n");
        let flat = flat(&screen);
        for words in &named {
            assert!(flat.contains(words), "{argv:?}: {words}: {screen}");
        }
        let exact = argv.contains(&"thing@1.2.3");
        assert_eq!(flat.contains("names no exact version"), !exact, "{screen}");
    }
}

/// pyenv with one version of `tool`, which its files call that; where the real program lies.
fn pyenv(context: &TestContext, version: &str) -> PathBuf {
    for directory in [
        "",
        "/shims",
        "/versions",
        "/versions/1.2.3",
        "/versions/1.2.3/bin",
        "/libexec",
    ] {
        context.make_directory(&format!("home/.pyenv{directory}"));
    }
    context.make_file("home/.pyenv/version", &format!("{version}\n"));
    let real = context.make_file("home/.pyenv/versions/1.2.3/bin/tool", "");
    fs::copy(TestContext::program("fixture-server"), &real).unwrap();
    set_mode(&real, 0o755);
    real
}

/// The real program is what is shown, hashed and approved.
#[test]
fn a_version_managers_stand_in_is_resolved_when_it_is_declared() {
    let context = TestContext::ordinary();
    let real = pyenv(&context, "1.2.3");
    let shim = program(&context, "home/.pyenv/shims/tool", "#!/bin/sh\nexit 9\n");
    let path = format!("{}:/usr/bin:/bin", shim.parent().unwrap().display());
    for (alias, command) in [("n", "tool"), ("p", shim.to_str().unwrap())] {
        let words = [
            "add",
            alias,
            "--no-inspect",
            "-e",
            "PATH",
            "--",
            command,
            "echo",
        ];
        let mut add = context.supervisor(&words);
        add.env("PATH", &path);
        let (code, screen) = context.terminal(add, "y");
        assert_eq!(code, 0, "{screen}");
        let got = context.run(&["get", alias, "--json"]);
        let got: Value = serde_json::from_str(&stdout(&got)).unwrap();
        assert_eq!(got["runs"], real.to_str().unwrap(), "{alias}");
        let explained = explained(&context, "/usr/bin", alias);
        let begin = format!(
            "{}:{}",
            real.parent().unwrap().display(),
            shim.parent().unwrap().display()
        );
        assert!(variable(&explained, "PATH").unwrap().starts_with(&begin));
        let mut host = context.host(alias);
        let answer = host.initialize();
        assert!(answer.get("result").is_some(), "{answer}");
        host.end();
    }
}

/// Where its files do not say, the manager is asked; once, since a run must not depend on it.
#[test]
fn a_version_manager_is_asked_when_a_server_is_declared_and_by_no_run() {
    let context = TestContext::ordinary();
    let real = pyenv(&context, "latest");
    let asked = context.path("home/asked");
    let manager = format!(
        "#!/bin/sh\necho $1 $2 >> {}\necho $PYENV_ROOT/versions/1.2.3/bin/$2\n",
        asked.display()
    );
    let manager = program(&context, "home/.pyenv/libexec/pyenv", &manager);
    let shim = format!(
        "#!/bin/sh\nexec \"{}\" exec \"$0\" \"$@\"\n",
        manager.display()
    );
    let shim = program(&context, "home/.pyenv/shims/tool", &shim);
    let words = [
        "add",
        "n",
        "--no-inspect",
        "-e",
        "PATH",
        "--",
        "tool",
        "echo",
    ];
    let mut add = context.supervisor(&words);
    add.env(
        "PATH",
        format!("{}:/usr/bin:/bin", shim.parent().unwrap().display()),
    );
    let (code, screen) = context.terminal(add, "y");
    assert_eq!(code, 0, "{screen}");
    let times = fs::read_to_string(&asked).unwrap();
    assert!(times.lines().all(|line| line == "which tool"), "{times}");

    let mut host = Host::start(context.supervisor(&["run", "n"]));
    let answer = host.initialize();
    host.end();
    assert!(answer.get("result").is_some(), "{answer}");
    let explained = explained(&context, "/usr/bin", "n");
    assert_eq!(explained["plan"]["exec"], real.to_str().unwrap());
    assert_eq!(fs::read_to_string(&asked).unwrap(), times);
}

#[test]
fn a_stub_of_a_snap_is_refused_with_the_reason() {
    let context = TestContext::ordinary();
    let stub =
        "#!/bin/sh\nif ! [ -x /snap/bin/tool ]; then exit 1; fi\nexec /snap/bin/tool \"$@\"\n";
    let stub = program(&context, "work/tool", stub);
    let output = context.run(&["add", "a", "--", stub.to_str().unwrap()]);
    let words = stderr(&output) + &stdout(&output);
    assert!(words.contains("it is a snap"), "{words}");
}
