//! Attacks on files: promises P1, P2, P4, P5, P6.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::attack::{Attack, at};
use crate::support::{TestContext, Who, everybody, is_root};

#[test]
fn p1_reads_no_key_in_the_home() {
    for who in everybody() {
        let context = TestContext::new(who);
        let key = context.make_file("home/key", "secret");
        Attack::new(&context, &["read", &at(&key)]).is_held();
        Attack::new(&context, &["list", &at(&context.path("home"))]).is_held();
    }
}

#[test]
fn p1_reads_no_workspace_and_not_where_the_host_stood() {
    for who in everybody() {
        let context = TestContext::new(who);
        let file = context.make_file("work/source.txt", "secret");
        Attack::new(&context, &["read", &at(&file)]).is_held();
        Attack::new(&context, &["read", "@source.txt"]).is_held();
    }
}

#[test]
fn p1_reads_no_state_and_no_stored_value() {
    for who in everybody() {
        let context = TestContext::new(who);
        context.approved("other", &["-e", "TOKEN=secret"], &["/bin/true"]);
        for file in ["mcp.json", "approved"] {
            let path = context.path("home/.supervisor").join(file);
            Attack::new(&context, &["read", &at(&path)]).is_held();
        }
        Attack::new(&context, &["list", &at(&context.path("home/.supervisor"))]).is_held();
    }
}

#[test]
fn p1_reads_no_other_servers_home() {
    for who in everybody() {
        let context = TestContext::new(who);
        context.approved(
            "other",
            &[],
            &[&TestContext::program("fixture-server"), "echo"],
        );
        context.host("other").end();
        let homes = context.path("home/.supervisor/home");
        let home = fs::read_dir(&homes)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.is_dir());
        Attack::new(&context, &["list", &at(&home.unwrap())]).is_held();
    }
}

#[test]
fn p1_is_not_led_out_by_a_link_in_its_directory() {
    for who in everybody() {
        let context = TestContext::new(who);
        let key = context.make_file("home/key", "secret");
        let dir = context.make_directory("dir");
        let link = dir.join("link");
        let attack = Attack::new(&context, &["read-through-link", &at(&key), &at(&link)]);
        assert!(attack.alone().got);
        fs::remove_file(&link).unwrap();
        attack.with(&["--dir", dir.to_str().unwrap()]).is_stopped();
        assert!(link.is_symlink(), "the link itself was made");
    }
}

#[test]
fn p1_reads_no_file_that_others_may_not_read() {
    if !is_root() {
        // Nobody else can read it in the first place: there is no attack to show.
        assert!(fs::read("/etc/shadow").is_err());
        return;
    }
    Attack::new(&TestContext::new(Who::Root), &["read", "@/etc/shadow"]).is_held();
}

#[test]
fn p1_follows_no_way_through_proc() {
    for who in everybody() {
        let context = TestContext::new(who);
        let key = context.make_file("home/key", "secret");
        let path = format!("@/proc/self/root{}", key.display());
        Attack::new(&context, &["read", &path]).is_held();
    }
}

#[test]
fn p2_changes_nothing_outside() {
    for who in everybody() {
        let context = TestContext::new(who);
        let dir = context.make_directory("dir");
        let flags = ["--dir", dir.to_str().unwrap()];
        let outside = |name: &str| at(&context.make_file(&format!("outside/{name}"), "kept"));
        let inside = |name: &str| at(&dir.join(name));
        let new = at(&context.path("outside/new"));
        for words in [
            &["write", &new][..],
            &["open-write", &outside("overwritten")],
            &["truncate", &outside("truncated")],
            &["make-directory", &at(&context.path("outside/directory"))],
            &["link", &outside("linked"), &inside("linked")],
            &["rename", &outside("renamed"), &inside("renamed")],
        ] {
            let attack = Attack::new(&context, words).with(&flags);
            assert!(attack.alone().got, "{words:?}");
            // As it was before.
            for name in ["linked", "renamed"] {
                let _ = fs::remove_file(dir.join(name));
                context.make_file(&format!("outside/{name}"), "kept");
            }
            let _ = fs::remove_file(context.path("outside/new"));
            let _ = fs::remove_dir(context.path("outside/directory"));
            attack.is_stopped();
        }
        let removed = context.make_file("outside/removed", "kept");
        let attack = Attack::new(&context, &["remove", &at(&removed)]);
        assert!(attack.alone().got);
        context.make_file("outside/removed", "kept");
        attack.is_stopped();
        assert_eq!(fs::read_to_string(removed).unwrap(), "kept");
    }
}

#[test]
fn p2_writes_in_no_place_that_all_may_write() {
    for who in everybody() {
        let context = TestContext::new(who);
        for place in ["/tmp", "/var/tmp", "/dev/shm"] {
            let path = Path::new(place).join(format!("sv-escape-{}", std::process::id()));
            let attack = Attack::new(&context, &["write", &at(&path)]);
            assert!(attack.alone().got, "{place}");
            fs::remove_file(&path).unwrap();
            // What it writes there, if it may, is in memory of its own.
            attack.confined();
            assert!(!path.exists(), "{place}");
        }
    }
}

#[test]
fn p2_adds_nothing_to_its_own_installation() {
    for who in everybody() {
        let context = TestContext::new(who);
        context.make_directory("app");
        let program = context.path("app/probe");
        fs::copy(TestContext::program("fixture-probe"), &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let new = at(&context.path("app/new"));
        assert!(Attack::new(&context, &["write", &new]).alone().got);
        fs::remove_file(context.path("app/new")).unwrap();
        context.approved("own", &[], &[program.to_str().unwrap(), "write", &new]);
        let mut host = context.host("own");
        assert_eq!(host.message()["params"]["got"], false);
        host.end();
    }
}

#[test]
fn p2_writes_in_its_directory_and_its_home() {
    for who in everybody() {
        let context = TestContext::new(who);
        let dir = context.make_directory("dir");
        let flags = ["--dir", dir.to_str().unwrap()];
        Attack::new(&context, &["write", &at(&dir.join("new"))])
            .with(&flags)
            .is_allowed();
        assert_eq!(fs::read_to_string(dir.join("new")).unwrap(), "written");
        // The private temporary directory is where a server without --dir starts.
        Attack::new(&context, &["write", "@new"]).is_allowed();
    }
}

#[test]
fn p4_executes_nothing_it_does_not_get() {
    for who in everybody() {
        let context = TestContext::new(who);
        let program = context.path("home/program");
        fs::copy(TestContext::program("fixture-probe"), &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Attack::new(&context, &["execute", &at(&program)]).is_held();
    }
}

#[test]
fn p4_gains_nothing_by_a_set_uid_program() {
    if !is_root() {
        // Only root can make the program that would gain; the bit itself is what is tried.
        let context = TestContext::ordinary();
        let said = Attack::new(&context, &["status", "NoNewPrivs"]).confined();
        assert_eq!((said.got, said.detail.as_str()), (true, "1"));
        return;
    }
    let context = TestContext::ordinary();
    let installation = context.path("set-uid");
    fs::create_dir(&installation).unwrap();
    let program = installation.join("program");
    fs::copy(TestContext::program("fixture-probe"), &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    let path = installation.to_str().unwrap();
    Attack::new(&context, &["set-uid-gains", &at(&program)])
        .with(&["-e", &format!("PATH={path}")])
        .is_held();
}

#[test]
fn p5_makes_no_device() {
    if !is_root() {
        assert!(
            !Attack::new(&TestContext::ordinary(), &["make-device", "@device"])
                .confined()
                .got
        );
        return;
    }
    let context = TestContext::new(Who::Root);
    let dir = context.make_directory("dir");
    let device = dir.join("device");
    let attack = Attack::new(&context, &["make-device", &at(&device)]);
    assert!(attack.alone().got);
    fs::remove_file(&device).unwrap();
    attack.with(&["--dir", dir.to_str().unwrap()]).is_stopped();
}

#[test]
fn p6_mounts_and_watches_nothing() {
    for who in everybody() {
        let context = TestContext::new(who);
        let home = at(&context.path("home"));
        let dir = context.make_directory("dir");
        let watch = Attack::new(&context, &["fanotify", &home]);
        let mount = Attack::new(&context, &["mount", &at(&dir)]);
        if who == Who::Root {
            watch.is_held();
            mount.is_held();
        } else {
            watch.is_stopped();
            mount.is_stopped();
        }
    }
}

#[test]
fn g1_no_directory_in_a_repository() {
    let context = TestContext::ordinary();
    let dir = context.make_directory("repository/below");
    context.make_directory("repository/.git");
    let add = |dir: &Path| {
        context.run(&[
            "add",
            "x",
            "--dir",
            dir.to_str().unwrap(),
            "--",
            "/bin/true",
        ])
    };
    assert_eq!(add(&dir).status.code(), Some(126));
    assert_eq!(add(&context.path("repository")).status.code(), Some(126));
    let above = context.make_directory("above");
    context.make_directory("above/deep/project/.git");
    assert_eq!(add(&above).status.code(), Some(126));
    let plain = context.make_directory("plain");
    let link = context.path("link");
    symlink(&dir, &link).unwrap();
    assert_eq!(add(&link).status.code(), Some(126));
    assert_eq!(add(&plain).status.code(), Some(0));
}

#[test]
fn g1_is_checked_again_at_each_start() {
    let context = TestContext::ordinary();
    let dir = context.make_directory("dir");
    let flags = ["--dir", dir.to_str().unwrap()];
    context.approved(
        "echo",
        &flags,
        &[&TestContext::program("fixture-server"), "echo"],
    );
    let mut host = context.host("echo");
    assert!(host.initialize().get("result").is_some());
    host.end();
    context.make_directory("dir/.git");
    let mut host = context.host("echo");
    let answer = host.initialize();
    assert_eq!(answer["error"]["data"]["code"], "dir-refused");
    assert_eq!(host.end().0, 126);
}

#[test]
fn p3_changes_no_mode_and_no_time_outside() {
    for who in everybody() {
        let context = TestContext::new(who);
        let file = context.make_file("outside/file", "kept");
        let before = fs::metadata(&file).unwrap();
        for words in [["mode", &at(&file)], ["time", &at(&file)]] {
            let attack = Attack::new(&context, &words);
            assert!(attack.alone().got, "{words:?}");
            context.make_file("outside/file", "kept");
            if !attack.claims("P3") {
                continue;
            }
            attack.is_stopped();
            assert_eq!(
                fs::metadata(&file).unwrap().permissions(),
                before.permissions()
            );
        }
        // What it may read it may not change either.
        let path = file.to_str().unwrap();
        let read = Attack::new(&context, &["mode", &at(&file)]).with(&["--read", path]);
        if read.claims("P3") {
            read.is_stopped();
        }
        let dir = context.make_directory("dir");
        let own = context.make_file("dir/own", "x");
        Attack::new(&context, &["mode", &at(&own)])
            .with(&["--dir", dir.to_str().unwrap()])
            .is_allowed();
    }
}

#[test]
fn p6_watches_no_path_outside() {
    for who in everybody() {
        let context = TestContext::new(who);
        Attack::new(&context, &["watch", &at(&context.path("outside"))])
            .is_held_where_claimed("P6");
        let dir = context.make_directory("dir");
        let flags = ["--dir", dir.to_str().unwrap()];
        Attack::new(&context, &["watch", &at(&dir)])
            .with(&flags)
            .is_allowed();
    }
}

#[test]
fn p7_sees_no_name_and_opens_no_fifo_outside() {
    for who in everybody() {
        let context = TestContext::new(who);
        let file = context.make_file("outside/file", "kept");
        Attack::new(&context, &["see", &at(&file)]).is_held_where_claimed("P7");
        let fifo = context.path("outside/fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::from_bits_truncate(0o666)).unwrap();
        fs::set_permissions(&fifo, fs::Permissions::from_mode(0o666)).unwrap();
        Attack::new(&context, &["fifo", &at(&fifo)]).is_held();
    }
}

/// P4: no program that whoever executes it runs as the person.
#[test]
fn p4_leaves_no_set_uid_program() {
    for who in everybody() {
        let context = TestContext::new(who);
        let attack = Attack::new(&context, &["set-id", "@made", "4000"]);
        attack.is_held();
    }
}
