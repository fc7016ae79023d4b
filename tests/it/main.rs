//! The integration tests, one binary: the command line, the relay, and the attacks.
//!
//! The attacks (`escape_*`) run under real enforcement, always as an ordinary user and as root
//! when the tests are started so; each first succeeds unconfined, as the same user. A test's
//! name begins with the promise it tries to break.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::disallowed_methods,
    reason = "a test that cannot go on fails, and tests touch files and start programs"
)]

mod support;

mod attack;
mod built_data;
mod categories;
mod cli_aliases;
mod cli_commands;
mod cli_directories;
mod cli_directories_git;
mod cli_doctor;
mod cli_everywhere;
mod cli_policy;
mod cli_policy_entries;
mod cli_policy_files;
mod cli_policy_trust;
mod cli_prepare;
mod cli_programs;
mod cli_programs_managers;
mod cli_programs_path;
mod cli_receipts;
mod cli_run;
mod cli_state;
mod cli_state_content;
mod cli_state_kills;
mod cli_surface;
mod cli_surface_asked;
mod cli_surface_check;
mod cli_surface_hostile;
mod escape_approval;
mod escape_as_root;
mod escape_environment;
mod escape_files;
mod escape_kernel;
mod escape_leaves_behind;
mod escape_limits;
mod escape_network;
mod escape_processes;
mod escape_swap;
mod escape_widened;
mod escape_without_namespaces;
mod judge;
mod mutants;
mod order;
mod relay_rules;
mod relay_run;
mod schema;
mod transcripts;
mod verbatim;
mod why;
mod withheld;
