//! The second question of `add` and `approve`: what the server says about itself, and whether a
//! model may read it.
//!
//! The server is started by the road of `run`, as throw-away children of this command, which
//! ends them and what they leave. A yes is recorded beside the first one; a no, or a server that
//! does not answer, leaves the first as it is.

use std::cell::RefCell;
use std::time::Duration;

use super::scope::Scope;
use super::starting::{self, Watch};
use super::{ended, render};
use crate::approval::candidate::{Candidate, SurfaceState};
use crate::approval::{ApprovalError, Approvals, prompt};
use crate::declaration::store::State;
use crate::declaration::{Alias, Digest, Server};
use crate::error::Error;
use crate::launch::search::{Search as Left, UNHURRIED};
use crate::launch::{self, Explanation, LaunchError, Running, descendants};
use crate::plan::runner;
use crate::plan::{Caches, Person, RunRequest};
use crate::policy;
use crate::run::kept::Kept;
use crate::run::pending;
use crate::settings::Settings as Choices;
use crate::surface::check::{self, Others};
use crate::surface::diff::diff;
use crate::surface::further::{Further, Word};
use crate::surface::read::{self, Progress, Seen, Settings};
use crate::surface::show::Page;
use crate::surface::{Surface, SurfaceError};
use jiff::Timestamp;

/// How often the first reading of a program of Python is made again. Two words in a set stand in
/// the order of the first start every other time, so that four more miss that once in sixteen.
const AGAIN_OF_PYTHON: usize = 4;

/// Reads the surface of an approved server, shows it and asks. `earlier` is what was approved
/// before, under this alias; what differs from it is shown then. Whether it is approved now.
///
/// # Errors
/// What keeps the server from starting, or from saying what it offers; the terminal.
pub(super) fn ask(
    person: &Person,
    state: &State,
    alias: &Alias,
    earlier: Option<&Surface>,
) -> Result<bool, Error> {
    // What cannot be read is said before anything is started.
    let check = Choices::read(state)?.check;
    let (digest, seen, steadied_by) = seen(person, state, alias)?;
    if let Some(how) = seen.discover {
        Kept::open(state, &digest)?.learn(how, now())?;
    }
    let approvals = Approvals::read(state)?;
    let approved = approvals.surface(&digest);
    if approved
        .as_ref()
        .is_some_and(|approved| approved.digest() == seen.surface.digest())
    {
        render::human(&format!(
            "the surface of {alias} is what was approved (surface {})\n",
            seen.surface.digest().short()
        ));
        pending::forget(state, &digest)?;
        return Ok(true);
    }
    let others = Others {
        aliases: state
            .read()?
            .iter()
            .map(|(name, _)| name.to_owned())
            .filter(|name| name != alias.as_str())
            .collect(),
        tools: approvals.tools_but_of(alias),
    };
    let findings = check::check(&seen.surface, &others);
    let diff = approved
        .as_ref()
        .or(earlier)
        .map(|before| diff(before, &seen.surface));
    let word = check.map(|check| further(&check, alias, &digest, &seen.surface));
    let word = word.transpose()?;
    let declarations = state.read()?;
    let scope = Scope::read(state, alias, declarations.get(alias)?)?;
    let page = Page {
        alias: alias.as_str(),
        seen: &seen,
        findings: &findings,
        long: &check::long_names(&seen.surface, alias.as_str()),
        steadied_by: steadied_by.as_deref(),
        categories: &scope.of(&seen.surface),
        further: word.as_ref(),
        diff: diff.as_ref(),
    };
    render::human(&format!("\n{}\n", page.to_text()));
    if !prompt::ask("  Offer this surface to the model?")? {
        return Ok(false);
    }
    Approvals::approve_surface(state, alias, &digest, &seen.surface)?;
    pending::forget(state, &digest)?;
    let short = seen.surface.digest();
    render::human(&format!(
        "\napproved the surface of {alias} (surface {})\n",
        short.short()
    ));
    Ok(true)
}

/// Has the person's own check look at a surface; nothing that it starts is left after.
fn further(
    check: &Further,
    alias: &Alias,
    digest: &Digest,
    surface: &Surface,
) -> Result<Word, Error> {
    let why = format!("{}, your own check of settings.json", check.program());
    render::human(&format!("\n{}", render::paragraph("asking", &why)));
    let runtime = launch::runtime().map_err(LaunchError::Spawn)?;
    let word = runtime.block_on(check.ask(alias, digest, surface));
    sweep();
    word.map_err(|why| {
        let (alias, program) = (alias.clone(), check.program().to_owned());
        SurfaceError::Further {
            alias,
            program,
            why,
        }
        .into()
    })
}

/// What a server offers, once what it runs was fetched; and what may steady that.
fn seen(
    person: &Person,
    state: &State,
    alias: &Alias,
) -> Result<(Digest, Seen, Option<String>), Error> {
    // Said before anything is, where it may not start.
    let asked = RunRequest {
        caches: Caches::IfPrepared,
        ..request(alias)
    };
    let permitted = launch::permit(launch::explain(person, &asked)?)?;
    let watch = Watch::new().map_err(LaunchError::Spawn)?;
    starting::prepare_first(person, state, permitted.explanation(), &watch)?;
    let why = format!("{alias}, confined, to read what it offers (Ctrl-C stops that)");
    render::human(&format!("\n{}", render::paragraph("starting", &why)));
    let steadied_by = steadied_by(permitted.explanation());
    let again = match steadied_by {
        Some(_) => AGAIN_OF_PYTHON,
        None => 1,
    };
    let (digest, seen) = inspect(person, state, alias, (&watch, again))?;
    Ok((digest, seen, steadied_by))
}

/// The second question after a yes to the first, where there is somebody to ask: a no, or a
/// server that does not answer, is said and takes nothing back.
///
/// # Errors
/// The state; the terminal.
pub(super) fn follow(
    person: &Person,
    state: &State,
    alias: &Alias,
    earlier: Option<&Surface>,
) -> Result<(), Error> {
    let declaration = state.read()?.get(alias)?.clone();
    let (approvals, policy) = (Approvals::read(state)?, policy::load::installed());
    let now = Candidate::look(alias.clone(), declaration, &approvals, &policy, false);
    if now.surface != SurfaceState::Unapproved || !prompt::is_at_terminal() {
        return Ok(());
    }
    match ask(person, state, alias, earlier) {
        Ok(true) => {}
        Ok(false) => {
            render::human(&format!(
                "\nnot offered; to be asked again: supervisor approve {alias} --surface\n"
            ));
        }
        Err(error) => {
            starting::failed(person, state, alias, &error);
        }
    }
    Ok(())
}

/// Starts the server as often as it takes and reads its surface; nothing of it is left after.
fn inspect(
    person: &Person,
    state: &State,
    alias: &Alias,
    (watch, again): (&Watch, usize),
) -> Result<(Digest, Seen), Error> {
    let failed = |error| Error::from(LaunchError::Spawn(error));
    let runtime = launch::runtime().map_err(failed)?;
    // As `run`: ends what the server starts and leaves.
    descendants::adopt().map_err(failed)?;
    let settings = Settings {
        alias,
        start: start_limit(state, alias)?,
        again,
        interrupted: &watch.interrupted,
        progress: &tell,
        after_server: sweep,
    };
    let seen_digest: RefCell<Option<Digest>> = RefCell::new(None);
    // By the first start: what any of them leaves is looked for once.
    let left = RefCell::new(None);
    let start = async || -> Result<Running, Error> {
        let explanation = launch::prepare(person, &request(alias))?;
        let digest = explanation.digest.clone();
        let before = seen_digest.replace(Some(digest.clone()));
        if before.is_some_and(|before| before != digest) {
            let alias = alias.clone();
            return Err(ApprovalError::NotTheServer { alias }.into());
        }
        left.borrow_mut()
            .get_or_insert_with(|| Left::of(&explanation));
        Ok(launch::launch(&mut launch::permit(explanation)?).await?)
    };
    let seen = runtime.block_on(read::read(start, &settings));
    sweep();
    if let Some(watch) = left.into_inner() {
        ended::tell(alias, &watch.look(UNHURRIED), UNHURRIED);
    }
    let digest = seen_digest.into_inner();
    match (seen, digest) {
        (Ok(seen), Some(digest)) => Ok((digest, seen)),
        (Err(error), _) => Err(error),
        (Ok(_), None) => Err(LaunchError::NotApproved {
            alias: alias.clone(),
        }
        .into()),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the command hands the time of what it learnt in"
)]
fn now() -> Timestamp {
    Timestamp::now()
}

/// A run like any other.
fn request(alias: &Alias) -> RunRequest {
    RunRequest::of(alias.clone())
}

/// How long the first start may take: the declaration's own word, where it has one.
fn start_limit(state: &State, alias: &Alias) -> Result<Duration, Error> {
    let declarations = state.read()?;
    let own = match &declarations.get(alias)?.server {
        Server::Stdio(stdio) => stdio.timeouts.start_s,
        Server::Http(_) => None,
    };
    Ok(own
        .map_or(read::START, |seconds| Duration::from_secs(seconds.get()))
        .min(read::START))
}

/// What makes a program of Python go through its sets in the same order at each start.
fn steadied_by(explanation: &Explanation) -> Option<String> {
    const SEED: &str = "PYTHONHASHSEED";
    let plan = &explanation.plan;
    let named = plan
        .variables
        .iter()
        .any(|known| known.name.as_str() == SEED);
    let exec = plan.exec.file_name().unwrap_or_default().to_string_lossy();
    let runner = runner::recognise(&explanation.declared.argv());
    let python = exec.starts_with("python")
        || exec.starts_with("pypy")
        || runner.is_some_and(|runner| runner.is_of_python());
    (python && !named).then(|| format!("supervisor set {} -e {SEED}=0", explanation.alias))
}

fn sweep() {
    if let Err(error) = descendants::sweep(descendants::AT_LEISURE) {
        render::note(&format!("R2: {error}"));
    }
}

fn tell(progress: Progress) {
    match progress {
        Progress::Starting(reading) => {
            render::human(&format!("  {reading}\n"));
        }
        Progress::Again(reading) => {
            render::human(&format!("  {reading}, once more\n"));
        }
        Progress::Waiting { since, first } if since.as_secs() % 10 == 0 => {
            let why = if first {
                "; a runner may be fetching what it runs"
            } else {
                ""
            };
            let seconds = since.as_secs();
            render::human(&format!("  no answer after {seconds} s{why}\n"));
        }
        Progress::Waiting { .. } => {}
    }
}
