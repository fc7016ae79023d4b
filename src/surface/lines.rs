//! The rows of a page: ours, and the server's behind a margin. Pure.
//!
//! No row of a server's can pass for one of ours: in its words the margin's own character is escaped,
//! as is all that does not print. Lines are at most 80 columns wide and nothing is cut.

use super::rows::{Row, Said};
use crate::text;

/// What stands before every row of the server's own words.
pub const MARGIN: char = '┃';
/// The width of a line.
pub(super) const WIDTH: usize = 80;
/// Rows that stand deeper are shown as deep as this.
const DEEPEST: usize = 14;

/// Words of the server's, every character of them visible and none of them the margin.
pub(super) fn escaped(text: &str) -> String {
    text::printable(text).replace(MARGIN, r"\u{2503}")
}

/// The text of a page, line by line.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) text: String,
}

impl Lines {
    /// A row of ours; wrapped under itself.
    pub(super) fn ours(&mut self, text: &str) {
        let depth = text.len().saturating_sub(text.trim_start().len());
        let first = format!("  {}", " ".repeat(depth));
        let next = format!("{first}  ");
        self.fold(&first, &next, &text::printable(text.trim_start()));
    }

    /// A row of the server's, escaped; `mark` stands on each of its lines.
    pub(super) fn theirs(&mut self, depth: usize, mark: &str, text: &str) {
        let before = format!("  {MARGIN} {}{mark}", "  ".repeat(depth.min(DEEPEST)));
        self.fold(&before, &before, text);
    }

    /// A row of an item: on one line where it fits, else the key and its text below, each line
    /// of that marked `>`.
    pub(super) fn row(&mut self, row: &Row) {
        let key = escaped(&row.key);
        match &row.said {
            Said::Below => self.theirs(row.depth, "", &format!("{key}:")),
            Said::Json(json) => {
                self.theirs(row.depth, "", &format!("{key}: {}", escaped(json)));
            }
            Said::Text(text) => {
                let line = format!("{key}: {}", escaped(text));
                let taken = row.depth.min(DEEPEST).saturating_mul(2).saturating_add(4);
                if !text.contains('\n') && width(&line).saturating_add(taken) <= WIDTH {
                    self.theirs(row.depth, "", &line);
                    return;
                }
                self.theirs(row.depth, "", &format!("{key}:"));
                for line in text.split('\n') {
                    self.theirs(row.depth.saturating_add(1), "> ", &escaped(line));
                }
            }
        }
    }

    /// One side of a change.
    pub(super) fn change(&mut self, mark: &str, path: &str, said: Option<&Said>) {
        match said {
            None => {}
            Some(Said::Text(text)) => {
                self.theirs(0, mark, &format!("{}:", escaped(path)));
                for line in text.split('\n') {
                    self.theirs(0, &format!("{mark}> "), &escaped(line));
                }
            }
            Some(Said::Json(json)) => {
                self.theirs(0, mark, &format!("{}: {}", escaped(path), escaped(json)));
            }
            Some(Said::Below) => self.theirs(0, mark, &escaped(path)),
        }
    }

    /// Text in lines of at most 80 columns, broken after a space where there is one.
    fn fold(&mut self, first: &str, next: &str, text: &str) {
        let mut line = first.to_owned();
        let mut left = WIDTH.saturating_sub(width(first));
        let mut fresh = true;
        let room = WIDTH.saturating_sub(width(next)).max(2);
        for part in text.split_inclusive(' ') {
            let needed = width(part.trim_end_matches(' '));
            if needed > left && !fresh {
                self.put(&line);
                line = next.to_owned();
                (left, fresh) = (room, true);
            }
            for character in part.chars() {
                let wide = width_of(character);
                // A space that would begin a line ends one.
                if wide > left && !(character == ' ' && left == 0 && !fresh) {
                    self.put(&line);
                    line = next.to_owned();
                    left = room;
                }
                line.push(character);
                left = left.saturating_sub(wide);
                fresh = false;
            }
        }
        self.put(&line);
    }

    fn put(&mut self, line: &str) {
        self.text.push_str(line.trim_end_matches(' '));
        self.text.push('\n');
    }
}

/// Columns of a text.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

/// Columns of a character, one at least: marks that stack on one another take room here, so that
/// a line of them has an end.
fn width_of(character: char) -> usize {
    if character.is_ascii() {
        return 1;
    }
    textwrap::core::display_width(character.encode_utf8(&mut [0; 4])).max(1)
}
