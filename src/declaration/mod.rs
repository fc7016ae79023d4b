//! What a server is: the declaration a person wrote, in the shape of `mcp.json`.
//!
//! Holds the types and their strict reading. A checked value is a type with one constructor,
//! so that nothing further down the road checks it again. May not touch the file system
//! (that is [`store`]) and knows nothing of this machine (that is the room `plan`).
//!
//! Place on the path: `mcp.json` → **Declaration** → digest → approval → plan.

pub(crate) mod add_error;
pub(crate) mod add_flag;
pub(crate) mod add_line;
pub(crate) mod add_value;
pub(crate) mod add_words;
pub(crate) mod category;
pub(crate) mod change;
pub(crate) mod declare;
pub(crate) mod digest;
pub(crate) mod document;
pub(crate) mod entry;
pub(crate) mod file;
pub(crate) mod file_error;
pub(crate) mod hash;
pub(crate) mod loader;
pub(crate) mod log_file;
pub(crate) mod names;
pub(crate) mod place;
pub(crate) mod prefix;
pub(crate) mod set;
pub(crate) mod set_line;
pub(crate) mod store;
pub(crate) mod trust;
pub(crate) mod url;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

pub use category::{Category, Whose};
pub use digest::{Digest, ItemDigest, LaunchDigest, SurfaceDigest};
pub use names::{AbsolutePath, Alias, EnvName};
pub use prefix::DigestPrefix;

use crate::confine::Promise;

/// One declared server, as read from `mcp.json` or built by `add`.
///
/// Stored values are secrets: they have no `Debug` text and leave this type only through
/// `store` (to the file they came from) and `launch::secrets` (to the confined server).
#[derive(Clone, Debug)]
pub struct Declaration {
    /// How the server is reached.
    pub server: Server,
    /// A disabled declaration is listed and not started.
    pub enabled: bool,
}

/// The two transports a declaration may name.
#[expect(
    clippy::large_enum_variant,
    reason = "few are at hand at a time, and most are programs"
)]
#[derive(Clone, Debug)]
pub enum Server {
    /// A program spoken to over its standard input and output.
    Stdio(Stdio),
    /// A server elsewhere, named by its URL. Declared and digested; not run by this version.
    Http(Http),
}

/// A program and what it may reach.
#[derive(Clone, Debug)]
pub struct Stdio {
    /// The program, by name or by path, as the person wrote it.
    pub command: String,
    /// Its arguments, word for word; never joined, never read by a shell.
    pub args: Vec<String>,
    /// Variables whose values are stored.
    pub env: BTreeMap<EnvName, SecretString>,
    /// Variables passed by name from the caller's environment.
    pub pass: BTreeSet<EnvName>,
    /// The directory it starts in and may write.
    pub dir: Option<AbsolutePath>,
    /// What it may read besides its installation, each with the reason it was recorded.
    pub reads: Vec<Read>,
    /// What it may reach on the network.
    pub network: Network,
    /// Bounds on what it may use.
    pub limits: Limits,
    /// Widenings the person asked for by name.
    pub allow: BTreeSet<Allow>,
    /// Promises the person gave up by name.
    pub without: BTreeSet<Promise>,
    /// What is pinned to the content approved.
    pub pin: BTreeSet<Pin>,
    /// Tool filters; they only narrow and are no part of the digest.
    pub tools: Tools,
    /// Time limits; they only narrow and are no part of the digest.
    pub timeouts: Timeouts,
    /// Whether the arguments of calls are kept in the audit log.
    pub audit_arguments: bool,
}

impl Stdio {
    /// A server with nothing granted beyond `command` and its arguments.
    #[must_use]
    pub fn new(command: String, args: Vec<String>) -> Self {
        Self {
            command,
            args,
            env: BTreeMap::new(),
            pass: BTreeSet::new(),
            dir: None,
            reads: Vec::new(),
            network: Network::Full,
            limits: Limits::default(),
            allow: BTreeSet::new(),
            without: BTreeSet::new(),
            pin: BTreeSet::new(),
            tools: Tools::default(),
            timeouts: Timeouts::default(),
            audit_arguments: false,
        }
    }

    /// The whole command line: the program as written, then its arguments.
    #[must_use]
    pub fn argv(&self) -> Vec<String> {
        let mut argv = Vec::with_capacity(self.args.len().saturating_add(1));
        argv.push(self.command.clone());
        argv.extend(self.args.iter().cloned());
        argv
    }

    /// The names of all variables, stored and passed alike, sorted.
    #[must_use]
    pub fn variables(&self) -> BTreeSet<EnvName> {
        self.env
            .keys()
            .cloned()
            .chain(self.pass.iter().cloned())
            .collect()
    }
}

/// A server elsewhere.
#[derive(Clone, Debug)]
pub struct Http {
    /// Where it is; holds no user and no password.
    pub url: String,
    /// Headers whose values are stored.
    pub headers: BTreeMap<String, SecretString>,
    /// The variable of the caller's environment that holds a bearer token.
    pub bearer_env: Option<EnvName>,
}

/// A file or directory the server may read, and why it was recorded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Read {
    /// The absolute path, as it resolved when it was recorded.
    pub path: AbsolutePath,
    /// What led to it.
    pub why: ReadReason,
}

/// What led to a recorded read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum ReadReason {
    /// A stored value names the file.
    Value,
    /// An argument names the file.
    Argument,
    /// The package around a script.
    PackageRoot,
    /// `--read` named it.
    Flag,
}

/// What a server may reach on the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Network {
    /// Everything this machine reaches.
    #[default]
    Full,
    /// Nothing.
    None,
}

impl Network {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::None => "none",
        }
    }
}

/// Bounds on what a server may use; `None` means the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Bytes of memory of all its processes together, and of private memory of each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Processes and threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Open descriptors of one process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Bytes of one file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_size: Option<u64>,
}

impl Limits {
    /// The bounds that hold where a declaration names none (promise R5).
    pub const DEFAULT: BoundLimits = BoundLimits {
        memory: 4 << 30,
        processes: 512,
        files: 8192,
        file_size: 16 << 30,
    };

    /// These bounds with the defaults filled in.
    #[must_use]
    pub fn bound(&self) -> BoundLimits {
        BoundLimits {
            memory: self.memory.unwrap_or(Self::DEFAULT.memory),
            processes: self.processes.unwrap_or(Self::DEFAULT.processes),
            files: self.files.unwrap_or(Self::DEFAULT.files),
            file_size: self.file_size.unwrap_or(Self::DEFAULT.file_size),
        }
    }

    /// Only the bounds above the defaults: those widen, and count in the digest.
    #[must_use]
    pub fn widened(&self) -> Self {
        let above = |value: Option<u64>, default: u64| value.filter(|value| *value > default);
        Self {
            memory: above(self.memory, Self::DEFAULT.memory),
            processes: above(self.processes, Self::DEFAULT.processes),
            files: above(self.files, Self::DEFAULT.files),
            file_size: above(self.file_size, Self::DEFAULT.file_size),
        }
    }
}

/// [`Limits`] with every bound known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BoundLimits {
    /// Bytes of memory of all its processes together, and of private memory of each.
    pub memory: u64,
    /// Processes and threads.
    pub processes: u64,
    /// Open descriptors of one process.
    pub files: u64,
    /// Bytes of one file.
    pub file_size: u64,
}

/// Widenings a person may ask for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Allow {
    /// Variables the dynamic loader acts on.
    LoaderEnv,
    /// User namespaces inside (a browser's own sandbox).
    NestedSandbox,
    /// A pseudo-terminal of its own.
    Pty,
}

impl Allow {
    /// Every one.
    pub const ALL: &[Self] = &[Self::LoaderEnv, Self::NestedSandbox, Self::Pty];

    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LoaderEnv => "loader-env",
            Self::NestedSandbox => "nested-sandbox",
            Self::Pty => "pty",
        }
    }
}

/// What a declaration pins to the content approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Pin {
    /// The program's file.
    Program,
}

impl Pin {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Program => "program",
        }
    }
}

/// Filters on the tools a server offers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tools {
    /// Globs of tools that stay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Globs of tools that go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Categories granted; none named, every one is.
    #[serde(
        default,
        skip_serializing_if = "BTreeSet::is_empty",
        deserialize_with = "category::once"
    )]
    pub categories: BTreeSet<Category>,
}

/// Time limits, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timeouts {
    /// For the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_s: Option<NonZeroU64>,
    /// For one call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_s: Option<NonZeroU64>,
}
