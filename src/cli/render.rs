//! The only writer of text for people and of `--json`.
//!
//! Text is at most 80 columns wide: wrapped between words, a longer word broken and never cut.
//! A closed pipe is a quiet end. Colours are those of the help texts, and obey `NO_COLOR`.

use std::io::{self, ErrorKind, Write as _};
use std::os::fd::AsFd as _;
use std::process::ExitCode;
use std::time::Instant;

use serde::Serialize;

use crate::approval::question::{Row, Shown};
use crate::error::{Error, FAILED, USAGE};
use crate::launch::descriptor;
use crate::text;

/// The width of a page.
const WIDTH: usize = 80;

/// Writes text to standard output.
pub(crate) fn human(text: &str) -> ExitCode {
    ended(anstream::stdout().lock().write_all(text.as_bytes()))
}

/// Whether nobody reads standard output any more.
pub(crate) fn is_gone() -> bool {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd;
    let stdout = io::stdout();
    let mut polled = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    let gone = PollFlags::POLLERR | PollFlags::POLLNVAL;
    poll(&mut polled, PollTimeout::ZERO).is_ok_and(|count| count > 0)
        && polled
            .iter()
            .any(|one| one.revents().is_some_and(|events| events.intersects(gone)))
}

/// Writes an object with its schema, `supervisor.<name>.v1`, to standard output.
pub(crate) fn json(name: &str, facts: &impl Serialize) -> ExitCode {
    #[derive(Serialize)]
    struct Object<'a, T> {
        schema: String,
        #[serde(flatten)]
        facts: &'a T,
    }
    let schema = format!("supervisor.{name}.v1");
    match serde_json::to_string_pretty(&Object { schema, facts }) {
        Ok(text) => human(&(text::json(&text) + "\n")),
        Err(error) => failure("cannot write JSON", &error),
    }
}

/// `supervisor.error.v1`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct FailedObject<'a> {
    error: Failed<'a>,
}

/// Why a command did not do what it was asked.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Failed<'a> {
    code: &'a str,
    message: String,
    #[serde(rename = "where")]
    place: Option<String>,
    hint: Option<String>,
    exit: u8,
}

/// Says on standard error why a command did not do what it was asked; its exit code.
pub(crate) fn error(error: &Error) -> ExitCode {
    error_as(error, false)
}

/// The same, with `json` as an object on standard output.
pub(crate) fn error_as(error: &Error, json: bool) -> ExitCode {
    error_with(error, json, error.exit_code())
}

/// The same, with an exit code of the command's own.
pub(crate) fn error_with(error: &Error, json: bool, exit: u8) -> ExitCode {
    let (code, message, hint) = (error.code(), error.message(), error.hint());
    if json {
        let failed = Failed {
            code,
            message,
            place: error.place(),
            hint,
            exit,
        };
        return match self::json("error", &FailedObject { error: failed }) {
            written if written == ExitCode::SUCCESS => ExitCode::from(exit),
            failed => failed,
        };
    }
    to_stderr(&why(code, &message, hint));
    ExitCode::from(exit)
}

/// The same, where the reader may not read: waited for no longer than until then.
pub(crate) fn error_by(error: &Error, until: Instant) -> ExitCode {
    let page = why(error.code(), &error.message(), error.hint());
    to_stderr_by(&page, until);
    ExitCode::from(error.exit_code())
}

fn why(code: &str, message: &str, hint: Option<String>) -> String {
    let mut page = paragraph("supervisor:", &format!("{message} ({code})"));
    if let Some(hint) = hint {
        // A command to copy is not broken.
        page.push_str(&format!("hint: {}\n", text::printable(&hint)));
    }
    page
}

/// Says on standard error that the supervisor itself failed: 125.
pub(crate) fn failure(what: &str, error: &dyn std::error::Error) -> ExitCode {
    let mut message = format!("{what}: {error}");
    let mut cause = error.source();
    while let Some(next) = cause {
        message.push_str(&format!(": {next}"));
        cause = next.source();
    }
    to_stderr(&paragraph("supervisor:", &message));
    ExitCode::from(FAILED)
}

/// A line for the reader of standard error.
pub(crate) fn note(text: &str) {
    to_stderr(&paragraph("supervisor:", text));
}

/// The same, where the reader may not read: waited for no longer than until then.
pub(crate) fn note_by(text: &str, until: Instant) {
    to_stderr_by(&paragraph("supervisor:", text), until);
}

/// What the argument parser says: help on standard output, a usage error on standard error.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        let said = error.render().to_string();
        let said = said.strip_prefix("error: ").unwrap_or(&said);
        let said = format!("supervisor: {}", said.trim_end());
        to_stderr(&said.lines().map(wrapped).collect::<String>());
        ExitCode::from(USAGE)
    } else {
        human(&error.render().ansi().to_string())
    }
}

/// A line of somebody else's, wrapped where it is wider than the page.
fn wrapped(line: &str) -> String {
    let line = text::printable(line);
    if width(&line) <= WIDTH {
        return line + "\n";
    }
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    laid_out("", 2, &words)
}

/// The kebab-case name that a value has in JSON.
pub(crate) fn name_of(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        Ok(other) => other.to_string(),
        Err(error) => error.to_string(),
    }
}

/// One server: alias, transport and what it is on the first line, the rows below it.
pub(crate) fn server(alias: &str, transport: &str, shown: &Shown<'_>) -> String {
    block(&[alias, transport], &shown.head(), &shown.rows())
}

/// Columns on the first line, words after them, and rows indented to where the second column
/// stands.
pub(crate) fn block(columns: &[&str], words: &[String], rows: &[Row]) -> String {
    let alias = columns.first().map_or(0, |alias| alias.chars().count());
    let indent = if alias <= 24 {
        alias.saturating_add(5)
    } else {
        12
    };
    let head = format!("  {}   ", columns.join("   "));
    let mut out = laid_out(&head, indent.saturating_add(2), words);
    for Row(words) in rows {
        out.push_str(&laid_out(
            &" ".repeat(indent),
            indent.saturating_add(2),
            words,
        ));
    }
    out
}

/// A paragraph of plain text after a word.
pub(crate) fn paragraph(head: &str, text: &str) -> String {
    let words: Vec<String> = text::printable(text)
        .split(' ')
        .map(str::to_owned)
        .collect();
    laid_out(&format!("{head} "), 2, &words)
}

/// Words in lines of at most 80 columns: the first after `head`, the others indented. No
/// character is lost: a word longer than a line is broken after a space in it, which stays at
/// the line's end, else where the line ends.
fn laid_out(head: &str, indent: usize, words: &[String]) -> String {
    let mut page = Lines {
        done: String::new(),
        line: head.to_owned(),
        indent,
    };
    for (index, word) in words.iter().enumerate() {
        let space = usize::from(index > 0);
        if page.room() >= space.saturating_add(width(word)) {
            page.line.push_str(if index > 0 { " " } else { "" });
            page.line.push_str(word);
            continue;
        }
        if index > 0 {
            page.end();
        }
        for part in word.split_inclusive(' ') {
            page.put(part);
        }
    }
    page.end();
    page.done
}

fn width(text: &str) -> usize {
    textwrap::core::display_width(text)
}

struct Lines {
    done: String,
    line: String,
    indent: usize,
}

impl Lines {
    fn room(&self) -> usize {
        WIDTH.saturating_sub(width(&self.line))
    }

    fn end(&mut self) {
        self.done.push_str(&self.line);
        self.done.push('\n');
        self.line = " ".repeat(self.indent);
    }

    /// Puts a part of a word, on a line of its own where this one has no room for it.
    fn put(&mut self, part: &str) {
        let fresh = width(&self.line) <= self.indent;
        if self.room() < width(part.trim_end_matches(' ')) && !fresh {
            self.end();
        }
        for character in part.chars() {
            if self.room() == 0 && character != ' ' {
                self.end();
            }
            self.line.push(character);
        }
    }
}

fn to_stderr(text: &str) {
    // Nobody is left to tell.
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

fn to_stderr_by(text: &str, until: Instant) {
    // Nobody is left to tell, or nobody listens.
    let _ = descriptor::write(io::stderr().as_fd(), text.as_bytes(), until);
}

fn ended(written: io::Result<()>) -> ExitCode {
    match written.and_then(|()| anstream::stdout().lock().flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => failure("cannot write to standard output", &error),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split('|').map(str::to_owned).collect()
    }

    #[test]
    fn a_server_as_the_question_shows_it() {
        let rows = [
            Row::text("runs /usr/bin/npx"),
            Row::named("variables:", words("KEY (stored)|PATH")),
        ];
        let page = block(&["weather", "stdio"], &words("npx|-y|pkg"), &rows);
        assert_eq!(
            page,
            "  weather   stdio   npx -y pkg\n            runs /usr/bin/npx\n            variables: KEY (stored), PATH\n"
        );
    }

    #[test]
    fn json_holds_printable_characters_only() {
        assert_eq!(
            text::json("\"a\u{202e}b\u{7f}\u{e0041}é\"\n"),
            "\"a\\u202eb\\u007f\\udb40\\udc41é\"\n"
        );
    }

    proptest! {
        /// Nothing is lost, and no line is wider than the page by more than the spaces it ends in.
        #[test]
        fn laid_out_keeps_every_character(
            words in proptest::collection::vec("[a-z]{0,12}|[a-z ]{0,120}|[a-z]{90,200}|[日本 ]{0,60}", 1..12),
            indent in 0usize..20,
        ) {
            let page = laid_out("  head   ", indent, &words);
            let kept = |text: &str| text.replace([' ', '\n'], "");
            prop_assert_eq!(kept(&page), kept(&format!("head{}", words.concat())));
            for line in page.lines() {
                // A wide character may need the last two columns.
                prop_assert!(width(line.trim_end_matches(' ')) <= WIDTH + 1, "{line:?}");
            }
        }
    }
}
