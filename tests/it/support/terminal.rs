//! A person at a pseudo-terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nix::pty::{Winsize, openpty};

/// No command at a terminal takes this long.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs a command with a terminal on all three, answers each `[y/N]`, and returns its exit code
/// and what the screen showed.
pub fn run(mut command: Command, answer: &str) -> (i32, String) {
    let size = Winsize {
        ws_row: 50,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let pty = openpty(Some(&size), None).unwrap();
    let slave = File::from(pty.slave);
    let mut child = command
        .stdin(Stdio::from(slave.try_clone().unwrap()))
        .stdout(Stdio::from(slave.try_clone().unwrap()))
        .stderr(Stdio::from(slave))
        .spawn()
        .unwrap();
    // The command's copies of the terminal go with it.
    drop(command);
    let mut keyboard = File::from(pty.master);
    let mut screen = keyboard.try_clone().unwrap();
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        // A terminal whose other side is gone reads as an error.
        while let Ok(count @ 1..) = screen.read(&mut buffer) {
            if send.send(buffer[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    let (mut shown, mut answered) = (String::new(), 0);
    while let Ok(bytes) = receive.recv_timeout(LIMIT) {
        shown.push_str(&String::from_utf8_lossy(&bytes));
        let asked = shown.matches("[y/N]").count();
        if asked > answered && shown.trim_end().ends_with("[y/N]") {
            answered = asked;
            keyboard
                .write_all(format!("{answer}\n").as_bytes())
                .unwrap();
        }
    }
    let code = child.wait().unwrap().code().unwrap_or(-1);
    (code, shown.replace("\r\n", "\n"))
}
