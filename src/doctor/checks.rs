//! What the supervisor itself promises: the gate, what it prints, where it lets a server write.
//! Each check has its control: the same, with nothing to refuse.
#![expect(
    clippy::disallowed_methods,
    reason = "lays out a repository, reads what commands print"
)]

use std::fs;
use std::io;
use std::process::Stdio as Pipe;

use nix::unistd::geteuid;
use tokio::time::timeout;

use super::DoctorError;
use super::judge::Row;
use super::runs::{LIMIT, Run};
use crate::approval::{Approval, Word};
use crate::confine::{Promise, State};
use crate::declaration::{Alias, Network, Stdio};
use crate::error::Error;
use crate::launch::{self, Explanation};
use crate::plan::{RunRequest, git};
use crate::policy::Decision;
use crate::probe::{CANARY, Ground, Outcome, declared};

/// A name that shows the rest of a line backwards, and clears a terminal.
const ODD: &str = "\u{202e}gpj.\u{1b}[2J\u{7}";

/// All of them.
///
/// # Errors
/// Where one could not be made.
pub async fn all(ground: &Ground, runs: &[Run; 2]) -> Result<Vec<Row>, DoctorError> {
    let mut rows = vec![repository(ground)?, no_list()];
    rows.extend(gate(ground, runs)?);
    rows.push(policy_file());
    rows.extend(printed(ground, runs).await?);
    Ok(rows)
}

/// G1: a directory in a repository is refused, and another one is not.
fn repository(ground: &Ground) -> Result<Row, DoctorError> {
    let failed = |error| DoctorError::Ground("lay out a repository", error);
    let git = ground.path("work/repository/.git");
    fs::create_dir_all(git.join("objects")).map_err(failed)?;
    fs::create_dir_all(git.join("refs")).map_err(failed)?;
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n").map_err(failed)?;
    let inside = ground.path("work/repository/inside");
    fs::create_dir_all(&inside).map_err(failed)?;
    let checked = |dir| match git::check(dir, &ground.person(), &[]) {
        Ok(_) => Outcome::got("it is taken"),
        Err(error) => Outcome::stopped(error.code()),
    };
    Ok(Row::check(
        Promise::G1,
        "dir-in-repository",
        "get a --dir that lies in a repository",
        checked(&ground.path("dir")),
        checked(&inside),
    ))
}

/// N4: no list can be declared yet, and so none is passed over.
fn no_list() -> Row {
    let network = |word: &str| match serde_json::from_value::<Network>(word.into()) {
        Ok(_) => Outcome::got("it is taken"),
        Err(_) => Outcome::stopped("it is refused"),
    };
    Row::check(
        Promise::N4,
        "network-list",
        "have a list taken that is not enforced",
        network("full"),
        network("example.com"),
    )
}

/// S1, S3, S5: the one gate refuses what was changed, denied, or stands unheld.
fn gate(ground: &Ground, runs: &[Run; 2]) -> Result<Vec<Row>, DoctorError> {
    let [run, _] = runs;
    let request = RunRequest::of(run.declared.alias.clone());
    let explained = || {
        launch::prepare(&ground.person(), &request)
            .map_err(|error| DoctorError::Check("the gate", Box::new(error)))
    };
    let passes = |explanation: Explanation| match launch::permit(explanation) {
        Ok(_) => Outcome::got("it may start"),
        Err(error) => Outcome::stopped(error.code()),
    };
    let control = passes(explained()?);
    let mut changed = explained()?;
    changed.approval = Approval::Changed {
        changed: vec![Word::Argv],
    };
    let mut denied = explained()?;
    denied.verdict.result = Decision::Deny;
    let mut unheld = explained()?;
    for standing in &mut unheld.confinement.promises {
        standing.state = State::Unheld;
    }
    let row = |promise, name, text, tried| Row::check(promise, name, text, control.clone(), tried);
    Ok(vec![
        row(
            Promise::S1,
            "start-changed",
            "start where it is not what was approved",
            passes(changed),
        ),
        row(
            Promise::S3,
            "start-denied",
            "start where the administrator refuses",
            passes(denied),
        ),
        row(
            Promise::S5,
            "start-unheld",
            "start while a promise is not held",
            passes(unheld),
        ),
    ])
}

/// S3: a person who could write the administrator's files could change the administrator's word.
fn policy_file() -> Row {
    let writable = |path: &str| match nix::unistd::access(path, nix::unistd::AccessFlags::W_OK) {
        Ok(()) if geteuid().is_root() => Outcome::stopped("root is the administrator"),
        Ok(()) => Outcome::got("it could be written"),
        Err(errno) => Err(io::Error::from(errno)).into(),
    };
    let mut there = ["/etc/supervisor", "/etc"].into_iter();
    let place = there.find(|path| fs::metadata(path).is_ok()).unwrap_or("/");
    Row::check(
        Promise::S3,
        "write-policy",
        "write the administrator's files",
        writable("/tmp"),
        writable(place),
    )
}

/// S4 and S6: what commands print of a server whose stored value is known, and whose arguments
/// do not print.
async fn printed(ground: &Ground, runs: &[Run; 2]) -> Result<Vec<Row>, DoctorError> {
    let failed = |error: Error| DoctorError::Check("what commands print", Box::new(error));
    let [run, _] = runs;
    let odd = odd(ground).map_err(failed)?;
    let mut said = String::new();
    for words in [
        ["explain", run.declared.alias.as_str(), "--json"].as_slice(),
        &["get", run.declared.alias.as_str()],
        &["list"],
        &["list", "--json"],
        &["get", odd.as_str()],
        &["explain", odd.as_str()],
        &["run", "no-such-server"],
    ] {
        let mut command = ground.command(words);
        command.stdin(Pipe::null()).kill_on_drop(true);
        let output = timeout(LIMIT, command.output()).await;
        let output = output
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .map_err(|error| DoctorError::Ground("run commands", error))?;
        said.push_str(&String::from_utf8_lossy(&output.stdout));
        said.push_str(&String::from_utf8_lossy(&output.stderr));
    }
    let kept = fs::read_to_string(ground.path("home/.supervisor/mcp.json")).unwrap_or_default();
    let value = |text: &str| {
        if text.contains(CANARY) {
            Outcome::got("it is there")
        } else {
            Outcome::stopped("it is not there")
        }
    };
    // Looked for as it is: what the supervisor takes for printable is what is checked.
    let prints = |text: &str| {
        let odd = ODD
            .chars()
            .filter(|character| !character.is_ascii_graphic());
        match odd.into_iter().find(|character| text.contains(*character)) {
            Some(character) => Outcome::got(format!("U+{:04X}", u32::from(character))),
            None => Outcome::stopped("all of it prints"),
        }
    };
    Ok(vec![
        Row::check(
            Promise::S4,
            "value-printed",
            "have a stored value printed",
            value(&kept),
            value(&said),
        ),
        Row::check(
            Promise::S6,
            "odd-printed",
            "have what does not print printed",
            prints(ODD),
            prints(&said),
        ),
    ])
}

/// A server whose arguments do not print.
fn odd(ground: &Ground) -> Result<Alias, Error> {
    let program = ground.program().to_string_lossy().into_owned();
    let stdio = Stdio::new(program, vec![ODD.to_owned()]);
    let alias: Alias = match "probe-odd".parse() {
        Ok(alias) => alias,
        Err(_) => return Err(launch::LaunchError::NoValue("probe-odd".to_owned()).into()),
    };
    declared::approve(ground, alias.clone(), stdio)?;
    Ok(alias)
}
