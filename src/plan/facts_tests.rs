use super::*;
use crate::plan::Rights;
use crate::plan::person::person_from;
use nix::unistd::geteuid;
use proptest::prelude::*;
use std::os::unix::fs::{PermissionsExt, symlink};

#[test]
fn who_a_person_is() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    fs::create_dir(base.join("home")).unwrap();
    symlink("home", base.join("link")).unwrap();
    fs::write(base.join("file"), "").unwrap();
    let link = base.join("link");
    let person = person_from(Some(link.as_os_str()), None).unwrap();
    assert_eq!(
        (person.home, person.state),
        (base.join("home"), base.join("home/.supervisor"))
    );
    let elsewhere = base.join("not/there");
    let person = person_from(Some(link.as_os_str()), Some(elsewhere.as_os_str())).unwrap();
    assert_eq!(person.state, elsewhere);
    assert!(person_from(Some(link.as_os_str()), Some(OsStr::new(""))).is_ok());
    let relative = person_from(Some(link.as_os_str()), Some(OsStr::new("state")));
    assert!(matches!(relative, Err(PlanError::RelativeState { .. })));
    for bad in [
        "",
        "home",
        "/no/such/home",
        base.join("file").to_str().unwrap(),
    ] {
        assert!(
            matches!(
                person_from(Some(OsStr::new(bad)), None),
                Err(PlanError::NoHome)
            ),
            "{bad}"
        );
    }
    assert!(matches!(person_from(None, None), Err(PlanError::NoHome)));
}

#[test]
fn search_paths() {
    let parsed = |text: &str| SearchPath::parse(OsStr::new(text)).to_env();
    assert_eq!(parsed("/a::bin:./x:/b:/a/:/c:~/bin:"), "/a:/b:/c");
    assert_eq!(parsed("/with space:/a=b"), "/with space:/a=b");
    for none in ["", ":", "bin:.", "::"] {
        assert_eq!(parsed(none), DEFAULT_PATH);
    }
    assert_eq!(
        SearchPath::parse(OsStr::from_bytes(b"/a:/\xff:/b")).to_env(),
        "/a:/b"
    );
}

#[test]
fn where_others_choose_what_runs() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    let person = Person {
        home: base.clone(),
        state: base.join(".supervisor"),
        uid: geteuid().as_raw(),
    };
    for (dir, mode) in [("own", 0o755), ("open", 0o777), ("sticky", 0o1777)] {
        fs::create_dir(base.join(dir)).unwrap();
        fs::set_permissions(base.join(dir), fs::Permissions::from_mode(mode)).unwrap();
    }
    let entries = ["own", "open", "sticky", "gone"].map(|dir| base.join(dir));
    let path = SearchPath(entries.into_iter().chain(["/usr/bin".into()]).collect());
    let program = program::find("env", &path).unwrap();
    let open = format!("{} may be written by any user", base.join("open").display());
    assert_eq!(doubts(&path, &program, &person), [open]);
    let stranger = Person {
        uid: 4_000_000,
        ..person
    };
    let foreign = if geteuid().is_root() { 1 } else { 3 };
    assert_eq!(doubts(&path, &program, &stranger).len(), foreign);
}

proptest! {
    #[test]
    fn search_paths_read_back(text in "[/a-c.:~ ]{0,40}") {
        let path = SearchPath::parse(OsStr::new(&text));
        prop_assert!(!path.0.is_empty() && path.0.iter().all(|entry| entry.is_absolute()));
        prop_assert_eq!(&SearchPath::parse(OsStr::new(&path.to_env())), &path);
    }
}

/// P1: no system grant is itself a place that others may not read.
#[test]
fn the_system_places_here_are_open_to_all() {
    let system = system::look_up().grants;
    assert!(
        system
            .iter()
            .any(|grant| grant.path == Path::new("/usr") && grant.rights == Rights::ReadExecute)
    );
    for name in ["null", "zero", "full", "random", "urandom"] {
        let device = Path::new("/dev").join(name);
        assert!(
            system
                .iter()
                .any(|grant| grant.path == device && grant.rights == Rights::Device),
            "{name}"
        );
    }
    for grant in &system {
        assert_eq!(
            follow(&grant.path).unwrap().resolved,
            grant.path,
            "canonical"
        );
        assert!(
            system::open_to_others(&fs::metadata(&grant.path).unwrap()),
            "{grant:?}"
        );
    }
    for secret in [
        "/etc/shadow",
        "/etc/gshadow",
        "/etc/ssl/private",
        "/etc/sudoers",
        "/etc",
    ] {
        assert!(
            !system
                .iter()
                .any(|grant| Path::new(secret).starts_with(&grant.path)),
            "{secret}"
        );
    }
}
