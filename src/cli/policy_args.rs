//! The words of `policy` and its commands.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::confine::Promise;
use crate::declaration::{Alias, EnvName};
use crate::policy::entry::Sha256;
use crate::policy::exchange::Host;

/// Check, test and exchange an administrator's policy
///
/// Checks and tests the files by which an administrator decides what may start on a machine, and
/// exchanges them with other hosts' lists.
///
/// The policy in force is /etc/supervisor/managed.json and /etc/supervisor/managed.d/*.json.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  supervisor policy check managed.json
  supervisor policy test managed.json -- npx -y @dangahagan/weather-mcp@1.4.0")]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    Check(CheckArgs),
    Test(TestArgs),
    Schema(SchemaArgs),
    Import(ImportArgs),
    Export(ExportArgs),
}

/// Check an administrator's file: whether it reads, and what is weaker than it looks
///
/// Reads a file, or a directory that holds managed.json and managed.d, as the installed policy is
/// read, and notes entries that are weaker than they look.
///
/// Exits 0 where it can be obeyed, 1 where it cannot, with line and column.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  supervisor policy check managed.json
  supervisor policy check --installed")]
pub(crate) struct CheckArgs {
    /// The file or directory; with --installed the policy in force where none is named
    #[arg(value_name = "FILE", required_unless_present = "installed")]
    pub(crate) file: Option<PathBuf>,
    /// Hold it to what an installed one is: root's alone, as is all above it; no links
    #[arg(long)]
    pub(crate) installed: bool,
    /// Exit 1 where anything is noted
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print an object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Say what an administrator's file would do to a server, and why
///
/// Says whether a file, or a directory that holds managed.json and managed.d, lets a server start,
/// and by which rule: a command line as `add` takes it, a URL, or a declared server.
///
/// Exits 0 where it is allowed, 126 where it is refused, 1 where the file cannot be obeyed.
#[derive(Debug, Args)]
#[command(
    override_usage = "\
supervisor policy test FILE [FLAGS] -- PROGRAM [ARGUMENT]...
       supervisor policy test FILE --url URL
       supervisor policy test FILE ALIAS",
    after_help = "\
Examples:
  supervisor policy test managed.json -- npx -y @dangahagan/weather-mcp@1.4.0
  supervisor policy test managed.json --url https://mcp.example.com/mcp
  supervisor policy test /etc/supervisor weather"
)]
pub(crate) struct TestArgs {
    /// The file or directory
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// A declared server
    #[arg(value_name = "ALIAS", conflicts_with_all = ["program", "url"], required_unless_present_any = ["program", "url"])]
    pub(crate) alias: Option<Alias>,
    /// The program and its arguments, after a bare `--`
    #[arg(value_name = "PROGRAM", last = true, conflicts_with = "url")]
    pub(crate) program: Vec<String>,
    /// A server elsewhere
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// A variable it is given; may be given again
    #[arg(short = 'e', long, value_name = "NAME", requires = "program")]
    pub(crate) env: Vec<EnvName>,
    /// The directory it may write
    #[arg(long, value_name = "DIR", requires = "program")]
    pub(crate) dir: Option<PathBuf>,
    /// What it may reach on the network: full (the default) or none
    #[arg(long, value_name = "full|none", requires = "program", value_parser = ["full", "none"], hide_possible_values = true)]
    pub(crate) net: Option<String>,
    /// What is pinned: program
    #[arg(long, value_name = "program", requires = "program", value_parser = ["program"], hide_possible_values = true)]
    pub(crate) pin: Option<String>,
    /// Promises it gives up, by number
    #[arg(
        long,
        value_name = "PROMISES",
        requires = "program",
        value_delimiter = ','
    )]
    pub(crate) without: Vec<Promise>,
    /// The SHA-256 of its program, where that is not on this machine
    #[arg(long, value_name = "HEX", requires = "program")]
    pub(crate) sha256: Option<Sha256>,
    /// Print an object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print the JSON schema of an administrator's file
///
/// Prints the JSON schema of an administrator's file, for editors.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  supervisor policy schema > managed.schema.json")]
pub(crate) struct SchemaArgs {}

/// Write a policy of another host's lists
///
/// Reads another host's lists and writes a policy that says the same, as far as that can be. What
/// cannot be expressed, or becomes another thing, is told on standard error and kept in `$comment`.
///
/// Exits 1 where anything could not be expressed. A program by name is looked for along PATH.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  supervisor policy import --from claude managed-settings.json > managed.json"
)]
pub(crate) struct ImportArgs {
    /// Whose lists they are
    #[arg(long, value_name = "HOST")]
    pub(crate) from: Host,
    /// The file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// Write another host's lists of a policy
///
/// Writes what a policy says in another host's words. What cannot be expressed, or is weaker there,
/// is told on standard error.
///
/// With --alias the host may start those servers through the supervisor and no program itself, so
/// that the policy and the confinement hold for each. Exits 1 where anything could not be
/// expressed.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  supervisor policy export --to claude --alias weather managed.json"
)]
pub(crate) struct ExportArgs {
    /// Whose lists are written
    #[arg(long, value_name = "HOST")]
    pub(crate) to: Host,
    /// A server that the host starts through the supervisor; may be given again
    #[arg(long, value_name = "ALIAS")]
    pub(crate) alias: Vec<Alias>,
    /// The supervisor's absolute path on the fleet; this program's own without it
    #[arg(long, value_name = "PATH", requires = "alias", value_parser = absolute)]
    pub(crate) supervisor: Option<String>,
    /// The policy: a file, or a directory that holds managed.json and managed.d
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// A path that is the same from every directory, as it is typed.
fn absolute(word: &str) -> Result<String, &'static str> {
    if Path::new(word).is_absolute() {
        Ok(word.to_owned())
    } else {
        Err("an absolute path stands here")
    }
}
