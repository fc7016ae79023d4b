//! Times the pure parts: `cargo bench --features bench`.
//!
//! What goes in is made once and is the same everywhere, and each unit fails the bench where it does
//! not do its work. Without `--bench`, as `cargo test --features bench --bench pure` starts it, each
//! is done once and not timed; `tests/bench/run --instructions` counts the instructions of that.
#![expect(
    clippy::expect_used,
    missing_docs,
    reason = "a bench that cannot go on fails; the macros write functions"
)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use supervisor::bench::{Calls, Declared, Lines, Machine, is_message};

/// A declaration with one of everything.
const EVERYTHING: &str = include_str!("../../fixtures/declarations/valid/everything.json");
/// The lengths of messages: a call as most are, and one that carries a file.
const LENGTHS: [(&str, usize); 2] = [("200 B", 200), ("64 KiB", 65_536)];

/// A call of that length.
fn call(length: usize) -> Vec<u8> {
    filled(
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"tool_0","arguments":{"data":""#,
        r#""}}}"#,
        length,
    )
}

/// Its answer.
fn answer(length: usize) -> Vec<u8> {
    filled(
        r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":""#,
        r#""}],"isError":false}}"#,
        length,
    )
}

fn filled(head: &str, tail: &str, length: usize) -> Vec<u8> {
    let filler = "x".repeat(length.saturating_sub(head.len() + tail.len()));
    [head, &filler, tail].concat().into_bytes()
}

fn bytes(length: usize) -> Throughput {
    Throughput::Bytes(u64::try_from(length).expect("a length"))
}

/// A stream of 256 KiB, in lines of one length.
fn frame(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("frame");
    for (name, length) in LENGTHS {
        let line = [call(length - 1), b"\n".to_vec()].concat();
        let stream = line.repeat(262_144 / length);
        let mut lines = Lines::default();
        group.throughput(bytes(stream.len()));
        group.bench_function(name, |bencher| {
            bencher.iter(|| assert_eq!(lines.split(black_box(&stream)), stream.len()));
        });
    }
}

fn envelope(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("envelope");
    for (name, length) in LENGTHS {
        let line = call(length);
        group.throughput(bytes(length));
        group.bench_function(name, |bencher| {
            bencher.iter(|| assert!(is_message(black_box(&line))));
        });
    }
}

/// A call up and its answer down, each of that length.
fn gate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("gate");
    for (name, length) in LENGTHS {
        let (call, answer) = (call(length), answer(length));
        let mut calls = Calls::begun().expect("a session");
        group.throughput(bytes(2 * length));
        group.bench_function(name, |bencher| {
            bencher.iter(|| assert!(calls.call(black_box(&call), black_box(&answer))));
        });
    }
}

/// What a start does without asking the machine.
fn start(criterion: &mut Criterion) {
    let declared = Declared::read(EVERYTHING).expect("a declaration");
    let machine = Machine::of(&declared).expect("a machine");
    criterion.bench_function("digest", |bencher| bencher.iter(|| declared.digest()));
    criterion.bench_function("plan", |bencher| {
        bencher.iter(|| machine.plan().expect("a plan"));
    });
    criterion.bench_function("lowering", |bencher| {
        let ground = machine.ground().expect("promises");
        bencher.iter(|| ground.lower().expect("rules"));
    });
}

criterion_group!(pure, frame, envelope, gate, start);
criterion_main!(pure);
