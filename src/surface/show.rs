//! What a person is shown of a surface before they say yes: all of it. Pure.
//!
//! Every line that holds a word of the server's begins with the margin [`MARGIN`], and the
//! margin's own character is escaped in those words, as is all that does not print; so no row of
//! a server's can pass for one of ours. Lines are at most 80 columns wide and nothing is cut.

use std::collections::BTreeMap;

use super::canonical::{Item, Kind, Surface};
use super::categories::Categories;
use super::check::{Finding, LongName};
use super::diff::{Diff, changes};
use super::further::Word;
use super::lines::{Lines, MARGIN, escaped};
use super::read::Seen;
use super::reading::{Declared, Era, Reading};
use super::rows;

/// A name of at most so many plain characters is repeated in a row of ours.
const PLAIN: usize = 64;

/// All there is to show.
#[derive(Debug)]
pub struct Page<'a> {
    /// The person's name for the server.
    pub alias: &'a str,
    /// What was read.
    pub seen: &'a Seen,
    /// What the check points at.
    pub findings: &'a [Finding],
    /// Tools that some host cannot call.
    pub long: &'a [LongName<'a>],
    /// The command that may make a surface the same at each start, where one is known.
    pub steadied_by: Option<&'a str>,
    /// What its tools are of.
    pub categories: &'a Categories,
    /// What the person's own check says, where they have one.
    pub(crate) further: Option<&'a Word>,
    /// What differs from the surface approved before; `None`: all of it is shown.
    pub diff: Option<&'a Diff<'a>>,
}

impl Page<'_> {
    /// The page, each line with its line feed.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = Lines::default();
        self.head(&mut out);
        self.unstable(&mut out);
        self.verdict(&mut out);
        self.further(&mut out);
        self.body(&mut out);
        // Many rows below, the verdict is out of sight.
        let found = self.findings.iter().filter(|one| self.shows(one)).count();
        if found > 0 {
            out.ours("");
            out.ours(&format!("Rows to look at, named at the top: {found}"));
        }
        if self.further.is_some_and(|word| word.code != 0) {
            out.ours("");
            out.ours("Your own check objects, as said at the top");
        }
        out.text
    }

    /// The items alone, below a line of ours.
    #[must_use]
    pub fn to_text_below(&self, head: &str) -> String {
        let mut out = Lines::default();
        out.ours(head);
        self.body(&mut out);
        out.text
    }

    fn body(&self, out: &mut Lines) {
        if let Some(told) = self.categories.told() {
            out.ours("");
            out.ours(&told);
        }
        out.ours("");
        out.ours(&format!(
            "What stands behind {MARGIN} are the server's own words, what it says of its tools included."
        ));
        match self.diff {
            None => self.whole(out),
            Some(diff) => self.differing(diff, out),
        }
    }

    fn head(&self, out: &mut Lines) {
        out.ours(&format!(
            "{} offers {}",
            self.alias,
            counts(&self.seen.surface)
        ));
        let eras: Vec<&str> = [Era::Legacy, Era::Modern]
            .into_iter()
            .filter(|era| self.seen.readings.iter().any(|reading| reading.era == *era))
            .map(Era::version)
            .collect();
        let declared = self.seen.readings.iter().map(|reading| reading.declared);
        let ways = if declared.clone().any(|one| one == Declared::Roots) {
            "with nothing, with all, and with each of roots, sampling, elicitation, tasks declared"
        } else {
            "with nothing and with roots, sampling, elicitation, tasks declared"
        };
        out.ours(&format!("read in {}, {ways}", eras.join(" and ")));
        for sentence in self.seen.unseen() {
            out.ours(&sentence);
        }
    }

    /// What differs from start to start: a host is kept from it whenever it does.
    fn unstable(&self, out: &mut Lines) {
        let unstable = &self.seen.unstable;
        if unstable.is_empty() {
            return;
        }
        out.ours("");
        out.ours("unstable: two starts that were asked the same did not say the same of");
        for (kind, name) in unstable {
            out.theirs(1, &format!("{} ", kind.as_str()), &escaped(name));
        }
        out.ours(match self.steadied_by {
            Some(_) => "so it differs from what is approved at some starts; what may steady it:",
            None => "so it differs from what is approved at some starts, and is to be approved again then",
        });
        if let Some(command) = self.steadied_by {
            out.ours(&format!("  {command}"));
        }
    }

    fn verdict(&self, out: &mut Lines) {
        out.ours("");
        let findings: Vec<&Finding> = self.findings.iter().filter(|one| self.shows(one)).collect();
        match findings.len() {
            0 => out.ours("check: nothing found, which proves nothing"),
            1 => out.ours("check: 1 row to look at"),
            count => out.ours(&format!("check: {count} rows to look at")),
        }
        let mut grouped: BTreeMap<(Kind, usize, &str), Vec<&Finding>> = BTreeMap::new();
        for finding in findings {
            let key = (finding.kind, finding.number, finding.says.as_str());
            grouped.entry(key).or_default().push(finding);
        }
        for ((kind, number, says), rows) in grouped {
            let name = rows.first().map_or("", |row| row.name.as_str());
            out.ours(&format!("  {}: {says}", heading(kind, number, name)));
            for row in rows {
                let said = format!("{}: {}", row.path, row.excerpt);
                out.theirs(1, "", &escaped(&said));
            }
        }
        if !self.long.is_empty() {
            out.ours("names: hosts call a tool mcp__ALIAS__TOOL, in at most 64 characters, for Gemini 63; longer are");
            for name in self.long {
                let said = format!("{} ({})", escaped(name.tool.name()), name.length);
                out.theirs(1, "", &said);
            }
        }
    }

    /// What the person's own check says: behind the margin, since it may say the server's words.
    fn further(&self, out: &mut Lines) {
        let Some(word) = self.further else { return };
        let says = match (word.code, word.lines.is_empty()) {
            (0, true) => "nothing to say".to_owned(),
            (0, false) => "nothing against it, and says".to_owned(),
            (code, _) => format!("objects (exit code {code})"),
        };
        out.ours("");
        out.ours(&format!("your own check, {}: {says}", word.program));
        for line in &word.lines {
            out.theirs(1, "", &escaped(line));
        }
    }

    /// Whether what a finding is about is shown below.
    fn shows(&self, finding: &Finding) -> bool {
        self.diff.is_none_or(|diff| {
            let now = diff
                .renamed
                .iter()
                .chain(&diff.changed)
                .map(|(_, now)| *now);
            diff.added
                .iter()
                .copied()
                .chain(now)
                .any(|item| item.kind() == finding.kind && item.name() == finding.name)
        })
    }

    fn whole(&self, out: &mut Lines) {
        let mut number = BTreeMap::new();
        for item in self.seen.surface.iter() {
            let number: &mut usize = number.entry(item.kind()).or_default();
            *number = number.saturating_add(1);
            out.ours("");
            out.ours(&heading(item.kind(), *number, item.name()));
            self.item(item, out);
        }
    }

    /// What it may do at the worst, of a tool.
    fn category(&self, item: &Item, out: &mut Lines) {
        let standing = Some(item)
            .filter(|item| item.kind() == Kind::Tool)
            .and_then(|tool| self.categories.on(tool.name()));
        if let Some(standing) = standing {
            out.ours(&format!("  {}", standing.told()));
        }
    }

    fn item(&self, item: &Item, out: &mut Lines) {
        self.category(item, out);
        if self.seen.is_unstable(item) {
            out.ours("  differs from start to start");
        } else if let Some(readings) = self.seen.only_in(item) {
            out.ours(&format!("  seen only: {}", places(readings)));
        }
        for row in rows::tree(item.item()) {
            out.row(&row);
        }
    }

    fn differing(&self, diff: &Diff<'_>, out: &mut Lines) {
        out.ours("");
        if diff.is_empty() {
            out.ours("the same as the surface approved before, for what was declared then");
            return;
        }
        out.ours(&format!(
            "beside the surface approved before: {} added, {} removed, {} renamed, {} changed, {} the same",
            diff.added.len(),
            diff.removed.len(),
            diff.renamed.len(),
            diff.changed.len(),
            diff.same
        ));
        for item in &diff.added {
            out.ours("");
            out.ours(&format!("added: {}", item.kind().as_str()));
            self.item(item, out);
        }
        for item in &diff.removed {
            out.ours("");
            out.ours(&format!("removed: {}", item.kind().as_str()));
            for row in rows::tree(item.item()) {
                out.row(&row);
            }
        }
        for (before, now) in &diff.renamed {
            out.ours("");
            out.ours(&format!(
                "renamed: {}, its content the same",
                now.kind().as_str()
            ));
            self.category(now, out);
            out.theirs(0, "- ", &escaped(before.name()));
            out.theirs(0, "+ ", &escaped(now.name()));
        }
        for (before, now) in &diff.changed {
            out.ours("");
            out.ours(&format!("changed: {}", now.kind().as_str()));
            self.category(now, out);
            out.theirs(0, "", &escaped(now.name()));
            for change in changes(before, now) {
                out.change("- ", &change.path, change.before.as_ref());
                out.change("+ ", &change.path, change.now.as_ref());
            }
        }
    }
}

/// Lines that a server wrote beside the protocol, escaped already, behind the margin.
#[must_use]
pub fn quoted(lines: &[String]) -> String {
    let mut out = Lines::default();
    for line in lines {
        out.theirs(0, "", &escaped(line));
    }
    out.text
}

/// How many of each kind.
fn counts(surface: &Surface) -> String {
    let mut words = Vec::new();
    for kind in Kind::ALL {
        let count = surface.iter().filter(|item| item.kind() == kind).count();
        match (kind, count) {
            (_, 0) => {}
            (Kind::Instructions, 1) => words.push("instructions".to_owned()),
            (Kind::Instructions, _) => words.push(format!("{count} different instructions")),
            (_, 1) => words.push(format!("1 {}", kind.as_str())),
            (_, _) => words.push(format!("{count} {}s", kind.as_str())),
        }
    }
    if words.is_empty() {
        "nothing: no instructions, tools, prompts or resources".to_owned()
    } else {
        words.join(", ")
    }
}

/// A row of ours over an item: its number, and its name where that is a plain word.
fn heading(kind: Kind, number: usize, name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:".contains(c);
    let is_plain = !name.is_empty() && name.len() <= PLAIN && name.chars().all(plain);
    match (kind, is_plain) {
        (Kind::Instructions, _) => format!("instructions {number}"),
        (_, true) => format!("{} {number}, {name}", kind.as_str()),
        (_, false) => format!("{} {number}", kind.as_str()),
    }
}

fn places(readings: &std::collections::BTreeSet<Reading>) -> String {
    let places: Vec<String> = readings.iter().map(ToString::to_string).collect();
    places.join("; ")
}

#[cfg(test)]
#[path = "show_tests.rs"]
mod tests;
