#![expect(clippy::disallowed_methods, reason = "tests lay files down")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

#[test]
fn systems_places_are_roots_alone_and_others_are_not() {
    for place in [
        "/",
        "/usr/bin",
        "/bin",
        "/etc/passwd",
        "/usr/bin/not-there/at-all",
    ] {
        assert!(is_roots_alone(Path::new(place)), "{place}");
    }
    let own = tempfile::tempdir().unwrap();
    let own = own.path().canonicalize().unwrap();
    let link = own.join("link");
    symlink("/usr/bin", &link).unwrap();
    for place in [
        own.as_path(),
        &own.join("not-there"),
        &link,
        Path::new("/tmp"),
        Path::new("bin"),
    ] {
        assert!(!is_roots_alone(place), "{}", place.display());
    }
}

#[test]
fn what_is_handed_to_a_command_may_be_anybodys() {
    let own = tempfile::tempdir().unwrap();
    fs::write(own.path().join("a.json"), "{}").unwrap();
    fs::set_permissions(own.path().join("a.json"), fs::Permissions::from_mode(0o666)).unwrap();
    let folder = Folder::named(own.path()).unwrap().unwrap();
    let (text, _) = folder.read(Path::new("a.json")).unwrap().unwrap();
    assert_eq!(text, "{}");
    assert!(folder.read(Path::new("b.json")).unwrap().is_none());
    // Below it no directory of everybody's, on the way to an installed one.
    let problem = Folder::installed(own.path()).err().unwrap();
    assert!(
        ["policy-mode", "policy-owner"].contains(&problem.code()),
        "{problem}"
    );
}

#[test]
fn names_that_count() {
    let own = tempfile::tempdir().unwrap();
    for name in [
        "b.json",
        "a.json",
        ".hidden.json",
        "c.json.rpmsave",
        "README",
        "d.JSON",
    ] {
        fs::write(own.path().join(name), "").unwrap();
    }
    let folder = Folder::named(own.path()).unwrap().unwrap();
    assert_eq!(
        folder.json_names().unwrap(),
        [PathBuf::from("a.json"), PathBuf::from("b.json")]
    );
}

#[test]
fn nothing_waits_on_a_fifo_or_reads_without_end() {
    let own = tempfile::tempdir().unwrap();
    nix::unistd::mkfifo(&own.path().join("a.json"), Mode::S_IRWXU).unwrap();
    symlink("/dev/zero", own.path().join("b.json")).unwrap();
    let huge = fs::File::create(own.path().join("c.json")).unwrap();
    huge.set_len(1 << 40).unwrap();
    fs::write(own.path().join("d.json"), [b'"', 0xff]).unwrap();
    let folder = Folder::named(own.path()).unwrap().unwrap();
    for (name, code) in [
        ("a.json", "policy-kind"),
        ("b.json", "policy-kind"),
        ("c.json", "policy-too-large"),
        ("d.json", "policy-unreadable"),
    ] {
        assert_eq!(
            folder.read(Path::new(name)).unwrap_err().code(),
            code,
            "{name}"
        );
    }
}
