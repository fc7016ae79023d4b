//! One attack of the probe, run unconfined and confined.

use std::process::{Command, Stdio};

use crate::support::{Host, TestContext};

/// What nothing holds where namespaces are refused.
pub const WITHOUT: [&str; 2] = ["--without", "P3,P6,P7,R1,R2,R5"];

/// What became of an attack.
#[derive(Debug)]
pub struct Verdict {
    /// Whether it got what it was after.
    pub got: bool,
    /// What it got, or what stopped it.
    pub detail: String,
}

/// An attack on somebody.
pub struct Attack<'a> {
    context: &'a TestContext,
    words: Vec<String>,
    flags: Vec<&'a str>,
    variables: Vec<(&'a str, &'a str)>,
    shell: Option<&'a str>,
}

impl<'a> Attack<'a> {
    /// The words of the probe.
    pub fn new(context: &'a TestContext, words: &[&str]) -> Self {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Self {
            context,
            words,
            flags: Vec::new(),
            variables: Vec::new(),
            shell: None,
        }
    }

    /// Declared with these flags.
    pub fn with(mut self, flags: &[&'a str]) -> Self {
        self.flags = flags.to_vec();
        self
    }

    /// With this variable in the caller's environment.
    pub fn variable(mut self, name: &'a str, value: &'a str) -> Self {
        self.variables.push((name, value));
        self
    }

    /// Started by a shell that did this before.
    pub fn after(mut self, shell: &'a str) -> Self {
        self.shell = Some(shell);
        self
    }

    /// Runs it with nothing in its way.
    pub fn alone(&self) -> Verdict {
        let mut command = self.context.command(&TestContext::program("fixture-probe"));
        command.args(&self.words);
        self.judge(command)
    }

    /// Runs it as a host starts it.
    pub fn confined(&self) -> Verdict {
        self.declare();
        self.judge(self.context.supervisor(&["run", "probe"]))
    }

    /// The same, on a system that refuses namespaces, and so without what it cannot hold there.
    pub fn confined_without_namespaces(&self) -> Verdict {
        let flags: Vec<&str> = self.flags.iter().copied().chain(WITHOUT).collect();
        self.declare_with(&flags);
        self.judge(self.context.without_namespaces(&["run", "probe"]))
    }

    /// Declares and approves it.
    pub fn declare(&self) {
        self.declare_with(&self.flags);
    }

    fn declare_with(&self, flags: &[&str]) {
        let program = TestContext::program("fixture-probe");
        let mut argv = vec![program.as_str()];
        argv.extend(self.words.iter().map(String::as_str));
        self.context.approved("probe", flags, &argv);
    }

    fn judge(&self, command: Command) -> Verdict {
        let mut command = match self.shell {
            Some(shell) => self.through(shell, &command),
            None => command,
        };
        command.envs(self.variables.iter().copied());
        let mut host = Host::start(command);
        let verdict = host.message();
        let params = &verdict["params"];
        let verdict = Verdict {
            got: params["got"]
                .as_bool()
                .unwrap_or_else(|| panic!("no verdict: {verdict}")),
            detail: params["detail"].as_str().unwrap_or_default().to_owned(),
        };
        host.end();
        verdict
    }

    fn through(&self, shell: &str, command: &Command) -> Command {
        let mut through = self.context.command("/bin/sh");
        through
            .arg("-c")
            .arg(format!("{shell}; exec \"$0\" \"$@\""));
        through.arg(command.get_program()).args(command.get_args());
        through
    }

    /// It works alone and is stopped confined.
    pub fn is_held(&self) {
        let alone = self.alone();
        assert!(
            alone.got,
            "{:?} does not work alone: {}",
            self.words, alone.detail
        );
        self.is_stopped();
    }

    /// It is stopped confined.
    pub fn is_stopped(&self) {
        let confined = self.confined();
        assert!(!confined.got, "{:?} got {}", self.words, confined.detail);
    }

    /// What `explain` says of a promise for this server on this machine.
    pub fn standing(&self, promise: &str) -> serde_json::Value {
        self.declare();
        let output = self.context.run(&["explain", "probe", "--json"]);
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let mut promises = said["promises"].as_array().unwrap().iter();
        let found = promises.find(|standing| standing["id"] == promise);
        found.unwrap().clone()
    }

    /// Whether it claims it.
    pub fn claims(&self, promise: &str) -> bool {
        let standing = self.standing(promise);
        // What is not claimed says why: a test has nothing more to ask of it.
        assert!(
            standing["state"] == "held" || standing["note"].is_string(),
            "{standing}"
        );
        standing["state"] == "held"
    }

    /// It works alone, and is stopped confined where the promise is claimed: that takes
    /// namespaces, which not every machine gives an ordinary user.
    pub fn is_held_where_claimed(&self, promise: &str) {
        let alone = self.alone();
        assert!(
            alone.got,
            "{:?} does not work alone: {}",
            self.words, alone.detail
        );
        if self.claims(promise) {
            self.is_stopped();
        }
    }

    /// It works confined too: what a server needs.
    pub fn is_allowed(&self) {
        let confined = self.confined();
        assert!(
            confined.got,
            "{:?} was stopped: {}",
            self.words, confined.detail
        );
    }
}

/// A process outside, of the same person, with a secret in its environment. Ends when dropped.
pub struct Victim(std::process::Child);

impl Victim {
    pub fn new(context: &TestContext) -> Self {
        let mut command = context.command(&TestContext::program("fixture-probe"));
        command.arg("stay").env("VICTIM_SECRET", "of the victim");
        let streams = || Stdio::null();
        let child = command.stdin(streams()).stdout(streams()).stderr(streams());
        let victim = Self(child.spawn().unwrap());
        // The call that starts it may return before it is itself: as long as it has the caller's name.
        let line = format!("/proc/{}/cmdline", victim.id());
        while !std::fs::read(&line).unwrap().ends_with(b"stay\0") {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        victim
    }

    pub fn id(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A target as the probe takes it: not a path that `add` would record.
pub fn at(path: &std::path::Path) -> String {
    format!("@{}", path.display())
}
