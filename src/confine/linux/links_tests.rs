use super::*;
use std::os::unix::fs::symlink;

#[test]
fn the_links_along_a_path_are_found() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    fs::create_dir_all(base.join("real/bin")).unwrap();
    symlink("real", base.join("current")).unwrap();
    symlink("../../current/bin", base.join("real/bin/loop")).unwrap();
    let found = along(&base.join("current/bin/loop/x"));
    let first = Link {
        path: base.join("current"),
        target: PathBuf::from("real"),
    };
    assert_eq!(found.first(), Some(&first));
    assert!(
        found
            .iter()
            .any(|link| link.path == base.join("real/bin/loop"))
    );
    assert!(found.len() <= MAX_LINKS);
    assert_eq!(along(&base.join("real/bin")), []);
    assert_eq!(along(&base.join("real/none/x")), []);
}

#[test]
fn a_link_that_leads_nowhere_ends_the_walk() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    symlink("gone", base.join("dangling")).unwrap();
    symlink("circle", base.join("circle")).unwrap();
    assert_eq!(along(&base.join("dangling/x")).len(), 1);
    assert_eq!(along(&base.join("circle")).len(), MAX_LINKS);
}
