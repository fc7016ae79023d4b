//! A declaration resolved on this machine: what exactly would run, and what it would reach.
//!
//! [`facts`] is the only reader of the environment, and asks `program`, `installation`, `record`,
//! `git` and `system` (by way of `links`) for the rest of what this machine says; [`resolve`] is pure and
//! turns a declaration and those facts into a [`Plan`]. Pure too are what they know by: `format`
//! (what the kernel executes), `layout` (how programs lie on disk), `places` (what is kept back),
//! `obeyed` (what the person's programs obey in a folder), `grants` (the system's own places, and
//! how grants are joined), `interpreter` and `runner` (what a command line runs). `walk` looks
//! through a writable directory before a run and after it, `left` compares. Decides nothing and
//! starts nothing.
//!
//! Place on the path: declaration + request → **facts** → **plan** → verdict → confinement.

mod ask;
pub(crate) mod certificates;
mod environment;
pub(crate) mod error;
pub(crate) mod facts;
pub(crate) mod format;
pub(crate) mod git;
pub(crate) mod grants;
pub(crate) mod held;
pub(crate) mod identity;
pub(crate) mod installation;
pub(crate) mod interpreter;
pub(crate) mod layout;
pub(crate) mod left;
pub(crate) mod links;
pub(crate) mod obeyed;
pub(crate) mod package;
pub(crate) mod person;
pub(crate) mod places;
pub(crate) mod program;
pub(crate) mod record;
pub(crate) mod resolve;
pub(crate) mod runner;
pub(crate) mod shim;
pub(crate) mod system;
pub(crate) mod walk;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::path::PathBuf;

use serde::Serialize;

pub use error::PlanError;

use crate::confine::spec::{Loan, Use};
use crate::declaration::{Alias, BoundLimits, DigestPrefix, EnvName, Network};
use certificates::Certificates;
use runner::given::Cached;

/// What `supervisor run` was asked for.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// Which declaration.
    pub alias: Alias,
    /// The only digest that may start, by its beginning; any where there is none.
    pub digest: Option<DigestPrefix>,
    /// A home for this run alone, and nothing written in the state directory.
    pub ephemeral: bool,
    /// The caller watches the server from outside (`ptrace(2)`).
    pub watched: bool,
    /// What a runner is told of what earlier starts fetched.
    pub(crate) caches: Caches,
}

/// What a runner is told of what earlier starts fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Caches {
    /// What `prepare` found out; without it nothing starts that would have to fetch.
    #[default]
    AsPrepared,
    /// What `prepare` found out; without it this start fetches.
    IfPrepared,
    /// Nothing: this start fetches.
    Fill,
    /// That all is there: this start finds out.
    Try,
}

impl RunRequest {
    /// A run like any other of an alias.
    #[must_use]
    pub fn of(alias: Alias) -> Self {
        Self {
            alias,
            digest: None,
            ephemeral: false,
            watched: false,
            caches: Caches::AsPrepared,
        }
    }
}

/// What this machine says, read once; everything after it is pure.
#[derive(Clone, Debug)]
pub struct HostFacts {
    /// The state directory, its links followed so far as it is there.
    pub state: PathBuf,
    /// The search path the server gets: absolute entries, in order, as written.
    pub search_path: SearchPath,
    /// The program, found and followed.
    pub program: program::Program,
    /// What makes up the program's installation and its search path: all exist.
    pub installation: Vec<Grant>,
    /// What links in the search path's directories lead to, and programs that arguments and
    /// stored values name: all exist.
    pub linked: Vec<Grant>,
    /// Certificates that the settings of a runner name.
    pub(crate) certificates: BTreeSet<Certificates>,
    /// The system's own places that exist here, from `policy/grants/`.
    pub system: Vec<Grant>,
    /// The writable directory, checked against promise G1.
    pub dir: Option<PathBuf>,
    /// The very directory that was checked.
    pub held: Option<held::Held>,
    /// What stood in it.
    pub(crate) before: walk::Picture,
    /// What the declared reads are, in their order.
    pub reads: Vec<ReadFact>,
    /// Which of the named variables the caller has.
    pub present: BTreeSet<EnvName>,
    /// What earlier starts fetched, for a runner.
    pub(crate) cached: Cached,
    /// The project that a runner was told of and that the server may not write: whether it has
    /// a lock file.
    pub(crate) locked: Option<bool>,
}

impl HostFacts {
    /// What has to be lent to a server that runs under ids of its own: what the declaration
    /// grants, and what of the installations others may not use as they are. The system's own
    /// places never.
    #[must_use]
    pub fn loans(&self) -> Vec<Loan> {
        let loan = |path: &PathBuf, use_of| Loan {
            path: path.clone(),
            use_of,
        };
        let within = |path: &PathBuf| self.dir.as_ref().is_some_and(|dir| path.starts_with(dir));
        let dir = self.dir.iter().map(|dir| loan(dir, Use::Write));
        let reads = self.reads.iter().filter(|read| !within(&read.path));
        let reads = reads.map(|read| loan(&read.path, Use::Read));
        let installation = self.installation.iter().chain(&self.linked);
        let installation = installation.map(|grant| loan(&grant.path, Use::Run));
        let certificates = self.certificates.iter();
        let certificates = certificates.map(|named| loan(&named.file, Use::Read));
        let mut once = BTreeSet::new();
        dir.chain(reads)
            .chain(installation)
            .chain(certificates)
            .filter(|loan| once.insert(loan.path.clone()))
            .collect()
    }
}

/// What every server gets of this system.
#[derive(Debug, Default)]
pub struct System {
    /// The places, followed.
    pub grants: Vec<Grant>,
    /// What lies there, each held without a right to what is in it.
    pub held: Vec<(File, Metadata)>,
    /// Each link on the way to them, at the place where it lies.
    pub links: Vec<PathBuf>,
}

/// Who runs the supervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Their home, canonical.
    pub home: PathBuf,
    /// The state directory, as named and not yet resolved.
    pub state: PathBuf,
    /// Effective user id.
    pub uid: u32,
}

/// One declared read, looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadFact {
    /// Where it resolves to.
    pub path: PathBuf,
    /// A directory, else a file.
    pub directory: bool,
}

/// `PATH` as a server gets it: absolute entries only, in order, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchPath(pub Vec<PathBuf>);

/// A declaration resolved on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Plan {
    /// The file that the kernel executes; for a script, its interpreter.
    pub exec: PathBuf,
    /// The command line it gets.
    pub argv: Vec<String>,
    /// Its variables and where each comes from, sorted by name.
    pub variables: Vec<Variable>,
    /// Its private home.
    pub home: PathBuf,
    /// Its private temporary directory.
    pub tmp: PathBuf,
    /// The directory it starts in.
    pub cwd: PathBuf,
    /// The directory it may write, if one was declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,
    /// Every path it gets, sorted, each once.
    pub grants: Vec<Grant>,
    /// Paths as the declaration, `PATH` and programs spell them: the links along them are there
    /// for the server, wherever they lead.
    #[serde(skip)]
    pub names: Vec<PathBuf>,
    /// What it may reach on the network.
    pub network: Network,
    /// What it may use.
    pub limits: BoundLimits,
}

/// One variable of the server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Variable {
    /// Its name.
    pub name: EnvName,
    /// Where its value comes from; the value itself is read last, in `launch::secrets`.
    pub source: Source,
}

/// Where a variable's value comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Source {
    /// Stored in the declaration.
    Stored,
    /// The caller's environment, at each start.
    Passed,
    /// Passed by name, and not set in the caller's environment: the server does not get it.
    Unset,
    /// Frozen at the approval (`PATH`), or fixed by the plan (`HOME`, `TMPDIR`): no secret.
    Ours(String),
}

/// One path a server gets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Grant {
    /// The path, canonical.
    pub path: PathBuf,
    /// What it may do there and below.
    pub rights: Rights,
    /// Why it gets it, in a few words.
    pub reason: Cow<'static, str>,
}

/// What a server may do at a path and below it. Each names its rights in full: a wider one
/// is never implied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Rights {
    /// List directories; read no file.
    List,
    /// Read files and list directories.
    Read,
    /// Read a character device and write to it.
    Device,
    /// Read, list and execute.
    ReadExecute,
    /// Read, list, execute, create, write, rename and remove.
    Write,
}
