//! Attacks on what starts at all: promise S1.

use std::fs;
use std::process::Command;

use crate::attack::WITHOUT;
use crate::support::{Host, TestContext, Who, everybody, set_mode};

#[test]
fn s1_nothing_unapproved_starts() {
    let context = TestContext::ordinary();
    let program = TestContext::program("fixture-server");
    context.run(&["add", "unapproved", "--", &program, "echo"]);
    let refused = |code: &str| {
        let mut host = Host::start(context.supervisor(&["run", "unapproved"]));
        let answer = host.initialize();
        assert_eq!(answer["error"]["data"]["code"], code, "{answer}");
        assert_eq!(host.end().0, 126);
    };
    refused("not-approved");
    let (code, _) = context.at_terminal(&["approve", "unapproved"], "n");
    assert_eq!(code, 126);
    refused("not-approved");
    let (code, _) = context.at_terminal(&["approve", "unapproved"], "y");
    assert_eq!(code, 0);
    // Another argument in the file is another server.
    let file = context.path("home/.supervisor/mcp.json");
    let text = fs::read_to_string(&file)
        .unwrap()
        .replace("\"echo\"", "\"flood\"");
    fs::write(&file, text).unwrap();
    refused("changed");
}

/// The server has its process, its orders and its root by the time that the audit log is opened.
#[test]
fn s1_nothing_runs_before_it_can_be_recorded() {
    for who in everybody() {
        unrecorded(who, &[], |context| context.supervisor(&["run", "probe"]));
    }
}

/// Likewise where the shim itself becomes the server.
#[test]
fn s1_nothing_runs_before_it_can_be_recorded_without_namespaces() {
    unrecorded(Who::Ordinary, &WITHOUT, |context| {
        context.without_namespaces(&["run", "probe"])
    });
}

fn unrecorded(who: Who, flags: &[&str], run: impl Fn(&TestContext) -> Command) {
    let context = TestContext::new(who);
    let notes = context.make_directory("work/notes");
    let flags = [&["--dir", notes.to_str().unwrap()], flags].concat();
    let probe = TestContext::program("fixture-probe");
    context.approved("probe", &flags, &[&probe, "make-directory", "@made"]);
    let audit = context.path("home/.supervisor/audit");
    if audit.exists() {
        fs::rename(&audit, context.path("home/.supervisor/aside")).unwrap();
    }
    fs::write(&audit, "").unwrap();
    for _ in 0..20 {
        let output = run(&context).output().unwrap();
        let said = crate::support::stderr(&output);
        assert!(
            !output.status.success() && said.contains("audit"),
            "{who:?}: {said}"
        );
        assert!(!notes.join("made").exists(), "{who:?}");
    }
    fs::remove_file(&audit).unwrap();
    let output = run(&context).output().unwrap();
    assert!(
        notes.join("made").exists(),
        "{who:?}: nor with a record: {output:?}"
    );
}

#[test]
fn s1_a_program_that_moved_or_changed_is_asked_about_again() {
    let context = TestContext::ordinary();
    let [old, new] = ["old", "new"].map(|name| context.make_directory(name));
    let install = |directory: &std::path::Path| {
        let program = directory.join("server");
        fs::copy(TestContext::program("fixture-server"), &program).unwrap();
        set_mode(&program, 0o755);
        program
    };
    install(&old);
    let with_path = |words: &[&str], directory: &std::path::Path| {
        let mut command = context.supervisor(words);
        command.env("PATH", format!("{}:/usr/bin:/bin", directory.display()));
        command
    };
    let add = with_path(&["add", "s", "--no-inspect", "--", "server", "echo"], &old);
    let (code, screen) = context.terminal(add, "y");
    assert_eq!(code, 0, "{screen}");

    fs::rename(&old, context.path("gone")).unwrap();
    install(&new);
    let mut host = Host::start(with_path(&["run", "s"], &new));
    let answer = host.initialize();
    assert_eq!(answer["error"]["data"]["code"], "program-not-found");
    assert_eq!(host.end().0, 127);

    let (_, screen) = context.terminal(with_path(&["approve", "s"], &new), "y");
    assert!(screen.contains("changed: program"), "{screen}");
    let mut host = Host::start(with_path(&["run", "s"], &new));
    assert!(host.initialize().get("result").is_some());
    host.end();

    // Another content: said at each start, and asked about again.
    let mut bytes = fs::read(new.join("server")).unwrap();
    bytes.push(0);
    fs::write(new.join("server"), bytes).unwrap();
    let mut host = Host::start(with_path(&["run", "s"], &new));
    host.initialize();
    let (_, words) = host.end();
    assert!(
        words.contains("is not the file that was approved"),
        "{words}"
    );
    let (_, screen) = context.terminal(with_path(&["approve", "s"], &new), "y");
    assert!(screen.contains("changed: program"), "{screen}");
    let mut host = Host::start(with_path(&["run", "s"], &new));
    host.initialize();
    let (_, words) = host.end();
    assert!(
        !words.contains("is not the file that was approved"),
        "{words}"
    );
}
