#![expect(clippy::disallowed_methods, reason = "tests lay files out")]

use super::*;
use crate::plan::identity::{Identity, identity, stat_only};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use tempfile::TempDir;

struct Tree(
    #[expect(dead_code, reason = "kept as long as the test runs")] TempDir,
    PathBuf,
);

impl Tree {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().canonicalize().unwrap();
        fs::create_dir(path.join("bin")).unwrap();
        Self(base, path)
    }
    fn at(&self, path: &str) -> PathBuf {
        self.1.join(path)
    }
    fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }
    fn search(&self) -> SearchPath {
        SearchPath(vec![self.at("bin"), "/usr/bin".into(), "/bin".into()])
    }
    fn find(&self, command: &str) -> Result<Program, PlanError> {
        find(command, &self.search())
    }
    fn why(&self, path: &str) -> String {
        self.find(self.at(path).to_str().unwrap())
            .unwrap_err()
            .to_string()
    }
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_binary_is_executed_where_its_links_lead_and_named_as_declared() {
    let tree = Tree::new();
    symlink("/bin/sh", tree.at("hop")).unwrap();
    symlink(tree.at("hop"), tree.at("bin/mysh")).unwrap();
    let program = tree.find("mysh").unwrap();
    assert_eq!(program.found, tree.at("bin/mysh"));
    assert_eq!(program.resolved, fs::canonicalize("/bin/sh").unwrap());
    assert_eq!(program.exec, program.resolved);
    assert_eq!(program.prefix, ["mysh"]);
    assert!(
        program
            .links
            .starts_with(&[tree.at("bin/mysh"), tree.at("hop")]),
        "{:?}",
        program.links
    );
    assert_eq!(
        program.unchanged(),
        [(program.exec.clone(), stat_only(&program.exec).unwrap())]
    );
    assert!(!program.is_script());
}

#[test]
fn a_script_is_given_to_its_interpreter_as_the_kernel_would() {
    let tree = Tree::new();
    let script = tree.file("app/run", "#!/bin/sh -e  x\n");
    symlink(&script, tree.at("bin/run")).unwrap();
    let program = tree.find("run").unwrap();
    assert_eq!(program.exec, fs::canonicalize("/bin/sh").unwrap());
    assert_eq!(
        program.prefix,
        [
            "/bin/sh".to_owned(),
            "-e  x".into(),
            text(&tree.at("bin/run"))
        ]
    );
    assert_eq!(program.resolved, script);
    let compared = program.unchanged();
    assert_eq!(
        compared[0],
        (tree.at("bin/run"), stat_only(&script).unwrap())
    );
    assert_eq!(compared[1].0, program.exec);
    assert_eq!(program.stat(), Some(stat_only(&script).unwrap()));
}

/// The command line that the plan makes is the one that the kernel makes.
/// What it says. A process that another test forked meanwhile may hold what was written open for a
/// moment, until it executes something.
fn output(command: &mut std::process::Command) -> std::io::Result<std::process::Output> {
    loop {
        match command.output() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                std::thread::yield_now();
            }
            output => return output,
        }
    }
}

#[test]
fn scripts_nest_as_in_the_kernel() {
    let tree = Tree::new();
    let outer = tree.file("shout", "#!/bin/sh -u\nprintf '%s\\n' \"$0\" \"$@\"\n");
    let middle = tree.file("middle", &format!("#!{} one  two\n", outer.display()));
    let inner = tree.file("inner", &format!("#!{}\n", middle.display()));
    let program = tree.find(&text(&inner)).unwrap();
    let expected = [
        "/bin/sh",
        "-u",
        &text(&outer),
        "one  two",
        &text(&middle),
        &text(&inner),
    ];
    assert_eq!(program.prefix, expected);
    let said = output(std::process::Command::new(&inner).arg("last")).unwrap();
    let expected: Vec<&str> = expected[2..].iter().copied().chain(["last"]).collect();
    assert_eq!(
        String::from_utf8(said.stdout)
            .unwrap()
            .lines()
            .collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn nesting_ends_where_the_kernel_ends() {
    let tree = Tree::new();
    let mut last = PathBuf::from("/bin/sh");
    for number in 0..6 {
        last = tree.file(
            &format!("script-{number}"),
            &format!("#!{}\n", last.display()),
        );
    }
    assert!(tree.find(&text(&tree.at("script-4"))).is_ok());
    assert!(output(&mut std::process::Command::new(tree.at("script-4"))).is_ok());
    assert!(
        tree.why("script-5")
            .contains("further than the kernel goes")
    );
    assert!(output(&mut std::process::Command::new(tree.at("script-5"))).is_err());
    let own = tree.file("own", &format!("#!{}\n", tree.at("own").display()));
    assert!(tree.find(&text(&own)).is_err());
}

#[test]
fn what_env_finds_is_followed_and_env_is_executed() {
    let tree = Tree::new();
    let real = tree.file("tool/bin/interp", "#!/bin/sh\n");
    symlink(&real, tree.at("bin/interp")).unwrap();
    let script = tree.file("app/cli.js", "#!/usr/bin/env interp\n");
    let program = tree.find(&text(&script)).unwrap();
    assert_eq!(program.exec, fs::canonicalize("/usr/bin/env").unwrap());
    assert_eq!(
        program.prefix,
        ["/usr/bin/env".to_owned(), "interp".into(), text(&script)]
    );
    assert!(program.files.contains(&real) && program.links.contains(&tree.at("bin/interp")));
    assert!(
        !program
            .unchanged()
            .iter()
            .any(|(path, _)| path.starts_with(tree.at("tool")))
    );

    tree.file("app/gone", "#!/usr/bin/env no-such-interpreter\n");
    let error = tree.find(&text(&tree.at("app/gone"))).unwrap_err();
    assert!(
        matches!(error, PlanError::ProgramNotFound { program } if program == "no-such-interpreter")
    );
    tree.file("bin/circle", "#!/usr/bin/env circle\n");
    assert!(matches!(
        tree.find("circle"),
        Err(PlanError::ProgramUnusable { .. })
    ));
}

#[test]
fn what_could_not_run_is_refused_with_the_reason() {
    let tree = Tree::new();
    fs::create_dir(tree.at("directory")).unwrap();
    mkfifo(&tree.at("fifo"), Mode::from_bits_truncate(0o777)).unwrap();
    symlink("fifo", tree.at("to-fifo")).unwrap();
    symlink("/dev/null", tree.at("device")).unwrap();
    symlink("circle", tree.at("circle")).unwrap();
    fs::write(tree.at("plain"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(tree.at("plain"), fs::Permissions::from_mode(0o644)).unwrap();
    tree.file("text", "echo hello\n");
    tree.file("crlf", "#!/bin/sh\r\n");
    tree.file("relative", "#!sh\n");
    tree.file("no-interpreter", "#!/no/such/interpreter\n");
    tree.file("empty", "");
    for (path, why) in [
        ("directory", "directory"),
        ("fifo", "FIFO"),
        ("to-fifo", "FIFO"),
        ("device", "device"),
        ("circle", "circle"),
        ("plain", "not executable"),
        ("text", "format"),
        ("crlf", "CR LF"),
        ("relative", "relative"),
        (
            "no-interpreter",
            "/no/such/interpreter: a script's first line names it",
        ),
        ("empty", "empty"),
    ] {
        let said = tree.why(path);
        assert!(
            said.starts_with("cannot run") && said.contains(why),
            "{path}: {said}"
        );
    }
    for gone in [
        text(&tree.at("gone")),
        text(&tree.at("empty/x")),
        "no-such-program".into(),
        String::new(),
    ] {
        match tree.find(&gone) {
            Err(PlanError::ProgramNotFound { program }) => assert_eq!(program, gone),
            other => panic!("{gone}: {other:?}"),
        }
    }
    for relative in ["./x", "bin/x", "../x"] {
        assert!(
            matches!(tree.find(relative), Err(PlanError::ProgramUnusable { .. })),
            "{relative}"
        );
    }
}

#[test]
fn a_file_along_path_that_is_not_executable_is_passed_over() {
    let tree = Tree::new();
    fs::write(tree.at("bin/true"), "").unwrap();
    assert_ne!(tree.find("true").unwrap().found, tree.at("bin/true"));
}

#[test]
fn without_a_search_path_nothing_is_found_by_name() {
    let tree = Tree::new();
    let none = SearchPath::default();
    for name in ["sh", "bin", "init", "etc"] {
        assert!(
            matches!(find(name, &none), Err(PlanError::ProgramNotFound { .. })),
            "{name}"
        );
    }
    let script = tree.file("app/cli.js", "#!/usr/bin/env no-such-interpreter\n");
    assert_eq!(
        find(&text(&script), &none).unwrap().prefix[1],
        "no-such-interpreter"
    );
}

#[test]
fn commands_are_made_absolute_where_they_are_declared() {
    let tree = Tree::new();
    fs::create_dir(tree.at("app")).unwrap();
    symlink("app", tree.at("link")).unwrap();
    let made = |command: &str| absolute(command, &tree.at("link")).unwrap();
    assert_eq!(made("name"), "name");
    assert_eq!(made("/abs/x"), "/abs/x");
    assert_eq!(made("./x"), text(&tree.at("app/x")));
    assert_eq!(made("../bin/x"), text(&tree.at("bin/x")));
    assert_eq!(made("new/x"), text(&tree.at("app/new/x")));
}

#[test]
fn an_identity_holds_content_and_fields() {
    let tree = Tree::new();
    let file = tree.file("file", "abc");
    let first = identity(&file).unwrap();
    assert_eq!(
        first.sha256,
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
    assert_eq!(first.stat, stat_only(&file).unwrap());
    assert_eq!(first.stat, Stat::of(&nix::sys::stat::stat(&file).unwrap()));
    tree.file("new", "abc");
    fs::rename(tree.at("new"), &file).unwrap();
    let second = identity(&file).unwrap();
    assert_eq!(second.sha256, first.sha256);
    assert_ne!(second.stat, first.stat);
    let json = serde_json::to_string(&second).unwrap();
    assert_eq!(serde_json::from_str::<Identity>(&json).unwrap(), second);
    mkfifo(&tree.at("fifo"), Mode::from_bits_truncate(0o777)).unwrap();
    assert!(identity(&tree.at("fifo")).is_err());
}
