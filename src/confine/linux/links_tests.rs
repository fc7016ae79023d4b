use super::*;
use std::os::unix::fs::symlink;

#[test]
fn the_links_along_a_path_are_found() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    fs::create_dir_all(base.join("real/bin")).unwrap();
    symlink("real", base.join("current")).unwrap();
    symlink("../../current/bin", base.join("real/bin/loop")).unwrap();
    let mut found = Vec::new();
    along(&base.join("current/bin/loop/x"), &[], &mut found);
    assert_eq!(
        found.first(),
        Some(&(base.join("current"), PathBuf::from("real")))
    );
    assert!(
        found
            .iter()
            .any(|(path, _)| *path == base.join("real/bin/loop"))
    );
    assert!(found.len() <= MAX_LINKS);
    let mut found = Vec::new();
    along(
        &base.join("real/bin/loop"),
        &[base.join("real/bin")],
        &mut found,
    );
    assert!(found.is_empty(), "a link where the server may write");
}
