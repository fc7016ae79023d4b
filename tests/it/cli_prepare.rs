//! What a runner fetches: `run` refuses to leave it to a host's time, `prepare` fetches it, is
//! told, interrupted and done again, and what runs get of it.
//!
//! The runners are scripts under the names of real ones, which keep a tree where those do.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::{Host, TestContext, Who, everybody, stderr, stdout};

/// Fetches a tree unless it is there, as the file that it is told says; then becomes a server.
const NPX: &str = r#"#!/bin/sh
tree=$HOME/.npm/_npx/0123/node_modules/pkg
case $(cat "$2") in
absent) echo 'npm error code E404' >&2; exit 1 ;;
esac
if [ ! -e "$tree/whole" ]; then
  mkdir -p "$tree"
  case $(cat "$2") in
  slow) echo half > "$tree/half"; sleep 600 ;;
  held) echo half > "$tree/half"; while [ "$(cat "$2")" = held ]; do sleep 0.05; done ;;
  esac
  cat "$2" > "$tree/whole"
fi
echo "${npm_config_prefer_offline-unset}" >> "$HOME/seen"
case $(cat "$2") in
lacks) echo 'Error: API_KEY environment variable is required' >&2; exit 1 ;;
esac
exec "$3" echo
"#;

/// As uv: told to stay offline, it ends where something is missing.
const UVX: &str = r#"#!/bin/sh
tree=$HOME/.cache/uv/archive-v0/0123
echo "${UV_OFFLINE-unset}" >> "$HOME/seen"
if [ -n "$UV_OFFLINE" ] && { [ ! -e "$tree/whole" ] || [ "$(cat "$2")" = asks ]; }; then
  echo 'error: network connectivity is disabled' >&2; exit 2
fi
mkdir -p "$tree"; cat "$2" > "$tree/whole"
exec "$3" echo
"#;

/// A person with a declared runner and the file that tells it what to do.
struct Fetched {
    context: TestContext,
    told: PathBuf,
    path: String,
}

impl Fetched {
    fn new(
        who: Who,
        runner: &str,
        script: &str,
        package: &str,
        flags: &[&str],
    ) -> (Self, i32, String) {
        let context = TestContext::new(who);
        let bin = context.make_directory("bin");
        fs::set_permissions(&bin, fs::Permissions::from_mode(0o755)).unwrap();
        let program = context.make_file(&format!("bin/{runner}"), script);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let told = context.make_file("told", "at once");
        let path = format!("{}:/usr/bin:/bin", bin.display());
        let server = TestContext::program("fixture-server");
        let argv = [runner, package, told.to_str().unwrap(), &server];
        let words = [&["add", "r"], flags, &["--"], &argv].concat();
        let mut command = context.supervisor(&words);
        command.env("PATH", &path);
        let (code, screen) = context.terminal(command, "y");
        let fetched = Self {
            context,
            told,
            path,
        };
        (fetched, code, screen)
    }

    fn npx(who: Who) -> Self {
        let (fetched, code, screen) = Self::new(who, "npx", NPX, "pkg@1.0.0", &["--no-inspect"]);
        assert_eq!(code, 0, "{screen}");
        fetched
    }

    fn tell(&self, what: &str) {
        fs::write(&self.told, what).unwrap();
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.context.supervisor(words);
        command.env("PATH", &self.path);
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    fn host(&self, flags: &[&str]) -> Host {
        Host::start(self.command(&[&["run", "r"], flags].concat()))
    }

    fn prepares(&self) -> Value {
        let output = self.run(&["prepare", "r", "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_str(&stdout(&output)).unwrap()
    }

    fn home(&self) -> PathBuf {
        self.made_home().unwrap()
    }

    fn made_home(&self) -> Option<PathBuf> {
        let homes = fs::read_dir(self.context.path("home/.supervisor/home")).ok()?;
        let mut homes = homes.map(|entry| entry.unwrap().path());
        homes.find(|path| path.is_dir())
    }

    fn seen(&self) -> Vec<String> {
        let text = fs::read_to_string(self.home().join("seen")).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// The error that a host gets to its first request.
    fn refused(&self) -> Value {
        let mut host = self.host(&[]);
        let answer = host.initialize();
        host.end();
        answer["error"].clone()
    }

    fn works(&self, flags: &[&str]) {
        let mut host = self.host(flags);
        let answer = host.initialize();
        let (_, words) = host.end();
        assert!(answer.get("result").is_some(), "{answer} {words}");
    }
}

/// Whether a fetch into a home was begun and has not ended.
fn is_half(home: PathBuf) -> bool {
    home.join(".npm/_npx/0123/node_modules/pkg/half").exists()
}

#[test]
fn a_run_that_would_have_to_fetch_is_refused_at_once_and_a_prepared_one_is_not() {
    for who in everybody() {
        let fetched = Fetched::npx(who);
        // It would wait for ever.
        fetched.tell("slow");
        let error = fetched.refused();
        assert_eq!(error["data"]["code"], "not-prepared", "{error}");
        assert_eq!(error["data"]["hint"], "supervisor prepare r");
        assert_eq!(error["data"]["exit"], 126);
        assert!(!fetched.context.path("home/.supervisor/home").exists());

        fetched.tell("at once");
        let prepared = fetched.prepares();
        assert_eq!(prepared["schema"], "supervisor.prepare.v1");
        assert_eq!(
            (&prepared["files"], &prepared["bytes"]),
            (&1.into(), &7.into())
        );
        assert!(prepared["sha256"].is_string(), "{prepared}");
        fetched.works(&[]);
        // It was not told to prefer what it had before it had it.
        assert_eq!(fetched.seen(), ["unset", "true"]);
        let explained = stdout(&fetched.run(&["explain", "r"]));
        assert!(
            explained.contains("npm_config_prefer_offline"),
            "{explained}"
        );

        // The home is gone, and so is what was fetched.
        fs::remove_dir_all(fetched.home()).unwrap();
        assert_eq!(fetched.refused()["data"]["code"], "not-prepared");
        // A home of one run alone is filled by that run.
        fetched.works(&["--ephemeral"]);
    }
}

#[test]
fn an_interrupted_prepare_leaves_a_home_in_which_the_next_goes_on() {
    for signal in [Signal::SIGINT, Signal::SIGKILL] {
        let fetched = Fetched::npx(Who::Ordinary);
        fetched.tell("slow");
        let mut prepare = fetched.command(&["prepare", "r"]);
        prepare.stdout(Stdio::piped()).stderr(Stdio::piped());
        let prepare = prepare.spawn().unwrap();
        while !fetched.made_home().is_some_and(is_half) {
            sleep(Duration::from_millis(10));
        }
        kill(Pid::from_raw(prepare.id().try_into().unwrap()), signal).unwrap();
        let output = prepare.wait_with_output().unwrap();
        if signal == Signal::SIGINT {
            assert_eq!(output.status.code(), Some(126));
            let words = stderr(&output);
            assert!(
                words.contains("interrupted") && words.contains("supervisor prepare r"),
                "{words}"
            );
        }
        assert_eq!(fetched.refused()["data"]["code"], "not-prepared");
        fetched.tell("at once");
        fetched.prepares();
        // What was put together half-way is not taken for whole.
        assert!(!is_half(fetched.home()));
        fetched.works(&[]);
    }
}

#[test]
fn runs_go_offline_where_a_start_was_seen_to_come_up_so() {
    for (told, package, offline) in [
        ("at once", "pkg==1.0.0", true),
        ("asks", "pkg==1.0.0", false),
        // It is to get what is published.
        ("at once", "pkg", false),
    ] {
        let (fetched, code, screen) =
            Fetched::new(Who::Ordinary, "uvx", UVX, package, &["--no-inspect"]);
        assert_eq!(code, 0, "{screen}");
        fetched.tell(told);
        assert_eq!(fetched.prepares()["offline"], offline, "{package}");
        fetched.works(&[]);
        let last = fetched.seen().pop().unwrap();
        assert_eq!(
            last,
            if offline { "1" } else { "unset" },
            "{told} {package}"
        );
    }
}

#[test]
fn other_files_than_the_last_prepare_fetched_are_told() {
    let fetched = Fetched::npx(Who::Ordinary);
    assert_eq!(fetched.prepares()["changed"], serde_json::json!([]));
    assert_eq!(fetched.prepares()["changed"], serde_json::json!([]));
    let whole = fetched.home().join(".npm/_npx/0123/node_modules/pkg/whole");
    fs::write(whole, "other").unwrap();
    assert_eq!(fetched.prepares()["changed"], serde_json::json!(["files"]));
}

#[test]
fn both_questions_have_the_fetch_between_them() {
    let (fetched, code, screen) = Fetched::new(Who::Ordinary, "npx", NPX, "pkg@1.0.0", &[]);
    assert_eq!(code, 0, "{screen}");
    let at = |words: &str| {
        screen
            .find(words)
            .unwrap_or_else(|| panic!("{words}: {screen}"))
    };
    assert!(at("Use this MCP server?") < at("preparing r"), "{screen}");
    assert!(at("preparing r") < at("prepared: "), "{screen}");
    assert!(at("prepared: ") < at("Offer this surface"), "{screen}");
    fetched.works(&[]);
}

#[test]
fn a_fetch_that_fails_says_so_and_a_server_that_fails_after_it_was_fetched() {
    let fetched = Fetched::npx(Who::Ordinary);
    for (told, code, then) in [
        ("absent", "fetch-failed", "not-prepared"),
        ("lacks", "missing-variable", "missing-variable"),
    ] {
        fetched.tell(told);
        let output = fetched.run(&["prepare", "r", "--json"]);
        assert_eq!(output.status.code(), Some(126), "{told}");
        let error: Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(error["error"]["code"], code, "{told}");
        let error = fetched.refused();
        assert_eq!(error["data"]["code"], then, "{told}: {error}");
        // In our words alone: what the server says may be anything.
        assert!(!error.to_string().contains("API_KEY"), "{error}");
    }
}

#[test]
fn list_says_what_is_not_prepared_and_the_command_that_does_it() {
    let fetched = Fetched::npx(Who::Ordinary);
    let listed = || {
        let rows = fetched.run(&["list", "--json"]);
        assert_eq!(rows.status.code(), Some(0), "{}", stderr(&rows));
        let rows: Value = serde_json::from_str(&stdout(&rows)).unwrap();
        rows["servers"][0].clone()
    };
    let row = listed();
    assert_eq!(row["prepared"], "unprepared");
    assert_eq!(row["not_started"]["code"], "not-prepared");
    assert_eq!(row["not_started"]["hint"], "supervisor prepare r");
    let page = stdout(&fetched.run(&["list"]));
    assert!(page.contains("supervisor prepare r"), "{page}");

    fetched.prepares();
    let row = listed();
    assert_eq!(row["prepared"], "prepared");
    assert_eq!(row["not_started"], Value::Null);
    let page = stdout(&fetched.run(&["list"]));
    assert!(!page.contains("does not start"), "{page}");
    // As `run` sees it: what was fetched is gone with the home.
    fs::remove_dir_all(fetched.home()).unwrap();
    assert_eq!(listed()["prepared"], "unprepared");
}

/// A first prepare that fetches until it is told something else, and a second that waits for it.
fn two_at_once(fetched: &Fetched) -> (Child, Child) {
    fetched.tell("held");
    let prepare = || {
        let mut prepare = fetched.command(&["prepare", "r", "--json"]);
        prepare.stdout(Stdio::piped()).stderr(Stdio::piped());
        prepare.spawn().unwrap()
    };
    let first = prepare();
    while !fetched.made_home().is_some_and(is_half) {
        sleep(Duration::from_millis(10));
    }
    let mut second = prepare();
    let mut said = BufReader::new(second.stderr.take().unwrap());
    let mut words = String::new();
    while !words.contains("another prepare of it is under way") {
        assert_ne!(said.read_line(&mut words).unwrap(), 0, "{words}");
    }
    (first, second)
}

#[test]
fn a_second_prepare_waits_for_the_first_and_takes_what_that_fetched() {
    let fetched = Fetched::npx(Who::Ordinary);
    let (first, second) = two_at_once(&fetched);
    fetched.tell("at once");
    let json = |child: Child| -> Value {
        let output = child.wait_with_output().unwrap();
        serde_json::from_str(&stdout(&output)).unwrap()
    };
    let (first, second) = (json(first), json(second));
    assert!(first["sha256"].is_string(), "{first}");
    assert_eq!(first["sha256"], second["sha256"]);
    // The server was started by the first alone.
    assert_eq!(fetched.seen(), ["unset"]);
}

#[test]
fn a_second_prepare_goes_on_where_the_first_was_killed() {
    let fetched = Fetched::npx(Who::Ordinary);
    let (mut first, second) = two_at_once(&fetched);
    first.kill().unwrap();
    first.wait().unwrap();
    fetched.tell("at once");
    let second = second.wait_with_output().unwrap();
    assert_eq!(second.status.code(), Some(0));
    // What the first put together half-way is not taken for whole.
    assert!(!is_half(fetched.home()));
    fetched.works(&[]);
}
