//! `supervisor why`: broken servers, as an ordinary user. Each fails for want of one thing; `why`
//! names it and the flag, or that there is none. Where a flag is named, it is given, and the
//! server works.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::attack::WITHOUT;
use crate::schema;
use crate::support::{Host, TestContext, Who, everybody, stderr, stdout};

/// The part of a server that works.
const SERVE: &str = r#"
import json, os, sys
def serve():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "x", "version": "1"}}
        if message["method"] == "tools/list":
            result = {"tools": []}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

/// Declares a server in Python that does this first.
fn python(context: &TestContext, flags: &[&str], first: &str) {
    context.make_directory("servers");
    let script = context.make_file("servers/x.py", &format!("{SERVE}\n{first}\nserve()\n"));
    let script = script.to_str().unwrap();
    context.approved("x", flags, &["/usr/bin/python3", script]);
}

/// Whether it answers when it is started.
fn works(context: &TestContext) -> bool {
    let mut run = context
        .supervisor(&["run", "x"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let mut stdin = run.stdin.take().unwrap();
    // One that has ended takes nothing.
    let _ = writeln!(stdin, "{request}");
    let mut line = String::new();
    let _ = BufReader::new(run.stdout.take().unwrap()).read_line(&mut line);
    drop(stdin);
    run.wait().unwrap();
    let answer: Value = serde_json::from_str(&line).unwrap_or_default();
    answer.get("result").is_some()
}

/// What `why` says of a server that does not work.
fn why(context: &TestContext) -> Value {
    let output = context.run(&["why", "x", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = schema::check(&stdout(&output));
    assert_eq!(report["unseen"], Value::Null, "{report}");
    let mut kept = fs::read_dir(context.path("home/.supervisor/why")).unwrap();
    let kept = kept.next().unwrap().unwrap().path();
    let digest = report["digest"].as_str().unwrap();
    assert!(kept.ends_with(format!("{}.json", &digest[..16])));
    assert_eq!(fs::read_to_string(kept).unwrap(), stdout(&output));
    report
}

/// The causes: kind, what, flags.
fn causes(report: &Value) -> Vec<(String, String, Vec<String>)> {
    let findings = report["findings"].as_array().unwrap();
    findings
        .iter()
        .filter(|finding| finding["cause"] == json!(true))
        .map(|finding| {
            let text = |key: &str| finding[key].as_str().unwrap().to_owned();
            let flags = finding["flags"].as_array().unwrap();
            let flags = flags.iter().map(|flag| flag.as_str().unwrap().to_owned());
            (text("kind"), text("what"), flags.collect())
        })
        .collect()
}

/// A server that does not work, with one cause and the flags for it, works with them.
fn granted(context: &TestContext, kind: &str, what: &str, flags: &[&str]) -> Value {
    assert!(!works(context));
    let report = why(context);
    let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
    let want = [(kind.to_owned(), what.to_owned(), flags)];
    assert_eq!(causes(&report), want, "{report:#}");
    give(context, &report);
    report
}

/// Types the command that `why` names.
fn give(context: &TestContext, report: &Value) {
    let command = report["command"].as_str().unwrap();
    let bin = Path::new(&TestContext::program("supervisor"))
        .parent()
        .unwrap()
        .to_owned();
    // A value that would be asked for is given.
    let command = command
        .replace("=- ", "=value ")
        .trim_end_matches("=-")
        .to_owned()
        + if command.ends_with("=-") {
            "=value"
        } else {
            ""
        };
    let line = command.replacen("supervisor", &bin.join("supervisor").to_string_lossy(), 1);
    let mut shell = context.command("/bin/sh");
    shell.args(["-c", &format!("{line} --no-inspect")]);
    let (code, screen) = context.terminal(shell, "y");
    assert_eq!(code, 0, "{screen}");
    assert!(works(context), "{report:#}");
}

/// A server that does not work, and nothing grants what it lacks.
fn refused(context: &TestContext, kind: &str, what: &str) -> Value {
    assert!(!works(context));
    let report = why(context);
    let found = causes(&report);
    assert_eq!(found.len(), 1, "{report:#}");
    assert_eq!(
        (found[0].0.as_str(), found[0].1.as_str()),
        (kind, what),
        "{report:#}"
    );
    assert!(found[0].2.is_empty(), "{report:#}");
    assert_eq!(report["command"], Value::Null);
    report
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_cache_directory_that_the_private_home_lacks() {
    let context = TestContext::ordinary();
    python(&context, &[], "os.mkdir(os.path.expanduser('~/.cache/x'))");
    assert!(!works(&context));
    let report = why(&context);
    let found = causes(&report);
    assert!(
        found.len() == 1 && found[0].1.ends_with("/.cache") && found[0].2.is_empty(),
        "{report:#}"
    );
    // Nothing is granted: the directory is made.
    let first = report["findings"][0]["first"].as_str().unwrap();
    let mut shell = context.command("/bin/sh");
    assert!(shell.args(["-c", first]).status().unwrap().success());
    assert!(works(&context));
}

#[test]
fn a_cache_directory_elsewhere() {
    let context = TestContext::ordinary();
    let cache = text(&context.make_directory("outside/cache"));
    python(
        &context,
        &[],
        &format!("open('{cache}/index', 'w').write('x')"),
    );
    let what = format!("{cache}/index");
    granted(&context, "path", &what, &["--dir", &cache]);
}

#[test]
fn a_cache_directory_elsewhere_that_is_missing() {
    let context = TestContext::ordinary();
    let cache = text(&context.path("outside/cache"));
    python(
        &context,
        &[],
        &format!("os.path.isdir('{cache}') or os.mkdir('{cache}')"),
    );
    assert!(!works(&context));
    let report = why(&context);
    assert_eq!(
        causes(&report),
        [(
            "path".to_owned(),
            cache.clone(),
            vec!["--dir".to_owned(), cache.clone()]
        )],
        "{report:#}"
    );
    give(&context, &report);
}

#[test]
fn a_file_of_its_configuration() {
    let context = TestContext::ordinary();
    let file = text(&context.make_file("outside/config.toml", "x"));
    context.make_file("outside/secret", "x");
    python(&context, &[], &format!("open('{file}')"));
    granted(&context, "path", &file, &["--read", &file]);
}

#[test]
fn a_configuration_in_the_real_home() {
    let context = TestContext::ordinary();
    context.make_directory("home/.config");
    let file = text(&context.make_file("home/.config/x.json", "{}"));
    python(
        &context,
        &[],
        "open(os.path.expanduser('~/.config/x.json'))",
    );
    let flags = ["-e", "HOME", "--read", &file];
    let report = granted(&context, "path", &file, &flags);
    let copy = report["findings"][0]["first"].as_str().unwrap();
    assert!(
        copy.starts_with("mkdir -p ") && copy.contains(&format!("cp {file} ")),
        "{copy}"
    );
}

#[test]
fn a_configuration_in_the_real_home_of_a_server_that_keeps_files() {
    let context = TestContext::ordinary();
    context.make_directory("home/.config");
    let file = text(&context.make_file("home/.config/x.json", "{}"));
    python(
        &context,
        &[],
        "os.makedirs(os.path.expanduser('~/.x'), exist_ok=True)\nopen(os.path.expanduser('~/.config/x.json'))",
    );
    let report = refused(&context, "path", &file);
    let copy = report["findings"][0]["first"].as_str().unwrap();
    let mut shell = context.command("/bin/sh");
    assert!(shell.args(["-c", copy]).status().unwrap().success());
    assert!(works(&context));
}

#[test]
fn a_socket() {
    let context = TestContext::ordinary();
    // In the home itself, which no server may write.
    let path = context.path("home/agent.sock");
    let _listener = UnixListener::bind(&path).unwrap();
    let socket = text(&path);
    open_to_all(&path);
    python(
        &context,
        &[],
        &format!("import socket\nsocket.socket(socket.AF_UNIX).connect('{socket}')"),
    );
    refused(&context, "socket", &socket);
}

fn open_to_all(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
}

#[test]
fn a_socket_in_a_directory_of_its_own() {
    let context = TestContext::ordinary();
    let directory = context.make_directory("outside/service");
    let path = directory.join("s");
    let _listener = UnixListener::bind(&path).unwrap();
    open_to_all(&path);
    let socket = text(&path);
    python(
        &context,
        &[],
        &format!("import socket\nsocket.socket(socket.AF_UNIX).connect('{socket}')"),
    );
    granted(&context, "socket", &socket, &["--dir", &text(&directory)]);
}

#[test]
fn a_variable_that_it_names() {
    let context = TestContext::ordinary();
    python(&context, &[], "os.environ['WEATHER_API_KEY']");
    granted(
        &context,
        "variable",
        "WEATHER_API_KEY",
        &["-e", "WEATHER_API_KEY=-"],
    );
    let context = TestContext::ordinary();
    let shell = "#!/bin/sh\nset -u\necho \"$TOKEN\" >/dev/null\nexec /usr/bin/python3 \"$1\"\n";
    context.make_directory("servers");
    let script = text(&context.make_file("servers/x.sh", shell));
    let server = text(&context.make_file("servers/x.py", &format!("{SERVE}\nserve()\n")));
    context.approved("x", &[], &["/bin/sh", &script, &server]);
    granted(&context, "variable", "TOKEN", &["-e", "TOKEN=-"]);
}

#[test]
fn a_variable_that_it_does_not_name() {
    let context = TestContext::ordinary();
    python(&context, &[], "os.environ.get('SECRET_KEY') or sys.exit(3)");
    let output = context
        .supervisor(&["why", "x", "--json"])
        .env("SECRET_KEY", "hunter2")
        .output()
        .unwrap();
    let said = stdout(&output);
    assert!(!said.contains("hunter2"));
    let report = schema::check(&said);
    let want = (
        "variable".to_owned(),
        "SECRET_KEY".to_owned(),
        vec!["-e".to_owned(), "SECRET_KEY".to_owned()],
    );
    assert_eq!(causes(&report), [want], "{report:#}");
}

/// Its name stands in the arguments alone, as it does in a program that is no script.
#[test]
fn a_variable_that_its_arguments_name() {
    let context = TestContext::ordinary();
    context.make_directory("servers");
    let script = format!("{SERVE}\nos.environ.get(sys.argv[1]) or sys.exit(3)\nserve()\n");
    let script = context.make_file("servers/x.py", &script);
    let argv = ["/usr/bin/python3", script.to_str().unwrap(), "WEATHER_KEY"];
    context.approved("x", &[], &argv);
    let mut why = context.supervisor(&["why", "x", "--json"]);
    let output = why.env("WEATHER_KEY", "hunter2").output().unwrap();
    let report = schema::check(&stdout(&output));
    let want = (
        "variable".to_owned(),
        "WEATHER_KEY".to_owned(),
        vec!["-e".to_owned(), "WEATHER_KEY".to_owned()],
    );
    assert_eq!(causes(&report), [want], "{report:#}");
}

/// What Rust says at a panic names a variable that nobody lacks.
#[test]
fn advice_on_a_panic_is_no_cause() {
    let context = TestContext::ordinary();
    let words = "called `Result::unwrap()` on an `Err` value: Os { code: 2, kind: NotFound }\\n\
                 note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace";
    let file = text(&context.make_file("outside/settings", "x"));
    let first = format!("try:\n  open('{file}')\nexcept OSError:\n  sys.exit('{words}')");
    python(&context, &[], &first);
    granted(&context, "path", &file, &["--read", &file]);
}

#[test]
fn modules_beside_its_script() {
    let context = TestContext::ordinary();
    let servers = text(&context.make_directory("servers"));
    context.make_directory("servers/own");
    context.make_file("servers/own/__init__.py", "");
    python(&context, &[], "import own");
    granted(&context, "path", &servers, &["--read", &servers]);
}

/// gcc looks for its parts from where its PATH found it.
#[test]
fn a_native_build_without_a_path() {
    let context = TestContext::ordinary();
    let build = "import subprocess\nopen('x.c', 'w').write('int x;')\n\
                 subprocess.run(['gcc', '-c', 'x.c'], check=True)";
    python(&context, &[], build);
    granted(&context, "variable", "PATH", &["-e", "PATH"]);
}

#[test]
fn a_native_build_without_headers() {
    let context = TestContext::ordinary();
    let build = "import subprocess\nopen(os.environ['TMPDIR'] + '/x.c', 'w').write('#include <nowhere_at_all.h>')\n\
                 subprocess.run(['gcc', '-c', os.environ['TMPDIR'] + '/x.c'], check=True)";
    python(&context, &["-e", "PATH"], build);
    refused(&context, "build", "the header nowhere_at_all.h");
}

#[test]
fn headers_that_lie_elsewhere() {
    let context = TestContext::ordinary();
    let include = context.make_directory("outside/include");
    context.make_file("outside/include/here.h", "int x;\n");
    let include = text(&include);
    let build = format!(
        "import subprocess\nos.chdir(os.environ['TMPDIR'])\nopen('x.c', 'w').write('#include <here.h>')\n\
         subprocess.run(['gcc', '-c', '-I{include}', 'x.c'], check=True)"
    );
    python(&context, &["-e", "PATH"], &build);
    granted(&context, "path", &include, &["--read", &include]);
}

#[test]
fn headers_of_node() {
    let context = TestContext::ordinary();
    let build = "if os.environ.get('npm_config_nodedir') != '/usr':\n    \
                 sys.exit('gyp ERR! stack Error: getaddrinfo EAI_AGAIN nodejs.org')";
    python(&context, &["-e", "PATH"], build);
    if Path::new("/usr/include/node/node_version.h").exists() {
        let flags = ["-e", "npm_config_nodedir=/usr"];
        granted(&context, "build", "the headers of Node", &flags);
    } else {
        refused(&context, "build", "the headers of Node");
    }
}

#[test]
fn certificates_in_a_file_of_the_persons() {
    let context = TestContext::ordinary();
    let file = text(&context.make_file("outside/roots.pem", "not read as such"));
    python(&context, &[], &format!("open('{file}')"));
    granted(&context, "path", &file, &["--read", &file]);
}

#[test]
fn certificates_that_a_variable_names() {
    let context = TestContext::ordinary();
    let file = text(&context.make_file("outside/roots.pem", "x"));
    let first = "try:\n    open(os.environ.get('SSL_CERT_FILE', '/nowhere'))\nexcept OSError:\n    \
                 sys.exit('ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed')";
    python(&context, &[], first);
    let output = context
        .supervisor(&["why", "x", "--json"])
        .env("SSL_CERT_FILE", &file)
        .output()
        .unwrap();
    let report = schema::check(&stdout(&output));
    let flags = vec!["-e".to_owned(), format!("SSL_CERT_FILE={file}")];
    let want = ("certificates".to_owned(), "certificates".to_owned(), flags);
    assert_eq!(causes(&report), [want], "{report:#}");
    give(&context, &report);
}

#[test]
fn a_port_below_1024() {
    let context = TestContext::ordinary();
    python(
        &context,
        &[],
        "import socket\nsocket.socket().bind(('127.0.0.1', 81))",
    );
    refused(&context, "port", "81");
}

#[test]
fn a_fork_bomb() {
    let context = TestContext::ordinary();
    python(&context, &[], "while True:\n    os.fork()");
    let report = refused(&context, "limit", "processes: 512 with all threads");
    assert!(report["processes"].as_u64().unwrap() > 100, "{report:#}");
}

#[test]
fn a_limit_below_the_default() {
    let context = TestContext::ordinary();
    let first = "import threading, time\nfor _ in range(40):\n    threading.Thread(target=time.sleep, args=(9,), daemon=True).start()";
    python(&context, &["--limit", "processes=16"], first);
    let flags = ["--no-limit", "processes"];
    granted(&context, "limit", "processes: 16 with all threads", &flags);
}

#[test]
fn a_namespace() {
    let context = TestContext::ordinary();
    let first = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n\
                 if libc.unshare(0x10000000): sys.exit(os.strerror(ctypes.get_errno()))";
    python(&context, &[], first);
    granted(
        &context,
        "namespace",
        "unshare",
        &["--allow", "nested-sandbox"],
    );
}

#[test]
fn a_mount() {
    let context = TestContext::ordinary();
    let first = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n\
                 if libc.mount(b'none', b'/tmp', b'tmpfs', 0, None): sys.exit('cannot mount: ' + os.strerror(ctypes.get_errno()))";
    python(&context, &[], first);
    refused(&context, "call", "mount");
}

#[test]
fn a_shim_of_a_version_manager() {
    let context = TestContext::ordinary();
    for directory in [
        "home/.asdf",
        "home/.asdf/shims",
        "home/.asdf/installs",
        "home/.asdf/bin",
    ] {
        context.make_directory(directory);
    }
    // As asdf does it: which version is in a file of the home.
    let shim = "#!/bin/sh\nversion=$(cat \"$HOME/.tool-versions\" 2>/dev/null)\n\
                [ -n \"$version\" ] || { echo 'No version is set for command tool' >&2; exit 126; }\n\
                exec /usr/bin/python3 \"$@\"\n";
    let program = context.make_file("home/.asdf/shims/tool", shim);
    executable(&program);
    let versions = text(&context.make_file("home/.tool-versions", "tool 1\n"));
    context.make_directory("servers");
    let server = text(&context.make_file("servers/x.py", &format!("{SERVE}\nserve()\n")));
    let wrapper = text(&context.make_file("servers/x.sh", &format!("exec tool {server}\n")));
    let path = format!(
        "PATH={}:/usr/bin:/bin",
        context.path("home/.asdf/shims").display()
    );
    context.approved("x", &["-e", &path], &["/bin/sh", &wrapper, &server]);
    // It may read that file where it is; it looks for it in its own HOME.
    granted(&context, "path", &versions, &["-e", "HOME"]);
}

fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_program_that_is_not_on_its_path() {
    let context = TestContext::ordinary();
    context.make_directory("outside/bin");
    let tool = context.make_file("outside/bin/frobnicate", "#!/bin/sh\nexit 0\n");
    executable(&tool);
    let tool = text(&tool);
    python(
        &context,
        &["-e", "PATH=/usr/bin:/bin"],
        &format!("import subprocess\nsubprocess.run(['{tool}'], check=True)"),
    );
    let path = format!(
        "PATH=/usr/bin:/bin:{}",
        context.path("outside/bin").display()
    );
    granted(&context, "program", &tool, &["-e", &path]);
}

#[test]
fn a_host() {
    let context = TestContext::ordinary();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    python(
        &context,
        &["--net", "none"],
        &format!(
            "import socket\nsocket.create_connection(('127.0.0.1', {}))",
            address.port()
        ),
    );
    granted(&context, "host", &address.to_string(), &["--net", "full"]);
}

#[test]
fn what_fails_outside_too_is_not_ours() {
    let context = TestContext::ordinary();
    python(&context, &[], "open('/nowhere/at/all')");
    let report = refused(&context, "path", "/nowhere/at/all");
    assert_eq!(report["findings"][0]["ours"], json!(false));
    let context = TestContext::ordinary();
    python(&context, &[], "open('/etc/shadow')");
    refused(&context, "path", "/etc/shadow");
    let context = TestContext::ordinary();
    let connect = "import socket\nsocket.socket(socket.AF_UNIX).connect('/run/nobody/at.sock')";
    python(&context, &[], connect);
    refused(&context, "socket", "/run/nobody/at.sock");
}

#[test]
fn a_bound_on_memory() {
    let context = TestContext::ordinary();
    let limit = ["--limit", "memory=256MiB"];
    python(&context, &limit, "block = bytearray(400 << 20)");
    let report = why(&context);
    let found = causes(&report);
    assert_eq!(found.len(), 1, "{report:#}");
    assert_eq!(found[0].2, ["--no-limit", "memory"]);
    give(&context, &report);
}

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

/// rustup's kind of shim looks for a file, and says nothing of where.
#[test]
fn a_shim_that_only_looks() {
    let context = TestContext::ordinary();
    context.make_directory("home/.tool");
    let file = text(&context.make_file("home/.tool/settings.toml", "x"));
    python(
        &context,
        &[],
        "os.path.exists(os.path.expanduser('~/.tool/settings.toml')) or sys.exit('no version is chosen')",
    );
    granted(&context, "path", &file, &["-e", "HOME", "--read", &file]);
}

/// It comes up, and goes on to start processes.
#[test]
fn a_bomb_that_answers() {
    let context = TestContext::ordinary();
    let first = "import threading\ndef bomb():\n    while True:\n        try: os.fork() or os.close(1)\n        except OSError: pass\n\
                 threading.Thread(target=bomb, daemon=True).start()";
    python(&context, &[], first);
    let report = why(&context);
    let limits: Vec<_> = causes(&report);
    assert_eq!(limits.len(), 1, "{report:#}");
    assert_eq!(
        (limits[0].0.as_str(), limits[0].2.len()),
        ("limit", 0),
        "{report:#}"
    );
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

/// A package in an environment that makes its own program executable at its first start.
#[test]
fn a_program_that_may_not_be_executed_yet_is_named_with_what_mends_it() {
    let context = TestContext::ordinary();
    for directory in [
        "servers",
        "servers/venv",
        "servers/venv/bin",
        "servers/venv/lib",
    ] {
        context.make_directory(directory);
    }
    context.make_file("servers/venv/pyvenv.cfg", "home = /usr/bin\n");
    let python = context.path("servers/venv/bin/python");
    std::os::unix::fs::symlink("/usr/bin/python3", &python).unwrap();
    let tool = context.make_file("servers/venv/lib/tool", "#!/bin/sh\n");
    let tool = tool.to_str().unwrap();
    let script = format!(
        "{SERVE}\nif not os.access('{tool}', os.X_OK): os.chmod('{tool}', 0o755)\nserve()\n"
    );
    let script = context.make_file("servers/venv/lib/x.py", &script);
    let argv = [python.to_str().unwrap(), script.to_str().unwrap()];
    context.approved("x", &[], &argv);
    let report = why(&context);
    let findings = report["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["what"] == tool);
    let first = format!("chmod +x {tool}");
    assert_eq!(found.unwrap()["first"], first.as_str(), "{report}");
    assert!(!works(&context));
    let mended = context
        .command("/bin/sh")
        .args(["-c", &first])
        .status()
        .unwrap();
    assert!(mended.success());
    assert!(works(&context));
}
