//! What the kernel will enforce: each promise mapped to the mechanisms that hold it here.
//!
//! [`specify`](specify::specify) is pure and says, promise by promise, what holds it on this
//! machine; [`linux`] lowers that to the rules themselves; `shim` and `linux::apply` put them in
//! force in the process that becomes the server. Nothing here decides whether a server may
//! start: that is `launch::permit`.
//!
//! Place on the path: plan + facts → **Confinement** → lowered → explanation → launch.

pub(crate) mod error;
pub(crate) mod exec;
pub(crate) mod init;
pub(crate) mod linux;
pub(crate) mod mechanisms;
pub(crate) mod orders;
mod progress;
pub(crate) mod promise;
pub(crate) mod receipt;
pub(crate) mod shim;
pub(crate) mod spec;
pub(crate) mod specify;

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use error::ConfineError;
pub use promise::Promise;

/// What this kernel offers, found by asking it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelFacts {
    /// The Landlock ABI in force that this program knows too; `None` where there is none.
    pub landlock_abi: Option<u32>,
    /// The processor's architecture, where there are filters for it.
    pub arch: Option<linux::seccomp::Arch>,
    /// Whether keyrings can be had (some containers refuse them).
    pub keyrings: bool,
    /// Whether namespaces of one's own can be had, else why not.
    pub namespaces: Result<(), Refused>,
    /// The unprivileged ids that root's servers can be given there.
    pub ids: Option<spec::Ids>,
    /// What is granted and cannot be lent to those ids, each with the reason.
    pub kept: Vec<String>,
    /// The control group in which groups of servers can be made, else why there is none.
    pub cgroup: Result<PathBuf, String>,
    /// Whether a process namespace bounds the numbers of its processes by itself (Linux 6.14).
    pub pid_max: bool,
    /// Whether the supervisor runs as root.
    pub root: bool,
}

/// Why namespaces cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What the system said.
    pub why: String,
    /// What would change that, once, on this machine.
    pub cure: String,
}

/// The promises as they will stand in one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Confinement {
    /// One line a promise, in the order of the threat model.
    pub promises: Vec<Standing>,
    /// The mechanisms that will be put in force.
    #[serde(skip)]
    pub mechanisms: BTreeSet<Mechanism>,
    /// What would give this machine the mechanisms that it lacks.
    #[serde(skip)]
    pub cure: Option<String>,
}

impl Confinement {
    /// The promises that nothing holds here and nobody gave up: with one of them no server starts.
    #[must_use]
    pub fn unheld(promises: &[Standing]) -> Vec<Standing> {
        let unheld = |standing: &&Standing| standing.state == State::Unheld;
        promises.iter().filter(unheld).cloned().collect()
    }
}

/// How one promise stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Standing {
    /// Which.
    pub id: Promise,
    /// Whether something holds it.
    pub state: State,
    /// What holds it, or the part of it that is held.
    pub mechanisms: Vec<Mechanism>,
    /// What a reader should know besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Whether a promise is held in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum State {
    /// By the mechanisms named.
    Held,
    /// The declaration gave it up by name.
    GivenUp,
    /// Not in full: the note says what is missing.
    Unheld,
}

/// Something that enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Mechanism {
    /// File rights by path (Linux 6.2 and later: ABI 3).
    LandlockFiles,
    /// Abstract sockets and signals scoped to the server (ABI 6).
    LandlockScopes,
    /// TCP (ABI 4) and UDP (ABI 10) closed.
    LandlockNetwork,
    /// Pathname sockets by path (ABI 9).
    LandlockSockets,
    /// The list of allowed calls, and of dangerous ones.
    Seccomp,
    /// The same but for namespaces of its own, by the declaration's word.
    SeccompButNamespaces,
    /// No set-gid bit on what is made: where something is lent, its group is the owner's.
    SeccompNoSetGid,
    /// No `socket(AF_UNIX)`.
    SeccompNoUnix,
    /// No network family.
    SeccompNoNetwork,
    /// Scheduling and limits of its own process only.
    SeccompOwnProcess,
    /// No System V objects and POSIX message queues.
    SeccompOwnIpc,
    /// A kernel id that owns nothing and is nobody's: root's servers run under it.
    UnprivilegedId,
    /// Every capability set emptied.
    Capabilities,
    /// `no_new_privs`.
    NoNewPrivs,
    /// A new session without a terminal.
    Session,
    /// A new session keyring.
    Keyring,
    /// Resource limits.
    Rlimits,
    /// A control group of its own: memory and processes of all of it together.
    Cgroup,
    /// The numbers of processes in its namespace are bounded, and so is how many there are.
    PidMax,
    /// The supervisor adds up what the server uses, looks at free disk, and ends it for either.
    Watch,
    /// Ids of its own, in which limits count.
    UserNamespace,
    /// A root file system of its own: what is not granted is not there, what is granted to be
    /// read is read-only.
    MountNamespace,
    /// Processes of its own, which end with the first of them.
    PidNamespace,
    /// System V objects and message queues of its own.
    IpcNamespace,
    /// A network of its own, with nothing but a loopback.
    NetworkNamespace,
    /// Pseudo-terminals of its own, by the declaration's word.
    OwnTerminals,
    /// Only three pipes of the supervisor's cross the exec.
    Descriptors,
    /// Only the named variables cross the exec.
    Environment,
    /// The supervisor ends the process group and adopts and ends what left it.
    ProcessGroup,
    /// The kernel ends the server's main process with the supervisor.
    ParentDeath,
    /// Checked by the supervisor before the start.
    Check,
    /// The digest, approved by the person.
    Approval,
    /// The executed file is held by descriptor.
    ExecByDescriptor,
    /// The supervisor itself keeps to it.
    Supervisor,
}

impl Mechanism {
    /// Whether it is the supervisor's own doing, before the start, beside the server or after its
    /// end: no shim reports it.
    #[must_use]
    pub const fn is_supervisors(self) -> bool {
        matches!(
            self,
            Self::ProcessGroup | Self::Check | Self::Approval | Self::Supervisor | Self::Watch
        )
    }
}
