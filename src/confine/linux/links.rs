//! The links that a look-up of a path goes through: they are made anew in the server's root.
#![expect(clippy::disallowed_methods, reason = "reads the links of this machine")]

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::plan::links::without_links;

/// How many links one path may go through, as in the kernel (`path_resolution(7)`).
const MAX_LINKS: usize = 40;

/// A link and where it leads, as it is written there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Where it lies.
    pub path: PathBuf,
    /// What it holds.
    pub target: PathBuf,
}

/// The links in `/` itself, and those that lie at these places.
///
/// # Errors
/// `/` cannot be listed; one of them is no link any more.
pub fn in_root_and(places: &[PathBuf]) -> io::Result<Vec<Link>> {
    let mut paths: BTreeSet<PathBuf> = places.iter().cloned().collect();
    for entry in fs::read_dir("/")? {
        let entry = entry?;
        if entry.file_type()?.is_symlink() {
            paths.insert(entry.path());
        }
    }
    paths
        .into_iter()
        .map(|path| {
            let target = fs::read_link(&path)?;
            Ok(Link { path, target })
        })
        .collect()
}

/// The links that a look-up of a path goes through, in the order it meets them. One that leads
/// nowhere ends the walk.
#[must_use]
pub fn along(name: &Path) -> Vec<Link> {
    let mut found = Vec::new();
    if !matches!(without_links(name), Ok(None)) {
        return found;
    }
    let mut ahead = Some(name.to_owned());
    while let Some(path) = ahead.take() {
        let mut walked = PathBuf::from("/");
        let mut parts = path.components();
        while let Some(part) = parts.next() {
            match part {
                Component::ParentDir => drop(walked.pop()),
                Component::Normal(name) => walked.push(name),
                _ => continue,
            }
            let Ok(target) = fs::read_link(&walked) else {
                continue;
            };
            if found.len() < MAX_LINKS {
                let parent = walked.parent().unwrap_or(Path::new("/"));
                ahead = Some(parent.join(&target).join(parts.as_path()));
                found.push(Link {
                    path: walked,
                    target,
                });
            }
            break;
        }
    }
    found
}

#[cfg(test)]
#[path = "links_tests.rs"]
mod tests;
