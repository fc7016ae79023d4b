//! What is approved, as a hash: the canonical form of a declaration and its two digests.
//!
//! `docs/declaration.md` describes the exact bytes so that they can be written again elsewhere;
//! `fixtures/declarations/digest-vectors.json` holds examples. Pure.
//!
//! Place on the path: declaration → **digest** → approval.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::{AbsolutePath, Allow, Declaration, EnvName, Limits, Network, Pin, Server};
use crate::confine::Promise;

const LAUNCH_DOMAIN: &str = "supervisor launch v1\n";
const DECLARATION_DOMAIN: &str = "supervisor declaration v1\n";

/// A word that is no digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a digest is 64 lower-case hexadecimal digits")]
pub struct NotADigest;

macro_rules! digest {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// All 64 digits.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NotADigest;

            fn from_str(word: &str) -> Result<Self, NotADigest> {
                let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
                if word.len() == 64 && word.bytes().all(digit) {
                    Ok(Self(word.to_owned()))
                } else {
                    Err(NotADigest)
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = String::deserialize(deserializer)?;
                word.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

digest! {
    /// The hash of what is started: transport, command line, URL, names of variables, directory.
    /// The private home goes by it, so that a widening keeps its caches.
    LaunchDigest
}

digest! {
    /// The hash of all a declaration would do; what an approval is given to.
    Digest
}

digest! {
    /// The hash of all a server says about itself; what the second yes is given to.
    SurfaceDigest
}

digest! {
    /// The hash of one item of a surface: its pin.
    ItemDigest
}

impl SurfaceDigest {
    /// Over the canonical form of the sorted list of pins.
    #[must_use]
    pub(crate) fn of(pins: &Value) -> Self {
        Self(hash("supervisor surface v1\n", pins))
    }

    /// The first 8 digits, as people are shown it.
    #[must_use]
    pub fn short(&self) -> &str {
        self.as_str().get(..8).unwrap_or_default()
    }
}

impl ItemDigest {
    /// Over the canonical form of `{"kind", "name", "item"}`.
    #[must_use]
    pub(crate) fn of(item: &Value) -> Self {
        Self(hash("supervisor surface item v1\n", item))
    }
}

impl Digest {
    /// The first 8 digits, as people are shown it.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.get(..8).unwrap_or(&self.0)
    }
}

impl LaunchDigest {
    /// The first 16 digits: the name of the private home, short because servers bind Unix
    /// sockets below it and `sun_path` holds 107 bytes.
    #[must_use]
    pub fn home_name(&self) -> &str {
        self.0.get(..16).unwrap_or(&self.0)
    }
}

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
    Canonical::of(declaration, &ours(&declaration.server))
}

/// The variables a recognised runner gets from the supervisor.
fn ours(_server: &Server) -> BTreeSet<EnvName> {
    BTreeSet::new()
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
        LaunchDigest(hash(LAUNCH_DOMAIN, &self.value()))
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
        Digest(hash(
            DECLARATION_DOMAIN,
            &self.value(self.launch.digest().0.into()),
        ))
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

fn hash(domain: &str, value: &Value) -> String {
    // Canonicalizing fails for a number that is not finite only, and here are none; plain JSON
    // is the same bytes then, since the keys above stand in order.
    let bytes =
        serde_json_canonicalizer::to_vec(value).unwrap_or_else(|_| value.to_string().into_bytes());
    let hash = Sha256::new()
        .chain_update(domain)
        .chain_update(bytes)
        .finalize();
    hash.iter()
        .fold(String::with_capacity(64), |mut text, byte| {
            text.push_str(&format!("{byte:02x}"));
            text
        })
}

#[cfg(test)]
#[path = "digest_tests.rs"]
mod tests;
