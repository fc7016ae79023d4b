#![expect(clippy::disallowed_methods, reason = "tests read and write files")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;
use crate::declaration::{Server, Stdio};

struct Home {
    directory: tempfile::TempDir,
    person: Person,
}

impl Home {
    fn new() -> Self {
        let (directory, person) = Person::temporary();
        Self { directory, person }
    }

    fn state(&self) -> State {
        State::open(&self.person).unwrap()
    }

    fn declared(&self) -> State {
        let state = self.state();
        declare(&state, "weather").unwrap();
        self.state()
    }

    fn mcp(&self) -> PathBuf {
        self.person.state.join(MCP)
    }

    fn refused(&self, code: &str) {
        let before = fs::symlink_metadata(self.mcp())
            .map(|stat| (stat.ino(), stat.mode(), stat.len()))
            .unwrap();
        let error = self.state().read().unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert_eq!(error.exit_code(), REFUSED);
        assert!(
            error.hint().unwrap().contains("mcp.json"),
            "{:?}",
            error.hint()
        );
        let error = declare(&self.state(), "other").unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        let after = fs::symlink_metadata(self.mcp())
            .map(|stat| (stat.ino(), stat.mode(), stat.len()))
            .unwrap();
        assert_eq!(before, after, "the refused file was touched");
    }
}

fn declare(state: &State, alias: &str) -> Result<(), StoreError> {
    state.update(|declarations, _| {
        Ok(declarations.insert(&alias.parse().unwrap(), server("/bin/true"))?)
    })
}

fn server(command: &str) -> Declaration {
    Declaration {
        server: Server::Stdio(Stdio::new(command.to_owned(), Vec::new())),
        enabled: true,
    }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn reading_makes_nothing() {
    let home = Home::new();
    assert_eq!(home.state().read().unwrap().iter().count(), 0);
    assert!(!home.person.state.exists());
}

#[test]
fn modes_and_round_trip() {
    let home = Home::new();
    let state = home.declared();
    assert_eq!(
        (mode(&home.person.state), mode(&home.mcp())),
        (0o700, 0o600)
    );
    let text = fs::read_to_string(home.mcp()).unwrap();
    assert!(
        text.contains(r#""version": 1"#) && text.contains(r#""command": "/bin/true""#),
        "{text}"
    );
    let declarations = state.read().unwrap();
    assert!(declarations.get(&"weather".parse().unwrap()).is_ok());
    let unknown = declarations.get(&"wether".parse().unwrap()).unwrap_err();
    assert_eq!((unknown.code(), unknown.exit_code()), ("unknown-alias", 2));
    assert!(unknown.to_string().contains("`weather` is"), "{unknown}");
}

#[test]
fn an_open_directory_is_closed_with_a_note() {
    let home = Home::new();
    home.declared();
    fs::set_permissions(&home.person.state, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(home.state().notes().len(), 1);
    assert_eq!(mode(&home.person.state), 0o700);
    assert!(home.state().notes().is_empty());
}

#[test]
fn the_directory_may_be_a_link_but_not_a_file() {
    let home = Home::new();
    let real = home.directory.path().join("real");
    fs::create_dir(&real).unwrap();
    symlink(&real, &home.person.state).unwrap();
    home.declared();
    assert!(real.join(MCP).exists());
    fs::remove_file(&home.person.state).unwrap();
    symlink("/nonexistent/x", &home.person.state).unwrap();
    assert_eq!(State::open(&home.person).unwrap_err().code(), "state-io");
    fs::remove_file(&home.person.state).unwrap();
    fs::write(&home.person.state, "").unwrap();
    assert_eq!(State::open(&home.person).unwrap_err().code(), "state-kind");
}

#[test]
fn a_directory_anyone_may_replace_is_refused() {
    let home = Home::new();
    home.declared();
    fs::set_permissions(&home.person.home, fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(
        State::open(&home.person).unwrap_err().code(),
        "state-parent"
    );
    fs::set_permissions(&home.person.home, fs::Permissions::from_mode(0o1777)).unwrap();
    assert!(State::open(&home.person).is_ok());
    // So is one above a link to it, and nothing is made below one.
    let open = home.person.home.join("open");
    fs::create_dir(&open).unwrap();
    symlink(&home.person.state, open.join("link")).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    for name in ["link", "new/below"] {
        let person = Person {
            state: open.join(name),
            ..home.person.clone()
        };
        let opened = State::open(&person).and_then(|state| declare(&state, "weather"));
        assert_eq!(opened.unwrap_err().code(), "state-parent", "{name}");
    }
    assert!(!open.join("new").exists());
}

#[test]
fn inside_a_git_work_tree_it_is_ignored() {
    let home = Home::new();
    fs::create_dir(home.person.home.join(".git")).unwrap();
    home.declared();
    assert_eq!(
        fs::read_to_string(home.person.state.join(".gitignore")).unwrap(),
        "*\n"
    );
}

#[test]
fn files_that_cannot_be_trusted_are_refused() {
    let home = Home::new();
    home.declared();
    fs::set_permissions(home.mcp(), fs::Permissions::from_mode(0o640)).unwrap();
    home.refused("state-mode");
    fs::set_permissions(home.mcp(), fs::Permissions::from_mode(0o600)).unwrap();
    fs::hard_link(home.mcp(), home.person.home.join("second")).unwrap();
    home.refused("state-hard-link");
    fs::remove_file(home.mcp()).unwrap();
    symlink(home.person.home.join("second"), home.mcp()).unwrap();
    home.refused("state-link");
    fs::remove_file(home.mcp()).unwrap();
    nix::unistd::mkfifo(&home.mcp(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    home.refused("state-kind");
    fs::remove_file(home.mcp()).unwrap();
    fs::create_dir(home.mcp()).unwrap();
    home.refused("state-kind");
}

#[test]
fn texts_that_are_no_declarations_are_refused() {
    let home = Home::new();
    home.declared();
    for bad in [
        "",
        "{",
        "[]",
        r#"{"mcpServers":{}}"#,
        r#"{"version":1,"version":1}"#,
        r#"{"version":1,"x":1}"#,
        r#"{"version":1,"mcpServers":{"a":{"command":"b","command":"b"}}}"#,
    ] {
        fs::write(home.mcp(), bad).unwrap();
        home.refused("declarations-unreadable");
    }
    fs::write(home.mcp(), r#"{"version":2}"#).unwrap();
    assert_eq!(
        home.state().read().unwrap_err().code(),
        "declarations-newer"
    );
    fs::write(home.mcp(), b"\xff").unwrap();
    home.refused("state-not-utf8");
    fs::File::options()
        .write(true)
        .open(home.mcp())
        .unwrap()
        .set_len(1 << 30)
        .unwrap();
    home.refused("state-too-large");
}

/// No version came before 1; this one is made up.
#[test]
fn an_older_version_is_migrated_with_a_copy() {
    fn servers_to_mcp_servers(text: &str) -> Result<String, DocumentError> {
        Ok(text
            .replace("\"version\": 0", "\"version\": 1")
            .replace("\"servers\"", "\"mcpServers\""))
    }
    let home = Home::new();
    home.declared();
    let old = r#"{"version": 0, "servers": {"old": {"command": "/bin/true"}}}"#;
    fs::write(home.mcp(), old).unwrap();
    home.refused("declarations-unreadable");
    let state = || State {
        steps: &[servers_to_mcp_servers],
        ..home.state()
    };
    assert!(state().read().unwrap().find("old").is_some());
    let read = || fs::read_to_string(home.mcp()).unwrap();
    assert_eq!(read(), old, "reading writes nothing");
    declare(&state(), "new").unwrap();
    let declarations = home.state().read().unwrap();
    assert!(declarations.find("old").is_some() && declarations.find("new").is_some());
    let copy = home.person.state.join("mcp.json.v0");
    assert_eq!(fs::read_to_string(&copy).unwrap(), old);
    assert_eq!(mode(&copy), 0o600);
    fs::write(home.mcp(), r#"{"version": 7, "servers": {}}"#).unwrap();
    assert_eq!(state().read().unwrap_err().code(), "declarations-newer");
}

/// Whatever stands in the file, nothing panics and nothing is rewritten but what reads back.
#[test]
fn any_bytes_are_refused_or_read_and_never_rewritten() {
    use proptest::prelude::*;
    let home = Home::new();
    home.declared();
    let good = fs::read(home.mcp()).unwrap();
    let bytes = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..64),
        // A good text with something cut out and something put in.
        (
            0..good.len(),
            0..good.len(),
            proptest::collection::vec(any::<u8>(), 0..4)
        )
            .prop_map(move |(from, to, new)| {
                let (from, to) = (from.min(to), from.max(to));
                [&good[..from], &new, &good[to..]].concat()
            }),
        r#"\{"version":[0-3]?,("mcpServers"|"x"):(\{\}|\[\]|1|"a")\}"#.prop_map(String::into_bytes),
    ];
    proptest!(|(bytes in bytes)| {
        fs::write(home.mcp(), &bytes).unwrap();
        let read = home.state().read();
        prop_assert_eq!(&fs::read(home.mcp()).unwrap(), &bytes);
        let declared = declare(&home.state(), "other");
        prop_assert_eq!(read.is_ok(), declared.is_ok());
        if read.is_err() {
            prop_assert_eq!(&fs::read(home.mcp()).unwrap(), &bytes);
        } else {
            prop_assert!(home.state().read().is_ok());
        }
    });
}

#[test]
fn two_writers_lose_nothing() {
    let home = Home::new();
    let threads: Vec<_> = (0..4)
        .map(|writer| {
            let person = home.person.clone();
            std::thread::spawn(move || {
                for number in 0..10 {
                    let state = State::open(&person).unwrap();
                    declare(&state, &format!("s{writer}-{number}")).unwrap();
                }
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert_eq!(home.state().read().unwrap().iter().count(), 40);
    assert!(!home.person.state.join(".mcp.json.new").exists());
}

#[test]
fn likeness() {
    assert_eq!(distance("weather", "wether"), 1);
    assert_eq!(distance("", "abc"), 3);
    assert_eq!(distance("kitten", "sitting"), 3);
}
