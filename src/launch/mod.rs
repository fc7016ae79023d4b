//! From a declaration to a running server. Open this first.
//!
//! [`prepare`] reads what has to be read and shows the whole plan; it is all that `explain` and
//! `--dry-run` do. [`permit`] is the one gate: only it makes a [`Prepared`], and only that
//! starts. [`launch`] makes the private home, reads the secrets last, and orders the shim, which has
//! entered its namespaces meanwhile, to confine itself and to become the server.
//!
//! Place on the path: request → **prepare** → explanation → **permit** → **launch** → relay.

mod asked;
mod by_run;
mod confirm;
pub(crate) mod content;
pub(crate) mod descendants;
pub(crate) mod descriptor;
mod enter;
pub(crate) mod error;
pub(crate) mod give;
pub(crate) mod home;
pub(crate) mod homes;
pub(crate) mod logs;
mod ordered;
mod processes;
pub(crate) mod receipts;
pub(crate) mod run_id;
pub(crate) mod running;
pub(crate) mod search;
pub(crate) mod secrets;
pub(crate) mod spawn;
mod start;
mod watch;

use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use nix::unistd::geteuid;
use serde::Serialize;
use tokio::runtime::{Builder, Runtime};

use asked::Asked;
use enter::Ground;
pub use enter::namespaces_refused;
pub use error::LaunchError;
use spawn::Shim;
pub(crate) use start::{Going, order};
pub use start::{Running, launch};

use crate::approval::candidate::search_path;
use crate::approval::{Approval, ApprovalError, Approvals, Record};
use crate::confine::Confinement;
use crate::confine::linux::lend::{self, Lent};
use crate::confine::linux::{self, Linux, apply, kernel};
use crate::confine::receipt::Ran;
use crate::confine::spec::{Ids, Loan};
use crate::confine::specify::specify;
use crate::declaration::store::State;
use crate::declaration::{Alias, Digest, LaunchDigest, Stdio};
use crate::error::Error;
use crate::plan::held::Held;
use crate::plan::program::{Identity, Stat};
use crate::plan::walk::Picture;
use crate::plan::{Caches, HostFacts, Person, Plan, RunRequest, facts, resolve, system};
use crate::policy::{self, Decision, PolicyError, Required, Verdict};
use crate::prepared;
use crate::surface::Surface;

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
    /// What the administrator requires of the run.
    pub required: Required,
    /// What holds each promise.
    #[serde(flatten)]
    pub confinement: Confinement,
    /// The rules themselves.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub lowered: Rc<Linux>,
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
    /// The state directory that it was read from.
    #[serde(skip)]
    state: Rc<State>,
    /// What was read there of its approvals.
    #[serde(skip)]
    approvals: Approvals,
    /// Whether the caller watches it from outside.
    #[serde(skip)]
    watched: bool,
    /// The runner that has to fetch what it runs, since no prepare did.
    #[serde(skip)]
    pub(crate) unprepared: Option<&'static str>,
    /// What its runner is told.
    #[serde(skip)]
    caches: Caches,
    /// Files that are compared right before the exec.
    #[serde(skip)]
    pub unchanged: Vec<(PathBuf, Stat)>,
    /// The program: what is in the receipt of it, and what a reader should know of its content
    /// where that is not what was approved.
    #[serde(skip)]
    pub program: Ran,
    /// What was read of it, where that saves the next start from it ([`content`]).
    #[serde(skip)]
    pub(crate) read: Option<Identity>,
    /// The very directory that was checked for `--dir`: this one is granted.
    #[serde(skip)]
    pub held: Option<Held>,
    /// What stood in that directory.
    #[serde(skip)]
    pub(crate) before: Picture,
    /// What is to be lent to a server with ids of its own.
    #[serde(skip)]
    loans: Vec<Loan>,
    /// The very process that found out what this kernel lets it enter, and waits there; and the
    /// mounts that are lent to it.
    #[serde(skip)]
    shim: Option<(Shim, Vec<Lent>)>,
    /// What was looked up for it, held as long as it may be asked for again.
    #[serde(skip)]
    ground: Option<Ground>,
}

impl Explanation {
    /// The state directory that it was read from.
    pub(crate) fn state(&self) -> Rc<State> {
        Rc::clone(&self.state)
    }

    /// What was approved of the server's surface.
    ///
    /// # Errors
    /// The file of it cannot be trusted or read.
    pub(crate) fn approved_surface(&self) -> Result<Option<Surface>, ApprovalError> {
        let read = self.approvals.clone();
        read.with_surface(&self.state, &self.digest)
    }
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
    prepare_with(None, person, request)
}

/// The same with the shim that was forked for it, if one was.
pub(crate) fn prepare_with(
    shim: Option<Shim>,
    person: &Person,
    request: &RunRequest,
) -> Result<Explanation, Error> {
    // Beside the reading: it enters its namespaces meanwhile.
    let mut shim = shim.map_or_else(|| enter::executed(request.watched), Ok)?;
    apply::not_dumpable()
        .map_err(io::Error::other)
        .map_err(LaunchError::Spawn)?;
    let asked = Asked::read(person, request)?;
    let (declared, launch_digest) = (asked.declared, asked.launch_digest);
    let ids = ids(&launch_digest);
    let begin = enter::begin(&declared, ids);
    // While it enters them.
    let policy = policy::load::installed()?;
    let cgroup = linux::cgroup::find();
    let begun = shim.begin(begin);
    let (grants, ground) = Ground::of(system::look_up())?;
    let begun = begun.and_then(|()| shim.ground(&ground));
    // What the shim does not wait for.
    let record = asked.approvals.record(&asked.digest);
    let search_path = search_path(&declared, record.and_then(Record::search_path));
    let mut facts = facts::gather(&declared, &search_path, person, grants)?;
    let loans = facts.loans();
    let (lent, kept) = lend(&loans, ids);
    let home = home_of(request, &launch_digest, &facts);
    let told = prepared::told(request, &declared, asked.prepared.as_ref(), &home);
    facts.cached = told.cached;
    let found = Some(&facts.program);
    let approval = asked
        .approvals
        .check(&request.alias, &asked.declaration, found);
    let plan = resolve::resolve(home, &declared, &facts, &asked.others)?;
    let verdict = policy::look::judge(&policy, &declared, &facts.program, &search_path)?;
    let begun = enter::begun(&mut shim, (begin, &ground, begun), request.watched)?;
    let kernel = kernel::facts(begun, ids, kept, cgroup);
    let confinement = specify(&plan, &declared, &kernel)?;
    let lowered = linux::lower(&plan, &confinement, &kernel)?;
    let (program, read) = content::ran(&asked.state, &asked.digest, record, &facts.program)?;
    Ok(Explanation {
        alias: request.alias.clone(),
        digest: asked.digest,
        approval,
        plan,
        verdict,
        required: policy.required(),
        confinement,
        lowered: Rc::new(lowered),
        declared,
        launch_digest,
        enabled: asked.declaration.enabled,
        ephemeral: request.ephemeral,
        state: Rc::new(asked.state),
        approvals: asked.approvals,
        watched: request.watched,
        unprepared: told.unprepared,
        caches: request.caches,
        unchanged: facts.program.unchanged(),
        program,
        read,
        held: facts.held,
        before: facts.before,
        loans,
        // Where it could not enter it has ended.
        shim: kernel.namespaces.is_ok().then_some((shim, lent)),
        ground: Some(ground),
    })
}

/// Where the private home is; that of one run alone has a name of its own.
fn home_of(request: &RunRequest, launch: &LaunchDigest, facts: &HostFacts) -> PathBuf {
    if request.ephemeral {
        home::temporary_name()
    } else {
        resolve::home(launch, facts)
    }
}

/// The same for who only looks: nothing waits to be launched.
///
/// # Errors
/// As [`prepare`].
pub fn explain(person: &Person, request: &RunRequest) -> Result<Explanation, Error> {
    let mut explanation = prepare(person, request)?;
    explanation.shim = None;
    Ok(explanation)
}

/// What everything runs on: one thread, since a server's life is bound to the thread that
/// started it (`PR_SET_PDEATHSIG`, `prctl(2)`).
///
/// # Errors
/// What the system says.
pub fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// The ids of root's servers.
fn ids(digest: &LaunchDigest) -> Option<Ids> {
    let root = geteuid().is_root();
    root.then(|| linux::ids::of(digest)).flatten()
}

/// The mounts that lend to these ids; and what cannot be lent, each with the reason.
fn lend(loans: &[Loan], ids: Option<Ids>) -> (Vec<Lent>, Vec<String>) {
    ids.map(|ids| lend::lend(loans, ids)).unwrap_or_default()
}

/// The one gate.
///
/// # Errors
/// What is disabled, the administrator denies, was not approved, was changed since, or would run
/// without a promise that it did not give up.
pub fn permit(explanation: Explanation) -> Result<Prepared, Error> {
    let alias = explanation.alias.clone();
    if !explanation.enabled {
        return Err(LaunchError::Disabled { alias }.into());
    }
    // Before the approval: nobody is sent to approve what may not start.
    if explanation.verdict.result == Decision::Deny {
        let verdict = Box::new(explanation.verdict);
        return Err(PolicyError::Denied { alias, verdict }.into());
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
    let promises = Confinement::unheld(&explanation.confinement.promises);
    if !promises.is_empty() {
        let cure = explanation.confinement.cure.clone();
        return Err(LaunchError::Unheld {
            alias,
            promises,
            cure,
        }
        .into());
    }
    if let Some(runner) = explanation
        .unprepared
        .filter(|_| explanation.caches == Caches::AsPrepared)
    {
        return Err(LaunchError::NotPrepared { alias, runner }.into());
    }
    Ok(Prepared(explanation))
}
