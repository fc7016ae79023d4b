//! The help, man page and completion of `add`, whose words `declaration::add_line` reads.

use std::ffi::OsString;

use clap::Args;

/// Declare a server, see what it would do, and say yes or no
///
/// Declares a server under an alias, in place of what stood there, and asks.
///
/// Everything after the bare `--` is the program and its arguments, word for word. A line that
/// `claude mcp add` takes declares the same server here.
///
/// Stored values are kept in mcp.json, mode 0600, and shown nowhere. Without a terminal on both
/// ends nothing is asked and nothing approved.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  supervisor add weather -- npx -y @dangahagan/weather-mcp@1.4.0
  supervisor add brave -e API_KEY=- -- npx -y @brave/brave-search-mcp-server@2.0.0
  supervisor add files --dir ~/notes -- /usr/local/bin/mcp-files
  supervisor add docs --http https://mcp.example.com/mcp")]
pub(crate) struct AddArgs {
    /// The name: letters, digits, `-` and `_`, first a letter or digit
    #[arg(value_name = "ALIAS")]
    alias: OsString,
    /// The program and its arguments, after a bare `--`
    #[arg(value_name = "PROGRAM", last = true)]
    program: Vec<OsString>,
    /// Store values, NAME=VALUE up to the next flag; or pass one NAME at each start
    ///
    /// NAME=- asks for the value at the terminal, so that it is in no process list.
    #[arg(short = 'e', long, value_name = "NAME[=VALUE]", num_args = 1..)]
    env: Vec<OsString>,
    /// The directory the server starts in and may write
    #[arg(long, value_name = "DIR")]
    dir: Option<OsString>,
    /// A file or directory the server may read
    #[arg(long, value_name = "PATH")]
    read: Vec<OsString>,
    /// What it may reach on the network: full (the default) or none
    #[arg(long, value_name = "full|none")]
    net: Option<OsString>,
    /// Bounds: memory=2GiB,processes=64,files=512,file_size=1GiB
    #[arg(long, value_name = "LIMITS")]
    limit: Vec<OsString>,
    /// Refuse another content of the program than the approved one: program
    #[arg(long, value_name = "program")]
    pin: Vec<OsString>,
    /// Give promises up by number: P3, P6, P7, R1, R2, R5, N2
    #[arg(long, value_name = "PROMISES")]
    without: Vec<OsString>,
    /// Widen by name: loader-env, nested-sandbox, pty
    #[arg(long, value_name = "NAMES")]
    allow: Vec<OsString>,
    /// The same as --allow loader-env
    #[arg(long)]
    allow_loader_env: bool,
    /// The categories of tools that may be called: read-only, additive, open-world, destructive
    ///
    /// Without it every tool may be. A tool is of one category, by your word (`supervisor rules`), else
    /// by what its annotations say; one that says nothing is destructive.
    #[arg(long, value_name = "CATEGORIES")]
    category: Vec<OsString>,
    /// Ask the first question only, and start nothing
    #[arg(long)]
    no_inspect: bool,
    /// Declare a server elsewhere, by its URL
    #[arg(long, value_name = "URL")]
    http: Option<OsString>,
    /// A header whose value is stored (with --http)
    #[arg(short = 'H', long, value_name = "NAME=VALUE")]
    header: Vec<OsString>,
    /// The variable that holds a bearer token (with --http)
    #[arg(long, value_name = "NAME")]
    bearer_env: Option<OsString>,
    /// Taken for lines of other tools: `--stdio --` means `--`
    #[arg(long)]
    stdio: bool,
    /// Taken for lines of other tools: `-t http ALIAS URL` is `ALIAS --http URL`
    #[arg(short, long, value_name = "stdio|http")]
    transport: Option<OsString>,
    /// Taken for lines of other tools, without effect yet
    #[arg(short, long, value_name = "local|user|project")]
    scope: Option<OsString>,
    /// Print an object, and ask nothing
    #[arg(long)]
    json: bool,
}
