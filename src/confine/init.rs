//! The first process of the server's process namespace.
//!
//! It puts the new root together, the part that every server has before there are orders. When it
//! has them it starts the process that becomes the server, which readies itself meanwhile, adds the
//! rest, enters the root and closes it, and gives up every capability (and, where the supervisor is
//! root, root's id). Its parent is the supervisor, which adopts it before it gives
//! the orders. From then on it reaps, passes signals on, and ends when the server's main process ends: the kernel then ends all others in the namespace, whatever
//! session they are in.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::exec;
use super::linux::apply::ApplyError;
use super::linux::lend::Lent;
use super::linux::mount::{self, Root};
use super::linux::{apply, capabilities, entry};
use super::orders::Taker;
use super::progress::{self, Stage, Tell};
use super::shim::{At, Status, failed};
use super::spec::{Begin, Begun, Common, Failed, Go, Ids, Report, Spec, Step};

/// What is passed on to every process of the namespace.
const PASSED: [Signal; 6] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
];

/// How often it is looked whether what was killed is gone, and what lies between.
const LOOKS: usize = 100;
const PAUSE: Duration = Duration::from_millis(1);

/// What the process before found, which entered the namespaces.
pub(super) struct Entered {
    /// The ids it had outside.
    pub(super) own: Ids,
    /// Whether there is a session keyring of its own.
    pub(super) keyring: bool,
    /// Whether somebody takes hold of this one.
    pub(super) watched: bool,
}

/// Settles in the namespaces, as soon as the supervisor says how, and reports whether it could;
/// what the root is put together from, and what takes the place of the pipes. Nothing where it could
/// not, or was asked for no more.
fn begin(
    entered: &Entered,
    orders: &mut Taker,
    status: &mut Status,
) -> Result<Option<(Root, File)>, Failed> {
    let mut report = |refused: Option<ApplyError>| {
        let begun = Begun {
            keyring: entered.keyring,
            refused: refused.map(|error| error.to_string()),
            first: true,
        };
        status.report(&Report::Begun(begun)).at(Step::Stage)
    };
    if let Err(error) = entry::part_mounts() {
        return report(Some(error)).map(|()| None);
    }
    // Hidden by what is mounted next.
    let null = apply::null().at(Step::Stage)?;
    let root = Root::prepare().at(Step::Mounts)?;
    let Some(begin) = orders.next::<Begin>().at(Step::Spec)? else {
        return Ok(None);
    };
    if let Err(error) = entry::settle(&begin, entered.own) {
        return report(Some(error)).map(|()| None);
    }
    report(None)?;
    if !entered.watched {
        apply::not_dumpable().at(Step::Namespaces)?;
    }
    Ok(Some((root, null)))
}

/// Puts in place what every server has, and takes the orders; nothing where there are none.
fn furnish(root: &mut Root, orders: &mut Taker) -> Result<Option<Spec>, Failed> {
    root.begin().at(Step::Mounts)?;
    capabilities::drop_bounding_set().at(Step::Capabilities)?;
    let Some(found) = orders.next::<Common>().at(Step::Spec)? else {
        return Ok(None);
    };
    root.furnish(found, || orders.descriptor())
        .at(Step::Mounts)?;
    orders.next::<Spec>().at(Step::Spec)
}

/// Runs the first process; the exit code of the server's main one, or what failed.
pub(super) fn init(
    entered: Entered,
    mut orders: Taker,
    status: &mut Status,
    word: OwnedFd,
) -> Result<u8, Failed> {
    let Some((mut root, null)) = begin(&entered, &mut orders, status)? else {
        return Ok(0);
    };
    let Some(spec) = furnish(&mut root, &mut orders)? else {
        // It was asked for no more than this.
        return Ok(0);
    };
    let lent = lent(&spec, &mut orders)?;
    // The one that made the namespaces has ended by now, and the supervisor is the parent.
    apply::die_with_parent().at(Step::ParentDeath)?;
    alive(status)?;
    root.hold(spec.namespaces()?, lent, spec.dir.as_ref())
        .at(Step::Mounts)?;
    let (progress, tell) = progress::pair().at(Step::Stage)?;
    let Some(main) = safe_fork::fork().at(Step::Stage)? else {
        drop((tell, orders));
        return exec::inside(&spec, &root, progress, status).map(|never| match never {});
    };
    drop(progress);
    let Some(signals) = finish((root, spec), (tell, orders), status, &null)? else {
        return Ok(0);
    };
    let main = i32::try_from(main.pid()).map_err(|_| failed(Step::Stage, "no process id"))?;
    let code = tend(Pid::from_raw(main), &signals).at(Step::Stage)?;
    if end_all().at(Step::Stage)? {
        // Nothing of the server's runs any more: the supervisor need not wait for what follows, the
        // kernel's taking down of the namespaces. It may be gone itself.
        let _ = File::from(word).write_all(&[code]);
    }
    Ok(code)
}

/// Adds to the root what the orders name, enters and closes it, gives up what that took, and lets
/// the one go that becomes the server; what is awaited from then on. Nothing where that is not to go.
fn finish(
    (mut root, spec): (Root, Spec),
    (mut tell, mut orders): (Tell, Taker),
    status: &mut Status,
    null: &File,
) -> Result<Option<SigSet>, Failed> {
    let namespaces = spec.namespaces()?;
    root.finish(namespaces).at(Step::Mounts)?;
    mount::enter().at(Step::Mounts)?;
    tell.done(Stage::Entered)?;
    mount::closed(namespaces).at(Step::Mounts)?;
    exec::give_up(&spec)?;
    if spec.rules.ids.is_some() {
        // A change of ids takes it back (`prctl(2)`).
        apply::die_with_parent().at(Step::ParentDeath)?;
        alive(status)?;
    }
    let signals = awaited().at(Step::Signals)?;
    if orders.next::<Go>().at(Step::Spec)?.is_none() {
        return Ok(None);
    }
    tell.done(Stage::Closed)?;
    status.let_go();
    apply::let_go_of_pipes(null).at(Step::Stage)?;
    Ok(Some(signals))
}

/// Ends every other process of the namespace; whether all are gone in a moment. What is not, the
/// kernel ends with this one.
fn end_all() -> nix::Result<bool> {
    for _ in 0..LOOKS {
        // There may be none.
        let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Err(Errno::ECHILD) => return Ok(true),
                Ok(WaitStatus::StillAlive) => break,
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error),
            }
        }
        sleep(PAUSE);
    }
    Ok(false)
}

/// The mounts that came with the orders.
fn lent(spec: &Spec, orders: &mut Taker) -> Result<Vec<Lent>, Failed> {
    let one = |path: &PathBuf| {
        orders.descriptor().map(|mount| Lent {
            path: path.clone(),
            mount,
        })
    };
    let lent: Option<Vec<Lent>> = spec.lent.iter().map(one).collect();
    lent.ok_or_else(|| failed(Step::Spec, "a mount that is lent did not come"))
}

/// The parent-death signal is set too late where the supervisor has ended before: then nobody holds
/// the other end of the status pipe. (The parent's id cannot tell: it is 0 in here.)
fn alive(status: &Status) -> Result<(), Failed> {
    match status.is_held().at(Step::ParentDeath)? {
        true => Ok(()),
        false => Err(failed(Step::ParentDeath, "the supervisor has ended")),
    }
}

/// What [`tend`] waits for, blocked; a process that is started after this must unblock it.
fn awaited() -> nix::Result<SigSet> {
    let mut set = SigSet::from_iter(PASSED);
    set.add(Signal::SIGCHLD);
    set.thread_block()?;
    Ok(set)
}

/// Reaps and passes signals on until the server's main process ends; its exit code, 128 and the
/// number for a signal.
fn tend(main: Pid, signals: &SigSet) -> nix::Result<u8> {
    loop {
        match signals.wait()? {
            Signal::SIGCHLD => {
                if let Some(code) = reap(main)? {
                    return Ok(code);
                }
            }
            // To every process but this one; there may be none left.
            signal => drop(kill(Pid::from_raw(-1), signal)),
        }
    }
}

/// Reaps all that ended; the exit code of the main process, if it is among them.
fn reap(main: Pid) -> nix::Result<Option<u8>> {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, code)) if pid == main => return Ok(Some(low(code))),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == main => {
                return Ok(Some(low(i32::from(128_u8).saturating_add(number(signal)))));
            }
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return Ok(None),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
}

fn low(code: i32) -> u8 {
    u8::try_from(code).unwrap_or(u8::MAX)
}

#[expect(
    clippy::as_conversions,
    reason = "the numbers of an enumeration of the system's"
)]
fn number(signal: Signal) -> i32 {
    signal as i32
}
