//! The row of one declaration, as `list --json` and the others have it (`supervisor.list.v1`).

use serde::Serialize;

use crate::approval::Word;
use crate::approval::candidate::{Candidate, NotStarted};
use crate::declaration::store::State;
use crate::declaration::{Declaration, Digest, Server, digest};
use crate::launch::homes;

/// One declaration in JSON.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Row {
    pub(super) alias: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("enum" = ["stdio", "http"])))]
    pub(super) transport: Option<&'static str>,
    #[cfg_attr(
        test,
        schemars(extend("enum" = ["approved", "unapproved", "changed", "unusable", "disabled"]))
    )]
    pub(super) state: &'static str,
    #[cfg_attr(
        test,
        schemars(extend("enum" = ["approved", "unapproved", "changed", "unknown"]))
    )]
    pub(super) surface: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<Digest>,
    pub(super) changed: Vec<Word>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) argv: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) url: Option<String>,
    /// The room its private home takes.
    pub(super) home_bytes: u64,
    pub(super) found_repositories: Vec<String>,
    pub(super) not_started: Option<NotStarted>,
}

/// The word for a transport.
pub(super) fn transport(declaration: &Declaration) -> &'static str {
    match &declaration.server {
        Server::Stdio(_) => "stdio",
        Server::Http(_) => "http",
    }
}

impl Row {
    /// The row of a declaration that was looked at.
    pub(super) fn of(candidate: &Candidate) -> Self {
        let (argv, url) = match &candidate.declaration.server {
            Server::Stdio(stdio) => (Some(stdio.argv()), None),
            Server::Http(http) => (None, Some(http.url.clone())),
        };
        let enabled = candidate.declaration.enabled;
        Self {
            alias: candidate.alias.to_string(),
            transport: Some(transport(&candidate.declaration)),
            state: if enabled {
                candidate.approval.as_str()
            } else {
                "disabled"
            },
            surface: candidate.surface.as_str(),
            digest: Some(candidate.digest.clone()),
            changed: candidate.approval.changed().to_vec(),
            argv,
            url,
            home_bytes: 0,
            found_repositories: Vec::new(),
            not_started: candidate.not_started(),
        }
    }

    /// The same, with the size of its private home.
    pub(super) fn sized(mut self, candidate: &Candidate, state: &State) -> Self {
        let launch = digest::launch(&candidate.declaration.server);
        self.home_bytes = homes::bytes(state.path(), launch.home_name());
        self
    }

    /// The row of an entry that cannot be used.
    pub(super) fn unusable(alias: &str, problem: &str) -> Self {
        Self {
            alias: alias.to_owned(),
            transport: None,
            state: "unusable",
            surface: "unknown",
            digest: None,
            changed: Vec::new(),
            argv: None,
            url: None,
            home_bytes: 0,
            found_repositories: Vec::new(),
            not_started: Some(NotStarted {
                code: "entry-unusable",
                message: problem.to_owned(),
                hint: Some(format!("supervisor remove {}", crate::text::word(alias))),
            }),
        }
    }
}
