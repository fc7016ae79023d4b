//! Many more servers from npm and PyPI, on demand: each row of `servers.jsonl` is declared by its
//! line, its variables and its directory alone, and must be what it is unconfined.
//!
//! `cargo test --test real table -- --ignored --nocapture` prints one line a server;
//! `SUPERVISOR_TABLE=time,git` takes these. It fetches some 2 GB.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::install;
use crate::servers::{certificates, path, person};
use crate::support::{Host, TestContext};

const ROWS: &str = include_str!("servers.jsonl");

/// Runs its words and lets their messages through: some servers greet a reader on standard output, which
/// the supervisor keeps from a host. One that outlives its input is ended, as the supervisor ends it.
const MESSAGES_ALONE: &str = r#"timeout 300 "$@" | grep --line-buffered '^{'"#;

/// One server; `{dir}` in any of its words stands for its directory.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    alias: String,
    command: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// How it gets its directory: `write` or `read`.
    dir: Option<String>,
    /// Files in it.
    #[serde(default)]
    seed: BTreeMap<String, String>,
    call: Option<Call>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    arguments: Value,
}

/// What it says of itself, whether the call did what it should, and how long it took to answer.
struct Answers {
    server: Value,
    tools: Vec<Value>,
    call: Option<Value>,
    milliseconds: u128,
}

impl Row {
    fn said(&self, words: &str, dir: &Path) -> String {
        words.replace("{dir}", dir.to_str().unwrap())
    }

    /// Unconfined and through the supervisor, each with what it runs fetched before.
    fn compared(&self) -> (Answers, Answers) {
        let context = person();
        let dir = context.make_directory("data");
        for (name, text) in &self.seed {
            context.make_file(&format!("data/{name}"), &self.said(text, &dir));
        }
        let argv: Vec<String> = self
            .command
            .iter()
            .map(|word| self.said(word, &dir))
            .collect();
        let mut pairs: Vec<String> = certificates();
        let env = self.env.iter();
        pairs.extend(env.map(|(name, value)| format!("{name}={}", self.said(value, &dir))));
        let path = format!("{}:{}", install::cache().join("py/bin").display(), path());
        let direct = || {
            let mut direct = context.command("/bin/sh");
            direct.args(["-c", MESSAGES_ALONE, "sh"]).args(&argv);
            direct.env("PATH", &path).current_dir(&dir);
            let pairs = pairs.iter().map(|pair| pair.split_once('=').unwrap());
            direct.envs(pairs);
            direct
        };
        self.answers(direct(), &dir);
        let expected = self.answers(direct(), &dir);
        self.declare(&context, &argv, &pairs, &dir, &path);
        let mut confined = context.supervisor(&["run", &self.alias]);
        confined.env("PATH", &path);
        (expected, self.answers(confined, &dir))
    }

    fn declare(
        &self,
        context: &TestContext,
        argv: &[String],
        pairs: &[String],
        dir: &Path,
        path: &str,
    ) {
        let mut words = vec!["add", &self.alias];
        for pair in pairs {
            words.extend(["-e", pair]);
        }
        match self.dir.as_deref() {
            Some("read") => words.extend(["--read", dir.to_str().unwrap()]),
            Some(_) => words.extend(["--dir", dir.to_str().unwrap()]),
            None => {}
        }
        words.push("--");
        words.extend(argv.iter().map(String::as_str));
        let mut add = context.supervisor(&words);
        add.env("PATH", path);
        let (code, screen) = context.terminal(add, "y");
        assert_eq!(code, 0, "{screen}");
        assert_eq!(screen.matches("[y/N]").count(), 2, "{screen}");
    }

    fn answers(&self, command: Command, dir: &Path) -> Answers {
        let begun = Instant::now();
        let mut host = Host::start(command);
        let greeted = host.initialize();
        let milliseconds = begun.elapsed().as_millis();
        let listed = host.request("tools/list", &json!({}));
        let mut tools = listed["result"]["tools"].as_array().unwrap().clone();
        tools.sort_by_key(|tool| tool["name"].to_string());
        let call = self.call.as_ref().map(|call| {
            let arguments = self.said(&call.arguments.to_string(), dir);
            let arguments: Value = serde_json::from_str(&arguments).unwrap();
            let asked = json!({"name": call.name, "arguments": arguments});
            let answer = host.request("tools/call", &asked);
            json!([
                answer.get("error").is_some(),
                answer["result"]["isError"] == true
            ])
        });
        host.end();
        Answers {
            server: greeted["result"]["serverInfo"].clone(),
            tools,
            call,
            milliseconds,
        }
    }
}

/// What is wrong, in a line; nothing where both are the same.
fn difference(expected: &Answers, got: &Answers) -> Option<String> {
    let (many, few) = (expected.tools.len(), got.tools.len());
    if expected.server != got.server {
        Some(format!("it is {} and was {}", got.server, expected.server))
    } else if expected.tools != got.tools {
        Some(format!("its {few} tools are not the {many} it had"))
    } else if expected.call != got.call {
        Some(format!("its call came out as {:?}", got.call))
    } else {
        None
    }
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or_default().to_owned()
}

#[test]
#[ignore = "fifty servers, of which some 2 GB are fetched: on demand"]
fn every_server_of_the_table_is_what_it_is_unconfined() {
    let only = std::env::var("SUPERVISOR_TABLE").unwrap_or_default();
    let only: Vec<&str> = only.split(',').filter(|name| !name.is_empty()).collect();
    let rows = ROWS
        .lines()
        .map(|line| serde_json::from_str::<Row>(line).unwrap());
    let rows: Vec<Row> = rows
        .filter(|row| only.is_empty() || only.contains(&row.alias.as_str()))
        .collect();
    assert!(!rows.is_empty(), "no row is named so: {only:?}");
    let mut bad = Vec::new();
    for row in &rows {
        let alias = &row.alias;
        let compared = catch_unwind(AssertUnwindSafe(|| row.compared()));
        let problem = match &compared {
            Ok((expected, got)) => difference(expected, got),
            Err(panic) => Some(words(panic.as_ref())),
        };
        let times = compared.map_or_else(
            |_| String::new(),
            |(expected, got)| {
                let tools = got.tools.len();
                format!(
                    "{tools:>4} tools {:>6} ms, alone {:>6} ms",
                    got.milliseconds, expected.milliseconds
                )
            },
        );
        let state = if problem.is_some() { "differs" } else { "ok" };
        println!("{state:<8} {alias:<22} {times}");
        bad.extend(problem.map(|problem| format!("{alias}: {problem}")));
    }
    println!(
        "{} of {} are what they are unconfined",
        rows.len() - bad.len(),
        rows.len()
    );
    assert!(bad.is_empty(), "{}", bad.join("\n\n"));
}
