//! The command line: what can be typed, and which file does it.
//!
//! Types only; each command's file turns its words into one call of the library and hands what
//! comes back to [`render`], the only writer of text for people and of `--json`. The words of
//! `add` are read by `declaration::add_line`: [`AddArgs`] is their help, man page and completion.

mod add;
mod approve;
mod args_add;
mod args_audit;
mod args_rules;
mod args_run;
mod args_set;
mod audit;
mod completions;
mod doctor;
mod elsewhere;
mod ended;
mod explain;
#[cfg(test)]
mod generated;
mod get;
mod list;
mod log;
mod logs;
mod man;
mod policy;
mod policy_args;
mod policy_exchange;
mod prepare;
mod prune;
mod ps;
mod remove;
mod rename;
pub(crate) mod render;
mod row;
mod rules;
mod run;
mod scope;
mod set;
mod starting;
mod surface;
mod tools;
mod try_;
mod why;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};

use args_add::AddArgs;
use args_audit::{AuditAction, AuditArgs};
use args_rules::RulesArgs;
use args_run::RunArgs;
use args_set::SetArgs;
use completions::CompletionsArgs;
use doctor::DoctorArgs;
use man::ManArgs;
use policy_args::PolicyArgs;
use prepare::PrepareArgs;
use tools::ToolsArgs;

use crate::confine::linux::apply;
use crate::declaration::Alias;
use crate::launch::spawn::{Shim, Side};

/// Runs a command line, the program's own name first.
pub(crate) fn main(words: Vec<OsString>) -> ExitCode {
    // Before anything is read or opened.
    let shim = match forks_at_once(&words).then(Shim::fork) {
        Some(Ok(Side::Shim(code))) => return code,
        Some(Ok(Side::Supervisor(shim))) => Some(shim),
        // It is executed then.
        Some(Err(_)) | None => None,
    };
    log::start();
    // The bundled server of `try` and `doctor`.
    if let Some(code) = crate::probe::server::hidden(&words) {
        return code;
    }
    // For all that start a server: they wait for what confines it.
    if let Err(error) = apply::own_state() {
        return render::failure("cannot take what a run needs", &error);
    }
    // Read by grammars of their own.
    match words.as_slice() {
        [_, command, rest @ ..] if command == "add" => return add::run(rest),
        [_, command, rest @ ..] if command == "set" => return set::run(rest),
        [_, command, rest @ ..] if command == crate::why::rerun::ROAD => {
            return crate::why::rerun::main(rest);
        }
        [_, command @ ..] if command.first().is_some_and(|word| word == "run") => {
            // What these do not take is said by the whole definition.
            if let Some(args) = RunArgs::read(command) {
                return run::run(&args, shim);
            }
        }
        _ => {}
    }
    match Cli::try_parse_from(words) {
        Ok(Cli { command }) => match command {
            Command::Add(_) => add::run(&[]),
            Command::Approve(args) => approve::run(&args),
            Command::Run(args) => run::run(&args, shim),
            Command::Explain(args) => explain::run(&args),
            Command::Why(args) => why::run(&args),
            Command::Logs(args) => logs::run(&args),
            Command::Tools(args) => tools::run(&args),
            Command::Ps(args) => ps::run(&args),
            Command::List(args) => list::run(&args),
            Command::Get(args) => get::run(&args),
            Command::Set(_) => set::run(&[]),
            Command::Rename(args) => rename::run(&args),
            Command::Remove(args) => remove::run(&args),
            Command::Rules(args) => rules::run(&args),
            Command::Audit(args) => audit::run(&args),
            Command::Prepare(args) => prepare::run(&args),
            Command::Prune(args) => prune::run(&args),
            Command::Policy(args) => policy::run(&args.command),
            Command::Try(args) => try_::run(&args),
            Command::Doctor(args) => doctor::run(&args),
            Command::Completions(args) => completions::run(&args),
            Command::Man(args) => man::run(&args),
        },
        Err(error) => render::usage(&error),
    }
}

/// Whether the words ask for a server to be started. Not where a loader has been at work, which may
/// have brought in what the caller names (`LD_PRELOAD`): a fork would have it too. Not with `--receipt-fd`: the shim must not have
/// the caller's descriptor, and none of ours may have the number that the caller names.
fn forks_at_once(words: &[OsString]) -> bool {
    const STATIC: bool = cfg!(any(linked_static, target_feature = "crt-static"));
    let descriptor = |word: &OsString| word.as_bytes().starts_with(b"--receipt-fd");
    match words {
        [_, command, rest @ ..] => STATIC && command == "run" && !rest.iter().any(descriptor),
        _ => false,
    }
}

/// The command line's definition, for help, man page and completions.
pub(crate) fn definition() -> clap::Command {
    Cli::command()
}

/// Runs MCP servers confined: each gets what its declaration says, and nothing else.
///
/// A server is declared with `add`, approved by you at a terminal, and started by an agent host
/// through `run`. The kernel keeps it from everything it was not given.
#[derive(Debug, Parser)]
#[command(
    name = "supervisor",
    bin_name = "supervisor",
    version,
    max_term_width = 80,
    after_help = "\
Examples:
  supervisor try
  supervisor add weather -- npx -y @dangahagan/weather-mcp@1.4.0
  supervisor run weather"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(override_usage = "\
supervisor add ALIAS [FLAGS] -- PROGRAM [ARGUMENT]...
       supervisor add ALIAS --http URL [FLAGS]")]
    Add(Box<AddArgs>),
    Approve(ApproveArgs),
    Run(RunArgs),
    Explain(ExplainArgs),
    Why(WhyArgs),
    Logs(LogsArgs),
    Tools(ToolsArgs),
    Ps(PsArgs),
    List(ListArgs),
    Get(GetArgs),
    #[command(override_usage = "supervisor set ALIAS FLAGS")]
    Set(Box<SetArgs>),
    Rename(RenameArgs),
    Remove(RemoveArgs),
    Rules(RulesArgs),
    Audit(AuditArgs),
    Prepare(PrepareArgs),
    Prune(PruneArgs),
    Policy(PolicyArgs),
    Try(TryArgs),
    Doctor(DoctorArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Ask about a declared server again, and keep the answer
///
/// Shows a declared server as `add` did, with what changed since the last yes, and asks; then
/// starts it confined, shows what it says of itself, and asks whether a model may read that.
///
/// Asks only what is open. Both ends must be a terminal. Exits 126 where an answer is no.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  supervisor approve weather\n  supervisor approve weather --surface"
)]
pub(crate) struct ApproveArgs {
    /// The server
    #[arg(value_name = "ALIAS")]
    pub(crate) alias: Alias,
    /// Ask the second question only, approved before or not: what it offers to the model
    #[arg(long)]
    pub(crate) surface: bool,
}

/// Show everything there is to know about a run before it
///
/// Shows the whole plan of a run: variables, paths with the reason for each, network, limits,
/// the administrator's word, and each promise with what holds it on this machine.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  supervisor explain weather\n  supervisor explain weather --json"
)]
pub(crate) struct ExplainArgs {
    /// The server
    #[arg(value_name = "ALIAS")]
    pub(crate) alias: Alias,
    /// Print an object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Find out why a server does not work: what it was refused, and what grants that
///
/// Starts a server once more, confined as always, greets it and asks for its lists, and watches
/// it from outside: which paths, sockets, hosts, calls and limits it was refused, how often, by
/// which of its programs, and the flag that would grant each, or that nothing will.
///
/// Nothing is loosened for it. What only happens at a call is not seen, nor what a thread does
/// that uses real-time signals. The result is kept in the state directory.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  supervisor why weather\n  supervisor why weather --json")]
pub(crate) struct WhyArgs {
    /// The server
    #[arg(value_name = "ALIAS")]
    pub(crate) alias: Alias,
    /// Print an object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show what a server said in its last runs, beside the protocol
///
/// Shows the end of what a server wrote to standard error in its last runs, and of what it wrote
/// to standard output that was no message. The last 10 runs of a declaration are kept, at most
/// 64 KiB each; values that the server was given are replaced by their names.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  supervisor logs weather\n  supervisor logs weather --runs 1 --json"
)]
pub(crate) struct LogsArgs {
    /// The server
    #[arg(value_name = "ALIAS")]
    pub(crate) alias: Alias,
    /// So many runs, the latest last
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) runs: usize,
    /// Print an object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show the servers that run now, and what confines each
///
/// Shows the servers of this state directory that run now: which program started each, since
/// when, its processes and memory, and what confines it, as the kernel says.
///
/// A run with --ephemeral leaves nothing to find it by and is not listed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  supervisor ps\n  supervisor ps --json")]
pub(crate) struct PsArgs {
    /// Print an object
    #[arg(long)]
    pub(crate) json: bool,
}

/// List the declared servers
///
/// Lists the declared servers: transport, whether approved, digest, command line.
///
/// Exits 1 where an entry cannot be used or a file cannot be trusted.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  supervisor list\n  supervisor list --json")]
pub(crate) struct ListArgs {
    /// Print an object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show one declaration in full
///
/// Shows one declaration in full, with its whole digest and the program it resolves to.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  supervisor get weather\n  supervisor get weather --json")]
pub(crate) struct GetArgs {
    /// The server
    #[arg(value_name = "ALIAS")]
    pub(crate) alias: Alias,
    /// Print an object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Remove a declaration and its approval
///
/// Removes a declaration and its approval. What another alias shares stays.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  supervisor remove weather\n  supervisor remove weather --home"
)]
pub(crate) struct RemoveArgs {
    /// The server, or the name of an entry that cannot be used
    #[arg(value_name = "ALIAS")]
    pub(crate) alias: String,
    /// Remove its private home too: the caches and files it kept between runs
    ///
    /// It stays where another declaration starts the same server, and while the server runs.
    #[arg(long)]
    pub(crate) home: bool,
    /// Print an object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Give a declaration another alias
///
/// Gives a declaration another alias. Its approval and its private home go with it; hosts that
/// start it by the old one must be told.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  supervisor rename weather forecast")]
pub(crate) struct RenameArgs {
    /// The alias it has
    #[arg(value_name = "OLD")]
    pub(crate) old: Alias,
    /// The alias it gets; one that is declared is refused
    #[arg(value_name = "NEW")]
    pub(crate) new: Alias,
    /// Print an object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Remove what nothing declares any more: homes, approvals, surfaces, records
///
/// Shows what servers left that nothing declares any more (private homes, approvals, surfaces,
/// records), each with its size, and removes it on a yes.
///
/// A home in use is kept. Without a terminal on both ends nothing is removed unless --yes says so.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  supervisor prune\n  supervisor prune --yes")]
pub(crate) struct PruneArgs {
    /// Remove it without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print an object, and ask nothing
    #[arg(long)]
    pub(crate) json: bool,
}

/// See attacks held: a bundled server, confined, attacks this machine
///
/// Starts a bundled server of ours, confined, calls it, and lets it attack this machine: each
/// attack is run alone first, then confined. Needs nothing declared; leaves nothing behind.
#[derive(Debug, Args)]
#[command(
    name = "try",
    after_help = "Examples:\n  supervisor try\n  supervisor try --json"
)]
pub(crate) struct TryArgs {
    /// Print an object
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests;
