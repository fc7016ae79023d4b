//! Floors: what no declaration of a program may go below, whatever was approved. Pure.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

use super::entry::some;
use super::subject::ProgramSubject;
use crate::confine::Promise;
use crate::declaration::Network;
use crate::relay::Action;

/// The floors of one file. A floor that is not there holds nobody back.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Floors {
    /// For the reader; shown where a floor decides.
    #[serde(rename = "$comment", default, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub(crate) comment: Option<String>,
    /// `none`: no server has a network.
    #[serde(default, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "Network"))]
    pub(crate) network: Option<Network>,
    /// `true`: the program's content is pinned, by the declaration or by the entry that allows
    /// it, and a runner names one exact version of each package.
    #[serde(default, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "bool"))]
    pub(crate) pinned: Option<bool>,
    /// `false`: nothing that fetches what it runs, as npx and uvx do.
    #[serde(default, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "bool"))]
    pub(crate) runners: Option<bool>,
    /// `whole`: where anything of what a server says of itself is not what was approved, nothing of
    /// it is offered.
    #[serde(default, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "Offered"))]
    pub(crate) surface: Option<Offered>,
    /// The least Landlock ABI of the kernel.
    #[serde(default, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "u32"))]
    pub(crate) landlock_abi: Option<u32>,
    /// Promises that may not be given up: `"all"`, or their numbers.
    #[serde(default, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "PromisesShape"))]
    pub(crate) promises: Option<Kept>,
    /// The least that becomes of a call of a tool: `ask` puts it to the person, `deny` refuses it.
    #[serde(default, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "Calls"))]
    pub(crate) calls: Option<Calls>,
    /// `true`: texts in results are marked as a server's.
    #[serde(default, deserialize_with = "some")]
    #[cfg_attr(test, schemars(with = "bool"))]
    pub(crate) marking: Option<bool>,
}

/// What is required of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) enum Calls {
    Ask,
    Deny,
}

/// How much of a surface is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) enum Offered {
    /// All of it or nothing.
    Whole,
}

/// `"all"`, or a list of promises.
#[cfg(test)]
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "its schema is what counts")]
enum PromisesShape {
    All(All),
    These(Vec<Promise>),
}

#[cfg(test)]
#[derive(schemars::JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "its schema is what counts")]
enum All {
    All,
}

/// The promises that no declaration may give up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept(pub(crate) BTreeSet<Promise>);

impl Kept {
    fn listed(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|promise| promise.id()).collect();
        if names.len() == Promise::ALL.len() {
            "promises: all".to_owned()
        } else {
            format!("promises: {}", names.join(" "))
        }
    }
}

impl<'de> Deserialize<'de> for Kept {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Word;
        impl<'de> Visitor<'de> for Word {
            type Value = Kept;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"all\", or a list of promises as in [\"P3\", \"R5\"]")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<Kept, E> {
                if word == "all" {
                    Ok(Kept(Promise::ALL.iter().copied().collect()))
                } else {
                    Err(E::invalid_value(de::Unexpected::Str(word), &self))
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Kept, A::Error> {
                let mut kept = BTreeSet::new();
                while let Some(promise) = list.next_element()? {
                    kept.insert(promise);
                }
                Ok(Kept(kept))
            }
        }
        deserializer.deserialize_any(Word)
    }
}

/// A floor that a plan goes below: its key and value, and in what way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Below {
    pub(crate) floor: String,
    pub(crate) why: String,
}

impl Floors {
    /// Each floor that holds anybody back, as `key: value`.
    #[must_use]
    pub(crate) fn listed(&self) -> Vec<String> {
        [
            (self.network == Some(Network::None)).then(|| "network: none".to_owned()),
            (self.pinned == Some(true)).then(|| "pinned: true".to_owned()),
            (self.runners == Some(false)).then(|| "runners: false".to_owned()),
            self.surface
                .map(|Offered::Whole| "surface: whole".to_owned()),
            self.landlock_abi.map(|abi| format!("landlock_abi: {abi}")),
            self.promises.as_ref().map(Kept::listed),
            self.calls()
                .map(|calls| format!("calls: {}", calls.as_str())),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The least that becomes of a call.
    #[must_use]
    pub(crate) fn calls(&self) -> Option<Action> {
        self.calls.map(|calls| match calls {
            Calls::Ask => Action::Ask,
            Calls::Deny => Action::Deny,
        })
    }

    /// The first floor that a program goes below. `pinned` says whether an entry that allows it
    /// names its content.
    #[must_use]
    pub(crate) fn first_below(&self, subject: &ProgramSubject, pinned: bool) -> Option<Below> {
        [
            self.network(subject),
            self.pinned(subject, pinned),
            self.runners(subject),
            self.landlock(subject),
            self.promises(subject),
        ]
        .into_iter()
        .flatten()
        .next()
    }

    fn network(&self, subject: &ProgramSubject) -> Option<Below> {
        let below = self.network == Some(Network::None) && subject.network != Network::None;
        below.then(|| Below {
            floor: "network: none".to_owned(),
            why: format!("it has the network {}", subject.network.as_str()),
        })
    }

    fn pinned(&self, subject: &ProgramSubject, by_policy: bool) -> Option<Below> {
        if self.pinned != Some(true) {
            return None;
        }
        let loose = subject.runner.as_ref().filter(|runner| !runner.exact);
        let why = match loose {
            Some(runner) => format!("{} is given no exact version of each package", runner.name),
            None if subject.pinned || by_policy => return None,
            None => "its program is not pinned (--pin program)".to_owned(),
        };
        let floor = "pinned: true".to_owned();
        Some(Below { floor, why })
    }

    fn runners(&self, subject: &ProgramSubject) -> Option<Below> {
        let runner = subject.runner.as_ref()?;
        (self.runners == Some(false)).then(|| Below {
            floor: "runners: false".to_owned(),
            why: format!("{} fetches what it runs", runner.name),
        })
    }

    fn landlock(&self, subject: &ProgramSubject) -> Option<Below> {
        let floor = self.landlock_abi?;
        let here = subject.landlock_abi.unwrap_or(0);
        (here < floor).then(|| Below {
            floor: format!("landlock_abi: {floor}"),
            why: format!("this kernel's Landlock is ABI {here}"),
        })
    }

    fn promises(&self, subject: &ProgramSubject) -> Option<Below> {
        let Kept(kept) = self.promises.as_ref()?;
        let given_up: Vec<&str> = kept
            .intersection(&subject.without)
            .map(|promise| promise.id())
            .collect();
        (!given_up.is_empty()).then(|| Below {
            floor: Kept(kept.clone()).listed(),
            why: format!("it gives up {}", given_up.join(", ")),
        })
    }
}
