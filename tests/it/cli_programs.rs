//! PATH and the program. A test's name begins with its row.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use nix::sys::stat::{Mode, SFlag, mknod};
use nix::unistd::mkfifo;
use serde_json::Value;

use crate::judge::{done, printable, refused};
use crate::support::{Host, TestContext, Who, everybody, is_root, stderr, stdout};

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A program of this person's that writes a word into its working directory.
fn program(context: &TestContext, name: &str, text: &str) -> PathBuf {
    let path = context.make_file(name, text);
    set_mode(&path, 0o755);
    path
}

fn with_path(context: &TestContext, path: &str, words: &[&str]) -> Output {
    context
        .supervisor(words)
        .env("PATH", path)
        .output()
        .unwrap()
}

fn explained(context: &TestContext, path: &str, alias: &str) -> Value {
    let output = with_path(context, path, &["explain", alias, "--json"]);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)))
}

fn grants(explained: &Value) -> Vec<(String, String)> {
    let grants = explained["plan"]["grants"].as_array().unwrap().iter();
    grants
        .map(|grant| {
            (
                grant["path"].as_str().unwrap().to_owned(),
                grant["rights"].as_str().unwrap().to_owned(),
            )
        })
        .collect()
}

fn variable(explained: &Value, name: &str) -> Option<String> {
    let variables = explained["plan"]["variables"].as_array().unwrap();
    let found = variables.iter().find(|variable| variable["name"] == name)?;
    found["source"]["ours"].as_str().map(str::to_owned)
}

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
        let flat: String = screen.split_whitespace().collect::<Vec<_>>().join(" ");
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
        let flat: String = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in &named {
            assert!(flat.contains(words), "{argv:?}: {words}: {screen}");
        }
        let exact = argv.contains(&"thing@1.2.3");
        assert_eq!(flat.contains("names no exact version"), !exact, "{screen}");
    }
}

/// The real program is what is shown, hashed and approved.
#[test]
fn a_version_managers_stand_in_is_resolved_when_it_is_declared() {
    let context = TestContext::ordinary();
    for directory in [
        "",
        "/shims",
        "/versions",
        "/versions/1.2.3",
        "/versions/1.2.3/bin",
    ] {
        context.make_directory(&format!("home/.pyenv{directory}"));
    }
    let shim = program(&context, "home/.pyenv/shims/tool", "#!/bin/sh\nexit 9\n");
    context.make_file("home/.pyenv/version", "1.2.3\n");
    let real = context.make_file("home/.pyenv/versions/1.2.3/bin/tool", "");
    fs::copy(TestContext::program("fixture-server"), &real).unwrap();
    set_mode(&real, 0o755);
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
    context.make_file("home/.pyenv/version", "latest\n");
    let real = context.make_file("home/.pyenv/versions/1.2.3/bin/tool", "");
    fs::copy(TestContext::program("fixture-server"), &real).unwrap();
    set_mode(&real, 0o755);
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
    let mut command = std::process::Command::new("unshare");
    command.args([
        "-m",
        "sh",
        "-c",
        script,
        &TestContext::program("supervisor"),
    ]);
    command
        .env("AT", &mounted)
        .env("HOME", context.path("home"));
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
