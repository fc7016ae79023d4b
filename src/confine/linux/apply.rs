//! The system calls that put the rules in force, one function a step, in the order of the shim.
//!
//! Each acts on the calling process, which is single-threaded and becomes the server. A step
//! that does less than it was asked to is an error.
#![expect(
    clippy::disallowed_methods,
    reason = "reads what the kernel says of this process, and writes its environment over"
)]

use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::stat::{FileStat, Mode, fstat, umask};
use nix::unistd::{Pid, dup2_stderr, dup2_stdin, dup2_stdout, getppid, setsid};

use super::limits::Rlimits;
use super::proc;

/// What kept a step from being done.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A system call.
    #[error("{0}")]
    System(#[from] Errno),
    /// An I/O error.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The supervisor ended before the server was bound to it.
    #[error("the supervisor has ended")]
    ParentGone,
    /// A granted path that cannot be opened.
    #[error("{}: {source}", path.display())]
    Path {
        /// Which.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: landlock::PathFdError,
    },
    /// A path that is mounted for the server.
    #[error("{}: {source}", path.display())]
    Held {
        /// Which.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Landlock refused a rule or the ruleset.
    #[error("{0}")]
    Landlock(#[from] landlock::RulesetError),
    /// Landlock enforces less than it was asked to.
    #[error("the kernel enforces the ruleset in part only: {0}")]
    Partial(String),
    /// A capability set that does not empty.
    #[error("{0}")]
    Capabilities(String),
}

/// What the processes that confine are called (`proc_pid_comm(5)`).
pub const NAME: &CStr = c"__confine";

/// Lets nothing of the environment that this process was started with stand in its memory. The
/// strings lie on the stack, where the kernel put them and where `/proc/PID/environ` reads them;
/// only in a process that has copied none of them yet does this reach all.
pub fn forget_environment() -> Result<(), ApplyError> {
    let stat = proc::text("/proc/self/stat")?;
    let place = environment(&stat).ok_or_else(|| io::Error::other("it is nowhere"))?;
    let length =
        usize::try_from(place.end.saturating_sub(place.start)).map_err(io::Error::other)?;
    if length > 0 {
        let memory = OpenOptions::new().write(true).open("/proc/self/mem")?;
        memory.write_all_at(&vec![0; length], place.start)?;
    }
    let mut left = Vec::new();
    proc::bytes_of("/proc/self/environ", &mut left)?;
    match left.iter().all(|byte| *byte == 0) {
        true => Ok(()),
        false => Err(ApplyError::Partial("the environment stays".to_owned())),
    }
}

/// Where the environment lies, as `/proc/PID/stat` says: its fields 50 and 51 (`proc_pid_stat(5)`),
/// counted past the name, which may hold anything.
fn environment(stat: &str) -> Option<Range<u64>> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(47);
    let mut next = || fields.next()?.parse().ok();
    Some(next()?..next()?)
}

/// The name it has for who lists processes.
pub fn own_name() -> Result<(), ApplyError> {
    Ok(prctl::set_name(NAME)?)
}

/// Binds this process's life to the supervisor's. Signal delivery is by the kernel: also when
/// the supervisor is killed with `SIGKILL`.
pub fn die_with(supervisor: u32) -> Result<(), ApplyError> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    // The supervisor may have ended before the call; comparing with 1 would be wrong in a
    // container, where the supervisor itself can be process 1.
    let parent = i32::try_from(supervisor).map(Pid::from_raw);
    if parent == Ok(getppid()) {
        Ok(())
    } else {
        Err(ApplyError::ParentGone)
    }
}

/// The same, for a process whose parent has no number in its namespace.
pub fn die_with_parent() -> Result<(), ApplyError> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    Ok(())
}

/// A session of its own without a terminal, and a umask that shuts others out.
pub fn new_session() -> Result<(), ApplyError> {
    setsid()?;
    umask(Mode::S_IRWXG | Mode::S_IRWXO);
    Ok(())
}

/// Marks every descriptor but 0, 1, 2 to close at exec; closing them now would close the
/// status pipe, and a failed exec would read as success.
pub fn close_descriptors_at_exec() {
    close_fds::CloseFdsBuilder::new().cloexecfrom(3);
}

/// Takes what becomes the server's stdin, stdout and stderr in place of the supervisor's own.
pub fn take_pipes(
    stdin: impl AsFd,
    stdout: impl AsFd,
    stderr: impl AsFd,
) -> Result<(), ApplyError> {
    dup2_stdin(stdin)?;
    dup2_stdout(stdout)?;
    dup2_stderr(stderr)?;
    Ok(())
}

/// Lets go of the server's pipes in a process that only waits: where it held them too, the
/// server's own closing of one would not be seen.
pub fn let_go_of_pipes(null: &File) -> Result<(), ApplyError> {
    take_pipes(null, null, null)
}

/// What takes their place.
pub fn null() -> Result<File, ApplyError> {
    Ok(File::options().read(true).write(true).open("/dev/null")?)
}

/// A session keyring of its own: the caller's keys are not reachable through it. Whether there
/// is one: where keyrings are refused to us (some containers do), the filters refuse them to the
/// server all the same.
pub fn new_keyring() -> Result<bool, ApplyError> {
    match keyutils::Keyring::join_anonymous_session().map_err(|errno| Errno::from_raw(errno.0)) {
        Ok(_) => Ok(true),
        Err(Errno::EPERM | Errno::ENOSYS) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// What the kernel says of this process (`proc_pid_status(5)`): masks of signals and of
/// capabilities.
#[derive(Clone, Copy, Debug)]
pub struct OwnStatus {
    ignored: u64,
    bounding: u64,
    /// Ambient, inheritable, effective, permitted: all of them.
    capabilities: u64,
}

/// Reads it.
pub fn own_status() -> Result<OwnStatus, ApplyError> {
    let text = proc::text("/proc/self/status")?;
    let mask = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|mask| u64::from_str_radix(mask.strip_prefix(':')?.trim(), 16).ok())
            .ok_or_else(|| io::Error::other("/proc/self/status does not read"))
    };
    Ok(OwnStatus {
        ignored: mask("SigIgn")?,
        bounding: mask("CapBnd")?,
        capabilities: mask("CapAmb")? | mask("CapInh")? | mask("CapEff")? | mask("CapPrm")?,
    })
}

impl OwnStatus {
    /// That every capability set is empty. Returns whether the bounding set is empty too: only a
    /// process with `CAP_SETPCAP` can empty that; without it `no_new_privs` keeps what stands
    /// there from ever being gained.
    pub fn without_capabilities(&self) -> Result<bool, ApplyError> {
        if self.capabilities == 0 {
            Ok(self.bounding == 0)
        } else {
            let left = format!("{:x} of them are left", self.capabilities);
            Err(ApplyError::Capabilities(left))
        }
    }
}

/// Default dispositions and an empty mask. An ignored signal stays ignored across exec, a
/// handled one is reset by it (`signal(7)`): so a handler is set for each that is ignored. 32 and
/// 33 are the C library's, and the library refuses handlers for faults (4, 8, 11): a start with
/// one of those ignored is refused.
pub fn reset_signals(own: &OwnStatus) -> Result<(), ApplyError> {
    if own.ignored & FAULTS != 0 {
        let why = "the caller ignores SIGILL, SIGFPE or SIGSEGV, and the server would too";
        return Err(io::Error::other(why).into());
    }
    let unused = Arc::new(AtomicBool::new(false));
    for signal in (1..=64).filter(|signal| ![32, 33].contains(signal)) {
        if own.ignored >> (signal - 1) & 1 == 1 {
            signal_hook::flag::register(signal, Arc::clone(&unused))?;
        }
    }
    SigSet::empty().thread_set_mask()?;
    Ok(())
}

/// SIGILL, SIGFPE, SIGSEGV as bits of a mask.
const FAULTS: u64 = 1 << 3 | 1 << 7 | 1 << 10;

/// What the supervisor needs of its caller, and what confines, which is forked from it or executed: no blocked signal (it would not end when told
/// to), children that are waited for (an ignored `SIGCHLD` reaps them unseen), and all the
/// descriptors it may have.
pub fn own_state() -> Result<(), ApplyError> {
    SigSet::empty().thread_set_mask()?;
    signal_hook::flag::register(nix::libc::SIGCHLD, Arc::new(AtomicBool::new(false)))?;
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    Ok(())
}

/// Sets each limit, soft and hard alike; never above what the caller itself is held to.
pub fn limit(limits: &Rlimits) -> Result<(), ApplyError> {
    for (resource, wanted) in [
        (Resource::RLIMIT_DATA, limits.data),
        (Resource::RLIMIT_NOFILE, limits.nofile),
        (Resource::RLIMIT_FSIZE, limits.fsize),
        (Resource::RLIMIT_CORE, limits.core),
        (Resource::RLIMIT_MEMLOCK, limits.memlock),
        (Resource::RLIMIT_RTPRIO, limits.rtprio),
        (Resource::RLIMIT_NICE, limits.nice),
        (Resource::RLIMIT_MSGQUEUE, limits.msgqueue),
    ] {
        let (_, hard) = getrlimit(resource)?;
        let bound = wanted.min(hard);
        setrlimit(resource, bound, bound)?;
    }
    Ok(())
}

/// Bounds the processes and threads of its user in its user namespace: set before that was
/// entered, all of the person's would count.
pub fn limit_processes(processes: u64) -> Result<(), ApplyError> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NPROC)?;
    let bound = processes.min(hard);
    setrlimit(Resource::RLIMIT_NPROC, bound, bound)?;
    Ok(())
}

/// No core dump, and no reading by others of the same user, of a process that holds secrets.
pub fn not_dumpable() -> Result<(), ApplyError> {
    prctl::set_dumpable(false)?;
    Ok(())
}

/// The identity of a held file: what it was when it was looked at, or it is another.
pub fn stat(file: &File) -> Result<FileStat, ApplyError> {
    Ok(fstat(file.as_fd())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_environment_lies() {
        // As the kernel counts them: the first is the number, the second the name.
        let fields: Vec<String> = (3..=52).map(|field| (field * 100).to_string()).collect();
        let stat = format!("12 (a) S 1) {}", fields.join(" "));
        assert_eq!(environment(&stat), Some(5000..5100));
        assert_eq!(environment("12 (a) S 1 1"), None);
        // What stands there is this process's own.
        let stat = proc::text("/proc/self/stat").unwrap();
        let place = environment(&stat).unwrap();
        let environment = std::fs::read("/proc/self/environ").unwrap();
        assert_eq!(
            u64::try_from(environment.len()).unwrap(),
            place.end - place.start
        );
    }
}
