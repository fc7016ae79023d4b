//! What every server gets of this system, looked up: which of the data's places are here.
#![expect(
    clippy::disallowed_methods,
    reason = "asked by `facts`: this room looks at the system's places"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::links::open;
use super::{Grant, PlanError, System, grants};

/// The system's places that are here, followed. What others may not read is left out.
///
/// # Errors
/// [`PlanError::Data`].
pub(crate) fn look_up() -> Result<System, PlanError> {
    let mut system = System::default();
    let places = grants::system_places()?;
    let patterns = places.iter().filter_map(|place| pattern(&place.path));
    let patterned = patterns.map(|(directory, _)| directory).collect();
    let mut listed = BTreeMap::new();
    for place in places {
        for path in expand(&place.path, &patterned, &mut listed) {
            let Ok((followed, held)) = open(&path) else {
                continue;
            };
            let path = followed.resolved;
            let Ok(found) = held.metadata() else {
                continue;
            };
            if open_to_others(&found) && path.to_str().is_some() {
                system.links.extend(followed.links);
                system.held.push((held, found));
                system.grants.push(Grant {
                    path,
                    rights: place.rights,
                    reason: place.reason.clone(),
                });
            }
        }
    }
    Ok(system)
}

/// A pattern of the data: a directory, and how a name in it begins.
fn pattern(path: &Path) -> Option<(&Path, &str)> {
    let start = path.file_name()?.to_str()?.strip_suffix('*')?;
    Some((path.parent()?, start))
}

/// A path of the data, unless it is known not to be here; one that ends in `*` stands for all that
/// begin so. A directory with a pattern is listed, once, and then asked for no name that it lacks.
fn expand(
    path: &Path,
    patterned: &BTreeSet<&Path>,
    listed: &mut BTreeMap<PathBuf, Option<BTreeSet<OsString>>>,
) -> Vec<PathBuf> {
    let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else {
        return vec![path.to_owned()];
    };
    if !patterned.contains(parent) {
        return vec![path.to_owned()];
    }
    let start = pattern(path).map(|(_, start)| start);
    let list = || {
        let entries = fs::read_dir(parent).ok()?;
        let names = entries.map(|entry| Some(entry.ok()?.file_name()));
        names.collect::<Option<BTreeSet<_>>>()
    };
    let names = listed.entry(parent.to_owned()).or_insert_with(list);
    match (start, names) {
        (Some(start), Some(names)) => {
            let begins = |name: &&OsString| name.as_bytes().starts_with(start.as_bytes());
            let found = names.iter().filter(begins);
            found.map(|name| parent.join(name)).collect()
        }
        (Some(_), None) => Vec::new(),
        (None, Some(names)) if !names.contains(name) => Vec::new(),
        (None, _) => vec![path.to_owned()],
    }
}

pub(super) fn open_to_others(found: &fs::Metadata) -> bool {
    let needed = if found.is_dir() { 0o005 } else { 0o004 };
    found.permissions().mode() & needed == needed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_with_a_pattern_is_asked_for_no_name_that_it_lacks() {
        let base = tempfile::tempdir().unwrap();
        for name in ["java-17", "java-21", "passwd"] {
            fs::write(base.path().join(name), "").unwrap();
        }
        let missing = base.path().join("not/here");
        let patterned = BTreeSet::from([base.path(), missing.as_path()]);
        let mut listed = BTreeMap::new();
        let mut expanded = |path: PathBuf| expand(&path, &patterned, &mut listed);
        let at = |name: &str| base.path().join(name);
        assert_eq!(expanded(at("java*")), [at("java-17"), at("java-21")]);
        assert_eq!(expanded(at("passwd")), [at("passwd")]);
        assert!(expanded(at("shadow")).is_empty());
        // What cannot be listed is asked, name by name; what has no pattern is not listed.
        assert!(expanded(missing.join("x*")).is_empty());
        assert_eq!(expanded(missing.join("x")), [missing.join("x")]);
        let other = PathBuf::from("/usr");
        assert_eq!(expanded(other.clone()), [other]);
    }
}
