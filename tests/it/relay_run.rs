//! What the relay sees of a server through the stages that started it, and what it has kept of it.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::attack::WITHOUT;
use crate::support::{Host, TestContext, Who, everybody, stderr, stdout};

/// A server that closes its output and lives on: the pipe must end with it, though others on the
/// way to the server had it too.
#[test]
fn a_server_that_closes_its_output_is_seen_to_do_so() {
    let program = TestContext::program("fixture-server");
    for who in everybody() {
        let context = TestContext::new(who);
        context.offered("s", &[], &[&program, "close-stdout"]);
        context.offered("w", &WITHOUT, &[&program, "close-stdout"]);
        let mut commands = vec![context.supervisor(&["run", "s"])];
        if who == Who::Ordinary {
            commands.push(context.without_namespaces(&["run", "w"]));
        }
        for command in commands {
            let mut host = Host::start(command);
            host.initialize();
            let answer = call(&mut host, "go");
            assert_eq!(answer["error"]["data"]["code"], "server-ended", "{answer}");
            // It is ended for that, and started again.
            assert!(call(&mut host, "echo")["result"].is_object());
            let (code, words) = host.end();
            assert_eq!(code, 0, "{words}");
        }
    }
}

fn call(host: &mut Host, tool: &str) -> Value {
    host.request(
        "tools/call",
        &json!({"name": tool, "arguments": {"city": "Paris-x7"}}),
    )
}

fn lines(context: &TestContext, words: &[&str]) -> Vec<Value> {
    let output = context.run(&[&["audit", "--json"], words].concat());
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&shown["schema"], &shown["unreadable"]),
        (&json!("supervisor.audit.v1"), &json!(0))
    );
    shown["lines"].as_array().unwrap().clone()
}

#[test]
fn a_server_that_died_is_confined_again_and_hears_the_hosts_words() {
    let program = TestContext::program("fixture-server");
    for who in everybody() {
        let context = TestContext::new(who);
        let limit = ["--limit", "processes=32"];
        context.offered("s", &limit, &[&program, "fall"]);
        context.offered("w", &[&limit[..], &WITHOUT].concat(), &[&program, "fall"]);
        let mut commands = vec![context.supervisor(&["run", "s"])];
        if who == Who::Ordinary {
            commands.push(context.without_namespaces(&["run", "w"]));
        }
        let runs = commands.len();
        for command in commands {
            let mut host = Host::start(command);
            host.initialize();
            for _ in 0..2 {
                let answer = call(&mut host, "go");
                assert_eq!(answer["error"]["data"]["code"], "server-ended", "{answer}");
                assert!(call(&mut host, "echo")["result"].is_object());
            }
            let (code, words) = host.end();
            assert_eq!(code, 0, "{words}");
        }
        let restarts: Vec<u64> = lines(&context, &[])
            .iter()
            .filter(|line| line["event"] == "start")
            .map(|line| line["restart"].as_u64().unwrap())
            .collect();
        assert_eq!(restarts, [0, 1, 2].repeat(runs));
    }
}

/// G1, again at every start: a server that makes a repository in its directory and dies is not
/// started with that directory again.
#[test]
fn g1_a_repository_made_meanwhile_keeps_a_server_from_being_started_again() {
    let context = TestContext::ordinary();
    let dir = context.make_directory("files");
    let program = TestContext::program("fixture-server");
    context.offered("s", &["--dir", dir.to_str().unwrap()], &[&program, "git"]);
    let mut host = context.host("s");
    host.initialize();
    assert_eq!(call(&mut host, "go")["error"]["data"]["exit"], 5);
    let answer = call(&mut host, "echo");
    assert_eq!(answer["error"]["data"]["code"], "dir-refused", "{answer}");
    let (code, words) = host.wait();
    assert_eq!(code, 126, "{words}");
    let events: Vec<Value> = lines(&context, &[])
        .iter()
        .map(|line| line["event"].clone())
        .collect();
    let want = ["start", "fault", "call", "refused", "call", "stop"];
    assert_eq!(events, want);
}

/// S1: what was approved at the first start and is not any more.
#[test]
fn s1_a_declaration_changed_meanwhile_is_not_started() {
    let context = TestContext::ordinary();
    let program = TestContext::program("fixture-server");
    context.offered("s", &[], &[&program, "leave"]);
    let mut host = context.host("s");
    host.initialize();
    context.offered("s", &[], &[&program, "echo"]);
    call(&mut host, "go");
    let answer = call(&mut host, "echo");
    assert_eq!(
        answer["error"]["data"]["code"], "digest-differs",
        "{answer}"
    );
    assert_eq!(host.wait().0, 126);
}

#[test]
fn a_locked_server_is_started_anew_for_a_host_that_turns_to_the_other_era() {
    for who in everybody() {
        let context = TestContext::new(who);
        let program = TestContext::program("fixture-server");
        context.offered("s", &[], &[&program, "era", "dual"]);
        let mut host = context.host("s");
        assert!(host.request("server/discover", &json!({}))["result"].is_object());
        host.initialize();
        let answer = call(&mut host, "echo");
        assert_eq!(answer["result"]["content"][0]["text"], "legacy");
        assert_eq!(host.end().0, 0);
    }
}

/// The second question reads both eras in throw-away children, so the first run knows.
#[test]
fn a_server_that_is_silent_on_discover_costs_a_host_nothing_once_its_surface_was_read() {
    let context = TestContext::ordinary();
    let program = TestContext::program("fixture-server");
    let words = ["add", "s", "--", &*program, "leave-discover"];
    let (code, screen) = context.at_terminal(&words, "y");
    assert_eq!(code, 0, "{screen}");
    let mut host = context.host("s");
    assert_eq!(
        host.request("server/discover", &json!({}))["error"]["code"],
        -32_601
    );
    assert!(host.initialize()["result"].is_object());
    assert_eq!(host.end().0, 0);
    let starts = lines(&context, &[])
        .iter()
        .filter(|line| line["event"] == "start")
        .count();
    assert_eq!(starts, 1, "the server never heard of it");
}

#[test]
fn the_breaker_outlives_a_run_and_one_record_that_does_not_read_refuses_the_next() {
    let context = TestContext::ordinary();
    let program = TestContext::program("fixture-server");
    context.offered("s", &[], &[&program, "fail"]);
    for _ in 0..3 {
        let mut host = context.host("s");
        host.initialize();
        assert_eq!(call(&mut host, "go")["error"]["code"], -32_603);
        host.end();
    }
    let mut host = context.host("s");
    host.initialize();
    let refused = call(&mut host, "echo");
    let facts = &refused["result"]["_meta"]["supervisor/refusal"];
    assert_eq!(
        (&facts["layer"], &facts["retry_will_succeed"]),
        (&json!("breaker"), &json!(false))
    );
    host.end();
    let folder = context.path("home/.supervisor/breaker");
    let file = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_str().unwrap().len() > 70);
    fs::write(file.unwrap(), "{").unwrap();
    let mut host = context.host("s");
    let answer = host.request("initialize", &json!({}));
    assert_eq!(
        answer["error"]["data"]["code"], "record-unreadable",
        "{answer}"
    );
    assert_eq!(host.end().0, 126);
}

#[test]
fn the_log_tells_what_happened_and_never_an_argument_unless_asked() {
    let context = TestContext::ordinary();
    let program = TestContext::program("fixture-server");
    context.offered("s", &["-e", "TOKEN=secret-q9"], &[&program, "fail"]);
    let mut host = context.host("s");
    host.initialize();
    call(&mut host, "echo");
    call(&mut host, "go");
    host.end();
    let all = lines(&context, &[]);
    let events: Vec<&str> = all
        .iter()
        .map(|line| line["event"].as_str().unwrap())
        .collect();
    assert_eq!(events, ["start", "call", "call", "stop"]);
    let calls = lines(
        &context,
        &[
            "--tool",
            "e*",
            "--outcome",
            "ok",
            "--alias",
            "s",
            "--since",
            "1h",
        ],
    );
    assert_eq!((calls.len(), &calls[0]["tool"]), (1, &json!("echo")));
    assert_eq!(calls[0]["arguments_sha256"].as_str().unwrap().len(), 64);
    assert!(lines(&context, &["--alias", "other"]).is_empty());
    let log = context.path("home/.supervisor/audit/000001.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    assert!(
        !text.contains("Paris-x7") && !text.contains("secret-q9"),
        "{text}"
    );
    // The declaration asks for them.
    let file = context.path("home/.supervisor/mcp.json");
    let declared = fs::read_to_string(&file).unwrap();
    fs::write(
        &file,
        declared.replacen("\"args\"", "\"audit_arguments\": true,\n      \"args\"", 1),
    )
    .unwrap();
    let mut host = context.host("s");
    host.initialize();
    call(&mut host, "echo");
    host.end();
    let asked = lines(&context, &["--tool", "echo"]);
    assert_eq!(asked[1]["arguments"], json!({"city": "Paris-x7"}));
    assert!(!fs::read_to_string(&log).unwrap().contains("secret-q9"));
}

/// What was recorded last is in `head` without another message, and before the run ends: what is
/// cut off after it is found.
#[test]
fn the_head_of_the_log_follows_while_nothing_else_happens() {
    let context = TestContext::ordinary();
    let program = TestContext::program("fixture-server");
    context.offered("s", &[], &[&program]);
    let mut host = context.host("s");
    host.initialize();
    call(&mut host, "echo");
    let head = context.path("home/.supervisor/audit/head");
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let said: Value = serde_json::from_str(&fs::read_to_string(&head).unwrap()).unwrap();
        if said["seq"] == 2 {
            break;
        }
        assert!(Instant::now() < until, "{said}");
        sleep(Duration::from_millis(20));
    }
    host.end();
}

/// Their lines are written when their turns end, and need nothing else to happen.
#[test]
fn of_many_calls_at_once_every_one_is_in_the_log_of_a_run_that_is_killed() {
    const CALLS: usize = 300;
    let context = TestContext::ordinary();
    let program = TestContext::program("fixture-server");
    context.offered("s", &[], &[&program]);
    let mut host = context.host("s");
    host.initialize();
    let call = |id: usize| {
        let params = json!({"name": "echo", "arguments": {"n": id}});
        format!(
            "{}\n",
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
        )
    };
    let calls: String = (1_000..1_000 + CALLS).map(call).collect();
    host.write(calls.as_bytes());
    for _ in 0..CALLS {
        assert!(host.message()["result"].is_object());
    }
    let until = Instant::now() + Duration::from_secs(60);
    while lines(&context, &["--tool", "echo"]).len() < CALLS {
        assert!(Instant::now() < until, "lines are missing");
        sleep(Duration::from_millis(20));
    }
    host.kill();
    let output = context.run(&["audit", "verify"]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_log_that_was_cut_or_edited_is_found_and_named() {
    let context = TestContext::ordinary();
    let program = TestContext::program("fixture-server");
    context.offered("s", &[], &[&program]);
    let mut host = context.host("s");
    host.initialize();
    call(&mut host, "echo");
    host.end();
    let output = context.run(&["audit", "verify"]);
    assert_eq!(
        (output.status.code(), &*stdout(&output)),
        (Some(0), "the log is whole: 3 lines\n")
    );
    let log = context.path("home/.supervisor/audit/000001.jsonl");
    let whole = fs::read_to_string(&log).unwrap();
    for (text, place) in [
        (
            whole.replace("\"tool\":\"echo\"", "\"tool\":\"nope\""),
            "000001.jsonl:2: this line was changed",
        ),
        (
            whole
                .lines()
                .take(2)
                .map(|line| format!("{line}\n"))
                .collect(),
            "000001.jsonl:2: the log ends with line 2, and 3 were written",
        ),
        (
            whole
                .lines()
                .skip(1)
                .map(|line| format!("{line}\n"))
                .collect(),
            "000001.jsonl:1: the log begins with line 2",
        ),
    ] {
        fs::write(&log, text).unwrap();
        let output = context.run(&["audit", "verify"]);
        assert_eq!(output.status.code(), Some(1));
        let said = stderr(&output).replace("\n  ", " ");
        assert!(said.contains(place), "{said}");
    }
}

#[test]
fn an_ephemeral_run_keeps_nothing() {
    let context = TestContext::ordinary();
    let program = TestContext::program("fixture-server");
    context.offered("s", &[], &[&program, "fail"]);
    let names = || {
        let mut names: Vec<String> = fs::read_dir(context.path("home/.supervisor"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let before = names();
    let mut host = Host::start(context.supervisor(&["run", "--ephemeral", "s"]));
    host.initialize();
    call(&mut host, "go");
    host.end();
    assert_eq!(names(), before);
}
