#![expect(clippy::disallowed_methods, reason = "tests read and write files")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::*;
use crate::declaration::{Server, entry};
use crate::plan::program::Identity;
use crate::plan::{Person, program};

struct Case {
    directory: tempfile::TempDir,
    state: State,
}

impl Case {
    fn new() -> Self {
        let (directory, person) = Person::temporary();
        let state = State::open(&person).unwrap();
        Self { directory, state }
    }

    fn program(&self, name: &str, text: &str) -> String {
        let path = self.directory.path().canonicalize().unwrap().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn declare(&self, alias: &str, entry: serde_json::Value) -> Declaration {
        let declaration = entry::parse(entry).unwrap();
        Approvals::declare(&self.state, &alias.parse().unwrap(), &declaration).unwrap();
        declaration
    }

    fn approve(&self, alias: &str, declaration: &Declaration) {
        let path = SearchPath::parse(OsStr::new("/usr/bin:/bin"));
        let found = program(declaration);
        let time = "2030-01-02T03:04:05Z".parse().unwrap();
        let alias = alias.parse().unwrap();
        Approvals::approve(
            &self.state,
            &alias,
            declaration,
            &path,
            found.as_ref(),
            time,
        )
        .unwrap();
    }

    fn check(&self, alias: &str, declaration: &Declaration) -> Approval {
        let approvals = Approvals::read(&self.state).unwrap();
        approvals.check(
            &alias.parse().unwrap(),
            declaration,
            program(declaration).as_ref(),
        )
    }

    fn file(&self, name: &str) -> PathBuf {
        self.state.path().join(name)
    }

    fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(self.file(LIST)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

fn program(declaration: &Declaration) -> Option<Program> {
    match &declaration.server {
        Server::Stdio(stdio) => program::find(&stdio.command, &SearchPath::default()).ok(),
        Server::Http(_) => None,
    }
}

const SH: &str = "#!/bin/sh\nexit 0\n";

fn changed(word: super::super::Word) -> Approval {
    Approval::Changed {
        changed: vec![word],
    }
}

#[test]
fn a_yes_holds_for_what_it_was_given_to() {
    use super::super::Word;
    let case = Case::new();
    let path = case.program("server", SH);
    let one = case.declare(
        "a",
        serde_json::json!({"command": path, "args": ["1"], "pass": ["PATH"]}),
    );
    assert_eq!(case.check("a", &one), Approval::Missing);
    case.approve("a", &one);
    assert_eq!(case.check("a", &one), Approval::Given);
    let approvals = Approvals::read(&case.state).unwrap();
    let record = approvals.record(&canonical(&one).digest()).unwrap();
    assert_eq!(record.search_path().unwrap().to_env(), "/usr/bin:/bin");
    assert_eq!(
        record.program().unwrap().found.to_str(),
        Some(path.as_str())
    );
    assert_eq!(record.approved().to_string(), "2030-01-02T03:04:05Z");
    for name in [LIST, "approvals", "approvals/"] {
        let mode = fs::metadata(case.file(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if name == LIST { 0o600 } else { 0o700 });
    }
    let two = entry::parse(serde_json::json!({"command": path, "args": ["2"], "pass": ["PATH"]}))
        .unwrap();
    assert_eq!(case.check("a", &two), changed(Word::Argv));
    assert_eq!(case.check("other", &two), Approval::Missing);
}

#[test]
fn the_file_holds_no_value() {
    let case = Case::new();
    let path = case.program("server", SH);
    let one = case.declare(
        "a",
        serde_json::json!({"command": path, "env": {"KEY": "sk-key"}}),
    );
    case.approve("a", &one);
    let name = file_name(&canonical(&one).digest());
    let text = fs::read_to_string(case.file("approvals").join(name)).unwrap();
    assert!(text.contains("KEY") && !text.contains("sk-key"), "{text}");
    assert!(!format!("{:?}", Approvals::read(&case.state).unwrap()).contains("sk-key"));
}

#[test]
fn content_is_reported_and_refused_where_pinned() {
    use super::super::Word;
    let case = Case::new();
    let path = case.program("server", SH);
    let plain = case.declare("plain", serde_json::json!({"command": path}));
    let pinned = case.declare(
        "pinned",
        serde_json::json!({"command": path, "pin": ["program"]}),
    );
    case.approve("plain", &plain);
    case.approve("pinned", &pinned);
    let compared = |declaration: &Declaration, read: Option<&Identity>| {
        let approvals = Approvals::read(&case.state).unwrap();
        let record = approvals.record(&canonical(declaration).digest()).unwrap();
        let found = program(declaration).unwrap();
        let content = record.compare(&found, read).unwrap();
        (content, record.worth_keeping(&found).cloned())
    };
    let upgraded = |declaration: &Declaration| compared(declaration, None).0.differs;
    assert_eq!(upgraded(&plain), None);
    // Written again with the same bytes: other fields, the same content.
    case.program("server", SH);
    assert_eq!(
        (upgraded(&plain), case.check("pinned", &pinned)),
        (None, Approval::Given)
    );
    // What was read of it stands in for another reading while its fields are the same: not for
    // what is pinned, nor for another file.
    let (content, kept) = compared(&plain, None);
    let mut read = kept.unwrap();
    assert_eq!(read.sha256, content.sha256);
    read.sha256 = "as it was read".to_owned();
    let (from_before, nothing_new) = compared(&plain, Some(&read));
    assert_eq!(from_before.sha256, read.sha256);
    assert_eq!(nothing_new, None);
    assert_eq!(compared(&pinned, Some(&read)), (content, None));
    case.program("server", "#!/bin/sh\nexit 1\n");
    assert_ne!(compared(&plain, Some(&read)).0.sha256, read.sha256);
    assert!(upgraded(&plain).is_some_and(|said| said.contains("not the file that was approved")));
    assert_eq!(case.check("plain", &plain), Approval::Given);
    assert_eq!(case.check("pinned", &pinned), changed(Word::Program));
}

#[test]
fn a_line_without_its_record_approves_nothing() {
    let case = Case::new();
    let path = case.program("server", SH);
    let one = case.declare("a", serde_json::json!({"command": path, "args": ["1"]}));
    let two = entry::parse(serde_json::json!({"command": path, "args": ["2"]})).unwrap();
    case.approve("a", &one);
    let digest = canonical(&one).digest();
    let record = case.file("approvals").join(file_name(&digest));
    let text = fs::read_to_string(&record).unwrap();
    for broken in [
        text.replace("\"1\"", "\"2\""),
        text.replace(digest.as_str(), canonical(&two).digest().as_str()),
        text.replace("\"version\": 1", "\"version\": 2"),
        "{}".to_owned(),
        String::new(),
    ] {
        fs::write(&record, broken).unwrap();
        assert_eq!(case.check("a", &one), Approval::Missing);
        assert_eq!(
            Approvals::read(&case.state).unwrap().without_record(),
            std::slice::from_ref(&digest)
        );
    }
    fs::remove_file(&record).unwrap();
    assert_eq!(case.check("a", &one), Approval::Missing);
    // A line of another digest with this record.
    fs::write(&record, text).unwrap();
    fs::write(
        case.file(LIST),
        format!("server {} a\n", canonical(&two).digest()),
    )
    .unwrap();
    assert_eq!(case.check("a", &two), Approval::Missing);
    fs::write(case.file(LIST), "server x a\n").unwrap();
    assert_eq!(
        Approvals::read(&case.state).unwrap_err().code(),
        "approvals-unreadable"
    );
}

#[test]
fn approvals_go_with_what_they_were_given_to() {
    let case = Case::new();
    let path = case.program("server", SH);
    let one = || serde_json::json!({"command": path, "args": ["1"]});
    let two = || serde_json::json!({"command": path, "args": ["2"]});
    let first = case.declare("a", one());
    case.approve("a", &first);
    // The same digest: it stays. Under a second alias: nothing is asked.
    case.declare("a", one());
    case.declare("b", one());
    assert_eq!(
        (case.check("a", &first), case.check("b", &first)),
        (Approval::Given, Approval::Given)
    );
    // Replaced: the other alias shares it, and keeps it.
    let second = case.declare("a", two());
    assert_eq!(
        (case.check("a", &second), case.check("b", &first)),
        (Approval::Missing, Approval::Given)
    );
    assert_eq!(
        case.lines(),
        [format!("server {} b", canonical(&first).digest())]
    );
    // Replaced again, and nobody shares it: line and record are gone.
    case.declare("b", two());
    assert_eq!(case.lines(), Vec::<String>::new());
    assert_eq!(fs::read_dir(case.file("approvals")).unwrap().count(), 0);
    case.declare("b", one());
    assert_eq!(case.check("b", &first), Approval::Missing);
    // One alias is approved anew with something else: the other keeps what they shared.
    let first = case.declare("a", one());
    case.approve("a", &first);
    case.approve("a", &entry::parse(two()).unwrap());
    assert_eq!(case.check("b", &first), Approval::Given);
    assert_eq!(case.lines().len(), 2);
    Approvals::remove(&case.state, "a").unwrap();
    case.approve("b", &first);
    Approvals::remove(&case.state, "b").unwrap();
    assert_eq!(
        (
            case.lines().len(),
            case.state.read().unwrap().iter().count()
        ),
        (0, 0)
    );
    assert_eq!(
        Approvals::remove(&case.state, "b").unwrap_err().code(),
        "unknown-alias"
    );
}

/// Whatever stands in the list or a record, nothing panics, nothing is approved by it, and
/// reading rewrites nothing.
#[test]
fn any_bytes_approve_nothing_and_are_left() {
    use proptest::prelude::*;
    let case = Case::new();
    let path = case.program("server", SH);
    let declaration = case.declare("a", serde_json::json!({"command": path}));
    case.approve("a", &declaration);
    let record = case.file(&format!(
        "approvals/{}.json",
        canonical(&declaration).digest()
    ));
    let other = case.declare("a", serde_json::json!({"command": path, "args": ["other"]}));
    let forged = canonical(&other).digest();
    case.declare("a", serde_json::json!({"command": path}));
    case.approve("a", &declaration);
    for file in [case.file(LIST), record] {
        let good = fs::read(&file).unwrap();
        let length = good.len();
        let bytes = prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..64),
            Just(format!("server {forged} a\n").into_bytes()),
            Just(format!("server {forged} a\r\n").into_bytes()),
            (
                0..length,
                0..length,
                proptest::collection::vec(any::<u8>(), 0..4)
            )
                .prop_map({
                    let good = good.clone();
                    move |(from, to, new)| {
                        [&good[..from.min(to)], &new, &good[from.max(to)..]].concat()
                    }
                }),
        ];
        proptest!(|(bytes in bytes)| {
            fs::write(&file, &bytes).unwrap();
            if let Ok(approvals) = Approvals::read(&case.state) {
                let alias = "a".parse().unwrap();
                let found = program(&other);
                let given = approvals.check(&alias, &other, found.as_ref()) == Approval::Given;
                prop_assert!(!given, "approved by nobody");
            }
            prop_assert_eq!(fs::read(&file).unwrap(), bytes);
        });
        fs::write(&file, &good).unwrap();
    }
    assert_eq!(case.check("a", &declaration), Approval::Given);
}

fn surface(text: &str) -> Surface {
    use crate::surface::canonical::Item;
    [Item::instructions(text)].into_iter().collect()
}

#[test]
fn a_surface_goes_with_the_approval_of_its_server() {
    let case = Case::new();
    let path = case.program("server", SH);
    let one = || serde_json::json!({"command": path, "args": ["1"]});
    let first = case.declare("a", one());
    let digest = canonical(&first).digest();
    let approve = |text: &str| {
        let alias = "a".parse().unwrap();
        Approvals::approve_surface(&case.state, &alias, &digest, &surface(text))
    };
    let kept = || {
        let approvals = Approvals::read(&case.state).unwrap();
        let kept = approvals.surface(&digest).map(|surface| surface.digest());
        let of_a_run = Approvals::surface_of(&case.state, &"a".parse().unwrap(), &digest).unwrap();
        assert_eq!(of_a_run.map(|surface| surface.digest()), kept);
        kept
    };
    assert_eq!(approve("x").unwrap_err().code(), "not-approved");
    case.approve("a", &first);
    approve("x").unwrap();
    approve("y").unwrap();
    assert_eq!(kept(), Some(surface("y").digest()));
    assert_eq!(case.lines().len(), 2, "one surface a digest");
    // Another alias of the same digest keeps both.
    case.declare("b", one());
    Approvals::remove(&case.state, "a").unwrap();
    assert_eq!(kept(), Some(surface("y").digest()));
    let of_b = |line: &String| line.ends_with(" b");
    assert!(case.lines().iter().all(of_b));
    // A line of another surface than the file's.
    let list = fs::read_to_string(case.file(LIST)).unwrap();
    let other = surface("z").digest();
    let forged = list.replace(surface("y").digest().as_str(), other.as_str());
    fs::write(case.file(LIST), forged).unwrap();
    assert_eq!(kept(), None);
    let approvals = Approvals::read(&case.state).unwrap();
    assert_eq!(approvals.without_surface(), vec![digest.clone()]);
    fs::write(case.file(LIST), list).unwrap();
    Approvals::remove(&case.state, "b").unwrap();
    assert_eq!((kept(), case.lines().len()), (None, 0));
    assert_eq!(fs::read_dir(case.file(SURFACES)).unwrap().count(), 0);
}
