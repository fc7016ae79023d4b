//! The state directory and `mcp.json` in it: the only code that touches that file.
//!
//! Reading makes nothing. Writing happens under a lock and is whole or not at all, so that two
//! commands at once lose nothing and a killed one leaves the old file. The checks of single
//! files are in [`super::file`], the place itself is found and made in [`super::place`].
//!
//! Place on the path: `mcp.json` → **declarations** → digest.
use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use super::document::{self, Declarations, DocumentError, Step};
use super::entry::EntryError;
use super::file::{FileError, Folder, Locked, Problem};
use super::{Alias, Declaration, place};
use crate::error::{FAILED, REFUSED, USAGE};
use crate::plan::Person;
use crate::plan::links::settle;
use crate::text;

const SETTINGS: &str = "settings.json";
const MCP: &str = "mcp.json";
const GITIGNORE: &str = ".gitignore";

/// What keeps the declarations from being read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file or directory of the state.
    #[error(transparent)]
    File(#[from] FileError),
    /// `mcp.json` is no `mcp.json`; it was left as it is.
    #[error("{}: {problem}", text::path(path))]
    Document {
        /// Where.
        path: PathBuf,
        /// What is wrong.
        problem: DocumentError,
    },
    /// A declaration that has no form in JSON.
    #[error("the declaration cannot be written as JSON")]
    Write(#[from] serde_json::Error),
    /// Nothing is declared under that name.
    #[error("no server is declared as `{}`{}", text::printable(alias), near(nearest.as_deref()))]
    UnknownAlias {
        /// The name asked for.
        alias: String,
        /// One that is declared and looks much like it.
        nearest: Option<String>,
    },
    /// The entry cannot be used.
    #[error("the entry `{alias}` of mcp.json cannot be used: {problem}")]
    UnusableEntry {
        /// Which.
        alias: Alias,
        /// What is wrong with it.
        problem: EntryError,
    },
}

fn near(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| {
        format!("; `{}` is", text::printable(name))
    })
}

impl StoreError {
    /// The error for a name nothing is declared under, with the declared name most like it.
    pub(crate) fn unknown(declarations: &Declarations, alias: &str) -> Self {
        let nearest = declarations
            .iter()
            .map(|(name, _)| (distance(name, alias), name))
            .filter(|(distance, name)| *distance <= 2 && *distance < name.len())
            .min()
            .map(|(_, name)| name.to_owned());
        Self::UnknownAlias {
            alias: alias.to_owned(),
            nearest,
        }
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::File(error) => error.code(),
            Self::Document {
                problem: DocumentError::Newer(_),
                ..
            } => "declarations-newer",
            Self::Document { .. } => "declarations-unreadable",
            Self::Write(_) => "declarations-unwritable",
            Self::UnknownAlias { .. } => "unknown-alias",
            Self::UnusableEntry { .. } => "entry-unusable",
        }
    }

    /// The file it is about, with line and column where they are known.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        match self {
            Self::File(error) => Some(text::path(&error.path)),
            Self::Document { path, problem } => {
                let path = text::path(path);
                Some(match problem {
                    DocumentError::Newer(_) => path,
                    DocumentError::Json { line, column, .. }
                    | DocumentError::Shape { line, column, .. }
                    | DocumentError::UnknownKey { line, column, .. } => {
                        format!("{path}:{line}:{column}")
                    }
                })
            }
            Self::Write(_) | Self::UnknownAlias { .. } | Self::UnusableEntry { .. } => None,
        }
    }

    /// The exit code of a command that ends here.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::File(error) => error.exit_code(),
            Self::Write(_) => FAILED,
            Self::UnknownAlias { .. } => USAGE,
            Self::Document { .. } | Self::UnusableEntry { .. } => REFUSED,
        }
    }

    /// The next command.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::File(error) => return error.hint(),
            Self::Document { path, problem } => {
                let (path, aside) = (
                    text::path(path),
                    text::path(&path.with_extension("json.old")),
                );
                match problem {
                    DocumentError::Newer(_) => "install a later supervisor".to_owned(),
                    DocumentError::Json { line, .. }
                    | DocumentError::Shape { line, .. }
                    | DocumentError::UnknownKey { line, .. } => {
                        format!(
                            "\"${{EDITOR:-vi}}\" +{line} {path}   # or put it aside: mv {path} {aside}"
                        )
                    }
                }
            }
            Self::Write(_) => return None,
            Self::UnknownAlias { .. } => "supervisor list".to_owned(),
            Self::UnusableEntry { alias, .. } => {
                format!(
                    "supervisor remove {alias}   # or mend the entry, and look: supervisor list"
                )
            }
        })
    }
}

/// The state directory of one person: found, checked, and not made before something is written.
#[derive(Debug)]
pub struct State {
    named: PathBuf,
    folder: OnceCell<Folder>,
    notes: Vec<String>,
    steps: &'static [Step],
}

impl State {
    /// Opens the state directory where there is one. It may be a link; it must be the person's
    /// and is closed to others where it is open to them (see [`State::notes`]).
    ///
    /// # Errors
    /// Another user's directory, no directory, one below a directory that anyone may change.
    pub fn open(person: &Person) -> Result<Self, StoreError> {
        let named = person.state.clone();
        let mut notes = Vec::new();
        let folder = OnceCell::new();
        if let Some((found, closed)) = place::find(&named)? {
            if closed {
                notes.push(format!(
                    "{} was open to others and has mode 0700 again",
                    text::path(&named)
                ));
            }
            // The cell is new.
            let _ = folder.set(found);
        }
        let lies = folder
            .get()
            .map_or_else(|| settle(&named), |folder| folder.path().to_owned());
        if let Some(tree) = place::in_work_tree(&lies)
            && !place::holds(&lies, GITIGNORE)
        {
            notes.push(format!(
                "{} lies in the git work tree {}; a .gitignore of `*` in it keeps it out of there",
                text::path(&named),
                text::path(tree)
            ));
        }
        Ok(Self {
            named,
            folder,
            notes,
            steps: document::STEPS,
        })
    }

    /// The directory: resolved where it is there, else as named.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.get().map_or(&self.named, Folder::path)
    }

    /// Where the declarations are.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.path().join(MCP)
    }

    /// What was set right on the way, for people.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The directory, where there is one.
    pub(crate) fn folder(&self) -> Option<&Folder> {
        self.folder.get()
    }

    /// The text of the person's rules and defaults; `None` where there is none.
    ///
    /// # Errors
    /// A file that cannot be trusted.
    pub(crate) fn settings(&self) -> Result<Option<String>, StoreError> {
        let read = |folder: &Folder| folder.read(SETTINGS);
        Ok(self.folder.get().map(read).transpose()?.flatten())
    }

    /// All declarations; none where nothing was declared yet.
    ///
    /// # Errors
    /// A file that cannot be trusted or read; it is left as it is.
    pub fn read(&self) -> Result<Declarations, StoreError> {
        self.folder
            .get()
            .map_or_else(
                || Ok((Declarations::default(), None)),
                |folder| read(folder, self.steps),
            )
            .map(|(declarations, _)| declarations)
    }

    /// Changes the declarations under the lock, making the directory where it is missing. What
    /// `change` also writes (approvals) it writes through [`Locked`], before the declarations.
    /// A text of an earlier version is kept as `mcp.json.v` and its number.
    ///
    /// # Errors
    /// As [`State::read`]; what `change` says, and then nothing is written here.
    pub(crate) fn update<T, E: From<StoreError>>(
        &self,
        change: impl FnOnce(&mut Declarations, &Locked<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let locked = self.lock()?;
        let (mut declarations, earlier) = read(locked.folder(), self.steps)?;
        let before = declarations.to_text();
        let made = change(&mut declarations, &locked)?;
        let after = declarations.to_text();
        if let Some(Earlier { version, text }) = &earlier {
            let copy = format!("{MCP}.v{version}");
            locked.write(&copy, text).map_err(StoreError::from)?;
        }
        if after != before || earlier.is_some() {
            locked.write(MCP, &after).map_err(StoreError::from)?;
        }
        Ok(made)
    }

    /// The directory under its lock, made where it is missing, and kept out of a work tree around it.
    ///
    /// # Errors
    /// As [`State::open`]; another command holds the lock for too long.
    pub(crate) fn lock(&self) -> Result<Locked<'_>, StoreError> {
        let locked = self.make()?.lock()?;
        if place::in_work_tree(locked.folder().path()).is_some() {
            ignore(&locked)?;
        }
        Ok(locked)
    }

    /// The directory, made with mode 0700 where it is missing.
    ///
    /// # Errors
    /// As [`State::open`]; the system said no.
    pub(crate) fn make(&self) -> Result<&Folder, StoreError> {
        if let Some(folder) = self.folder.get() {
            return Ok(folder);
        }
        place::make(&self.named)?;
        let missing = || FileError::new(&self.named, Problem::NotADirectory);
        let (made, _) = place::find(&self.named)?.ok_or_else(missing)?;
        Ok(self.folder.get_or_init(|| made))
    }
}

/// Keeps the directory out of the work tree around it, unless the person wrote a `.gitignore`.
fn ignore(locked: &Locked<'_>) -> Result<(), StoreError> {
    match locked.folder().read(GITIGNORE)? {
        Some(_) => Ok(()),
        None => Ok(locked.write(GITIGNORE, "*\n")?),
    }
}

/// A text of an earlier version, as it stood.
struct Earlier {
    version: u64,
    text: String,
}

fn read(folder: &Folder, steps: &[Step]) -> Result<(Declarations, Option<Earlier>), StoreError> {
    let Some(text) = folder.read(MCP)? else {
        return Ok((Declarations::default(), None));
    };
    let failed = |problem| StoreError::Document {
        path: folder.path().join(MCP),
        problem,
    };
    match document::migrate(&text, steps).map_err(failed)? {
        None => Ok((Declarations::parse(&text).map_err(failed)?, None)),
        Some((version, migrated)) => {
            let declarations = Declarations::parse(&migrated).map_err(failed)?;
            Ok((declarations, Some(Earlier { version, text })))
        }
    }
}

impl Declarations {
    /// The declaration of an alias.
    ///
    /// # Errors
    /// An alias nothing is declared under; an entry that cannot be used.
    pub fn get(&self, alias: &Alias) -> Result<&Declaration, StoreError> {
        match self.find(alias.as_str()) {
            Some(Ok(declaration)) => Ok(declaration),
            Some(Err(problem)) => Err(StoreError::UnusableEntry {
                alias: alias.clone(),
                problem: problem.clone(),
            }),
            None => Err(StoreError::unknown(self, alias.as_str())),
        }
    }
}

/// How many letters must be put in, left out or replaced to make one word of the other.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (line, from) in a.chars().enumerate() {
        let mut next = vec![line.saturating_add(1)];
        for ((to, above_left), above) in b.chars().zip(&row).zip(row.iter().skip(1)) {
            let left = next.last().copied().unwrap_or(usize::MAX);
            let replaced = above_left.saturating_add(usize::from(from != to));
            next.push(
                replaced
                    .min(above.saturating_add(1))
                    .min(left.saturating_add(1)),
            );
        }
        row = next;
    }
    row.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
