use super::*;
use std::ffi::OsStr;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use crate::plan::{Person, facts, program};

/// A home with programs in it, laid out as the tools that people use lay them out.
struct Home(
    #[expect(dead_code, reason = "kept as long as the test runs")] TempDir,
    Person,
);

impl Home {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        let home = base.path().canonicalize().unwrap().join("home");
        fs::create_dir_all(home.join(".supervisor")).unwrap();
        let home = Self(
            base,
            Person {
                state: home.join(".supervisor"),
                home,
                uid: 1000,
            },
        );
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
        let places = facts::places(&self.1).unwrap();
        let system = facts::system().unwrap().grants;
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

fn nvm(home: &Home, root: &str) {
    home.binary(&format!("{root}/bin/node"));
    home.file(
        &format!("{root}/lib/node_modules/npm/bin/npx-cli.js"),
        "#!/usr/bin/env node\n",
    );
    home.link(
        &format!("{root}/bin/npx"),
        "../lib/node_modules/npm/bin/npx-cli.js",
    );
    home.file(&format!("{root}/etc/npmrc"), "");
    home.file(&format!("{root}/include/node/node.h"), "");
}

#[test]
fn nvm_fnm_asdf_mise_and_n_by_version() {
    for (root, other) in [
        (".nvm/versions/node/v20.1.0", ".nvm/alias/default"),
        (
            ".local/share/fnm/node-versions/v20.1.0/installation",
            ".local/share/fnm/other",
        ),
        (".asdf/installs/nodejs/20.1.0", ".asdf/other"),
        (
            ".local/share/mise/installs/node/20.1.0",
            ".local/share/mise/other",
        ),
        ("n/v20", "n-other"),
    ] {
        let home = Home::new();
        nvm(&home, root);
        home.file(other, "");
        let of = |file: &str| format!("{root}/{file}");
        let installation = home.installation("npx", &[&of("bin")], &[]);
        home.sees(
            &installation,
            &[
                &of("lib/node_modules/npm/bin/npx-cli.js"),
                &of("bin/node"),
                &of("etc/npmrc"),
                &of("include/node/node.h"),
            ],
            &[other],
        );
    }
    // fnm's link for one shell.
    let home = Home::new();
    nvm(&home, ".local/share/fnm/node-versions/v20/installation");
    home.link(
        "run/fnm_multishells/1_2",
        ".local/share/fnm/node-versions/v20/installation",
    );
    home.file("run/other", "");
    let installation = home.installation("npx", &["run/fnm_multishells/1_2/bin"], &[]);
    home.sees(
        &installation,
        &[".local/share/fnm/node-versions/v20/installation/bin/node"],
        &["run/other"],
    );
}

#[test]
fn node_in_a_shared_root_reads_the_settings_of_npm() {
    let home = Home::new();
    nvm(&home, ".local");
    home.file(".local/share/x", "");
    home.sees(
        &home.installation("npx", &[".local/bin"], &[]),
        &[
            ".local/etc/npmrc",
            ".local/lib/node_modules/npm/bin/npx-cli.js",
        ],
        &[".local/share/x", ".local/include/node/node.h"],
    );
}

#[test]
fn shims_of_pyenv_and_its_kin() {
    for kin in ["pyenv", "rbenv", "nodenv"] {
        let home = Home::new();
        let root = format!(".{kin}");
        let of = |file: &str| format!("{root}/{file}");
        let manager = home.file(&of("libexec/manager"), "#!/bin/sh\n");
        home.link(&of(&format!("bin/{kin}")), &of("libexec/manager"));
        home.file(
            &of("shims/python"),
            &format!("#!/usr/bin/env sh\nexec {} exec\n", manager.display()),
        );
        home.binary(&of("versions/3.11.7/bin/python"));
        home.file(&of("versions/3.11.7/lib/python3.11/os.py"), "");
        home.file(&of("plugins/x/y"), "");
        home.file(&of(&format!("{kin}.d/hook")), "");
        home.file(&of("version"), "3.11.7");
        home.file(&of(".git/config"), "");
        home.file(&of("test/x"), "");
        home.file(".python-version", "3.11.7");
        let (hook, os) = (
            of(&format!("{kin}.d/hook")),
            of("versions/3.11.7/lib/python3.11/os.py"),
        );
        let needed = [
            &of("libexec/manager"),
            &of("shims/python"),
            &os,
            &of("version"),
            &hook,
            &of("plugins/x/y"),
            ".python-version",
        ]
        .map(|path| path.to_owned());
        let needed: Vec<&str> = needed.iter().map(String::as_str).collect();
        home.sees(
            &home.installation("python", &[&of("shims"), &of("bin")], &[]),
            &needed,
            &[&of(".git/config"), &of("test/x")],
        );
        home.sees(
            &home.installation("env", &[&of("shims")], &[]),
            &needed,
            &[&of(".git/config")],
        );
        // By its path it is known for what it stands for, and the manager is no part of it.
        home.sees(
            &home.installation(&of("shims/python"), &[], &[]),
            &[&os],
            &[&of(".git/config"), &of("plugins/x/y")],
        );
    }
}

#[test]
fn shims_of_asdf_mise_and_volta() {
    let home = Home::new();
    home.file(".asdf/shims/node", "#!/bin/sh\n");
    home.binary(".asdf/installs/nodejs/20/bin/node");
    home.file(".asdf/plugins/nodejs/x", "");
    home.file(".asdf/downloads/x", "");
    home.file(".tool-versions", "");
    home.sees(
        &home.installation("node", &[".asdf/shims"], &[]),
        &[
            ".asdf/installs/nodejs/20/bin/node",
            ".asdf/plugins/nodejs/x",
            ".tool-versions",
        ],
        &[".asdf/downloads/x"],
    );

    let home = Home::new();
    home.binary(".local/bin/mise");
    home.binary(".local/share/mise/installs/node/20/bin/node");
    home.link(".local/share/mise/shims/node", ".local/bin/mise");
    home.file(".local/share/other", "");
    home.sees(
        &home.installation("node", &[".local/share/mise/shims"], &[]),
        &[
            ".local/bin/mise",
            ".local/share/mise/installs/node/20/bin/node",
        ],
        &[".local/share/other"],
    );

    let home = Home::new();
    home.binary(".volta/bin/volta-shim");
    home.link(".volta/bin/node", ".volta/bin/volta-shim");
    home.binary(".volta/tools/image/node/20/bin/node");
    home.file(".volta/layout.v4", "");
    home.file(".volta/tmp/x", "");
    home.sees(
        &home.installation("node", &[".volta/bin"], &[]),
        &[".volta/tools/image/node/20/bin/node", ".volta/layout.v4"],
        &[".volta/tmp/x"],
    );
}

#[test]
fn rustup_brings_its_toolchains() {
    let home = Home::new();
    home.binary(".cargo/bin/rustup");
    home.link(".cargo/bin/cargo", ".cargo/bin/rustup");
    home.binary(".rustup/toolchains/stable/bin/cargo");
    home.file(".rustup/settings.toml", "");
    home.file(".cargo/credentials.toml", "");
    home.sees(
        &home.installation("cargo", &[".cargo/bin"], &[]),
        &[
            ".rustup/toolchains/stable/bin/cargo",
            ".rustup/settings.toml",
        ],
        &[".cargo/credentials.toml"],
    );
}

/// A venv at `root` from the interpreter at `base/bin/python3`.
fn venv(home: &Home, root: &str, base: &str) {
    home.binary(&format!("{base}/bin/python3.12"));
    home.file(&format!("{base}/lib/python3.12/os.py"), "");
    home.link(
        &format!("{root}/bin/python"),
        &format!("{base}/bin/python3.12"),
    );
    home.file(
        &format!("{root}/pyvenv.cfg"),
        &format!("home = {}/bin\n", home.at(base).display()),
    );
    home.file(&format!("{root}/lib/python3.12/site-packages/x.py"), "");
    home.file(
        &format!("{root}/bin/server"),
        &format!("#!{}/bin/python\n", home.at(root).display()),
    );
}

#[test]
fn environments_bring_the_interpreter_they_were_made_from() {
    let base = ".local/share/uv/python/cpython-3.12";
    for root in [
        ".venv",
        "src/app/.venv",
        ".local/share/pipx/venvs/server",
        ".local/share/uv/tools/server",
    ] {
        let home = Home::new();
        venv(&home, root, base);
        home.file(".local/share/uv/other", "");
        let of = |file: &str| format!("{root}/{file}");
        let os = format!("{base}/lib/python3.12/os.py");
        let seen = [
            os.as_str(),
            &of("lib/python3.12/site-packages/x.py"),
            &of("pyvenv.cfg"),
        ];
        home.sees(
            &home.installation(&of("bin/server"), &[], &[]),
            &seen,
            &[".local/share/uv/other"],
        );
        home.sees(
            &home.installation(&of("bin/python"), &[], &[]),
            &seen,
            &[".local/share/uv/other"],
        );
        // As pipx and uv link it into a directory of PATH: as the program, and as a neighbour.
        home.link(".local/bin/server", &of("bin/server"));
        home.sees(
            &home.installation("server", &[".local/bin"], &[]),
            &seen,
            &[".local/share/uv/other"],
        );
        home.sees(
            &home.installation("env", &[".local/bin"], &[]),
            &seen,
            &[".local/share/uv/other"],
        );
        // And as an argument of a shell.
        home.sees(
            &home.installation("sh", &[], &[&of("bin/python")]),
            &seen,
            &[".local/share/uv/other"],
        );
        home.sees(
            &home.installation("sh", &[], &[&of("bin/server")]),
            &seen,
            &[],
        );
    }
}

#[test]
fn packages_installed_in_place_are_imported_from_where_they_lie() {
    let home = Home::new();
    venv(&home, "app/.venv", ".local/share/uv/python/cpython-3.12");
    for file in [
        "src/one/pkg/x.py",
        "src/one/.env",
        "src/two/two/x.py",
        "src/two/.env",
        "src/three/lib/x.py",
    ] {
        home.file(file, "");
    }
    let packages = "app/.venv/lib/python3.12/site-packages";
    let at = |path: &str| home.at(path).display().to_string();
    home.file(
        &format!("{packages}/_one.pth"),
        &format!("import os\n{}\n", at("src/one/pkg")),
    );
    home.file(
        &format!("{packages}/__editable___two_1_0_finder.py"),
        &format!(
            "import sys\nMAPPING: dict[str, str] = {{'two': '{}'}}\n",
            at("src/two/two")
        ),
    );
    // Neither the home nor what lies among secrets.
    home.file(
        &format!("{packages}/bad.pth"),
        &format!("{}\n{}\n/\n../..\n", at(""), at(".ssh")),
    );
    home.sees(
        &home.installation("app/.venv/bin/python", &[], &[]),
        &["src/one/pkg/x.py", "src/two/two/x.py"],
        &["src/one/.env", "src/two/.env", "src/three/lib/x.py"],
    );
}

#[test]
fn a_package_of_a_repository_of_many_uses_those_beside_it() {
    let home = Home::new();
    home.file(
        "repo/package.json",
        r#"{"name":"all","workspaces":["packages/*"]}"#,
    );
    home.file("repo/packages/server/package.json", r#"{"name":"server"}"#);
    home.file("repo/packages/server/cli.js", "#!/usr/bin/env sh\n");
    home.file("repo/packages/shared/package.json", r#"{"name":"shared"}"#);
    home.file("repo/packages/shared/index.js", "");
    home.file("repo/packages/other/package.json", "{}");
    home.file("repo/node_modules/zod/index.js", "");
    home.link("repo/node_modules/@all/shared", "../../packages/shared");
    home.link("repo/packages/server/node_modules/key", ".ssh");
    home.file("repo/.env", "");
    home.sees(
        &home.installation("repo/packages/server/cli.js", &[], &[]),
        &[
            "repo/node_modules/zod/index.js",
            "repo/packages/shared/index.js",
        ],
        &["repo/.env", "repo/packages/other/package.json"],
    );
}

#[test]
fn packages_of_node_use_those_beside_them() {
    let home = Home::new();
    home.file("app/node_modules/server/dist/cli.js", "#!/usr/bin/env sh\n");
    home.file("app/node_modules/dep/index.js", "");
    home.link("app/node_modules/.bin/server", "../server/dist/cli.js");
    home.file("app/notes", "");
    home.sees(
        &home.installation("server", &["app/node_modules/.bin"], &[]),
        &["app/node_modules/dep/index.js"],
        &["app/notes"],
    );
    home.sees(
        &home.installation("app/node_modules/server/dist/cli.js", &[], &[]),
        &["app/node_modules/dep/index.js"],
        &["app/notes"],
    );
    // yarn's global packages lie below ~/.config.
    home.file(
        ".config/yarn/global/node_modules/server/cli.js",
        "#!/usr/bin/env sh\n",
    );
    home.file(".config/yarn/global/node_modules/dep/x.js", "");
    home.link(
        ".yarn/bin/server",
        ".config/yarn/global/node_modules/server/cli.js",
    );
    home.sees(
        &home.installation("server", &[".yarn/bin"], &[]),
        &[".config/yarn/global/node_modules/dep/x.js"],
        &[],
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
