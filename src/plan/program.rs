//! The program of a declaration: found along `PATH`, followed through links and first lines to
//! the file that the kernel executes, and known again by its content.
#![expect(clippy::disallowed_methods, reason = "this room looks at programs")]

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::libc;
use nix::sys::stat::FileStat;
use nix::sys::statvfs::{FsFlags, fstatvfs};
use nix::unistd::{AccessFlags, faccessat};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::format::{Format, HEAD, format};
use super::links::{follow, settle};
use super::{PlanError, SearchPath};

/// How many scripts may stand before the program that the kernel executes; the kernel's own
/// bound (`exec_binprm` in `fs/exec.c`).
const SCRIPTS: usize = 5;
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
    #[cfg(test)]
    pub(crate) fn test(found: &str, exec: &str) -> Self {
        let stat = Stat { dev: 1, ino: 2, size: 3, mtime: 4, ctime: 5 };
        Self {
            found: found.into(),
            resolved: found.into(),
            exec: exec.into(),
            prefix: vec![found.to_owned()],
            links: Vec::new(),
            files: vec![found.into()],
            compared: vec![(found.into(), stat)],
        }
    }

    /// The five fields of the file at `resolved`, as they were when it was looked at.
    #[must_use]
    pub(crate) fn stat(&self) -> Option<Stat> {
        self.compared.first().map(|(_, stat)| *stat)
    }
}

/// What a file is known by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Identity {
    /// SHA-256 of its content, in lower-case hex.
    pub(crate) sha256: String,
    /// The fields that tell cheaply whether it may have changed.
    pub(crate) stat: Stat,
}

/// The fields of stat(2) that change with a file. Times are nanoseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stat {
    /// The file system.
    pub(crate) dev: u64,
    /// Its number there.
    pub(crate) ino: u64,
    /// Bytes.
    pub(crate) size: u64,
    /// When its content changed.
    pub(crate) mtime: i64,
    /// When anything of it changed.
    pub(crate) ctime: i64,
}

impl Stat {
    /// The fields of a file that was asked through `nix`.
    #[must_use]
    #[allow(
        clippy::useless_conversion,
        clippy::unnecessary_fallible_conversions,
        reason = "the widths differ between systems"
    )]
    pub(crate) fn of(stat: &FileStat) -> Self {
        Self {
            dev: u64::try_from(stat.st_dev).unwrap_or(u64::MAX),
            ino: u64::from(stat.st_ino),
            size: u64::try_from(stat.st_size).unwrap_or(u64::MAX),
            mtime: nanoseconds(i64::from(stat.st_mtime), i64::from(stat.st_mtime_nsec)),
            ctime: nanoseconds(i64::from(stat.st_ctime), i64::from(stat.st_ctime_nsec)),
        }
    }

    fn of_metadata(metadata: &Metadata) -> Self {
        Self {
            dev: metadata.dev(),
            ino: metadata.ino(),
            size: metadata.size(),
            mtime: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            ctime: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Good to the year 2262; beyond it every time is the same.
fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
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
    let mut trace = Trace { path, named: 0, links: Vec::new(), files: Vec::new(), compared: Vec::new() };
    let (exec, prefix) = trace.walk(&found, command).map_err(|error| match error {
        // In the declaration's own word, which the person knows.
        PlanError::ProgramNotFound { program } if Path::new(&program) == found => {
            PlanError::ProgramNotFound { program: command.to_owned() }
        }
        other => other,
    })?;
    let Trace { links, files, compared, .. } = trace;
    let resolved = files.first().cloned().unwrap_or_else(|| exec.clone());
    Ok(Program { found, resolved, exec, prefix, links, files, compared })
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

/// The content and the fields of a regular file; never waits on a FIFO or device.
///
/// # Errors
/// As [`find`]; [`PlanError::Look`] also where it changed while it was read.
pub(crate) fn identity(path: &Path) -> Result<Identity, PlanError> {
    let look = |source| PlanError::Look { path: path.display().to_string(), source };
    let (mut file, before) = open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => hash.update(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(look(error)),
        }
    }
    let stat = Stat::of_metadata(&file.metadata().map_err(look)?);
    if stat != Stat::of_metadata(&before) {
        return Err(look(io::Error::other("it changed while it was read")));
    }
    let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Identity { sha256, stat })
}

/// The fields alone.
#[cfg(test)]
pub(crate) fn stat_only(path: &Path) -> Result<Stat, PlanError> {
    open(path).map(|(_, metadata)| Stat::of_metadata(&metadata))
}

/// Where a command is, not followed.
fn locate(command: &str, path: &SearchPath) -> Result<PathBuf, PlanError> {
    let given = Path::new(command);
    if given.is_absolute() {
        return Ok(given.to_owned());
    }
    if command.contains('/') {
        let why = "it is named from a directory; declare it by its absolute path";
        return Err(PlanError::ProgramUnusable { path: given.to_owned(), why });
    }
    // None is looked through where none was given; `which` would take the directory handed in,
    // which is never used otherwise, since every entry is absolute.
    if path.0.is_empty() {
        return Err(PlanError::ProgramNotFound { program: command.to_owned() });
    }
    which::which_in(command, Some(path.to_env()), "/")
        .map_err(|_| PlanError::ProgramNotFound { program: command.to_owned() })
}

fn utf8(path: &Path) -> Result<String, PlanError> {
    match path.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(PlanError::NotUtf8 { path: path.to_owned() }),
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
                    let words = [Some(line.interpreter.clone()), line.argument.clone(), Some(utf8(&at)?)];
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
        let unusable = |why| PlanError::ProgramUnusable { path: path.to_owned(), why };
        let followed = follow(path).map_err(|error| cannot(path, error))?;
        self.links.extend(followed.links);
        self.files.push(followed.resolved.clone());
        let (mut file, metadata) = open(&followed.resolved)?;
        may_execute(&followed.resolved, &file, &metadata).map_err(unusable)?;
        let mut head = Vec::with_capacity(HEAD);
        let most = u64::try_from(HEAD).unwrap_or(u64::MAX);
        Read::by_ref(&mut file).take(most).read_to_end(&mut head).map_err(|error| cannot(path, error))?;
        let format = format(&head).map_err(unusable)?;
        Ok((followed.resolved, Stat::of_metadata(&metadata), format))
    }
}

/// Opens a regular file to read it; anything else is refused without being opened, since to
/// open a device may do something and to open a FIFO may wait.
fn open(path: &Path) -> Result<(File, Metadata), PlanError> {
    let regular = |metadata: &Metadata| match kind(metadata) {
        None => Ok(()),
        Some(why) => Err(PlanError::ProgramUnusable { path: path.to_owned(), why }),
    };
    regular(&fs::metadata(path).map_err(|error| cannot(path, error))?)?;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY)
        .open(path)
        .map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => PlanError::ProgramUnusable {
                path: path.to_owned(),
                why: "it may not be read, so that it could not be known again",
            },
            _ => cannot(path, error),
        })?;
    let metadata = file.metadata().map_err(|error| cannot(path, error))?;
    regular(&metadata)?;
    Ok((file, metadata))
}

fn kind(metadata: &Metadata) -> Option<&'static str> {
    let kind = metadata.file_type();
    if kind.is_file() {
        None
    } else if kind.is_dir() {
        Some("it is a directory")
    } else if kind.is_fifo() {
        Some("it is a FIFO")
    } else if kind.is_char_device() || kind.is_block_device() {
        Some("it is a device")
    } else {
        Some("it is no regular file")
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
    faccessat(AT_FDCWD, path, AccessFlags::X_OK, AtFlags::AT_EACCESS).map_err(|_| "you may not execute it")
}

fn cannot(path: &Path, error: io::Error) -> PlanError {
    let unusable = |why| PlanError::ProgramUnusable { path: path.to_owned(), why };
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            PlanError::ProgramNotFound { program: path.display().to_string() }
        }
        ErrorKind::PermissionDenied => unusable("a directory above it may not be searched"),
        _ if error.raw_os_error() == Some(libc::ELOOP) => unusable("its links lead in a circle"),
        _ => PlanError::Look { path: path.display().to_string(), source: error },
    }
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
