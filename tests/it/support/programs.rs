//! Programs of a person's own, and what `explain` says of a server that runs one.

use std::path::PathBuf;
use std::process::Output;

use serde_json::Value;

use super::{TestContext, set_mode, stderr};

/// A program of this person's that writes a word into its working directory.
pub fn program(context: &TestContext, name: &str, text: &str) -> PathBuf {
    let path = context.make_file(name, text);
    set_mode(&path, 0o755);
    path
}

pub fn with_path(context: &TestContext, path: &str, words: &[&str]) -> Output {
    context
        .supervisor(words)
        .env("PATH", path)
        .output()
        .unwrap()
}

pub fn explained(context: &TestContext, path: &str, alias: &str) -> Value {
    let output = with_path(context, path, &["explain", alias, "--json"]);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)))
}

pub fn grants(explained: &Value) -> Vec<(String, String)> {
    let grants = explained["plan"]["grants"].as_array().unwrap().iter();
    grants
        .map(|grant| {
            (
                grant["path"].as_str().unwrap().to_owned(),
                grant["rights"].as_str().unwrap().to_owned(),
            )
        })
        .collect()
}

pub fn variable(explained: &Value, name: &str) -> Option<String> {
    let variables = explained["plan"]["variables"].as_array().unwrap();
    let found = variables.iter().find(|variable| variable["name"] == name)?;
    found["source"]["ours"].as_str().map(str::to_owned)
}
