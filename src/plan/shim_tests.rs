use super::*;
use std::os::unix::fs::symlink;

/// A home with these files; what begins with `->` is a link to the rest of it.
fn home(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
    let base = tempfile::tempdir().unwrap();
    let home = base.path().canonicalize().unwrap();
    for (path, text) in files {
        let path = home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match text.strip_prefix("->") {
            Some(to) => symlink(to, &path).unwrap(),
            None => fs::write(&path, text).unwrap(),
        }
    }
    (base, home)
}

type Files = &'static [(&'static str, &'static str)];
const PYENV: Files = &[
    (".pyenv/shims/python", "#!/bin/sh\n"),
    (".pyenv/versions/3.11.7/bin/python", ""),
    (".pyenv/versions/3.11.10/bin/python", ""),
    (".pyenv/versions/3.12.1/bin/python", ""),
];
const MISE: Files = &[
    (".local/share/mise/shims/node", "->/usr/bin/mise"),
    (".local/share/mise/installs/node/20.11.0/bin/node", ""),
    (".local/share/mise/installs/node/22.1.0/bin/node", ""),
    (".local/share/mise/installs/node/20", "->./20.11.0"),
    (".local/share/mise/installs/node/latest", "->./22.1.0"),
    (".local/share/mise/installs/jq/1.7/jq", ""),
];
const VOLTA: Files = &[
    (".volta/bin/node", "->volta-shim"),
    (".volta/bin/npx", "->volta-shim"),
    (".volta/bin/mcp-x", "->volta-shim"),
    (".volta/bin/volta-shim", ""),
    (".volta/tools/image/node/20.11.0/bin/node", ""),
    (".volta/tools/image/node/20.11.0/bin/npx", ""),
    (".volta/tools/image/npm/10.9.0/bin/npx", ""),
    (".volta/tools/image/packages/@scope/x/bin/mcp-x", ""),
    (
        ".volta/tools/user/bins/mcp-x.json",
        r#"{"name":"mcp-x","package":"@scope/x","version":"1.0.0"}"#,
    ),
];
const ASDF: Files = &[
    (
        ".asdf/shims/node",
        "#!/bin/sh\n# asdf-plugin: nodejs 20.1.0\n",
    ),
    (".asdf/installs/nodejs/20.1.0/bin/node", ""),
];

/// What a home is told by, the tree of a manager, what its files say, a stand-in, and the program
/// that it is then.
type Case = (
    &'static str,
    Files,
    Files,
    &'static str,
    Option<&'static str>,
);
const CASES: &[Case] = &[
    (
        "pyenv's own file",
        PYENV,
        &[(".pyenv/version", "3.12.1\n")],
        ".pyenv/shims/python",
        Some(".pyenv/versions/3.12.1/bin/python"),
    ),
    (
        "the latest of a beginning",
        PYENV,
        &[(".pyenv/version", "3.11\n")],
        ".pyenv/shims/python",
        Some(".pyenv/versions/3.11.10/bin/python"),
    ),
    (
        "the first that is there",
        PYENV,
        &[(".pyenv/version", "2.7\n3.11.7 3.12.1")],
        ".pyenv/shims/python",
        Some(".pyenv/versions/3.11.7/bin/python"),
    ),
    (
        "the person's before it",
        PYENV,
        &[(".pyenv/version", "3.12.1"), (".python-version", "3.11.7")],
        ".pyenv/shims/python",
        Some(".pyenv/versions/3.11.7/bin/python"),
    ),
    (
        "the system's",
        PYENV,
        &[(".pyenv/version", "system")],
        ".pyenv/shims/python",
        None,
    ),
    ("nothing says", PYENV, &[], ".pyenv/shims/python", None),
    (
        "a name that leads elsewhere",
        PYENV,
        &[(".pyenv/version", "../../x"), ("x/bin/python", "")],
        ".pyenv/shims/python",
        None,
    ),
    (
        "rbenv",
        &[
            (".rbenv/shims/ruby", ""),
            (".rbenv/versions/3.3.0/bin/ruby", ""),
        ],
        &[(".rbenv/version", "3.3.0")],
        ".rbenv/shims/ruby",
        Some(".rbenv/versions/3.3.0/bin/ruby"),
    ),
    (
        "asdf, one version",
        ASDF,
        &[],
        ".asdf/shims/node",
        Some(".asdf/installs/nodejs/20.1.0/bin/node"),
    ),
    (
        "asdf, said",
        ASDF,
        &[
            (".tool-versions", "nodejs 20.1.0 # lts"),
            (".asdf/installs/nodejs/18.0.0/bin/node", ""),
        ],
        ".asdf/shims/node",
        Some(".asdf/installs/nodejs/20.1.0/bin/node"),
    ),
    (
        "asdf, not said",
        ASDF,
        &[(".asdf/installs/nodejs/18.0.0/bin/node", "")],
        ".asdf/shims/node",
        None,
    ),
    (
        "mise, said",
        MISE,
        &[(
            ".config/mise/config.toml",
            "[settings]\nx = \"1\"\n[tools]\nnode = \"20\"\n",
        )],
        ".local/share/mise/shims/node",
        Some(".local/share/mise/installs/node/20/bin/node"),
    ),
    (
        "mise, several",
        MISE,
        &[(
            ".config/mise/config.toml",
            "[tools]\nnode = ['latest', '20']\n",
        )],
        ".local/share/mise/shims/node",
        Some(".local/share/mise/installs/node/latest/bin/node"),
    ),
    (
        "mise, not said",
        MISE,
        &[],
        ".local/share/mise/shims/node",
        None,
    ),
    (
        "volta",
        VOLTA,
        &[(
            ".volta/tools/user/platform.json",
            r#"{"node":{"runtime":"20.11.0","npm":null},"pnpm":null,"yarn":null}"#,
        )],
        ".volta/bin/npx",
        Some(".volta/tools/image/node/20.11.0/bin/npx"),
    ),
    (
        "volta's npm",
        VOLTA,
        &[(
            ".volta/tools/user/platform.json",
            r#"{"node":{"runtime":"20.11.0","npm":"10.9.0"}}"#,
        )],
        ".volta/bin/npx",
        Some(".volta/tools/image/npm/10.9.0/bin/npx"),
    ),
    (
        "volta's package",
        VOLTA,
        &[],
        ".volta/bin/mcp-x",
        Some(".volta/tools/image/packages/@scope/x/bin/mcp-x"),
    ),
    ("volta, nothing chosen", VOLTA, &[], ".volta/bin/node", None),
    ("no stand-in", &[("bin/x", "")], &[], "bin/x", None),
];

#[test]
fn stand_ins_and_what_they_stand_for() {
    for (what, files, more, shim, real_path) in CASES {
        let (_kept, home) = home(&[*files, *more].concat());
        let found = real(&home.join(shim), &home);
        assert_eq!(found, real_path.map(|path| home.join(path)), "{what}");
    }
}

#[test]
fn what_hands_over_to_snapd_or_flatpak_is_known() {
    for (found, resolved, head, known) in [
        ("/snap/bin/node", "/usr/bin/snap", "", Some("snap")),
        (
            "/usr/bin/chromium-browser",
            "/usr/bin/chromium-browser",
            "#!/bin/sh\n# a stub\nexec /snap/bin/chromium \"$@\"\n",
            Some("snap"),
        ),
        ("/usr/bin/snap", "/usr/bin/snap", "", None),
        (
            "/var/lib/flatpak/exports/bin/org.x.Y",
            "/var/lib/flatpak/app/x",
            "#!/bin/sh\n",
            Some("flatpak"),
        ),
        (
            "/home/u/.local/share/flatpak/exports/bin/org.x.Y",
            "/x",
            "",
            Some("flatpak"),
        ),
        (
            "/usr/local/bin/x",
            "/usr/local/bin/x",
            "#!/bin/sh\nexec /usr/bin/flatpak run org.x.Y\n",
            Some("flatpak"),
        ),
        ("/usr/bin/python3", "/usr/bin/python3.11", "\u{7f}ELF", None),
        (
            "/usr/bin/npx",
            "/usr/lib/npx",
            "#!/bin/sh\nexec node \"$@\"\n",
            None,
        ),
    ] {
        let why = hands_over(Path::new(found), Path::new(resolved), head.as_bytes());
        assert_eq!(why.is_some(), known.is_some(), "{found}");
        assert!(
            why.unwrap_or_default().contains(known.unwrap_or_default()),
            "{found}"
        );
    }
}
