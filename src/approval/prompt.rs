//! Asks the person at the terminal: a question with yes or no, or a value to keep.
//!
//! Only where standard input and output are both terminals; a pipe on either end is nobody who
//! could say yes.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use nix::sys::termios::{FlushArg, LocalFlags, SetArg, tcflush, tcgetattr, tcsetattr};
use secrecy::SecretString;

use super::ApprovalError;
use crate::declaration::EnvName;

/// The longest answer that is read.
const LONGEST: u64 = 64 << 10;

/// Whether there is a person to ask.
#[must_use]
pub(crate) fn is_at_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Asks a question that ends with `[y/N]`; the end of input is no.
///
/// # Errors
/// [`ApprovalError::Ask`]: the terminal went away.
pub(crate) fn ask(question: &str) -> Result<bool, ApprovalError> {
    // What was typed before the question stood is no answer to it.
    tcflush(io::stdin(), FlushArg::TCIFLUSH).map_err(failed)?;
    show(&format!("{question} [y/N] "))?;
    let answer = line()?;
    if !answer.ends_with(b"\n") {
        show("\n")?;
    }
    Ok(is_yes(&answer))
}

fn is_yes(answer: &[u8]) -> bool {
    let word = answer.trim_ascii();
    word.eq_ignore_ascii_case(b"y") || word.eq_ignore_ascii_case(b"yes")
}

/// Asks for the value of a variable, which is not shown while it is typed.
///
/// # Errors
/// [`ApprovalError::NoTerminalForValue`]; [`ApprovalError::Ask`] also where what was typed is
/// no text.
pub(crate) fn value(name: &EnvName) -> Result<SecretString, ApprovalError> {
    if !is_at_terminal() {
        return Err(ApprovalError::NoTerminalForValue { name: name.clone() });
    }
    let before = tcgetattr(io::stdin()).map_err(failed)?;
    let mut silent = before.clone();
    silent.local_flags.remove(LocalFlags::ECHO);
    tcsetattr(io::stdin(), SetArg::TCSAFLUSH, &silent).map_err(failed)?;
    let typed = show(&format!("value of {name} (not shown): ")).and_then(|()| line());
    tcsetattr(io::stdin(), SetArg::TCSANOW, &before).map_err(failed)?;
    show("\n")?;
    let mut typed = typed?;
    if typed.last() == Some(&b'\n') {
        typed.pop();
    }
    let not_text = || io::Error::new(io::ErrorKind::InvalidData, "what was typed is not UTF-8");
    let typed = String::from_utf8(typed).map_err(|_| ApprovalError::Ask(not_text()))?;
    Ok(SecretString::from(typed))
}

fn show(text: &str) -> Result<(), ApprovalError> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(ApprovalError::Ask)
}

fn line() -> Result<Vec<u8>, ApprovalError> {
    let mut line = Vec::new();
    let input = io::stdin().lock();
    io::Read::take(input, LONGEST)
        .read_until(b'\n', &mut line)
        .map_err(ApprovalError::Ask)?;
    Ok(line)
}

fn failed(error: nix::errno::Errno) -> ApprovalError {
    ApprovalError::Ask(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        for yes in ["y\n", "Y\n", " yes \r\n", "YES"] {
            assert!(is_yes(yes.as_bytes()), "{yes:?}");
        }
        for no in [
            "",
            "\n",
            "n\n",
            "no\n",
            "yy\n",
            "yes please\n",
            "y\0\n",
            "1\n",
            "ye\n",
        ] {
            assert!(!is_yes(no.as_bytes()), "{no:?}");
        }
        assert!(!is_yes(b"\xff"));
    }
}
