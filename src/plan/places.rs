//! Places that no server may write and no installation may bring along whole. Pure.
//!
//! The lists are data in `policy/sensitive-directories.json`; where their links lead is asked
//! by the caller.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What makes a place sensitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    /// Keys, passwords, tokens: neither written nor brought along by an installation.
    Secrets,
    /// What runs for the person: not written.
    Code,
}

/// A path of the data.
enum Spelled {
    /// Below each home.
    AtHome(&'static str),
    /// Absolute.
    Whole(&'static str),
}

impl Spelled {
    /// Where it lies for a person with these homes. The data is spelled plainly.
    fn each(&self, homes: &[Plain], found: impl FnMut(Plain)) {
        match self {
            Self::AtHome(rest) => {
                let below = homes.iter().map(|home| Plain(home.0.join(rest)));
                below.for_each(found);
            }
            Self::Whole(path) => [path]
                .map(|path| Plain(path.into()))
                .into_iter()
                .for_each(found),
        }
    }
}

/// A path that is spelled plainly, to be compared by its bytes: part by part, as paths are, it
/// takes many times as long, and each start compares with all of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Plain(PathBuf);

impl Plain {
    fn of(path: &Path) -> Self {
        Self(path.components().collect())
    }

    fn bytes(&self) -> &[u8] {
        self.0.as_os_str().as_bytes()
    }

    /// Whether it is another path or lies below it.
    fn lies_in(&self, other: &Self) -> bool {
        self.lies_in_bytes(other.bytes())
    }

    fn lies_in_bytes(&self, other: &[u8]) -> bool {
        let whole = other.last().is_none_or(|last| *last == b'/');
        let rest = self.bytes().strip_prefix(other);
        rest.is_some_and(|rest| whole || rest.first().is_none_or(|next| *next == b'/'))
    }
}

struct Listed {
    path: Spelled,
    holds: Holds,
    reason: &'static str,
}

#[derive(Debug)]
struct Name {
    name: &'static str,
    holds: Holds,
    reason: &'static str,
}

struct Data {
    places: &'static [Listed],
    names: &'static [Name],
    system: &'static [(Spelled, &'static str)],
    shared: &'static [(Spelled, &'static str)],
}

/// `policy/sensitive-directories.json`, in its order.
static DATA: Data = include!(concat!(env!("OUT_DIR"), "/places.rs"));

#[derive(Clone, Debug)]
struct Place {
    path: Plain,
    holds: Holds,
    reason: &'static str,
}

#[derive(Clone, Debug)]
struct Tree {
    path: Plain,
    reason: &'static str,
}

/// The places of one person on this machine.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    homes: Vec<PathBuf>,
    state: Vec<PathBuf>,
    places: Vec<Place>,
    system: Vec<Tree>,
    shared: Vec<Tree>,
}

impl Places {
    /// The places of the person with these homes (canonical: that of `HOME`, and that of the
    /// user database, where keys lie whatever `HOME` says) and state directory (each spelling
    /// that counts). `leads_to` says where a path leads through its links, if anywhere; both
    /// spellings of a place count then.
    pub(crate) fn new(
        homes: &[PathBuf],
        state: &[PathBuf],
        leads_to: impl Fn(&Path) -> Option<PathBuf>,
    ) -> Self {
        let plain: Vec<Plain> = homes.iter().map(|home| Plain::of(home)).collect();
        let mut places = Vec::with_capacity(DATA.places.len());
        for Listed {
            path,
            holds,
            reason,
        } in DATA.places
        {
            path.each(&plain, |path| {
                let leads = leads_to(&path.0).map(|leads| Plain::of(&leads));
                let leads = leads.filter(|leads| *leads != path);
                places.extend(leads.into_iter().chain([path]).map(|path| Place {
                    path,
                    holds: *holds,
                    reason,
                }));
            });
        }
        let trees = |list: &'static [(Spelled, &'static str)]| {
            let mut trees = Vec::with_capacity(list.len());
            for (path, reason) in list {
                path.each(&plain, |path| trees.push(Tree { path, reason }));
            }
            trees
        };
        Self {
            homes: homes.to_vec(),
            state: state.to_vec(),
            places,
            system: trees(DATA.system),
            shared: trees(DATA.shared),
        }
    }

    /// Whether a path is the state directory or lies in it.
    #[must_use]
    pub(crate) fn in_state(&self, path: &Path) -> bool {
        self.state.iter().any(|state| path.starts_with(state))
    }

    /// Whether a path is a home of the person, the state directory or `/`, or lies above one of
    /// them.
    #[must_use]
    pub(crate) fn above_all(&self, path: &Path) -> bool {
        self.homes.iter().any(|home| home.starts_with(path))
            || self.state.iter().any(|state| state.starts_with(path))
    }

    /// Why no server may write in a directory (canonical), if it may not (promise G1).
    #[must_use]
    pub(crate) fn refuse_writing(&self, dir: &Path) -> Option<String> {
        let shown = |path: &Path| crate::text::path(path);
        if self.homes.iter().any(|home| home.starts_with(dir)) {
            return Some("it is the home directory or lies above it".to_owned());
        }
        if self.in_state(dir) || self.above_all(dir) {
            return Some("it is the state directory, or lies above or in it".to_owned());
        }
        let dir = Plain::of(dir);
        if let Some(tree) = self.shared.iter().find(|tree| dir == tree.path) {
            return Some(format!("{} holds {}", shown(&tree.path.0), tree.reason));
        }
        if let Some(tree) = self.system.iter().find(|tree| dir.lies_in(&tree.path)) {
            return Some(format!("{} holds {}", shown(&tree.path.0), tree.reason));
        }
        let overlap = |place: &&Place| dir.lies_in(&place.path) || place.path.lies_in(&dir);
        if let Some(place) = self.places.iter().find(overlap) {
            return Some(format!("{} holds {}", shown(&place.path.0), place.reason));
        }
        Self::named(&dir)
            .map(|name| format!("a directory named {} holds {}", name.name, name.reason))
    }

    /// Whether a path lies where the system keeps no programs: settings, devices, processes,
    /// sockets. Nothing there is granted whole, whatever `PATH` or a program's place says.
    fn no_place_for_programs(path: &Plain) -> bool {
        ["/etc", "/boot", "/dev", "/proc", "/sys", "/run", "/var/run"]
            .iter()
            .any(|tree| path.lies_in_bytes(tree.as_bytes()))
    }

    /// Whether a directory that a person or `PATH` names may be granted to be read and executed
    /// whole: it is none that others share, no home, and holds no secrets.
    #[must_use]
    pub(crate) fn may_be_whole(&self, dir: &Path) -> bool {
        if self.above_all(dir) || self.in_state(dir) {
            return false;
        }
        let dir = Plain::of(dir);
        let secrets = |place: &Place| place.holds == Holds::Secrets && place.path.lies_in(&dir);
        !Self::no_place_for_programs(&dir)
            && !self.shared.iter().any(|tree| dir == tree.path)
            && !self.places.iter().any(secrets)
    }

    /// Whether what surrounds a program may be granted whole although nothing says what it is:
    /// as [`Self::may_be_whole`], and no place of secrets lies above it either.
    #[must_use]
    pub(crate) fn may_be_brought_along(&self, dir: &Path) -> bool {
        self.may_be_whole(dir) && self.secrets(dir).is_none()
    }

    /// What secrets a path holds or lies among, if any: `--read` names it at the question.
    #[must_use]
    pub(crate) fn secrets(&self, path: &Path) -> Option<&'static str> {
        let path = Plain::of(path);
        let overlap = |place: &&Place| {
            place.holds == Holds::Secrets
                && (path.lies_in(&place.path) || place.path.lies_in(&path))
        };
        let place = self.places.iter().find(overlap).map(|place| place.reason);
        let name = || Self::named(&path).filter(|name| name.holds == Holds::Secrets);
        place.or_else(|| name().map(|name| name.reason))
    }

    fn named(path: &Plain) -> Option<&'static Name> {
        let is = |name: &Name| {
            let mut parts = path.bytes().split(|byte| *byte == b'/');
            parts.any(|part| part.eq_ignore_ascii_case(name.name.as_bytes()))
        };
        DATA.names.iter().find(|name| is(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn places() -> Places {
        let leads = |path: &Path| {
            path.ends_with(".config")
                .then(|| "/data/dotfiles/config".into())
        };
        Places::new(
            &["/home/u".into(), "/db/u".into()],
            &["/home/u/.supervisor".into(), "/data/state".into()],
            leads,
        )
    }

    #[test]
    fn what_no_server_may_write() {
        let places = places();
        for bad in [
            "/",
            "/home",
            "/home/u",
            "/tmp",
            "/var/tmp",
            "/var",
            "/usr",
            "/usr/share/x",
            "/etc/x",
            "/proc/1",
            "/dev/shm/x",
            "/run/user/1000/x",
            "/db/u",
            "/db",
            "/db/u/.ssh",
            "/home/u/.supervisor",
            "/home/u/.supervisor/home/x",
            "/data",
            "/data/state/home",
            "/home/u/.ssh",
            "/home/u/.ssh/x",
            "/home/u/.config",
            "/home/u/.config/x",
            "/data/dotfiles/config/x",
            "/data/dotfiles",
            "/home/u/.local",
            "/home/u/.local/share",
            "/home/u/.local/bin",
            "/home/u/.mozilla/firefox/p",
            "/home/u/.claude",
            "/home/u/project/.claude",
            "/home/u/project/.VSCode/x",
            "/home/u/.local/share/systemd/user",
        ] {
            assert!(places.refuse_writing(Path::new(bad)).is_some(), "{bad}");
        }
        for good in [
            "/home/u/notes",
            "/home/u/.notes/x",
            "/home/u2",
            "/tmp/x",
            "/srv/notes",
            "/mnt/disk/notes",
            "/usr2",
            "/home/u/.local/share/notes",
        ] {
            assert_eq!(places.refuse_writing(Path::new(good)), None, "{good}");
        }
    }

    #[test]
    fn what_is_never_granted_whole() {
        let places = places();
        for bad in [
            "/",
            "/home",
            "/home/u",
            "/home/u/.local",
            "/home/u/.config",
            "/home/u/.docker",
            "/opt",
            "/tmp",
            "/home/u/.supervisor/home/x/bin",
            "/data",
            "/home/u/.cargo",
        ] {
            assert!(!places.may_be_whole(Path::new(bad)), "{bad}");
        }
        for good in [
            "/home/u/.local/bin",
            "/home/u/tool",
            "/home/u/.config/yarn/global/node_modules",
            "/opt/tool",
            "/home/u/.nvm/versions/node/v20",
        ] {
            assert!(places.may_be_whole(Path::new(good)), "{good}");
        }
        assert!(!places.may_be_brought_along(Path::new("/home/u/.config/x")));
        assert!(!places.may_be_brought_along(Path::new("/srv/u/.docker/cli")));
        assert!(places.may_be_brought_along(Path::new("/home/u/tool")));
    }

    proptest! {
        #[test]
        fn plain_paths_compare_as_paths_do(one in "[./ab]{0,8}", other in "[./ab]{0,8}") {
            let (one, other) = (Path::new(&one), Path::new(&other));
            let (plain, above) = (Plain::of(one), Plain::of(other));
            prop_assert_eq!(plain.lies_in(&above), one.starts_with(other));
            prop_assert_eq!(plain == above, one == other);
        }
    }
}
