//! What stands in the files of a state: what reads, that a write which fails keeps what was there, and
//! that an approval is of nothing else. A test's name begins with its row.

use std::fs;

use crate::judge::{done, picture, refused, refuses};
use crate::support::state::{all_refuse, record, somebody, state};
use crate::support::{TestContext, Who, everybody, is_root, stderr, stdout};

#[test]
fn s6_texts_that_are_no_declarations() {
    let context = somebody(Who::Ordinary);
    let file = state(&context).join("mcp.json");
    let good = fs::read_to_string(&file).unwrap();
    let deep = format!(r#"{{"version":1,"mcpServers":{}"#, "[".repeat(200_000));
    for (text, place) in [
        ("", "line 1"),
        (" \n ", "line 2"),
        (&good[..good.len() / 2], "line "),
        (&good[..good.len() - 2], "line "),
        ("\u{feff}{}", "line 1, column 1"),
        ("{\"version\": 1,\n \"version\": 1}", "line 2, column 10"),
        ("{\"version\": 1,\n \"other\": {}}", "line 2"),
        ("{\"version\": 1,\n \"mcpServers\": []}", "line 2"),
        (
            "{\"version\": 1, \"mcpServers\": {\"a\": {\"command\": \"/bin/true\"}, \"a\": {}}}",
            "line 1",
        ),
        ("null", "line 1"),
        (&deep, "line 1"),
    ] {
        fs::write(&file, text).unwrap();
        let said = all_refuse(&context, "declarations-unreadable");
        assert!(
            said.contains(place) || said.replace("\n  ", " ").contains(place),
            "{place}: {said}"
        );
    }
    fs::write(&file, b"{\"version\": 1, \"mcpServers\": {\"\xff\": {}}}").unwrap();
    all_refuse(&context, "state-not-utf8");
    for part in ["mcp.json", "approved"] {
        fs::write(&file, &good).unwrap();
        let large = fs::OpenOptions::new()
            .write(true)
            .open(state(&context).join(part))
            .unwrap();
        large.set_len(1 << 30).unwrap();
        refuses(&context, &["run", "a"], 126, "state-too-large");
    }
}

/// One entry that cannot be used is a row; the others work, and it stays as it is written.
#[test]
fn s6_an_unknown_field_makes_its_entry_unusable() {
    let context = somebody(Who::Ordinary);
    let file = state(&context).join("mcp.json");
    let odd = r#""odd": {"command": "/bin/true",   "colour": "red"}"#;
    let text = fs::read_to_string(&file).unwrap();
    fs::write(
        &file,
        text.replace("\"mcpServers\": {", &format!("\"mcpServers\": {{\n{odd},")),
    )
    .unwrap();
    let list = context.run(&["list"]);
    assert_eq!(list.status.code(), Some(1));
    assert!(stdout(&list).contains("colour"), "{}", stdout(&list));
    refused(&context.run(&["run", "odd"]), 126, "entry-unusable");
    let (code, _) = context.host("a").end();
    assert_eq!(code, 0);
    done(&context.run(&["add", "b", "--", "/bin/true"]));
    assert!(fs::read_to_string(&file).unwrap().contains(odd));
}

#[test]
fn s6_approvals_that_do_not_read_approve_nothing() {
    let context = somebody(Who::Ordinary);
    let (list, record) = (state(&context).join("approved"), record(&context));
    let (good_list, good_record) = (
        fs::read_to_string(&list).unwrap(),
        fs::read_to_string(&record).unwrap(),
    );
    for bad in [
        good_list.trim_end().get(..40).unwrap().to_owned(),
        format!("{good_list}\n"),
        good_list.replace('\n', "\r\n"),
        good_list.replace("server", "Server"),
        format!("{good_list}server *\n"),
        "\u{feff}".to_owned() + &good_list,
    ] {
        fs::write(&list, &bad).unwrap();
        refuses(&context, &["run", "a"], 126, "approvals-unreadable");
        refuses(&context, &["remove", "a"], 126, "approvals-unreadable");
    }
    fs::write(&list, &good_list).unwrap();
    let longer = good_record.replacen('{', "{\"extra\": 1,", 1);
    let twice = good_record.replacen("\"version\": 1,", "\"version\": 1, \"version\": 1,", 1);
    let newer = good_record.replacen("\"version\": 1,", "\"version\": 2,", 1);
    for bad in [
        "",
        "{",
        &good_record[..good_record.len() / 2],
        "null",
        &longer,
        &twice,
        &newer,
    ] {
        fs::write(&record, bad).unwrap();
        refuses(&context, &["run", "a"], 126, "not-approved");
        assert_eq!(fs::read_to_string(&record).unwrap(), bad);
    }
    fs::write(&record, &good_record).unwrap();
    let (code, _) = context.host("a").end();
    assert_eq!(code, 0);
}

#[test]
fn s7_a_newer_version_is_refused() {
    let context = somebody(Who::Ordinary);
    let file = state(&context).join("mcp.json");
    for version in ["2", "18446744073709551615"] {
        fs::write(
            &file,
            format!("{{\"version\": {version}, \"mcpServers\": {{}}}}"),
        )
        .unwrap();
        all_refuse(&context, "declarations-newer");
    }
    // No version came before 1.
    for version in ["0", "-1", "1.0", "\"1\"", "99999999999999999999"] {
        fs::write(
            &file,
            format!("{{\"version\": {version}, \"mcpServers\": {{}}}}"),
        )
        .unwrap();
        all_refuse(&context, "declarations-unreadable");
    }
}

#[test]
fn s8_a_bound_on_file_size_keeps_the_old_content() {
    for who in everybody() {
        let context = somebody(who);
        let before = picture(&state(&context));
        let value = format!("BIG={}", "x".repeat(100_000));
        let mut command = context.command("/bin/sh");
        let script = "ulimit -f 8; exec \"$0\" \"$@\"";
        command.args(["-c", script, &TestContext::program("supervisor")]);
        command.args(["add", "b", "-e", &value, "--", "/bin/true"]);
        let output = command.output().unwrap();
        refused(&output, 125, "state-io");
        assert_eq!(before, picture(&state(&context)));
        let (code, _) = context.host("a").end();
        assert_eq!(code, 0);
    }
}

/// A file system of one page more than what is there, in a mount namespace of the command's.
#[test]
fn s8_a_full_disk_keeps_the_old_content() {
    if !is_root() {
        // Mounting is root's; a bound on file size fails the same write for everybody.
        return;
    }
    let context = TestContext::new(Who::Root);
    let small = context.make_directory("small");
    let script = r#"
        mount -t tmpfs -o size=64k,mode=700 none "$SMALL" || exit 99
        supervisor() { "$0" "$@"; }
        supervisor add a -- /bin/true >/dev/null || exit 98
        head -c 40000 /dev/zero > "$SMALL/filler"
        cp "$SMALL/state/mcp.json" /dev/shm/before.$$
        value=$(head -c 30000 /dev/zero | tr '\0' x)
        supervisor add b -e "BIG=$value" -- /bin/true
        echo "code $?"
        cmp "$SMALL/state/mcp.json" /dev/shm/before.$$ && echo same
        rm -f /dev/shm/before.$$ "$SMALL/filler"
        ls -A "$SMALL/state"
        supervisor list >/dev/null && echo listed
        supervisor add c -- /bin/true >/dev/null && echo added
    "#;
    let mut command = context.with_mounts(script);
    command
        .env("SMALL", &small)
        .env("SUPERVISOR_HOME", small.join("state"));
    let output = command.output().unwrap();
    let said = stdout(&output);
    for word in ["code 125", "same", "listed", "added"] {
        assert!(said.contains(word), "{word}: {said} {}", stderr(&output));
    }
    assert!(!said.contains(".new"), "{said}");
}

#[test]
fn s14_an_approval_is_of_one_declaration() {
    for who in everybody() {
        let context = somebody(who);
        let file = state(&context).join("mcp.json");
        let good = fs::read_to_string(&file).unwrap();
        for (from, to) in [
            ("\"/bin/true\"", "\"/bin/false\""),
            (
                "\"command\": \"/bin/true\"",
                "\"command\": \"/bin/true\", \"args\": [\"x\"]",
            ),
            (
                "\"command\": \"/bin/true\"",
                "\"command\": \"/bin/true\", \"dir\": \"/var/empty-dir\"",
            ),
            (
                "\"command\": \"/bin/true\"",
                "\"command\": \"/bin/true\", \"pass\": [\"TOKEN\"]",
            ),
            (
                "\"command\": \"/bin/true\"",
                "\"command\": \"/bin/true\", \"reads\": [{\"path\": \"/etc/hosts\", \"why\": \"flag\"}]",
            ),
            (
                "\"command\": \"/bin/true\"",
                "\"command\": \"/bin/true\", \"limits\": {\"processes\": 100000}",
            ),
            (
                "\"command\": \"/bin/true\"",
                "\"command\": \"/bin/true\", \"allow\": [\"pty\"]",
            ),
            (
                "\"command\": \"/bin/true\"",
                "\"command\": \"/bin/true\", \"without\": [\"P3\"]",
            ),
        ] {
            assert!(good.contains(from), "{good}");
            fs::write(&file, good.replace(from, to)).unwrap();
            let output = context.run(&["run", "a"]);
            let code = output.status.code();
            assert!(
                matches!(code, Some(126 | 127)),
                "{to}: {code:?} {}",
                stderr(&output)
            );
        }
    }
}

#[test]
fn s14_an_approval_is_copied_to_nothing_else() {
    for who in everybody() {
        let context = somebody(who);
        // Copied from another declaration: the line alone, and with the record renamed to it.
        done(&context.run(&["add", "b", "--", "/bin/echo"]));
        let get = context.run(&["get", "b", "--json"]);
        let get: serde_json::Value = serde_json::from_slice(&get.stdout).unwrap();
        let digest = get["digest"].as_str().unwrap();
        let list = state(&context).join("approved");
        let lines = fs::read_to_string(&list).unwrap();
        fs::write(&list, format!("{lines}server {digest} b\n")).unwrap();
        refused(&context.run(&["run", "b"]), 126, "not-approved");
        let copied = state(&context)
            .join("approvals")
            .join(format!("{digest}.json"));
        fs::copy(record(&context), &copied).unwrap();
        context.own(&copied);
        refused(&context.run(&["run", "b"]), 126, "not-approved");
        // From another person's state: their record of their own declaration of that name.
        let other = TestContext::new(who);
        other.approved("b", &[], &["/bin/echo", "other"]);
        fs::copy(record(&other), &copied).unwrap();
        refused(&context.run(&["run", "b"]), 126, "not-approved");
    }
}
