//! The bundled server: MCP over stdio. Its tools attack, and leave things behind.
#![expect(
    clippy::disallowed_methods,
    reason = "the bundled server looks at where it runs"
)]

use std::convert::Infallible;
use std::ffi::{CString, OsString};
use std::io::{self, BufRead, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal};
use nix::unistd::execv;
use serde_json::{Value, json};

use super::attack::Attack;
use super::{files, own, processes};
use crate::surface::canonical::Item;
use crate::surface::{Kind, Surface};

/// The hidden command that starts it.
pub const ARGUMENT: &str = "__server";
/// The hidden command that stays, in a session of its own, with a lock on the file named after it.
pub const STAY: &str = "__stay";
/// The hidden command that blocks a signal, which a shell cannot, and executes what is named after it.
pub const HOST: &str = "__host";
/// The hidden command that takes memory and keeps it until its input ends.
const SWELL: &str = "__swell";
/// Bytes that one of them takes, and how many there are.
const SHARE: usize = 48 << 20;
const SHARES: usize = 4;
/// How long a descendant may take to get its lock.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether a command line is one of the hidden ones, and what became of it.
#[must_use]
pub fn hidden(words: &[OsString]) -> Option<ExitCode> {
    match words {
        [_, command] if command == ARGUMENT => Some(main()),
        [_, command] if command == SWELL => Some(swell()),
        [_, command, words @ ..] if command == HOST => Some(host(words)),
        [_, command, lock] if command == STAY => Some(stay(&lock.to_string_lossy())),
        _ => None,
    }
}

fn host(words: &[OsString]) -> ExitCode {
    let execute = || -> io::Result<Infallible> {
        SigSet::from(Signal::SIGUSR1).thread_block()?;
        let words = words.iter().map(|word| CString::new(word.as_bytes()));
        let words = words.collect::<Result<Vec<_>, _>>()?;
        let program = words.first().ok_or(io::ErrorKind::InvalidInput)?;
        // Not by the library's own way, which unblocks.
        Ok(execv(program, &words)?)
    };
    match execute() {
        Ok(never) => match never {},
        Err(_) => ExitCode::FAILURE,
    }
}

fn stay(lock: &str) -> ExitCode {
    match processes::stay(lock) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn swell() -> ExitCode {
    // Not zero: pages of zeros would be shared.
    let taken = std::hint::black_box(vec![1_u8; SHARE]);
    let said = writeln!(io::stdout(), "{}", taken.len());
    let waited = io::stdin().read(&mut [0]);
    match said.and(waited) {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// What it left and did not wait for.
#[derive(Default)]
struct Left {
    stays: bool,
    swollen: Vec<Child>,
}

/// Serves until its input ends, and longer where a descendant of its was to stay.
fn main() -> ExitCode {
    own::look_first();
    let mut out = io::stdout().lock();
    let mut left = Left::default();
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let Some(answer) = answer(&line, &mut left) else {
            continue;
        };
        if writeln!(out, "{answer}")
            .and_then(|()| out.flush())
            .is_err()
        {
            break;
        }
    }
    if left.stays {
        // Whoever wants it gone has to end it.
        thread::sleep(Duration::from_secs(120));
    }
    ExitCode::SUCCESS
}

/// The answer to one line, if it asks for one.
fn answer(line: &str, left: &mut Left) -> Option<Value> {
    let message: Value = serde_json::from_str(line).ok()?;
    let id = message.get("id")?;
    let result = match message.get("method").and_then(Value::as_str)? {
        "initialize" => json!({
            "protocolVersion": message.pointer("/params/protocolVersion").cloned().unwrap_or_else(|| json!("2025-06-18")),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "supervisor-probe", "version": env!("CARGO_PKG_VERSION")},
        }),
        "ping" => json!({}),
        "tools/list" => tools(),
        "tools/call" => call(message.get("params")?, left),
        _ => {
            let error = json!({"code": -32601, "message": "method not found"});
            return Some(json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
    };
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

/// What it says of itself.
pub fn surface() -> Surface {
    let tools = tools();
    let tools = tools.get("tools").and_then(Value::as_array);
    let listed = tools.into_iter().flatten().cloned();
    listed
        .filter_map(|tool| Item::listed(Kind::Tool, tool))
        .collect()
}

fn tools() -> Value {
    let strings = |names: &[&str]| {
        let properties: serde_json::Map<String, Value> = names
            .iter()
            .map(|name| ((*name).to_owned(), json!({"type": "string"})))
            .collect();
        json!({"type": "object", "properties": properties, "required": names})
    };
    json!({"tools": [
        {"name": "greet", "description": "Says where it runs", "inputSchema": strings(&[])},
        {"name": "attempt", "description": "Attacks what it is told to", "inputSchema": strings(&["what", "target"])},
        {"name": "leave", "description": "Leaves things behind in a directory", "inputSchema": strings(&["dir"])},
        {"name": "swell", "description": "Takes memory in several processes", "inputSchema": strings(&[])},
        {"name": "stay", "description": "Leaves a process behind that holds a lock", "inputSchema": strings(&["lock"])},
    ]})
}

fn call(params: &Value, left: &mut Left) -> Value {
    let argument = |name: &str| params.pointer("/arguments")?.get(name)?.as_str();
    match params.get("name").and_then(Value::as_str) {
        Some("greet") => text(&greeting()),
        Some("attempt") => attempt(params.get("arguments")),
        Some("leave") => said(argument("dir").map(|dir| files::leave_behind(Path::new(dir)))),
        Some("stay") => {
            left.stays = true;
            said(argument("lock").map(descendant))
        }
        Some("swell") => said(Some(swollen().map(|children| left.swollen = children))),
        _ => said(None),
    }
}

/// Several processes, each within its own bound; all have taken theirs.
fn swollen() -> io::Result<Vec<Child>> {
    let mut children = Vec::new();
    for _ in 0..SHARES {
        let mut command = Command::new("/proc/self/exe");
        let mut child = command
            .arg(SWELL)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        if let Some(stdout) = child.stdout.as_mut() {
            stdout.read_exact(&mut [0])?;
        }
        children.push(child);
    }
    Ok(children)
}

fn said(done: Option<io::Result<()>>) -> Value {
    let why = match done {
        Some(Ok(())) => return text("done"),
        Some(Err(error)) => error.to_string(),
        None => "no such tool or argument".to_owned(),
    };
    json!({"isError": true, "content": [{"type": "text", "text": why}]})
}

/// Starts one and waits until it has its lock.
fn descendant(lock: &str) -> io::Result<()> {
    let null = || Stdio::null();
    let mut command = Command::new("/proc/self/exe");
    command.arg(STAY).arg(lock);
    // Not waited for: it is to be there when this process is not.
    let _child = command
        .stdin(null())
        .stdout(null())
        .stderr(null())
        .spawn()?;
    let until = Instant::now() + PATIENCE;
    let written = format!("{lock}.pid");
    while std::fs::metadata(&written).is_err() {
        if Instant::now() > until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

fn attempt(arguments: Option<&Value>) -> Value {
    let parsed = arguments.and_then(|arguments| {
        let what: Attack = serde_json::from_value(arguments.get("what")?.clone()).ok()?;
        Some((what, arguments.get("target")?.as_str()?))
    });
    let Some((what, target)) = parsed else {
        return said(None);
    };
    let outcome = what.run(target);
    let mut result = text(&outcome.detail);
    if let (Some(result), Ok(outcome)) = (result.as_object_mut(), serde_json::to_value(&outcome)) {
        result.insert("structuredContent".to_owned(), outcome);
    }
    result
}

fn greeting() -> String {
    let home = std::env::var("HOME").unwrap_or_else(|_| "none".to_owned());
    let names: Vec<String> = std::env::vars_os()
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .collect();
    format!(
        "hello from process {}, home {home}, {} variables",
        std::process::id(),
        names.len()
    )
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}
