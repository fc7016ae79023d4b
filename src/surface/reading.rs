//! The ways to ask a server for its surface: era and capabilities, and how a client says them.
//! Pure.

use std::fmt;

use serde_json::{Map, Value, json};

/// The two ways to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Era {
    /// `initialize`, up to 2025-11-25.
    Legacy,
    /// `server/discover`, from 2026-07-28.
    Modern,
}

impl Era {
    /// The revision that is spoken.
    #[must_use]
    pub fn version(self) -> &'static str {
        match self {
            Self::Legacy => "2025-11-25",
            Self::Modern => "2026-07-28",
        }
    }

    /// The first request.
    #[must_use]
    pub fn opening(self) -> &'static str {
        match self {
            Self::Legacy => "initialize",
            Self::Modern => "server/discover",
        }
    }
}

/// What the client says it can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Declared {
    /// Nothing.
    Nothing,
    /// Roots, sampling, elicitation and tasks.
    All,
    /// Roots alone.
    Roots,
    /// Sampling alone.
    Sampling,
    /// Elicitation alone.
    Elicitation,
    /// Tasks alone.
    Tasks,
}

impl Declared {
    pub(super) const SINGLE: [Self; 4] =
        [Self::Roots, Self::Sampling, Self::Elicitation, Self::Tasks];

    /// The words for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing declared",
            Self::All => "all declared",
            Self::Roots => "roots declared",
            Self::Sampling => "sampling declared",
            Self::Elicitation => "elicitation declared",
            Self::Tasks => "tasks declared",
        }
    }
}

/// One way to ask a server for its surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reading {
    /// The era.
    pub era: Era,
    /// The capabilities.
    pub declared: Declared,
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.era.version(), self.declared.as_str())
    }
}

/// Who asks, as a host would say it.
pub(super) fn client() -> Value {
    json!({"name": "supervisor", "version": env!("CARGO_PKG_VERSION")})
}

impl Reading {
    /// The `_meta` of each request of the modern era.
    pub(super) fn meta(self) -> Value {
        let prefix = "io.modelcontextprotocol/";
        let mut meta = Map::new();
        let mut put = |name: &str, value| drop(meta.insert(format!("{prefix}{name}"), value));
        put("protocolVersion", json!(self.era.version()));
        put("clientCapabilities", self.declared.capabilities(self.era));
        put("clientInfo", client());
        Value::Object(meta)
    }
}

impl Declared {
    /// The capabilities as a client of that era declares them.
    pub(super) fn capabilities(self, era: Era) -> Value {
        let mut declared = Map::new();
        let mut put = |name: &str, value| drop(declared.insert(name.to_owned(), value));
        if self.roots() {
            put("roots", json!({"listChanged": true}));
        }
        if matches!(self, Self::All | Self::Sampling) {
            put("sampling", json!({"context": {}, "tools": {}}));
        }
        if matches!(self, Self::All | Self::Elicitation) {
            put("elicitation", json!({"form": {}, "url": {}}));
        }
        if matches!(self, Self::All | Self::Tasks) {
            match era {
                Era::Legacy => put(
                    "tasks",
                    json!({"list": {}, "cancel": {}, "requests": {
                        "sampling": {"createMessage": {}}, "elicitation": {"create": {}},
                    }}),
                ),
                Era::Modern => {
                    put("extensions", json!({"io.modelcontextprotocol/tasks": {}}));
                }
            }
        }
        Value::Object(declared)
    }

    /// Whether roots are declared.
    pub(super) fn roots(self) -> bool {
        matches!(self, Self::All | Self::Roots)
    }
}
