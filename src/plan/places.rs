//! Places that no server may write and no installation may bring along whole. Pure.
//!
//! The lists are data in `policy/sensitive-directories.json`; where their links lead is asked
//! by the caller.

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
    /// Where it lies for a person with these homes.
    fn each(&self, homes: &[PathBuf], found: impl FnMut(PathBuf)) {
        match self {
            Self::AtHome(rest) => homes.iter().map(|home| home.join(rest)).for_each(found),
            Self::Whole(path) => [path].into_iter().map(PathBuf::from).for_each(found),
        }
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
    path: PathBuf,
    holds: Holds,
    reason: &'static str,
}

#[derive(Clone, Debug)]
struct Tree {
    path: PathBuf,
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
        let mut places = Vec::with_capacity(DATA.places.len());
        for Listed {
            path,
            holds,
            reason,
        } in DATA.places
        {
            path.each(homes, |path| {
                let leads = leads_to(&path).filter(|leads| *leads != path);
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
                path.each(homes, |path| trees.push(Tree { path, reason }));
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
        if let Some(tree) = self.shared.iter().find(|tree| dir == tree.path) {
            return Some(format!("{} holds {}", shown(&tree.path), tree.reason));
        }
        if let Some(tree) = self.system.iter().find(|tree| dir.starts_with(&tree.path)) {
            return Some(format!("{} holds {}", shown(&tree.path), tree.reason));
        }
        let overlap = |place: &&Place| dir.starts_with(&place.path) || place.path.starts_with(dir);
        if let Some(place) = self.places.iter().find(overlap) {
            return Some(format!("{} holds {}", shown(&place.path), place.reason));
        }
        Self::named(dir)
            .map(|name| format!("a directory named {} holds {}", name.name, name.reason))
    }

    /// Whether a path lies where the system keeps no programs: settings, devices, processes,
    /// sockets. Nothing there is granted whole, whatever `PATH` or a program's place says.
    fn no_place_for_programs(path: &Path) -> bool {
        ["/etc", "/boot", "/dev", "/proc", "/sys", "/run", "/var/run"]
            .iter()
            .any(|tree| path.starts_with(tree))
    }

    /// Whether a directory that a person or `PATH` names may be granted to be read and executed
    /// whole: it is none that others share, no home, and holds no secrets.
    #[must_use]
    pub(crate) fn may_be_whole(&self, dir: &Path) -> bool {
        let secrets = |place: &Place| place.holds == Holds::Secrets && place.path.starts_with(dir);
        !self.above_all(dir)
            && !Self::no_place_for_programs(dir)
            && !self.in_state(dir)
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
        let overlap = |place: &&Place| {
            place.holds == Holds::Secrets
                && (path.starts_with(&place.path) || place.path.starts_with(path))
        };
        let place = self.places.iter().find(overlap).map(|place| place.reason);
        let name = || Self::named(path).filter(|name| name.holds == Holds::Secrets);
        place.or_else(|| name().map(|name| name.reason))
    }

    fn named(path: &Path) -> Option<&'static Name> {
        let is = |name: &Name| {
            path.components()
                .any(|part| part.as_os_str().eq_ignore_ascii_case(name.name))
        };
        DATA.names.iter().find(|name| is(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
