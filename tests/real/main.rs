//! Real servers from npm and PyPI, driven by a raw host and by two real clients: what comes
//! through `supervisor run` is what comes without it.
//!
//! Not in the default set: `cargo test --test real`. Pinned versions are installed once into
//! `.cache/real`; where that fails, the tests fail.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::disallowed_methods,
    reason = "a test that cannot go on fails, and tests touch files and start programs"
)]
#![allow(
    dead_code,
    reason = "what is shared with the default set is used there"
)]

#[path = "../it/judge.rs"]
mod judge;
#[path = "../it/schema.rs"]
mod schema;
#[path = "../it/support/mod.rs"]
mod support;

mod clients;
mod conformance;
mod install;
mod readme;
mod servers;
mod table;
mod why;
