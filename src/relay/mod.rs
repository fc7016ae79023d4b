//! The relay: passes messages between host and server, and sees to it that a run ends.
//!
//! Stands last on the path of `supervisor run`: launch hands it a running server, it hands back
//! an [`Outcome`]. One thread, one task, no wait without an owner and a limit.
//!
//! - `run` is the loop, `pump` its turns, `seat` the server's coming and going; `host` and `port`
//!   read and write; nothing else here does I/O
//! - bytes → `frame` → line → `envelope` → message → `gate` → [forward | answer | withhold] →
//!   `lane` → bytes
//! - the gate's own: `asking` the layers that a request passes · `heard` what comes from the
//!   server · `reject` what is no message · `salvage` the ids in it · `splice` changes in a few
//!   places · `fate` what becomes of the server and what time brings · `account` what is recorded ·
//!   `fault` what can be wrong · `ledger` the open requests ·
//!   `limits` how long they may wait · `params` what is read of them · `answer` and `refused` our own messages
//! - what a server says of itself: `guard` and `surface` the layer, before a request and behind an
//!   answer · `pins` what was approved, `template` whether a URI is of one · `listing` an answer without what is withheld, by its
//!   `parts` · `clean` what does not show · `present` what is listed now · `reading` our own look at it
//! - its rules: `rules` which calls pass, `ruling` what that means for one, `categories` which kinds of tools, `consent` how a call is put
//!   to the person, `word` what they said and `question` what waits for it, `wanted` what a server asks the host
//!   for, `capabilities` what a host can be asked · `arguments` and `schema` what a tool may be called with · `mark` texts marked as a server's ·
//!   `filter` which tools a run offers · `era` whether this server can hear that ·
//!   `replay` what a new one is told · `breaker` whether it is left alone
//! - `outcome` how a run went · `over` the word that a server is over a limit · `process` the server by its descriptor
//! - `peer` the same frames and envelopes, for who speaks in a host's place
//! - `stderr` and `sanitize` the server's words · `shutdown` what is due when · `refuse` a run
//!   that was refused · `clock` wakes the loop at a time
//!
//! It starts no process, reads no file, writes no record: its [`Owner`] does.
//! Constants and behaviour are listed in `docs/relay.md`.

mod account;
pub(crate) mod answer;
mod arguments;
mod asking;
pub(crate) mod breaker;
mod capabilities;
mod categories;
mod clean;
mod clock;
mod consent;
mod envelope;
pub(crate) mod era;
mod error;
mod fate;
mod fault;
pub(crate) mod filter;
mod frame;
mod gate;
mod guard;
mod heard;
mod host;
mod lane;
mod ledger;
mod limits;
mod listing;
mod mark;
mod outcome;
mod over;
mod params;
mod parts;
pub(crate) mod peer;
mod pins;
mod port;
mod present;
mod process;
mod pump;
mod question;
mod reading;
mod refuse;
mod refused;
mod reject;
mod replay;
pub(crate) mod rules;
mod ruling;
mod run;
mod salvage;
mod sanitize;
mod scan;
mod schema;
mod seat;
mod shutdown;
mod splice;
mod stderr;
mod surface;
mod template;
mod wanted;
mod wide;
mod word;

#[cfg(any(test, feature = "bench"))]
#[path = "../../tests/bench/relay.rs"]
pub(crate) mod bench;
#[cfg(test)]
#[path = "../../tests/fuzz/mod.rs"]
mod fuzz;
#[cfg(test)]
mod stream_tests;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::time::Duration;

use jiff::Timestamp;
use nix::unistd::Pid;

use crate::audit::Event;
use crate::declaration::Category;
use crate::surface::canonical::Item;
use crate::surface::{Kind, Surface};

pub use breaker::{Breaker, Verdict};
pub use categories::Words;
pub use clock::Clock;
pub use era::Discover;
pub use error::RelayError;
pub use filter::Filter;
pub use host::Host;
pub use outcome::{Counters, End, Exit, Outcome};
pub use over::{Bounds, Over};
pub use process::Process;
pub use refuse::refuse;
pub use rules::{Action, Permissions, Rule, RuleError};

/// A server that was started.
#[derive(Debug)]
pub struct Server {
    /// Our end of its stdin.
    pub stdin: OwnedFd,
    /// Our end of its stdout.
    pub stdout: OwnedFd,
    /// Our end of its stderr.
    pub stderr: OwnedFd,
    /// Its main process, which the relay waits for.
    pub process: Process,
    /// The process group (and session) that the main process leads.
    pub group: Pid,
    /// What ends it when it is over a limit.
    pub bounds: Box<dyn Bounds>,
}

/// What the relay must know of the declaration and of `settings.json`.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The person's name for the server.
    pub alias: String,
    /// `relay.max_message_bytes`: the longest line passed on, its line end not counted.
    pub max_message_bytes: usize,
    /// What was approved of all that the server says of itself; none before that question.
    pub surface: Option<Surface>,
    /// Whether it is offered whole or not at all.
    pub whole: bool,
    /// Which of the server's tools are offered.
    pub filter: Filter,
    /// `tools.categories`: those of which tools may be called; every one, where none is named.
    pub granted: BTreeSet<Category>,
    /// What the person and the administrator rule.
    pub rules: Rules,
    /// What nobody else knows: our own ids and states are made of it.
    pub seed: [u8; 32],
    /// `timeouts.start_s`: how long a server may take to its first answer once it was asked.
    pub start_limit: Option<Duration>,
    /// `timeouts.call_s`, or else `relay.call_timeout_s`: how long a request may wait.
    pub call_limit: Option<Duration>,
    /// What is recorded of calls.
    pub audit: Audit,
    /// The breaker as earlier runs left it.
    pub breaker: Breaker,
    /// What is known of how the server takes `server/discover`.
    pub discover: Option<Discover>,
}

/// What `settings.json` and the administrator rule; read again where the file changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Which calls pass.
    pub permissions: Permissions,
    /// `categories`: what the person says tools are.
    pub words: Words,
    /// `relay.ask_timeout_s`: how long a question to the person may wait.
    pub ask_limit: Duration,
    /// `mark_untrusted`: texts in results are marked as a server's.
    pub mark_untrusted: bool,
    /// `own_words`: a server's errors of the protocol are put in ours.
    pub own_words: bool,
    /// `check_arguments`: what a tool is called with must fit the schema that was approved.
    pub check_arguments: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            permissions: Permissions::default(),
            words: Words::default(),
            ask_limit: ASK_LIMIT,
            mark_untrusted: false,
            own_words: false,
            check_arguments: false,
        }
    }
}

/// The default of `relay.ask_timeout_s`.
pub const ASK_LIMIT: Duration = Duration::from_secs(300);

/// What is recorded of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audit {
    /// Nothing.
    Off,
    /// Tool, digest of the arguments, sizes, time, outcome.
    Digests,
    /// The arguments too: the declaration asks for them.
    Arguments,
}

/// A start that is under way. Dropped, it ends what it has started.
pub type Start = Pin<Box<dyn Future<Output = Result<Server, Refusal>>>>;

/// What a run saw of the server's surface that is not what was approved.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pending {
    /// What is withheld, as far as it is kept.
    pub withheld: Vec<Item>,
    /// The lists that were seen whole.
    pub whole: Vec<Kind>,
    /// What was approved and is not in these.
    pub gone: Vec<(Kind, String)>,
}

/// What is left of a server that has ended: its first process, which may be on its last steps
/// ([`Process::is_going`]), and what kept it within its limits. Letting go of it waits for those.
#[derive(Debug)]
pub struct Last {
    // Dropped first: what bounded it can be taken down when it is gone.
    pub(crate) process: Process,
    pub(crate) _bounds: Option<Box<dyn Bounds>>,
}

/// Who owns a run: starts the server anew, and keeps what outlives the run.
pub trait Owner {
    /// Starts the server again, by the whole road; the one before has ended.
    fn start(&mut self) -> Start;

    /// That start was taken up.
    fn started(&mut self);

    /// The server has ended: ends what left its group. Called at each end, at once; what follows
    /// (a host that is slow to read, or to ask why) may take seconds. What is left of it is to be let
    /// go before the run ends, or another is started.
    fn server_ended(&mut self, last: Option<Last>);

    /// Something happened, for the record.
    fn record(&mut self, event: Event, now: Timestamp);

    /// The messages of a turn are on their way: what was recorded is written.
    fn rest(&mut self, now: Timestamp);

    /// The breaker as it is after this; other runs of the same server count too.
    fn breaker(&mut self, verdict: Verdict) -> Breaker;

    /// What is withheld of the server's surface is this now.
    fn pending(&mut self, pending: &Pending);

    /// How the server takes `server/discover`, for later runs.
    fn discover(&mut self, how: Discover);

    /// The rules, where they changed since they were last asked for; or why they cannot be read.
    fn rules(&mut self, now: Timestamp) -> Option<Result<Rules, String>>;

    /// The time of day.
    fn now(&self) -> Timestamp;
}

/// The default of `relay.max_message_bytes`: just under what hosts take.
pub const MAX_MESSAGE_BYTES: usize = 10_000_000;

/// Why a run was refused, for the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The code of the JSON-RPC error, `-31000-n`.
    pub number: i64,
    /// What and where, one line.
    pub message: String,
    /// Kebab-case.
    pub code: String,
    /// A command to run.
    pub hint: Option<String>,
    /// The exit code of the supervisor.
    pub exit: u8,
}

/// Relays until the run has ended, and the server's process group with it.
///
/// Ends by itself in under 2 s after the host's end of stdin, its closing of our stdout, or a
/// SIGTERM, SIGINT or SIGHUP; and when the server ends and cannot be started again, after the host
/// took what it wrote (a host that reads nothing holds that up for 5 s). Must run within a
/// current-thread runtime with I/O and time enabled. Processes that left the group are the
/// owner's to find.
///
/// # Errors
///
/// Where descriptors, signals or the wait for the server fail; the group is killed then too.
pub async fn relay(
    host: Host,
    server: Server,
    owner: &mut dyn Owner,
    settings: &Settings,
) -> Result<Outcome, RelayError> {
    let run = run::Run::new(host, server, owner, settings);
    match run {
        Ok(mut run) => {
            let ended = run.run().await;
            if ended.is_err() {
                run.kill();
            }
            ended.map(|()| run.outcome())
        }
        Err((group, error)) => {
            run::kill_group(group, nix::sys::signal::Signal::SIGKILL);
            Err(error)
        }
    }
}
