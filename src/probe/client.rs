//! A host in small: one request, one answer.
#![expect(
    clippy::disallowed_methods,
    reason = "reads what a server said where it was told to say it"
)]

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::{Attack, Outcome};

/// A started server and its pipes.
pub struct Client {
    process: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    stderr: PathBuf,
    id: u64,
}

impl Client {
    /// Starts the server and greets it. Its stderr is a file, as a host's log.
    ///
    /// # Errors
    /// What the system says, or the server's own error.
    pub async fn start(mut command: Command, stderr: &Path) -> io::Result<Self> {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(stderr)?)
            .kill_on_drop(true)
            .spawn()?;
        let (Some(stdin), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let lines = BufReader::new(stdout).lines();
        let mut client = Self {
            process,
            stdin,
            lines,
            stderr: stderr.to_owned(),
            id: 0,
        };
        client
            .request(
                "initialize",
                json!({
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "clientInfo": {"name": "supervisor-probe", "version": env!("CARGO_PKG_VERSION")},
                }),
            )
            .await?;
        client
            .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await?;
        Ok(client)
    }

    /// Calls a tool; its first text.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn call(&mut self, tool: &str, arguments: Value) -> io::Result<String> {
        let result = self
            .request("tools/call", json!({"name": tool, "arguments": arguments}))
            .await?;
        let text = result.pointer("/content/0/text").and_then(Value::as_str);
        let text = text.ok_or_else(|| io::Error::other("an answer without text"))?;
        if result.get("isError").and_then(Value::as_bool) == Some(true) {
            return Err(io::Error::other(text.to_owned()));
        }
        Ok(text.to_owned())
    }

    /// Has the server attack.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn attempt(&mut self, attack: Attack, target: &str) -> io::Result<Outcome> {
        let arguments = json!({"name": "attempt", "arguments": {"what": attack, "target": target}});
        let mut result = self.request("tools/call", arguments).await?;
        let outcome = result
            .get_mut("structuredContent")
            .map(Value::take)
            .unwrap_or_default();
        serde_json::from_value(outcome).map_err(io::Error::other)
    }

    /// Closes the server's input and waits for its end.
    ///
    /// # Errors
    /// What the system says.
    pub async fn end(mut self) -> io::Result<()> {
        drop(self.stdin);
        self.process.wait().await.map(drop)
    }

    /// Its process: of the supervisor, where that was started.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Kills the process that was started, as a crash would, and waits for its end.
    ///
    /// # Errors
    /// What the system says.
    pub async fn kill(mut self) -> io::Result<()> {
        self.process.kill().await
    }

    async fn request(&mut self, method: &str, params: Value) -> io::Result<Value> {
        self.id = self.id.saturating_add(1);
        let id = self.id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await?;
        while let Some(line) = self.lines.next_line().await? {
            let mut message: Value = serde_json::from_str(&line).map_err(io::Error::other)?;
            if message.get("id").and_then(Value::as_u64) != Some(id) {
                continue;
            }
            if let Some(result) = message.get_mut("result") {
                return Ok(result.take());
            }
            let error = message.pointer("/error/message").and_then(Value::as_str);
            return Err(io::Error::other(error.unwrap_or("an error").to_owned()));
        }
        Err(io::Error::other(self.last_words()))
    }

    /// What a server that ended said on its stderr.
    fn last_words(&self) -> String {
        match fs::read_to_string(&self.stderr) {
            Ok(text) if !text.trim().is_empty() => text.trim_end().to_owned(),
            _ => "it ended".to_owned(),
        }
    }

    async fn send(&mut self, message: &Value) -> io::Result<()> {
        let mut line = message.to_string();
        line.push('\n');
        match self.stdin.write_all(line.as_bytes()).await {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                Err(io::Error::other(self.last_words()))
            }
            other => other,
        }
    }
}
