//! The installation around a program, and around the directories of `PATH`.
//!
//! A server gets the directory of its program and what surrounds a `bin` directory, wherever
//! links, first lines and `pyvenv.cfg` lead; never the whole of the home, of `~/.local`, of what
//! others share, or of a place of secrets: of such a root its `bin`, `lib` and `libexec` only.
//!
//! What cannot be looked at is left out: less is granted then, and the program says what it
//! lacks.
#![expect(
    clippy::disallowed_methods,
    reason = "this room looks at installations"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::environment;
use super::layout::{self, Shape};
use super::links::follow;
use super::package::{beside, package_root};
use super::places::Places;
use super::program::Program;
use super::{Grant, Rights, SearchPath};

/// As many links of one directory of `PATH` are followed; what is beyond them is not granted.
const LINKS: usize = 512;
/// As many installations are brought along by links; what is beyond them is not granted.
const LINKED: usize = 64;
/// As many names of one directory are looked at to tell what it is.
const NAMES: usize = 4096;
/// From one virtual environment to the one it was made from, and so on.
const DEPTH: usize = 4;

/// What is already known of this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ground<'a> {
    /// Places that are never granted whole.
    pub(crate) places: &'a Places,
    /// What every server gets; nothing below it needs a grant of its own.
    pub(crate) system: &'a [Grant],
    /// The home of the person.
    pub(crate) home: &'a Path,
}

/// The grants around a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Installation {
    /// Of the program, its interpreters and the directories of `PATH`: none may lie where a
    /// server may write.
    pub(crate) own: Vec<Grant>,
    /// Of what links in directories of `PATH`, arguments and values lead to: left out where a
    /// server may write there.
    pub(crate) linked: Vec<Grant>,
}

/// The installation of a program and of its search path. `named` are the paths that arguments
/// and stored values name: those of them that are programs may be executed.
#[must_use]
pub(crate) fn around(
    program: &Program,
    path: &SearchPath,
    named: &[PathBuf],
    ground: Ground<'_>,
) -> Installation {
    let mut own = Collect::new(ground, Trust::Named);
    own.program(&program.resolved, "the program", program.is_script());
    for file in &program.files {
        own.program(file, "what the program runs on", false);
    }
    let found = program
        .found
        .parent()
        .into_iter()
        .chain(program.links.iter().filter_map(|link| link.parent()));
    for dir in found.collect::<BTreeSet<_>>() {
        own.found_in(dir);
    }
    own.search_path(path);
    let mut linked = Collect::new(ground, Trust::Linked);
    linked.links_of(path);
    for path in named {
        linked.executable(path, "a program that an argument or value names");
    }
    Installation {
        own: own.grants(),
        linked: linked.grants(),
    }
}

/// The installation of a search path alone: for a program that is not there yet.
#[must_use]
pub(crate) fn around_path(path: &SearchPath, ground: Ground<'_>) -> Vec<Grant> {
    let mut own = Collect::new(ground, Trust::Named);
    own.search_path(path);
    own.grants()
}

/// How far it is believed that what surrounds a program belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    /// The person or their `PATH` named it.
    Named,
    /// A link or an argument leads to it: only what says itself what it is counts as whole.
    Linked,
}

struct Collect<'a> {
    ground: Ground<'a>,
    trust: Trust,
    grants: BTreeMap<PathBuf, &'static str>,
    roots: BTreeSet<PathBuf>,
}

impl<'a> Collect<'a> {
    fn new(ground: Ground<'a>, trust: Trust) -> Self {
        Self {
            ground,
            trust,
            grants: BTreeMap::new(),
            roots: BTreeSet::new(),
        }
    }

    fn grants(self) -> Vec<Grant> {
        let grant = |(path, reason): (PathBuf, &'static str)| Grant {
            path,
            rights: Rights::ReadExecute,
            reason: reason.into(),
        };
        self.grants.into_iter().map(grant).collect()
    }

    /// Grants a path that is there, followed; not what is no text or needs no grant.
    fn grant(&mut self, path: &Path, reason: &'static str) {
        if let Ok(followed) = follow(path) {
            let path = followed.resolved;
            if path.to_str().is_some()
                && !self.covered_by_system(&path)
                && !self.ground.places.above_all(&path)
            {
                self.grants.entry(path).or_insert(reason);
            }
        }
    }

    fn grant_directory(&mut self, dir: &Path, reason: &'static str) -> bool {
        let whole = dir.is_dir() && self.ground.places.may_be_whole(dir);
        if whole {
            self.grant(dir, reason);
        }
        whole
    }

    fn covered_by_system(&self, path: &Path) -> bool {
        self.ground
            .system
            .iter()
            .any(|grant| grant.rights.cover(Rights::ReadExecute) && path.starts_with(&grant.path))
    }

    /// A program (followed): its directory and what surrounds that.
    fn program(&mut self, file: &Path, reason: &'static str, script: bool) {
        if self.covered_by_system(file) {
            return;
        }
        let Some(dir) = file.parent() else { return };
        let surrounded = self.surroundings(dir, DEPTH);
        if script
            && !surrounded
            && let Some(root) = package_root(dir, self.ground.places)
        {
            self.grant_directory(&root, "the package of the program");
            for place in beside(&root, self.ground.places) {
                self.grant_directory(&place, "packages beside that of the program");
            }
        }
        if self.trust == Trust::Linked || !self.grant_directory(dir, "the program's directory") {
            self.grant(file, reason);
        }
    }

    /// A directory (not followed) in which the program or a link to it was found.
    fn found_in(&mut self, dir: &Path) {
        if let Ok(followed) = follow(dir) {
            let dir = followed.resolved;
            let bin = layout::root_of_bin(&dir).is_some() || layout::node_modules(&dir).is_some();
            if bin && !self.covered_by_system(&dir) {
                self.surroundings(&dir, DEPTH);
                self.grant_directory(&dir, "where the program was found");
            }
        }
    }

    fn search_path(&mut self, path: &SearchPath) {
        for entry in &path.0 {
            if let Ok(followed) = follow(entry) {
                let dir = followed.resolved;
                if dir.is_dir() && !self.covered_by_system(&dir) {
                    self.grant_directory(&dir, "on PATH");
                    self.surroundings(&dir, DEPTH);
                }
            }
        }
    }

    /// Where the links in directories of `PATH` lead. The system's own are not looked at (a
    /// thousand links at each start, and they stay within the system), `/usr/local` is.
    fn links_of(&mut self, path: &SearchPath) {
        for entry in &path.0 {
            let Ok(dir) = follow(entry).map(|followed| followed.resolved) else {
                continue;
            };
            if self.covered_by_system(&dir) && !dir.starts_with("/usr/local") {
                continue;
            }
            let Ok(entries) = fs::read_dir(&dir) else {
                continue;
            };
            let links = entries
                .take(NAMES)
                .flatten()
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
            let mut links: Vec<PathBuf> = links.map(|entry| entry.path()).collect();
            links.sort();
            for link in links.into_iter().take(LINKS) {
                if self.roots.len() >= LINKED {
                    return;
                }
                // Many names of one program (a toolchain's proxies, a manager's shims) lead to it.
                if follow(&link).is_ok_and(|followed| !self.grants.contains_key(&followed.resolved))
                {
                    self.executable(&link, "where a link on PATH leads");
                }
            }
        }
    }

    /// A path that may name a program: if it is one, it and what it is known to belong to.
    fn executable(&mut self, path: &Path, reason: &'static str) {
        let Ok(followed) = follow(path) else { return };
        let file = followed.resolved;
        let runs = fs::metadata(&file)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
        if !runs
            || self.ground.places.in_state(&file)
            || self.ground.places.secrets(&file).is_some()
        {
            return;
        }
        // The directory of a venv's `python` tells more than that of the file it leads to.
        let dirs = followed
            .links
            .iter()
            .map(PathBuf::as_path)
            .chain([path, file.as_path()])
            .filter_map(Path::parent);
        for dir in dirs.collect::<BTreeSet<_>>() {
            if let Ok(followed) = follow(dir) {
                self.surroundings(&followed.resolved, DEPTH);
            }
        }
        self.program(&file, reason, false);
    }

    /// What surrounds a directory that holds programs. Says whether it was known for what it is.
    fn surroundings(&mut self, dir: &Path, depth: usize) -> bool {
        if self.covered_by_system(dir) {
            return true;
        }
        if let Some(modules) = layout::node_modules(dir) {
            return self.grant_directory(&modules, "packages of Node");
        }
        let Some(root) = layout::root_of_bin(dir) else {
            return false;
        };
        if !self.roots.insert(root.to_owned()) {
            return true;
        }
        let names = names(root);
        match layout::shape(&names, &self::names(&root.join("lib"))) {
            Shape::Whole(kind) if self.grant_directory(root, kind) => return true,
            Shape::Venv => {
                if !self.grant_directory(root, "virtual environment") {
                    self.parts(
                        root,
                        &["bin", "lib", "lib64", "pyvenv.cfg"],
                        "virtual environment",
                    );
                }
                self.of_environment(root, depth);
                return true;
            }
            Shape::Manager(parts) => {
                self.parts(
                    root,
                    &parts.iter().map(String::as_str).collect::<Vec<_>>(),
                    "version or package manager",
                );
                for file in layout::VERSION_FILES {
                    self.parts(self.ground.home, &[file], "which version the manager takes");
                }
                return true;
            }
            Shape::Unknown if self.trust == Trust::Named && self.may_be_whole(root, &names) => {
                return self.grant_directory(root, "the installation around it");
            }
            _ => {}
        }
        self.programs_of(root);
        false
    }

    /// Of a root that is not known for what it is, or is shared: programs and libraries.
    fn programs_of(&mut self, root: &Path) {
        let parts: &[&str] =
            if self.trust == Trust::Linked && self.ground.places.may_be_brought_along(root) {
                &layout::LINKED_PARTS
            } else {
                &layout::SHARED_PARTS
            };
        self.parts(root, parts, "programs and libraries around it");
        if root.join("bin/node").exists() {
            // npm reads its global settings (registry, certificates) below the prefix of node.
            self.parts(root, &["etc/npmrc"], "settings of npm");
        }
        if root.join("bin/rustup").exists() {
            let rustup = root.with_file_name(".rustup");
            self.parts(
                &rustup,
                &["toolchains", "settings.toml"],
                "toolchains of rustup",
            );
        }
    }

    fn parts(&mut self, root: &Path, parts: &[&str], reason: &'static str) {
        for part in parts {
            let path = root.join(part);
            if !path.is_dir()
                || follow(&path)
                    .is_ok_and(|followed| self.ground.places.may_be_whole(&followed.resolved))
            {
                self.grant(&path, reason);
            }
        }
    }

    /// What a virtual environment leads to.
    fn of_environment(&mut self, venv: &Path, depth: usize) {
        if let Some(depth) = depth.checked_sub(1) {
            for dir in environment::bases(venv) {
                self.surroundings(&dir, depth);
            }
        }
        for dir in environment::in_place(venv) {
            if self.ground.places.may_be_brought_along(&dir) {
                self.grant_directory(&dir, "a package installed in place");
            }
        }
    }

    /// Whether an unknown root may be granted whole: no place that is kept back, and no folder
    /// in which somebody keeps their work.
    fn may_be_whole(&self, root: &Path, names: &BTreeSet<String>) -> bool {
        let checked_out = |name: &String| {
            layout::CHECKOUT
                .iter()
                .any(|mark| fs::symlink_metadata(root.join(name).join(mark)).is_ok())
        };
        self.ground.places.may_be_brought_along(root)
            && names.len() < NAMES
            && !names.iter().any(checked_out)
    }
}

/// The names in a directory, so far as they are text; none where it cannot be listed.
fn names(dir: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .take(NAMES)
        .flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

#[cfg(test)]
#[path = "installation_tests.rs"]
mod tests;
