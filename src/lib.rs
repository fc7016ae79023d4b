//! Confines any stdio MCP server and relays its messages.
//!
//! The road of one run, each step a room:
//!
//! ```text
//! argv → RunRequest                                   cli
//! mcp.json → Declaration → Digest                     declaration
//! Digest + approvals → Approval                       approval
//! Declaration + this machine → HostFacts → Plan       plan
//! Plan + administrator's policy → Verdict             policy
//! Plan + HostFacts → Confinement → rules              confine
//!     ═══ Explanation: what `explain` prints ═══      launch::prepare
//! Explanation → Prepared                              launch::permit, the one gate
//! Prepared → Running                                  launch::launch
//!     the shim confines itself and becomes the server confine::shim
//! Running → messages, both ways                       relay, owned by run
//! what happened → a line each                         audit
//! ```
//!
//! `docs/architecture.md` says what each room may do; `docs/threat-model.md` what is promised.

pub(crate) mod approval;
pub(crate) mod audit;
pub(crate) mod cli;
pub(crate) mod confine;
pub(crate) mod declaration;
pub(crate) mod doctor;
pub(crate) mod error;
pub(crate) mod exit_codes;
pub(crate) mod launch;
pub(crate) mod leftovers;
pub(crate) mod plan;
pub(crate) mod policy;
pub(crate) mod prepared;
pub(crate) mod probe;
pub(crate) mod relay;
pub(crate) mod run;
pub(crate) mod settings;
pub(crate) mod surface;
pub(crate) mod text;
pub(crate) mod trial;
pub(crate) mod why;

/// What `tests/bench` times; nothing else may use it.
#[cfg(any(test, feature = "bench"))]
#[doc(hidden)]
#[path = "../tests/bench/parts.rs"]
pub mod bench;

use std::ffi::OsString;
use std::process::ExitCode;

/// The first argument of the process that confines itself and becomes a server.
pub const SHIM_ARGUMENT: &str = confine::shim::CONFINE;

/// Runs that process.
#[must_use]
pub fn shim() -> ExitCode {
    confine::shim::main()
}

/// Runs a command line, the program's own name first, and returns its exit code.
#[must_use]
pub fn command(words: Vec<OsString>) -> ExitCode {
    cli::main(words)
}
