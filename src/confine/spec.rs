//! What the supervisor tells the shim, and what it hears back. Plain data.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::Mechanism;
use super::linux::Linux;
use super::linux::landlock::Right;
use super::linux::links::Link;
use super::linux::namespace::Namespaces;
use super::linux::seccomp::Filter;
use crate::plan::program::Stat;

/// What the shim is told at once, with the three pipes that the server gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The process whose end is the server's end.
    pub supervisor: u32,
    /// Where it goes.
    pub place: Place,
    /// Whether somebody takes hold of it to watch the server: it closes itself to others of the
    /// same user only when it has its orders.
    pub watched: bool,
}

/// Where a shim goes as soon as there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// Into namespaces.
    Inside,
    /// Nowhere: namespaces are refused here.
    Outside,
}

/// What the shim is told next, before there is a plan. The ids are mapped in its namespaces by then
/// where they are not the supervisor's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begin {
    /// Whether it gets a network of its own, with nothing but a loopback.
    pub network: bool,
    /// The kernel's ids that the server gets where the supervisor is root; its own otherwise.
    pub ids: Option<Ids>,
}

/// What every server gets of this system. The supervisor looked it up, which makes its plan of it;
/// what is mounted for the server comes along by its descriptors, in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Common {
    /// What is mounted.
    pub places: Vec<Found>,
    /// The links on the way to it, and those in `/`.
    pub links: Vec<Link>,
}

/// A file or directory as it was looked up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// Where.
    pub path: PathBuf,
    /// Whether it is a directory.
    pub directory: bool,
    /// Which one.
    pub inode: Inode,
}

/// A path that a server with ids of its own gets to use as its owner would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loan {
    /// Which.
    pub path: PathBuf,
    /// What for.
    pub use_of: Use,
}

/// What a path is lent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// To write: always lent.
    Write,
    /// To be read, by the person's word: lent unless it is a file that others may read.
    Read,
    /// To be executed, as it is installed: lent only where others may not use it.
    Run,
}

/// An unprivileged user and group of the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ids {
    /// `setresuid(2)`.
    pub user: u32,
    /// `setresgid(2)`.
    pub group: u32,
}

/// What the shim is told once the plan is permitted. Holds secrets: it travels over a pipe and
/// has no `Debug`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The file to execute.
    pub exec: PathBuf,
    /// Its command line.
    pub argv: Vec<String>,
    /// All its variables.
    pub env: Vec<(String, String)>,
    /// Where it starts, unless in `dir`.
    pub cwd: PathBuf,
    /// The directory it may write, and which one it is: the supervisor holds that one open, so
    /// no other has its numbers.
    pub dir: Option<(PathBuf, Inode)>,
    /// Files that must still be what they were when they were looked at.
    pub unchanged: Vec<(PathBuf, Stat)>,
    /// The rules.
    pub rules: Rc<Linux>,
    /// Whether a session keyring of its own was made.
    pub keyring: bool,
    /// The paths of the mounts that are lent; their descriptors come with these orders, in this
    /// order.
    pub lent: Vec<PathBuf>,
}

/// The last word, once all is ready that has to be before the server runs: with the orders alone the
/// shim goes as far as it can, and executes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Go {}

/// Which file a path leads to (`st_dev` and `st_ino`, `stat(2)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inode {
    /// The file system.
    pub dev: u64,
    /// The file in it.
    pub ino: u64,
}

impl Spec {
    /// The namespaces that the rules are for.
    ///
    /// # Errors
    /// They are for none.
    pub fn namespaces(&self) -> Result<&Namespaces, Failed> {
        self.rules.namespaces.as_ref().ok_or_else(|| Failed {
            step: Step::Spec,
            why: "orders without namespaces".to_owned(),
        })
    }

    /// The mechanisms that are in force once every step is done that these orders ask for.
    pub fn mechanisms(&self) -> BTreeSet<Mechanism> {
        let mut set = BTreeSet::from([
            Mechanism::LandlockFiles,
            Mechanism::Capabilities,
            Mechanism::NoNewPrivs,
            Mechanism::Session,
            Mechanism::Rlimits,
            Mechanism::Descriptors,
            Mechanism::Environment,
            Mechanism::ParentDeath,
            Mechanism::ExecByDescriptor,
        ]);
        let landlock = &self.rules.landlock;
        let namespaces = self.rules.namespaces.as_ref();
        for (is, mechanism) in [
            (namespaces.is_some(), Mechanism::UserNamespace),
            (namespaces.is_some(), Mechanism::MountNamespace),
            (namespaces.is_some(), Mechanism::PidNamespace),
            (namespaces.is_some(), Mechanism::IpcNamespace),
            (
                namespaces.is_some_and(|own| own.network),
                Mechanism::NetworkNamespace,
            ),
            (
                namespaces.is_some_and(|own| own.terminals),
                Mechanism::OwnTerminals,
            ),
            (
                namespaces.is_some_and(|own| own.pid_max.is_some()),
                Mechanism::PidMax,
            ),
            (self.keyring, Mechanism::Keyring),
            (self.rules.ids.is_some(), Mechanism::UnprivilegedId),
            (landlock.scoped, Mechanism::LandlockScopes),
            (landlock.no_network, Mechanism::LandlockNetwork),
            (
                landlock.handled.contains(Right::ResolveUnix),
                Mechanism::LandlockSockets,
            ),
        ] {
            if is {
                set.insert(mechanism);
            }
        }
        set.extend(self.rules.seccomp.iter().map(|filter| match filter {
            Filter::Allow | Filter::Deny => Mechanism::Seccomp,
            Filter::DenyButNamespaces => Mechanism::SeccompButNamespaces,
            Filter::NoSetGid => Mechanism::SeccompNoSetGid,
            Filter::NoUnix => Mechanism::SeccompNoUnix,
            Filter::NoNetwork => Mechanism::SeccompNoNetwork,
            Filter::OwnProcess => Mechanism::SeccompOwnProcess,
            Filter::OwnIpc => Mechanism::SeccompOwnIpc,
        }));
        set
    }
}

/// What the shim tells the supervisor, one JSON object a line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// The first process of its namespaces, whose ids can be mapped: it goes on, and this one ends.
    First(u32),
    /// What it could enter; it waits for its orders.
    Begun(Begun),
    /// Everything is in force; the exec is next.
    Enforced(Enforced),
    /// A step failed; nothing of the server's ran.
    Failed(Failed),
}

/// What the kernel let the shim have before it knew what it is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begun {
    /// Whether it has a session keyring of its own: some containers refuse all keyrings.
    pub keyring: bool,
    /// Why it is not in the namespaces it was to enter. It has ended then.
    pub refused: Option<String>,
    /// Whether the first process of its namespaces says so: the one before says which that is.
    pub first: bool,
}

/// What the kernel took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enforced {
    /// The mechanisms in force.
    pub mechanisms: BTreeSet<Mechanism>,
    /// Whether the capability bounding set is empty too.
    pub bounding_set_empty: bool,
}

/// The step that failed and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failed {
    /// Which.
    pub step: Step,
    /// What the system said, and where.
    pub why: String,
}

/// The steps, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Nothing of the caller's in it.
    Environment,
    /// Read the spec.
    Spec,
    /// Be bound to the supervisor's life.
    ParentDeath,
    /// A session of its own.
    Session,
    /// Descriptors close at exec.
    Descriptors,
    /// A session keyring of its own.
    Keyring,
    /// Default dispositions, empty mask.
    Signals,
    /// Resource limits.
    Limits,
    /// Namespaces of its own.
    Namespaces,
    /// A root file system of its own.
    Mounts,
    /// The next stage.
    Stage,
    /// The working directory.
    Directory,
    /// The program, held by descriptor and compared.
    Program,
    /// The ruleset, each granted path opened.
    Grants,
    /// Root's groups and every capability dropped.
    Capabilities,
    /// The ruleset in force.
    Landlock,
    /// The filters in force.
    Seccomp,
    /// The exec itself.
    Exec,
}
