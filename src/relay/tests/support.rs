//! A host played by a test: real pipes or sockets, a real server, the relay in a thread between.
//!
//! Every wait has a generous limit, so that a relay that stands still fails a test.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::relay::{
    Audit, Breaker, Host, MAX_MESSAGE_BYTES, Outcome, Process, Refusal, Server, Settings, refuse,
    relay,
};
use crate::surface::Surface;
use crate::surface::canonical::Item;

pub use super::keeper::Keeper;

/// No wait in a test is longer.
pub const LIMIT: Duration = Duration::from_secs(60);

/// What the host hands the supervisor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Pipes,
    Sockets,
}

/// The host's side of a run.
pub struct Player {
    pub stdin: Option<File>,
    lines: Option<Receiver<Vec<u8>>>,
    stdout: Option<Box<dyn Read + Send>>,
    stderr: Option<Box<dyn Read + Send>>,
    words: Option<JoinHandle<String>>,
    run: JoinHandle<Option<Outcome>>,
    next: u64,
}

type Ends = (File, Box<dyn Read + Send>, Box<dyn Read + Send>, Host);

fn ends(kind: Kind) -> Ends {
    match kind {
        Kind::Pipes => {
            let (stdin, to) = std::io::pipe().unwrap();
            let (from, stdout) = std::io::pipe().unwrap();
            let (words, stderr) = std::io::pipe().unwrap();
            let host = Host::new(stdin.into(), stdout.into(), stderr.into());
            (file(to), Box::new(from), Box::new(words), host)
        }
        Kind::Sockets => {
            let (to, stdin) = UnixStream::pair().unwrap();
            let (from, stdout) = UnixStream::pair().unwrap();
            let (words, stderr) = UnixStream::pair().unwrap();
            let host = Host::new(stdin.into(), stdout.into(), stderr.into());
            (file(to), Box::new(from), Box::new(words), host)
        }
    }
}

fn file(fd: impl Into<OwnedFd>) -> File {
    File::from(fd.into())
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// The server of the fixtures, which `cargo test` builds as an example.
#[expect(clippy::disallowed_methods, reason = "to say what is missing")]
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("examples/fixture-server");
    assert!(
        path.is_file(),
        "not built; run: cargo build --example fixture-server"
    );
    path
}

#[expect(
    clippy::disallowed_methods,
    clippy::zombie_processes,
    reason = "a test starts its server itself; the relay waits for it, by its descriptor"
)]
pub fn start(words: &[&str]) -> Server {
    let mut child = std::process::Command::new(program())
        .args(words)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    Server {
        stdin: child.stdin.take().unwrap().into(),
        stdout: child.stdout.take().unwrap().into(),
        stderr: child.stderr.take().unwrap().into(),
        group: Pid::from_raw(child.id().try_into().unwrap()),
        bounds: Box::new(()),
        process: Process::of(child.id()).unwrap(),
    }
}

/// The tools of the fixture, as it lists them.
fn offered() -> Surface {
    let tool = |name: &str| {
        let tool = json!({"name": name, "description": name, "inputSchema": {"type": "object"}});
        Item::listed(crate::surface::Kind::Tool, tool).unwrap()
    };
    ["echo", "sink", "source", "go", "leave"]
        .map(tool)
        .into_iter()
        .collect()
}

/// No limits, nothing known.
pub fn settings() -> Settings {
    Settings {
        alias: "fake".into(),
        max_message_bytes: MAX_MESSAGE_BYTES,
        surface: Some(offered()),
        whole: false,
        filter: crate::relay::Filter::default(),
        granted: std::collections::BTreeSet::new(),
        rules: crate::relay::Rules::default(),
        seed: [7; 32],
        start_limit: None,
        call_limit: None,
        audit: Audit::Digests,
        breaker: Breaker::default(),
        discover: None,
    }
}

/// Runs the relay of a server over these descriptors, to its end.
pub fn relay_over(host: Host, words: &[&str]) -> Outcome {
    relay_owned(host, &mut Keeper::new(words), &settings())
}

fn relay_owned(host: Host, keeper: &mut Keeper, settings: &Settings) -> Outcome {
    let words = keeper.words.clone();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    runtime().block_on(async {
        let mut server = start(&words);
        server.bounds = Box::new(keeper.over);
        relay(host, server, keeper, settings).await.unwrap()
    })
}

impl Player {
    /// A host that reads what it is sent.
    pub fn new(kind: Kind, words: &'static [&'static str]) -> Self {
        let mut player = Self::deaf(kind, words);
        player.listen();
        player
    }

    /// A host that reads neither stdout nor stderr until it is told to.
    pub fn deaf(kind: Kind, words: &'static [&'static str]) -> Self {
        Self::over(kind, |host| Some(relay_over(host, words)))
    }

    /// A host of a run with such an owner and settings; the owner comes back through the channel.
    pub fn owned(mut keeper: Keeper, settings: Settings) -> (Self, Receiver<Keeper>) {
        let (sender, kept) = channel();
        let mut player = Self::over(Kind::Pipes, move |host| {
            let outcome = relay_owned(host, &mut keeper, &settings);
            let _ = sender.send(keeper);
            Some(outcome)
        });
        player.listen();
        (player, kept)
    }

    /// A host whose run is refused.
    pub fn refused(kind: Kind, refusal: Refusal) -> Self {
        let mut player = Self::over(kind, move |host| {
            runtime().block_on(refuse(host, &refusal));
            None
        });
        player.listen();
        player
    }

    fn over(kind: Kind, run: impl FnOnce(Host) -> Option<Outcome> + Send + 'static) -> Self {
        let (stdin, stdout, stderr, host) = ends(kind);
        Self {
            stdin: Some(stdin),
            stdout: Some(stdout),
            stderr: Some(stderr),
            lines: None,
            words: None,
            run: thread::spawn(move || run(host)),
            next: 0,
        }
    }

    /// Begins to read stdout and stderr.
    pub fn listen(&mut self) {
        self.listen_to_stdout();
        let mut stderr = self.stderr.take().unwrap();
        self.words = Some(thread::spawn(move || {
            let mut words = Vec::new();
            stderr.read_to_end(&mut words).unwrap();
            String::from_utf8(words).expect("stderr is UTF-8")
        }));
    }

    /// Begins to read stdout alone.
    pub fn listen_to_stdout(&mut self) {
        let (sender, lines) = channel();
        let stdout = self.stdout.take().unwrap();
        thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n') {
                if sender.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        self.lines = Some(lines);
    }

    /// Closes stdout without having read it.
    pub fn close_stdout(&mut self) {
        self.stdout = None;
    }

    /// Writes bytes; false where the relay reads no more.
    pub fn write(&mut self, bytes: &[u8]) -> bool {
        self.stdin.as_mut().unwrap().write_all(bytes).is_ok()
    }

    /// Sends a request and returns its id.
    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        assert!(
            self.write(format!("{request}\n").as_bytes()),
            "stdin is closed"
        );
        self.next
    }

    /// Sends a call of a tool and returns its id.
    pub fn call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The next line, or `None` at the end of stdout.
    pub fn line(&mut self) -> Option<Vec<u8>> {
        match self.lines.as_ref().unwrap().recv_timeout(LIMIT) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no line for {LIMIT:?}"),
        }
    }

    /// The next message.
    pub fn message(&mut self) -> Value {
        let line = self.line().expect("a message");
        serde_json::from_slice(&line)
            .unwrap_or_else(|_| panic!("{:?}", String::from_utf8_lossy(&line)))
    }

    /// The next message, which is the answer to this id.
    pub fn answer(&mut self, id: u64) -> Value {
        let message = self.message();
        assert_eq!(message["id"], id, "{message}");
        message
    }

    /// The code and text of the error that is the answer to this id.
    pub fn error(&mut self, id: u64) -> (i64, String) {
        let answer = self.answer(id);
        let error = &answer["error"];
        (
            error["code"].as_i64().expect("an error"),
            error["message"].as_str().unwrap().to_owned(),
        )
    }

    /// Initializes, as every host does first.
    pub fn initialize(&mut self) {
        let id = self.ask(
            "initialize",
            json!({"protocolVersion": "2025-06-18", "capabilities": {"roots": {}}}),
        );
        assert_eq!(
            self.answer(id)["result"]["capabilities"],
            json!({"tools": {}})
        );
        self.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    }

    /// Lists the tools, as hosts do next.
    pub fn list(&mut self) {
        let id = self.ask("tools/list", json!({}));
        assert!(self.answer(id)["result"]["tools"].is_array());
    }

    /// Asserts that a call still works.
    pub fn works(&mut self) {
        let id = self.call("echo", json!({"still": 1}));
        assert_eq!(
            self.answer(id)["result"]["content"][0]["text"],
            r#"{"still":1}"#
        );
    }

    /// Closes stdin.
    pub fn close(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end; the outcome and what was said on stderr.
    pub fn end(mut self) -> (Outcome, String) {
        let since = Instant::now();
        while !self.run.is_finished() {
            assert!(since.elapsed() < LIMIT, "no end for {LIMIT:?}");
            thread::sleep(Duration::from_millis(5));
        }
        let outcome = self.run.join().unwrap().expect("a relay");
        (
            outcome,
            self.words
                .take()
                .map(|words| words.join().unwrap())
                .unwrap_or_default(),
        )
    }

    /// Waits for the end of a refused run.
    pub fn end_refused(self) {
        let since = Instant::now();
        while !self.run.is_finished() {
            assert!(since.elapsed() < LIMIT, "no end for {LIMIT:?}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Closes stdin and waits for the end.
    pub fn close_and_end(mut self) -> (Outcome, String) {
        self.close();
        self.end()
    }
}

/// Both ends of a pipe, to be handed out one by one.
pub fn pipe() -> (OwnedFd, OwnedFd) {
    let (reader, writer) = std::io::pipe().unwrap();
    (reader.into(), writer.into())
}
