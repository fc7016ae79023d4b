//! The attacks, alone and in two runs: with the network and directories, and without.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use tokio::time::timeout;

use super::DoctorError;
use super::end;
use super::judge::{Confined, Row};
use super::outside;
use crate::confine::Promise;
use crate::declaration::Network;
use crate::error::Error;
use crate::probe::client::Client;
use crate::probe::declared::{Declared, Wanted};
use crate::probe::{Attack, Ground, Outcome, Target, server};

/// How long each step of a run may take: a fraction of a second, but on an emulated machine. After
/// that there is no verdict.
pub const LIMIT: Duration = Duration::from_secs(60);

/// What the attacks are called that nothing is in the way of.
const ALONE: &str = "alone";

/// Bytes of memory for the run that passes them.
const LITTLE: u64 = 96 << 20;

/// The bundled server, declared in one way.
#[derive(Debug)]
pub struct Run {
    /// What is different about it.
    pub name: &'static str,
    /// Its network.
    pub network: Network,
    /// Whether it gets directories.
    pub directories: bool,
    /// The declaration, approved, and its plan.
    pub declared: Declared,
}

impl Run {
    /// Both: what one gets and the other does not, each attack meets.
    ///
    /// # Errors
    /// Where no server starts on this machine.
    pub fn both(ground: &Ground) -> Result<[Self; 2], Error> {
        Ok([
            Self::new(
                ground,
                "network and --dir",
                &Wanted {
                    alias: "probe-full",
                    network: Network::Full,
                    directories: true,
                    memory: None,
                },
            )?,
            Self::new(
                ground,
                "no network",
                &Wanted {
                    alias: "probe-none",
                    network: Network::None,
                    directories: false,
                    memory: None,
                },
            )?,
        ])
    }

    /// A third, with so little memory that several processes of the probe pass it together.
    fn bounded(ground: &Ground) -> Result<Self, Error> {
        let wanted = Wanted {
            alias: "probe-little",
            network: Network::None,
            directories: false,
            memory: Some(LITTLE),
        };
        Self::new(ground, "little memory", &wanted)
    }

    fn new(ground: &Ground, name: &'static str, wanted: &Wanted) -> Result<Self, Error> {
        Ok(Self {
            name,
            network: wanted.network,
            directories: wanted.directories,
            declared: Declared::new(ground, wanted)?,
        })
    }

    /// What an attack goes for in this run; nothing where it is not promised to fail.
    fn target(&self, ground: &Ground, attack: Attack) -> Option<String> {
        let readable = matches!(
            attack.target(),
            Target::Readable | Target::ReadableProgram | Target::ReadableSocket
        );
        let key = matches!(attack, Attack::ReadKey | Attack::SeeKey);
        let asked = attack
            .needs()
            .is_none_or(|needed| self.declared.has(needed))
            && (attack.promise() != Promise::N1 || self.network == Network::None)
            && (!readable || self.directories)
            && (!key || ground.has_key());
        asked.then(|| self.declared.target(ground, attack))?
    }
}

/// Every attack alone, and then in each run; with what is seen from outside and at the end.
///
/// # Errors
/// Where a half could not be run to its end.
pub async fn attack(ground: &Ground, runs: &[Run; 2]) -> Result<Vec<Row>, DoctorError> {
    let [first, second] = runs;
    let mut alone = started(ground, ALONE, &[server::ARGUMENT]).await?;
    let targets = |run: &Run| -> BTreeMap<Attack, String> {
        let target = |attack: &Attack| Some((*attack, run.target(ground, *attack)?));
        Attack::ALL.iter().filter_map(target).collect()
    };
    let mut every = targets(second);
    every.extend(targets(first));
    let mut controls = tried(&mut alone, ground, ALONE, &every).await?;
    let seen_alone = outside::look(alone.id());
    let swelled = in_time(ALONE, end::swells(&mut alone, end::SWOLLEN_ALONE)).await?;
    let stayed = in_time(ALONE, end::stays(alone, ground)).await?;
    let mut rows = vec![together(ground, swelled).await?];
    let mut confined: BTreeMap<Attack, Vec<Confined>> = BTreeMap::new();
    for run in [first, second] {
        let words = end::words(run, ground);
        let mut client = started(ground, run.name, &words).await?;
        for (attack, outcome) in tried(&mut client, ground, run.name, &targets(run)).await? {
            let run = run.name;
            confined
                .entry(attack)
                .or_default()
                .push(Confined { run, outcome });
        }
        rows.extend(outside::rows(run, &seen_alone, outside::look(client.id())));
        let ended = in_time(run.name, end::ended(client, run, ground, &stayed)).await?;
        rows.extend(ended.map_err(|source| speak(run.name, source))?);
    }
    let attacks = confined.into_iter().filter_map(|(attack, confined)| {
        Some(Row {
            promise: attack.promise(),
            attack: crate::cli::render::name_of(&attack),
            text: attack.text(),
            alone: controls.remove(&attack)?,
            confined,
        })
    });
    // Attacks before what is seen of them.
    let mut all: Vec<Row> = attacks.collect();
    all.extend(rows);
    Ok(all)
}

/// Whether several processes take more together than one run's bound.
async fn together(ground: &Ground, alone: Outcome) -> Result<Row, DoctorError> {
    let run = Run::bounded(ground)
        .map_err(|error| DoctorError::Check("the bound on memory", Box::new(error)))?;
    let mut client = started(ground, run.name, &end::words(&run, ground)).await?;
    let confined = in_time(run.name, end::swells(&mut client, end::SWOLLEN)).await?;
    // It may have ended.
    let _ = in_time(run.name, client.end()).await?;
    let text = "take more memory together than its bound";
    Ok(Row::check(Promise::R5, "take-together", text, alone, confined).in_run(run.name))
}

fn speak(half: &'static str, source: io::Error) -> DoctorError {
    DoctorError::Speak { half, source }
}

async fn in_time<T>(half: &'static str, step: impl Future<Output = T>) -> Result<T, DoctorError> {
    let late = |_| speak(half, io::ErrorKind::TimedOut.into());
    timeout(LIMIT, step).await.map_err(late)
}

async fn started<S: AsRef<std::ffi::OsStr>>(
    ground: &Ground,
    half: &'static str,
    words: &[S],
) -> Result<Client, DoctorError> {
    let stderr = ground.path("run/stderr");
    let started = Client::start(ground.command(words), &stderr);
    let started = in_time(half, started).await?;
    started.map_err(|source| speak(half, source))
}

/// What became of each attack, by its effect where it has one.
async fn tried(
    client: &mut Client,
    ground: &Ground,
    half: &'static str,
    targets: &BTreeMap<Attack, String>,
) -> Result<BTreeMap<Attack, Outcome>, DoctorError> {
    let all = async {
        let mut outcomes = BTreeMap::new();
        for (attack, target) in targets {
            let before = ground.picture(*attack);
            let told = client.attempt(*attack, target).await?;
            outcomes.insert(*attack, ground.judged(*attack, before, told)?);
        }
        io::Result::Ok(outcomes)
    };
    let all = in_time(half, all).await?;
    all.map_err(|source| speak(half, source))
}
