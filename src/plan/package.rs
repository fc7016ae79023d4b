//! The package that a script belongs to.
#![expect(
    clippy::disallowed_methods,
    reason = "asked by `installation` and `record`: looks for marks of packages"
)]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::layout;
use super::links::follow;
use super::places::Places;

/// Files that mark the root of a package.
const PACKAGE: [&str; 14] = [
    "package.json",
    "pyproject.toml",
    "pyvenv.cfg",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "deno.json",
    "deno.jsonc",
    "jsr.json",
    "Gemfile",
    "composer.json",
    "go.mod",
    "Cargo.toml",
    "uv.lock",
];

/// How far above a package its repository is looked for, as many names of one directory are
/// looked at, and as many packages are brought along by links.
const ABOVE: usize = 4;
const NAMES: usize = 4_096;
const LINKED: usize = 64;
/// How far above the output of a build its package is looked for.
const BESIDE_OUTPUT: usize = 3;

/// The package around a directory (followed): the nearest one with a mark of it, never the home,
/// the state directory, what lies above either, a place of secrets, or what others share.
///
/// A `package.json` without a name marks no package where one further up has one: builds for
/// two module systems put such a file beside their output (Node's documentation, "type").
#[must_use]
pub(crate) fn package_root(dir: &Path, places: &Places) -> Option<PathBuf> {
    if let Some(modules) = layout::node_modules(dir) {
        return Some(modules).filter(|modules| places.may_be_whole(modules));
    }
    let mut above = dir.ancestors().take_while(|root| places.may_be_whole(root));
    let nearest = above.find(|root| PACKAGE.iter().any(|mark| root.join(mark).is_file()))?;
    let package = "package.json";
    let beside_output = nearest.join(package).is_file()
        && !has_a_name(&nearest.join(package))
        && !PACKAGE
            .iter()
            .any(|mark| *mark != package && nearest.join(mark).is_file());
    let named = above
        .take(BESIDE_OUTPUT)
        .find(|root| has_a_name(&root.join(package)));
    Some(
        named
            .filter(|_| beside_output)
            .unwrap_or(nearest)
            .to_owned(),
    )
}

/// What a package of Node uses beside itself in a repository of many: `node_modules` further up,
/// and the packages that links in these and in its own lead to.
#[must_use]
pub(crate) fn beside(root: &Path, places: &Places) -> Vec<PathBuf> {
    let modules = |dir: &Path| {
        let found = dir.join("node_modules");
        (found.is_dir() && places.may_be_whole(&found)).then_some(found)
    };
    let above = root.ancestors().skip(1).take(ABOVE);
    let mut found: Vec<PathBuf> = above
        .take_while(|dir| places.may_be_whole(dir))
        .filter_map(modules)
        .collect();
    let searched: Vec<PathBuf> = modules(root).into_iter().chain(found.clone()).collect();
    let mut linked = BTreeSet::new();
    for modules in &searched {
        for link in links(modules) {
            let Ok(leads) = follow(&link).map(|followed| followed.resolved) else {
                continue;
            };
            let known = leads.starts_with(root) || found.iter().any(|dir| leads.starts_with(dir));
            let package = leads.join("package.json").is_file();
            if package && !known && places.may_be_brought_along(&leads) && linked.len() < LINKED {
                linked.insert(leads);
            }
        }
    }
    found.extend(linked);
    found
}

/// The links in a `node_modules`, and in the scopes in it.
fn links(modules: &Path) -> Vec<PathBuf> {
    let list = |dir: &Path| {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        entries.take(NAMES).collect::<Vec<_>>()
    };
    let scope = |name: &OsStr| name.as_encoded_bytes().starts_with(b"@");
    let mut entries = list(modules);
    let scopes: Vec<PathBuf> = entries
        .iter()
        .filter(|entry| scope(&entry.file_name()))
        .map(fs::DirEntry::path)
        .collect();
    entries.extend(scopes.iter().flat_map(|scope| list(scope)));
    let is_link = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_symlink());
    let links = entries.iter().filter(|entry| is_link(entry));
    let mut links: Vec<PathBuf> = links.map(fs::DirEntry::path).collect();
    links.sort();
    links
}

fn has_a_name(package: &Path) -> bool {
    let small =
        fs::metadata(package).is_ok_and(|found| found.is_file() && found.len() < 1024 * 1024);
    let text = small.then(|| fs::read_to_string(package).ok()).flatten();
    let json = text.and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
    json.is_some_and(|json| json.get("name").is_some())
}
