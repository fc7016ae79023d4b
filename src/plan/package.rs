//! The package that a script belongs to.
#![expect(
    clippy::disallowed_methods,
    reason = "asked by `installation` and `record`: looks for marks of packages"
)]

use std::fs;
use std::path::{Path, PathBuf};

use super::layout;
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

fn has_a_name(package: &Path) -> bool {
    let small =
        fs::metadata(package).is_ok_and(|found| found.is_file() && found.len() < 1024 * 1024);
    let text = small.then(|| fs::read_to_string(package).ok()).flatten();
    let json = text.and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
    json.is_some_and(|json| json.get("name").is_some())
}
