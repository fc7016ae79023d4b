//! `supervisor run ALIAS`: what a host starts in place of the server.

use std::io::IsTerminal;
use std::process::ExitCode;

use super::RunArgs;
use crate::cli::render;
use crate::confine::linux::apply;
use crate::declaration::{Alias, Tools};
use crate::error::Error;
use crate::exit_codes;
use crate::launch::{self, Explanation, LaunchError, Prepared, descendants};
use crate::plan::{RunRequest, Source, facts};
use crate::relay::filter::Pattern;
use crate::relay::{self, Filter, Host, MAX_MESSAGE_BYTES, Refusal, Settings};

/// Runs the command. Prints nothing on stdout that is not the protocol.
pub(super) fn run(args: &RunArgs) -> ExitCode {
    if args.dry_run {
        return super::explain::show(&request(args), args.json);
    }
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
    let code = runtime.block_on(start_and_relay(args));
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

async fn start_and_relay(args: &RunArgs) -> ExitCode {
    match permitted(args) {
        Ok((mut prepared, filter)) => {
            say_what_differs(prepared.explanation());
            match launch::launch(&mut prepared).await {
                Ok(running) => relay_messages(&args.alias, running, filter).await,
                Err(error) => refuse(&error.into()).await,
            }
        }
        Err(error) => refuse(&error).await,
    }
}

fn permitted(args: &RunArgs) -> Result<(Prepared, Filter), Error> {
    let person = facts::person()?;
    let prepared = launch::permit(launch::prepare(&person, &request(args))?)?;
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
    if let Some(upgraded) = &explanation.upgraded {
        render::note(&format!(
            "{alias}: {upgraded}; to approve it: supervisor approve {alias}"
        ));
    }
}

async fn relay_messages(alias: &Alias, running: launch::Running, filter: Filter) -> ExitCode {
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
        home,
    } = running;
    tracing::info!(%alias, ?enforced, "confined");
    let relayed = relay::relay(host, server, &settings).await;
    // Held to here: another start may empty the temporary directory now.
    drop(home);
    match relayed {
        Ok(outcome) => ExitCode::from(outcome.exit_code()),
        Err(error) => render::failure("the relay failed", &error),
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
