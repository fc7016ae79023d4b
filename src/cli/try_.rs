//! `supervisor try`: attacks shown, alone and confined.

use std::process::ExitCode;

use super::TryArgs;
use super::render;
use crate::launch;
use crate::probe::Went;
use crate::text;
use crate::trial::{self, Row, Trial, TrialError};

/// Runs the command: 0 only when every attack worked alone and was held confined.
pub(super) fn run(args: &TryArgs) -> ExitCode {
    let runtime = match launch::runtime() {
        Ok(runtime) => runtime,
        Err(error) => return render::failure("cannot start", &error),
    };
    let trial = match runtime.block_on(trial::run()) {
        Ok(trial) => trial,
        // Refused like any other program.
        Err(TrialError::Declare(error)) => return render::error_as(&error, args.json),
        Err(error) => return render::failure("the trial did not come to its end", &error),
    };
    let shown = if args.json {
        render::json("try", &trial)
    } else {
        render::human(&page(&trial))
    };
    if trial.held() {
        shown
    } else {
        ExitCode::FAILURE
    }
}

fn page(trial: &Trial) -> String {
    let mut page =
        String::from("a bundled server, declared nowhere, was started confined and called:\n\n");
    page.push_str(&render::paragraph(" ", &trial.answer));
    page.push('\n');
    page.push_str("then it attacked, once alone and once confined:\n\n");
    page.push_str(&format!(
        "  {:<32} {:<11} {}\n",
        "attack", "alone", "confined"
    ));
    for row in &trial.rows {
        page.push_str(&line(row));
    }
    let held = trial.rows.iter().filter(|row| row.held()).count();
    page.push_str(&format!("\n{held} of {} attacks held\n", trial.rows.len()));
    for row in trial.rows.iter().filter(|row| !row.alone.succeeded()) {
        page.push_str(&format!(
            "  {} did not work alone either, so nothing is shown: {}\n",
            row.attempt.text(),
            text::printable(&row.alone.detail)
        ));
    }
    if !trial.without.is_empty() {
        page.push_str(
            "\nnot held on this machine, so that a server starts here only without them:\n",
        );
        for standing in &trial.without {
            let note = standing.note.as_deref().unwrap_or_default();
            let said = format!("{}: {note}", standing.id.text());
            page.push_str(&render::paragraph(&format!("  {}", standing.id), &said));
        }
        if let Some(cure) = &trial.cure {
            page.push_str(&format!("once, on this machine: {cure}\n"));
        }
    }
    page
}

fn line(row: &Row) -> String {
    let alone = text::printable(&row.alone.detail);
    let confined = text::printable(&row.confined.detail);
    let verdict = match row.confined.result {
        _ if row.held() => "held ",
        Went::Unknown => "NOT KNOWN ",
        Went::Succeeded | Went::Stopped => "NOT HELD ",
    };
    format!(
        "  {:<32} {alone:<11} {} {verdict}{confined}\n",
        row.attempt.text(),
        row.promise
    )
}
