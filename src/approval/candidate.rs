//! A declaration as it stands on this machine: what an approval would be given to, and whether
//! one was. `add`, `approve`, `list` and `get` look at declarations through here.
//!
//! Place on the path: declaration + approvals + policy + this machine → **candidate** → question.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::Serialize;

use super::question::Shown;
use super::{Approval, ApprovalError, Approvals, Word};
use crate::declaration::digest::canonical;
use crate::declaration::store::State;
use crate::declaration::{AbsolutePath, Alias, Declaration, Digest, EnvName, Server, Stdio};
use crate::error::Error;
use crate::launch::LaunchError;
use crate::plan::program::{self, Program};
use crate::plan::runner::{self, Runner};
use crate::plan::{Person, PlanError, SearchPath, facts, git, record};
use crate::policy::load::Installed;
use crate::policy::{AdminPolicy, Decision, PolicyError, Verdict, look};
use crate::surface::Surface;
use crate::text;

/// A declaration, looked at.
#[derive(Debug)]
pub struct Candidate {
    /// Its alias.
    pub alias: Alias,
    /// Itself.
    pub declaration: Declaration,
    /// Its digest.
    pub digest: Digest,
    /// Whether it is approved as it stands.
    pub approval: Approval,
    /// What is known of its surface.
    pub surface: SurfaceState,
    /// The surface approved for it as it stands.
    pub offered: Option<Surface>,
    /// The program, for a server that is one.
    pub program: Option<Result<Program, PlanError>>,
    /// The runner that starts it.
    pub runner: Option<Runner>,
    /// The administrator's word on it, where its program was found.
    pub verdict: Option<Verdict>,
    /// Why it is not asked about, beside its program: the administrator's policy.
    refused: Option<Error>,
    ours: Vec<EnvName>,
    path: SearchPath,
    marks: Marks,
}

/// What is known of a server's surface without starting it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceState {
    /// It was approved for the declaration as it stands.
    Approved,
    /// The server was approved and its surface was not.
    Unapproved,
    /// It was approved for what the declaration was before.
    Changed,
    /// Nobody asked the server.
    Unknown,
}

impl SurfaceState {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Unapproved => "unapproved",
            Self::Changed => "changed",
            Self::Unknown => "unknown",
        }
    }
}

/// Why a server would not start.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NotStarted {
    /// The stable code.
    pub code: &'static str,
    /// What and where.
    pub message: String,
    /// The next command.
    pub hint: Option<String>,
}

impl NotStarted {
    /// What a start would be refused with.
    pub(crate) fn of(error: &LaunchError) -> Self {
        Self {
            code: error.code(),
            message: error.to_string(),
            hint: error.hint(),
        }
    }
}

/// The administrator's word; nothing for a program that was not found.
fn judged(
    policy: &AdminPolicy,
    server: &Server,
    program: Option<&Program>,
    path: &SearchPath,
) -> Result<Option<Verdict>, Error> {
    match (server, program) {
        (Server::Http(http), _) => Ok(Some(look::judge_url(policy, &http.url))),
        (Server::Stdio(stdio), Some(program)) => {
            look::judge(policy, stdio, program, path).map(Some)
        }
        (Server::Stdio(_), None) => Ok(None),
    }
}

/// What is named at the question, and refuses nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    /// Reads that hold secrets or lie among them, and which.
    pub(crate) secrets: Vec<(AbsolutePath, String)>,
    /// Marks of version control systems but git around `--dir`.
    pub(crate) checkouts: Vec<PathBuf>,
    /// Where other users choose what runs.
    pub(crate) doubts: Vec<String>,
}

/// Where a server's program is looked for: its own stored `PATH`; the one frozen at its
/// approval, or the caller's where it has none yet; nowhere else.
#[must_use]
pub fn search_path(stdio: &Stdio, frozen: Option<SearchPath>) -> SearchPath {
    let path = EnvName::path();
    if stdio.env.contains_key(&path) {
        facts::search_path_of(stdio)
    } else if stdio.pass.contains(&path) {
        frozen.unwrap_or_else(facts::search_path)
    } else {
        SearchPath::default()
    }
}

impl Candidate {
    /// Looks at a declaration. `anew` reads `PATH` as it is now, as a new approval would, and
    /// not as it was frozen.
    #[must_use]
    pub(crate) fn look(
        alias: Alias,
        declaration: Declaration,
        approvals: &Approvals,
        policy: &Installed,
        anew: bool,
    ) -> Self {
        let form = canonical(&declaration);
        let digest = form.digest();
        let frozen = approvals
            .record(&digest)
            .and_then(super::Record::search_path);
        let mut path = SearchPath::default();
        let mut program = None;
        let mut runner = None;
        if let Server::Stdio(stdio) = &declaration.server {
            // What a version manager says where it is asked is frozen with the approval.
            let caller = anew && !stdio.env.contains_key(&EnvName::path());
            path = match stdio.pass.contains(&EnvName::path()) && caller {
                true => facts::search_path_for(&stdio.command),
                false => search_path(stdio, frozen.filter(|_| !anew)),
            };
            program = Some(program::find(&stdio.command, &path));
            runner = runner::recognise(&stdio.argv());
        }
        let found = program.as_ref().and_then(|program| program.as_ref().ok());
        let approval = approvals.check(&alias, &declaration, found);
        let offered = approvals.surface(&digest);
        let surface = match &approval {
            _ if matches!(declaration.server, Server::Http(_)) => SurfaceState::Unknown,
            Approval::Given if offered.is_some() => SurfaceState::Approved,
            Approval::Given => SurfaceState::Unapproved,
            _ if approvals.latest_surface(&alias).is_some() => SurfaceState::Changed,
            _ => SurfaceState::Unknown,
        };
        let ours = form.ours.into_iter().collect();
        let judged = match policy {
            Ok(policy) => judged(policy, &declaration.server, found, &path),
            Err(error) => Err(error.clone().into()),
        };
        let (verdict, refused) = match judged {
            Ok(Some(verdict)) if verdict.result == Decision::Deny => {
                let (alias, shown) = (alias.clone(), Box::new(verdict.clone()));
                let denied = PolicyError::Denied {
                    alias,
                    verdict: shown,
                };
                (Some(verdict), Some(denied.into()))
            }
            Ok(verdict) => (verdict, None),
            Err(error) => (None, Some(error)),
        };
        Self {
            alias,
            declaration,
            digest,
            approval,
            surface,
            offered,
            program,
            runner,
            verdict,
            refused,
            ours,
            path,
            marks: Marks::default(),
        }
    }

    /// Whether an approval that holds is out of date all the same: its program is found no
    /// more along the `PATH` frozen with it, or holds something else. Asking again renews it.
    #[must_use]
    pub fn is_stale(&self, approvals: &Approvals) -> bool {
        self.approval == Approval::Given
            && match (&self.program, approvals.record(&self.digest)) {
                (Some(Ok(program)), Some(record)) => record.is_of_another(program),
                (Some(Err(_)), _) => true,
                _ => false,
            }
    }

    /// The same, with what is named at the question.
    pub(crate) fn marked(mut self, person: &Person) -> Self {
        if let Server::Stdio(stdio) = &self.declaration.server {
            for read in &stdio.reads {
                if let Some(why) = record::secrets(read.path.as_path(), person) {
                    self.marks.secrets.push((read.path.clone(), why.to_owned()));
                }
            }
            if let Some(Ok(program)) = &self.program {
                self.marks.doubts = facts::doubts(&self.path, program, person);
            }
            let dir = stdio.dir.as_ref().map(AbsolutePath::as_path);
            self.marks.checkouts = dir.map(git::other_marks).unwrap_or_default();
        }
        self
    }

    /// What a person is shown of it.
    pub(crate) fn shown(&self, whole_digest: bool) -> Shown<'_> {
        self.shown_with(whole_digest, self.approval.changed())
    }

    /// The same, with other words as what changed.
    pub(crate) fn shown_with<'a>(&'a self, whole_digest: bool, changed: &'a [Word]) -> Shown<'a> {
        let program = self
            .program
            .as_ref()
            .map(|program| program.as_ref().map_err(ToString::to_string));
        Shown {
            declaration: &self.declaration,
            digest: &self.digest,
            whole_digest,
            program,
            administrator: self.administrator(),
            runner: self.runner.as_ref(),
            ours: &self.ours,
            marks: &self.marks,
            changed,
        }
    }

    /// The variables its runner gets from the supervisor.
    #[must_use]
    pub fn ours(&self) -> &[EnvName] {
        &self.ours
    }

    /// What the administrator says, in one line; nothing where there is no policy here.
    fn administrator(&self) -> Option<String> {
        match (&self.verdict, &self.refused) {
            (Some(verdict), _) => verdict.file.is_some().then(|| {
                format!(
                    "{} by the administrator: {}",
                    verdict.result.as_str(),
                    verdict.told()
                )
            }),
            (None, Some(error)) => Some(format!("does not start: {}", error.message())),
            (None, None) => None,
        }
    }

    /// Why it would not start here, as far as it was looked at.
    #[must_use]
    pub fn not_started(&self) -> Option<NotStarted> {
        let program = self.program.as_ref().and_then(|found| found.as_ref().err());
        match (&self.refused, program) {
            (Some(error), _) => Some(NotStarted {
                code: error.code(),
                message: error.message(),
                hint: error.hint(),
            }),
            (None, Some(error)) => Some(NotStarted {
                code: error.code(),
                message: text::printable(&error.to_string()),
                hint: error.hint(),
            }),
            (None, None) => None,
        }
    }

    /// The same, where the administrator does not refuse it: else nothing is asked about it.
    ///
    /// # Errors
    /// The policy denies it, or cannot be obeyed.
    pub fn permitted(mut self) -> Result<Self, Error> {
        self.refused.take().map_or(Ok(self), Err)
    }

    /// The same, where there is something to say yes to: what the administrator does not refuse,
    /// a program that is there, or a URL.
    ///
    /// # Errors
    /// What [`Candidate::not_started`] says.
    pub fn must_start(self) -> Result<Self, Error> {
        let mut candidate = self.permitted()?;
        candidate.program = candidate
            .program
            .map(|program| program.map(Ok))
            .transpose()?;
        Ok(candidate)
    }

    /// Records the person's yes.
    ///
    /// # Errors
    /// As [`Approvals::approve`].
    pub fn approve(&self, state: &State, now: Timestamp) -> Result<(), ApprovalError> {
        let program = self
            .program
            .as_ref()
            .and_then(|program| program.as_ref().ok());
        Approvals::approve(
            state,
            &self.alias,
            &self.declaration,
            &self.path,
            program,
            now,
        )?;
        Ok(())
    }
}
