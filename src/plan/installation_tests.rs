use super::*;

use std::ffi::OsStr;

use std::os::unix::fs::symlink;

use tempfile::TempDir;

use crate::plan::{Person, facts, program, system};

/// A home with programs in it, laid out as the tools that people use lay them out.
struct Home(
    #[expect(dead_code, reason = "kept as long as the test runs")] TempDir,
    Person,
);

impl Home {
    fn new() -> Self {
        let (base, person) = Person::temporary();
        let home = Self(base, person);
        for secret in [
            "secret",
            ".ssh/id",
            "work/secret",
            ".config/app/token",
            ".local/share/keyrings/login",
            ".supervisor/mcp.json",
        ] {
            home.file(secret, "");
        }
        home
    }
    fn at(&self, path: &str) -> PathBuf {
        self.1.home.join(path)
    }
    fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }
    fn binary(&self, path: &str) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy("/bin/true", &path).unwrap();
        path
    }
    fn link(&self, path: &str, to: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let to = if to.starts_with("..") {
            to.into()
        } else {
            self.at(to)
        };
        symlink(to, path).unwrap();
    }
    fn installation(&self, command: &str, path: &[&str], named: &[&str]) -> Installation {
        let path: Vec<String> = path
            .iter()
            .map(|dir| self.at(dir).to_str().unwrap().to_owned())
            .collect();
        let path = SearchPath::parse(OsStr::new(&format!("{}:/usr/bin:/bin", path.join(":"))));
        let command = if command.contains('/') {
            self.at(command).to_str().unwrap().to_owned()
        } else {
            command.to_owned()
        };
        let program = program::find(&command, &path).unwrap();
        let places = facts::places(&self.1);
        let system = system::look_up().grants;
        let ground = Ground {
            places: &places,
            system: &system,
            home: &self.1.home,
        };
        let named: Vec<PathBuf> = named.iter().map(|path| self.at(path)).collect();
        around(&program, &path, &named, ground)
    }
    /// What a server reads of the home, of these files.
    fn reads<'a>(&self, installation: &Installation, files: &[&'a str]) -> Vec<&'a str> {
        let grants = || installation.own.iter().chain(&installation.linked);
        for grant in grants() {
            assert_eq!(
                follow(&grant.path).unwrap().resolved,
                grant.path,
                "canonical and there"
            );
            assert!(!grant.reason.is_empty() && grant.rights == Rights::ReadExecute);
            for secret in [
                "secret",
                ".ssh/id",
                "work/secret",
                ".config/app/token",
                ".local/share/keyrings/login",
                ".supervisor/mcp.json",
            ] {
                assert!(
                    !self.at(secret).starts_with(&grant.path),
                    "{secret}: {grant:?}"
                );
            }
        }
        files
            .iter()
            .copied()
            .filter(|file| {
                assert!(
                    fs::symlink_metadata(self.at(file)).is_ok(),
                    "{file} is not there"
                );
                grants().any(|grant| self.at(file).starts_with(&grant.path))
            })
            .collect()
    }
    #[track_caller]
    fn sees(&self, installation: &Installation, seen: &[&str], hidden: &[&str]) {
        assert_eq!(self.reads(installation, seen), seen, "{installation:#?}");
        assert_eq!(
            self.reads(installation, hidden),
            [""; 0],
            "{installation:#?}"
        );
    }
}

#[test]
fn a_program_of_the_system_needs_nothing() {
    let home = Home::new();
    assert_eq!(home.installation("env", &[], &[]).own, []);
}

#[test]
fn one_deep_in_the_home() {
    let home = Home::new();
    home.binary("tool/bin/server");
    home.file("tool/data/words", "");
    home.file("other/data", "");
    home.sees(
        &home.installation("server", &["tool/bin"], &[]),
        &["tool/data/words"],
        &["other/data"],
    );
    home.sees(
        &home.installation("tool/bin/server", &[], &[]),
        &["tool/data/words"],
        &["other/data"],
    );
}

#[test]
fn of_shared_roots_only_programs_and_libraries() {
    let home = Home::new();
    for root in [".local", ".", ".config", "../opt", ".cargo"] {
        for file in [
            "bin/server",
            "lib/x.so",
            "libexec/helper",
            "share/data",
            "private",
        ] {
            home.binary(&format!("{root}/{file}"));
        }
        let of = |file: &str| format!("{root}/{file}");
        let (bin, lib, libexec, share, private) = (
            of("bin/server"),
            of("lib/x.so"),
            of("libexec/helper"),
            of("share/data"),
            of("private"),
        );
        if root != "../opt" {
            home.sees(
                &home.installation(&bin, &[&of("bin")], &[]),
                &[&bin, &lib, &libexec],
                &[&share, &private],
            );
        }
    }
}

#[test]
fn a_working_copy_is_no_installation() {
    let home = Home::new();
    home.binary("work/bin/server");
    home.file("work/lib/x", "");
    home.file("work/project/.git/config", "");
    home.sees(
        &home.installation("server", &["work/bin"], &[]),
        &["work/bin/server", "work/lib/x"],
        &["work/project/.git/config"],
    );
    home.binary("repo/bin/server");
    home.file("repo/.git/config", "");
    home.sees(
        &home.installation("repo/bin/server", &[], &[]),
        &["repo/bin/server"],
        &["repo/.git/config"],
    );
}

#[test]
fn a_program_outside_a_bin_gets_its_directory_and_never_the_home() {
    let home = Home::new();
    home.binary("app/server");
    home.file("app/lib.js", "");
    home.sees(
        &home.installation("app/server", &[], &[]),
        &["app/server", "app/lib.js"],
        &[],
    );
    home.binary("server");
    home.sees(
        &home.installation("server", &[""], &[]),
        &["server"],
        &["app/lib.js"],
    );
}

#[test]
fn a_script_that_is_the_program_brings_its_package() {
    let home = Home::new();
    home.file("src/mcp/package.json", "{}");
    home.file("src/mcp/node_modules/dep/index.js", "");
    home.file("src/mcp/.git/config", "");
    home.file("src/other", "");
    for script in ["src/mcp/build/index.js", "src/mcp/bin/cli.js"] {
        home.file(script, "#!/usr/bin/env sh\n");
        home.sees(
            &home.installation(script, &[], &[]),
            &[script, "src/mcp/node_modules/dep/index.js"],
            &["src/other"],
        );
    }
    home.link(".local/bin/mcp", "src/mcp/build/index.js");
    let installation = home.installation("mcp", &[".local/bin"], &[]);
    home.sees(
        &installation,
        &["src/mcp/package.json", ".local/bin/mcp"],
        &["src/other"],
    );
}

#[test]
fn links_on_path_bring_no_more_than_programs() {
    let home = Home::new();
    home.binary("work/bin/tool");
    home.file("work/notes", "");
    home.binary("work/run");
    home.file(".local/bin/keep", "");
    home.link(".local/bin/tool", "work/bin/tool");
    home.link(".local/bin/run", "work/run");
    home.link(".local/bin/key", ".ssh/id");
    home.link(".local/bin/gone", "nowhere");
    home.link(".local/bin/circle", ".local/bin/circle");
    home.link(".local/bin/dir", "work");
    home.sees(
        &home.installation("env", &[".local/bin"], &[]),
        &["work/bin/tool", "work/run"],
        &["work/notes"],
    );
    assert_eq!(
        home.installation("env", &[".local/bin"], &[]).own.len(),
        1,
        "links are no part of the program"
    );
}

#[test]
fn links_are_followed_to_a_bound() {
    let home = Home::new();
    for number in 0..LINKED + 8 {
        home.binary(&format!("apps/{number:04}/bin/tool"));
        home.link(
            &format!(".local/bin/{number:04}"),
            &format!("apps/{number:04}/bin/tool"),
        );
    }
    let linked = home.installation("env", &[".local/bin"], &[]).linked;
    let roots: BTreeSet<_> = linked
        .iter()
        .filter_map(|grant| grant.path.strip_prefix(home.at("apps")).ok()?.iter().next())
        .collect();
    // What surrounds the links themselves is one of them.
    assert_eq!(roots.len(), LINKED - 1);
}

#[test]
fn arguments_that_are_no_programs_bring_nothing() {
    let home = Home::new();
    fs::write(home.at("plain"), "").unwrap();
    let installation = home.installation(
        "sh",
        &[],
        &[
            "plain",
            "secret/x",
            ".ssh/id",
            ".ssh",
            "gone",
            ".supervisor/mcp.json",
        ],
    );
    assert_eq!(installation, Installation::default());
}

#[test]
fn entries_of_path_that_are_never_granted() {
    let home = Home::new();
    home.file("file", "");
    let installation = home.installation(
        "env",
        &["", "..", ".ssh", ".config", "file", "gone", ".supervisor"],
        &[],
    );
    assert_eq!(installation.own, []);
}

#[path = "installation_managers_tests.rs"]
mod managers;
#[path = "installation_packages_tests.rs"]
mod packages;
