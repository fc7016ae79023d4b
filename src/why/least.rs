//! The least of several flags that grant the same.
//!
//! A server that opens `DIR/FILE` often looks whether `DIR` is there first, or lists it. Each is a
//! refusal of its own, and one flag grants both.

use std::path::Path;

use super::finding::Finding;

/// Takes out each read that another finding's flag makes needless. Where a directory was only looked
/// for, reading the file in it brings the directory into sight; where it was listed, reading it brings
/// the file; where one of the two is likely the cause, that one stays.
pub(super) fn keep(found: &mut Vec<Finding>) {
    let all = found.clone();
    let read_inside = |one: &Finding| {
        let mut inside = all.iter().filter(|other| is_above(one, other));
        inside.any(|other| !stands_for(one, other))
    };
    found.retain(|one| !read_inside(one));
    let left = found.clone();
    let comes_along = |one: &Finding| {
        let mut above = left.iter().filter(|other| is_above(other, one));
        above.any(|other| stands_for(other, one))
    };
    found.retain(|one| !comes_along(one));
}

/// Whether the one's flag reads a directory, and the other's, which is the same otherwise, a path in it.
fn is_above(one: &Finding, other: &Finding) -> bool {
    match (read(one), read(other)) {
        (Some((words, outer)), Some((others, inner))) => {
            words == others && outer != inner && inner.starts_with(outer)
        }
        _ => false,
    }
}

/// Whether the flag for a directory stands for that of a path in it.
fn stands_for(directory: &Finding, inside: &Finding) -> bool {
    match (directory.cause, inside.cause) {
        (false, true) => false,
        (true, false) => true,
        _ => directory.right != Some("look"),
    }
}

/// The flags of a read but for the path, and the path.
fn read(finding: &Finding) -> Option<(&[String], &Path)> {
    let (path, words) = finding.flags.split_last()?;
    (words.last()? == "--read").then_some((words, Path::new(path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why::finding::What;

    fn finding(path: &str, right: &'static str, cause: bool) -> Finding {
        let mut finding = Finding::new(What::Path, path, "").flags(["--read", path]);
        (finding.right, finding.cause) = (Some(right), cause);
        finding
    }

    /// What is left of these, in their order.
    fn left(found: &[Finding]) -> Vec<String> {
        let mut found = found.to_vec();
        keep(&mut found);
        found.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn one_flag_is_left_for_a_directory_and_what_is_in_it() {
        for (right, [dir, file], kept) in [
            ("look", [false, false], "/d/f"),
            ("look", [true, true], "/d/f"),
            ("look", [false, true], "/d/f"),
            ("look", [true, false], "/d"),
            ("list", [false, false], "/d"),
            ("list", [true, true], "/d"),
            ("watch", [true, true], "/d"),
            ("list", [false, true], "/d/f"),
        ] {
            let (dir, file) = (finding("/d", right, dir), finding("/d/f", "read", file));
            assert_eq!(left(&[dir.clone(), file.clone()]), [kept], "{right}");
            assert_eq!(left(&[file, dir]), [kept], "{right}");
        }
    }

    #[test]
    fn what_grants_something_else_is_left() {
        let other = Finding::new(What::Path, "/d/g", "").flags(["-e", "HOME", "--read", "/d/g"]);
        let nothing = Finding::new(What::Path, "/d", "nothing grants it");
        let beside = finding("/d2/f", "read", true);
        let listed = finding("/d", "list", false);
        let all = [other, nothing, beside, listed];
        assert_eq!(left(&all), ["/d/g", "/d", "/d2/f", "/d"]);
        // A directory that goes takes nothing along.
        let three = [
            finding("/d", "list", false),
            finding("/d/f", "read", true),
            finding("/d/g", "read", false),
        ];
        assert_eq!(left(&three), ["/d/f", "/d/g"]);
        // Over several steps.
        let chain = [
            finding("/a", "look", false),
            finding("/a/b", "look", false),
            finding("/a/b/c", "read", true),
        ];
        assert_eq!(left(&chain), ["/a/b/c"]);
    }
}
