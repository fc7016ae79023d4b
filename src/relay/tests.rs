//! The relay between a host and the server of the fixtures, over real descriptors.
//!
//! No test asserts how long something takes, only that it ends.

mod keeper;
pub(super) mod support;

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

mod ends;
mod eras;
mod ports;
