//! A host: starts the supervisor with three pipes and speaks the protocol.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// Nothing a test waits for takes this long.
const LIMIT: Duration = Duration::from_secs(240);

/// A started command and its pipes.
pub struct Host {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Option<ChildStderr>,
    id: u64,
}

impl Host {
    /// Starts it.
    pub fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.split(b'\n') {
                let text = String::from_utf8_lossy(&line.unwrap()).into_owned();
                if send.send(text).is_err() {
                    break;
                }
            }
        });
        Self {
            stdin: child.stdin.take(),
            stderr: child.stderr.take(),
            child,
            lines,
            id: 0,
        }
    }

    /// The process id of what was started.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Writes bytes as they are.
    pub fn write(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// The next line of its output.
    pub fn line(&mut self) -> String {
        match self.lines.recv_timeout(LIMIT) {
            Ok(line) => line,
            Err(error) => {
                let _ = self.child.kill();
                panic!("no line: {error}; stderr: {}", self.last_words());
            }
        }
    }

    /// The next line, as JSON.
    pub fn message(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Sends a request and returns the answer to it, error or result.
    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        self.id += 1;
        let id = self.id;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(format!("{request}\n").as_bytes());
        loop {
            let message = self.message();
            if message["id"] == json!(id) {
                return message;
            }
        }
    }

    /// The handshake of the legacy era.
    pub fn initialize(&mut self) -> Value {
        let answer = self.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            }),
        );
        self.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        answer
    }

    /// Closes its input.
    pub fn close(&mut self) {
        drop(self.stdin.take());
    }

    /// Closes its input and waits for its end; the exit code and its stderr.
    pub fn end(mut self) -> (i32, String) {
        self.close();
        self.wait()
    }

    /// Waits for its end; the exit code (a signal as 128 and its number) and its stderr.
    pub fn wait(&mut self) -> (i32, String) {
        use std::os::unix::process::ExitStatusExt;
        let words = self.last_words();
        let status = self.child.wait().unwrap();
        let code = status
            .code()
            .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        (code, words)
    }

    /// Kills it outright, as a host that crashes is killed.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn last_words(&mut self) -> String {
        let mut bytes = Vec::new();
        if let Some(mut stderr) = self.stderr.take() {
            stderr.read_to_end(&mut bytes).unwrap();
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
