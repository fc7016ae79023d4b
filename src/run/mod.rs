//! One run of a declared server: started, relayed, recorded, and started again where it died.
//!
//! [`Run`] owns a run for the relay: it starts the server anew by the whole road (`prepare`,
//! `permit`, `launch`), for the digest of the first start alone, and keeps what outlives it: the audit log,
//! the breaker and the era ([`kept`]), what was withheld of the surface ([`pending`]). With `--ephemeral` nothing is kept.
//!
//! Place on the path: Running → **relay, with its owner** → Outcome → receipt → audit event → exit
//! code.

pub(crate) mod error;
pub(crate) mod kept;
mod owner;
pub(crate) mod pending;
pub(crate) mod written;

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use jiff::Timestamp;

pub use error::RunError;

use crate::approval::Approvals;
use crate::audit::event;
use crate::audit::log::Log;
use crate::audit::syncing::Syncing;
use crate::audit::{AuditError, Event};
use crate::confine::receipt::Started;
use crate::declaration::store::State;
use crate::declaration::{Alias, Digest, DigestPrefix};
use crate::error::Error;
use crate::exit_codes;
use crate::launch::home::Home;
use crate::launch::run_id::RunId;
use crate::launch::{Explanation, LaunchError, Running, receipts};
use crate::plan::{Person, RunRequest};
use crate::policy::Required;
use crate::relay::{Breaker, Discover, Last, Outcome, Owner, Refusal, Rules, Server};
use crate::settings::Settings;
use crate::settings::watch::Watch;
use kept::Kept;

/// The owner of one run.
pub(crate) struct Run {
    person: Person,
    request: RunRequest,
    alias: Alias,
    digest: Digest,
    program: PathBuf,
    held: Rc<RefCell<Held>>,
    records: Option<Records>,
    breaker: Breaker,
    /// What was recorded, on its way to the disk.
    syncing: Option<Result<Syncing, AuditError>>,
    starts: u64,
    /// What is left of a server that has ended.
    last: Option<Last>,
    watch: Watch,
    /// The rules as the relay has them, and what the administrator required of them.
    rules: Result<Rules, String>,
    required: Required,
    /// Says something to the person, on standard error.
    say: fn(&str),
}

/// What the starts of a run leave with it.
struct Held {
    /// While a server runs: its temporary directory is not emptied meanwhile.
    home: Option<Home>,
    /// For the receipt.
    started: Started,
    /// What the administrator requires of the run, as of its last start.
    required: Required,
}

impl Held {
    /// What was launched takes its place.
    fn take(&mut self, explanation: &Explanation, running: Running, say: fn(&str)) -> Server {
        let Running {
            server,
            enforced,
            low,
            home,
        } = running;
        let (alias, run) = (&explanation.alias, self.started.run);
        for place in low {
            say(&format!(
                "{alias}: the disk of {place}, which is low; who fills it is not watched"
            ));
        }
        tracing::info!(%alias, %run, ?enforced, "confined");
        let last = receipts::started(run, explanation, now());
        self.started.confined(last, enforced.mechanisms);
        self.home = Some(home);
        self.required = explanation.required;
        server
    }
}

/// What is kept of a run.
struct Records {
    log: Log,
    kept: Kept,
    /// What could not be kept was said.
    told: bool,
}

impl Run {
    /// Opens what outlives the run, and reads what a person set, under what the administrator
    /// requires.
    ///
    /// # Errors
    /// A record that cannot be read or written: a run that cannot be recorded does not start.
    pub(crate) fn open(
        person: &Person,
        request: &RunRequest,
        explanation: &Explanation,
        run: RunId,
        say: fn(&str),
    ) -> Result<(Self, Settings), Error> {
        let digest = explanation.digest.clone();
        let state = &*explanation.state();
        let records = if request.ephemeral {
            None
        } else {
            let run = of(run, &explanation.alias, Some(&digest));
            Some(Records {
                log: Log::open(state, run)?,
                kept: Kept::open(state, &digest)?,
                told: false,
            })
        };
        let breaker = match &records {
            Some(records) => records.kept.breaker()?,
            None => Breaker::default(),
        };
        let (watch, mut settings) = Watch::begin(person, state)?;
        settings.rules = ruled(settings.rules, explanation.required);
        let run_of = Self {
            person: person.clone(),
            request: RunRequest {
                digest: Some(DigestPrefix::of(&digest)),
                ..request.clone()
            },
            alias: explanation.alias.clone(),
            digest,
            program: explanation.plan.exec.clone(),
            held: Rc::new(RefCell::new(Held {
                home: None,
                started: receipts::started(run, explanation, now()),
                required: explanation.required,
            })),
            records,
            breaker,
            syncing: None,
            starts: 0,
            last: None,
            watch,
            rules: Ok(settings.rules.clone()),
            required: explanation.required,
            say,
        };
        Ok((run_of, settings))
    }

    /// The breaker as earlier runs left it.
    pub(crate) fn earlier_breaker(&self) -> Breaker {
        self.breaker
    }

    /// What earlier runs learnt of how the server takes `server/discover`.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub(crate) fn earlier_discover(&self) -> Result<Option<Discover>, RunError> {
        match &self.records {
            Some(records) => records.kept.discover(now()),
            None => Ok(None),
        }
    }

    /// Whether calls are recorded.
    pub(crate) fn is_recorded(&self) -> bool {
        self.records.is_some()
    }

    /// The server was started for the first time.
    ///
    /// # Errors
    /// It cannot be recorded.
    pub(crate) fn started(
        &mut self,
        explanation: &Explanation,
        running: Running,
    ) -> Result<Server, AuditError> {
        let server = self.held.borrow_mut().take(explanation, running, self.say);
        self.starts = 1;
        let event = self.start_event(0);
        if let Some(records) = &mut self.records {
            let now = now();
            records.log.record(event, now)?;
            records.log.write(now)?;
        }
        Ok(server)
    }

    /// What the receipt says of the starts.
    pub(crate) fn last_started(&self) -> Started {
        self.held.borrow().started.clone()
    }

    fn start_event(&self, restart: u64) -> Event {
        Event::Start {
            program: crate::text::path(&self.program),
            restart,
        }
    }

    /// The run is over: recorded, and on the way to the disk.
    pub(crate) fn stopped(&mut self, outcome: &Outcome) {
        let stop = Event::Stop {
            exit: outcome.exit,
            reason: outcome.end.as_str(),
            counters: outcome.counters,
        };
        self.record(stop, now());
        if let Some(records) = self.records.take() {
            self.syncing = Some(records.log.end());
        }
    }

    /// The end of the run: what was recorded is on the disk, and nothing of it is left.
    pub(crate) fn ended(self) {
        self.held.borrow_mut().home = None;
        let synced = self
            .syncing
            .map(|syncing| syncing.and_then(Syncing::synced));
        if let Some(Err(error)) = synced {
            (self.say)(&format!("{}: {error}", self.alias));
        }
        drop(self.last);
    }

    /// Tells the person, once, that something could not be kept.
    fn told(&mut self, kept: Result<(), impl std::error::Error>) {
        let Err(error) = kept else { return };
        let told = self
            .records
            .as_mut()
            .map(|records| std::mem::replace(&mut records.told, true));
        if told == Some(false) {
            let mut text = format!("{}: {error}", self.alias);
            let mut cause = error.source();
            while let Some(next) = cause {
                text.push_str(&format!(": {next}"));
                cause = next.source();
            }
            (self.say)(&text);
        }
    }
}

/// The person's rules under what the administrator requires.
fn ruled(mut rules: Rules, required: Required) -> Rules {
    rules.permissions.floor = required.calls;
    rules.mark_untrusted |= required.marking;
    rules
}

/// Records that a run did not start, as far as there is a log.
///
/// # Errors
/// It cannot be recorded.
pub(crate) fn refused(person: &Person, alias: &Alias, error: &Error) -> Result<(), Error> {
    let state = State::open(person)?;
    // Nothing is written in a state that cannot be trusted or read.
    let readable = state.read().is_ok() && Approvals::read(&state).is_ok();
    if state.folder().is_none() || !readable {
        return Ok(());
    }
    let run = RunId::new().map_err(LaunchError::Spawn)?;
    let mut log = Log::open(&state, of(run, alias, None))?;
    let code = error.code().to_owned();
    log.record(Event::Refused { code }, now())?;
    Ok(log.close()?)
}

fn of(run: RunId, alias: &Alias, digest: Option<&Digest>) -> event::Run {
    event::Run {
        run: run.to_string(),
        alias: alias.to_string(),
        digest: digest.map(ToString::to_string),
    }
}

/// An error as the host is told it.
pub(crate) fn refusal(error: &Error) -> Refusal {
    Refusal {
        number: exit_codes::rpc_number(error.code()),
        message: error.message(),
        code: error.code().to_owned(),
        hint: error.hint(),
        exit: error.exit_code(),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the owner of a run tells the time"
)]
fn now() -> Timestamp {
    Timestamp::now()
}
