//! What every server gets of this system, looked up: which of the data's places are here.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags, RawDir};

use super::grants::{self, Look};
use super::links::open;
use super::{Grant, System};

/// Bytes of a directory that are read at a time: what `/etc` takes on most systems.
const PIECE: usize = 16 << 10;

/// The system's places that are here, followed. What others may not read is left out.
pub(crate) fn look_up() -> System {
    let mut system = System::default();
    let mut listed = BTreeMap::new();
    let places = grants::system_places();
    let asked: Vec<Look<'_>> = places.iter().map(|place| place.look).collect();
    for place in places {
        each((place.path, place.look), &asked, &mut listed, |path| {
            let Ok((followed, held)) = open(path) else {
                return;
            };
            let path = followed.resolved;
            let Ok(found) = held.metadata() else {
                return;
            };
            if open_to_others(&found) && path.to_str().is_some() {
                system.links.extend(followed.links);
                system.held.push((held, found));
                system.grants.push(Grant {
                    path,
                    rights: place.rights,
                    reason: place.reason.into(),
                });
            }
        });
    }
    system
}

/// The names in each directory with a pattern that was listed, as far as the data asks for them;
/// `None` where it could not be.
type Listed<'a> = BTreeMap<&'a str, Option<BTreeSet<OsString>>>;

/// Finds a path of the data, unless it is known not to be here, or all that its pattern stands for.
/// A directory with a pattern is listed, once, and then asked for no name that it lacks.
fn each<'a>(
    (path, look): (&str, Look<'a>),
    asked: &[Look<'_>],
    listed: &mut Listed<'a>,
    mut found: impl FnMut(&Path),
) {
    match look {
        Look::Asked => found(Path::new(path)),
        Look::Listed(directory, name) => {
            let names = names(directory, asked, listed);
            if names.is_none_or(|names| names.contains(OsStr::new(name))) {
                found(Path::new(path));
            }
        }
        Look::Pattern(directory, start) => {
            let names = names(directory, asked, listed).into_iter().flatten();
            for name in names.filter(|name| name.as_bytes().starts_with(start.as_bytes())) {
                found(&Path::new(directory).join(name));
            }
        }
    }
}

fn names<'a, 'l>(
    directory: &'a str,
    asked: &[Look<'_>],
    listed: &'l mut Listed<'a>,
) -> Option<&'l BTreeSet<OsString>> {
    let list = || list(directory, asked).ok();
    listed.entry(directory).or_insert_with(list).as_ref()
}

/// The names of a directory that are asked for.
fn list(directory: &str, asked: &[Look<'_>]) -> io::Result<BTreeSet<OsString>> {
    let mut whole = BTreeSet::new();
    let mut starts = Vec::new();
    for look in asked {
        match look {
            Look::Listed(of, name) if *of == directory => drop(whole.insert(name.as_bytes())),
            Look::Pattern(of, start) if *of == directory => starts.push(start.as_bytes()),
            _ => {}
        }
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let held = rustix::fs::open(directory, flags, Mode::empty())?;
    let mut piece = Vec::with_capacity(PIECE);
    let mut entries = RawDir::new(held, piece.spare_capacity_mut());
    let mut found = BTreeSet::new();
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if whole.contains(name) || starts.iter().any(|start| name.starts_with(start)) {
            found.insert(OsStr::from_bytes(name).to_owned());
        }
    }
    Ok(found)
}

pub(super) fn open_to_others(found: &fs::Metadata) -> bool {
    let needed = if found.is_dir() { 0o005 } else { 0o004 };
    found.permissions().mode() & needed == needed
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "makes what is listed")]
mod tests {
    use super::*;

    #[test]
    fn a_directory_with_a_pattern_is_asked_for_no_name_that_it_lacks() {
        let base = tempfile::tempdir().unwrap();
        for name in ["java-17", "java-21", "passwd", "other"] {
            fs::write(base.path().join(name), "").unwrap();
        }
        let (here, missing) = (base.path().to_str().unwrap(), "/not/here");
        let listed_name = |name| Look::Listed(here, name);
        let java = Look::Pattern(here, "java");
        let asked = [java, listed_name("passwd"), listed_name("shadow")];
        let mut listed = BTreeMap::new();
        let mut paths = |path: &str, look| {
            let mut paths = Vec::new();
            each((path, look), &asked, &mut listed, |path| {
                paths.push(path.to_str().unwrap().to_owned());
            });
            paths
        };
        let at = |name: &str| format!("{here}/{name}");
        assert_eq!(paths(&at("java*"), java), [at("java-17"), at("java-21")]);
        assert_eq!(paths(&at("passwd"), listed_name("passwd")), [at("passwd")]);
        assert!(paths(&at("shadow"), listed_name("shadow")).is_empty());
        let kept = list(here, &asked).unwrap();
        assert_eq!(kept.len(), 3, "{kept:?}");
        // What cannot be listed is asked, name by name; what has no pattern is not listed.
        assert!(paths("/not/here/x*", Look::Pattern(missing, "x")).is_empty());
        assert_eq!(
            paths("/not/here/x", Look::Listed(missing, "x")),
            ["/not/here/x"]
        );
        assert_eq!(paths("/usr", Look::Asked), ["/usr"]);
    }
}
