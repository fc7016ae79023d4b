//! Version managers: what they installed, and their stand-ins.

use super::*;

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
