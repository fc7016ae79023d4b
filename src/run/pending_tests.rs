#![expect(clippy::disallowed_methods, reason = "tests read and write files")]

use serde_json::json;

use super::*;
use crate::plan::Person;

struct Case {
    _directory: tempfile::TempDir,
    state: State,
    digest: Digest,
}

impl Case {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        let person = Person {
            state: home.join(".supervisor"),
            home,
            uid: nix::unistd::geteuid().as_raw(),
        };
        let state = State::open(&person).unwrap();
        // The directory is there from the first file on.
        state.make().unwrap();
        Self {
            _directory: directory,
            state: State::open(&person).unwrap(),
            digest: "a".repeat(64).parse().unwrap(),
        }
    }

    fn saw(&self, withheld: &[Item], whole: &[Kind], gone: &[(Kind, &str)]) {
        let pending = Pending {
            withheld: withheld.to_vec(),
            whole: whole.to_vec(),
            gone: gone
                .iter()
                .map(|(kind, name)| (*kind, (*name).to_owned()))
                .collect(),
        };
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        saw(&self.state, &self.digest, &pending, now).unwrap();
    }

    fn read(&self, approved: &[Item]) -> Option<Waiting> {
        let approved: Surface = approved.iter().cloned().collect();
        read(&self.state, &self.digest, Some(&approved)).unwrap()
    }
}

fn tool(name: &str, text: &str) -> Item {
    let item = json!({"name": name, "description": text});
    Item::listed(Kind::Tool, item).unwrap()
}

fn names(surface: &Surface) -> Vec<&str> {
    surface.iter().map(Item::name).collect()
}

#[test]
fn what_runs_saw_waits_until_it_is_answered() {
    let case = Case::new();
    let (a, b) = (tool("a", "1"), tool("b", "1"));
    assert_eq!(case.read(&[]), None);
    case.saw(&[], &[Kind::Tool], &[]);
    assert_eq!(case.read(&[]), None, "nothing is kept of no difference");
    case.saw(
        std::slice::from_ref(&b),
        &[Kind::Tool],
        &[(Kind::Tool, "a")],
    );
    let waiting = case.read(std::slice::from_ref(&a)).unwrap();
    assert_eq!(waiting.withheld(), 1);
    let approved = std::iter::once(a.clone()).collect();
    assert_eq!(names(&waiting.surface(&approved)), ["b"]);
    // Another list as another run saw it stands beside.
    let words = Item::instructions("x");
    case.saw(std::slice::from_ref(&words), &[], &[]);
    assert_eq!(case.read(std::slice::from_ref(&a)).unwrap().withheld(), 2);
    case.saw(&[], &[Kind::Tool], &[]);
    assert_eq!(case.read(&[a]).unwrap().withheld, [words]);
    forget(&case.state, &case.digest).unwrap();
    assert_eq!(case.read(&[]), None);
    forget(&case.state, &case.digest).unwrap();
}

#[test]
fn what_a_run_writes_that_goes_by_an_older_answer_does_not_wait() {
    let case = Case::new();
    let (old, new) = (tool("a", "1"), tool("a", "2"));
    // It began before the yes to the new form, which dropped another tool too, and writes after.
    forget(&case.state, &case.digest).unwrap();
    case.saw(
        std::slice::from_ref(&new),
        &[Kind::Tool],
        &[(Kind::Tool, "b")],
    );
    assert_eq!(case.read(std::slice::from_ref(&new)), None);
    // Where that is not what is approved, it waits, and before any answer too.
    assert_eq!(case.read(&[old]).unwrap().withheld(), 1);
    let unanswered = read(&case.state, &case.digest, None).unwrap();
    assert_eq!(unanswered.unwrap().withheld(), 1);
    // What else it saw does.
    case.saw(&[new.clone(), tool("c", "1")], &[Kind::Tool], &[]);
    let waiting = case.read(&[new]).unwrap();
    assert_eq!(waiting.withheld, [tool("c", "1")]);
}

#[test]
fn an_answer_waits_for_a_run_that_writes() {
    let case = Case::new();
    case.saw(&[tool("a", "1")], &[], &[]);
    let folder = folder(&case.state).unwrap().unwrap();
    let locked = folder.lock_within(PATIENCE).unwrap();
    let error = forget(&case.state, &case.digest).unwrap_err();
    assert!(error.to_string().contains(FOLDER), "{error}");
    assert!(case.read(&[]).is_some());
    drop(locked);
    forget(&case.state, &case.digest).unwrap();
    assert_eq!(case.read(&[]), None);
    // Nor does it keep the rest of the state from being written.
    let state = case.state.make().unwrap();
    let _locked = state.lock_within(PATIENCE).unwrap();
    forget(&case.state, &case.digest).unwrap();
}
