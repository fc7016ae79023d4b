//! What a server leaves in the directories it may write: repositories (G2), files that the
//! person's programs obey and links that lead out (G3).
//!
//! Nothing keeps a server from leaving them: it may write there. What is promised is that they
//! do not go unnoticed. Each test sees first that the server did leave it, and that a run which
//! leaves nothing of the kind names nothing.

use std::fs;
use std::path::PathBuf;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::attack::WITHOUT;
use crate::schema;
use crate::support::{Host, TestContext, Who, everybody, stderr, stdout};

/// A probe declared with `--dir`, and what its runs left.
struct Case {
    context: TestContext,
    dir: PathBuf,
}

/// What a run told.
struct Told {
    words: String,
    receipt: Value,
}

impl Case {
    fn new(who: Who) -> Self {
        let context = TestContext::new(who);
        let dir = context.make_directory("work/notes");
        Self { context, dir }
    }

    fn declare(&self, words: &[&str]) {
        self.declare_with(words, &[]);
    }

    fn declare_with(&self, words: &[&str], flags: &[&str]) {
        let program = TestContext::program("fixture-probe");
        let argv = [&[program.as_str()], words].concat();
        let dir = self.dir.to_str().unwrap();
        let flags = [&["--dir", dir], flags].concat();
        self.context.approved("probe", &flags, &argv);
    }

    /// Runs an attack that works, and ends it as a host does.
    fn leaves(&self, words: &[&str]) -> Told {
        self.declare(words);
        self.ends(self.context.host("probe"))
    }

    fn ends(&self, mut host: Host) -> Told {
        let verdict = host.message();
        assert_eq!(verdict["params"]["got"], json!(true), "{verdict}");
        let (code, words) = host.end();
        assert_eq!(code, 0, "{words}");
        let words = unwrapped(&words);
        let receipt = self.receipts().pop().unwrap();
        Told { words, receipt }
    }

    /// Every receipt, the latest last.
    fn receipts(&self) -> Vec<Value> {
        let mut found = Vec::new();
        let all = self.context.path("home/.supervisor/receipts");
        for folder in fs::read_dir(all).into_iter().flatten().flatten() {
            for entry in fs::read_dir(folder.path()).unwrap().flatten() {
                if entry.file_name().to_str().unwrap().ends_with(".json") {
                    found.push(schema::check(&fs::read_to_string(entry.path()).unwrap()));
                }
            }
        }
        found.sort_by_key(|receipt| receipt["ended"].as_str().unwrap().to_owned());
        found
    }

    /// The row of `list`, and the page for people.
    fn listed(&self) -> (Value, String) {
        let output = self.context.run(&["list", "--json"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let list = schema::check(&stdout(&output));
        let page = self.context.run(&["list"]);
        (list["servers"][0].clone(), unwrapped(&stdout(&page)))
    }

    fn at(&self, path: &str) -> String {
        self.dir.join(path).to_str().unwrap().to_owned()
    }

    /// What programs obey, as the receipt names it, sorted; standard error and `list` name it so.
    fn named(&self, told: &Told) -> Vec<String> {
        let page = self.listed().1;
        let mut found: Vec<String> = Vec::new();
        for file in told.receipt["found_files"].as_array().unwrap() {
            assert_eq!(file["kind"], "obeyed");
            let [change, path, why] =
                ["change", "path", "why"].map(|key| file[key].as_str().unwrap());
            let said = format!("{change} while it ran: {path} ({why})");
            assert!(
                has(&told.words, &format!("G3: {said}")),
                "{said}: {}",
                told.words
            );
            assert!(has(&page, &said), "{said}: {page}");
            let inside = path.strip_prefix(&self.at("")).unwrap();
            found.push(format!("{change} {inside}"));
        }
        found.sort();
        found
    }

    /// The next start is refused, by the promise that the check keeps.
    fn is_refused(&self) {
        let output = self.context.run(&["run", "probe"]);
        let said = unwrapped(&stderr(&output));
        assert_eq!(output.status.code(), Some(126), "{said}");
        assert!(said.contains("G1: --dir"), "{said}");
    }
}

/// Lines of a page put together again: a long path is broken at the line's end.
fn unwrapped(page: &str) -> String {
    let odd = |c: char| c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!page.contains(odd), "{page:?}");
    page.lines().map(str::trim_start).collect()
}

/// The same of a word that stands in it.
fn has(page: &str, word: &str) -> bool {
    let bare = |text: &str| text.replace([' ', '\n'], "");
    bare(page).contains(&bare(word))
}

#[test]
fn g2_g3_a_run_that_leaves_nothing_of_the_kind_names_nothing() {
    for who in everybody() {
        let case = Case::new(who);
        fs::write(case.dir.join("AGENTS.md"), "the person's own").unwrap();
        let told = case.leaves(&["plant", "@notes.txt", "@sub/Makefile", "@.gitignore"]);
        assert!(case.dir.join("sub/Makefile").exists());
        assert!(
            !told.words.contains("G2") && !told.words.contains("G3"),
            "{}",
            told.words
        );
        let (row, page) = case.listed();
        for found in ["found_repositories", "found_files", "not_searched"] {
            assert_eq!(told.receipt[found], json!([]), "{found}");
        }
        assert_eq!(row["found_repositories"], json!([]));
        assert_eq!(row["found_files"], json!([]));
        assert!(!page.contains("left a git"), "{page}");
    }
}

#[test]
fn g2_a_repository_is_found_named_and_refuses_the_next_start() {
    for who in everybody() {
        for (attack, left) in [
            (&["make-directory", "@.git"][..], ".git"),
            (&["plant", "@a/b/.git"], "a/b/.git"),
            (&["bare", "@sub"], "sub"),
            (&["symlink", "@nowhere", "@.git"], ".git"),
        ] {
            let case = Case::new(who);
            let told = case.leaves(attack);
            let path = case.at(left);
            assert!(fs::symlink_metadata(&path).is_ok(), "it was left");
            let said = format!("G2: a git repository was left in --dir: {path}");
            assert!(has(&told.words, &said), "{}", told.words);
            assert_eq!(told.receipt["found_repositories"], json!([path]));
            let (row, page) = case.listed();
            assert_eq!(row["found_repositories"], json!([path]));
            assert!(
                has(&page, &format!("left a git repository: {path}")),
                "{page}"
            );
            case.is_refused();
            if fs::symlink_metadata(&path).unwrap().is_dir() {
                fs::remove_dir_all(&path).unwrap();
            } else {
                fs::remove_file(&path).unwrap();
            }
            assert_eq!(case.listed().0["found_repositories"], json!([]));
            let mut host = case.context.host("probe");
            host.message();
            host.end();
        }
    }
}

#[test]
fn g2_a_repository_in_the_private_home_is_named_once_and_recorded() {
    for who in everybody() {
        let case = Case::new(who);
        let script = "mkdir -p \"$HOME/cache/.git\"; echo '{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"got\":true}}'; cat >&2";
        let dir = case.dir.to_str().unwrap();
        case.context
            .approved("probe", &["--dir", dir], &["/bin/sh", "-c", script]);
        let told = case.ends(case.context.host("probe"));
        let found = told.receipt["found_repositories"][0]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            found.contains("/.supervisor/home/") && found.ends_with("/cache/.git"),
            "{found}"
        );
        assert!(
            has(&told.words, &format!("left in the private home: {found}")),
            "{}",
            told.words
        );
        assert_eq!(case.listed().0["found_repositories"], json!([found]));
        // It is a cache of the server's own: the next start is not refused. As old as a cache is
        // by then, which only another clock can tell, it is not named again.
        let again = case.ends(case.context.host("probe"));
        assert_eq!(again.receipt["found_repositories"], json!([found]));
    }
}

#[test]
fn g2_g3_the_supervisors_own_end_by_a_signal_names_them_too() {
    for who in everybody() {
        let case = Case::new(who);
        case.declare(&["plant", "@.git/HEAD", "@.mcp.json"]);
        let mut host = case.context.host("probe");
        assert_eq!(host.message()["params"]["got"], json!(true));
        let id = Pid::from_raw(i32::try_from(host.id()).unwrap());
        kill(id, Signal::SIGTERM).unwrap();
        let words = unwrapped(&host.wait().1);
        for said in ["G2: a git repository was left", "G3: created while it ran"] {
            assert!(has(&words, said), "{words}");
        }
        let receipt = case.receipts().pop().unwrap();
        assert_eq!(receipt["found_repositories"], json!([case.at(".git")]));
        assert_eq!(receipt["found_files"][0]["path"], case.at(".mcp.json"));
    }
}

#[test]
fn g2_where_the_supervisor_is_killed_list_and_the_next_start_find_it() {
    for who in everybody() {
        let case = Case::new(who);
        case.declare(&["make-directory", "@.git"]);
        let mut host = case.context.host("probe");
        assert_eq!(host.message()["params"]["got"], json!(true));
        host.kill();
        assert!(case.receipts().is_empty());
        let (row, page) = case.listed();
        assert_eq!(row["found_repositories"], json!([case.at(".git")]));
        assert!(has(&page, "left a git repository"), "{page}");
        case.is_refused();
    }
}

#[test]
fn g3_what_programs_obey_is_named_when_created_and_when_changed() {
    for who in everybody() {
        let case = Case::new(who);
        case.context.make_file("work/notes/CLAUDE.md", "as it was");
        case.context.make_directory("work/notes/.vscode");
        case.context
            .make_file("work/notes/.vscode/settings.json", "{}");
        case.context
            .make_file("work/notes/.envrc", "the person's own, and left alone");
        let told = case.leaves(&[
            "plant",
            "@CLAUDE.md",
            "@.vscode/tasks.json",
            "@.mcp.json",
            "@sub/.cursor/mcp.json",
            "@sub/package.json",
            "@.hg/hgrc",
        ]);
        let found = case.named(&told);
        assert_eq!(
            found,
            [
                "changed CLAUDE.md",
                "created .hg",
                "created .mcp.json",
                "created .vscode/tasks.json",
                "created sub/.cursor",
                "created sub/package.json",
            ]
        );
        // The next start is not refused for it; what was there is changed now, and `list` has
        // all of it until it is gone, whatever later runs do.
        let later = case.ends(case.context.host("probe"));
        assert!(later.receipt["found_files"].as_array().unwrap().len() > 4);
        assert!(!later.words.contains("created"), "{}", later.words);
        let listed = |path: &str| {
            let found = case.listed().0["found_files"].clone();
            found
                .as_array()
                .unwrap()
                .iter()
                .any(|file| file["path"] == case.at(path))
        };
        assert!(listed(".mcp.json") && listed(".hg") && listed("CLAUDE.md"));
        fs::remove_file(case.at(".mcp.json")).unwrap();
        assert!(!listed(".mcp.json") && listed("CLAUDE.md"));
        assert!(!listed(".envrc"), "nobody touched it");
    }
}

#[test]
fn g3_a_link_that_leads_out_is_named_and_others_are_not() {
    for who in everybody() {
        let case = Case::new(who);
        let told = case.leaves(&["symlink", "@/etc", "@settings"]);
        let found = &told.receipt["found_files"];
        assert_eq!(found[0]["kind"], "link");
        assert_eq!(found[0]["path"], case.at("settings"));
        assert_eq!(found[0]["why"], "leads out of the directory, to /etc");
        assert!(
            has(&told.words, "G3: a link was created while it ran"),
            "{}",
            told.words
        );
        assert!(has(&case.listed().1, "a link was created while it ran"));
        let case = Case::new(who);
        let told = case.leaves(&["symlink", "@.", "@here"]);
        assert_eq!(told.receipt["found_files"], json!([]));
    }
}

#[test]
fn g2_g3_a_hostile_tree_is_survived_and_what_was_not_looked_at_is_told() {
    for who in everybody() {
        let case = Case::new(who);
        let told = case.leaves(&["deep", "@40"]);
        assert!(has(&told.words, "G2, G3: not all of"), "{}", told.words);
        assert!(!told.receipt["not_searched"].as_array().unwrap().is_empty());
        let found = told.receipt["found_files"].as_array().unwrap();
        let paths: Vec<&str> = found
            .iter()
            .map(|file| file["path"].as_str().unwrap())
            .collect();
        let odd = case.at("odd\u{202e}\n\u{1b}[31m/.mcp.json");
        assert_eq!(paths, [case.at(".envrc"), odd]);
        assert!(
            has(&told.words, r"odd\U0000202e\n\x1b[31m/.mcp.json"),
            "{}",
            told.words
        );
        case.is_refused();
    }
}

#[test]
fn g2_g3_hold_without_namespaces_and_without_a_state() {
    let case = Case::new(Who::Ordinary);
    case.declare_with(&["plant", "@.git", "@AGENTS.md"], &WITHOUT);
    let before = crate::judge::picture(&case.context.path("home/.supervisor"));
    let file = case.context.path("outside/receipt.json");
    let flags = [
        "run",
        "probe",
        "--ephemeral",
        "--receipt",
        file.to_str().unwrap(),
    ];
    let mut host = Host::start(case.context.without_namespaces(&flags));
    assert_eq!(host.message()["params"]["got"], json!(true));
    let words = unwrapped(&host.end().1);
    assert!(has(&words, "G2: a git repository was left"), "{words}");
    assert!(has(&words, "G3: created while it ran"), "{words}");
    let receipt = schema::check(&fs::read_to_string(&file).unwrap());
    assert_eq!(receipt["found_repositories"], json!([case.at(".git")]));
    assert_eq!(receipt["found_files"][0]["path"], case.at("AGENTS.md"));
    let after = crate::judge::picture(&case.context.path("home/.supervisor"));
    assert_eq!(before, after, "nothing is written in the state directory");
}
