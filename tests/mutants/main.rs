//! Takes one mechanism after another out of the code, and wants `doctor` to see that it is gone:
//! `cargo test --test mutants`. Not in the default set: it builds the program once for each.
//!
//! `mutants.json` says what is taken out (each text stands exactly once in its file, or this
//! fails), who has to see it (an ordinary user, root), and where: with namespaces, under a
//! filter that refuses them, or with mounts that are shared outside.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and tests touch files and start programs"
)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

/// An ordinary user id that no account is expected under.
const ORDINARY: u32 = 54_321;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutant {
    name: String,
    #[serde(rename = "where")]
    place: Place,
    seen: Vec<Who>,
    edits: Vec<Edit>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Place {
    Namespaces,
    WithoutNamespaces,
    Shared,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Who {
    User,
    Root,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    file: String,
    find: String,
    replace: String,
}

/// A copy of the sources, and a place to build and run it.
struct Tree {
    root: PathBuf,
    run: tempfile::TempDir,
}

impl Tree {
    fn new() -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = source.join("target/mutants/tree");
        let _ = fs::remove_dir_all(&root);
        for name in ["src", "policy", "fixtures", "docs", "tests"] {
            copy(&source.join(name), &root.join(name));
        }
        for name in ["Cargo.toml", "Cargo.lock"] {
            fs::copy(source.join(name), root.join(name)).unwrap();
        }
        let run = tempfile::Builder::new()
            .prefix("sv-mutants-")
            .tempdir_in("/tmp")
            .unwrap();
        fs::set_permissions(run.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Self { root, run }
    }

    /// Builds the supervisor as it is now, to where any user may run it; what the compiler says
    /// otherwise.
    fn build(&self) -> Result<(), String> {
        self.build_as(&["--bins"], "supervisor")
    }

    /// Builds what starts it under a filter, which no mutant changes.
    fn build_fixture(&self) -> Result<(), String> {
        self.build_as(&["--example", "fixture-probe"], "examples/fixture-probe")
    }

    fn build_as(&self, what: &[&str], program: &str) -> Result<(), String> {
        let output = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--offline"])
            .args(what)
            .args(["--config", "profile.dev.debug=false"])
            .env("CARGO_TARGET_DIR", self.root.with_file_name("built"))
            .current_dir(&self.root)
            .output()
            .unwrap();
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let from = self.root.with_file_name("built/debug").join(program);
        let to = self.run.path().join(from.file_name().unwrap());
        let _ = fs::remove_file(&to);
        fs::copy(&from, &to).unwrap();
        fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).unwrap();
        Ok(())
    }

    /// What `doctor` finds: the promises that are broken, or why it found nothing.
    fn doctor(&self, who: Who, place: Place) -> Result<Vec<String>, String> {
        let home = tempfile::tempdir_in(self.run.path()).unwrap();
        let program = |name: &str| self.run.path().join(name).display().to_string();
        let mut words = vec![
            program("supervisor"),
            "doctor".to_owned(),
            "--json".to_owned(),
        ];
        if place == Place::WithoutNamespaces {
            let before = [program("fixture-probe"), "without-namespaces".to_owned()];
            words = [before.to_vec(), words].concat();
        }
        if place == Place::Shared {
            let before = ["unshare", "--mount", "--propagation", "shared"];
            words = [before.map(str::to_owned).to_vec(), words].concat();
        }
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .env_clear()
            .env("HOME", home.path());
        command
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .current_dir(home.path());
        if who == Who::User && is_root() {
            chown(home.path(), Some(ORDINARY), Some(ORDINARY)).unwrap();
            command.uid(ORDINARY).gid(ORDINARY);
        }
        let output = command.output().unwrap();
        let said: Value = serde_json::from_slice(&output.stdout)
            .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
        if let Some(why) = said["refused"]["message"].as_str() {
            return Err(why.to_owned());
        }
        let seen =
            |promise: &&Value| promise["verdict"] == "broken" || promise["verdict"] == "unshown";
        let promises = said["promises"].as_array().unwrap();
        let named = |promise: &Value| promise["id"].as_str().unwrap().to_owned();
        Ok(promises.iter().filter(seen).map(named).collect())
    }
}

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Puts the edits in, and returns what the files held.
fn edit(tree: &Tree, mutant: &Mutant) -> Vec<(PathBuf, String)> {
    let mut before = Vec::new();
    for edit in &mutant.edits {
        let path = tree.root.join(&edit.file);
        let text = fs::read_to_string(&path).unwrap();
        let count = text.matches(&edit.find).count();
        assert_eq!(
            count, 1,
            "{}: {} holds it {count} times",
            mutant.name, edit.file
        );
        fs::write(&path, text.replace(&edit.find, &edit.replace)).unwrap();
        before.push((path, text));
    }
    before
}

#[test]
fn doctor_sees_each_mechanism_that_is_gone() {
    if is_root() {
        // As a login gives them; a service may have none to lose.
        nix::unistd::setgroups(&[nix::unistd::Gid::from_raw(0)]).unwrap();
    }
    let text = include_str!("mutants.json");
    let only = std::env::var("MUTANTS").unwrap_or_default();
    let mutants: Vec<Mutant> = serde_json::from_str(text).unwrap();
    let tree = Tree::new();
    tree.build().unwrap();
    tree.build_fixture().unwrap();
    let all = [Who::User, Who::Root];
    let everybody = if is_root() { &all[..] } else { &all[..1] };
    let sound = tree.doctor(Who::User, Place::Namespaces);
    assert_eq!(sound, Ok(Vec::new()), "it is not well as it is");
    // What proves nothing under a filter of the test's own.
    let known = tree.doctor(Who::User, Place::WithoutNamespaces).unwrap();
    let mut unseen = Vec::new();
    let wanted = |mutant: &&Mutant| only.split(',').any(|part| mutant.name.contains(part));
    for mutant in mutants.iter().filter(wanted) {
        let before = edit(&tree, mutant);
        let built = tree.build();
        for (path, text) in before.into_iter().rev() {
            fs::write(path, text).unwrap();
        }
        if let Err(said) = built {
            println!("{:<40} does not build: {said}", mutant.name);
            unseen.push(format!("{}, which does not build", mutant.name));
            continue;
        }
        for who in everybody.iter().filter(|who| mutant.seen.contains(who)) {
            if mutant.place == Place::Shared && !is_root() {
                continue;
            }
            let mut found = tree.doctor(*who, mutant.place);
            if let (Ok(found), Place::WithoutNamespaces) = (&mut found, mutant.place) {
                found.retain(|promise| !known.contains(promise));
            }
            let shown = match &found {
                Ok(broken) => broken.join(", "),
                Err(why) => why.split_whitespace().collect::<Vec<_>>().join(" "),
            };
            println!("{:<40} {who:?}: {shown}", mutant.name);
            if found.is_ok_and(|broken| broken.is_empty()) {
                unseen.push(format!("{} as {who:?}", mutant.name));
            }
        }
    }
    assert!(unseen.is_empty(), "not seen: {unseen:?}");
}
