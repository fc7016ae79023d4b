//! Environments, packages installed in place, repositories of many packages.

use super::*;

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
