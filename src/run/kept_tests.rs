#![expect(clippy::disallowed_methods, reason = "tests read and write files")]

use std::fs;

use super::*;
use crate::plan::Person;

struct Home {
    _directory: tempfile::TempDir,
    person: Person,
}

fn home() -> Home {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path().canonicalize().unwrap();
    let person = Person {
        state: home.join(".supervisor"),
        home,
        uid: nix::unistd::geteuid().as_raw(),
    };
    Home {
        _directory: directory,
        person,
    }
}

fn kept(home: &Home, digit: &str) -> Kept {
    let state = State::open(&home.person).unwrap();
    Kept::open(&state, &digit.repeat(64).parse().unwrap()).unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

#[test]
fn two_runs_of_one_server_count_together() {
    let home = home();
    let (one, two) = (kept(&home, "a"), kept(&home, "a"));
    assert_eq!(one.breaker().unwrap(), Breaker::default());
    one.turn(Verdict::Failed, at(0)).unwrap();
    two.turn(Verdict::Failed, at(1)).unwrap();
    let breaker = one.turn(Verdict::Failed, at(2)).unwrap();
    assert_eq!(breaker.failures, 3);
    assert!(two.breaker().unwrap().left(at(2)).is_some());
    assert_eq!(kept(&home, "b").breaker().unwrap(), Breaker::default());
    two.turn(Verdict::Succeeded, at(3)).unwrap();
    assert_eq!(one.breaker().unwrap(), Breaker::default());
}

#[test]
fn what_is_known_is_known_for_a_week() {
    let (home, day) = (home(), 24 * 3_600);
    let kept = kept(&home, "a");
    assert_eq!(kept.discover(at(0)).unwrap(), None);
    kept.learn(Discover::Silent, at(0)).unwrap();
    assert_eq!(kept.discover(at(6 * day)).unwrap(), Some(Discover::Silent));
    assert_eq!(kept.discover(at(7 * day)).unwrap(), None);
    assert_eq!(
        kept.discover(at(-day)).unwrap(),
        None,
        "the clock was set back"
    );
}

#[test]
fn a_record_that_does_not_read_is_an_error_with_its_place() {
    let home = home();
    let kept = kept(&home, "a");
    kept.turn(Verdict::Failed, at(0)).unwrap();
    kept.learn(Discover::Exits, at(0)).unwrap();
    let (breaker, era) = (
        home.person.state.join("breaker").join("a".repeat(64)),
        home.person.state.join("era").join("a".repeat(16)),
    );
    for path in [&breaker, &era] {
        let good = fs::read_to_string(path).unwrap();
        for bad in [
            "",
            "{}",
            &good.replace("\"version\":1", "\"version\":2"),
            &good.replace("\"version\"", "\"more\":1,\"version\""),
            &good.replace("aaaa\"", "aaab\""),
        ] {
            fs::write(path, bad).unwrap();
            let error = if path == &breaker {
                kept.breaker().err()
            } else {
                kept.discover(at(0)).err()
            };
            let error = error.unwrap_or_else(|| panic!("{bad}"));
            assert_eq!(error.code(), "record-unreadable", "{bad}");
            assert!(
                error
                    .place()
                    .unwrap()
                    .ends_with(path.file_name().unwrap().to_str().unwrap())
            );
            assert!(error.hint().unwrap().starts_with("rm "));
        }
    }
}
