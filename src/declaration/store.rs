//! The state directory and `mcp.json` in it: the only code that touches that file.
//!
//! Reading makes nothing. Writing happens under a lock and is whole or not at all, so that two
//! commands at once lose nothing and a killed one leaves the old file. The checks of single
//! files are in [`super::file`].
//!
//! Place on the path: `mcp.json` → **declarations** → digest.
#![expect(
    clippy::disallowed_methods,
    reason = "the state directory is found and made here"
)]

use std::cell::OnceCell;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::document::{Declarations, DocumentError};
use super::entry::EntryError;
use super::file::{FileError, Folder, Locked, Problem};
use super::{Alias, Declaration};
use crate::error::{FAILED, REFUSED, USAGE};
use crate::plan::Person;
use crate::text;

const MCP: &str = "mcp.json";

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
        if let Some((found, closed)) = find(&named)? {
            if closed {
                notes.push(format!(
                    "{} was open to others and has mode 0700 again",
                    text::path(&named)
                ));
            }
            // The cell is new.
            let _ = folder.set(found);
        }
        Ok(Self {
            named,
            folder,
            notes,
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

    /// All declarations; none where nothing was declared yet.
    ///
    /// # Errors
    /// A file that cannot be trusted or read; it is left as it is.
    pub fn read(&self) -> Result<Declarations, StoreError> {
        self.folder
            .get()
            .map_or_else(|| Ok(Declarations::default()), read)
    }

    /// Changes the declarations under the lock, making the directory where it is missing. What
    /// `change` also writes (approvals) it writes through [`Locked`], before the declarations.
    ///
    /// # Errors
    /// As [`State::read`]; what `change` says, and then nothing is written here.
    pub(crate) fn update<T, E: From<StoreError>>(
        &self,
        change: impl FnOnce(&mut Declarations, &Locked<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let locked = self.make()?.lock().map_err(StoreError::from)?;
        let mut declarations = read(locked.folder())?;
        let before = declarations.to_text();
        let made = change(&mut declarations, &locked)?;
        let after = declarations.to_text();
        if after != before {
            locked.write(MCP, &after).map_err(StoreError::from)?;
        }
        Ok(made)
    }

    /// The directory, made with mode 0700 where it is missing.
    ///
    /// # Errors
    /// As [`State::open`]; the system said no.
    pub(crate) fn make(&self) -> Result<&Folder, StoreError> {
        if let Some(folder) = self.folder.get() {
            return Ok(folder);
        }
        let failed = |error| {
            FileError::new(
                &self.named,
                Problem::Io {
                    doing: "made",
                    error,
                },
            )
        };
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.named)
            .map_err(failed)?;
        let missing = || FileError::new(&self.named, Problem::NotADirectory);
        let (made, _) = find(&self.named)?.ok_or_else(missing)?;
        if made
            .path()
            .ancestors()
            .any(|above| above.join(".git").symlink_metadata().is_ok())
        {
            made.lock()?.write(".gitignore", "*\n")?;
        }
        Ok(self.folder.get_or_init(|| made))
    }
}

/// The directory, resolved and checked, and whether it had to be closed to others.
fn find(named: &Path) -> Result<Option<(Folder, bool)>, StoreError> {
    let resolved = match named.canonicalize() {
        Ok(resolved) => resolved,
        Err(_)
            if named
                .symlink_metadata()
                .is_err_and(|error| error.kind() == ErrorKind::NotFound) =>
        {
            return Ok(None);
        }
        // A link that leads nowhere too: it is there, and no directory still to be made.
        Err(error) => {
            return Err(FileError::new(
                named,
                Problem::Io {
                    doing: "followed",
                    error,
                },
            )
            .into());
        }
    };
    if let Some(open) = resolved
        .ancestors()
        .skip(1)
        .find(|above| anyone_may_replace_in(above))
    {
        return Err(FileError::new(open, Problem::OpenParent).into());
    }
    let Some(folder) = Folder::open(&resolved)? else {
        return Ok(None);
    };
    let closed = folder.own()?;
    Ok(Some((folder, closed)))
}

fn read(folder: &Folder) -> Result<Declarations, StoreError> {
    let Some(content) = folder.read(MCP)? else {
        return Ok(Declarations::default());
    };
    Declarations::parse(&content).map_err(|problem| StoreError::Document {
        path: folder.path().join(MCP),
        problem,
    })
}

fn anyone_may_replace_in(directory: &Path) -> bool {
    const OTHERS_WRITE: u32 = 0o002;
    const STICKY: u32 = 0o1000;
    directory
        .metadata()
        .is_ok_and(|stat| stat.mode() & OTHERS_WRITE != 0 && stat.mode() & STICKY == 0)
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
