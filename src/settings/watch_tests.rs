#![expect(clippy::disallowed_methods, reason = "tests write files")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::thread::sleep;
use std::time::Duration;

use super::*;

const RULES: &str = r#"{"version":1,"own_words":true }"#;
const OTHER: &str = r#"{"version":1,"own_words":false}"#;

fn person(directory: &tempfile::TempDir) -> Person {
    let home = directory.path().canonicalize().unwrap();
    let state = home.join("state");
    fs::create_dir(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
    Person {
        state,
        home,
        uid: nix::unistd::geteuid().as_raw(),
    }
}

/// Until the path is looked at no more; nothing is new meanwhile.
fn hold(watch: &mut Watch) {
    while watch.held.is_none() {
        assert!(watch.news(Timestamp::now()).is_none());
        sleep(Duration::from_millis(5));
    }
}

fn put(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Every way in which a file changes is news at the next look, by path or by descriptor.
#[test]
fn a_change_is_seen_at_the_next_look() {
    let directory = tempfile::tempdir().unwrap();
    let person = person(&directory);
    let (mut watch, _) = Watch::begin(&person, &State::open(&person).unwrap()).unwrap();
    let (path, aside) = (person.state.join(FILE), person.state.join("aside"));
    type Change<'a> = (&'a str, &'a dyn Fn(), Option<bool>);
    let changes: [Change<'_>; 8] = [
        ("made", &|| put(&path, RULES), Some(true)),
        (
            "written over",
            &|| fs::write(&path, OTHER).unwrap(),
            Some(false),
        ),
        (
            "replaced",
            &|| {
                put(&aside, RULES);
                fs::rename(&aside, &path).unwrap();
            },
            Some(true),
        ),
        (
            "open to others",
            &|| fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap(),
            None,
        ),
        (
            "closed again",
            &|| fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap(),
            Some(true),
        ),
        (
            "moved away",
            &|| fs::rename(&path, &aside).unwrap(),
            Some(false),
        ),
        (
            "moved back",
            &|| fs::rename(&aside, &path).unwrap(),
            Some(true),
        ),
        ("removed", &|| fs::remove_file(&path).unwrap(), Some(false)),
    ];
    for (how, change, own_words) in changes {
        hold(&mut watch);
        change();
        let news = watch.news(Timestamp::now());
        let read = news.unwrap_or_else(|| panic!("{how} was not seen"));
        assert_eq!(
            read.map(|read| read.rules.own_words).ok(),
            own_words,
            "{how}"
        );
        assert!(watch.news(Timestamp::now()).is_none(), "{how}");
    }
}

/// What a descriptor does not tell, the path does.
#[test]
fn another_directory_in_its_place_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    let person = person(&directory);
    put(&person.state.join(FILE), RULES);
    let (mut watch, begun) = Watch::begin(&person, &State::open(&person).unwrap()).unwrap();
    assert!(begun.rules.own_words);
    hold(&mut watch);
    fs::rename(&person.state, directory.path().join("before")).unwrap();
    fs::create_dir(&person.state).unwrap();
    fs::set_permissions(&person.state, fs::Permissions::from_mode(0o700)).unwrap();
    put(&person.state.join(FILE), OTHER);
    let read = watch.news(Timestamp::now() + ASKED).unwrap().unwrap();
    assert!(!read.rules.own_words);
}
