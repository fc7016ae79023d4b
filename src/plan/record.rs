//! What a declaration names on disk: the reads that `add` records, and what they are now.
#![expect(
    clippy::disallowed_methods,
    reason = "this room looks at what a declaration names"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use secrecy::ExposeSecret;

use super::links::follow;
use super::package::package_root;
use super::places::Places;
use super::{Person, PlanError, ReadFact, facts, interpreter};
use crate::declaration::{AbsolutePath, Read, ReadReason, Stdio};

/// Trees of the kernel's own, of which no file is recorded and none read by `--read`: they hold
/// processes and devices, and what servers need of them they get anyway.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The paths that stored values and arguments name: a whole word, or what follows an `=` in
/// one, where it is absolute. The program itself is none of them.
#[must_use]
pub(crate) fn named(stdio: &Stdio) -> Vec<(PathBuf, ReadReason)> {
    let values = stdio
        .env
        .values()
        .map(|value| (value.expose_secret(), ReadReason::Value));
    let args = stdio
        .args
        .iter()
        .map(|arg| (arg.as_str(), ReadReason::Argument));
    let paths = values.chain(args).flat_map(|(word, why)| {
        let after = word
            .match_indices('=')
            .filter_map(move |(at, _)| word.get(at.saturating_add(1)..));
        std::iter::once(word)
            .chain(after)
            .map(move |path| (path, why))
    });
    paths
        .filter(|(path, _)| path.starts_with('/') && !path.contains('\0'))
        .map(|(path, why)| (PathBuf::from(path), why))
        .collect()
}

/// What `add` records without being asked: each regular file that a stored value or an argument
/// names, and the package around a script that is given to an interpreter. Each path once,
/// sorted; nothing that the state directory or the kernel's own trees hold, nothing inside
/// `--dir`, nothing that another recorded path covers.
///
/// # Errors
/// [`PlanError::NotUtf8`] where a link leads to a path that cannot be kept; [`PlanError::Data`].
pub(crate) fn recorded(stdio: &Stdio, person: &Person) -> Result<Vec<Read>, PlanError> {
    let places = facts::places(person)?;
    let dir = stdio.dir.as_ref().map(AbsolutePath::as_path);
    let inside = |path: &Path| dir.is_some_and(|dir| path.starts_with(dir));
    let hidden = |path: &Path| {
        places.in_state(path) || inside(path) || KERNEL.iter().any(|tree| path.starts_with(tree))
    };
    let mut reads: BTreeMap<PathBuf, ReadReason> = BTreeMap::new();
    for (path, why) in named(stdio) {
        // What is named inside `--dir` is the server's to change: a link there says nothing.
        let file = regular_file(&path).filter(|file| !inside(&path) && !hidden(file));
        if let Some(file) = file {
            reads.entry(file).or_insert(why);
        }
    }
    let script = interpreter::script(&stdio.command, &stdio.args)
        .filter(|script| !inside(Path::new(script)));
    let script = script
        .and_then(|script| regular_file(Path::new(script)))
        .filter(|script| !hidden(script));
    let root = script
        .and_then(|script| package_root(script.parent()?, &places))
        .filter(|root| !hidden(root));
    if let Some(root) = root {
        reads.retain(|path, _| !path.starts_with(&root));
        reads.insert(root, ReadReason::PackageRoot);
    }
    reads
        .into_iter()
        .map(|(path, why)| {
            Ok(Read {
                path: kept(&path)?,
                why,
            })
        })
        .collect()
}

/// What `--read PATH` declares, seen from `cwd`; nothing where `dir` covers it.
///
/// # Errors
/// [`PlanError::ReadMissing`]; [`PlanError::ReadRefused`] for `/`, the home, the state directory
/// and what lies above one of them, what the state directory holds, the kernel's own trees, and
/// what is neither a regular file nor a directory; [`PlanError::NotUtf8`], [`PlanError::Look`].
pub(crate) fn flag(
    path: &Path,
    cwd: &Path,
    dir: Option<&Path>,
    person: &Person,
) -> Result<Option<Read>, PlanError> {
    let places = facts::places(person)?;
    let fact = look_at(&cwd.join(path), &places)?;
    if dir.is_some_and(|dir| fact.path.starts_with(dir)) {
        return Ok(None);
    }
    Ok(Some(Read {
        path: kept(&fact.path)?,
        why: ReadReason::Flag,
    }))
}

/// What secrets a path holds or lies among, to be named at the question about a `--read`.
///
/// # Errors
/// [`PlanError::Data`].
pub(crate) fn secrets(path: &Path, person: &Person) -> Result<Option<String>, PlanError> {
    Ok(facts::places(person)?.secrets(path).map(str::to_owned))
}

/// What recorded reads are now, in their order.
///
/// # Errors
/// As [`flag`], and [`PlanError::ReadRefused`] where a path has become a link, or what was
/// recorded as a file has become a directory.
pub(crate) fn look(reads: &[Read], places: &Places) -> Result<Vec<ReadFact>, PlanError> {
    let one = |read: &Read| {
        let path = read.path.as_path();
        let fact = look_at(path, places)?;
        let refused = |why| PlanError::ReadRefused {
            path: path.to_owned(),
            why,
        };
        if fact.path != path {
            return Err(refused("it has become a link since it was recorded"));
        }
        match read.why {
            ReadReason::Value | ReadReason::Argument if fact.directory => {
                Err(refused("it was recorded as one file and is a directory"))
            }
            _ => Ok(fact),
        }
    };
    reads.iter().map(one).collect()
}

fn look_at(path: &Path, places: &Places) -> Result<ReadFact, PlanError> {
    let refused = |why| PlanError::ReadRefused {
        path: path.to_owned(),
        why,
    };
    let resolved = follow(path)
        .map(|followed| followed.resolved)
        .map_err(|error| missing(path, error))?;
    if places.above_all(&resolved) {
        return Err(refused(
            "it is the home, the state directory, or lies above one of them",
        ));
    }
    if places.in_state(&resolved) {
        return Err(refused("it lies in the state directory"));
    }
    if KERNEL.iter().any(|tree| resolved.starts_with(tree)) {
        return Err(refused("it holds processes or devices"));
    }
    let kind = fs::metadata(&resolved)
        .map_err(|error| missing(path, error))?
        .file_type();
    if !kind.is_dir() && !kind.is_file() {
        return Err(refused("it is neither a regular file nor a directory"));
    }
    Ok(ReadFact {
        path: resolved,
        directory: kind.is_dir(),
    })
}

fn missing(path: &Path, error: std::io::Error) -> PlanError {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => PlanError::ReadMissing {
            path: path.to_owned(),
        },
        _ => PlanError::Look {
            path: path.display().to_string(),
            source: error,
        },
    }
}

/// Where a path leads, if to a regular file.
fn regular_file(path: &Path) -> Option<PathBuf> {
    let file = follow(path).ok()?.resolved;
    fs::metadata(&file)
        .is_ok_and(|found| found.is_file())
        .then_some(file)
}

fn kept(path: &Path) -> Result<AbsolutePath, PlanError> {
    AbsolutePath::new(path).map_err(|_| PlanError::NotUtf8 {
        path: path.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use tempfile::TempDir;

    struct Home(
        #[expect(dead_code, reason = "kept as long as the test runs")] TempDir,
        Person,
    );

    impl Home {
        fn new() -> Self {
            let base = tempfile::tempdir().unwrap();
            let home = base.path().canonicalize().unwrap().join("home");
            fs::create_dir_all(home.join(".supervisor")).unwrap();
            let person = Person {
                state: home.join(".supervisor"),
                home,
                uid: 0,
            };
            Self(base, person)
        }
        fn at(&self, path: &str) -> String {
            self.1.home.join(path).to_str().unwrap().to_owned()
        }
        fn file(&self, path: &str, text: &str) -> String {
            let at = self.at(path);
            fs::create_dir_all(Path::new(&at).parent().unwrap()).unwrap();
            fs::write(&at, text).unwrap();
            at
        }
        fn recorded(&self, stdio: &Stdio) -> Vec<(String, ReadReason)> {
            let reads = recorded(stdio, &self.1).unwrap();
            reads
                .into_iter()
                .map(|read| (read.path.to_string(), read.why))
                .collect()
        }
    }

    fn server(words: &[&str]) -> Stdio {
        Stdio::new(
            words[0].into(),
            words[1..].iter().map(|word| (*word).to_owned()).collect(),
        )
    }

    #[test]
    fn values_and_arguments_that_name_files_are_recorded() {
        let home = Home::new();
        let (key, config) = (
            home.file("keys/api=key", "x"),
            home.file("conf/c.json", "x"),
        );
        let mut stdio = server(&[
            "x",
            &format!("--config={config}"),
            "conf/c.json",
            "~/x",
            "plain",
        ]);
        stdio.env.insert("KEY".parse().unwrap(), key.clone().into());
        stdio
            .env
            .insert("DIR".parse().unwrap(), home.at("conf").into());
        assert_eq!(
            home.recorded(&stdio),
            [(config, ReadReason::Argument), (key, ReadReason::Value)]
        );
    }

    #[test]
    fn links_are_recorded_where_they_lead() {
        let home = Home::new();
        let file = home.file("real/key", "x");
        symlink(&file, home.at("link")).unwrap();
        assert_eq!(
            home.recorded(&server(&["x", &home.at("link")])),
            [(file, ReadReason::Argument)]
        );
    }

    #[test]
    fn directories_odd_files_and_the_state_are_not_recorded() {
        let home = Home::new();
        mkfifo(Path::new(&home.at("fifo")), Mode::from_bits_truncate(0o600)).unwrap();
        let state = home.file(".supervisor/mcp.json", "x");
        symlink(&state, home.at("innocent")).unwrap();
        symlink(home.at(".supervisor"), home.at("st")).unwrap();
        let words = [
            home.at("fifo"),
            home.at(""),
            home.at("absent"),
            state.clone(),
            home.at("innocent"),
            home.at("st/mcp.json"),
            format!("{}/../.supervisor/mcp.json", home.at(".supervisor")),
            format!("/proc/self/root{state}"),
            "/dev/null".into(),
            "/proc/self/environ".into(),
            format!("/{}", "x".repeat(5000)),
        ];
        let words: Vec<&str> = std::iter::once("x")
            .chain(words.iter().map(String::as_str))
            .collect();
        assert_eq!(home.recorded(&server(&words)), []);
    }

    #[test]
    fn what_lies_in_the_writable_directory_is_not_recorded() {
        let home = Home::new();
        let (inner, secret) = (home.file("notes/server.py", ""), home.file("secret", ""));
        home.file("notes/pyproject.toml", "");
        symlink(&secret, home.at("notes/link")).unwrap();
        symlink(&inner, home.at("to-inner")).unwrap();
        let mut stdio = server(&[
            "python3",
            &inner,
            &home.at("notes/link"),
            &home.at("to-inner"),
        ]);
        stdio.dir = Some(home.at("notes").parse().unwrap());
        assert_eq!(home.recorded(&stdio), []);
    }

    #[test]
    fn a_script_brings_its_package() {
        for mark in ["package.json", "pyproject.toml", "pyvenv.cfg"] {
            let home = Home::new();
            home.file(&format!("src/pkg/{mark}"), "{}");
            let script = home.file("src/pkg/build/index.js", "");
            assert_eq!(
                home.recorded(&server(&["node", &script])),
                [(home.at("src/pkg"), ReadReason::PackageRoot)]
            );
        }
        let home = Home::new();
        home.file("package.json", "{}");
        let script = home.file("build/index.js", "");
        assert_eq!(
            home.recorded(&server(&["node", &script])),
            [(script, ReadReason::Argument)],
            "never the home"
        );
    }

    #[test]
    fn a_package_beside_its_output_is_the_one_with_a_name() {
        let home = Home::new();
        home.file("pkg/package.json", r#"{"name":"x"}"#);
        home.file("pkg/dist/cjs/package.json", r#"{"type":"commonjs"}"#);
        let script = home.file("pkg/dist/cjs/index.js", "");
        assert_eq!(
            home.recorded(&server(&["node", &script])),
            [(home.at("pkg"), ReadReason::PackageRoot)]
        );
        let script = home.file("app/node_modules/@s/p/dist/index.js", "");
        home.file("app/node_modules/@s/p/package.json", r#"{"name":"p"}"#);
        assert_eq!(
            home.recorded(&server(&["node", &script])),
            [(home.at("app/node_modules"), ReadReason::PackageRoot)],
            "packages use those beside them"
        );
    }

    #[test]
    fn a_package_that_holds_the_state_is_not_recorded() {
        let mut home = Home::new();
        home.file("proj/package.json", "{}");
        let script = home.file("proj/index.js", "");
        home.1.state = home.at("proj/state").into();
        assert_eq!(
            home.recorded(&server(&["node", &script])),
            [(script.clone(), ReadReason::Argument)]
        );
        home.1.state = home.at("proj").into();
        assert_eq!(home.recorded(&server(&["node", &script])), []);
    }

    #[test]
    fn flags_are_kept_absolute_or_refused() {
        let home = Home::new();
        let file = home.file("docs/one", "");
        symlink("docs", home.at("link")).unwrap();
        let flag =
            |path: &str, dir: Option<&Path>| flag(Path::new(path), &home.1.home, dir, &home.1);
        assert_eq!(flag("link/one", None).unwrap().unwrap().path.as_str(), file);
        assert_eq!(flag("docs", None).unwrap().unwrap().why, ReadReason::Flag);
        assert_eq!(
            flag("docs/one", Some(Path::new(&home.at("docs")))).unwrap(),
            None
        );
        assert!(matches!(
            flag("absent", None),
            Err(PlanError::ReadMissing { .. })
        ));
        mkfifo(Path::new(&home.at("fifo")), Mode::from_bits_truncate(0o600)).unwrap();
        for bad in [
            "/",
            ".",
            "..",
            ".supervisor",
            ".supervisor/.",
            "fifo",
            "/proc/self",
            "/dev",
            "/dev/null",
        ] {
            assert!(
                matches!(flag(bad, None), Err(PlanError::ReadRefused { .. })),
                "{bad}"
            );
        }
    }

    #[test]
    fn recorded_reads_are_looked_at_again() {
        let home = Home::new();
        let file = home.file("docs/key", "");
        let places = facts::places(&home.1).unwrap();
        let look = |why| {
            look(
                &[Read {
                    path: file.parse().unwrap(),
                    why,
                }],
                &places,
            )
        };
        assert_eq!(
            look(ReadReason::Value).unwrap(),
            [ReadFact {
                path: file.clone().into(),
                directory: false
            }]
        );
        fs::remove_file(&file).unwrap();
        assert!(matches!(
            look(ReadReason::Value),
            Err(PlanError::ReadMissing { .. })
        ));
        fs::create_dir(&file).unwrap();
        assert!(look(ReadReason::Flag).is_ok());
        assert!(matches!(
            look(ReadReason::Value),
            Err(PlanError::ReadRefused { .. })
        ));
        fs::remove_dir(&file).unwrap();
        symlink(home.file("other", ""), &file).unwrap();
        assert!(
            matches!(look(ReadReason::Flag), Err(PlanError::ReadRefused { .. })),
            "a link now"
        );
    }
}
