//! Root's servers: their kernel id owns nothing, and they can use what the person grants.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use crate::attack::{Attack, at};
use crate::support::{TestContext, Who, is_root};

/// Root, where the tests were started as root; an ordinary user can become no other.
fn root() -> Option<TestContext> {
    is_root().then(|| TestContext::new(Who::Root))
}

/// P1: a file in a granted system directory that only root may read.
#[test]
fn p1_reads_no_file_of_roots_in_a_system_directory() {
    let Some(context) = root() else { return };
    let secret = tempfile::Builder::new()
        .prefix("sv-test-secret-")
        .tempfile_in("/usr/share")
        .unwrap();
    fs::write(secret.path(), "secret").unwrap();
    fs::set_permissions(secret.path(), fs::Permissions::from_mode(0o600)).unwrap();
    Attack::new(&context, &["read", &at(secret.path())]).is_held();
}

/// R3: no id of the server's, whichever it asks for, is root's.
#[test]
fn r3_is_not_root_for_the_kernel() {
    let Some(context) = root() else { return };
    let alone = Attack::new(&context, &["status", "Uid"]).alone();
    assert_eq!(
        alone.detail.split_whitespace().collect::<Vec<_>>(),
        ["0"; 4]
    );
    let confined = Attack::new(&context, &["status", "Uid"]).confined();
    let ids: Vec<u32> = confined
        .detail
        .split_whitespace()
        .map(|id| id.parse().unwrap())
        .collect();
    assert_eq!(ids.len(), 4, "{}", confined.detail);
    assert!(ids.iter().all(|id| *id > 60_000), "{ids:?}");
}

/// P2: what it makes in `--dir` is the owner's, and it can use all the owner can.
#[test]
fn a_directory_of_roots_is_lent_and_stays_roots() {
    let Some(context) = root() else { return };
    let dir = context.make_directory("lent");
    let kept = context.make_file("lent/kept", "kept");
    let flags = ["--dir", dir.to_str().unwrap()];
    for words in [
        &["read", &at(&kept)][..],
        &["write", &at(&dir.join("new"))],
        &["truncate", &at(&kept)],
        &["make-directory", &at(&dir.join("below"))],
        &["mode", &at(&kept)],
    ] {
        let verdict = Attack::new(&context, words).with(&flags).confined();
        assert!(verdict.got, "{words:?}: {}", verdict.detail);
    }
    for name in ["kept", "new", "below"] {
        let found = fs::metadata(dir.join(name)).unwrap();
        assert_eq!((found.uid(), found.gid()), (0, 0), "{name}");
    }
}

/// A read that only root may do, by the person's word; and no more than reading.
#[test]
fn a_file_of_roots_is_lent_to_be_read() {
    let Some(context) = root() else { return };
    let granted = context.make_file("outside/granted", "granted");
    let other = context.make_file("outside/other", "other");
    let flags = ["--read", granted.to_str().unwrap()];
    let read = Attack::new(&context, &["read", &at(&granted)]).with(&flags);
    let verdict = read.confined();
    assert!(verdict.got, "{}", verdict.detail);
    for words in [
        &["write", &at(&granted)][..],
        &["mode", &at(&granted)],
        &["read", &at(&other)],
    ] {
        Attack::new(&context, words).with(&flags).is_stopped();
    }
}

/// The private home is the server's own, whatever it ran under before.
#[test]
fn the_private_home_changes_hands() {
    let Some(context) = root() else { return };
    let attack = Attack::new(&context, &["write", "@new"]);
    assert!(attack.confined().got);
    let homes = context.path("home/.supervisor/home");
    let home = fs::read_dir(&homes)
        .unwrap()
        .flatten()
        .find(|entry| entry.path().is_dir())
        .unwrap()
        .path();
    let theirs = fs::metadata(&home).unwrap().uid();
    assert_ne!(theirs, 0);
    fs::create_dir(home.join("cache")).unwrap();
    fs::write(home.join("cache/file"), "").unwrap();
    std::os::unix::fs::chown(&home, Some(0), Some(0)).unwrap();
    assert!(attack.confined().got);
    for path in ["cache", "cache/file"] {
        assert_eq!(
            fs::metadata(home.join(path)).unwrap().uid(),
            theirs,
            "{path}"
        );
    }
}

/// P4: what it makes in `--dir` is root's on disk, so none of it may lend root's rights to whoever
/// executes it.
#[test]
fn p4_leaves_no_set_uid_and_no_set_gid_program_of_roots() {
    let Some(context) = root() else { return };
    let dir = context.make_directory("lent");
    for bits in ["4000", "2000"] {
        let made = dir.join(bits);
        let flags = ["--dir", dir.to_str().unwrap()];
        let attack = Attack::new(&context, &["set-id", &at(&made), bits]).with(&flags);
        assert!(attack.alone().got, "it works alone");
        fs::remove_file(&made).unwrap();
        let confined = attack.confined();
        assert!(!confined.got, "{bits}: {}", confined.detail);
        let mode = fs::metadata(&made).unwrap().permissions().mode();
        assert_eq!(mode & 0o6000, 0, "{mode:o}");
    }
}
