//! A machine whose administrator lays files down in `/etc/supervisor`: a copy of `/etc` that one
//! process tree sees.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use super::{Host, TestContext, Who, everybody, is_root, set_mode, stderr, stdout};
use crate::judge::{picture_but_log, printable};
use crate::schema;

/// Refuses one host, and no program.
pub const OTHER: &str = r#"{"mcp": {"deny": [{"host": "staging.example.com"}]}}"#;

/// A person on a machine of a fleet, with an approved server `a` and a declared one `b`.
pub struct Fleet {
    pub context: TestContext,
    pub etc: PathBuf,
}

impl Fleet {
    /// `None` where the tests are not started as root.
    pub fn new(who: Who) -> Option<Self> {
        if !is_root() {
            return None;
        }
        let context = TestContext::new(who);
        context.approved("a", &[], &[&TestContext::program("fixture-server")]);
        let add = context.run(&["add", "b", "--", "/bin/cat", "--number"]);
        assert!(add.status.success(), "{}", stderr(&add));
        let etc = context.path("etc");
        let copied = Command::new("cp")
            .args(["-a", "/etc"])
            .arg(&etc)
            .status()
            .unwrap();
        assert!(copied.success());
        let _ = fs::remove_dir_all(etc.join("supervisor"));
        Some(Self { context, etc })
    }

    /// A path below `/etc/supervisor`.
    pub fn at(&self, name: &str) -> PathBuf {
        self.etc.join("supervisor").join(name)
    }

    /// Lays a file down as a package does.
    pub fn install(&self, name: &str, text: &str) -> PathBuf {
        let path = self.at(name);
        let above = path.parent().unwrap();
        fs::create_dir_all(above).unwrap();
        set_mode(above, 0o755);
        fs::write(&path, text).unwrap();
        set_mode(&path, 0o644);
        path
    }

    /// Takes everything away.
    pub fn clear(&self) {
        let place = self.at("");
        let place = Path::new(place.to_str().unwrap().trim_end_matches('/'));
        match fs::symlink_metadata(place) {
            Ok(stat) if stat.is_dir() => fs::remove_dir_all(place).unwrap(),
            Ok(_) => fs::remove_file(place).unwrap(),
            Err(_) => {}
        }
    }

    pub fn command(&self, words: &[&str]) -> Command {
        self.context.with_etc(&self.etc, words)
    }

    pub fn run(&self, words: &[&str]) -> Output {
        let output = self.command(words).output().unwrap();
        printable(&output);
        output
    }

    /// The first answer that a host gets.
    pub fn answer(&self, words: &[&str]) -> Value {
        let mut host = Host::start(self.command(words));
        let answer = host.initialize();
        host.end();
        answer
    }

    /// The approved server starts.
    #[track_caller]
    pub fn starts(&self) {
        let answer = self.answer(&["run", "a"]);
        assert!(answer["result"]["serverInfo"].is_object(), "{answer}");
    }

    /// Nothing starts, and the host is told why and which file.
    #[track_caller]
    pub fn refuses(&self, code: &str, file: &Path) {
        self.tells(&["run", "a"], code, &self.shown_as(file));
        let check = self.run(&["policy", "check", "--installed"]);
        assert_eq!(check.status.code(), Some(1));
        assert!(stderr(&check).contains(&format!("({code})")));
    }

    #[track_caller]
    fn tells(&self, words: &[&str], code: &str, shown: &str) {
        let answer = self.answer(words);
        assert_eq!(answer["error"]["data"]["code"], code, "{words:?}: {answer}");
        assert_eq!(answer["error"]["data"]["exit"], 126);
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(
            message.contains(shown) && message.starts_with("S3: nothing starts"),
            "{message}"
        );
    }

    /// A file of the copy, as it is named where the copy is `/etc`.
    fn shown_as(&self, file: &Path) -> String {
        let below = file.strip_prefix(&self.etc).unwrap();
        let shown: PathBuf = Path::new("/etc").join(below).components().collect();
        shown.to_str().unwrap().to_owned()
    }

    /// Nothing starts in any mode, each command says why and names the file; nothing changes.
    #[track_caller]
    pub fn nothing_starts(&self, code: &str, file: &Path) {
        let shown = &self.shown_as(file);
        let before = picture_but_log(&self.context);
        for words in [
            &["run", "a"][..],
            &["run", "--ephemeral", "a"],
            &["run", "b"],
        ] {
            self.tells(words, code, shown);
        }
        for words in [
            &["run", "a", "--dry-run"][..],
            &["explain", "a"],
            &["approve", "b"],
            &["approve", "a", "--surface"],
            &["try"],
        ] {
            let output = self.run(words);
            assert_eq!(
                output.status.code(),
                Some(126),
                "{words:?}: {}",
                stderr(&output)
            );
            assert!(
                stderr(&output).contains(&format!("({code})")),
                "{words:?}: {}",
                stderr(&output)
            );
        }
        self.shown(code, shown);
        assert_eq!(before, picture_but_log(&self.context), "something changed");
    }

    /// What refuses all is shown on each row, by `get`, and by the check.
    #[track_caller]
    fn shown(&self, code: &str, file: &str) {
        let list = self.run(&["list", "--json"]);
        assert_eq!(list.status.code(), Some(1), "{}", stdout(&list));
        for row in schema::check(&stdout(&list))["servers"].as_array().unwrap() {
            assert_eq!(row["not_started"]["code"], code, "{row}");
        }
        let list = self.run(&["list"]);
        assert!(
            stderr(&list).contains("nothing starts"),
            "{}",
            stderr(&list)
        );
        let get = self.run(&["get", "a"]);
        assert!(stdout(&get).contains("does not start:"), "{}", stdout(&get));
        let check = self.run(&["policy", "check", "--installed", "--json"]);
        assert_eq!(check.status.code(), Some(1));
        let error = &schema::check(&stdout(&check))["error"];
        assert_eq!(error["code"], code, "{error}");
        assert!(
            error["where"].as_str().unwrap().starts_with(file),
            "{error}"
        );
    }
}

/// The fleets of root and of a user; none where the tests are not started as root.
pub fn fleets() -> impl Iterator<Item = (Who, Fleet)> {
    everybody()
        .into_iter()
        .filter_map(|who| Some((who, Fleet::new(who)?)))
}
