//! Attacks over the network and local sockets: promises N1 to N4.

use std::io::Write;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::{fs, thread};

use crate::attack::{Attack, at};
use crate::support::{TestContext, Who, everybody, stderr};

/// Answers whoever connects.
fn answer<S: Write>(streams: impl Iterator<Item = std::io::Result<S>>) {
    for stream in streams {
        let _ = stream.unwrap().write_all(b"hello");
    }
}

#[test]
fn n1_no_tcp_and_no_udp_without_a_network() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp_address = format!("@{}", tcp.local_addr().unwrap());
    thread::spawn(move || answer(tcp.incoming()));
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let udp_address = format!("@{}", udp.local_addr().unwrap());
    thread::spawn(move || {
        let mut buffer = [0; 16];
        while let Ok((_, peer)) = udp.recv_from(&mut buffer) {
            udp.send_to(b"hello", peer).unwrap();
        }
    });
    for who in everybody() {
        let context = TestContext::new(who);
        Attack::new(&context, &["tcp", &tcp_address])
            .with(&["--net", "none"])
            .is_held();
        Attack::new(&context, &["udp", &udp_address])
            .with(&["--net", "none"])
            .is_held();
        Attack::new(&context, &["tcp", &tcp_address]).is_allowed();
        Attack::new(&context, &["udp", &udp_address]).is_allowed();
    }
}

#[test]
fn n2_no_local_socket_outside() {
    let name = format!("sv-escape-{}", std::process::id());
    let abstract_name =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    thread::spawn(move || answer(abstract_name.incoming()));
    for who in everybody() {
        let context = TestContext::new(who);
        let path = context.path("outside/agent.sock");
        let stream = UnixListener::bind(&path).unwrap();
        let datagrams = context.path("outside/log.sock");
        let _log = UnixDatagram::bind(&datagrams).unwrap();
        for socket in [&path, &datagrams] {
            fs::set_permissions(socket, fs::Permissions::from_mode(0o777)).unwrap();
        }
        thread::spawn(move || answer(stream.incoming()));
        Attack::new(&context, &["unix", &at(&path)]).is_held();
        Attack::new(&context, &["unix-datagram", &at(&datagrams)]).is_held();
        Attack::new(&context, &["unix-abstract", &name]).is_held();
    }
}

#[test]
fn n3_no_socket_that_configures_or_bypasses() {
    for who in everybody() {
        let context = TestContext::new(who);
        for family in [
            "packet",
            "raw",
            "raw6",
            "vsock",
            "crypto",
            "netlink-audit",
            "netlink-uevent",
        ] {
            let attack = Attack::new(&context, &["socket", family]);
            attack.is_stopped();
            if who == Who::Root && ["packet", "raw", "raw6"].contains(&family) {
                assert!(attack.alone().got, "{family} does not work alone");
            }
        }
    }
}

#[test]
fn n2_its_own_sockets_work() {
    for who in everybody() {
        let context = TestContext::new(who);
        let dir = context.make_directory("dir");
        let flags = ["--dir", dir.to_str().unwrap()];
        let attack = Attack::new(&context, &["own-socket", &at(&dir.join("s"))]).with(&flags);
        // Without namespaces a server starts that gave something up; of those elsewhere.
        if !attack.claims("P3") {
            continue;
        }
        let said = attack.standing("N2")["note"].to_string();
        if said.contains("its own Unix sockets are closed") {
            attack.is_stopped();
        } else {
            attack.is_allowed();
        }
    }
}

/// N4: hosts and ports cannot be named yet, so nothing starts that would need them held.
#[test]
fn n4_a_list_of_hosts_is_refused_and_starts_nothing() {
    let context = TestContext::ordinary();
    let program = TestContext::program("fixture-probe");
    let words = [
        "add",
        "a",
        "--net",
        "example.com:443",
        "--",
        &program,
        "see",
        "/",
    ];
    let output = context.run(&words);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(!context.path("home/.supervisor/mcp.json").exists());
    Attack::new(&context, &["write", "@ran"]).declare();
    let file = context.path("home/.supervisor/mcp.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let listed = text.replacen(
        "\"command\":",
        "\"network\": [\"example.com:443\"], \"command\":",
        1,
    );
    assert_ne!(text, listed);
    std::fs::write(&file, listed).unwrap();
    let output = context.run(&["run", "probe"]);
    assert_ne!(output.status.code(), Some(0));
    assert!(!context.path("work/ran").exists());
    assert!(stderr(&output).contains("network"), "{}", stderr(&output));
}
