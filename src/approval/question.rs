//! What a person is shown before they say yes, as rows; laid out by `cli::render`. Pure.
//!
//! `add`, `approve` and `get` show the same rows. A stored value is shown by its name, every
//! word goes through [`crate::text`].

use std::path::Path;

use super::candidate::Marks;
use super::{Word, starts};
use crate::declaration::{
    Declaration, Digest, EnvName, Http, Limits, Network, ReadReason, Server, Stdio, loader,
};
use crate::plan::program::Program;
use crate::plan::runner::Runner;
use crate::text;

/// One row: words that stand apart and are not broken while the line has room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row(pub(crate) Vec<String>);

impl Row {
    /// A row of plain text.
    pub(crate) fn text(text: &str) -> Self {
        Self(text.split(' ').map(str::to_owned).collect())
    }

    /// A name and a list beside it.
    pub(crate) fn named(name: &str, words: impl IntoIterator<Item = String>) -> Self {
        let mut row = Self::text(name);
        let words: Vec<String> = words.into_iter().collect();
        let last = words.len().saturating_sub(1);
        let comma = |(index, word): (usize, String)| if index < last { word + "," } else { word };
        row.0.extend(words.into_iter().enumerate().map(comma));
        row
    }
}

/// What is known of a declaration on this machine.
#[derive(Clone, Debug)]
pub(crate) struct Shown<'a> {
    /// The declaration.
    pub(crate) declaration: &'a Declaration,
    /// Its digest.
    pub(crate) digest: &'a Digest,
    /// All 64 digits of it, else 8.
    pub(crate) whole_digest: bool,
    /// The program, or why it is not known.
    pub(crate) program: Option<Result<&'a Program, String>>,
    /// What the administrator says of it.
    pub(crate) administrator: Option<String>,
    /// The runner that fetches it.
    pub(crate) runner: Option<&'a Runner>,
    /// Variables the runner gets from the supervisor.
    pub(crate) ours: &'a [EnvName],
    /// What is named and refuses nothing.
    pub(crate) marks: &'a Marks,
    /// What differs from an earlier approval.
    pub(crate) changed: &'a [Word],
}

impl Shown<'_> {
    /// The words after alias and transport on the first row.
    pub(crate) fn head(&self) -> Vec<String> {
        match &self.declaration.server {
            Server::Stdio(stdio) => stdio.argv().iter().map(|word| text::word(word)).collect(),
            Server::Http(http) => vec![text::word(&http.url)],
        }
    }

    /// The rows below it.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        match &self.declaration.server {
            Server::Stdio(stdio) => self.stdio(stdio, &mut rows),
            Server::Http(http) => self.http(http, &mut rows),
        }
        if let Some(administrator) = &self.administrator {
            rows.push(Row::text(administrator));
        }
        if !self.declaration.enabled {
            rows.push(Row::text("disabled: listed and not started"));
        }
        if !self.changed.is_empty() {
            rows.push(Row::named(
                "changed:",
                self.changed.iter().map(ToString::to_string),
            ));
        }
        rows
    }

    fn stdio(&self, stdio: &Stdio, rows: &mut Vec<Row>) {
        match &self.program {
            Some(Ok(program)) => rows.push(starts::program(stdio, program, self.runner)),
            Some(Err(why)) => {
                rows.push(Row::text(&text::printable(&format!(
                    "does not start: {why}"
                ))));
            }
            None => {}
        }
        let stored = |name: &EnvName| stdio.env.contains_key(name);
        let shown = |name: EnvName| {
            if stored(&name) {
                format!("{name} (stored)")
            } else {
                name.to_string()
            }
        };
        let names: Vec<String> = stdio.variables().into_iter().map(shown).collect();
        rows.push(if names.is_empty() {
            Row::text("variables: none")
        } else {
            Row::named("variables:", names)
        });
        if !self.ours.is_empty() {
            rows.push(Row::named(
                "ours:",
                self.ours.iter().map(ToString::to_string),
            ));
        }
        if let Some(dir) = &stdio.dir {
            let mut row = Row::named("may write", [text::path(dir.as_path())]);
            row.0.extend(Row::text("and starts there").0);
            rows.push(row);
        }
        for read in &stdio.reads {
            let mut row = Row::named("may read", [text::path(read.path.as_path())]);
            row.0.extend(Row::text(read_reason(read.why)).0);
            rows.push(row);
        }
        bounds(stdio, rows);
        rows.push(self.digest_row());
        self.warnings(stdio, rows);
    }

    fn http(&self, http: &Http, rows: &mut Vec<Row>) {
        if !http.headers.is_empty() {
            let name = |name: &String| format!("{} (stored)", text::printable(name));
            rows.push(Row::named("headers:", http.headers.keys().map(name)));
        }
        if let Some(name) = &http.bearer_env {
            rows.push(Row::text(&format!(
                "bearer token: from the variable {name}"
            )));
        }
        rows.push(self.digest_row());
        rows.push(Row::text(
            "reached over HTTP: declared, and not started by this version",
        ));
    }

    fn digest_row(&self) -> Row {
        let digest = if self.whole_digest {
            self.digest.as_str()
        } else {
            self.digest.short()
        };
        Row::named("digest:", [digest.to_owned()])
    }

    fn warnings(&self, stdio: &Stdio, rows: &mut Vec<Row>) {
        for (path, why) in &self.marks.secrets {
            let mut row = Row(vec![text::path(path.as_path())]);
            row.0
                .extend(Row::text(&format!("holds or lies among secrets: {why}")).0);
            rows.push(row);
        }
        rows.extend(self.marks.doubts.iter().map(|doubt| Row::text(doubt)));
        if !self.marks.checkouts.is_empty() {
            let marks = self.marks.checkouts.iter().map(|mark| text::path(mark));
            rows.push(Row::named(
                "may write in a checkout, whose tools obey what lies there:",
                marks,
            ));
        }
        for name in stdio.variables() {
            if let Some(why) = loader::loader(&name).or_else(|| loader::interpreter(&name)) {
                rows.push(Row::text(&format!("{name} acts on programs: {why}")));
            }
        }
        if let (Some(dir), Some(Ok(program))) = (&stdio.dir, &self.program) {
            let inside = |path: &Path| path.starts_with(dir.as_path());
            let script =
                |word: &String| inside(Path::new(word)) && Path::new(word) != dir.as_path();
            if inside(&program.resolved) || inside(&program.exec) || stdio.args.iter().any(script) {
                rows.push(Row::text(
                    "it may change what it runs, which lies in the directory it may write",
                ));
            }
        }
        if let Some(runner) = self.runner {
            starts::by_runner(runner, rows);
        }
    }
}

/// Network, limits, and what was widened or given up by name.
fn bounds(stdio: &Stdio, rows: &mut Vec<Row>) {
    rows.push(Row::text(network(stdio.network)));
    if stdio.limits != Limits::default() {
        rows.push(Row::named("limits:", limits(stdio.limits)));
    }
    if !stdio.allow.is_empty() {
        rows.push(Row::named(
            "allowed:",
            stdio.allow.iter().map(|allow| allow.as_str().to_owned()),
        ));
    }
    for promise in &stdio.without {
        rows.push(Row::text(&format!(
            "given up: {promise} ({})",
            promise.text()
        )));
    }
    if !stdio.tools.categories.is_empty() {
        let granted = stdio.tools.categories.iter();
        rows.push(Row::named(
            "tools may be called of the categories:",
            granted.map(|category| category.as_str().to_owned()),
        ));
    }
    if !stdio.pin.is_empty() {
        rows.push(Row::named(
            "pinned:",
            stdio.pin.iter().map(|pin| pin.as_str().to_owned()),
        ));
    }
}

/// A file of the state directory as one word, the home as `~`. What a declaration names is shown
/// in full, as it is kept.
pub(crate) fn shown_path(path: &Path, home: &Path) -> String {
    let whole = text::path(path);
    match path.strip_prefix(home) {
        // A quoted word would hide the `~` from a shell; the whole path is right then.
        Ok(rest) if home != Path::new("/") && !whole.starts_with(['\'', '$']) => {
            format!("~/{}", text::path(rest))
        }
        _ => whole,
    }
}

fn read_reason(why: ReadReason) -> &'static str {
    match why {
        ReadReason::Value => "(named by a stored value)",
        ReadReason::Argument => "(named by an argument)",
        ReadReason::PackageRoot => "(the package around its script)",
        ReadReason::Flag => "(--read)",
    }
}

fn network(network: Network) -> &'static str {
    match network {
        Network::Full => "network: full, this machine's own ports and cloud metadata included",
        Network::None => "network: none",
    }
}

fn limits(limits: Limits) -> Vec<String> {
    let Limits {
        memory,
        processes,
        files,
        file_size,
    } = limits;
    [
        ("memory", memory.map(size)),
        ("processes", processes.map(|number| number.to_string())),
        ("files", files.map(|number| number.to_string())),
        ("file_size", file_size.map(size)),
    ]
    .into_iter()
    .filter_map(|(name, bound)| Some(format!("{name} {}", bound?)))
    .collect()
}

fn size(bytes: u64) -> String {
    [("GiB", 30), ("MiB", 20), ("KiB", 10)]
        .into_iter()
        .find(|(_, shift)| bytes.trailing_zeros() >= *shift)
        .map_or_else(
            || format!("{bytes} bytes"),
            |(unit, shift)| format!("{} {unit}", bytes >> shift),
        )
}
