//! The help, man page and completion of `set`, whose words `declaration::set_line` reads.

use std::ffi::OsString;

use clap::Args;

/// Change single fields of a declaration, and say yes or no where it is another digest
///
/// Changes single fields of a declaration by the flags of `add`. Each has one that takes back
/// what it gave, --no- before its name; what is taken back goes first.
///
/// Shows what changed. A new value of a stored variable, a lower limit, --enable and --disable
/// need no new yes; anything else is asked about, or waits for `approve` without a terminal. What
/// was approved before stays approved: setting it back needs no new yes either.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  supervisor set brave -e API_KEY=-
  supervisor set files --dir ~/papers --no-read ~/notes
  supervisor set weather --net none --no-env DEBUG
  supervisor set weather --disable")]
pub(crate) struct SetArgs {
    /// The server
    #[arg(value_name = "ALIAS")]
    alias: OsString,
    /// Store values, NAME=VALUE up to the next flag; or pass one NAME at each start
    ///
    /// NAME=- asks for the value at the terminal, so that it is in no process list.
    #[arg(short = 'e', long, value_name = "NAME[=VALUE]", num_args = 1..)]
    env: Vec<OsString>,
    /// Take a variable back
    #[arg(long, value_name = "NAME")]
    no_env: Vec<OsString>,
    /// The directory the server starts in and may write
    #[arg(long, value_name = "DIR")]
    dir: Option<OsString>,
    /// Take the directory back
    #[arg(long)]
    no_dir: bool,
    /// A file or directory the server may read
    #[arg(long, value_name = "PATH")]
    read: Vec<OsString>,
    /// Take a file or directory back that it may read, whatever led to it
    #[arg(long, value_name = "PATH")]
    no_read: Vec<OsString>,
    /// What it may reach on the network: full or none
    #[arg(long, value_name = "full|none")]
    net: Option<OsString>,
    /// Bounds: memory=2GiB,processes=64,files=512,file_size=1GiB
    #[arg(long, value_name = "LIMITS")]
    limit: Vec<OsString>,
    /// Back to the default of bounds: memory,processes,files,file_size
    #[arg(long, value_name = "NAMES")]
    no_limit: Vec<OsString>,
    /// Refuse another content of the program than the approved one: program
    #[arg(long, value_name = "program")]
    pin: Vec<OsString>,
    /// Take the pin back: program
    #[arg(long, value_name = "program")]
    no_pin: Vec<OsString>,
    /// Give promises up by number: P3, P6, P7, R1, R2, R5, N2
    #[arg(long, value_name = "PROMISES")]
    without: Vec<OsString>,
    /// Have promises held again
    #[arg(long, value_name = "PROMISES")]
    no_without: Vec<OsString>,
    /// Widen by name: loader-env, nested-sandbox, pty
    #[arg(long, value_name = "NAMES")]
    allow: Vec<OsString>,
    /// Take a widening back
    #[arg(long, value_name = "NAMES")]
    no_allow: Vec<OsString>,
    /// More categories of tools that may be called: read-only, additive, open-world, destructive
    ///
    /// The first one named keeps calls from tools of all others.
    #[arg(long, value_name = "CATEGORIES")]
    category: Vec<OsString>,
    /// Take categories back; with all: tools of every category may be called again
    #[arg(long, value_name = "CATEGORIES|all")]
    no_category: Vec<OsString>,
    /// Another URL, for a server elsewhere
    #[arg(long, value_name = "URL")]
    http: Option<OsString>,
    /// A header whose value is stored, for a server elsewhere
    #[arg(short = 'H', long, value_name = "NAME=VALUE")]
    header: Vec<OsString>,
    /// Take a header back
    #[arg(long, value_name = "NAME")]
    no_header: Vec<OsString>,
    /// The variable that holds a bearer token, for a server elsewhere
    #[arg(long, value_name = "NAME")]
    bearer_env: Option<OsString>,
    /// Take the bearer token back
    #[arg(long)]
    no_bearer_env: bool,
    /// Let it start again
    #[arg(long)]
    enable: bool,
    /// Keep the declaration and its approval, and start it no more
    #[arg(long)]
    disable: bool,
    /// Ask the first question only, and start nothing
    #[arg(long)]
    no_inspect: bool,
    /// Print an object, and ask nothing
    #[arg(long)]
    json: bool,
}
