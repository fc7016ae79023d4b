//! The installed files for real: as root lays them down, and as somebody else might have. A test's
//! `/etc` is a copy that one process tree sees; only root can do that, and only root gives files
//! away, so all of this is tried where the tests are started as root: as root and as a user.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use crate::support::fleet::{OTHER, fleets};
use crate::support::{ORDINARY, Who, set_mode, stderr, stdout};

#[test]
fn missing_files_are_no_policy() {
    for (_, fleet) in fleets() {
        fleet.starts();
        fs::create_dir(fleet.at("")).unwrap();
        fleet.starts();
        fs::create_dir(fleet.at("managed.d")).unwrap();
        fleet.install("managed.d/README", "not a policy");
        fleet.install("managed.d/x.json.rpmsave", "not a policy");
        fleet.install("managed.d/.x.json.swp", "not a policy");
        fleet.install("other.json", "not a policy");
        fleet.starts();
        let check = fleet.run(&["policy", "check", "--installed"]);
        assert!(check.status.success() && stdout(&check).starts_with("no administrator's policy"));
    }
}

#[test]
fn a_file_of_roots_is_obeyed() {
    for (_, fleet) in fleets() {
        fleet.install("managed.json", OTHER);
        fleet.starts();
        for mode in [0o600, 0o640, 0o644, 0o444, 0o755] {
            fleet.install("managed.json", OTHER);
            fleet.install("managed.d/10.json", r#"{"mcp": {"allow": []}}"#);
            set_mode(&fleet.at("managed.d/10.json"), mode);
            let answer = fleet.answer(&["run", "a"]);
            assert!(answer["error"].is_object(), "{mode:o}: {answer}");
        }
        fleet.clear();
        fleet.starts();
    }
}

#[test]
fn what_somebody_else_owns_starts_nothing() {
    for (_, fleet) in fleets() {
        let file = fleet.install("managed.json", OTHER);
        let other = fleet.install("managed.d/10.json", OTHER);
        for path in [&file, &other, &fleet.at("managed.d"), &fleet.at("")] {
            let path = Path::new(path.to_str().unwrap().trim_end_matches('/'));
            chown(path, Some(ORDINARY), None).unwrap();
            fleet.nothing_starts("policy-owner", path);
            let check = fleet.run(&["policy", "check", "--installed"]);
            assert!(
                stderr(&check)
                    .replace("\n  ", " ")
                    .contains("belongs to user 54321, not to root")
            );
            chown(path, Some(0), None).unwrap();
        }
        // A group alone does not own.
        chown(&file, None, Some(ORDINARY)).unwrap();
        fleet.starts();
    }
}

#[test]
fn an_empty_directory_of_somebody_elses_starts_nothing() {
    for (_, fleet) in fleets() {
        fleet.install("managed.json", OTHER);
        fs::remove_file(fleet.at("managed.json")).unwrap();
        let place = PathBuf::from(fleet.at("").to_str().unwrap().trim_end_matches('/'));
        chown(&place, Some(ORDINARY), None).unwrap();
        fleet.nothing_starts("policy-owner", &place);
    }
}

#[test]
fn what_others_may_write_starts_nothing() {
    for (_, fleet) in fleets() {
        let file = fleet.install("managed.json", OTHER);
        let other = fleet.install("managed.d/10.json", OTHER);
        for mode in [0o664, 0o646, 0o666, 0o620, 0o602] {
            set_mode(&file, mode);
            fleet.refuses("policy-mode", &file);
        }
        set_mode(&file, 0o644);
        set_mode(&other, 0o664);
        fleet.nothing_starts("policy-mode", &other);
        set_mode(&other, 0o644);
        let place = PathBuf::from(fleet.at("").to_str().unwrap().trim_end_matches('/'));
        for (path, modes) in [
            (&fleet.at("managed.d"), [0o775, 0o1777]),
            (&place, [0o757, 0o1775]),
            (&fleet.etc.clone(), [0o775, 0o1777]),
        ] {
            for mode in modes {
                set_mode(path, mode);
                fleet.refuses("policy-mode", path);
            }
            set_mode(path, 0o755);
        }
        fleet.starts();
    }
}

#[test]
fn links_start_nothing() {
    for (_, fleet) in fleets() {
        let file = fleet.install("managed.json", OTHER);
        let away = fleet.etc.join("managed-away.json");
        fs::rename(&file, &away).unwrap();
        for target in [
            away.to_str().unwrap(),
            "/etc/managed-away.json",
            "../managed-away.json",
            "/nowhere",
        ] {
            symlink(target, &file).unwrap();
            fleet.nothing_starts("policy-link", &file);
            fs::remove_file(&file).unwrap();
        }
        fs::hard_link(&away, &file).unwrap();
        fleet.refuses("policy-link", &file);
        fs::remove_file(&file).unwrap();

        let directory = fleet.at("managed.d");
        symlink("/etc", &directory).unwrap();
        fleet.refuses("policy-link", &directory);
        fs::remove_file(&directory).unwrap();
        fs::create_dir(&directory).unwrap();
        symlink(&away, directory.join("10.json")).unwrap();
        fleet.refuses("policy-link", &directory.join("10.json"));

        fleet.clear();
        let place = PathBuf::from(fleet.at("").to_str().unwrap().trim_end_matches('/'));
        for target in ["/usr", "/nowhere"] {
            symlink(target, &place).unwrap();
            fleet.refuses("policy-link", &place);
            fs::remove_file(&place).unwrap();
        }
    }
}

#[test]
fn what_may_not_be_read_starts_nothing() {
    for (who, fleet) in fleets() {
        let file = fleet.install("managed.json", OTHER);
        let place = PathBuf::from(fleet.at("").to_str().unwrap().trim_end_matches('/'));
        fs::create_dir(fleet.at("managed.d")).unwrap();
        for (path, mode, named) in [
            (&file, 0o600, &file),
            (&fleet.at("managed.d"), 0o700, &fleet.at("managed.d")),
            (&place, 0o700, &file),
        ] {
            let open = if path == &file { 0o644 } else { 0o755 };
            set_mode(path, mode);
            match who {
                Who::Root => fleet.starts(),
                Who::Ordinary => fleet.nothing_starts("policy-unreadable", named),
            }
            set_mode(path, open);
        }
    }
}

#[test]
fn what_does_not_read_starts_nothing() {
    for (_, fleet) in fleets() {
        let whole = include_str!("../../policy/managed.example.json");
        for (text, code) in [
            ("", "policy-invalid"),
            (&whole[..whole.len() / 2], "policy-invalid"),
            ("{\"mcp\": {\"allowed\": []}}", "policy-invalid"),
            (
                "{\"mcp\": {\"floor\": {\"surface\": \"items\"}}}",
                "policy-invalid",
            ),
            ("{\"mcpServers\": {}, \"mcp\": {}}", "policy-invalid"),
            ("\u{0}\u{1}", "policy-invalid"),
        ] {
            let file = fleet.install("managed.json", text);
            fleet.refuses(code, &file);
            let check = fleet.run(&["policy", "check", "--installed"]);
            let said = stderr(&check).replace("\n  ", " ");
            assert!(
                said.contains("(owner root), line ") && said.contains("column"),
                "{said}"
            );
        }
        // One of many.
        fleet.install("managed.json", OTHER);
        fleet.install("managed.d/10.json", OTHER);
        let bad = fleet.install("managed.d/20.json", "{");
        fleet.nothing_starts("policy-invalid", &bad);
        fs::write(&bad, [b'"', 0xff, b'"']).unwrap();
        fleet.refuses("policy-unreadable", &bad);
    }
}

#[test]
fn huge_and_odd_files_start_nothing() {
    for (_, fleet) in fleets() {
        let file = fleet.install("managed.json", OTHER);
        fs::OpenOptions::new()
            .write(true)
            .open(&file)
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        fleet.refuses("policy-too-large", &file);
        fs::write(&file, " ".repeat(5 << 20)).unwrap();
        fleet.refuses("policy-too-large", &file);
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        fleet.refuses("policy-kind", &file);
        fs::remove_dir(&file).unwrap();
        nix::unistd::mkfifo(&file, nix::sys::stat::Mode::from_bits_truncate(0o644)).unwrap();
        fleet.refuses("policy-kind", &file);
        fs::remove_file(&file).unwrap();
        let _socket = UnixListener::bind(&file).unwrap();
        fleet.refuses("policy-kind", &file);
        fs::remove_file(&file).unwrap();

        fs::write(fleet.at("managed.d"), OTHER).unwrap();
        fleet.refuses("policy-kind", &fleet.at("managed.d"));
        fleet.clear();
        let place = PathBuf::from(fleet.at("").to_str().unwrap().trim_end_matches('/'));
        fs::write(&place, OTHER).unwrap();
        fleet.refuses("policy-kind", &place);
        fs::remove_file(&place).unwrap();

        for number in 0..=1000 {
            fleet.install(&format!("managed.d/{number}.json"), OTHER);
        }
        fleet.nothing_starts("policy-too-large", &fleet.at("managed.d"));
    }
}

/// No variable of the caller's moves the place.
#[test]
fn no_variable_moves_it() {
    for (_, fleet) in fleets() {
        fleet.install("managed.json", r#"{"mcp": {"allow": []}}"#);
        let mut command = fleet.command(&["explain", "a"]);
        for name in [
            "XDG_CONFIG_HOME",
            "XDG_CONFIG_DIRS",
            "SUPERVISOR_POLICY",
            "SUPERVISOR_CONFIG",
            "ETC",
        ] {
            command.env(name, "/nonexistent");
        }
        let output = command.output().unwrap();
        assert!(stdout(&output).contains("denied"), "{}", stdout(&output));
    }
}
