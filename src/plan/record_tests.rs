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
        let (base, person) = Person::temporary();
        fs::create_dir(&person.state).unwrap();
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
    let flag = |path: &str, dir: Option<&Path>| flag(Path::new(path), &home.1.home, dir, &home.1);
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
    let places = facts::places(&home.1);
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
