//! What a server tried and did not get, as data.

use std::net::IpAddr;
use std::path::PathBuf;

use nix::errno::Errno;

/// What a path was wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Intent {
    /// Whether it is there, and what it is.
    Look,
    /// What a file holds.
    Read,
    /// What a directory lists.
    List,
    /// To be run.
    Execute,
    /// To be watched for changes.
    Watch,
    /// To be written, and it is to be there.
    Write,
    /// To be made.
    Make,
    /// To be made as a directory.
    MakeDirectory,
    /// To be removed or renamed away.
    Remove,
    /// Another mode, owner, time or attribute.
    Change,
}

impl Intent {
    /// The word for a reader.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Look => "look",
            Self::Read => "read",
            Self::List => "list",
            Self::Execute => "execute",
            Self::Watch => "watch",
            Self::Write => "write",
            Self::Make | Self::MakeDirectory => "create",
            Self::Remove => "remove",
            Self::Change => "change",
        }
    }

    /// Whether something would be changed.
    pub(crate) const fn writes(self) -> bool {
        matches!(
            self,
            Self::Write | Self::Make | Self::MakeDirectory | Self::Remove | Self::Change
        )
    }
}

/// A bound of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Bound {
    /// Private memory of one process.
    Memory,
    /// Processes and threads.
    Processes,
    /// Open descriptors of one process.
    Files,
    /// Bytes of one file.
    FileSize,
    /// Room on a file system.
    Space,
}

/// What was wanted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Target {
    /// A path, absolute as the server sees it.
    Path(PathBuf, Intent),
    /// A Unix socket by its path, to speak to.
    Local(PathBuf),
    /// A Unix socket by its abstract name, to speak to.
    Abstract(String),
    /// An address to speak to.
    Remote(IpAddr, u16),
    /// An address to listen at.
    Listen(IpAddr, u16),
    /// A socket of a kind: family and type, as the kernel numbers them.
    Socket(i32, i32),
    /// A namespace of its own, by the call that asks for it; whether a user namespace is among
    /// them, which an ordinary user needs for all others.
    Namespace(&'static str, bool),
    /// A call that was refused as such.
    Call(&'static str),
    /// More than a bound allows; bytes, where it is that.
    Bound(Bound, u64),
}

/// Something that was tried in vain, by one program, with one answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// What.
    pub(crate) target: Target,
    /// What the kernel said.
    pub(crate) errno: Errno,
    /// The programs from the server's own down to the one that tried.
    pub(crate) by: Vec<String>,
    /// How often.
    pub(crate) times: u64,
    /// The place of the last time among all attempts.
    pub(crate) last: u64,
}

/// All that was seen of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trace {
    /// Each once, in the order of their first time.
    pub(crate) attempts: Vec<Attempt>,
    /// Processes that were started, threads not counted.
    pub(crate) processes: u64,
    /// Attempts that were not kept, since there were too many different ones.
    pub(crate) left_out: u64,
    /// Threads that were let go of, since they get signals that cannot be passed on.
    pub(crate) let_go: u64,
}
