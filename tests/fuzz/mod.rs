//! Fuzz targets of the relay's pure modules and of the audit log, with a driver of our own.
//!
//! They are unit tests of the crate, since what they try is private; they need no other compiler and no
//! instrumentation. `cargo test --lib fuzz` runs each seed and a few thousand inputs made of them,
//! always the same. `SUPERVISOR_FUZZ_SECONDS=15 cargo test --lib fuzz` goes on for so long with each
//! target (`.ci/run`), from the same start, so that a commit is judged by what it holds and not by luck;
//! `SUPERVISOR_FUZZ_START=random` beside it looks where nobody looked, and a failure is found again from
//! the start that it prints. An input that fails is written below
//! `target/fuzz` and named: put it into `seeds/TARGET`, and it is tried for ever.

mod audit;
mod breaker;
mod driver;
mod envelope;
mod era;
mod frame;
mod gate;

use driver::run;

#[test]
fn frame_target() {
    run("frame", frame::target);
}

#[test]
fn envelope_target() {
    run("envelope", envelope::target);
}

#[test]
fn era_target() {
    run("era", era::target);
}

#[test]
fn breaker_target() {
    run("breaker", breaker::target);
}

#[test]
fn gate_target() {
    run("gate", gate::target);
}

#[test]
fn audit_target() {
    run("audit", audit::target);
}
