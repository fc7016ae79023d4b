//! `supervisor run ALIAS`: what a host starts in place of the server.

use std::io::IsTerminal;
use std::process::ExitCode;

use super::args_run::RunArgs;
use super::ended::Record;
use crate::cli::render;
use crate::confine::linux::apply;
use crate::declaration::{Alias, Tools};
use crate::error::Error;
use crate::exit_codes;
use crate::launch::receipts::Named;
use crate::launch::{self, Explanation, LaunchError, Prepared, descendants};
use crate::plan::{RunRequest, Source, facts};
use crate::relay::filter::Pattern;
use crate::relay::{self, Filter, Host, MAX_MESSAGE_BYTES, Refusal, Settings};

/// Runs the command. Prints nothing on stdout that is not the protocol.
pub(super) fn run(args: &RunArgs) -> ExitCode {
    if args.dry_run {
        return super::explain::show(&request(args), args.json);
    }
    // Before anything of ours is open: the caller names a descriptor by its number.
    let named = Named::open(args.receipt.as_deref(), args.receipt_fd);
    let runtime = match launch::runtime() {
        Ok(runtime) => runtime,
        Err(error) => return render::failure("cannot start", &error),
    };
    // What the server starts and leaves is this process's to end.
    if let Err(error) = apply::own_state() {
        return render::failure("cannot take what a run needs", &error);
    }
    if let Err(error) = descendants::adopt() {
        return render::failure("cannot adopt what a server leaves", &error);
    }
    let code = runtime.block_on(start_and_relay(args, named));
    // Again: for an end without a server, or without its own end.
    match descendants::sweep() {
        Ok(()) => code,
        Err(error) => render::failure("R2", &error),
    }
}

fn request(args: &RunArgs) -> RunRequest {
    RunRequest {
        alias: args.alias.clone(),
        digest: args.digest.clone(),
        ephemeral: args.ephemeral,
    }
}

async fn start_and_relay(args: &RunArgs, named: Result<Named, LaunchError>) -> ExitCode {
    let begun = named
        .map_err(Error::from)
        .and_then(|named| permitted(args, named));
    match begun {
        Ok((mut prepared, filter, record)) => {
            say_what_differs(prepared.explanation());
            match launch::launch(&mut prepared).await {
                Ok(running) => relay_messages(&args.alias, running, filter, record).await,
                Err(error) => refuse(&error.into()).await,
            }
        }
        Err(error) => refuse(&error).await,
    }
}

fn permitted(args: &RunArgs, named: Named) -> Result<(Prepared, Filter, Record), Error> {
    let person = facts::person()?;
    let prepared = launch::permit(launch::prepare(&person, &request(args))?)?;
    let filter = filter(args, &prepared.explanation().declared.tools)?;
    let record = Record::begin(prepared.explanation(), person, named)?;
    Ok((prepared, filter, record))
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

async fn relay_messages(
    alias: &Alias,
    running: launch::Running,
    filter: Filter,
    record: Record,
) -> ExitCode {
    let settings = Settings {
        alias: alias.to_string(),
        max_message_bytes: MAX_MESSAGE_BYTES,
        after_server: || {
            if let Err(error) = descendants::sweep() {
                render::note(&format!("R2: {error}"));
            }
        },
        filter,
    };
    let host = match Host::open() {
        Ok(host) => host,
        Err(error) => return render::failure("cannot use the host's pipes", &error),
    };
    let launch::Running {
        server,
        enforced,
        low,
        home,
    } = running;
    for place in low {
        render::note(&format!(
            "{alias}: the disk of {place}, which is low; who fills it is not watched"
        ));
    }
    tracing::info!(%alias, ?enforced, "confined");
    let relayed = relay::relay(host, server, &settings).await;
    if relayed.is_err() {
        // Nothing of it writes while it is looked at; what is left is said at the very end.
        let _ = descendants::sweep();
    }
    // Looked at as long as it is held: another start may empty the temporary directory after.
    let recorded = record.end(&enforced, relayed.as_ref().ok());
    drop(home);
    match (relayed, recorded) {
        (Err(error), _) => render::failure("the relay failed", &error),
        (Ok(_), Err(code)) => code,
        (Ok(outcome), Ok(())) => ExitCode::from(outcome.exit_code()),
    }
}

/// Says why nothing starts: on stderr, and to a host as the answer to its first requests.
async fn refuse(error: &Error) -> ExitCode {
    let code = render::error(error);
    if !std::io::stdin().is_terminal() {
        let refusal = Refusal {
            number: exit_codes::rpc_number(error.code()),
            message: error.message(),
            code: error.code().to_owned(),
            hint: error.hint(),
            exit: error.exit_code(),
        };
        // A host without pipes hears it on stderr alone.
        if let Ok(host) = Host::open() {
            relay::refuse(host, &refusal).await;
        }
    }
    code
}
