//! What each entry of an administrator's policy catches and what it does not, as `policy test` says it.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::{TestContext, everybody, flat, set_mode, stderr, stdout};

/// Why a line is denied, or how it is allowed, under this policy: as `policy test` says it.
fn tested(context: &TestContext, policy: &Value, words: &[&str]) -> (i32, String) {
    context.make_file("work/managed.json", &policy.to_string());
    let output = context.run(&[&["policy", "test", "managed.json"], words].concat());
    (
        output.status.code().unwrap(),
        flat(&(stdout(&output) + &stderr(&output))),
    )
}

fn script(context: &TestContext, name: &str, text: &str) -> String {
    let path = context.make_file(name, text);
    set_mode(&path, 0o755);
    path.to_str().unwrap().to_owned()
}

#[test]
fn what_a_deny_entry_catches_and_what_it_does_not() {
    for who in everybody() {
        let context = TestContext::new(who);
        let denied = script(&context, "work/denied", "#!/bin/sh\n");
        let at = |name: &str| context.path(name).to_str().unwrap().to_owned();
        symlink(&denied, at("work/link")).unwrap();
        symlink(at("work/link"), at("work/link-to-link")).unwrap();
        symlink(at("work"), at("linked")).unwrap();
        fs::copy(&denied, at("work/copy")).unwrap();
        let any = json!({"mcp": {"deny": [{"command": [denied, "…"]}]}});
        let exact = json!({"mcp": {"deny": [{"command": [denied]}]}});
        let shell = json!({"mcp": {"deny": [{"command": [real("/bin/sh"), "…"]}]}});
        let (link, twice, copy) = (at("work/link"), at("work/link-to-link"), at("work/copy"));
        let by_link = at("linked/denied");
        for (policy, line, exit) in [
            (&any, &[denied.as_str()][..], 126),
            (&any, &[&denied, "--more"], 126),
            (&any, &["./denied"], 126),
            (&any, &["../work/./denied"], 126),
            (&any, &[&link], 126),
            (&any, &[&twice, "x"], 126),
            (&any, &[&by_link], 126),
            // Not caught: another file, and what another program does with it.
            (&any, &[&copy], 0),
            (&any, &["/bin/sh", &denied], 0),
            (&any, &["/usr/bin/env", &denied], 0),
            (&exact, &[&denied], 126),
            (&exact, &[&denied, "--more"], 0),
            // A script is what its interpreter runs.
            (&shell, &[&denied], 126),
            (&shell, &["/bin/sh", "-c", "true"], 126),
            (&shell, &["/usr/bin/env", "sh"], 0),
        ] {
            let words: Vec<&str> = [&["--"], line].concat();
            let (code, said) = tested(&context, policy, &words);
            assert_eq!(code, exit, "{policy} {line:?}: {said}");
            // The same line under a list that names the program alone.
            let list = json!({"mcp": {"allow": [{"command": [denied]}]}});
            let (code, said) = tested(&context, &list, &words);
            let named = line.len() == 1
                && [denied.as_str(), "./denied", "../work/./denied"].contains(&line[0]);
            assert_eq!(code, if named { 0 } else { 126 }, "allow {line:?}: {said}");
        }
        // Another letter case is another file, or none.
        let (code, _) = tested(&context, &any, &["--", &at("work/DENIED")]);
        assert_eq!(code, 0);
    }
}

/// Where links lead.
fn real(path: &str) -> String {
    fs::canonicalize(path).unwrap().to_str().unwrap().to_owned()
}

#[test]
fn content_is_known_wherever_it_lies() {
    use std::fmt::Write as _;
    for who in everybody() {
        let context = TestContext::new(who);
        let text = "#!/bin/sh\nexit 3\n";
        let program = script(&context, "work/program", text);
        let copy = script(&context, "work/copy", text);
        let changed = script(&context, "work/changed", "#!/bin/sh\nexit 4\n");
        let sum = std::process::Command::new("sha256sum")
            .arg(&program)
            .output()
            .unwrap();
        let mut sha256 = String::new();
        write!(sha256, "{}", &stdout(&sum)[..64]).unwrap();
        let deny = json!({"mcp": {"deny": [{"sha256": sha256}]}});
        let both = json!({"mcp": {"allow": [{"command": [program, "…"], "sha256": sha256.to_uppercase()}]}});
        for (policy, line, exit) in [
            (&deny, [program.as_str(), "x"], 126),
            (&deny, [&copy, "x"], 126),
            (&deny, [&changed, "x"], 0),
            (&both, [&program, "x"], 0),
            (&both, [&copy, "x"], 126),
            (&both, [&changed, "x"], 126),
        ] {
            let (code, said) = tested(&context, policy, &["--", line[0], line[1]]);
            assert_eq!(code, exit, "{policy} {line:?}: {said}");
        }
        fs::write(&program, "#!/bin/sh\nexit 5\n").unwrap();
        let (code, said) = tested(&context, &both, &["--", &program, "x"]);
        assert!(code == 126 && said.contains("another content"), "{said}");
        // A fleet's file is tested where its programs are not.
        let elsewhere = json!({"mcp": {"allow": [{"command": ["/opt/x"], "sha256": sha256}]}});
        assert_eq!(tested(&context, &elsewhere, &["--", "/opt/x"]).0, 126);
        assert_eq!(
            tested(&context, &elsewhere, &["--sha256", &sha256, "--", "/opt/x"]).0,
            0
        );
        assert_eq!(
            tested(&context, &elsewhere, &["--", "not-on-this-machine"]).0,
            127
        );
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a few lines a case")]
fn what_an_allowed_command_may_be_given() {
    for who in everybody() {
        let context = TestContext::new(who);
        let entry = |bounds: Value| {
            let mut entry = json!({"command": ["/bin/cat"]});
            entry
                .as_object_mut()
                .unwrap()
                .extend(bounds.as_object().unwrap().clone());
            json!({"mcp": {"allow": [entry]}})
        };
        let (none, key) = (
            entry(json!({})),
            entry(json!({"env": ["KEY", "LD_PRELOAD"]})),
        );
        let (empty, no_dir) = (entry(json!({"env": []})), entry(json!({"dir": false})));
        for (policy, flags, word) in [
            (&none, &["-e", "NODE_OPTIONS"][..], None),
            (&none, &["-e", "LD_PRELOAD"], Some("acts on the loader")),
            (&none, &["--dir", "."], None),
            (&key, &["-e", "KEY"], None),
            (&key, &["-e", "LD_PRELOAD"], None),
            (&key, &["-e", "LD_AUDIT"], Some("acts on the loader")),
            (&key, &["-e", "KEY", "-e", "OTHER"], Some("given OTHER")),
            (&empty, &[], None),
            (&empty, &["-e", "KEY"], Some("given KEY")),
            // Every directory of the tests' PATH is root's alone.
            (&empty, &["-e", "PATH"], None),
            (&no_dir, &[], None),
            (&no_dir, &["--dir", "."], Some("given a --dir")),
        ] {
            let words = [flags, &["--", "/bin/cat"]].concat();
            let (code, said) = tested(&context, policy, &words);
            assert_eq!(
                code,
                if word.is_some() { 126 } else { 0 },
                "{policy} {flags:?}: {said}"
            );
            assert!(said.contains(word.unwrap_or("allow")), "{said}");
        }
        // `PATH` chooses what `#!/usr/bin/env` runs: one of the person's must be named.
        let own = script(&context, "work/own", "#!/usr/bin/env cat\n");
        context.make_file(
            "work/managed.json",
            &json!({"mcp": {"allow": [{"command": [own], "env": []}]}}).to_string(),
        );
        for (path, exit) in [
            ("/usr/bin:/bin".to_owned(), 0),
            (format!("{}:/usr/bin", context.path("home").display()), 126),
            (
                format!("/usr/bin:{}", context.path("home/not-there").display()),
                126,
            ),
        ] {
            let mut command = context.supervisor(&["policy", "test", "managed.json", "--", &own]);
            let output = command.env("PATH", &path).output().unwrap();
            assert_eq!(
                output.status.code(),
                Some(exit),
                "{path}: {}",
                stdout(&output)
            );
        }
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a few lines a case")]
fn floors() {
    let context = TestContext::ordinary();
    let floor = |floor: Value| json!({"mcp": {"floor": floor}});
    let cat: &[&str] = &["--", "/bin/cat"];
    let npx = |package: &'static str| vec!["--", "/usr/bin/npx", "-y", package];
    for (policy, flags, line, word) in [
        (
            floor(json!({"network": "none"})),
            &[][..],
            cat.to_vec(),
            Some("floor network: none"),
        ),
        (
            floor(json!({"network": "none"})),
            &["--net", "none"],
            cat.to_vec(),
            None,
        ),
        (floor(json!({"network": "full"})), &[], cat.to_vec(), None),
        (
            floor(json!({"pinned": true})),
            &[],
            cat.to_vec(),
            Some("floor pinned: true"),
        ),
        (
            floor(json!({"pinned": true})),
            &["--pin", "program"],
            cat.to_vec(),
            None,
        ),
        (
            floor(json!({"pinned": true})),
            &["--pin", "program"],
            npx("a@latest"),
            Some("no exact version"),
        ),
        (
            floor(json!({"pinned": true})),
            &["--pin", "program"],
            npx("a@1.0.0"),
            None,
        ),
        (
            floor(json!({"runners": false})),
            &[],
            npx("a@1.0.0"),
            Some("floor runners: false"),
        ),
        (floor(json!({"runners": false})), &[], cat.to_vec(), None),
        (
            floor(json!({"landlock_abi": 99})),
            &[],
            cat.to_vec(),
            Some("floor landlock_abi: 99"),
        ),
        (floor(json!({"landlock_abi": 1})), &[], cat.to_vec(), None),
        (
            floor(json!({"promises": "all"})),
            &["--without", "P3"],
            cat.to_vec(),
            Some("gives up P3"),
        ),
        (
            floor(json!({"promises": ["R5"]})),
            &["--without", "P3,R5"],
            cat.to_vec(),
            Some("gives up R5"),
        ),
        (
            floor(json!({"promises": ["R5"]})),
            &["--without", "P3"],
            cat.to_vec(),
            None,
        ),
        (
            floor(json!({"promises": []})),
            &["--without", "P3"],
            cat.to_vec(),
            None,
        ),
    ] {
        let words = [flags, &line].concat();
        let (code, said) = tested(&context, &policy, &words);
        assert_eq!(
            code,
            if word.is_some() { 126 } else { 0 },
            "{policy} {words:?}: {said}"
        );
        assert!(said.contains(word.unwrap_or("allowed")), "{said}");
    }
    // A floor never tightens a plan: it refuses it. A pin may be the administrator's.
    let sum = std::process::Command::new("sha256sum")
        .arg("/bin/cat")
        .output()
        .unwrap();
    let sha256 = stdout(&sum)[..64].to_owned();
    let pinned = json!({"mcp": {"allow": [{"command": ["/bin/cat"], "sha256": sha256}], "floor": {"pinned": true}}});
    assert_eq!(tested(&context, &pinned, cat).0, 0);
}
