//! What is approved, as a hash: the canonical form of a declaration and its two digests.
//!
//! `docs/declaration.md` describes the exact bytes so that they can be written again elsewhere;
//! `fixtures/declarations/digest-vectors.json` holds examples. Pure.
//!
//! Place on the path: declaration → **digest** → approval.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{AbsolutePath, Allow, Declaration, EnvName, Limits, Network, Pin, Server};
use crate::confine::Promise;
use crate::plan::runner::given;

pub use super::hash::{Digest, ItemDigest, LaunchDigest, SurfaceDigest};

/// The digest of what a server is started with.
#[must_use]
pub fn launch(server: &Server) -> LaunchDigest {
    CanonicalLaunch::of(server).digest()
}

/// The digest of all a declaration would do.
#[must_use]
pub fn digest(declaration: &Declaration) -> Digest {
    canonical(declaration).digest()
}

/// The canonical form of a declaration, with the variables that its runner gets from the
/// supervisor (promise E1).
#[must_use]
pub fn canonical(declaration: &Declaration) -> Canonical {
    let ours = match &declaration.server {
        Server::Stdio(stdio) => given::names(stdio),
        Server::Http(_) => BTreeSet::new(),
    };
    Canonical::of(declaration, &ours)
}

/// The transport, as it is hashed and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// A program.
    Stdio,
    /// A URL.
    Http,
}

impl Transport {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
        }
    }
}

/// The canonical form of what is started. `transport` is always there, every other key only
/// where it says something.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CanonicalLaunch {
    /// How the server is reached.
    pub transport: Transport,
    /// The program as declared and its arguments; `stdio` only.
    #[serde(default)]
    pub argv: Vec<String>,
    /// Where it is; `http` only.
    #[serde(default)]
    pub url: Option<String>,
    /// The names of variables, stored and passed alike.
    #[serde(default)]
    pub variables: BTreeSet<EnvName>,
    /// The directory it starts in and may write.
    #[serde(default)]
    pub dir: Option<AbsolutePath>,
}

impl CanonicalLaunch {
    /// The canonical form of a server's start.
    #[must_use]
    pub fn of(server: &Server) -> Self {
        match server {
            Server::Stdio(stdio) => Self {
                transport: Transport::Stdio,
                argv: stdio.argv(),
                url: None,
                variables: stdio.variables(),
                dir: stdio.dir.clone(),
            },
            Server::Http(http) => Self {
                transport: Transport::Http,
                argv: Vec::new(),
                url: Some(http.url.clone()),
                variables: BTreeSet::new(),
                dir: None,
            },
        }
    }

    /// Its hash.
    #[must_use]
    pub fn digest(&self) -> LaunchDigest {
        LaunchDigest::of(&self.value())
    }

    fn value(&self) -> Value {
        let mut keys = Map::new();
        list(&mut keys, "argv", self.argv.clone());
        text(
            &mut keys,
            "dir",
            self.dir.as_ref().map(AbsolutePath::as_str),
        );
        text(&mut keys, "transport", Some(self.transport.as_str()));
        text(&mut keys, "url", self.url.as_deref());
        list(&mut keys, "variables", sorted(&self.variables));
        Value::Object(keys)
    }
}

/// The canonical form of a declaration: what the digest is taken over, without stored values.
/// `launch` is always there, every other key only where it differs from the default.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Canonical {
    /// What is started; hashed on its own, and its hash then stands in its place.
    pub launch: CanonicalLaunch,
    /// The paths it may read.
    #[serde(default)]
    pub reads: BTreeSet<AbsolutePath>,
    /// What it may reach on the network; `full` is the default.
    #[serde(default)]
    pub network: Network,
    /// The bounds above the defaults.
    #[serde(default)]
    pub limits: Limits,
    /// Widenings asked for by name.
    #[serde(default)]
    pub allow: BTreeSet<Allow>,
    /// Promises given up.
    #[serde(default)]
    pub without: BTreeSet<Promise>,
    /// What is pinned to its content.
    #[serde(default)]
    pub pin: BTreeSet<Pin>,
    /// The names of headers, as written.
    #[serde(default)]
    pub headers: BTreeSet<String>,
    /// The name of the variable that holds a bearer token.
    #[serde(default)]
    pub bearer_env: Option<EnvName>,
    /// The names of variables a runner gets from the supervisor.
    #[serde(default)]
    pub ours: BTreeSet<EnvName>,
}

impl Canonical {
    /// The canonical form of a declaration.
    #[must_use]
    pub fn of(declaration: &Declaration, ours: &BTreeSet<EnvName>) -> Self {
        let mut form = Self {
            launch: CanonicalLaunch::of(&declaration.server),
            reads: BTreeSet::new(),
            network: Network::default(),
            limits: Limits::default(),
            allow: BTreeSet::new(),
            without: BTreeSet::new(),
            pin: BTreeSet::new(),
            headers: BTreeSet::new(),
            bearer_env: None,
            ours: ours.clone(),
        };
        match &declaration.server {
            Server::Stdio(stdio) => {
                form.reads = stdio.reads.iter().map(|read| read.path.clone()).collect();
                form.network = stdio.network;
                form.limits = stdio.limits.widened();
                form.allow.clone_from(&stdio.allow);
                form.without.clone_from(&stdio.without);
                form.pin.clone_from(&stdio.pin);
            }
            Server::Http(http) => {
                form.headers = http.headers.keys().cloned().collect();
                form.bearer_env.clone_from(&http.bearer_env);
            }
        }
        form
    }

    /// Its hash.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&self.value(self.launch.digest().as_str().into()))
    }

    fn value(&self, launch: Value) -> Value {
        let mut keys = Map::new();
        list(
            &mut keys,
            "allow",
            sorted(self.allow.iter().map(|allow| allow.as_str())),
        );
        text(
            &mut keys,
            "bearer_env",
            self.bearer_env.as_ref().map(EnvName::as_str),
        );
        list(&mut keys, "headers", sorted(&self.headers));
        keys.insert("launch".to_owned(), launch);
        limits(&mut keys, self.limits);
        if self.network != Network::default() {
            text(&mut keys, "network", Some(self.network.as_str()));
        }
        list(&mut keys, "ours", sorted(&self.ours));
        list(
            &mut keys,
            "pin",
            sorted(self.pin.iter().map(|pin| pin.as_str())),
        );
        list(&mut keys, "reads", sorted(&self.reads));
        list(&mut keys, "without", sorted(&self.without));
        Value::Object(keys)
    }
}

/// As an approval keeps it: with the launch in full.
impl Serialize for Canonical {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value(self.launch.value()).serialize(serializer)
    }
}

fn sorted<T: ToString>(words: impl IntoIterator<Item = T>) -> Vec<String> {
    let mut words: Vec<String> = words.into_iter().map(|word| word.to_string()).collect();
    words.sort_unstable();
    words
}

fn list(keys: &mut Map<String, Value>, key: &str, words: Vec<String>) {
    if !words.is_empty() {
        keys.insert(key.to_owned(), words.into());
    }
}

fn text(keys: &mut Map<String, Value>, key: &str, word: Option<&str>) {
    if let Some(word) = word {
        keys.insert(key.to_owned(), word.into());
    }
}

fn limits(keys: &mut Map<String, Value>, limits: Limits) {
    let bounds = [
        ("file_size", limits.file_size),
        ("files", limits.files),
        ("memory", limits.memory),
        ("processes", limits.processes),
    ];
    let named: Map<String, Value> = bounds
        .into_iter()
        .filter_map(|(key, bound)| Some((key.to_owned(), bound?.into())))
        .collect();
    if !named.is_empty() {
        keys.insert("limits".to_owned(), named.into());
    }
}

#[cfg(test)]
#[path = "digest_tests.rs"]
mod tests;
