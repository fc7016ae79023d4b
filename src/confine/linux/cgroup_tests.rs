use super::*;

const UNIFIED: &str = "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

fn placed(mountinfo: &str, own: &str) -> Option<(PathBuf, PathBuf)> {
    place(mountinfo, own_path(own)?)
}

/// A usual place is believed where a hierarchy is mounted there and the group lists this process.
#[test]
fn where_it_is_mounted_as_a_rule_the_group_must_list_this_process() {
    let base = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| base.path().join(name));
    let places = [&first, &second];
    for (place, members) in [(&first, "1\n2\n".to_owned()), (&second, own_member())] {
        fs::create_dir_all(place.join("app.scope")).unwrap();
        fs::write(place.join("app.scope/cgroup.procs"), members).unwrap();
    }
    let own = Path::new("/app.scope");
    let found = Some((second.clone(), second.join("app.scope")));
    assert_eq!(usual(own, &places, |_| true), found);
    assert_eq!(usual(own, &places, |at| at == first), None, "of others");
    assert_eq!(usual(own, &places, |_| false), None);
    for other in ["/", "/not/there", "/../second/app.scope", "app.scope"] {
        assert_eq!(usual(Path::new(other), &places, |_| true), None, "{other}");
    }
    // A longer number that begins so is another process.
    let longer = format!("{}0\n", std::process::id());
    fs::write(second.join("app.scope/cgroup.procs"), longer).unwrap();
    assert_eq!(usual(own, &places, |_| true), None);
}

fn own_member() -> String {
    format!("1\n{}\n", std::process::id())
}

#[test]
fn the_own_group_is_found_wherever_it_is_mounted() {
    let both = |at: &str, own: &str| Some((PathBuf::from(at), PathBuf::from(own)));
    let app = "0::/user.slice/user-1000.slice/app.scope\n";
    assert_eq!(
        placed(UNIFIED, app),
        both(
            "/sys/fs/cgroup",
            "/sys/fs/cgroup/user.slice/user-1000.slice/app.scope"
        )
    );
    // Beside version 1, and at a path with a space in it.
    let hybrid = "40 31 0:37 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                  41 31 0:38 / /c\\040g/unified rw - cgroup2 cgroup2 rw\n";
    assert_eq!(
        placed(hybrid, "4:memory:/x\n0::/\n"),
        both("/c g/unified", "/c g/unified")
    );
    // A part of it, as containers have it.
    let part = "31 23 0:28 /user.slice /cgroups rw shared:9 - cgroup2 cgroup2 rw\n";
    assert_eq!(
        placed(part, app),
        both("/cgroups", "/cgroups/user-1000.slice/app.scope")
    );
}

#[test]
fn a_group_out_of_sight_is_none() {
    let part = "31 23 0:28 /elsewhere /cgroups rw - cgroup2 cgroup2 rw\n";
    assert_eq!(placed(part, "0::/user.slice\n"), None);
    assert_eq!(placed(UNIFIED, "0::/../outside\n"), None);
    assert_eq!(placed(UNIFIED, "4:memory:/x\n"), None);
    assert_eq!(placed("", "0::/\n"), None);
}

#[test]
fn a_name_tells_who_made_it() {
    let maker = Maker {
        namespace: 4_026_531_836,
        pid: 77,
        started: 123,
    };
    assert_eq!(maker.name(5), "supervisor-4026531836-77-123-5");
    assert_eq!(Maker::named(&maker.name(5)), Some(maker));
    for other in [
        "supervisor",
        "supervisor-1-2-3",
        "supervisor-1-2-3-4-5",
        "supervisor-01-2-3-4",
        "supervisor-a-2-3-4",
        "app.slice",
    ] {
        assert_eq!(Maker::named(other), None, "{other}");
    }
    assert!(Maker::this().unwrap().lives());
    assert!(
        !Maker {
            started: 0,
            ..Maker::this().unwrap()
        }
        .lives()
    );
}

/// A directory with the files that a group has.
fn group(at: &Path, controllers: &str, enabled: &str) {
    fs::create_dir_all(at).unwrap();
    fs::write(at.join("cgroup.procs"), "").unwrap();
    fs::write(at.join("cgroup.controllers"), controllers).unwrap();
    fs::write(at.join("cgroup.subtree_control"), enabled).unwrap();
}

#[test]
fn controllers_are_there_or_are_enabled() {
    let base = tempfile::tempdir().unwrap();
    let at = base.path();
    group(at, "cpu memory pids", "memory pids");
    can_divide(at).unwrap();
    group(at, "cpu memory pids", "cpu");
    can_divide(at).unwrap();
    let written = fs::read_to_string(at.join("cgroup.subtree_control")).unwrap();
    assert_eq!(written, "+memory +pids");
    group(at, "cpu memory", "cpu");
    assert!(can_divide(at).unwrap_err().to_string().contains("pids"));
    fs::remove_file(at.join("cgroup.procs")).unwrap();
    assert_eq!(can_divide(at).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_directory_that_is_no_control_group_is_not_taken_for_one() {
    let base = tempfile::tempdir().unwrap();
    assert!(try_one(base.path()).is_err());
    // Nothing of the attempt is left.
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    let bounds = Bounds {
        parent: base.path().join("gone"),
        memory: 1 << 30,
        processes: 64,
    };
    assert!(Cgroup::make(&bounds).is_err());
}

#[test]
fn a_bound_counts_only_as_it_reads_back() {
    let base = tempfile::tempdir().unwrap();
    let path = base.path().to_owned();
    let held = std::mem::ManuallyDrop::new(Cgroup { path: path.clone() });
    assert!(held.set("pids.max", 64).is_err(), "no file is made");
    for file in ["pids.max", "cgroup.procs"] {
        fs::write(path.join(file), "").unwrap();
    }
    held.set("pids.max", 64).unwrap();
    // What takes a write and shows another value.
    std::os::unix::fs::symlink("/dev/null", path.join("memory.max")).unwrap();
    assert!(held.set("memory.max", 1 << 30).is_err());
    assert!(held.enter(1).is_ok());
    assert_eq!(fs::read_to_string(path.join("cgroup.procs")).unwrap(), "1");
}

#[test]
fn what_was_counted_is_read() {
    let base = tempfile::tempdir().unwrap();
    let held = std::mem::ManuallyDrop::new(Cgroup {
        path: base.path().to_owned(),
    });
    assert!(held.counted().is_err());
    let events = "low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\noom_group_kill 1\n";
    fs::write(base.path().join("memory.events"), events).unwrap();
    fs::write(base.path().join("pids.current"), "64\n").unwrap();
    let counted = Counted {
        out_of_memory: 3,
        processes: 64,
    };
    assert_eq!(held.counted().unwrap(), counted);
}

#[test]
fn only_groups_of_the_dead_are_removed() {
    let base = tempfile::tempdir().unwrap();
    let this = Maker::this().unwrap();
    let dead = Maker { started: 1, ..this };
    let foreign = Maker {
        namespace: 1,
        ..dead
    };
    let kept = [
        this.name(0),
        foreign.name(0),
        "app.scope".to_owned(),
        "supervisor-x".to_owned(),
    ];
    for name in kept.iter().chain([&dead.name(3)]) {
        fs::create_dir(base.path().join(name)).unwrap();
    }
    remove_stale(base.path());
    assert!(!base.path().join(dead.name(3)).exists());
    for name in kept {
        assert!(base.path().join(&name).exists(), "{name}");
    }
}
