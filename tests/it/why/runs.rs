//! What is shown of runs: the page, the last runs, what runs now; and that watching loosens nothing.

use super::*;

#[test]
fn words_on_standard_output() {
    let context = TestContext::ordinary();
    python(
        &context,
        &[],
        "print('Starting server…')\nprint('listening on port 3000')\nsys.exit(1)",
    );
    let report = why(&context);
    let found = causes(&report);
    assert_eq!(found.len(), 1, "{report:#}");
    assert_eq!(found[0].0, "output");
}

#[test]
fn a_server_that_works() {
    let context = TestContext::ordinary();
    python(&context, &[], "");
    let report = why(&context);
    assert_eq!(
        (&report["works"], &report["command"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(causes(&report), []);
}

/// What a person reads: nothing wider than the page but what is to be copied.
#[test]
fn the_page() {
    let context = TestContext::ordinary();
    let file = text(&context.make_file("outside/config.toml", "x"));
    python(&context, &[], &format!("open('{file}')"));
    let page = stdout(&context.run(&["why", "x"]));
    for want in [
        "why\n",
        "granted by: --read ",
        "the last it said",
        "  supervisor set x --read ",
    ] {
        assert!(page.contains(want), "{want}: {page}");
    }
    let copied = |line: &&str| line.contains("granted by: ") || line.starts_with("  supervisor ");
    for line in page.lines().filter(|line| !copied(line)) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    python(&context, &["--read", &file], "");
    let page = stdout(&context.run(&["why", "x"]));
    assert!(page.contains("comes up and says what it offers"), "{page}");
}

/// What is refused at a call is not seen at the start; what its last run said of it is.
#[test]
fn a_run_that_failed_before() {
    let context = TestContext::ordinary();
    let mark = context.path("outside/mark");
    python(
        &context,
        &["--read", &text(&context.make_file("outside/mark", "1"))],
        &format!(
            "open('{}').read() == '1' and os.environ['LATE_KEY']",
            mark.display()
        ),
    );
    assert!(!works(&context));
    fs::write(&mark, "2").unwrap();
    let report = why(&context);
    assert_eq!(report["works"], json!(true));
    assert_eq!(report["last_run"]["exit"], json!({"code": 1}));
    let found = causes(&report);
    assert_eq!(found.len(), 1, "{report:#}");
    assert_eq!(found[0].2, ["-e", "LATE_KEY=-"]);
}

/// As root, where the server has an id of its own, and on a machine that refuses namespaces,
/// where the server is a child of the process that starts it.
#[test]
fn whoever_asks_and_wherever() {
    for who in everybody() {
        let context = TestContext::new(who);
        let file = text(&context.make_file("outside/config.toml", "x"));
        python(&context, &[], &format!("open('{file}')"));
        let report = why(&context);
        let flags = vec!["--read".to_owned(), file.clone()];
        let want = ("path".to_owned(), file.clone(), flags);
        assert_eq!(causes(&report), [want], "{who:?} {report:#}");
        give(&context, &report);
        if who == Who::Ordinary {
            let context = TestContext::new(who);
            let file = text(&context.make_file("outside/config.toml", "x"));
            python(
                &context,
                &WITHOUT,
                &format!("os.system('true')\nopen('{file}')"),
            );
            let mut command = context.without_namespaces(&["why", "x", "--json"]);
            let output = command.output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
            let report = schema::check(&stdout(&output));
            assert_eq!(report["unseen"], Value::Null, "{report:#}");
            let found = causes(&report);
            assert_eq!(found.len(), 1, "{report:#}");
            assert_eq!(found[0].2, ["--read", &file], "{report:#}");
            assert!(
                report["trouble"].to_string().contains("exited with code 1"),
                "{report:#}"
            );
        }
    }
}

/// A run that ends badly says where to look, keeps what the server said, and no value of its.
#[test]
fn the_words_of_the_last_runs() {
    let context = TestContext::ordinary();
    let first = "print('banner')\nsys.exit('the key is ' + os.environ['KEY'] + ', path ' + os.environ['PLACE'])";
    python(
        &context,
        &["-e", "KEY=hunter-22", "PLACE=/usr/share"],
        first,
    );
    let mut host = context.host("x");
    let (code, words) = host.wait();
    assert_eq!(code, 1);
    assert!(words.contains("supervisor why x"), "{words}");
    let output = context.run(&["logs", "x", "--json"]);
    let logs = schema::check(&stdout(&output));
    let runs = logs["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1, "{logs:#}");
    assert_eq!(runs[0]["exit"], json!({"code": 1}));
    assert_eq!(
        runs[0]["lines"],
        json!(["(stdout) banner", "the key is [KEY], path /usr/share"])
    );
    for text in [
        stdout(&context.run(&["logs", "x"])),
        why(&context).to_string(),
    ] {
        assert!(text.contains("[KEY]") && !text.contains("hunter"), "{text}");
    }
    for _ in 0..12 {
        context.host("x").end();
    }
    let logs = context.run(&["logs", "x", "--json", "--runs", "99"]);
    let logs = schema::check(&stdout(&logs));
    assert_eq!(logs["runs"].as_array().unwrap().len(), 10);
}

#[test]
fn what_runs_now() {
    let context = TestContext::ordinary();
    let rows = || {
        let output = context.run(&["ps", "--json"]);
        let running = schema::check(&stdout(&output));
        running["servers"].as_array().unwrap().clone()
    };
    python(&context, &[], "");
    assert!(rows().is_empty());
    let mut host = context.host("x");
    host.initialize();
    let found = rows();
    assert_eq!(found.len(), 1, "{found:#?}");
    let row = &found[0];
    assert_eq!(
        (&row["alias"], &row["command"]),
        (&json!("x"), &json!("run"))
    );
    assert_eq!(row["supervisor"], json!(host.id()));
    assert_eq!(row["processes"], json!(1));
    assert!(row["memory_bytes"].as_u64().unwrap() > 1 << 20, "{row:#}");
    let confined = row["confined_by"].to_string();
    for word in [
        "processes of its own",
        "no new privileges",
        "no capabilities",
        "filters",
    ] {
        assert!(confined.contains(word), "{confined}");
    }
    let line = fs::read(format!("/proc/{}/cmdline", row["process"])).unwrap();
    assert!(String::from_utf8_lossy(&line).contains("x.py"));
    assert!(stdout(&context.run(&["ps"])).contains("confined by"));
    host.end();
    assert!(rows().is_empty());
}

/// The run is watched and not loosened: the server sees no tracer, and what is refused stays so.
#[test]
fn nothing_is_loosened_for_it() {
    let context = TestContext::ordinary();
    let secret = text(&context.make_file("outside/secret", "x"));
    python(
        &context,
        &[],
        &format!(
            "status = open('/proc/self/status').read()\ntry:\n    open('{secret}')\n    sys.exit('read it')\nexcept OSError: pass\n\
             print(*[line for line in status.splitlines() if line.split(':')[0] in ('TracerPid', 'NoNewPrivs', 'CapEff', 'Seccomp')], file=sys.stderr)\nsys.exit(4)"
        ),
    );
    let report = why(&context);
    let said = report["said"].to_string();
    assert!(
        said.contains("NoNewPrivs:\\t1") || said.contains("NoNewPrivs:\\\\t1"),
        "{said}"
    );
    assert!(
        said.contains("Seccomp:\\t2") || said.contains("Seccomp:\\\\t2"),
        "{said}"
    );
    assert!(
        said.contains("CapEff:\\t0000000000000000")
            || said.contains("CapEff:\\\\t0000000000000000"),
        "{said}"
    );
    assert!(!said.contains("read it"));
}

/// Nothing of the run is left when `why` is killed in the middle of it.
#[test]
fn nothing_is_left_of_it() {
    let context = TestContext::ordinary();
    let mark = format!("why-{}", std::process::id());
    python(
        &context,
        &[],
        &format!(
            "import time\nos.execv('/bin/sh', ['sh', '-c', ': {mark}; echo up >&2; while :; do sleep 1; done'])"
        ),
    );
    let mut host = Host::start(context.supervisor(&["why", "x", "--json"]));
    let running = || {
        fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&format!(": {mark};"))
        })
    };
    while !running() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    host.kill();
    while running() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
