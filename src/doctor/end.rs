//! What is left when a run has ended: promises R2, G2 and G3, and what its receipt says.
//!
//! A descendant of the server holds a lock on a file for as long as it lives, in a session of its
//! own; whoever else can take that lock knows that it is gone, whatever its number was inside.
#![expect(
    clippy::disallowed_methods,
    reason = "reads the receipt, ends what was left, waits"
)]

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::judge::Row;
use super::patience::{self, Next, PAUSE};
use super::runs::Run;
use crate::confine::{Mechanism, Promise};
use crate::probe::client::Client;
use crate::probe::{Ground, Outcome};

/// How many turns descendants may take to end after the supervisor.
const PATIENCE: u32 = 400;
/// How many turns a server may go on that has more memory than it may: looks at it are a second
/// apart at most, and more on a machine that is slow. And how many one goes on that nothing ends.
pub const SWOLLEN: u32 = 1200;
pub const SWOLLEN_ALONE: u32 = 60;

/// Why something is not known.
const STARVED: &str = "this machine gave it too little time to tell";

/// The words that start a run.
#[must_use]
pub fn words(run: &Run, ground: &Ground) -> Vec<String> {
    let receipt = ground.path("run/receipt");
    let receipt = receipt.to_string_lossy().into_owned();
    let words = ["run", run.declared.alias.as_str(), "--receipt", &receipt];
    words.map(str::to_owned).to_vec()
}

/// Whether a descendant of the server outlives it when nothing is in its way.
pub async fn stays(mut alone: Client, ground: &Ground) -> Outcome {
    let lock = ground.path("run/alone.lock");
    let left = alone.call("stay", json!({"lock": lock})).await;
    let killed = alone.kill().await;
    match left.and(killed) {
        Err(error) => Outcome::unknown(error.to_string()),
        Ok(()) => {
            let outcome = held(&lock).await;
            end(&lock);
            outcome
        }
    }
}

/// Whether it goes on when several of its processes have taken memory, each within its own bound.
pub async fn swells(client: &mut Client, turns: u32) -> Outcome {
    let start = Instant::now();
    let mut answered = client.call("swell", json!({})).await;
    for turn in 0.. {
        if answered.is_err() {
            break;
        }
        match patience::next(turn, start.elapsed(), turns) {
            Next::Wait => sleep(PAUSE).await,
            Next::Stays => return Outcome::got("it went on"),
            Next::Starved => return Outcome::unknown(STARVED),
        }
        answered = client.call("greet", json!({})).await;
    }
    Outcome::stopped("it was ended")
}

/// Ends the one that wrote its number beside its lock.
fn end(lock: &Path) {
    let mut beside = lock.as_os_str().to_owned();
    beside.push(".pid");
    let number = fs::read_to_string(beside);
    if let Ok(Ok(pid)) = number.map(|number| number.parse()) {
        // It may be gone.
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
}

/// Whether somebody still holds a lock after a while.
async fn held(lock: &Path) -> Outcome {
    let start = Instant::now();
    let mut turn: u32 = 0;
    loop {
        let opened = OpenOptions::new().read(true).write(true).open(lock);
        let taken = opened.map(|file| Flock::lock(file, FlockArg::LockExclusiveNonblock));
        match taken {
            Ok(Ok(_)) => return Outcome::stopped("it ended"),
            Ok(Err((_, Errno::EWOULDBLOCK))) => {}
            // Who holds a lock that cannot be looked at is not known.
            Ok(Err((_, errno))) => return Outcome::unknown(errno.desc()),
            Err(error) => return Outcome::unknown(error.to_string()),
        }
        match patience::next(turn, start.elapsed(), PATIENCE) {
            Next::Wait => sleep(PAUSE).await,
            Next::Stays => return Outcome::got("it is still there"),
            Next::Starved => return Outcome::unknown(STARVED),
        }
        turn = turn.saturating_add(1);
    }
}

/// Ends a run, one by the end of its input and one by killing the supervisor, each with a
/// descendant that would stay; what that shows.
///
/// # Errors
/// The server does not do what it is told, or leaves no receipt.
pub async fn ended(
    mut client: Client,
    run: &Run,
    ground: &Ground,
    stayed: &Outcome,
) -> io::Result<Vec<Row>> {
    let lock = run.declared.explanation().plan.home.join("lock");
    client.call("stay", json!({"lock": lock})).await?;
    let after = async || {
        let outcome = held(&lock).await;
        // Its number is one of ours only where it has no processes of its own.
        if outcome.succeeded() && !run.declared.has(Mechanism::PidNamespace) {
            end(&lock);
        }
        outcome
    };
    if !run.directories {
        client.kill().await?;
        let text = "leave a process when the supervisor is killed";
        return Ok(vec![row(
            run,
            Promise::R2,
            "stay-at-kill",
            text,
            stayed,
            after().await,
        )]);
    }
    let dir = ground.path("dir");
    client.call("leave", json!({"dir": dir})).await?;
    client.end().await?;
    let text = "leave a process when the run ends";
    let mut rows = vec![row(
        run,
        Promise::R2,
        "stay-at-end",
        text,
        stayed,
        after().await,
    )];
    let receipt: Value = serde_json::from_slice(&fs::read(ground.path("run/receipt"))?)?;
    rows.extend(left(run, ground, &receipt));
    rows.push(receipted(run, &receipt));
    fs::remove_dir_all(&dir)?;
    fs::create_dir(&dir)?;
    Ok(rows)
}

fn row(
    run: &Run,
    promise: Promise,
    attack: &str,
    text: &'static str,
    alone: &Outcome,
    confined: Outcome,
) -> Row {
    Row::check(promise, attack, text, alone.clone(), confined).in_run(run.name)
}

/// Whether a receipt names what was left. One that says that not all was looked at claims nothing:
/// a search ends by the clock.
fn unnoticed(receipt: &Value, list: &str) -> Outcome {
    let some = |list| match receipt.get(list).and_then(Value::as_array) {
        Some(found) => !found.is_empty(),
        None => false,
    };
    if some(list) {
        Outcome::stopped("it is named")
    } else if some("not_searched") {
        Outcome::unknown("not all was looked at, and that is said")
    } else {
        Outcome::got("nobody named it")
    }
}

/// What the server left is on disk, and named.
fn left(run: &Run, ground: &Ground, receipt: &Value) -> Vec<Row> {
    let there =
        |name: &str| Outcome::from(fs::metadata(ground.path(name)).map(|_| "left it".to_owned()));
    [
        (
            Promise::G2,
            "leave-repository",
            "leave a repository unnoticed",
            "dir/left/.git",
            "found_repositories",
        ),
        (
            Promise::G3,
            "leave-obeyed",
            "leave a file that hosts obey unnoticed",
            "dir/.mcp.json",
            "found_files",
        ),
    ]
    .into_iter()
    .map(|(promise, name, text, file, list)| {
        row(
            run,
            promise,
            name,
            text,
            &there(file),
            unnoticed(receipt, list),
        )
    })
    .collect()
}

/// The receipt says what the plan said: each promise in the same state, by the same mechanisms.
fn receipted(run: &Run, receipt: &Value) -> Row {
    let planned = serde_json::to_value(&run.declared.explanation().confinement.promises);
    let enforced = receipt.get("promises");
    let confined = match planned {
        Ok(planned) if Some(&planned) == enforced => Outcome::stopped("it is the same"),
        _ => Outcome::got("it is not the same"),
    };
    let alone = Outcome::got("there is a receipt");
    let text = "enforce something else than was planned";
    row(run, Promise::S5, "receipt-differs", text, &alone, confined)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::probe::Went;

    fn held_now(lock: &Path) -> Outcome {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(held(lock))
    }

    #[test]
    fn only_a_process_that_holds_its_lock_is_said_to_have_stayed() {
        let place = tempfile::tempdir().unwrap();
        let lock = place.path().join("lock");
        assert_eq!(held_now(&lock).result, Went::Unknown, "no lock was there");
        let file = File::create(&lock).unwrap();
        assert_eq!(held_now(&lock).result, Went::Stopped);
        let taken = Flock::lock(file, FlockArg::LockExclusive).unwrap();
        assert_eq!(held_now(&lock).result, Went::Succeeded);
        taken.unlock().unwrap();
    }

    #[test]
    fn a_search_that_was_cut_short_did_not_overlook_what_was_left() {
        let none = json!({"found_repositories": [], "not_searched": []});
        let cut = json!({"found_repositories": [], "not_searched": ["not all was looked at"]});
        let both = json!({"found_repositories": ["/a"], "not_searched": ["not all of /b"]});
        for (receipt, went) in [
            (none, Went::Succeeded),
            (cut, Went::Unknown),
            (both, Went::Stopped),
            (json!({}), Went::Succeeded),
        ] {
            let found = unnoticed(&receipt, "found_repositories");
            assert_eq!(found.result, went, "{receipt}");
        }
    }
}
