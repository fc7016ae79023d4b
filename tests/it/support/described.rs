//! A server that says of itself what a file holds, and what is kept of it.

use std::fs;

use serde_json::{Value, json};

use super::{Host, TestContext, stderr, stdout};
use crate::schema;

/// A server that says of itself what a file holds; it can say something else later.
pub struct Described {
    pub context: TestContext,
    pub file: String,
    alias: &'static str,
    program: String,
}

impl Described {
    /// Not declared yet.
    pub fn new(alias: &'static str, surface: &Value) -> Self {
        let context = TestContext::ordinary();
        let file = context.make_file("work/surface.json", &surface.to_string());
        Self {
            context,
            file: file.to_str().unwrap().to_owned(),
            alias,
            program: TestContext::program("fixture-server"),
        }
    }

    /// Declared, and said yes to, both times.
    pub fn offered(alias: &'static str, flags: &[&str], surface: &Value) -> Self {
        let server = Self::new(alias, surface);
        server.context.offered(alias, flags, &server.argv());
        server
    }

    /// Said yes to, and not asked about further; and what stood on the screen.
    pub fn uninspected(alias: &'static str, surface: &Value) -> (Self, String) {
        let server = Self::new(alias, surface);
        let (code, screen) = server.add(&["--no-inspect"], "y");
        assert_eq!(code, 0, "{screen}");
        (server, screen)
    }

    /// The command line of the server.
    pub fn argv(&self) -> [&str; 3] {
        [&self.program, "described", &self.file]
    }

    /// It says something else from now on.
    pub fn says(&self, surface: &Value) {
        fs::write(&self.file, surface.to_string()).unwrap();
    }

    /// Declares it at a terminal, and answers whatever is asked.
    pub fn add(&self, flags: &[&str], answer: &str) -> (i32, String) {
        let argv = self.argv();
        let words = [&["add", self.alias], flags, &["--"], &argv].concat();
        self.context.at_terminal(&words, answer)
    }

    /// Answers the second question.
    pub fn approve_surface(&self, answer: &str) -> (i32, String) {
        let words = ["approve", self.alias, "--surface"];
        self.context.at_terminal(&words, answer)
    }

    /// Started as a host does, before the handshake.
    pub fn host(&self) -> Host {
        self.context.host(self.alias)
    }

    /// What a command says with `--json`, which went well.
    pub fn json(&self, words: &[&str]) -> Value {
        let output = self.context.run(words);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        schema::check(&stdout(&output))
    }

    pub fn surface(&self) -> Option<Value> {
        kept(&self.context)
    }

    pub fn state(&self) -> (String, String) {
        state(&self.context, self.alias)
    }
}

/// The one file of an approved surface.
pub fn kept(context: &TestContext) -> Option<Value> {
    let folder = context.path("home/.supervisor/surface");
    let mut files = fs::read_dir(folder).ok()?;
    let file = files.next()?.unwrap().path();
    Some(serde_json::from_slice(&fs::read(file).unwrap()).unwrap())
}

/// How a server's declaration stands, and its surface.
pub fn state(context: &TestContext, alias: &str) -> (String, String) {
    let got = context.run(&["get", alias, "--json"]);
    let got: Value = serde_json::from_str(&stdout(&got)).unwrap();
    let word = |key: &str| got[key].as_str().unwrap().to_owned();
    (word("state"), word("surface"))
}

/// The names of the items of one kind.
pub fn names(surface: &Value, kind: &str) -> Vec<String> {
    let items = surface["items"].as_array().unwrap();
    let of_kind = items.iter().filter(|item| item["kind"] == kind);
    of_kind
        .map(|item| item["name"].as_str().unwrap().to_owned())
        .collect()
}

/// A tool as a server lists it.
pub fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object"}})
}
