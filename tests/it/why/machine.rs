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
