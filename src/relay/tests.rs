//! The relay between a host and the server of the fixtures, over real descriptors.
//!
//! No test asserts how long something takes, only that it ends.

mod support;

use std::future::poll_fn;
use std::io::{IoSlice, Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use serde_json::{Value, json};

use super::port::{self, Inlet, Outlet, Way, Wrote};
use super::{Breaker, Discover};
use super::{End, Exit, Host, Over, Refusal, answer};
use crate::audit::Event;
use crate::audit::event::Outcome;
use support::{Keeper, Kind, Player, pipe, relay_over, settings};

const BOTH: [Kind; 2] = [Kind::Pipes, Kind::Sockets];

#[test]
fn a_session_of_a_host_that_behaves() {
    for kind in BOTH {
        let mut host = Player::new(kind, &["echo"]);
        host.initialize();
        let id = host.call("go", json!({}));
        assert_eq!(host.answer(id)["result"]["content"][0]["text"], "echo");
        let (outcome, words) = host.close_and_end();
        assert_eq!(
            (outcome.exit, outcome.end),
            (Exit::Code(0), End::HostLeft),
            "{kind:?}"
        );
        assert_eq!((outcome.exit_code(), &*words, &*outcome.tail), (0, "", ""));
        assert_eq!(
            (outcome.counters.from_host, outcome.counters.from_server),
            (3, 2)
        );
    }
}

#[test]
fn the_bytes_of_a_message_are_passed_on_as_they_are() {
    for kind in BOTH {
        let mut host = Player::new(kind, &["verbatim"]);
        let line = r#"  {"id" : "\u0061" ,	"method":"tools/call","x":-0.0,"params":{"arguments":[1e2,"é\/",12345678901234567890123],"name":"\u0065cho"}}  "#;
        host.write(format!("\u{feff}{line}\r\n \r\n\n").as_bytes());
        assert_eq!(
            host.message()["error"]["code"],
            answer::INVALID_REQUEST,
            "no jsonrpc"
        );
        let line = line.replace(r#""x""#, r#""jsonrpc":"2.0","x""#);
        host.write(format!("\u{feff}{line}\r\n").as_bytes());
        let quoted = serde_json::to_string(&line).unwrap();
        let want = format!(
            "  {{\"result\" :{{\"e\":1E+2,\"line\":{quoted}}},\t\"id\":\"a\", \"jsonrpc\":\"2.0\"}} "
        );
        assert_eq!(String::from_utf8(host.line().unwrap()).unwrap(), want);
        host.close_and_end();
    }
}

#[test]
fn nothing_is_lost_doubled_or_out_of_order() {
    for kind in BOTH {
        let mut host = Player::new(kind, &["echo"]);
        let ids: Vec<u64> = (0..500)
            .map(|n| host.call("echo", json!({"n": n})))
            .collect();
        host.close();
        for (n, id) in ids.into_iter().enumerate() {
            assert_eq!(
                host.answer(id)["result"]["content"][0]["text"],
                format!("{{\"n\":{n}}}")
            );
        }
        assert_eq!(host.line(), None);
        assert_eq!(host.end().0.exit, Exit::Code(0));
    }
}

#[test]
fn a_flood_arrives_whole_at_a_host_that_pauses() {
    for kind in BOTH {
        let mut host = Player::deaf(kind, &["flood"]);
        let id = host.call("go", json!({"count": 3_000}));
        thread::sleep(Duration::from_millis(200));
        host.listen();
        for n in 0..3_000 {
            let data = host.message()["params"]["data"]
                .as_str()
                .unwrap()
                .to_owned();
            assert!(data.starts_with(&format!("{n} z")));
        }
        host.answer(id);
        host.close_and_end();
    }
}

#[test]
fn messages_up_to_the_limit_pass_and_longer_ones_are_answered() {
    for kind in BOTH {
        let mut host = Player::new(kind, &["oversize"]);
        let id = host.call("source", json!({"bytes": 9_900_000}));
        assert_eq!(
            host.answer(id)["result"]["content"][0]["text"]
                .as_str()
                .unwrap()
                .len(),
            9_900_000
        );
        let id = host.call("sink", json!({"text": "q".repeat(9_900_000)}));
        assert_eq!(host.answer(id)["result"]["content"][0]["text"], "9900011");
        for place in ["first", "last"] {
            let id = host.call("go", json!({"id": place}));
            assert_eq!(host.error(id).0, answer::TOO_LONG, "{place}");
            host.works();
        }
        let id = host.call("sink", json!({"text": "q".repeat(10_000_000)}));
        assert_eq!(host.error(id).0, answer::TOO_LONG);
        host.works();
        let (outcome, words) = host.close_and_end();
        assert_eq!(outcome.counters.oversize, 3);
        assert!(words.contains("over 10000000 bytes"), "{words}");
    }
}

#[test]
fn an_endless_line_answers_the_one_request_that_waits() {
    let mut host = Player::new(Kind::Pipes, &["oversize"]);
    host.initialize();
    let id = host.call("go", json!({"id": "none"}));
    assert_eq!(host.error(id).0, answer::TOO_LONG);
    host.close_and_end();
}

#[test]
fn noise_stays_off_stdout_and_shows_escaped() {
    let mut host = Player::new(Kind::Pipes, &["noisy"]);
    host.initialize();
    let id = host.call("go", json!({}));
    assert_eq!(host.message()["method"], "notifications/bom");
    assert_eq!(host.answer(id)["result"]["content"][0]["text"], "é中");
    let (outcome, words) = host.close_and_end();
    assert_eq!(outcome.counters.junk, 6);
    assert!(
        words.contains(r"[fake] \u{1b}]0;owned\u{7}\u{1b}[31mred\rover \u{202e}gnp.exe"),
        "{words}"
    );
    assert!(
        words.contains(r"Server listening \u{1b}[1mhere"),
        "the first one is named: {words}"
    );
    assert!(
        words.contains("6 lines of the server's stdout were no messages"),
        "{words}"
    );
    assert!(outcome.tail.contains("(stdout) 42\n") && outcome.tail.contains("owned"));
}

#[test]
fn each_request_gets_one_answer_of_its_own() {
    let mut host = Player::new(Kind::Pipes, &["duplicate"]);
    host.initialize();
    let id = host.call("go", json!({}));
    assert_eq!(host.answer(id)["result"]["content"][0]["text"], "first");
    host.works();
    let (outcome, words) = host.close_and_end();
    assert_eq!(
        (outcome.counters.dropped_answers, outcome.counters.junk),
        (5, 1)
    );
    assert!(
        words.contains("an answer to an id that nobody asked was dropped"),
        "{words}"
    );
}

#[test]
fn a_request_of_the_server_may_have_the_id_of_one_of_the_host() {
    let mut host = Player::new(Kind::Pipes, &["ask"]);
    host.initialize();
    let id = host.call("go", json!({}));
    let asked = host.message();
    assert_eq!(
        (&asked["id"], &asked["method"]),
        (&json!(id), &json!("roots/list"))
    );
    let roots = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"roots":[]}}}}"#);
    host.write(format!("{roots}\n{roots}\n").as_bytes());
    assert_eq!(host.answer(id)["result"]["content"][0]["text"], roots);
    host.works();
    let (outcome, _) = host.close_and_end();
    assert_eq!(outcome.counters.dropped_host_answers, 1);
}

#[test]
fn what_is_no_message_of_the_host_is_answered_and_not_passed_on() {
    let mut host = Player::new(Kind::Pipes, &["echo"]);
    host.write(b"hello, server\n[{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}]\n");
    assert_eq!(host.message()["error"]["code"], answer::PARSE_ERROR);
    let batch = host.message();
    assert_eq!(
        (&batch["error"]["code"], &batch["id"]),
        (&json!(answer::INVALID_REQUEST), &Value::Null)
    );
    host.works();
    host.write(b"{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"pi");
    host.close();
    assert_eq!(host.message()["id"], 77, "an unfinished line");
    assert_eq!(host.end().0.counters.host_garbage, 3);
}

#[test]
fn a_death_is_answered_and_the_server_started_again() {
    for (mode, words, name) in [
        ("leave", &["leave"][..], "exited with code 7"),
        ("half", &["half"][..], "exited with code 3"),
        ("fall", &["fall"][..], "was killed by SIGKILL"),
        // The main process counts, not the grandchild that holds the pipes.
        ("daemon", &["daemon"][..], "exited with code 0"),
    ] {
        let words: &'static [&'static str] = words;
        let mut host = Player::new(Kind::Sockets, words);
        host.initialize();
        host.list();
        // In one write: the second must be there before the first ends it.
        let go = r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"go"}}"#;
        let list = r#"{"jsonrpc":"2.0","id":9,"method":"prompts/list"}"#;
        host.write(format!("{go}\n{list}\n").as_bytes());
        let (first, second) = (8, 9);
        let (number, message) = host.error(first);
        assert_eq!(number, answer::SERVER_ENDED, "{mode}");
        assert_eq!(
            message,
            format!("server fake {name} before it answered tools/call (tool go)")
        );
        host.error(second);
        host.works();
        let (outcome, words) = host.close_and_end();
        assert_eq!(
            (outcome.exit_code(), outcome.end, outcome.counters.restarts),
            (0, End::HostLeft, 1),
            "{mode}"
        );
        assert!(
            words.contains(&format!("supervisor: [fake] the server {name}")),
            "{words}"
        );
        assert!(
            mode != "leave" || words.contains("[fake] the database is locked"),
            "{words}"
        );
    }
}

#[test]
fn a_host_that_asks_nothing_of_a_server_that_died_gets_its_code() {
    for (words, code) in [(&["leave"][..], 7), (&["fall"][..], 137)] {
        let mut host = Player::new(Kind::Pipes, words);
        host.initialize();
        let id = host.call("go", json!({}));
        host.error(id);
        let (outcome, _) = host.close_and_end();
        assert_eq!((outcome.exit_code(), outcome.end), (code, End::HostLeft));
    }
}

#[test]
fn a_death_before_there_is_anything_to_say_again_ends_the_run() {
    for (words, code) in [
        (&["leave"][..], 7),
        (&["fall"][..], 137),
        (&["daemon"][..], 0),
    ] {
        let mut host = Player::new(Kind::Pipes, words);
        let id = host.call("go", json!({}));
        assert_eq!(host.error(id).0, answer::SERVER_ENDED);
        assert_eq!(host.line(), None);
        let (outcome, _) = host.end();
        assert_eq!((outcome.exit_code(), outcome.end), (code, End::ServerEnded));
    }
}

#[test]
fn a_restart_that_is_refused_is_told_and_ends_the_run() {
    let mut keeper = Keeper::new(&["leave"]);
    keeper.starts = 1;
    let (mut host, kept) = Player::owned(keeper, settings());
    host.initialize();
    for _ in 0..2 {
        let id = host.call("go", json!({}));
        host.error(id);
    }
    let id = host.call("go", json!({}));
    assert_eq!(host.error(id), (-31_001, "weather is not approved".into()));
    let (outcome, words) = host.end();
    assert_eq!((outcome.exit_code(), outcome.end), (126, End::NotStarted));
    assert!(
        words.contains("not started again: weather is not approved"),
        "{words}"
    );
    let keeper = kept.recv().unwrap();
    let refused = Event::Refused {
        code: "not-approved".into(),
    };
    assert!(keeper.events.contains(&refused), "{:?}", keeper.events);
    assert_eq!(keeper.breaker.failures, 2);
}

#[test]
fn a_server_that_ends_at_once_is_told_of_to_the_first_request() {
    for words in [&["exit", "3"][..], &["die", "6"]] {
        let mut host = Player::new(Kind::Pipes, words);
        thread::sleep(Duration::from_millis(100));
        let id = host.ask("initialize", json!({}));
        let number = crate::exit_codes::rpc_number("exit-before-handshake");
        assert_eq!(host.error(id).0, number);
        let code = if words.contains(&"3") { 3 } else { 134 };
        assert_eq!(host.end().0.exit_code(), code);
    }
    let mut host = Player::new(Kind::Pipes, &["exit", "3"]);
    host.close();
    assert_eq!(host.line(), None, "nobody asked, nobody is answered");
    assert_eq!(host.end().0.exit, Exit::Code(3));
}

#[test]
fn a_server_that_closes_its_stdout_is_ended() {
    let mut host = Player::new(Kind::Pipes, &["close-stdout"]);
    let id = host.call("go", json!({}));
    assert_eq!(
        host.error(id).1,
        "server fake closed its stdout before it answered tools/call (tool go)"
    );
    let late = host.call("go", json!({}));
    host.error(late);
    assert_eq!(host.line(), None, "it had not been initialized");
    let (outcome, words) = host.end();
    assert_eq!(
        (outcome.end, outcome.exit),
        (End::ServerClosed, Exit::Signal(15))
    );
    assert!(words.contains("the server closed its stdout"), "{words}");
}

/// It might be started again, but for a host that has left.
#[test]
fn the_run_ends_where_the_host_leaves_as_the_server_closes_its_stdout() {
    let mut host = Player::new(Kind::Pipes, &["close-stdout"]);
    host.initialize();
    let id = host.call("go", json!({}));
    host.close();
    host.error(id);
    let (outcome, _) = host.end();
    assert_eq!((outcome.end, outcome.counters.restarts), (End::HostLeft, 0));
}

#[test]
fn a_server_over_a_limit_is_not_started_again_and_the_breaker_counts_it() {
    let over = Over::Processes { limit: 64 };
    let mut keeper = Keeper::new(&["echo"]);
    keeper.over = Some(over);
    let (mut host, kept) = Player::owned(keeper, settings());
    let id = host.call("go", json!({}));
    let error = host.answer(id)["error"].take();
    assert_eq!(
        (&error["code"], &error["data"]["code"]),
        (&json!(-31_125), &json!("limit-processes"))
    );
    assert_eq!(host.line(), None);
    let (outcome, words) = host.end();
    assert_eq!(
        (outcome.end, outcome.exit_code(), outcome.counters.restarts),
        (End::Over(over), 137, 0)
    );
    assert!(words.contains("64 processes and threads"), "{words}");
    let keeper = kept.recv().unwrap();
    assert_eq!(keeper.breaker.failures, 1);
    assert!(keeper.events.contains(&Event::Fault {
        fault: "limit-processes",
        exit: Some(Exit::Signal(9)),
    }));
}

#[test]
fn a_server_that_ignores_everything_is_killed() {
    let mut host = Player::new(Kind::Pipes, &["ignore-eof"]);
    host.initialize();
    let (outcome, _) = host.close_and_end();
    assert_eq!((outcome.exit, outcome.exit_code()), (Exit::Signal(9), 137));
}

#[test]
fn a_host_that_reads_nothing_can_still_end_the_run() {
    for kind in BOTH {
        let mut host = Player::deaf(kind, &["flood"]);
        host.call("go", json!({"count": 100_000}));
        thread::sleep(Duration::from_millis(100));
        assert_eq!(host.close_and_end().0.end, End::HostLeft);
        let mut host = Player::deaf(kind, &["flood"]);
        host.call("go", json!({"count": 100_000}));
        thread::sleep(Duration::from_millis(100));
        host.close_stdout();
        assert_eq!(host.end().0.end, End::HostLeft, "stdin is still open");
    }
}

#[test]
fn a_server_that_reads_nothing_holds_the_host_back_and_ends_with_it() {
    for kind in BOTH {
        let mut host = Player::new(kind, &["never-reads"]);
        host.initialize();
        let stdin = host.stdin.as_mut().unwrap();
        fcntl(stdin.as_fd(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
        let (mut taken, mut refused) = (0, 0);
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":\"{}\"}}\n",
            "w".repeat(900)
        );
        while refused < 20 {
            match stdin.write(line.as_bytes()) {
                Ok(count) => taken += count,
                Err(_) => {
                    refused += 1;
                    thread::sleep(Duration::from_millis(10));
                }
            }
        }
        assert!(taken < 2_000_000, "{taken} bytes were taken");
        // The end of stdin is seen although what stands before it cannot be read.
        let (outcome, _) = host.close_and_end();
        assert_eq!(
            (outcome.end, outcome.exit),
            (End::HostLeft, Exit::Signal(15))
        );
    }
}

#[test]
fn unread_stderr_never_holds_up_the_protocol() {
    for kind in BOTH {
        let mut host = Player::deaf(kind, &["stderr"]);
        host.listen_to_stdout();
        let id = host.call("go", json!({"count": 5_000}));
        host.answer(id);
        host.works();
        let (outcome, _) = host.close_and_end();
        assert_eq!(outcome.counters.stderr_bytes, 5_000_000);
        assert!(outcome.counters.stderr_cut > 1_000_000);
        assert!(outcome.tail.len() <= super::stderr::TAIL);
    }
}

#[test]
fn files_are_read_and_written_as_they_are() {
    let mut requests = tempfile::tempfile().unwrap();
    let mut answers = tempfile::tempfile().unwrap();
    let words = tempfile::tempfile().unwrap();
    for id in 0..100 {
        writeln!(requests, r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).unwrap();
    }
    requests.rewind().unwrap();
    let host = Host::new(
        requests.into(),
        answers.try_clone().unwrap().into(),
        words.into(),
    );
    let outcome = relay_over(host, &["echo"]);
    assert_eq!(outcome.exit, Exit::Code(0));
    let mut text = String::new();
    answers.rewind().unwrap();
    answers.read_to_string(&mut text).unwrap();
    assert_eq!(text.lines().count(), 100);
}

#[test]
fn a_named_pipe_whose_writer_is_gone_ends() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fifo");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let end = |flags| nix::fcntl::open(&path, flags, nix::sys::stat::Mode::empty()).unwrap();
    let stdin = end(OFlag::O_RDONLY | OFlag::O_NONBLOCK);
    let mut to = std::fs::File::from(end(OFlag::O_WRONLY));
    to.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n")
        .unwrap();
    drop(to);
    let file = || tempfile::tempfile().unwrap().into();
    let outcome = relay_over(Host::new(stdin, file(), file()), &["echo"]);
    assert_eq!(
        (outcome.exit, outcome.counters.from_host),
        (Exit::Code(0), 1)
    );
}

#[test]
fn the_hosts_descriptions_keep_their_flags() {
    let (stdin, to) = pipe();
    let (from, stdout) = pipe();
    let (words, stderr) = pipe();
    let shared = [
        stdin.try_clone().unwrap(),
        stdout.try_clone().unwrap(),
        stderr.try_clone().unwrap(),
    ];
    let run = thread::spawn(move || relay_over(Host::new(stdin, stdout, stderr), &["echo"]));
    let mut to = std::fs::File::from(to);
    to.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n")
        .unwrap();
    let mut byte = [0];
    std::fs::File::from(from).read_exact(&mut byte).unwrap();
    for fd in &shared {
        let flags = OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL).unwrap());
        assert!(!flags.contains(OFlag::O_NONBLOCK));
    }
    drop((to, words));
    run.join().unwrap();
}

/// Where a description cannot be made our own it is shared and blocks: as on macOS.
#[test]
fn a_shared_description_is_used_without_blocking() {
    let (reader, writer) = pipe();
    let blocks = |fd: &OwnedFd| {
        fcntl(fd.as_fd(), FcntlArg::F_GETFL).unwrap() & OFlag::O_NONBLOCK.bits() == 0
    };
    assert!(blocks(&reader) && blocks(&writer));
    let sent: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    let expected = sent.clone();
    let sender = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (mut outlet, mut at) = (Outlet::new(writer, Way::Shared).unwrap(), 0);
            poll_fn(|cx| {
                outlet.watch(cx);
                while at < sent.len() {
                    match outlet.write(&[IoSlice::new(&sent[at..])]) {
                        Wrote::Some(count) => at += count,
                        Wrote::Blocked => {
                            outlet.watch(cx);
                            return Poll::Pending;
                        }
                        Wrote::Closed => panic!("closed at {at}"),
                    }
                    outlet.watch(cx);
                }
                Poll::Ready(())
            })
            .await;
        });
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let got = runtime.block_on(async {
        let (mut inlet, mut got, mut room) = (
            Inlet::new(reader, Way::Shared).unwrap(),
            Vec::new(),
            vec![0; 7_000],
        );
        poll_fn(|cx| {
            loop {
                inlet.watch(cx);
                match inlet.read(&mut room) {
                    port::Read::Some(count) => got.extend_from_slice(&room[..count]),
                    port::Read::Blocked => return Poll::Pending,
                    port::Read::End => return Poll::Ready(()),
                }
            }
        })
        .await;
        got
    });
    sender.join().unwrap();
    assert!(got == expected, "{} of {} bytes", got.len(), expected.len());
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_holds_more_once_large_messages_pass() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let _entered = runtime.enter();
    let (reader, writer) = pipe();
    let size = {
        let other = writer.try_clone().unwrap();
        move || fcntl(other.as_fd(), FcntlArg::F_GETPIPE_SZ).unwrap()
    };
    let before = size();
    let (mut inlet, mut outlet) = (
        Inlet::new(reader, Way::Pipe).unwrap(),
        Outlet::new(writer, Way::Pipe).unwrap(),
    );
    assert_eq!(size(), before);
    inlet.widen();
    assert!(size() > before);
    outlet.widen();
    // A regular file has no such size, and is used all the same.
    let mut file = Outlet::new(tempfile::tempfile().unwrap().into(), Way::Plain).unwrap();
    file.widen();
    assert_eq!(file.write(&[IoSlice::new(b"x")]), Wrote::Some(1));
}

fn refusal() -> Refusal {
    Refusal {
        number: -31_001,
        message: "weather is not approved".into(),
        code: "not-approved".into(),
        hint: Some("supervisor approve weather".into()),
        exit: 126,
    }
}

#[test]
fn a_refusal_is_the_answer_to_every_request() {
    for kind in BOTH {
        let mut host = Player::refused(kind, refusal());
        host.write(b"garbage\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n[]\n");
        for method in ["server/discover", "initialize"] {
            let id = host.ask(method, json!({}));
            let answer = host.answer(id);
            let data =
                json!({"code": "not-approved", "hint": "supervisor approve weather", "exit": 126});
            let want = json!({"code": -31_001, "message": "weather is not approved", "data": data});
            assert_eq!(answer["error"], want);
        }
        host.end_refused();
    }
}

#[test]
fn a_refusal_ends_with_the_hosts_stdin() {
    let mut host = Player::refused(Kind::Pipes, refusal());
    host.ask("server/discover", json!({}));
    host.close();
    assert!(host.line().is_some());
    assert_eq!(host.line(), None);
    host.end_refused();
}

/// A request of the 2026-07-28 era.
fn modern(host: &mut Player, method: &str, tool: &str) -> Value {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let id = host.ask(method, json!({"name": tool, "_meta": meta}));
    host.answer(id)
}

#[test]
fn each_era_reaches_a_server_that_speaks_both_and_locks() {
    // A host that tries the modern era and goes back.
    let (mut host, _kept) = Player::owned(Keeper::new(&["era", "dual"]), settings());
    assert!(modern(&mut host, "server/discover", "")["result"].is_object());
    host.initialize();
    let id = host.call("echo", json!({}));
    assert_eq!(host.answer(id)["result"]["content"][0]["text"], "legacy");
    let (outcome, words) = host.close_and_end();
    assert_eq!((outcome.exit_code(), outcome.counters.restarts), (0, 1));
    assert_eq!(words.matches("[fake] dual starts").count(), 2, "{words}");
    // One that stays.
    let (mut host, kept) = Player::owned(Keeper::new(&["era", "dual"]), settings());
    assert!(modern(&mut host, "server/discover", "")["result"].is_object());
    assert_eq!(
        modern(&mut host, "tools/call", "echo")["result"]["content"][0]["text"],
        "modern"
    );
    // It dies, and is there again when it is asked.
    assert_eq!(
        modern(&mut host, "tools/call", "leave")["error"]["data"]["exit"],
        4
    );
    assert_eq!(
        modern(&mut host, "tools/call", "echo")["result"]["content"][0]["text"],
        "modern"
    );
    let (outcome, _) = host.close_and_end();
    assert_eq!((outcome.exit_code(), outcome.counters.restarts), (0, 1));
    let keeper = kept.recv().unwrap();
    assert_eq!(keeper.discover, Some(Discover::Answers));
    assert_eq!(keeper.breaker, Breaker::default(), "a success closed it");
}

#[test]
fn a_server_that_is_silent_or_exits_is_answered_for_once_known() {
    for (words, known) in [
        (&["era", "silent"][..], Discover::Silent),
        (&["leave-discover"][..], Discover::Exits),
    ] {
        let (mut host, kept) = Player::owned(Keeper::new(words), settings());
        let id = host.ask("server/discover", json!({}));
        if known == Discover::Exits {
            assert_eq!(host.error(id).0, -32_601);
        } else {
            // Longer than a slow start could explain.
            thread::sleep(Duration::from_millis(2_500));
        }
        let asked = host.ask("initialize", json!({"protocolVersion": "2025-06-18"}));
        if known == Discover::Silent {
            assert_eq!(host.error(id).0, answer::SERVER_ENDED);
        }
        assert!(host.answer(asked)["result"].is_object());
        assert_eq!(host.close_and_end().0.counters.restarts, 1);
        let keeper = kept.recv().unwrap();
        // On a machine that is slow enough, silence could be a slow start.
        let told = keeper.discover == Some(known);
        assert!(told || (known == Discover::Silent && keeper.discover.is_none()));
        assert_eq!(keeper.breaker, Breaker::default());
        let mut settings = settings();
        settings.discover = Some(known);
        let (mut host, _kept) = Player::owned(Keeper::new(words), settings);
        let id = host.ask("server/discover", json!({}));
        assert_eq!(host.error(id).0, -32_601);
        host.initialize();
        assert_eq!(host.close_and_end().0.counters.restarts, 0);
    }
}

#[test]
fn a_call_that_takes_too_long_is_answered_and_progress_extends_it() {
    let limited = || {
        let mut settings = settings();
        settings.call_limit = Some(Duration::from_secs(1));
        settings
    };
    let (mut host, kept) = Player::owned(Keeper::new(&["hang"]), limited());
    host.initialize();
    let id = host.call("go", json!({}));
    assert_eq!(host.error(id).0, answer::CALL_TIMEOUT);
    host.works();
    host.close_and_end();
    let keeper = kept.recv().unwrap();
    let outcomes: Vec<Outcome> = keeper
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Call(call) => Some(call.outcome),
            _ => None,
        })
        .collect();
    assert_eq!(outcomes, [Outcome::Timeout, Outcome::Ok]);
    let (mut host, _kept) = Player::owned(Keeper::new(&["slow"]), limited());
    host.initialize();
    let meta = json!({"progressToken": "slow"});
    let id = host.ask(
        "tools/call",
        json!({"name": "go", "arguments": {"count": 4}, "_meta": meta}),
    );
    for _ in 0..4 {
        assert_eq!(host.message()["method"], "notifications/progress");
    }
    assert_eq!(host.answer(id)["result"]["content"][0]["text"], "slow");
    host.close_and_end();
}

#[test]
fn a_server_that_never_answers_its_first_request_is_ended() {
    let mut settings = settings();
    settings.start_limit = Some(Duration::from_secs(1));
    let (mut host, kept) = Player::owned(Keeper::new(&["mute"]), settings);
    let id = host.ask("initialize", json!({}));
    assert_eq!(host.error(id).0, answer::START_TIMEOUT);
    let (outcome, words) = host.end();
    assert_eq!((outcome.exit_code(), outcome.end), (137, End::ServerEnded));
    assert!(words.contains("gave no answer in the time"), "{words}");
    assert_eq!(kept.recv().unwrap().breaker.failures, 1);
}

#[test]
fn the_breaker_answers_in_place_of_a_server_that_fails() {
    let (mut host, kept) = Player::owned(Keeper::new(&["fail"]), settings());
    host.initialize();
    for _ in 0..3 {
        let id = host.call("go", json!({}));
        assert_eq!(host.error(id).0, -32_603, "the server's own words");
    }
    let id = host.call("echo", json!({}));
    let refused = host.answer(id);
    assert_eq!(
        refused["result"]["_meta"]["supervisor/refusal"]["layer"],
        "breaker"
    );
    let (_, words) = host.close_and_end();
    assert!(words.contains("it failed 3 times in a row"), "{words}");
    let keeper = kept.recv().unwrap();
    let mut settings = settings();
    settings.breaker = keeper.breaker;
    let (mut host, _kept) = Player::owned(keeper, settings);
    host.initialize();
    let id = host.call("echo", json!({}));
    assert_eq!(host.answer(id)["result"]["isError"], true, "another run");
    host.close_and_end();
}
