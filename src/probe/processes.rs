//! Attacks on other processes, on the kernel's entry points and on the bounds: promises R1 to
//! R5. What an attack changes in its own process it sets back.
#![expect(
    clippy::disallowed_methods,
    reason = "these are attacks: they touch what they should not"
)]

use std::fs::{self, File};
use std::io::{self, IoSliceMut};
use std::sync::mpsc;
use std::thread;

use nix::fcntl::OFlag;
use nix::mqueue::{MQ_OFlag, MqAttr, mq_close, mq_open, mq_unlink};
use nix::sched::{CloneFlags, CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::personality::{self, Persona};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::{Pid, gethostname, getpid, getppid, sethostname};

use super::files::{own, saw};
use super::own::Bounds;
use super::{KEY, not};

type Got = io::Result<String>;

fn pid(target: &str) -> io::Result<Pid> {
    target.parse().map(Pid::from_raw).map_err(io::Error::other)
}

fn rustix_pid(target: &str) -> io::Result<rustix::process::Pid> {
    let number = target.parse().map_err(io::Error::other)?;
    rustix::process::Pid::from_raw(number).ok_or_else(|| not("no process id"))
}

pub(super) fn signal_starter(_: &str) -> Got {
    kill(getppid(), Signal::SIGURG)?;
    Ok("sent it".to_owned())
}

pub(super) fn signal(target: &str) -> Got {
    kill(pid(target)?, Signal::SIGURG)?;
    Ok("sent it".to_owned())
}

/// Whether it is that process: another may have its number inside.
pub(super) fn see(target: &str) -> Got {
    let line = fs::read_to_string(format!("/proc/{target}/cmdline"))?;
    if line.contains(super::server::STAY) {
        Ok("read it".to_owned())
    } else {
        Err(not("it is another"))
    }
}

pub(super) fn environment(target: &str) -> Got {
    let bytes = fs::read(format!("/proc/{target}/environ"))?;
    saw(&String::from_utf8_lossy(&bytes), "read it")
}

pub(super) fn memory(target: &str) -> Got {
    File::open(format!("/proc/{target}/mem")).map(|_| "opened it".to_owned())
}

/// Down, which is always allowed on one's own.
pub(super) fn priority(target: &str) -> Got {
    rustix::process::setpriority_process(Some(rustix_pid(target)?), 19)?;
    Ok("changed it".to_owned())
}

/// To those it has.
pub(super) fn affinity(target: &str) -> Got {
    let own: CpuSet = sched_getaffinity(getpid())?;
    sched_setaffinity(pid(target)?, &own)?;
    Ok("changed them".to_owned())
}

/// To what they are.
pub(super) fn limits(target: &str) -> Got {
    use rustix::process::{Resource, getrlimit, prlimit};
    let own = getrlimit(Resource::Core);
    prlimit(Some(rustix_pid(target)?), Resource::Core, own)?;
    Ok("changed them".to_owned())
}

fn queue() -> nix::Result<()> {
    let name = "/supervisor-probe";
    let flags = MQ_OFlag::O_CREAT | MQ_OFlag::O_RDWR;
    let small = MqAttr::new(0, 1, 16, 0);
    let queue = mq_open(name, flags, Mode::S_IRWXU, Some(&small))?;
    mq_close(queue)?;
    mq_unlink(name)
}

pub(super) fn open_queue(_: &str) -> Got {
    queue()?;
    Ok("opened one".to_owned())
}

/// The same call: refused by a filter, or looked at. (`EPERM` is what the filter says that stands
/// in for an IPC namespace; the kernel itself has none for it.)
pub(super) fn unlisted_call(_: &str) -> Got {
    match queue() {
        Err(errno @ (nix::Error::ENOSYS | nix::Error::EPERM)) => Err(errno.into()),
        Err(errno) => Ok(format!("the kernel looked at it: {errno}")),
        Ok(()) => Ok("it was done".to_owned()),
    }
}

pub(super) fn read_key(_: &str) -> Got {
    let system = |errno: keyutils::Error| io::Error::from_raw_os_error(errno.0);
    let ring = keyutils::Keyring::attach(keyutils::SpecialKeyring::Session).map_err(system)?;
    let (keys, _) = ring.read().map_err(system)?;
    let named = |key: &keyutils::Key| key.description().is_ok_and(|said| said.description == KEY);
    let key = keys.into_iter().find(named);
    let key = key.ok_or_else(|| not("it is not there"))?;
    let value = key.read().map_err(system)?;
    saw(&String::from_utf8_lossy(&value), "read it")
}

/// In the list of all keys that this process may see; only who has it in a keyring may.
pub(super) fn see_key(_: &str) -> Got {
    let keys = fs::read_to_string("/proc/keys")?;
    if keys.contains(KEY) {
        Ok("saw it".to_owned())
    } else {
        Err(not("it is not there"))
    }
}

/// Of its own memory: whether the call is there at all.
pub(super) fn read_memory(_: &str) -> Got {
    let from = [1_u8];
    let mut to = [0_u8];
    let remote = RemoteIoVec {
        base: from.as_ptr().addr(),
        len: from.len(),
    };
    process_vm_readv(getpid(), &mut [IoSliceMut::new(&mut to)], &[remote])?;
    Ok("read some".to_owned())
}

pub(super) fn raise_limit(_: &str) -> Got {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let more = hard.saturating_add(1);
    setrlimit(Resource::RLIMIT_NOFILE, soft, more)?;
    setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?;
    Ok("raised one".to_owned())
}

/// To what it is.
pub(super) fn set_host_name(_: &str) -> Got {
    sethostname(gethostname()?)?;
    Ok("set it".to_owned())
}

/// In a process of its own, since there is no way back.
fn called(flags: CloneFlags) -> Got {
    let Some(child) = safe_fork::fork()? else {
        let answer = nix::sched::unshare(flags);
        #[expect(clippy::exit, reason = "a child that does one thing")]
        std::process::exit(answer.map_or_else(code, |()| 0));
    };
    match child.join()?.code() {
        Some(0) => Ok("made one".to_owned()),
        Some(errno) => Err(io::Error::from_raw_os_error(errno)),
        None => Err(not("the call ended it")),
    }
}

#[expect(clippy::as_conversions, reason = "the numbers of the system's errors")]
fn code(errno: nix::Error) -> i32 {
    errno as i32
}

pub(super) fn user_namespace(_: &str) -> Got {
    called(CloneFlags::CLONE_NEWUSER)
}

/// In a form that takes no privilege and does nothing.
pub(super) fn unshare(_: &str) -> Got {
    called(CloneFlags::CLONE_FILES).map(|_| "called it".to_owned())
}

pub(super) fn personality(_: &str) -> Got {
    let before = personality::set(Persona::ADDR_NO_RANDOMIZE)?;
    personality::set(before)?;
    Ok("changed it".to_owned())
}

/// Reserves it, and touches nothing of it.
pub(super) fn take_memory(target: &str) -> Got {
    let bound = Bounds::told(target)?.memory.saturating_add(64 << 20);
    let size = usize::try_from(bound).map_err(io::Error::other)?;
    let mut memory: Vec<u8> = Vec::new();
    let reserved = memory.try_reserve_exact(size);
    std::hint::black_box(&memory);
    match reserved {
        Ok(()) => Ok("took it".to_owned()),
        Err(_) => Err(not("out of memory")),
    }
}

pub(super) fn open_files(target: &str) -> Got {
    let bound = Bounds::told(target)?.files;
    // Outside, the soft limit is often lower than the hard one.
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    let opened: io::Result<Vec<File>> = (0..=bound).map(|_| File::open("/dev/null")).collect();
    setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?;
    opened.map(|files| format!("{} files", files.len()))
}

/// They wait until all are there.
pub(super) fn start_threads(target: &str) -> Got {
    let bound = Bounds::told(target)?.processes;
    let mut waiting = Vec::new();
    let mut tried = Ok(());
    for _ in 0..=bound {
        let (end, ended) = mpsc::channel::<()>();
        let builder = thread::Builder::new().stack_size(16 << 10);
        match builder.spawn(move || ended.recv()) {
            Ok(thread) => waiting.push((end, thread)),
            Err(error) => {
                tried = Err(error);
                break;
            }
        }
    }
    let count = waiting.len();
    for (end, thread) in waiting {
        drop(end);
        // It only waited.
        let _ = thread.join();
    }
    tried.map(|()| format!("{count} threads"))
}

/// A sparse one. The signal that would end this process is handled, so that the error is seen.
pub(super) fn grow_file(target: &str) -> Got {
    let bound = Bounds::told(target)?.file_size.saturating_add(1);
    signal_hook::flag::register(nix::libc::SIGXFSZ, std::sync::Arc::default())?;
    let path = own("grown")?;
    let file = File::create(&path)?;
    let grown = file.set_len(bound);
    fs::remove_file(path)?;
    grown.map(|()| "grew it".to_owned())
}

fn above(resource: Resource, bound: u64) -> Got {
    let (_, hard) = getrlimit(resource)?;
    if hard > bound {
        Ok("it could".to_owned())
    } else {
        Err(not("it is bounded"))
    }
}

pub(super) fn dump_core(_: &str) -> Got {
    above(Resource::RLIMIT_CORE, 0)
}

pub(super) fn lock_memory(target: &str) -> Got {
    above(Resource::RLIMIT_MEMLOCK, Bounds::told(target)?.locked)
}

/// Takes a lock on a file and keeps it, in a session of its own, for as long as it lives: whoever
/// else can take it knows that it has ended.
///
/// # Errors
/// What the system says; it does not return otherwise within two minutes.
pub fn stay(lock: &str) -> io::Result<()> {
    nix::unistd::setsid()?;
    let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_CLOEXEC;
    let file = nix::fcntl::open(lock, flags, Mode::S_IRWXU)?;
    let held = nix::fcntl::Flock::lock(file, nix::fcntl::FlockArg::LockExclusive);
    let _held = held.map_err(|(_, errno)| io::Error::from(errno))?;
    fs::write(format!("{lock}.pid"), getpid().to_string())?;
    thread::sleep(std::time::Duration::from_secs(120));
    Ok(())
}
