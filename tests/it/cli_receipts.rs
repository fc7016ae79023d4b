//! The receipt of a run: what the shim reported as enforced is what `explain` said before.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::attack::WITHOUT;
use crate::schema;
use crate::support::{Host, TestContext, Who, everybody, stdout};

const SECRET: &str = "a-stored-value-that-nobody-shows";

/// Declares the bundled echo with these flags.
fn declared(who: Who, flags: &[&str]) -> TestContext {
    let context = TestContext::new(who);
    context.make_directory("work/notes");
    let program = TestContext::program("fixture-server");
    let stored = format!("KEY={SECRET}");
    let flags = [&["-e", &stored], flags].concat();
    context.approved("echo", &flags, &[&program, "echo"]);
    context
}

fn files(context: &TestContext) -> Vec<PathBuf> {
    let all = context.path("home/.supervisor/receipts");
    let mut found = Vec::new();
    for folder in fs::read_dir(all).into_iter().flatten().flatten() {
        found.extend(
            fs::read_dir(folder.path())
                .unwrap()
                .flatten()
                .map(|file| file.path()),
        );
    }
    found.retain(|path| path.extension().is_some_and(|end| end == "json"));
    found
}

fn only(context: &TestContext) -> Value {
    let files = files(context);
    let [file] = files.as_slice() else {
        panic!("one receipt: {files:?}");
    };
    assert_eq!(
        fs::metadata(file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let text = fs::read_to_string(file).unwrap();
    assert!(!text.contains(SECRET), "S4");
    let receipt = schema::check(&text);
    let run = receipt["run"].as_str().unwrap();
    let digest = receipt["digest"].as_str().unwrap();
    assert!(
        file.ends_with(format!("{}/{run}.json", &digest[..16])),
        "{file:?}"
    );
    receipt
}

fn said(mut explain: Command) -> Value {
    schema::check(&stdout(&explain.output().unwrap()))
}

fn ran(command: Command) -> i32 {
    let mut host = Host::start(command);
    host.initialize();
    host.end().0
}

#[test]
fn explain_before_and_the_receipt_after_agree_promise_by_promise() {
    let cases: [&[&str]; 4] = [
        &[],
        &["--net", "none"],
        &["--dir", "notes"],
        &["--without", "N2", "--net", "none"],
    ];
    for who in everybody() {
        for flags in cases {
            for namespaces in [true, false] {
                // Root starts nothing without namespaces; others only without what fails there.
                if !namespaces && who == Who::Root {
                    continue;
                }
                let given_up = ["--without", "P3,P6,P7,R1,R2,R5"];
                let more: &[&str] = if namespaces { &[] } else { &given_up };
                let flags = [flags, more].concat();
                let flags = flags.as_slice();
                let context = declared(who, flags);
                let supervisor = |words: &[&str]| {
                    if namespaces {
                        context.supervisor(words)
                    } else {
                        context.without_namespaces(words)
                    }
                };
                let before = said(supervisor(&["explain", "echo", "--json"]));
                assert_eq!(ran(supervisor(&["run", "echo"])), 0);
                let after = only(&context);
                let at = format!("{who:?} {flags:?} {namespaces}");
                assert_eq!(before["promises"], after["promises"], "{at}");
                assert_eq!(before["digest"], after["digest"], "{at}");
                assert_eq!(before["plan"]["limits"], after["limits"], "{at}");
                let claimed = !before["lowered"]["namespaces"].is_null();
                let own = after["namespaces"].as_array().unwrap();
                assert_eq!(claimed, !own.is_empty(), "{at}");
                let net = claimed && flags.contains(&"none");
                assert_eq!(own.contains(&json!("net")), net, "{at}");
            }
        }
    }
}

#[test]
fn it_says_what_ran_when_and_how_it_ended() {
    let context = declared(Who::Ordinary, &[]);
    let mut host = context.host("echo");
    host.initialize();
    host.end();
    let receipt = only(&context);
    assert_eq!(receipt["alias"], "echo");
    assert_eq!(receipt["exit"], json!({"code": 0}));
    assert_eq!(receipt["contacted"], json!([]));
    assert_eq!(
        receipt["program"]["found"],
        TestContext::program("fixture-server")
    );
    assert_eq!(receipt["program"]["sha256"].as_str().unwrap().len(), 64);
    let names = receipt["variables"].as_array().unwrap();
    assert!(
        names.contains(&json!("KEY")) && names.contains(&json!("HOME")),
        "{names:?}"
    );
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(receipt["kernel"], kernel.trim_end());
    assert!(receipt["started"].as_str() <= receipt["ended"].as_str());
    let program = TestContext::program("fixture-server");
    context.approved("fall", &WITHOUT, &[&program, "die", "9"]);
    // With namespaces their first process passes a signal on as 128 and its number.
    Host::start(context.without_namespaces(&["run", "fall"])).end();
    let text = files(&context)
        .iter()
        .map(|file| fs::read_to_string(file).unwrap())
        .find(|text| text.contains("\"fall\""))
        .unwrap();
    assert_eq!(schema::check(&text)["exit"], json!({"signal": 9}));
}

/// The run has one receipt, of the last start, under the name that the audit log has it by.
#[test]
fn a_run_whose_server_was_started_again_has_one_of_its_own_name() {
    for who in everybody() {
        let context = TestContext::new(who);
        let dir = context.make_directory("files");
        let program = TestContext::program("fixture-server");
        let flags = ["--dir", dir.to_str().unwrap()];
        context.offered("s", &flags, &[&program, "fall"]);
        let mut host = context.host("s");
        host.initialize();
        for _ in 0..2 {
            let call = |host: &mut Host, tool| {
                host.request("tools/call", &json!({"name": tool, "arguments": {}}))
            };
            call(&mut host, "go");
            assert!(call(&mut host, "echo")["result"].is_object());
        }
        fs::write(dir.join(".mcp.json"), "{}").unwrap();
        assert_eq!(host.end().0, 0);
        let receipt = only(&context);
        assert_eq!(receipt["exit"], json!({"code": 0}));
        assert_eq!(receipt["found_files"][0]["change"], "created");
        let explained = said(context.supervisor(&["explain", "s", "--json"]));
        assert_eq!(receipt["promises"], explained["promises"]);
        let log = fs::read_to_string(context.path("home/.supervisor/audit/000001.jsonl")).unwrap();
        let lines: Vec<Value> = log
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert!(lines.iter().all(|line| line["run"] == receipt["run"]));
        let starts = lines.iter().filter(|line| line["event"] == "start");
        assert_eq!(starts.count(), 3);
    }
}

#[test]
fn a_run_that_never_started_has_none() {
    let context = declared(Who::Ordinary, &[]);
    let file = context.path("work/receipt.json");
    let flag = file.to_str().unwrap();
    let run = ["run", "echo", "--digest", "00000000", "--receipt", flag];
    assert_eq!(context.run(&run).status.code(), Some(126));
    assert!(!file.exists() && files(&context).is_empty());
}

#[test]
fn it_goes_where_the_caller_says_and_nothing_is_kept_of_an_ephemeral_run() {
    for who in everybody() {
        let context = declared(who, &[]);
        let file = context.path("work/receipt.json");
        fs::write(&file, "replaced").unwrap();
        let flag = file.to_str().unwrap();
        let before = crate::judge::picture(&context.path("home/.supervisor"));
        // A descriptor that the shell opened, as a host leaves one open.
        let opened = context.path("work/opened");
        let mut command = context.command("/bin/sh");
        command.args([
            "-c",
            "exec 7>\"$0\"; exec \"$@\"",
            opened.to_str().unwrap(),
            &TestContext::program("supervisor"),
        ]);
        command.args([
            "run",
            "echo",
            "--ephemeral",
            "--receipt",
            flag,
            "--receipt-fd",
            "7",
        ]);
        assert_eq!(ran(command), 0);
        let text = fs::read_to_string(&file).unwrap();
        schema::check(&text);
        assert_eq!(text, fs::read_to_string(&opened).unwrap());
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let after = crate::judge::picture(&context.path("home/.supervisor"));
        assert_eq!(before, after);
    }
}

#[test]
fn a_descriptor_of_any_kind_gets_it_and_the_server_does_not_get_the_descriptor() {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    let context = TestContext::ordinary();
    let probe = TestContext::program("fixture-probe");
    context.approved("probe", &[], &[&probe, "descriptors"]);
    // As node makes the pipes of a child: a socket. The shell moves it from 2, where it can be
    // handed over, to 7.
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let mut command = context.command("/bin/sh");
    command.args(["-c", "exec 7>&2 2>/dev/null; exec \"$@\"", "sh"]);
    command.arg(TestContext::program("supervisor"));
    command.args(["run", "probe", "--receipt-fd", "7"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(OwnedFd::from(theirs)).spawn().unwrap();
    drop(command);
    let mut verdict = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut verdict)
        .unwrap();
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let verdict: Value = serde_json::from_str(&verdict).unwrap();
    assert_eq!(verdict["params"]["got"], json!(false), "{verdict}");
    let mut text = String::new();
    ours.read_to_string(&mut text).unwrap();
    assert_eq!(schema::check(&text)["alias"], "probe");
}

#[test]
fn where_it_cannot_be_written_nothing_starts() {
    let context = declared(Who::Ordinary, &[]);
    let work = context.path("work");
    for words in [
        &["--receipt", "missing/receipt.json"][..],
        &["--receipt", work.to_str().unwrap()],
        &["--receipt", "/dev/null"],
        // No test leaves one of that number open to what another starts.
        &["--receipt-fd", "1000"],
    ] {
        let words = [&["run", "echo"], words].concat();
        crate::judge::refused(&context.run(&words), 125, "receipt-unwritable");
    }
    for number in ["0", "2", "-1", "x"] {
        let output = context.run(&["run", "echo", &format!("--receipt-fd={number}")]);
        assert_eq!(output.status.code(), Some(2), "{number}");
    }
    assert!(files(&context).is_empty());
}

#[test]
fn who_reads_nothing_does_not_hold_up_the_end() {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    use std::io::{PipeWriter, Write};
    use std::os::fd::AsFd;
    /// Writes until nothing more goes in.
    fn fill(pipe: &mut PipeWriter) {
        fcntl(pipe.as_fd(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
        while pipe.write(&[b'x'; 4096]).is_ok() {}
        fcntl(pipe.as_fd(), FcntlArg::F_SETFL(OFlag::empty())).unwrap();
    }
    let context = TestContext::ordinary();
    let notes = context.make_directory("work/notes");
    let probe = TestContext::program("fixture-probe");
    let flags = ["--dir", notes.to_str().unwrap()];
    context.approved("probe", &flags, &[&probe, "make-directory", "@.git"]);
    let (_unread, mut full) = std::io::pipe().unwrap();
    fill(&mut full);
    let mut command = context.command("/bin/sh");
    command.args(["-c", "exec 7>&2; exec \"$@\"", "sh"]);
    command.arg(TestContext::program("supervisor"));
    command.args(["run", "probe", "--receipt-fd", "7"]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(full);
    let mut child = command.spawn().unwrap();
    let ended = (0..600).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        child.try_wait().unwrap()
    });
    let _ = child.kill();
    assert_eq!(
        ended.expect("it ends").code(),
        Some(125),
        "the receipt was asked for"
    );
    assert_eq!(
        only(&context)["found_repositories"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn the_last_twenty_are_kept_and_prune_takes_those_of_what_is_gone() {
    let context = declared(Who::Ordinary, &[]);
    for _ in 0..22 {
        assert_eq!(ran(context.supervisor(&["run", "echo"])), 0);
    }
    assert_eq!(files(&context).len(), 20);
    assert!(context.run(&["remove", "echo"]).status.success());
    assert_eq!(files(&context).len(), 20, "remove takes what the spec says");
    assert!(context.run(&["prune", "--yes"]).status.success());
    assert!(files(&context).is_empty());
}

#[test]
fn list_names_a_receipt_that_is_none() {
    let context = declared(Who::Ordinary, &[]);
    assert_eq!(ran(context.supervisor(&["run", "echo"])), 0);
    let file = &files(&context)[0];
    fs::write(file, "{").unwrap();
    let output = context.run(&["list"]);
    assert_eq!(output.status.code(), Some(1));
    let said = crate::support::stderr(&output).replace("\n  ", " ");
    assert!(said.contains("is no receipt"), "{said}");
}
