//! The row of one declaration, as `list --json` and the others have it (`supervisor.list.v1`).

use serde::Serialize;

use super::render;
use crate::approval::candidate::{Candidate, NotStarted, SurfaceState};
use crate::approval::question;
use crate::approval::{Approval, Word};
use crate::declaration::store::State;
use crate::declaration::{AbsolutePath, Declaration, Digest, Server, digest};
use crate::launch::{homes, search};
use crate::plan::left::{FileKind, FoundFile};
use crate::prepared::Readiness;
use crate::run::{RunError, pending};
use crate::text;

const UNKNOWN: &str = "unknown";
/// So many things that runs left are shown.
const SHOWN: usize = 10;

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
    /// Whether what it runs was fetched before a host waits for it: `run` refuses what was not.
    #[cfg_attr(test, schemars(extend("enum" = ["prepared", "unprepared", "unneeded", "unknown"])))]
    pub(super) prepared: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<Digest>,
    pub(super) changed: Vec<Word>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) argv: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) url: Option<String>,
    /// The room its private home takes.
    pub(super) home_bytes: u64,
    /// Repositories that runs left in its writable directories (promise G2).
    pub(super) found_repositories: Vec<String>,
    /// What was created or changed in its `--dir` while it ran that programs obey, and links
    /// that lead out (promise G3).
    pub(super) found_files: Vec<FoundFile>,
    pub(super) not_started: Option<NotStarted>,
}

/// The word for a transport.
pub(super) fn transport(declaration: &Declaration) -> &'static str {
    match &declaration.server {
        Server::Stdio(_) => "stdio",
        Server::Http(_) => "http",
    }
}

/// What is known of a surface, what runs saw of it counted in: one that was approved and is not
/// what they saw is changed.
///
/// # Errors
/// What runs kept of it cannot be read.
pub(super) fn surface(candidate: &Candidate, state: &State) -> Result<SurfaceState, RunError> {
    let waiting = pending::read(state, &candidate.digest, candidate.offered.as_ref())?;
    let waits = waiting.is_some_and(|waiting| waiting.withheld() > 0);
    Ok(match candidate.surface {
        SurfaceState::Approved if waits => SurfaceState::Changed,
        other => other,
    })
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
            prepared: UNKNOWN,
            digest: Some(candidate.digest.clone()),
            changed: candidate.approval.changed().to_vec(),
            argv,
            url,
            home_bytes: 0,
            found_repositories: Vec::new(),
            found_files: Vec::new(),
            not_started: candidate.not_started(),
        }
    }

    /// The same, with the size of its private home, whether it was filled, and what runs left.
    /// What could not be looked at is said on standard error; whether every file can be read.
    pub(super) fn with_state(mut self, candidate: &Candidate, state: &State) -> (Self, bool) {
        let Server::Stdio(stdio) = &candidate.declaration.server else {
            self.prepared = Readiness::Unneeded.as_str();
            return (self, true);
        };
        let launch = digest::launch(&candidate.declaration.server);
        self.home_bytes = homes::bytes(state.path(), launch.home_name());
        let home = homes::path(state.path(), launch.home_name());
        let ready = Readiness::of(state, &candidate.digest, stdio, &home);
        let dir = stdio.dir.as_ref().map(AbsolutePath::as_path);
        let remains = search::remains(state, &candidate.digest, dir);
        let alias = &candidate.alias;
        let surface = surface(candidate, state);
        let known = surface.is_ok() && ready.is_ok();
        match surface {
            Ok(surface) => self.surface = surface.as_str(),
            Err(error) => render::note(&format!("{alias}: {error}")),
        }
        match ready {
            Ok(ready) => {
                self.prepared = ready.as_str();
                // Before the yes, which prepares it, the yes is what it lacks.
                if candidate.approval == Approval::Given {
                    let refused = ready.refused(alias).as_ref().map(NotStarted::of);
                    self.not_started = self.not_started.or(refused);
                }
            }
            Err(error) => render::note(&format!("{alias}: {error}")),
        }
        for words in remains.unreadable.iter().chain(&remains.not_searched) {
            render::note(&format!("{alias}: {words}"));
        }
        self.found_repositories = remains.repositories.into_iter().collect();
        self.found_files = remains.files.into_values().collect();
        (self, remains.unreadable.is_empty() && known)
    }

    /// What runs left, for a reader.
    pub(super) fn left(&self) -> Vec<question::Row> {
        let shown = |path: &String| text::word(path);
        let repositories = self
            .found_repositories
            .iter()
            .map(|path| format!("left a git repository: {}", shown(path)));
        let files = self.found_files.iter().map(|file| {
            let what = match file.kind {
                FileKind::Obeyed => "",
                FileKind::Link => "a link was ",
            };
            let (change, path, why) = (file.change.as_str(), shown(&file.path), &file.why);
            format!("{what}{change} while it ran: {path} ({why})")
        });
        let all: Vec<String> = repositories.chain(files).collect();
        let more = all.len().saturating_sub(SHOWN);
        let mut rows: Vec<question::Row> = all
            .iter()
            .take(SHOWN)
            .map(|words| question::Row::text(words))
            .collect();
        if more > 0 {
            rows.push(question::Row::text(&format!(
                "and {more} more: supervisor list --json"
            )));
        }
        rows
    }

    /// The row of an entry that cannot be used.
    pub(super) fn unusable(alias: &str, problem: &str) -> Self {
        Self {
            alias: alias.to_owned(),
            transport: None,
            state: "unusable",
            surface: UNKNOWN,
            prepared: UNKNOWN,
            digest: None,
            changed: Vec::new(),
            argv: None,
            url: None,
            home_bytes: 0,
            found_repositories: Vec::new(),
            found_files: Vec::new(),
            not_started: Some(NotStarted {
                code: "entry-unusable",
                message: problem.to_owned(),
                hint: Some(format!("supervisor remove {}", crate::text::word(alias))),
            }),
        }
    }
}
