#![expect(clippy::disallowed_methods, reason = "makes trees to look at")]

use super::*;
use std::fs;
use std::os::unix::fs::symlink;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::plan::walk::{self, DEPTH, ENTRIES, Missed, Task};

struct Dir(
    #[expect(dead_code, reason = "kept as long as the test runs")] tempfile::TempDir,
    PathBuf,
    Held,
);

impl Dir {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        let place = base.path().canonicalize().unwrap().join("notes");
        fs::create_dir(&place).unwrap();
        let held = Held::open(&place).unwrap();
        Self(base, place, held)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.1.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn picture(&self) -> Picture {
        let task = Task {
            obeyed: true,
            first: false,
            entries: ENTRIES,
            until: None,
        };
        walk::look(&self.2, &self.1, task)
    }

    /// What was found since, as words: change and path.
    fn since(&self, before: &Picture) -> Vec<String> {
        let name = |file: FoundFile| {
            let path = Path::new(&file.path).strip_prefix(&self.1).unwrap();
            format!("{} {}", file.change.as_str(), path.display())
        };
        files(before, &self.picture(), &self.2, &self.1)
            .into_iter()
            .map(name)
            .collect()
    }
}

#[test]
fn what_is_created_or_changed_is_found_and_nothing_else() {
    let dir = Dir::new();
    dir.write("CLAUDE.md", "as it was");
    dir.write("sub/.vscode/tasks.json", "{}");
    dir.write("sub/.vscode/settings.json", "{}");
    dir.write("notes.txt", "x");
    let before = dir.picture();
    assert!(dir.since(&before).is_empty());
    dir.write("notes.txt", "more");
    dir.write("Makefile", "all:");
    assert!(dir.since(&before).is_empty(), "{:?}", dir.since(&before));
    dir.write("CLAUDE.md", "as it is now");
    dir.write("sub/.vscode/tasks.json", "[1]");
    dir.write("sub/.vscode/new/deep.json", "[]");
    dir.write("a/b/.claude/settings.json", "{}");
    dir.write("a/b/.claude/hooks/x", "{}");
    dir.write("a/.github/copilot-instructions.md", "obey");
    dir.write("a/.github/dependabot.yml", "");
    dir.write("a/.github/prompts/x.md", "");
    dir.write("node_modules/x/package.json", "{}");
    dir.write("package.json", "{}");
    assert_eq!(
        dir.since(&before),
        [
            "changed CLAUDE.md",
            "created node_modules",
            "created package.json",
            "created a/.github/copilot-instructions.md",
            "created a/.github/prompts",
            "created a/b/.claude",
            "created sub/.vscode/new",
            "changed sub/.vscode/tasks.json",
        ]
    );
}

#[test]
fn a_name_that_was_given_to_something_old_is_found() {
    let dir = Dir::new();
    dir.write("harmless/settings.json", "{}");
    dir.write("plain", "{}");
    dir.write("linked", "{}");
    dir.write(".claude/settings.json", "{}");
    symlink("linked", dir.1.join(".mcp.json")).unwrap();
    fs::hard_link(dir.1.join("plain"), dir.1.join(".npmrc")).unwrap();
    let before = dir.picture();
    fs::rename(dir.1.join("harmless"), dir.1.join(".cursor")).unwrap();
    // Of other sizes: two writes in one tick of the kernel's clock bear the same time.
    // Through another name, and through what a link under a name leads to.
    dir.write("plain", "[1]");
    dir.write("linked", "[1]");
    fs::rename(dir.1.join(".claude"), dir.1.join("away")).unwrap();
    dir.write(".claude/settings.json", "{}");
    mkfifo(&dir.1.join(".envrc"), Mode::S_IRWXU).unwrap();
    assert_eq!(
        dir.since(&before),
        [
            "changed .claude",
            "created .cursor",
            "created .envrc",
            "changed .mcp.json",
            "changed .npmrc",
        ]
    );
}

#[test]
fn other_spellings_count_where_the_file_system_folds_them() {
    let dir = Dir::new();
    let before = dir.picture();
    dir.write(".MCP.json", "{}");
    dir.write("sub/.VsCode/tasks.json", "{}");
    dir.write("sub/claude.MD", "");
    let folds = dir.1.join(".mcp.json").exists();
    let found: &[&str] = if folds {
        &[
            "created .mcp.json",
            "created sub/.vscode",
            "created sub/CLAUDE.md",
        ]
    } else {
        &[]
    };
    assert_eq!(dir.since(&before), found);
}

#[test]
fn links_that_lead_out_are_found() {
    let dir = Dir::new();
    symlink("/etc", dir.1.join("old")).unwrap();
    symlink("/etc", dir.1.join("other")).unwrap();
    let before = dir.picture();
    fs::remove_file(dir.1.join("other")).unwrap();
    symlink("/usr", dir.1.join("other")).unwrap();
    fs::create_dir(dir.1.join("sub")).unwrap();
    for (link, target) in [
        ("sub/in", "../sub"),
        ("sub/up", "../../outside"),
        ("absolute", dir.1.to_str().unwrap()),
        ("circle", "circle"),
        ("gone", "nothing"),
        ("far", "/nothing"),
    ] {
        symlink(target, dir.1.join(link)).unwrap();
    }
    assert_eq!(
        dir.since(&before),
        ["created far", "changed other", "created sub/up"]
    );
    let found = files(&before, &dir.picture(), &dir.2, &dir.1);
    assert_eq!(found[0].why, "leads out of the directory, to /nothing");
    assert!(found.iter().all(|file| file.kind == FileKind::Link));
}

#[test]
fn repositories_are_found_wherever_they_lie_and_not_twice() {
    let dir = Dir::new();
    dir.write("a/b/.git/HEAD", "ref: x");
    fs::create_dir_all(dir.1.join("a/b/.git/objects")).unwrap();
    fs::create_dir_all(dir.1.join("a/b/.git/refs")).unwrap();
    dir.write("c/.git", "gitdir: elsewhere");
    dir.write("bare/HEAD", "");
    fs::create_dir_all(dir.1.join("bare/objects")).unwrap();
    fs::create_dir_all(dir.1.join("bare/refs")).unwrap();
    symlink("nowhere", dir.1.join(".git")).unwrap();
    let mut found: Vec<PathBuf> = dir
        .picture()
        .repositories
        .iter()
        .map(|found| repository(Path::new(""), found))
        .collect();
    found.sort();
    assert_eq!(
        found,
        [".git", "a/b/.git", "bare", "c/.git"].map(PathBuf::from)
    );
}

#[test]
fn a_hostile_tree_ends_the_walk_and_is_told() {
    let dir = Dir::new();
    dir.write(".envrc", "x");
    dir.write("a/.git/HEAD", "x");
    fs::create_dir_all(dir.1.join("d/".repeat(DEPTH + 3))).unwrap();
    let picture = dir.picture();
    assert!(matches!(picture.missed, Some(Missed::Depth)));
    assert_eq!((picture.repositories.len(), picture.obeyed.len()), (1, 1));
    // Names so long that the path below cannot be said.
    let dir = Dir::new();
    let long = "n".repeat(255);
    let mut at = Held::open(&dir.1).unwrap();
    for _ in 0..DEPTH {
        nix::sys::stat::mkdirat(&at, long.as_str(), Mode::S_IRWXU).unwrap();
        let flags = nix::fcntl::OFlag::O_PATH | nix::fcntl::OFlag::O_DIRECTORY;
        let next = nix::fcntl::openat(&at, long.as_str(), flags, Mode::empty()).unwrap();
        at = Held::of(next);
    }
    nix::sys::stat::mkdirat(&at, ".git", Mode::S_IRWXU).unwrap();
    let missed = dir.picture().missed;
    assert!(matches!(missed, Some(Missed::Unreadable(..))), "{missed:?}");
    let until = Some(std::time::Instant::now() - std::time::Duration::from_secs(1));
    let task = Task {
        obeyed: true,
        first: false,
        entries: ENTRIES,
        until,
    };
    let picture = walk::look(&dir.2, &dir.1, task);
    assert!(matches!(picture.missed, Some(Missed::Time)));
}
