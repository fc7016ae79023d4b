//! The bundled server as a person declares and approves one, in a state directory of its own.

use std::path::PathBuf;

use secrecy::SecretString;

use super::ground::Ground;
use super::own::{self, Bounds};
use super::{Attack, CANARY, Target, server};
use crate::approval::Approvals;
use crate::approval::candidate::Candidate;
use crate::confine::{Confinement, Mechanism, Standing};
use crate::declaration::store::State;
use crate::declaration::{
    AbsolutePath, Alias, Declaration, Network, Read, ReadReason, Server, Stdio,
};
use crate::error::Error;
use crate::launch::{self, Explanation, LaunchError, Prepared};
use crate::plan::RunRequest;
use crate::policy;

/// The variable whose value is stored.
pub const STORED: &str = "STORED";

/// What the bundled server is declared with.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Its alias.
    pub alias: &'static str,
    /// Its network.
    pub network: Network,
    /// Whether it gets a `--dir` and a directory to read.
    pub directories: bool,
    /// Bytes of memory, where not the default.
    pub memory: Option<u64>,
}

/// The bundled server, declared, approved and permitted.
#[derive(Debug)]
pub struct Declared {
    /// Its alias: another where it had to do without promises.
    pub alias: Alias,
    /// The promises that this machine cannot hold; it was declared without them.
    pub without: Vec<Standing>,
    permitted: Prepared,
}

impl Declared {
    /// Declares and approves it, without what this machine cannot hold where that can be given
    /// up. Within a Tokio runtime, as [`launch::prepare`].
    ///
    /// # Errors
    /// As `add` and `approve`, and what keeps it from starting: a promise that nobody can give
    /// up, an administrator's policy.
    pub fn new(ground: &Ground, wanted: &Wanted) -> Result<Self, Error> {
        let explained =
            |alias: &Alias| launch::prepare(&ground.person(), &RunRequest::of(alias.clone()));
        let mut alias = declare(ground, wanted, wanted.alias, &[])?;
        let mut explanation = explained(&alias)?;
        let unheld = Confinement::unheld(&explanation.confinement.promises);
        let (without, firm): (Vec<Standing>, Vec<Standing>) = unheld
            .into_iter()
            .partition(|standing| standing.id.may_be_given_up());
        if !without.is_empty() && firm.is_empty() {
            // Another one: what it does not hold, nobody finds under the name that does.
            let name = format!("{}-without", wanted.alias);
            alias = declare(ground, wanted, &name, &without)?;
            explanation = explained(&alias)?;
        }
        Ok(Self {
            alias,
            without,
            permitted: launch::permit(explanation)?,
        })
    }

    /// The plan of its run.
    #[must_use]
    pub fn explanation(&self) -> &Explanation {
        self.permitted.explanation()
    }

    /// Whether a mechanism will be in force.
    #[must_use]
    pub fn has(&self, mechanism: Mechanism) -> bool {
        let confinement = &self.explanation().confinement;
        confinement.mechanisms.contains(&mechanism)
    }

    /// What an attack goes for; nothing where it has no sense in this run.
    #[must_use]
    pub fn target(&self, ground: &Ground, attack: Attack) -> Option<String> {
        let lines = |paths: &[PathBuf]| -> Vec<String> {
            let text = |path: &PathBuf| path.to_string_lossy().into_owned();
            paths.iter().map(text).collect()
        };
        match attack.target() {
            Target::Writable => {
                let namespaces = self.explanation().lowered.namespaces.as_ref()?;
                let places = [&namespaces.writable, &namespaces.in_memory];
                Some(places.map(|places| lines(places).join("\n")).join("\n"))
            }
            Target::Variables => Some(format!("HOME\nTMPDIR\n{STORED}")),
            Target::Filters => {
                let planned = u64::try_from(self.explanation().lowered.seccomp.len()).ok()?;
                Some(own::filters().ok()?.saturating_add(planned).to_string())
            }
            Target::Limits => serde_json::to_string(&self.bounds()).ok(),
            _ => ground.target(attack),
        }
    }

    fn bounds(&self) -> Bounds {
        let Explanation { plan, lowered, .. } = self.explanation();
        let namespaces = lowered.namespaces.as_ref();
        Bounds {
            memory: plan.limits.memory,
            processes: plan.limits.processes,
            files: plan.limits.files,
            file_size: plan.limits.file_size,
            locked: lowered.limits.memlock,
            temporary: namespaces.map_or(u64::MAX, |own| own.memory),
            watches: namespaces.map_or(u64::MAX, |own| u64::from(own.inotify_watches)),
            instances: namespaces.map_or(u64::MAX, |own| u64::from(own.inotify_instances)),
        }
    }
}

fn declare(
    ground: &Ground,
    wanted: &Wanted,
    alias: &str,
    without: &[Standing],
) -> Result<Alias, Error> {
    let program = ground.program().to_string_lossy().into_owned();
    let mut stdio = Stdio::new(program, vec![server::ARGUMENT.to_owned()]);
    stdio.network = wanted.network;
    stdio.limits.memory = wanted.memory;
    stdio.without = without.iter().map(|standing| standing.id).collect();
    if let Ok(name) = STORED.parse() {
        stdio.env.insert(name, SecretString::from(CANARY));
    }
    if wanted.directories {
        let path = |name: &str| ground.path(name).to_string_lossy().parse::<AbsolutePath>();
        stdio.dir = path("dir").ok();
        stdio.reads.extend(path("read").ok().map(|path| Read {
            path,
            why: ReadReason::Flag,
        }));
    }
    let alias: Alias = match alias.parse() {
        Ok(alias) => alias,
        Err(_) => return Err(LaunchError::NoValue(alias.to_owned()).into()),
    };
    approve(ground, alias.clone(), stdio)?;
    Ok(alias)
}

/// As a person's yes to it and to what it says of itself.
///
/// # Errors
/// As `add` and `approve`.
pub fn approve(ground: &Ground, alias: Alias, stdio: Stdio) -> Result<(), Error> {
    let declaration = Declaration {
        server: Server::Stdio(stdio),
        enabled: true,
    };
    let state = State::open(&ground.person())?;
    Approvals::declare(&state, &alias, &declaration)?;
    let approvals = Approvals::read(&state)?;
    let policy = policy::load::installed();
    let candidate = Candidate::look(alias.clone(), declaration, &approvals, &policy, true);
    let candidate = candidate.must_start()?;
    candidate.approve(&state, now())?;
    Approvals::approve_surface(&state, &alias, &candidate.digest, &server::surface())?;
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "an approval has its time")]
fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}
