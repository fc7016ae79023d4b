//! The links that a look-up of a path goes through: they are made anew in the server's root.
#![expect(clippy::disallowed_methods, reason = "reads the links of this machine")]

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The links along these paths and in `/` itself, each with where it leads, outermost first.
/// Links that a server may have made are not followed: they would lead where it likes.
pub fn along_all(names: &[PathBuf], writable: &[PathBuf]) -> io::Result<Vec<(PathBuf, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/")? {
        let path = entry?.path();
        if let Ok(target) = fs::read_link(&path) {
            found.push((path, target));
        }
    }
    for name in names {
        along(name, writable, &mut found);
    }
    Ok(found)
}

/// How many links one path may go through, as in the kernel (`path_resolution(7)`).
const MAX_LINKS: usize = 40;

/// The links that a look-up of a path goes through. One that leads nowhere ends the walk.
fn along(name: &Path, writable: &[PathBuf], found: &mut Vec<(PathBuf, PathBuf)>) {
    let mut waiting: Vec<PathBuf> = vec![name.to_owned()];
    let mut left = MAX_LINKS;
    while let Some(path) = waiting.pop() {
        let mut walked = PathBuf::from("/");
        let mut parts = path.components();
        while let Some(part) = parts.next() {
            match part {
                Component::ParentDir => drop(walked.pop()),
                Component::Normal(name) => walked.push(name),
                _ => continue,
            }
            if writable.iter().any(|place| walked.starts_with(place)) {
                return;
            }
            let Ok(target) = fs::read_link(&walked) else {
                continue;
            };
            let parent = walked.parent().unwrap_or(Path::new("/"));
            let next = parent.join(&target).join(parts.as_path());
            found.push((walked, target));
            left = left.saturating_sub(1);
            if left > 0 {
                waiting.push(next);
            }
            break;
        }
    }
}

#[cfg(test)]
#[path = "links_tests.rs"]
mod tests;
