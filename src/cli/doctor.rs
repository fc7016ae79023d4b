//! `supervisor doctor`: the machine, each promise with what proves it, the declarations.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::explain::Page;
use super::list;
use super::render;
use super::row::Row as Server;
use crate::confine::Mechanism;
use crate::declaration::store::State;
use crate::doctor::judge::{Proof, Row, Shows, Verdict};
use crate::doctor::machine::{Ids, Machine};
use crate::doctor::{self, Diagnosis, misplaced};
use crate::error::Error;
use crate::launch;
use crate::plan::facts;
use crate::policy::notes::{self, Checked};
use crate::text;

/// Prove each promise on this machine by trying to break it
///
/// States what this machine can confine, then proves each promise by trying to break it: a
/// bundled server, confined as any, attacks with the network and a directory and without both.
/// Each attack is run alone first; one that does not work there proves nothing, and that is said.
/// One that does not come to its end, as where the machine is starved, proves nothing either: the
/// promise is then not known, which is not broken.
///
/// A promise that cannot be held here names what would change that. Lists the declarations too,
/// and names keys in settings.json that would declare a server. Needs nothing declared; leaves
/// nothing behind. Exits 0 only where every promise is held and shown to be, and every
/// declaration can be used.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  supervisor doctor\n  supervisor doctor --json")]
pub(crate) struct DoctorArgs {
    /// Name each attack, with what it did alone and confined
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Print an object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `supervisor.doctor.v1`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Doctor {
    /// Whether every promise is held, and shown to be.
    held: bool,
    #[serde(flatten)]
    diagnosis: Diagnosis,
    /// The administrator's policy in numbers, where one is installed. One that cannot be trusted
    /// or read is why no server starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<Checked>,
    declarations: Declarations,
}

/// What is declared, and where declarations have no effect.
#[derive(Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Declarations {
    /// The rows of `list`.
    servers: Vec<Server>,
    /// Why there are none to see.
    problem: Option<String>,
    /// Keys of settings.json that would declare a server.
    misplaced: Vec<String>,
    #[serde(skip)]
    page: String,
    #[serde(skip)]
    well: bool,
}

/// Runs the command.
pub(super) fn run(args: &DoctorArgs) -> ExitCode {
    let runtime = match launch::runtime() {
        Ok(runtime) => runtime,
        Err(error) => return render::failure("cannot start", &error),
    };
    let diagnosis = match runtime.block_on(doctor::diagnose()) {
        Ok(diagnosis) => diagnosis,
        Err(error) => return render::failure("the proof did not come to its end", &error),
    };
    let found = Doctor {
        held: diagnosis.held(),
        diagnosis,
        policy: notes::installed()
            .ok()
            .filter(|policy| !policy.files.is_empty()),
        declarations: declarations(),
    };
    let well = found.held && found.declarations.well;
    let shown = if args.json {
        render::json("doctor", &found)
    } else {
        render::human(&page(&found, args.verbose))
    };
    if well { shown } else { ExitCode::FAILURE }
}

fn declarations() -> Declarations {
    match declared() {
        Ok(declarations) => declarations,
        // A proof does not depend on what is declared.
        Err(error) => Declarations {
            problem: Some(text::printable(&error.message())),
            ..Declarations::default()
        },
    }
}

fn declared() -> Result<Declarations, Error> {
    let person = facts::person()?;
    let listed = list::look(&person)?;
    let mut declarations = Declarations {
        servers: listed.servers,
        page: listed.page,
        well: listed.well,
        ..Declarations::default()
    };
    let state = State::open(&person)?;
    match state.settings()? {
        None => {}
        Some(settings) => match misplaced::keys(&settings) {
            Ok(keys) => declarations.misplaced = keys,
            Err(error) => {
                declarations.problem = Some(format!("settings.json: {error}"));
                declarations.well = false;
            }
        },
    }
    Ok(declarations)
}

/// What an administrator has installed.
fn administrators(page: &mut Page, policy: &Checked) {
    page.heading("the administrator's policy");
    for file in &policy.files {
        page.item("file", file);
    }
    let allow = policy
        .allow
        .map_or("all that is not denied".to_owned(), |count| {
            count.to_string()
        });
    page.item("allows", &allow);
    page.item("denies", &policy.deny.to_string());
    for floor in &policy.floors {
        page.item("floor", floor);
    }
}

fn page(found: &Doctor, verbose: bool) -> String {
    let Doctor {
        diagnosis,
        declarations,
        ..
    } = found;
    let mut page = Page::default();
    machine(&mut page, &diagnosis.machine);
    if let Some(policy) = &found.policy {
        administrators(&mut page, policy);
    }
    if let Some(refused) = &diagnosis.refused {
        page.heading("no server starts here");
        page.item("since", &text::printable(&refused.message));
    } else {
        page.heading("promises, each attacked alone first and then confined");
        for proof in &diagnosis.promises {
            promise(&mut page, proof, verbose);
        }
    }
    if let Some(cure) = &diagnosis.cure {
        page.heading("to change that, once on this machine");
        // A command to copy is not broken.
        page.line(&format!("  {}", text::printable(cure)));
    }
    page.heading("declarations");
    if let Some(problem) = &declarations.problem {
        page.item("problem", problem);
    }
    page.0.push_str(&declarations.page);
    for key in &declarations.misplaced {
        let said = format!(
            "`{}` in settings.json declares no server here: declare it with supervisor add",
            text::printable(key)
        );
        page.item("misplaced", &said);
    }
    page.heading(&summary(diagnosis));
    page.0
}

fn machine(page: &mut Page, machine: &Machine) {
    page.line("this machine");
    let arch = machine.arch.map_or_else(
        || "an architecture without filters".to_owned(),
        |arch| arch.to_string(),
    );
    page.item("kernel", &format!("Linux {}, {arch}", machine.kernel));
    let landlock = machine
        .landlock_abi
        .map_or_else(|| "none".to_owned(), |abi| format!("ABI {abi}"));
    page.item("Landlock", &landlock);
    let namespaces = match &machine.namespaces_refused {
        None => {
            "of the server's own: user, mount, process, IPC, host name, cgroup, network".to_owned()
        }
        Some(why) => format!("refused: {}", text::printable(why)),
    };
    page.item("namespaces", &namespaces);
    page.item(
        "ids",
        match machine.ids {
            Ids::Persons => "yours",
            Ids::Own => "of the server's own, since this is root",
            Ids::Roots => "root's",
        },
    );
    for (name, mechanisms) in [
        ("in force", &machine.mechanisms),
        ("standing in", &machine.stand_ins),
    ] {
        if !mechanisms.is_empty() {
            page.item(name, &names(mechanisms));
        }
    }
}

fn names(mechanisms: &[Mechanism]) -> String {
    let names: Vec<String> = mechanisms.iter().map(render::name_of).collect();
    names.join(", ")
}

fn promise(page: &mut Page, proof: &Proof, verbose: bool) {
    let verdict = match proof.verdict {
        Verdict::Held => "held",
        Verdict::Broken => "BROKEN",
        Verdict::Unknown => "NOT KNOWN",
        Verdict::Unheld => "not held",
        Verdict::Unshown => "NOT SHOWN",
    };
    page.item(&format!("{} {verdict}", proof.id), proof.id.text());
    if !proof.mechanisms.is_empty() {
        page.item("", &format!("by {}", names(&proof.mechanisms)));
    }
    page.item("", &counted(proof));
    for row in &proof.attacks {
        if verbose || matches!(row.shows(), Shows::Broken | Shows::Unknown) {
            page.item("", &attack(row));
        }
    }
    if let Some(note) = &proof.note {
        page.item("", note);
    }
}

fn counted(proof: &Proof) -> String {
    let count = |wanted| {
        let rows = proof.attacks.iter();
        rows.filter(|row| row.shows() == wanted).count()
    };
    let attacks = |count: usize| match count {
        1 => "1 attack".to_owned(),
        count => format!("{count} attacks"),
    };
    let mut said = format!("{} stopped", attacks(count(Shows::Held)));
    let (broken, nothing) = (count(Shows::Broken), count(Shows::Nothing));
    if broken > 0 {
        said.push_str(&format!(", {} GOT THROUGH", attacks(broken)));
    }
    let unknown = count(Shows::Unknown);
    if unknown > 0 {
        said.push_str(&format!(", {} NOT SEEN TO ITS END", attacks(unknown)));
    }
    if nothing > 0 {
        let said_of = attacks(nothing);
        said.push_str(&format!(
            "; {said_of} of no proof: without effect alone too"
        ));
    }
    said
}

fn attack(row: &Row) -> String {
    let shows = match row.shows() {
        Shows::Held => "stopped",
        Shows::Broken => "GOT THROUGH",
        Shows::Unknown => "NOT SEEN TO ITS END",
        Shows::Nothing => "proves nothing",
    };
    let confined: Vec<String> = row
        .confined
        .iter()
        .map(|confined| format!("{}: {}", confined.run, confined.outcome.detail))
        .collect();
    format!(
        "- {}: {shows}; alone: {}; {}",
        row.text,
        row.alone.detail,
        confined.join("; ")
    )
}

fn summary(diagnosis: &Diagnosis) -> String {
    let of = |wanted: Verdict| -> Vec<&str> {
        let named = diagnosis
            .promises
            .iter()
            .filter(|proof| proof.verdict == wanted);
        named.map(|proof| proof.id.id()).collect()
    };
    if diagnosis.refused.is_some() {
        return "no server starts here, and nothing was attacked".to_owned();
    }
    let mut said = format!(
        "{} of {} promises held and shown",
        of(Verdict::Held).len(),
        diagnosis.promises.len()
    );
    for (word, verdict) in [
        ("broken", Verdict::Broken),
        ("not known, run it again", Verdict::Unknown),
        ("not held", Verdict::Unheld),
        ("not shown", Verdict::Unshown),
    ] {
        let ids = of(verdict);
        if !ids.is_empty() {
            said.push_str(&format!("; {word}: {}", ids.join(", ")));
        }
    }
    said
}
