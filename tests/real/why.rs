//! Real servers that do not come up: `why` names what each lacks, and what grants it.

use serde_json::{Value, json};

use crate::install;
use crate::servers::{certificates, path, person};
use crate::support::{Host, TestContext, stdout};

/// Declares a server as a person does who knows nothing of what it wants.
fn declare(context: &TestContext, flags: &[&str], argv: &[&str]) {
    let certificates = certificates();
    let given = certificates.iter().flat_map(|pair| ["-e", pair]);
    let words: Vec<&str> = ["add", "real", "--no-inspect"]
        .into_iter()
        .chain(flags.iter().copied())
        .chain(given)
        .chain(["--"])
        .chain(argv.iter().copied())
        .collect();
    let mut add = context.supervisor(&words);
    add.env("PATH", path());
    let (code, screen) = context.terminal(add, "y");
    assert_eq!(code, 0, "{screen}");
}

/// What `why` names first.
fn cause(context: &TestContext) -> Value {
    let mut why = context.supervisor(&["why", "real", "--json"]);
    let output = why.env("PATH", path()).output().unwrap();
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["works"], json!(false), "{report:#}");
    let first = report["findings"][0].clone();
    assert_eq!(first["cause"], json!(true), "{report:#}");
    first
}

/// Gives it that, after which it comes up.
fn give(context: &TestContext, flags: &[&str]) {
    let words = [&["set", "real"], flags, &["--no-inspect"]].concat();
    let mut set = context.supervisor(&words);
    set.env("PATH", path());
    let (code, screen) = context.terminal(set, "y");
    assert_eq!(code, 0, "{screen}");
    let mut prepare = context.supervisor(&["prepare", "real"]);
    install::run(prepare.env("PATH", path()));
    let mut run = context.supervisor(&["run", "real"]);
    run.env("PATH", path());
    let mut host = Host::start(run);
    let answer = host.initialize();
    assert!(answer.get("result").is_some(), "{answer}");
    host.end();
}

#[test]
fn a_key_that_it_wants() {
    let context = person();
    let server = "@modelcontextprotocol/server-brave-search@0.6.2";
    declare(&context, &[], &["npx", "-y", server]);
    let cause = cause(&context);
    assert_eq!(cause["kind"], "variable", "{cause}");
    assert_eq!(cause["what"], "BRAVE_API_KEY", "{cause}");
    assert_eq!(cause["flags"], json!(["-e", "BRAVE_API_KEY=-"]), "{cause}");
    give(&context, &["-e", "BRAVE_API_KEY=any"]);
}

#[test]
fn a_repository_that_it_may_not_read() {
    let context = person();
    let repository = context.make_directory("outside/repository");
    install::run(context.command("git").arg("init").arg(&repository));
    let repository = repository.to_str().unwrap();
    let server = install::python("mcp-server-git");
    // A later word than the path itself would be recorded by `add`.
    let argument = format!("--repository={repository}");
    declare(&context, &[], &[&server, &argument]);
    let cause = cause(&context);
    assert_eq!(cause["kind"], "path", "{cause}");
    assert_eq!(cause["flags"], json!(["--read", repository]), "{cause}");
    give(&context, &["--read", repository]);
}

#[test]
fn a_runner_without_a_network() {
    let context = person();
    let server = "@modelcontextprotocol/server-everything@2026.8.31";
    declare(&context, &["--net", "none"], &["npx", "-y", server]);
    let cause = cause(&context);
    assert_eq!(cause["kind"], "host", "{cause}");
    assert_eq!(cause["flags"], json!(["--net", "full"]), "{cause}");
}
