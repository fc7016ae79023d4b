//! What `why` finds: one line for a reader, one object in JSON.

use std::path::PathBuf;

use serde::Serialize;

use crate::confine::Promise;
use crate::launch::secrets::Hidden;

/// What kind of thing was refused or is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) enum What {
    /// A file or directory.
    Path,
    /// A program.
    Program,
    /// A local socket.
    Socket,
    /// An address on the network.
    Host,
    /// A port to listen at.
    Port,
    /// A variable.
    Variable,
    /// Certificates of authorities.
    Certificates,
    /// Headers or tools that a build wants.
    Build,
    /// Namespaces of its own.
    Namespace,
    /// A system call.
    Call,
    /// A bound of the run.
    Limit,
    /// What it writes to standard output.
    Output,
}

/// One thing that a server was refused, or lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Finding {
    /// Of which kind.
    pub(crate) kind: What,
    /// Which: a path, a name, an address.
    pub(crate) what: String,
    /// What it was wanted for.
    pub(crate) right: Option<&'static str>,
    /// What the system said: `ENOENT` and the like.
    pub(crate) answer: Option<String>,
    /// How often.
    pub(crate) times: u64,
    /// The programs, from the server's own down to the one that tried last.
    pub(crate) by: Vec<String>,
    /// The promise that it is refused by.
    pub(crate) promise: Option<Promise>,
    /// Whether it is refused by us: else it is missing or refused outside too.
    pub(crate) ours: bool,
    /// Whether it is likely to be why the server does not work.
    pub(crate) cause: bool,
    /// The flags of `supervisor set` that would grant it; none where nothing will.
    pub(crate) flags: Vec<String>,
    /// What a person should know, or do besides.
    pub(crate) note: String,
    /// A command that helps without granting anything, or before it.
    pub(crate) first: Option<String>,
    /// The path as the server spells it, which is looked for in what it said.
    #[serde(skip)]
    pub(crate) seen: Option<PathBuf>,
    /// When it was tried last, among all attempts.
    #[serde(skip)]
    pub(crate) last: u64,
    /// Whether a file was wanted, or more than to know whether something is there.
    #[serde(skip)]
    pub(crate) firm: bool,
}

impl Finding {
    pub(crate) fn new(kind: What, what: impl Into<String>, note: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
            right: None,
            answer: None,
            times: 1,
            by: Vec::new(),
            promise: None,
            ours: true,
            cause: false,
            flags: Vec::new(),
            note: note.into(),
            first: None,
            seen: None,
            last: 0,
            firm: true,
        }
    }

    pub(crate) fn promise(mut self, promise: Promise) -> Self {
        self.promise = Some(promise);
        self
    }

    pub(crate) fn flags<const N: usize>(mut self, flags: [&str; N]) -> Self {
        self.flags = flags.map(str::to_owned).to_vec();
        self
    }

    pub(crate) fn first(mut self, command: impl Into<String>) -> Self {
        self.first = Some(command.into());
        self
    }

    /// The same with each value that the server was given replaced by its name.
    pub(crate) fn without(mut self, hidden: &Hidden) -> Self {
        let texts = [&mut self.what, &mut self.note].into_iter();
        let texts = texts.chain(&mut self.first).chain(&mut self.flags);
        for text in texts.chain(&mut self.by) {
            *text = hidden.hide(text);
        }
        self
    }

    /// Not by us.
    pub(crate) const fn outside_too(mut self) -> Self {
        self.ours = false;
        self.promise = None;
        self
    }

    pub(crate) const fn cause(mut self) -> Self {
        self.cause = true;
        self
    }
}
