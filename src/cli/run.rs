//! `supervisor run ALIAS`: what a host starts in place of the server.

use std::io::IsTerminal;
use std::num::NonZeroU64;
use std::process::ExitCode;
use std::time::Duration;

use super::args_run::RunArgs;
use super::ended::Record;
use crate::cli::render;
use crate::declaration::Tools;
use crate::error::Error;
use crate::launch::receipts::Named;
use crate::launch::run_id::RunId;
use crate::launch::spawn::Shim;
use crate::launch::{self, Explanation, Going, LaunchError, Prepared, content, descendants};
use crate::plan::{Person, RunRequest, Source, facts};
use crate::relay::filter::Pattern;
use crate::relay::{self, Audit, Filter, Host, Server, Settings};
use crate::run::{self, Run};

/// Runs the command, with the shim that was forked for it. Prints nothing on stdout that is not the
/// protocol.
pub(super) fn run(args: &RunArgs, shim: Option<Shim>) -> ExitCode {
    if args.dry_run {
        return super::explain::show(&request(args), args.json);
    }
    // Before anything of ours is open: the caller names a descriptor by its number.
    let named = Named::open(args.receipt.as_deref(), args.receipt_fd);
    let (person, ordered) = order(args, named, shim);
    // Beside the shim's work.
    let runtime = match launch::runtime() {
        Ok(runtime) => runtime,
        Err(error) => return render::failure("cannot start", &error),
    };
    // What the server starts and leaves is this process's to end.
    if let Err(error) = descendants::adopt() {
        return render::failure("cannot adopt what a server leaves", &error);
    }
    let code = runtime.block_on(start_and_relay(args, person.as_ref(), ordered));
    // Again: for an end without a server, or without its own end.
    match descendants::sweep(descendants::AT_LEISURE) {
        Ok(()) => code,
        Err(error) => render::failure("R2", &error),
    }
}

fn request(args: &RunArgs) -> RunRequest {
    RunRequest {
        digest: args.digest.clone(),
        ephemeral: args.ephemeral,
        ..RunRequest::of(args.alias.clone())
    }
}

/// A run whose server has been ordered.
struct Ordered {
    prepared: Prepared,
    going: Going,
    run: Run,
    settings: Settings,
    record: Record,
}

/// From the words to what is ordered, and whose run that is, if it is known.
fn order(
    args: &RunArgs,
    named: Result<Named, LaunchError>,
    shim: Option<Shim>,
) -> (Option<Person>, Result<Ordered, Error>) {
    match facts::person() {
        Ok(person) => {
            let ordered = ordered(&person, args, named, shim);
            (Some(person), ordered)
        }
        Err(error) => (None, Err(error.into())),
    }
}

/// The same, and what the relay must know of it.
fn ordered(
    person: &Person,
    args: &RunArgs,
    named: Result<Named, LaunchError>,
    shim: Option<Shim>,
) -> Result<Ordered, Error> {
    let named = named?;
    let (mut prepared, filter) = permitted(person, args, shim)?;
    let launching = launch::order(&mut prepared, |_| Ok(()))?;
    // What has to be there before it is let go.
    let explanation = prepared.explanation();
    say_what_differs(explanation);
    let record = Record::begin(explanation, named);
    let id = RunId::new().map_err(LaunchError::Spawn)?;
    let (run, set) = Run::open(person, &request(args), explanation, id, render::note)?;
    let settings = settings(&set, &run, explanation, filter)?;
    let going = launching.go()?;
    Ok(Ordered {
        prepared,
        going,
        run,
        settings,
        record,
    })
}

async fn start_and_relay(
    args: &RunArgs,
    person: Option<&Person>,
    ordered: Result<Ordered, Error>,
) -> ExitCode {
    let begun = match ordered {
        Ok(ordered) => start(args, ordered).await,
        Err(error) => Err(error),
    };
    match begun {
        Ok(begun) => relay_messages(begun).await,
        Err(error) => refuse(person, args, &error).await,
    }
}

/// A run whose server was started.
struct Begun {
    server: Server,
    run: Run,
    settings: Settings,
    record: Record,
}

/// From what is ordered to a running server.
async fn start(args: &RunArgs, ordered: Ordered) -> Result<Begun, Error> {
    let Ordered {
        prepared,
        going,
        mut run,
        settings,
        record,
    } = ordered;
    let explanation = prepared.explanation();
    if let Some(read) = explanation.read.clone().filter(|_| !explanation.ephemeral)
        && let Err(error) = content::keep(&explanation.state(), &explanation.digest, read)
    {
        render::note(&format!("{}: {error}", args.alias));
    }
    let running = going.confirmed(&prepared).await?;
    let server = run.started(explanation, running)?;
    Ok(Begun {
        server,
        run,
        settings,
        record,
    })
}

fn settings(
    set: &crate::settings::Settings,
    run: &Run,
    explanation: &Explanation,
    filter: Filter,
) -> Result<Settings, Error> {
    let timeouts = explanation.declared.timeouts;
    let seconds = |count: NonZeroU64| Duration::from_secs(count.get());
    Ok(Settings {
        alias: explanation.alias.to_string(),
        max_message_bytes: set.max_message_bytes,
        surface: explanation.approved_surface()?,
        whole: explanation.required.whole,
        filter,
        granted: explanation.declared.tools.categories.clone(),
        rules: set.rules.clone(),
        seed: launch::run_id::secret().map_err(LaunchError::Spawn)?,
        start_limit: timeouts.start_s.map(seconds),
        call_limit: timeouts.call_s.map(seconds).or(set.call_timeout),
        audit: match (run.is_recorded(), explanation.declared.audit_arguments) {
            (false, _) => Audit::Off,
            (true, false) => Audit::Digests,
            (true, true) => Audit::Arguments,
        },
        breaker: run.earlier_breaker(),
        discover: run.earlier_discover()?,
    })
}

fn permitted(
    person: &Person,
    args: &RunArgs,
    shim: Option<Shim>,
) -> Result<(Prepared, Filter), Error> {
    let explanation = launch::prepare_with(shim, person, &request(args))?;
    let prepared = launch::permit(explanation)?;
    let filter = filter(args, &prepared.explanation().declared.tools)?;
    Ok((prepared, filter))
}

/// The tools that this run offers.
fn filter(args: &RunArgs, declared: &Tools) -> Result<Filter, LaunchError> {
    let patterns = |place: &'static str, words: &[String]| -> Result<Vec<Pattern>, LaunchError> {
        let pattern = |word: &String| {
            word.parse().map_err(|problem| LaunchError::ToolPattern {
                alias: args.alias.clone(),
                place,
                pattern: word.clone(),
                problem,
            })
        };
        words.iter().map(pattern).collect()
    };
    Ok(Filter {
        only: args.only.clone(),
        include: patterns("tools.include", &declared.include)?,
        exclude: patterns("tools.exclude", &declared.exclude)?,
    })
}

/// Passed variables that the caller lacks, and a program whose content is not what was approved.
fn say_what_differs(explanation: &Explanation) {
    let alias = &explanation.alias;
    for variable in &explanation.plan.variables {
        if variable.source == Source::Unset {
            let name = &variable.name;
            render::note(&format!(
                "{alias}: {name} is not set here, so the server does not get it"
            ));
        }
    }
    if let Some(differs) = &explanation.program.differs {
        render::note(&format!(
            "{alias}: {differs}; to approve it: supervisor approve {alias}"
        ));
    }
}

async fn relay_messages(begun: Begun) -> ExitCode {
    let Begun {
        server,
        mut run,
        settings,
        record,
    } = begun;
    let host = match Host::open() {
        Ok(host) => host,
        Err(error) => return render::failure("cannot use the host's pipes", &error),
    };
    let relayed = relay::relay(host, server, &mut run, &settings).await;
    if relayed.is_err() {
        // Nothing of it writes while it is looked at; what is left is said at the very end.
        let _ = descendants::sweep(descendants::AT_ONCE);
    }
    if let Ok(outcome) = &relayed {
        run.stopped(outcome);
    }
    // Looked at as long as the run holds the home: another start may empty the temporary
    // directory after.
    let recorded = record.end(run.last_started(), relayed.as_ref().ok());
    match (relayed, recorded) {
        (Err(error), _) => render::failure("the relay failed", &error),
        (Ok(outcome), recorded) => {
            run.ended();
            recorded.map_or_else(|code| code, |()| ExitCode::from(outcome.exit_code()))
        }
    }
}

/// Says why nothing starts: on stderr, in the audit log, and to a host as the answer to its first
/// requests.
async fn refuse(person: Option<&Person>, args: &RunArgs, error: &Error) -> ExitCode {
    let code = render::error(error);
    if let Some(person) = person.filter(|_| !args.ephemeral)
        && let Err(unrecorded) = run::refused(person, &args.alias, error)
        // Said already, where the same thing keeps both from going on.
        && unrecorded.code() != error.code()
    {
        render::note(&format!("{}: {}", args.alias, unrecorded.message()));
    }
    if !std::io::stdin().is_terminal() {
        // A host without pipes hears it on stderr alone.
        if let Ok(host) = Host::open() {
            relay::refuse(host, &run::refusal(error)).await;
        }
    }
    code
}
