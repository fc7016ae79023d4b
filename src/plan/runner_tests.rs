use super::*;
use proptest::prelude::*;

fn read(line: &str) -> Option<Runner> {
    recognise(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
}

#[track_caller]
fn runs(line: &str, packages: &[&str], exact: bool) {
    let runner = read(line).unwrap();
    assert!(!runner.unknown_flag, "{line}");
    assert_eq!(
        (
            runner
                .packages
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>(),
            runner.exact
        ),
        (packages.to_vec(), exact),
        "{line}"
    );
}

#[test]
fn npm_packages() {
    for spec in [
        "pkg@1.2.3",
        "@s/p@1.2.3",
        "pkg@1.2.3-beta.1",
        "pkg@1.2.3+b.2",
        "pkg@v1.2.3",
        "a@npm:b@1.2.3",
        "github:u/r#0123456789012345678901234567890123456789",
    ] {
        runs(&format!("npx -y {spec}"), &[spec], true);
    }
    for spec in [
        "pkg",
        "@s/p",
        "pkg@",
        "pkg@1",
        "pkg@1.2",
        "pkg@1.2.x",
        "pkg@^1.2.3",
        "pkg@~1.2.3",
        "pkg@>=1.0.0",
        "pkg@*",
        "pkg@latest",
        "@s/p@next",
        "github:u/r",
        "a@npm:b@1",
        "https://example.com/p.tgz",
        "./local",
        "git+ssh://x/y#v1.2.3",
        "pkg@1.2.3.4",
        "pkg@1.2.3||2.0.0",
    ] {
        runs(&format!("npx {spec}"), &[spec], false);
    }
}

#[test]
fn words_of_npx() {
    runs("npx -y -- pkg@1.2.3 --config x@1", &["pkg@1.2.3"], true);
    runs("npx -p pkg@1.2.3 cmd", &["pkg@1.2.3"], true);
    runs("npx -p a@1.0.0 -p b cmd", &["a@1.0.0", "b"], false);
    runs("npx --package=pkg@1.2.3 cmd", &["pkg@1.2.3"], true);
    runs(
        "npx --registry https://r.example pkg@1.2.3",
        &["pkg@1.2.3"],
        true,
    );
    runs("npx -yq pkg@1.2.3", &["pkg@1.2.3"], true);
    runs("npx pkg --version 1.2.3", &["pkg"], false);
    runs("/opt/bin/npx pkg", &["pkg"], false);
    runs("npx", &[], false);
    runs("npm exec -- pkg@1.2.3", &["pkg@1.2.3"], true);
    runs("npm exec --yes pkg@1.2.3 -- --a", &["pkg@1.2.3"], true);
    runs("npm --silent exec --yes -- pkg@^1", &["pkg@^1"], false);
    runs("npm x pkg", &["pkg"], false);
    runs("npm exec cmd@1.2.3 --package=other", &["other"], false);
    runs("npm exec pkg@1.2.3 --unknown x -y", &["pkg@1.2.3"], true);
    runs(
        "npm exec pkg@1.2.3 -- --package other",
        &["pkg@1.2.3"],
        true,
    );
    runs("bunx --bun pkg@1.2.3", &["pkg@1.2.3"], true);
    runs("bun x pkg", &["pkg"], false);
    runs("pnpm dlx --package=pkg@1.2 cmd", &["pkg@1.2"], false);
    runs("pnpm --silent dlx pkg@1.2.3", &["pkg@1.2.3"], true);
    runs("yarn dlx -p pkg@1.2.3 cmd", &["pkg@1.2.3"], true);
    assert!(read("npx pkg").unwrap().fetches);
    assert!(!read("npx --no-install pkg").unwrap().fetches);
    assert_eq!(read("npm exec pkg").unwrap().name, "npm exec");
}

#[test]
fn python_packages() {
    for spec in [
        "pkg==1.2.3",
        "pkg@1.2.3",
        "pkg[cli]==1.2",
        "pkg===1.2.3",
        "pkg==2024.1.post1",
    ] {
        runs(&format!("uvx --from {spec} cmd"), &[spec], true);
    }
    for spec in [
        "pkg",
        "pkg@latest",
        "pkg>=1.0",
        "pkg==1.*",
        "pkg~=1.2",
        "pkg>=1,<2",
        "pkg==1.2,!=1.3",
        "git+https://example.com/r",
        "./local",
        "https://x/p.whl",
    ] {
        runs(&format!("uvx {spec}"), &[spec], false);
    }
    runs(
        "uvx --with mcp==1.30.0 --python 3.12 pkg==1",
        &["pkg==1", "mcp==1.30.0"],
        true,
    );
    runs("uvx --with mcp pkg==1", &["pkg==1", "mcp"], false);
    runs("uv tool run --from pkg==1.2.3 cmd", &["pkg==1.2.3"], true);
    runs("uv --quiet tool run pkg", &["pkg"], false);
    runs(
        "uvx --with-requirements /x pkg==1.2.3",
        &["pkg==1.2.3"],
        false,
    );
    runs("pipx run --spec pkg==1.2.3 cmd", &["pkg==1.2.3"], true);
    runs("pipx run pkg", &["pkg"], false);
    assert!(!read("uvx --offline pkg").unwrap().fetches);
}

#[test]
fn go_and_deno() {
    runs(
        "go run example.com/m@latest",
        &["example.com/m@latest"],
        false,
    );
    runs(
        "go run -mod=mod example.com/m/cmd/x@v1.2.3 arg",
        &["example.com/m/cmd/x@v1.2.3"],
        true,
    );
    runs(
        "go run example.com/m@v0.0.0-20240102030405-0123456789ab",
        &["example.com/m@v0.0.0-20240102030405-0123456789ab"],
        true,
    );
    runs(
        "deno run -A npm:@s/p@1.2.3/bin",
        &["npm:@s/p@1.2.3/bin"],
        true,
    );
    runs(
        "deno run --allow-net=example.com --unstable-kv npm:pkg@1.2.3",
        &["npm:pkg@1.2.3"],
        true,
    );
    runs("deno run npm:pkg", &["npm:pkg"], false);
    runs("deno run npm:pkg/bin@1.2.3", &["npm:pkg/bin@1.2.3"], true);
    runs("deno run jsr:@s/p@1.2.3", &["jsr:@s/p@1.2.3"], true);
    runs(
        "deno run https://example.com/x@1.2.3/mod.ts",
        &["https://example.com/x@1.2.3/mod.ts"],
        false,
    );
}

#[test]
fn a_flag_that_is_not_known_hides_the_package() {
    for line in [
        "npx --frobnicate pkg@1.2.3",
        "npx -y --zap x pkg@1.2.3",
        "npm exec --frob pkg@1.2.3",
        "npm --frob exec pkg@1.2.3",
        "bunx --frob pkg@1.2.3",
        "uvx --frob pkg==1.2.3",
        "pipx run --frob pkg==1.2.3",
        "npx -p",
        "npx -Z pkg@1.2.3",
    ] {
        let runner = read(line).unwrap();
        assert!(
            runner.unknown_flag && runner.fetches && runner.packages.is_empty(),
            "{line}"
        );
    }
    runs("npx pkg@1.2.3 --frobnicate", &["pkg@1.2.3"], true);
}

#[test]
fn what_fetches_no_package_by_its_name() {
    for line in [
        "npm run x",
        "npm start",
        "npm",
        "pnpm exec x",
        "yarn start",
        "yarn",
        "uv run x",
        "uv pip list",
        "uv tool list",
        "uv",
        "pipx list",
        "cargo run",
        "node x.js",
        "python3 -m pkg",
        "go run .",
        "go run ./cmd/x",
        "go build x@v1.2.3",
        "deno run main.ts",
        "deno task x",
        "bun x.ts",
        "bun run x",
        "notnpx pkg",
        "echo npx pkg",
        "docker ps",
        "",
    ] {
        let fetches = |runner: Runner| runner.fetches && !runner.of_project;
        assert!(!read(line).is_some_and(fetches), "{line}");
    }
    assert_eq!(recognise(&[]), None);
}

#[test]
fn what_a_project_on_disk_says() {
    for (line, project, script) in [
        ("npm run start --prefix /p", Some("/p"), "start"),
        (
            "npm --prefix=/p run start -- --prefix /q",
            Some("/p"),
            "start",
        ),
        ("pnpm -C /p run serve", Some("/p"), "serve"),
        ("yarn --cwd /p run serve", Some("/p"), "serve"),
        ("bun --cwd /p run index.ts", Some("/p"), "index.ts"),
        (
            "uv --directory /p run server.py --port 1",
            Some("/p"),
            "server.py",
        ),
        (
            "uv run --project /p --with mcp==1.30.0 server",
            Some("/p"),
            "server",
        ),
        ("poetry -C /p run serve", Some("/p"), "serve"),
        (
            "cargo run --manifest-path /p/Cargo.toml",
            Some("/p/Cargo.toml"),
            "",
        ),
        ("uv run server.py", None, "server.py"),
    ] {
        let runner = read(line).unwrap();
        assert!(runner.of_project, "{line}");
        assert_eq!(runner.project.as_deref(), project, "{line}");
        assert_eq!(
            runner.script.as_deref().unwrap_or_default(),
            script,
            "{line}"
        );
    }
    let pinned = |line: &str| read(line).unwrap().pinned;
    assert!(pinned("uv run --with mcp==1.30.0 x") && pinned("uv run x"));
    assert!(!pinned("uv run --with mcp x") && !pinned("uv run --frob x"));
}

proptest! {
    #[test]
    fn any_words_are_read(words in proptest::collection::vec("[-a-z@=./:0-9é]{0,12}", 0..6), runner in 0..RUNNERS.len()) {
        let mut argv: Vec<String> = RUNNERS[runner].words.iter().map(|word| (*word).to_owned()).collect();
        argv.extend(words);
        if let Some(runner) = recognise(&argv) {
            prop_assert!(!(runner.exact && runner.unknown_flag));
            prop_assert!(!(runner.exact && runner.packages.is_empty()));
        }
    }
}
