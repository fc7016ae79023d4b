use super::*;
use std::os::unix::fs::symlink;

#[test]
fn the_file_beside_a_home_is_a_file_of_ours() {
    let base = tempfile::tempdir().unwrap();
    let home = base.path().join("0123");
    let digest: LaunchDigest = "ab".repeat(32).parse().unwrap();
    let path = home.with_extension("digest");
    drop(mark(&home, &digest).unwrap());
    drop(mark(&home, &digest).unwrap());
    fs::hard_link(&path, base.path().join("second")).unwrap();
    assert!(matches!(
        mark(&home, &digest),
        Err(LaunchError::ForeignHome { .. })
    ));
    fs::remove_file(&path).unwrap();
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(matches!(
        mark(&home, &digest),
        Err(LaunchError::ForeignHome { .. })
    ));
    fs::remove_file(&path).unwrap();
    symlink("/etc/hostname", &path).unwrap();
    assert!(mark(&home, &digest).is_err());
}

#[test]
fn a_link_in_place_of_the_temporary_directory_is_not_followed() {
    let base = tempfile::tempdir().unwrap();
    let kept = base.path().join("kept");
    fs::create_dir(&kept).unwrap();
    fs::write(kept.join("file"), "x").unwrap();
    let tmp = base.path().join("tmp");
    symlink(&kept, &tmp).unwrap();
    empty(&tmp).unwrap();
    assert!(kept.join("file").exists());
    assert!(fs::symlink_metadata(&tmp).is_err());
}

#[test]
fn what_node_compiled_alone_stays_for_the_next_start() {
    let base = tempfile::tempdir().unwrap();
    let tmp = base.path().join("tmp");
    let compiled = tmp.join(COMPILED);
    fs::create_dir_all(compiled.join("v22")).unwrap();
    fs::create_dir_all(tmp.join("a")).unwrap();
    fs::write(tmp.join("a/file"), "x").unwrap();
    symlink("/etc/hostname", tmp.join("link")).unwrap();
    empty_but_compiled(&tmp).unwrap();
    let left: Vec<_> = fs::read_dir(&tmp).unwrap().flatten().collect();
    assert_eq!(left.len(), 1);
    assert!(compiled.join("v22").exists());
    // Nothing else goes by its name, nor the directory by a link.
    fs::remove_dir_all(&compiled).unwrap();
    symlink("/etc", &compiled).unwrap();
    empty_but_compiled(&tmp).unwrap();
    assert!(fs::symlink_metadata(&compiled).is_err());
    let link = base.path().join("other");
    symlink(&tmp, &link).unwrap();
    empty_but_compiled(&link).unwrap();
    assert!(fs::symlink_metadata(&link).is_err() && tmp.exists());
    empty_but_compiled(&link).unwrap();
}

#[test]
fn a_closed_directory_is_removed_too() {
    let base = tempfile::tempdir().unwrap();
    let tmp = base.path().join("tmp");
    fs::create_dir_all(tmp.join("a/b")).unwrap();
    fs::write(tmp.join("a/b/file"), "x").unwrap();
    fs::set_permissions(tmp.join("a/b"), Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(tmp.join("a"), Permissions::from_mode(0o500)).unwrap();
    empty(&tmp).unwrap();
    assert!(!tmp.exists());
}
