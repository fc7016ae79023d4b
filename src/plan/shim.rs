//! What a version manager's stand-in for a program stands for, by the manager's own files.
//!
//! `~/.pyenv/shims/python` is a script that looks for a version each time and starts that one's
//! `python`. Which one it is is asked here, once, when a server is declared: the program that is
//! shown, hashed and approved is then the real one, and a directory of such stand-ins on `PATH`
//! has the real programs' directories before it. Where a manager's files do not say, it is asked
//! ([`super::ask`]); where it does not say either, its stand-in is what runs.
#![expect(
    clippy::disallowed_methods,
    reason = "asked by `facts` and `program`: reads what version managers keep"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// A file of a manager's is no larger.
const FILE: u64 = 1 << 20;
/// So many directories of versions and tools are looked at.
const NAMES: usize = 1_024;

/// Whether a program lies where a version manager keeps its stand-ins.
#[must_use]
pub(crate) fn is_stand_in(found: &Path) -> bool {
    let Some((dir, root)) = found.parent().and_then(|dir| Some((dir, dir.parent()?))) else {
        return false;
    };
    let has = |name: &str| root.join(name).is_dir();
    dir.ends_with("shims") && (has("versions") || has("installs"))
        || dir.ends_with("bin") && has("tools/image")
}

/// The directories of the programs that those in a directory of `PATH` stand for, in the order in
/// which they are looked through; none where it holds no stand-ins, or nothing says.
#[must_use]
pub(crate) fn stands_for(dir: &Path, home: &Path) -> Vec<PathBuf> {
    let Some(root) = dir.parent() else {
        return Vec::new();
    };
    let is = |name: &str| dir.file_name().is_some_and(|known| known == name);
    let mut found = if is("shims") && root.join("versions").is_dir() {
        of_versions(root, home)
    } else if is("shims") && root.join("installs").is_dir() {
        of_installs(root, home)
    } else if is("bin") && root.join("tools/image").is_dir() {
        of_volta(root)
    } else {
        Vec::new()
    };
    found.retain(|dir| dir.is_dir());
    found
}

/// The real program behind a stand-in, by its path.
#[must_use]
pub(crate) fn real(found: &Path, home: &Path) -> Option<PathBuf> {
    let (dir, name) = (found.parent()?, found.file_name()?);
    let listed = stands_for(dir, home);
    let program = listed.iter().map(|dir| dir.join(name));
    program
        .chain(of_volta_package(found))
        .find(|program| program.is_file())
}

/// pyenv, rbenv, nodenv and their kin: names of versions in the person's own file, else in the
/// manager's; several count in their order, and `3.11` stands for its latest.
fn of_versions(root: &Path, home: &Path) -> Vec<PathBuf> {
    let manager = root.file_name().and_then(|name| name.to_str());
    let language = manager.unwrap_or_default().trim_start_matches('.');
    let own = match language {
        "pyenv" => Some(".python-version"),
        "rbenv" => Some(".ruby-version"),
        "nodenv" => Some(".node-version"),
        "goenv" => Some(".go-version"),
        "jenv" => Some(".java-version"),
        "plenv" => Some(".perl-version"),
        _ => None,
    };
    let own = own.and_then(|name| text(&home.join(name)));
    let Some(said) = own.or_else(|| text(&root.join("version"))) else {
        return Vec::new();
    };
    let versions = root.join("versions");
    let words = said
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    words
        .flat_map(str::split_whitespace)
        .filter(|word| is_name(word))
        .filter_map(|word| version(&versions, word))
        .map(|dir| dir.join("bin"))
        .collect()
}

/// asdf and mise: a directory for each tool, one in it for each version. The versions stand in
/// `.tool-versions`, mise's own settings, or there is only one.
fn of_installs(root: &Path, home: &Path) -> Vec<PathBuf> {
    let mut said: Vec<(String, String)> = Vec::new();
    let mise = [".config/mise/config.toml", ".mise.toml", "mise.toml"];
    for settings in mise.iter().filter_map(|name| text(&home.join(name))) {
        said.extend(tools_of_mise(&settings));
    }
    if let Some(versions) = text(&home.join(".tool-versions")) {
        let lines = versions
            .lines()
            .map(|line| line.split('#').next().unwrap_or_default());
        said.extend(lines.filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?.to_owned(), words.next()?.to_owned()))
        }));
    }
    let installs = root.join("installs");
    let mut found = Vec::new();
    for tool in names(&installs) {
        let dir = installs.join(&tool);
        let wanted = said.iter().find(|(name, _)| *name == tool);
        let chosen = match wanted {
            Some((_, word)) if is_name(word) => version(&dir, word),
            Some(_) => None,
            // Names of versions may be links to another: `20`, `latest`.
            None => only(
                names(&dir)
                    .into_iter()
                    .map(|name| dir.join(name))
                    .filter(|dir| fs::symlink_metadata(dir).is_ok_and(|found| found.is_dir())),
            ),
        };
        if let Some(chosen) = chosen {
            let bin = chosen.join("bin");
            found.push(if bin.is_dir() { bin } else { chosen });
        }
    }
    found
}

/// The tools of mise's settings: lines of the table `[tools]` as mise writes them.
fn tools_of_mise(settings: &str) -> Vec<(String, String)> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in settings.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line == "[tools]";
        } else if inside && let Some((name, value)) = line.split_once('=') {
            let quoted = value.split(['"', '\'']).nth(1);
            let name = name.trim().trim_matches(['"', '\'']);
            found.extend(quoted.map(|value| (name.to_owned(), value.to_owned())));
        }
    }
    found
}

#[derive(Deserialize)]
struct Platform {
    node: Option<NodeOfVolta>,
    pnpm: Option<String>,
    yarn: Option<String>,
}

#[derive(Deserialize)]
struct NodeOfVolta {
    runtime: String,
    npm: Option<String>,
}

/// Volta: the versions of its one platform file.
fn of_volta(root: &Path) -> Vec<PathBuf> {
    let said = text(&root.join("tools/user/platform.json"));
    let platform = said.and_then(|said| serde_json::from_str::<Platform>(&said).ok());
    let Some(Platform { node, pnpm, yarn }) = platform else {
        return Vec::new();
    };
    let (runtime, npm) = node.map_or((None, None), |node| (Some(node.runtime), node.npm));
    // One of its own goes before that which came with the runtime.
    [
        ("npm", npm),
        ("node", runtime),
        ("pnpm", pnpm),
        ("yarn", yarn),
    ]
    .into_iter()
    .filter_map(|(tool, version)| Some((tool, version?)))
    .filter(|(_, version)| is_name(version))
    .map(|(tool, version)| {
        root.join("tools/image")
            .join(tool)
            .join(version)
            .join("bin")
    })
    .collect()
}

#[derive(Deserialize)]
struct BinOfVolta {
    package: String,
}

/// A program of a package that Volta installed.
fn of_volta_package(found: &Path) -> Option<PathBuf> {
    let (root, name) = (found.parent()?.parent()?, found.file_name()?.to_str()?);
    let said = text(&root.join(format!("tools/user/bins/{name}.json")))?;
    let package = serde_json::from_str::<BinOfVolta>(&said).ok()?.package;
    let parts = package.trim_start_matches('@').split('/');
    if !parts.into_iter().all(is_name) {
        return None;
    }
    let packages = root.join("tools/image/packages");
    Some(packages.join(package).join("bin").join(name))
}

/// The directory of a version, by its name or by the beginning of it, the latest such.
fn version(versions: &Path, word: &str) -> Option<PathBuf> {
    let exact = versions.join(word);
    if exact.is_dir() {
        return Some(exact);
    }
    let begins = format!("{word}.");
    let numbers = |name: &str| -> Vec<u64> {
        let parts = name.split(|c: char| !c.is_ascii_digit());
        parts.filter_map(|part| part.parse().ok()).collect()
    };
    let listed = names(versions).into_iter();
    let latest = listed
        .filter(|name| name.starts_with(&begins))
        .max_by_key(|name| numbers(name))?;
    Some(versions.join(latest))
}

/// One name of a directory, and nothing that leads elsewhere.
fn is_name(word: &str) -> bool {
    !word.is_empty() && !word.contains('/') && !word.starts_with('.') && word != "system"
}

fn only<T>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next()?;
    all.next().is_none().then_some(first)
}

fn names(dir: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.take(NAMES).collect()
}

fn text(path: &Path) -> Option<String> {
    let found = fs::metadata(path).ok()?;
    let small = found.is_file() && found.len() <= FILE;
    small.then(|| fs::read_to_string(path).ok()).flatten()
}

/// Why a program only hands over to a system of packages that starts it elsewhere, outside of
/// what would confine it; nothing for any other. `head` is how its file begins.
#[must_use]
pub(crate) fn hands_over(found: &Path, resolved: &Path, head: &[u8]) -> Option<&'static str> {
    const SNAP: &str =
        "it is a snap: snapd starts it outside of what would confine it; install it another way";
    const FLATPAK: &str = "it is a flatpak: flatpak starts it outside of what would confine it; install it another way";
    let of_snap = |path: &Path| path.starts_with("/snap") || path.starts_with("/var/lib/snapd");
    let is_snap = |path: &Path| path.file_name().is_some_and(|name| name == "snap");
    if of_snap(found) || of_snap(resolved) || (is_snap(resolved) && !is_snap(found)) {
        return Some(SNAP);
    }
    if found.components().any(|part| part.as_os_str() == "flatpak")
        && found
            .parent()
            .is_some_and(|dir| dir.ends_with("exports/bin"))
    {
        return Some(FLATPAK);
    }
    if !head.starts_with(b"#!") {
        return None;
    }
    let script = String::from_utf8_lossy(head);
    let mut runs = script
        .lines()
        .map(str::trim)
        .filter_map(|line| line.strip_prefix("exec "));
    runs.find_map(|rest| {
        let program = rest.split_whitespace().next()?.trim_matches('"');
        if program.starts_with("/snap/bin/") || program == "snap" {
            Some(SNAP)
        } else if program.ends_with("flatpak") {
            Some(FLATPAK)
        } else {
            None
        }
    })
}

#[cfg(test)]
#[path = "shim_tests.rs"]
mod tests;
