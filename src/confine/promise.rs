//! The numbered promises of `docs/threat-model.md`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! promises {
    ($($id:ident, $given_up:literal, $text:literal;)*) => {
        /// One numbered promise.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub enum Promise {
            $(#[doc = $text] $id,)*
        }

        impl Promise {
            /// Every promise, in the order of the threat model.
            pub const ALL: &[Self] = &[$(Self::$id),*];

            /// Its number.
            #[must_use]
            pub const fn id(self) -> &'static str {
                match self { $(Self::$id => stringify!($id)),* }
            }

            /// What is promised, in one line.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$id => $text),* }
            }

            /// Whether a declaration may give it up by name (`--without`).
            #[must_use]
            pub const fn may_be_given_up(self) -> bool {
                match self { $(Self::$id => $given_up),* }
            }
        }
    };
}

promises! {
    P1, false, "reads no file outside what it gets";
    P2, false, "writes, creates, renames, links and truncates nothing outside what it may write";
    P3, true, "changes no mode, owner, time, extended attribute or ACL outside what it may write";
    P4, false, "executes nothing outside what it gets, and gains no privilege by executing";
    P5, false, "reaches no device but null, zero, full, random and urandom; injects nothing into a terminal";
    P6, true, "does not watch files outside, open them by handle, or mount";
    P7, true, "opens no FIFO outside and learns no name of a file that is not visible to it";
    G1, false, "gets no writable directory in, at or above a git repository";
    G2, false, "leaves no repository behind unnoticed";
    G3, false, "leaves no file that host programs obey behind unnoticed";
    E1, false, "has no variable but those stored or named";
    E2, false, "inherits no descriptor but its own three pipes";
    E3, false, "starts with a clean signal mask, default dispositions, umask 077 and a session of its own";
    R1, true, "signals, traces, reads and reschedules no process outside";
    R2, true, "leaves no descendant behind when the run ends";
    R3, false, "has no capability, gains no privilege and cannot leave its limits";
    R4, false, "finds the kernel entry points that servers do not need closed";
    R5, true, "is bounded in memory, processes, open files, file size and core dumps";
    N1, false, "with --net none, sends and receives nothing";
    N2, true, "reaches no local socket outside its own writable directories";
    N3, false, "opens no packet, vsock, crypto or configuring netlink socket";
    N4, false, "with a --net list, reaches only the hosts and ports named";
    S1, false, "is what was approved";
    S2, false, "runs nothing before it is confined";
    S3, false, "does not start where the administrator refuses it";
    S4, false, "shows a stored value in no output, log, error or process list";
    S5, false, "does not start without the kernel features a promise needs";
    S6, false, "prints nothing that is not printable";
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// A word that names no promise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the number of a promise")]
pub struct UnknownPromise(String);

impl FromStr for Promise {
    type Err = UnknownPromise;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .iter()
            .copied()
            .find(|promise| promise.id() == word)
            .ok_or_else(|| UnknownPromise(word.escape_debug().to_string()))
    }
}

impl Serialize for Promise {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

impl<'de> Deserialize<'de> for Promise {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        word.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "reads the tests of this project")]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// The names of the tests below a folder, by the attribute that makes one.
    fn tests_below(folder: &Path) -> Vec<String> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                names.extend(tests_below(&path));
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let mut lines = text.lines().map(str::trim);
                while lines.any(|line| line == "#[test]") {
                    let named = lines.find_map(|line| line.split_once("fn "));
                    let name = named.and_then(|(_, rest)| rest.split('(').next());
                    names.extend(name.map(str::to_owned));
                }
            }
        }
        names
    }

    #[test]
    fn every_promise_has_a_test_that_cites_it() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let names = tests_below(&folder);
        let cites = |name: &String, id: &str| name.split('_').any(|word| word == id);
        let without: Vec<&str> = Promise::ALL
            .iter()
            .map(|promise| promise.id())
            .filter(|id| {
                let id = id.to_ascii_lowercase();
                !names.iter().any(|name| cites(name, &id))
            })
            .collect();
        assert!(without.is_empty(), "no test cites {without:?}");
    }

    #[test]
    fn every_promise_has_its_row_in_the_threat_model() {
        let page = include_str!("../../docs/threat-model.md");
        for promise in Promise::ALL {
            assert!(page.contains(&format!("\n| {promise} | ")), "{promise}");
        }
    }
}
