//! Sockets, ports, hosts, namespaces, mounts, and limits.

use super::*;

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

/// In its own home: the bit counts for whoever executes it there.
#[test]
fn a_set_uid_bit() {
    let context = TestContext::ordinary();
    let first = "tool = os.path.join(os.environ['HOME'], 'tool')\nopen(tool, 'w').close()\nos.chmod(tool, 0o4755)";
    python(&context, &[], first);
    let report = refused(&context, "call", "fchmod");
    assert_eq!(report["findings"][0]["promise"], "P4", "{report:#}");
}

/// Who does not wait for a connection learns later what came of it: Node always, others that set a
/// time-out.
#[test]
fn a_port_that_is_not_waited_for() {
    let context = TestContext::ordinary();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let connect = format!(
        "import socket\ntry: socket.create_connection(('127.0.0.1', {}), timeout=60)\n\
         except OSError: sys.exit('could not connect to the database: connection refused')",
        address.port()
    );
    python(&context, &["--net", "none"], &connect);
    granted(&context, "host", &address.to_string(), &["--net", "full"]);
    // With nobody there, the person would be refused as well.
    drop(listener);
    let context = TestContext::ordinary();
    python(&context, &["--net", "none"], &connect);
    let report = refused(&context, "host", &address.to_string());
    assert_eq!(report["findings"][0]["ours"], json!(false), "{report:#}");
}

/// Most do without a watch; one that says that it does not is believed.
#[test]
fn a_directory_that_it_watches() {
    let context = TestContext::ordinary();
    let project = context.make_directory("outside/project");
    let project = project.to_str().unwrap();
    let first = format!(
        "import ctypes\nlibc = ctypes.CDLL(None)\n\
         if libc.inotify_add_watch(libc.inotify_init1(0), b'{project}', 0x100) < 0: sys.exit('the watcher does not start')"
    );
    python(&context, &[], &first);
    granted(&context, "path", project, &["--read", project]);
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

/// The terminal of whoever started the host: named in what it says, or the last thing it tried.
#[test]
fn a_terminal() {
    for first in [
        "open('/dev/tty', 'r+')",
        "try:\n  open('/dev/tty')\nexcept OSError:\n  sys.exit(1)",
        "import subprocess\nsubprocess.run(['/bin/sh', '-c', 'read answer < /dev/tty'], check=True)",
    ] {
        let context = TestContext::ordinary();
        python(&context, &[], first);
        let report = refused(&context, "path", "/dev/tty");
        let finding = &report["findings"][0];
        assert_eq!(finding["promise"], "E3", "{first}");
        assert!(finding["note"].as_str().unwrap().contains("terminal"));
    }
}

/// What it was refused before it asked a person counts for more.
#[test]
fn a_terminal_that_is_asked_at_last_is_no_cause() {
    let context = TestContext::ordinary();
    let file = text(&context.make_file("outside/settings", "x"));
    let first = format!(
        "try:\n  open('{file}')\nexcept OSError:\n  try:\n    open('/dev/tty')\n  except OSError:\n    sys.exit(1)"
    );
    python(&context, &[], &first);
    granted(&context, "path", &file, &["--read", &file]);
}

/// The name of a host that nobody finds: with the network it is the person's own.
#[test]
fn a_host_that_nobody_finds() {
    for words in [
        "Error: getaddrinfo ENOTFOUND nowhere.invalid",
        "dial tcp: lookup nowhere.invalid on 10.0.0.2:53: no such host",
        "curl: (6) Could not resolve host: nowhere.invalid",
    ] {
        let context = TestContext::ordinary();
        python(&context, &[], &format!("sys.exit('{words}')"));
        let report = refused(&context, "host", "nowhere.invalid");
        assert_eq!(report["findings"][0]["ours"], json!(false), "{report:#}");
    }
    let context = TestContext::ordinary();
    // Refused as a name that nobody knows is, without asking anybody.
    let look =
        "import socket\nsocket.getaddrinfo('nowhere.invalid', 443, flags=socket.AI_NUMERICHOST)";
    python(&context, &[], look);
    let report = refused(&context, "host", "names of hosts (DNS)");
    assert_eq!(report["findings"][0]["ours"], json!(false), "{report:#}");
}

/// Without a network the first thing that is refused is the look for its address.
#[test]
fn a_host_that_is_looked_for_without_a_network() {
    let context = TestContext::ordinary();
    let words = "Error: getaddrinfo EAI_AGAIN api.example.org";
    let first = format!(
        "import socket\ntry: socket.create_connection(('192.0.2.1', 53), 1)\nexcept OSError as error:\n  \
         if error.errno == 101: sys.exit('{words}')"
    );
    python(&context, &["--net", "none"], &first);
    let flags = ["--net", "full"];
    granted(&context, "host", "names of hosts (DNS)", &flags);
}
