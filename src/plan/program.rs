//! The program of a declaration: found along `PATH`, followed through links and first lines to
//! the file that the kernel executes.

use std::cell::OnceCell;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::sys::statvfs::{FsFlags, fstatvfs};
use nix::unistd::{AccessFlags, faccessat};

use super::format::{Format, HEAD, format};
use super::identity::{self, cannot, open};
pub(crate) use super::identity::{Identity, Stat};
use super::links::{follow, settle};
use super::{PlanError, SearchPath, facts, shim};

/// How many scripts may stand before the program that the kernel executes; the kernel's own
/// bound (`exec_binprm` in `fs/exec.c`).
const SCRIPTS: usize = 5;
/// A script that only hands over to another program is no longer.
const STUB: usize = 4_096;
/// How many programs are looked for because a first line runs `env`.
const NAMED_TO_ENV: usize = 4;

/// A program as it was found here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// Where it was found: along `PATH`, or as declared. Not followed.
    pub(crate) found: PathBuf,
    /// Where its links lead.
    pub(crate) resolved: PathBuf,
    /// What the kernel executes: `resolved`, or the interpreter of a script; followed.
    pub(crate) exec: PathBuf,
    /// The command line before the declared arguments. For a binary its name as declared; for a
    /// script what the kernel makes of the first line: the interpreter as written there (a venv's
    /// `python` finds its `pyvenv.cfg` by it), its argument, the script as found.
    pub(crate) prefix: Vec<String>,
    /// Each link followed on the way, at the place where it lies.
    pub(crate) links: Vec<PathBuf>,
    /// Each file on the way, followed: the program, its interpreters, and what a first line
    /// that runs `env` would find along `PATH`.
    pub(crate) files: Vec<PathBuf>,
    /// See [`Program::unchanged`].
    compared: Vec<(PathBuf, Stat)>,
    /// See [`Program::identity`].
    identity: OnceCell<Identity>,
}

impl Program {
    /// Whether an interpreter is executed in its place.
    #[must_use]
    pub(crate) fn is_script(&self) -> bool {
        self.exec != self.resolved
    }

    /// What must be the same right before the exec as when it was looked at: the file that is
    /// executed, and each script by the path at which its interpreter will open it.
    #[must_use]
    pub(crate) fn unchanged(&self) -> Vec<(PathBuf, Stat)> {
        self.compared.clone()
    }

    /// A program that was not looked for.
    #[cfg(any(test, feature = "bench"))]
    pub(crate) fn fixed(found: &str, exec: &str) -> Self {
        let stat = Stat {
            dev: 1,
            ino: 2,
            size: 3,
            mtime: 4,
            ctime: 5,
        };
        Self {
            found: found.into(),
            resolved: found.into(),
            exec: exec.into(),
            prefix: vec![found.to_owned()],
            links: Vec::new(),
            files: vec![found.into()],
            compared: vec![(found.into(), stat)],
            identity: OnceCell::new(),
        }
    }

    /// The five fields of the file at `resolved`, as they were when it was looked at.
    #[must_use]
    pub(crate) fn stat(&self) -> Option<Stat> {
        self.compared.first().map(|(_, stat)| *stat)
    }

    /// What the file at `resolved` holds. Read once, whoever asks; and only the very file that was
    /// looked at, since that one is compared again before the exec.
    ///
    /// # Errors
    /// It cannot be read, or is another one by now.
    pub(crate) fn identity(&self) -> Result<&Identity, PlanError> {
        if let Some(identity) = self.identity.get() {
            return Ok(identity);
        }
        let identity = identity::identity(&self.resolved)?;
        if self.stat() != Some(identity.stat) {
            return Err(identity::changed(&self.resolved));
        }
        Ok(self.identity.get_or_init(|| identity))
    }

    /// The same, where somebody asked.
    #[must_use]
    pub(crate) fn identity_read(&self) -> Option<&Identity> {
        self.identity.get()
    }
}

/// Finds a program and all that stands between it and the kernel.
///
/// # Errors
/// [`PlanError::ProgramNotFound`] where it is not there, or what `#!/usr/bin/env NAME` looks for
/// is not; [`PlanError::ProgramUnusable`] where it could not run: no regular file, not
/// executable, on a noexec mount, unreadable, built for another processor, of no format that
/// the kernel knows, a first line it does not obey, or a relative path (which would mean another
/// program from another directory); [`PlanError::NotUtf8`].
pub(crate) fn find(command: &str, path: &SearchPath) -> Result<Program, PlanError> {
    let found = locate(command, path)?;
    let found = facts::behind(&found, path).unwrap_or(found);
    let mut trace = Trace {
        path,
        named: 0,
        links: Vec::new(),
        files: Vec::new(),
        compared: Vec::new(),
    };
    let (exec, prefix) = trace.walk(&found, command).map_err(|error| match error {
        // In the declaration's own word, which the person knows.
        PlanError::ProgramNotFound { program } if Path::new(&program) == found => {
            PlanError::ProgramNotFound {
                program: command.to_owned(),
            }
        }
        other => other,
    })?;
    let Trace {
        links,
        files,
        compared,
        ..
    } = trace;
    let resolved = files.first().cloned().unwrap_or_else(|| exec.clone());
    Ok(Program {
        found,
        resolved,
        exec,
        prefix,
        links,
        files,
        compared,
        identity: OnceCell::new(),
    })
}

/// A command as it is kept in a declaration: one that names a path is made absolute from `cwd`,
/// its directories followed and its last name kept, since a link may be what makes the program
/// (a venv's `python`, a version manager's shim). A name is left for `PATH`.
///
/// # Errors
/// [`PlanError::NotUtf8`].
pub(crate) fn absolute(command: &str, cwd: &Path) -> Result<String, PlanError> {
    let path = Path::new(command);
    if !command.contains('/') || path.is_absolute() {
        return Ok(command.to_owned());
    }
    let joined = cwd.join(path);
    let kept = match (joined.parent(), joined.file_name()) {
        (Some(parent), Some(name)) => settle(parent).join(name),
        _ => settle(&joined),
    };
    utf8(&kept)
}

/// Where a command is, not followed.
pub(super) fn locate(command: &str, path: &SearchPath) -> Result<PathBuf, PlanError> {
    let given = Path::new(command);
    if given.is_absolute() {
        return Ok(given.to_owned());
    }
    if command.contains('/') {
        let why = "it is named from a directory; declare it by its absolute path";
        return Err(PlanError::ProgramUnusable {
            path: given.to_owned(),
            why,
        });
    }
    // None is looked through where none was given; `which` would take the directory handed in,
    // which is never used otherwise, since every entry is absolute.
    if path.0.is_empty() {
        return Err(PlanError::ProgramNotFound {
            program: command.to_owned(),
        });
    }
    which::which_in(command, Some(path.to_env()), "/").map_err(|_| PlanError::ProgramNotFound {
        program: command.to_owned(),
    })
}

fn utf8(path: &Path) -> Result<String, PlanError> {
    match path.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(PlanError::NotUtf8 {
            path: path.to_owned(),
        }),
    }
}

/// What is gathered on the way from a program to the kernel.
struct Trace<'a> {
    path: &'a SearchPath,
    named: usize,
    links: Vec<PathBuf>,
    files: Vec<PathBuf>,
    compared: Vec<(PathBuf, Stat)>,
}

impl Trace<'_> {
    /// From a program to the file that the kernel executes, and the command line it builds.
    fn walk(&mut self, program: &Path, typed: &str) -> Result<(PathBuf, Vec<String>), PlanError> {
        let mut at = program.to_owned();
        let mut prefix = vec![typed.to_owned()];
        for _ in 0..=SCRIPTS {
            let (resolved, stat, format) = self.look(&at).map_err(|error| match error {
                PlanError::ProgramNotFound { .. } if at != program => PlanError::ProgramUnusable {
                    path: at.clone(),
                    why: "a script's first line names it, and it is not there",
                },
                other => other,
            })?;
            match format {
                Format::Elf => {
                    self.compared.push((resolved.clone(), stat));
                    return Ok((resolved, prefix));
                }
                Format::Script(line) => {
                    self.compared.push((at.clone(), stat));
                    if let Some(name) = line.named_to_env() {
                        self.found_by_env(name)?;
                    }
                    // `load_script` puts these in place of the first word.
                    let words = [
                        Some(line.interpreter.clone()),
                        line.argument.clone(),
                        Some(utf8(&at)?),
                    ];
                    prefix.splice(..1, words.into_iter().flatten());
                    at = PathBuf::from(line.interpreter);
                }
            }
        }
        Err(PlanError::ProgramUnusable {
            path: program.to_owned(),
            why: "its first line leads from script to script, further than the kernel goes",
        })
    }

    /// What `env` will find is no part of what is executed now; its files and links are. Without
    /// a search path it looks in the system's own directories, which every server gets.
    fn found_by_env(&mut self, name: &str) -> Result<(), PlanError> {
        if self.path.0.is_empty() {
            return Ok(());
        }
        self.named = self.named.saturating_add(1);
        if self.named > NAMED_TO_ENV {
            return Err(PlanError::ProgramUnusable {
                path: PathBuf::from(name),
                why: "first lines that run env lead from one to the other without end",
            });
        }
        let compared = self.compared.clone();
        let found = locate(name, self.path)?;
        self.walk(&found, name)?;
        self.compared = compared;
        Ok(())
    }

    fn look(&mut self, path: &Path) -> Result<(PathBuf, Stat, Format), PlanError> {
        let unusable = |why| PlanError::ProgramUnusable {
            path: path.to_owned(),
            why,
        };
        let followed = follow(path).map_err(|error| cannot(path, error))?;
        self.links.extend(followed.links);
        self.files.push(followed.resolved.clone());
        let (mut file, metadata) = open(&followed.resolved)?;
        may_execute(&followed.resolved, &file, &metadata).map_err(unusable)?;
        let most = HEAD.saturating_add(STUB);
        let mut text = Vec::with_capacity(most);
        Read::by_ref(&mut file)
            .take(u64::try_from(most).unwrap_or(u64::MAX))
            .read_to_end(&mut text)
            .map_err(|error| cannot(path, error))?;
        let head = text.get(..HEAD).unwrap_or(&text);
        if let Some(why) = shim::hands_over(path, &followed.resolved, &text) {
            return Err(unusable(why));
        }
        let format = format(head).map_err(unusable)?;
        Ok((followed.resolved, Stat::of_metadata(&metadata), format))
    }
}

fn may_execute(path: &Path, file: &File, metadata: &Metadata) -> Result<(), &'static str> {
    if metadata.mode() & 0o111 == 0 {
        return Err("it is not executable");
    }
    if fstatvfs(file).is_ok_and(|system| system.flags().contains(FsFlags::ST_NOEXEC)) {
        return Err("it lies on a file system from which nothing is executed (noexec)");
    }
    // As the effective user, where access(2) asks for the real one.
    faccessat(AT_FDCWD, path, AccessFlags::X_OK, AtFlags::AT_EACCESS)
        .map_err(|_| "you may not execute it")
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
