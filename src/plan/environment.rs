//! What a virtual environment of Python leads to: the interpreter that it was made from, and
//! packages that were installed in place (`pip install -e`, members of a uv workspace).
#![expect(
    clippy::disallowed_methods,
    reason = "asked by `installation`: reads what environments keep"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::layout;
use super::links::follow;

/// A settings file of an environment is no larger.
const FILE: u64 = 64 * 1024;
/// So many files of an environment are read for packages installed in place.
const FILES: usize = 256;

/// The directories that hold the interpreter which an environment was made from: that which
/// `pyvenv.cfg` names, and those that its own links lead to.
#[must_use]
pub(super) fn bases(venv: &Path) -> BTreeSet<PathBuf> {
    let home = text(&venv.join("pyvenv.cfg")).and_then(|text| layout::venv_home(&text));
    let homes = home
        .and_then(|home| follow(&home).ok())
        .map(|followed| followed.resolved);
    let python = |name: &str| {
        let file = follow(&venv.join("bin").join(name)).ok()?.resolved;
        file.parent().map(Path::to_owned)
    };
    let linked = ["python", "python3"].into_iter().filter_map(python);
    homes.into_iter().chain(linked).collect()
}

/// The directories that an environment imports from besides its own: lines of its `*.pth` files,
/// and what the finders map that `pip install -e` writes.
#[must_use]
pub(super) fn in_place(venv: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for lib in ["lib", "lib64"] {
        for version in listed(&venv.join(lib)) {
            let packages = version.join("site-packages");
            for file in listed(&packages).into_iter().take(FILES) {
                let name = file.file_name().and_then(|name| name.to_str());
                let name = name.unwrap_or_default();
                let finder = name.starts_with("__editable__") && name.ends_with("_finder.py");
                if !name.ends_with(".pth") && !finder {
                    continue;
                }
                let said = text(&file).unwrap_or_default();
                let named: Vec<&str> = if finder {
                    mapped(&said)
                } else {
                    said.lines().map(str::trim).collect()
                };
                found.extend(named.into_iter().filter_map(directory));
            }
        }
    }
    found.retain(|dir| !dir.starts_with(venv));
    found
}

/// What stands in quotes on the line of a finder that maps packages to places.
fn mapped(text: &str) -> Vec<&str> {
    let line = text.lines().find(|line| line.starts_with("MAPPING"));
    line.map_or_else(Vec::new, |line| {
        line.split('\'').skip(1).step_by(2).collect()
    })
}

fn directory(named: &str) -> Option<PathBuf> {
    let path = Path::new(named);
    let found = path.is_absolute().then(|| follow(path).ok()).flatten()?;
    found.resolved.is_dir().then_some(found.resolved)
}

/// What is in a directory, with `*.pth` and finders first, sorted.
fn listed(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort_by_key(|path| {
        let file = path
            .extension()
            .is_some_and(|end| end == "pth" || end == "py");
        (!file, path.clone())
    });
    paths
}

fn text(path: &Path) -> Option<String> {
    let found = fs::metadata(path).ok()?;
    let small = found.is_file() && found.len() < FILE;
    small.then(|| fs::read_to_string(path).ok()).flatten()
}
