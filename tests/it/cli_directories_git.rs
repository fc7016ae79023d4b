//! `--dir` and repositories: in one, above one, wherever its parts lie. A test's name begins with its row.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::judge::{done, refused};
use crate::support::directories::{declare, refused_at_add, repository};
use crate::support::{TestContext, everybody, is_root, stderr, stdout};

#[test]
fn d1_in_and_below_a_repository() {
    for who in everybody() {
        let context = TestContext::new(who);
        repository(&context, "tree/.git");
        context.make_directory("tree/a/b");
        for dir in ["tree", "tree/a", "tree/a/b", "tree/.git", "tree/.git/refs"] {
            refused_at_add(&context, dir, "dir-refused");
        }
        // Above one, too: the server could write into it.
        context.make_directory("above");
        repository(&context, "above/deep/er/.git");
        refused_at_add(&context, "above", "dir-refused");
    }
}

#[test]
fn d2_d4_worktrees_and_submodules() {
    let context = TestContext::ordinary();
    context.make_directory("worktree/sub");
    context.make_file("worktree/.git", "gitdir: /gone/.git/worktrees/x\n");
    refused_at_add(&context, "worktree/sub", "dir-refused");
    repository(&context, "super/.git");
    context.make_directory("super/module/src");
    context.make_file("super/module/.git", "gitdir: ../.git/modules/module\n");
    refused_at_add(&context, "super/module/src", "dir-refused");
    // The own directory of a linked working tree.
    context.make_directory("linked");
    context.make_file("linked/HEAD", "");
    context.make_file("linked/commondir", "../..\n");
    refused_at_add(&context, "linked", "dir-refused");
}

#[test]
fn d3_bare_repositories() {
    let context = TestContext::ordinary();
    repository(&context, "bare");
    context.make_directory("bare/hooks");
    for dir in ["bare", "bare/hooks", "bare/refs"] {
        refused_at_add(&context, dir, "dir-refused");
    }
}

#[test]
fn d5_d6_links_are_resolved_and_the_resolved_path_is_kept() {
    let context = TestContext::ordinary();
    repository(&context, "tree/.git");
    context.make_directory("tree/sub");
    context.make_directory("plain/sub");
    symlink(context.path("tree"), context.path("into")).unwrap();
    refused_at_add(&context, "into", "dir-refused");
    refused_at_add(&context, "into/sub", "dir-refused");
    symlink(context.path("plain"), context.path("tree/out")).unwrap();
    done(&declare(&context, &context.path("tree/out/sub")));
    let resolved = context.path("plain/sub");
    let text = fs::read_to_string(context.path("home/.supervisor/mcp.json")).unwrap();
    assert!(
        text.contains(resolved.to_str().unwrap()) && !text.contains("tree/out"),
        "{text}"
    );
    let shown = stdout(&context.run(&["get", "a"]));
    assert!(
        shown.contains("plain/sub") && !shown.contains("tree/out"),
        "{shown}"
    );
}

#[test]
fn d10_variables_of_git_decide_nothing() {
    let context = TestContext::ordinary();
    repository(&context, "tree/.git");
    context.make_directory("tree/sub");
    context.make_directory("plain");
    let elsewhere = context.path("tree/.git");
    for (dir, exit) in [("tree/sub", 126), ("plain", 0)] {
        let dir = context.path(dir);
        let mut command = context.supervisor(&["add", "a", "--dir", dir.to_str().unwrap()]);
        let output = command
            .args(["--", "/bin/true"])
            .env("GIT_DIR", &elsewhere)
            .env("GIT_WORK_TREE", context.path("plain"))
            .env("GIT_CEILING_DIRECTORIES", context.path("tree"))
            .env("GIT_DISCOVERY_ACROSS_FILESYSTEM", "0")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(exit), "{}", stderr(&output));
    }
}

#[test]
fn d11_a_git_directory_elsewhere() {
    let context = TestContext::ordinary();
    repository(&context, "far");
    context.make_directory("tree/sub");
    let far = context.path("far");
    context.make_file("tree/.git", &format!("gitdir: {}\n", far.display()));
    refused_at_add(&context, "tree/sub", "dir-refused");
    // `core.worktree` alone leaves no mark, and the documentation says so.
    context.make_directory("unmarked");
    let worktree = context.path("unmarked");
    context.make_file(
        "far/config",
        &format!("[core]\nworktree = {}\n", worktree.display()),
    );
    done(&declare(&context, &worktree));
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/threat-model.md");
    assert!(fs::read_to_string(docs).unwrap().contains("core.worktree"));
}

#[test]
fn d12_a_home_that_is_a_git_tree() {
    for who in everybody() {
        let context = TestContext::new(who);
        repository(&context, "home/.git");
        context.make_directory("home/notes");
        let output = context.run(&["add", "a", "--", "/bin/true"]);
        done(&output);
        assert!(
            stderr(&output).contains("git work tree"),
            "never silent: {}",
            stderr(&output)
        );
        let ignore = context.path("home/.supervisor/.gitignore");
        assert_eq!(fs::read_to_string(&ignore).unwrap(), "*\n");
        assert!(!stderr(&context.run(&["list"])).contains("work tree"));
        // Kept where a later command finds it gone, or the tree came later.
        fs::remove_file(&ignore).unwrap();
        done(&context.run(&["add", "b", "--", "/bin/true"]));
        assert_eq!(fs::read_to_string(&ignore).unwrap(), "*\n");
        let output = declare(&context, &context.path("home/notes"));
        refused(&output, 126, "dir-refused");
    }
}

#[test]
fn d13_an_ignored_directory_is_in_the_repository_all_the_same() {
    let context = TestContext::ordinary();
    repository(&context, "tree/.git");
    context.make_directory("tree/build");
    context.make_file("tree/.gitignore", "/build/\n*\n");
    refused_at_add(&context, "tree/build", "dir-refused");
}

#[test]
fn d14_letter_case_is_the_file_systems_to_judge() {
    let context = TestContext::ordinary();
    context.make_directory("tree/.GIT");
    context.make_directory("tree/sub");
    let folds = context.path("tree/.git").exists();
    let output = declare(&context, &context.path("tree/sub"));
    assert_eq!(output.status.success(), !folds, "{}", stderr(&output));
}

#[test]
fn d15_marks_that_are_no_directory() {
    let context = TestContext::ordinary();
    let mark = |name: &str| context.make_directory(name).join(".git");
    symlink("nowhere", mark("dangling")).unwrap();
    mkfifo(&mark("fifo"), Mode::S_IRUSR).unwrap();
    fs::write(mark("file"), "").unwrap();
    fs::create_dir(mark("directory")).unwrap();
    for dir in ["dangling", "fifo", "file", "directory"] {
        refused_at_add(&context, dir, "dir-refused");
    }
}

#[test]
fn d16_a_repository_that_comes_later_refuses_the_next_start() {
    for who in everybody() {
        let context = TestContext::new(who);
        let dir = context.make_directory("work/notes");
        let words = ["--dir", dir.to_str().unwrap()];
        context.approved("a", &words, &["/bin/sh", "-c", "echo x > written"]);
        context.host("a").end();
        assert!(dir.join("written").exists());
        for place in ["work/.git", "work/notes/.git", "work/notes/deep/.git"] {
            fs::remove_file(dir.join("written")).unwrap();
            context.make_directory(place);
            let output = context.run(&["run", "a"]);
            refused(&output, 126, "dir-refused");
            assert!(stderr(&output).contains("hint: "), "{}", stderr(&output));
            assert!(!dir.join("written").exists());
            fs::remove_dir(context.path(place)).unwrap();
            context.host("a").end();
            assert!(dir.join("written").exists());
        }
        // The directory has become a link since.
        fs::rename(&dir, context.path("work/moved")).unwrap();
        symlink("moved", &dir).unwrap();
        refused(&context.run(&["run", "a"]), 126, "dir-refused");
    }
}

#[test]
fn d17_other_systems_are_named() {
    for mark in [".hg", ".svn", ".jj", ".bzr", "_darcs", ".fossil", "CVS"] {
        let context = TestContext::ordinary();
        context.make_directory(&format!("tree/{mark}"));
        let dir = context.make_directory("tree/sub");
        let words = [
            "add",
            "a",
            "--dir",
            dir.to_str().unwrap(),
            "--no-inspect",
            "--",
            "/bin/true",
        ];
        let (_, screen) = context.at_terminal(&words, "n");
        let flat: String = screen.split_whitespace().collect();
        assert!(flat.contains(&format!("tree/{mark}")), "{mark}: {screen}");
    }
}

#[test]
fn d18_the_search_goes_on_across_mounts() {
    if !is_root() {
        // Mounting is root's; the search asks each directory for its `..` and knows of no mount.
        return;
    }
    let context = TestContext::ordinary();
    repository(&context, "tree/.git");
    context.make_directory("tree/mnt");
    let mounted = context.path("tree/mnt");
    let script = format!(
        "mount -t tmpfs none {0} && mkdir -m 777 {0}/sub && exec setpriv --reuid 54321 --regid 54321 --clear-groups \"$0\" \"$@\"",
        mounted.display()
    );
    let mut command = context.with_mounts(&script);
    command
        .args(["add", "a", "--dir"])
        .arg(mounted.join("sub"))
        .args(["--", "/bin/true"]);
    refused(&command.output().unwrap(), 126, "dir-refused");
}
