//! From a declaration to a running server. Open this first.
//!
//! [`prepare`] reads what has to be read and shows the whole plan; it is all that `explain` and
//! `--dry-run` do. [`permit`] is the one gate: only it makes a [`Prepared`], and only that
//! starts. [`launch`] makes the private home, reads the secrets last, and executes this program
//! anew as the shim that confines itself and becomes the server.
//!
//! Place on the path: request → **prepare** → explanation → **permit** → **launch** → relay.

pub(crate) mod descendants;
pub(crate) mod error;
pub(crate) mod home;
pub(crate) mod homes;
pub(crate) mod secrets;
pub(crate) mod spawn;

use serde::Serialize;

pub use error::LaunchError;

use crate::approval::candidate::search_path;
use crate::approval::{Approval, Approvals, Record};
use crate::confine::Confinement;
use crate::confine::linux::{self, Linux};
use crate::confine::specify::specify;
use crate::declaration::store::State;
use crate::declaration::{Alias, Digest, LaunchDigest, Server, Stdio, digest};
use crate::error::Error;
use crate::plan::held::Held;
use crate::plan::program::Stat;
use crate::plan::{Person, Plan, RunRequest, facts, resolve};
use crate::policy::{self, Decision, Verdict};
use crate::relay;

/// Everything there is to know about a run before it: what `explain` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The person's name for the server.
    pub alias: Alias,
    /// What would be approved.
    pub digest: Digest,
    /// Whether it was.
    pub approval: Approval,
    /// What would run and what it would reach.
    pub plan: Plan,
    /// The administrator's word on it.
    pub verdict: Verdict,
    /// What holds each promise.
    #[serde(flatten)]
    pub confinement: Confinement,
    /// The rules themselves.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub lowered: Linux,
    /// The declaration it was made from.
    #[serde(skip)]
    pub declared: Stdio,
    /// The full launch digest, by which the private home goes.
    #[serde(skip)]
    pub launch_digest: LaunchDigest,
    /// Whether `mcp.json` lets it start.
    #[serde(skip)]
    pub enabled: bool,
    /// Whether its home is for this run alone.
    #[serde(skip)]
    pub ephemeral: bool,
    /// Files that are compared right before the exec.
    #[serde(skip)]
    pub unchanged: Vec<(std::path::PathBuf, Stat)>,
    /// What a reader should know about the program's content, if it is not what was approved.
    #[serde(skip)]
    pub upgraded: Option<String>,
    /// The very directory that was checked for `--dir`: this one is granted.
    #[serde(skip)]
    pub held: Option<Held>,
}

/// An explanation that may start: the only argument of [`launch`].
#[derive(Debug)]
pub struct Prepared(Explanation);

impl Prepared {
    /// What was permitted.
    #[must_use]
    pub fn explanation(&self) -> &Explanation {
        &self.0
    }
}

/// Reads the state, this machine and the kernel, and says what a run would be.
///
/// # Errors
/// An alias nobody declared, a state that cannot be trusted, a plan that cannot be made, a
/// policy that cannot be obeyed, a promise that cannot be held here.
pub fn prepare(person: &Person, request: &RunRequest) -> Result<Explanation, Error> {
    let state = State::open(person)?;
    let declarations = state.read()?;
    let approvals = Approvals::read(&state)?;
    let alias = request.alias.clone();
    let declaration = declarations.get(&alias)?;
    let declared = match &declaration.server {
        Server::Stdio(stdio) => stdio.clone(),
        Server::Http(_) => return Err(LaunchError::HttpLater { alias }.into()),
    };
    let digest = digest::digest(declaration);
    if let Some(asked) = request
        .digest
        .clone()
        .filter(|asked| !asked.begins(&digest))
    {
        return Err(LaunchError::OtherDigest {
            alias,
            asked,
            digest,
        }
        .into());
    }
    let launch_digest = digest::launch(&declaration.server);
    let record = approvals.record(&digest);
    let search_path = search_path(&declared, record.and_then(Record::search_path));
    let facts = facts::gather(&declared, &search_path, person)?;
    let approval = approvals.check(&alias, declaration, Some(&facts.program));
    let others = declarations.writable_but_by(&alias);
    let plan = if request.ephemeral {
        resolve::resolve_in(home::temporary_name(), &declared, &facts, &others)?
    } else {
        resolve::resolve(&declared, &launch_digest, &facts, &others)?
    };
    let verdict = policy::evaluate(policy::load::load()?, &plan);
    let confinement = specify(&plan, &declared, &facts.kernel)?;
    let lowered = linux::lower(&plan, &confinement, &facts.kernel)?;
    let upgraded = record.and_then(|record| record.upgraded(&facts.program));
    Ok(Explanation {
        alias,
        digest,
        approval,
        plan,
        verdict,
        confinement,
        lowered,
        declared,
        launch_digest,
        enabled: declaration.enabled,
        ephemeral: request.ephemeral,
        unchanged: facts.program.unchanged(),
        upgraded,
        held: facts.held,
    })
}

/// The one gate.
///
/// # Errors
/// What was not approved, was changed since, is disabled, or the administrator denies.
pub fn permit(explanation: Explanation) -> Result<Prepared, Error> {
    let alias = explanation.alias.clone();
    if !explanation.enabled {
        return Err(LaunchError::Disabled { alias }.into());
    }
    match &explanation.approval {
        Approval::Given => {}
        Approval::Missing => return Err(LaunchError::NotApproved { alias }.into()),
        Approval::Changed { changed } => {
            return Err(LaunchError::Changed {
                alias,
                changed: changed.clone(),
            }
            .into());
        }
    }
    if explanation.verdict.result == Decision::Deny {
        let reason = explanation.verdict.reason.clone();
        return Err(LaunchError::Denied { alias, reason }.into());
    }
    Ok(Prepared(explanation))
}

/// A server that was started confined.
#[derive(Debug)]
pub struct Running {
    /// Its pipes and its process, for the relay.
    pub server: relay::Server,
    /// What the kernel took.
    pub enforced: crate::confine::spec::Enforced,
    /// Held as long as the server runs: its temporary directory is not emptied meanwhile.
    pub home: home::Home,
}

/// Makes the home, reads the secrets, starts the shim, and hears from it that the rules are in
/// force and the server was executed.
///
/// # Errors
/// [`LaunchError`]; nothing of the server's has run then, or it was ended.
pub async fn launch(prepared: Prepared) -> Result<Running, LaunchError> {
    let Prepared(explanation) = prepared;
    let home = if explanation.ephemeral {
        home::Home::temporary(&explanation.plan)?
    } else {
        home::Home::open(&explanation.plan, &explanation.launch_digest)?
    };
    let env = secrets::variables(&explanation.plan, &explanation.declared)?;
    let (server, enforced) = spawn::spawn(&explanation, env).await?;
    Ok(Running {
        server,
        enforced,
        home,
    })
}
