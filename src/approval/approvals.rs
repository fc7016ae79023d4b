//! The list `approved` and the records in `approvals/`: read, written and forgotten under the
//! lock of the state directory.
//!
//! A line approves nothing without a record that hashes to its digest.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Approval, ApprovalError, Found, Record, check};
use crate::declaration::digest::canonical;
use crate::declaration::document::Declarations;
use crate::declaration::file::{Folder, Locked};
use crate::declaration::store::{State, StoreError};
use crate::declaration::{Alias, Declaration, Digest};
use crate::plan::SearchPath;
use crate::plan::program::Program;

const LIST: &str = "approved";
const RECORDS: &str = "approvals";

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    /// `server <digest> <alias>`.
    Server(Digest, Alias),
    /// `surface <digest> <surface digest> <alias>`.
    Surface(Digest, Digest, Alias),
}

impl Line {
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        Some(match words.as_slice() {
            ["server", digest, alias] => Self::Server(digest.parse().ok()?, alias.parse().ok()?),
            ["surface", digest, surface, alias] => Self::Surface(
                digest.parse().ok()?,
                surface.parse().ok()?,
                alias.parse().ok()?,
            ),
            _ => return None,
        })
    }

    fn to_text(&self) -> String {
        match self {
            Self::Server(digest, alias) => format!("server {digest} {alias}\n"),
            Self::Surface(digest, surface, alias) => {
                format!("surface {digest} {surface} {alias}\n")
            }
        }
    }

    fn digest(&self) -> &Digest {
        match self {
            Self::Server(digest, _) | Self::Surface(digest, _, _) => digest,
        }
    }

    fn alias(&self) -> &Alias {
        match self {
            Self::Server(_, alias) | Self::Surface(_, _, alias) => alias,
        }
    }

    fn set_alias(&mut self, new: Alias) {
        match self {
            Self::Server(_, alias) | Self::Surface(_, _, alias) => *alias = new,
        }
    }
}

/// All approvals of one state directory.
#[derive(Clone, Debug, Default)]
pub struct Approvals {
    lines: Vec<Line>,
    records: BTreeMap<Digest, Record>,
    without_record: Vec<Digest>,
}

impl Approvals {
    /// Reads the list and the records it names.
    ///
    /// # Errors
    /// A file that cannot be trusted; a line that is none.
    pub fn read(state: &State) -> Result<Self, ApprovalError> {
        state
            .folder()
            .map_or_else(|| Ok(Self::default()), Self::read_in)
    }

    fn read_in(folder: &Folder) -> Result<Self, ApprovalError> {
        let mut approvals = Self::default();
        for (index, line) in folder.read(LIST)?.unwrap_or_default().lines().enumerate() {
            let place = || (folder.path().join(LIST), index.saturating_add(1));
            let line = Line::parse(line).ok_or_else(|| {
                let (path, line) = place();
                ApprovalError::Line { path, line }
            })?;
            approvals.lines.push(line);
        }
        let Some(records) = folder.folder(RECORDS, false)? else {
            approvals.without_record = approvals
                .lines
                .iter()
                .map(|line| line.digest().clone())
                .collect();
            return Ok(approvals);
        };
        for digest in approvals.lines.iter().map(Line::digest) {
            let text = records.read(&file_name(digest))?;
            match text.and_then(|text| Record::parse(&text, digest)) {
                Some(record) => drop(approvals.records.insert(digest.clone(), record)),
                None => approvals.without_record.push(digest.clone()),
            }
        }
        Ok(approvals)
    }

    /// The record of a digest that is approved.
    #[must_use]
    pub fn record(&self, digest: &Digest) -> Option<&Record> {
        let approved =
            |line: &Line| matches!(line, Line::Server(approved, _) if approved == digest);
        self.lines
            .iter()
            .any(approved)
            .then(|| self.records.get(digest))
            .flatten()
    }

    /// The latest record of an alias, whatever its digest.
    #[must_use]
    pub fn latest(&self, alias: &Alias) -> Option<&Record> {
        self.lines.iter().rev().find_map(|line| match line {
            Line::Server(digest, of) if of == alias => self.records.get(digest),
            _ => None,
        })
    }

    /// The surface approved for a digest.
    #[must_use]
    pub fn surface(&self, digest: &Digest) -> Option<&Digest> {
        self.lines.iter().rev().find_map(|line| match line {
            Line::Surface(of, surface, _) if of == digest => Some(surface),
            _ => None,
        })
    }

    /// Digests in the list whose record is missing or does not hash to them: they approve
    /// nothing.
    #[must_use]
    pub fn without_record(&self) -> &[Digest] {
        &self.without_record
    }

    /// Whether a declaration is approved as it stands, and its program found where it was; a
    /// pinned one also holds what it held.
    #[must_use]
    pub fn check(
        &self,
        alias: &Alias,
        declaration: &Declaration,
        found: Option<&Program>,
    ) -> Approval {
        let now = canonical(declaration);
        let own = self.record(&now.digest());
        let pinned = own.filter(|_| !now.pin.is_empty());
        let found = found.map(|program| Found {
            path: &program.found,
            other_content: pinned.is_some_and(|record| record.differs(program).is_some()),
        });
        check(&now, own, self.latest(alias), found.as_ref())
    }

    /// Records the person's yes to a declaration, in place of earlier ones of its alias.
    ///
    /// # Errors
    /// As [`Record::of`]; a file that cannot be trusted; the system said no.
    pub fn approve(
        state: &State,
        alias: &Alias,
        declaration: &Declaration,
        path: &SearchPath,
        program: Option<&Program>,
        now: Timestamp,
    ) -> Result<Record, ApprovalError> {
        let record = Record::of(declaration, path, program, now)?;
        let digest = record.declaration().digest();
        state.update(|declarations, locked| {
            Self::forget(locked, alias, Some(&digest), |digest| {
                sharing(declarations, digest)
            })?;
            Self::write(locked, alias, &record)
        })?;
        Ok(record)
    }

    /// Declares a server under an alias; an approval of what stood there goes, unless it is of
    /// the same digest or another alias shares it.
    ///
    /// # Errors
    /// A file that cannot be trusted; the system said no.
    pub fn declare(
        state: &State,
        alias: &Alias,
        declaration: &Declaration,
    ) -> Result<(), ApprovalError> {
        state.update(|declarations, locked| {
            let digest = canonical(declaration).digest();
            declarations.insert(alias, declaration.clone())?;
            // First, so that a command killed in between leaves a server nobody approved.
            Self::forget(locked, alias, Some(&digest), |digest| {
                sharing(declarations, digest)
            })
        })
    }

    /// Removes the entry of a name, usable or not, and its approvals, unless another alias
    /// shares them.
    ///
    /// # Errors
    /// As [`Approvals::declare`]; a name nothing is declared under.
    pub fn remove(state: &State, name: &str) -> Result<(), ApprovalError> {
        if state.read()?.find(name).is_none() {
            return Err(StoreError::unknown(&state.read()?, name).into());
        }
        state.update(|declarations, locked| {
            if !declarations.remove(name) {
                return Err(StoreError::unknown(declarations, name).into());
            }
            match name.parse::<Alias>() {
                Ok(alias) => {
                    Self::forget(locked, &alias, None, |digest| sharing(declarations, digest))
                }
                Err(_) => Ok(()),
            }
        })
    }

    /// Writes a record, then its line.
    fn write(locked: &Locked<'_>, alias: &Alias, record: &Record) -> Result<(), ApprovalError> {
        let mut approvals = Self::read_in(locked.folder())?;
        let before = approvals.clone();
        let digest = record.declaration().digest();
        locked.write_in(RECORDS, &file_name(&digest), &record.to_text()?)?;
        let line = Line::Server(digest, alias.clone());
        if !approvals.lines.contains(&line) {
            approvals.lines.push(line);
        }
        approvals.save(&before, locked)
    }

    /// Drops an alias's approvals but the one of `keep`. One that `other` names another alias
    /// for goes on under that alias.
    fn forget(
        locked: &Locked<'_>,
        alias: &Alias,
        keep: Option<&Digest>,
        other: impl Fn(&Digest) -> Option<Alias>,
    ) -> Result<(), ApprovalError> {
        let mut approvals = Self::read_in(locked.folder())?;
        let before = approvals.clone();
        approvals.lines.retain_mut(|line| {
            if line.alias() != alias || keep == Some(line.digest()) {
                return true;
            }
            let other = other(line.digest());
            if let Some(other) = other.clone() {
                line.set_alias(other);
            }
            other.is_some()
        });
        approvals.save(&before, locked)
    }

    /// Writes the list, then removes the records that no line names any more.
    fn save(&self, before: &Self, locked: &Locked<'_>) -> Result<(), ApprovalError> {
        if self.lines != before.lines {
            locked.write(
                LIST,
                &self.lines.iter().map(Line::to_text).collect::<String>(),
            )?;
        }
        let named = |digest: &Digest| self.lines.iter().any(|line| line.digest() == digest);
        for digest in before
            .lines
            .iter()
            .map(Line::digest)
            .filter(|digest| !named(digest))
        {
            locked.remove_in(RECORDS, &file_name(digest))?;
        }
        Ok(())
    }
}

/// Another declaration of the same digest.
fn sharing(declarations: &Declarations, digest: &Digest) -> Option<Alias> {
    declarations.iter().find_map(|(name, entry)| {
        let same = canonical(entry.ok()?).digest() == *digest;
        if same { name.parse().ok() } else { None }
    })
}

fn file_name(digest: &Digest) -> String {
    format!("{digest}.json")
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests read and write files")]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;
    use crate::declaration::{Server, entry};
    use crate::plan::{Person, program};

    struct Case {
        directory: tempfile::TempDir,
        state: State,
    }

    impl Case {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let home = directory.path().canonicalize().unwrap();
            let person = Person {
                state: home.join("state"),
                home,
                uid: nix::unistd::geteuid().as_raw(),
            };
            let state = State::open(&person).unwrap();
            Self { directory, state }
        }

        fn program(&self, name: &str, text: &str) -> String {
            let path = self.directory.path().canonicalize().unwrap().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path.to_str().unwrap().to_owned()
        }

        fn declare(&self, alias: &str, entry: serde_json::Value) -> Declaration {
            let declaration = entry::parse(entry).unwrap();
            Approvals::declare(&self.state, &alias.parse().unwrap(), &declaration).unwrap();
            declaration
        }

        fn approve(&self, alias: &str, declaration: &Declaration) {
            let path = SearchPath::parse(OsStr::new("/usr/bin:/bin"));
            let found = program(declaration);
            let time = "2030-01-02T03:04:05Z".parse().unwrap();
            let alias = alias.parse().unwrap();
            Approvals::approve(
                &self.state,
                &alias,
                declaration,
                &path,
                found.as_ref(),
                time,
            )
            .unwrap();
        }

        fn check(&self, alias: &str, declaration: &Declaration) -> Approval {
            let approvals = Approvals::read(&self.state).unwrap();
            approvals.check(
                &alias.parse().unwrap(),
                declaration,
                program(declaration).as_ref(),
            )
        }

        fn file(&self, name: &str) -> PathBuf {
            self.state.path().join(name)
        }

        fn lines(&self) -> Vec<String> {
            let text = fs::read_to_string(self.file(LIST)).unwrap_or_default();
            text.lines().map(str::to_owned).collect()
        }
    }

    fn program(declaration: &Declaration) -> Option<Program> {
        match &declaration.server {
            Server::Stdio(stdio) => program::find(&stdio.command, &SearchPath::default()).ok(),
            Server::Http(_) => None,
        }
    }

    const SH: &str = "#!/bin/sh\nexit 0\n";

    fn changed(word: super::super::Word) -> Approval {
        Approval::Changed {
            changed: vec![word],
        }
    }

    #[test]
    fn a_yes_holds_for_what_it_was_given_to() {
        use super::super::Word;
        let case = Case::new();
        let path = case.program("server", SH);
        let one = case.declare(
            "a",
            serde_json::json!({"command": path, "args": ["1"], "pass": ["PATH"]}),
        );
        assert_eq!(case.check("a", &one), Approval::Missing);
        case.approve("a", &one);
        assert_eq!(case.check("a", &one), Approval::Given);
        let approvals = Approvals::read(&case.state).unwrap();
        let record = approvals.record(&canonical(&one).digest()).unwrap();
        assert_eq!(record.search_path().unwrap().to_env(), "/usr/bin:/bin");
        assert_eq!(
            record.program().unwrap().found.to_str(),
            Some(path.as_str())
        );
        assert_eq!(record.approved().to_string(), "2030-01-02T03:04:05Z");
        for name in [LIST, "approvals", "approvals/"] {
            let mode = fs::metadata(case.file(name)).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, if name == LIST { 0o600 } else { 0o700 });
        }
        let two =
            entry::parse(serde_json::json!({"command": path, "args": ["2"], "pass": ["PATH"]}))
                .unwrap();
        assert_eq!(case.check("a", &two), changed(Word::Argv));
        assert_eq!(case.check("other", &two), Approval::Missing);
    }

    #[test]
    fn the_file_holds_no_value() {
        let case = Case::new();
        let path = case.program("server", SH);
        let one = case.declare(
            "a",
            serde_json::json!({"command": path, "env": {"KEY": "sk-key"}}),
        );
        case.approve("a", &one);
        let name = file_name(&canonical(&one).digest());
        let text = fs::read_to_string(case.file("approvals").join(name)).unwrap();
        assert!(text.contains("KEY") && !text.contains("sk-key"), "{text}");
        assert!(!format!("{:?}", Approvals::read(&case.state).unwrap()).contains("sk-key"));
    }

    #[test]
    fn content_is_reported_and_refused_where_pinned() {
        use super::super::Word;
        let case = Case::new();
        let path = case.program("server", SH);
        let plain = case.declare("plain", serde_json::json!({"command": path}));
        let pinned = case.declare(
            "pinned",
            serde_json::json!({"command": path, "pin": ["program"]}),
        );
        case.approve("plain", &plain);
        case.approve("pinned", &pinned);
        let upgraded = |declaration: &Declaration| {
            let approvals = Approvals::read(&case.state).unwrap();
            let record = approvals
                .record(&canonical(declaration).digest())
                .unwrap()
                .clone();
            record.upgraded(&program(declaration).unwrap())
        };
        assert_eq!(upgraded(&plain), None);
        // Written again with the same bytes: other fields, the same content.
        case.program("server", SH);
        assert_eq!(
            (upgraded(&plain), case.check("pinned", &pinned)),
            (None, Approval::Given)
        );
        case.program("server", "#!/bin/sh\nexit 1\n");
        assert!(
            upgraded(&plain).is_some_and(|said| said.contains("not the file that was approved"))
        );
        assert_eq!(case.check("plain", &plain), Approval::Given);
        assert_eq!(case.check("pinned", &pinned), changed(Word::Program));
    }

    #[test]
    fn a_line_without_its_record_approves_nothing() {
        let case = Case::new();
        let path = case.program("server", SH);
        let one = case.declare("a", serde_json::json!({"command": path, "args": ["1"]}));
        let two = entry::parse(serde_json::json!({"command": path, "args": ["2"]})).unwrap();
        case.approve("a", &one);
        let digest = canonical(&one).digest();
        let record = case.file("approvals").join(file_name(&digest));
        let text = fs::read_to_string(&record).unwrap();
        for broken in [
            text.replace("\"1\"", "\"2\""),
            text.replace(digest.as_str(), canonical(&two).digest().as_str()),
            text.replace("\"version\": 1", "\"version\": 2"),
            "{}".to_owned(),
            String::new(),
        ] {
            fs::write(&record, broken).unwrap();
            assert_eq!(case.check("a", &one), Approval::Missing);
            assert_eq!(
                Approvals::read(&case.state).unwrap().without_record(),
                std::slice::from_ref(&digest)
            );
        }
        fs::remove_file(&record).unwrap();
        assert_eq!(case.check("a", &one), Approval::Missing);
        // A line of another digest with this record.
        fs::write(&record, text).unwrap();
        fs::write(
            case.file(LIST),
            format!("server {} a\n", canonical(&two).digest()),
        )
        .unwrap();
        assert_eq!(case.check("a", &two), Approval::Missing);
        fs::write(case.file(LIST), "server x a\n").unwrap();
        assert_eq!(
            Approvals::read(&case.state).unwrap_err().code(),
            "approvals-unreadable"
        );
    }

    #[test]
    fn approvals_go_with_what_they_were_given_to() {
        let case = Case::new();
        let path = case.program("server", SH);
        let one = || serde_json::json!({"command": path, "args": ["1"]});
        let two = || serde_json::json!({"command": path, "args": ["2"]});
        let first = case.declare("a", one());
        case.approve("a", &first);
        // The same digest: it stays. Under a second alias: nothing is asked.
        case.declare("a", one());
        case.declare("b", one());
        assert_eq!(
            (case.check("a", &first), case.check("b", &first)),
            (Approval::Given, Approval::Given)
        );
        // Replaced: the other alias shares it, and keeps it.
        let second = case.declare("a", two());
        assert_eq!(
            (case.check("a", &second), case.check("b", &first)),
            (Approval::Missing, Approval::Given)
        );
        assert_eq!(
            case.lines(),
            [format!("server {} b", canonical(&first).digest())]
        );
        // Replaced again, and nobody shares it: line and record are gone.
        case.declare("b", two());
        assert_eq!(case.lines(), Vec::<String>::new());
        assert_eq!(fs::read_dir(case.file("approvals")).unwrap().count(), 0);
        case.declare("b", one());
        assert_eq!(case.check("b", &first), Approval::Missing);
        // One alias is approved anew with something else: the other keeps what they shared.
        let first = case.declare("a", one());
        case.approve("a", &first);
        case.approve("a", &entry::parse(two()).unwrap());
        assert_eq!(case.check("b", &first), Approval::Given);
        assert_eq!(case.lines().len(), 2);
        Approvals::remove(&case.state, "a").unwrap();
        case.approve("b", &first);
        Approvals::remove(&case.state, "b").unwrap();
        assert_eq!(
            (
                case.lines().len(),
                case.state.read().unwrap().iter().count()
            ),
            (0, 0)
        );
        assert_eq!(
            Approvals::remove(&case.state, "b").unwrap_err().code(),
            "unknown-alias"
        );
    }
}
