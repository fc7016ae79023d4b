//! The further check that `settings.json` names: a program of the person's own, which gets a surface
//! before they are asked about it, and whose word they are shown.
//!
//! It is started as it is written, by no shell, in `/`, and is not confined. It gets the surface as JSON
//! on its standard input, and of the environment where programs are and who the person is. Bounded in
//! time and output: where it cannot be started, does not end or ends by a signal, nothing is approved.
#![expect(
    clippy::disallowed_methods,
    reason = "starts the one program that the person names, with a few of their variables"
)]

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::Surface;
use super::canonical::{Item, Written};
use crate::declaration::{Alias, Digest};

/// How long it may take.
const LIMIT: Duration = Duration::from_secs(30);
/// Bytes of its standard output, and of its standard error.
const MOST: u64 = 64 << 10;
/// The variables that it gets, where they are set.
const PASSED: [&str; 5] = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR"];

/// The program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Further {
    program: String,
    arguments: Vec<String>,
}

/// What it said of a surface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// Which program.
    pub(crate) program: String,
    /// Its exit code: 0 where it has nothing against it.
    pub(crate) code: i32,
    /// What it wrote, as it wrote it.
    pub(crate) lines: Vec<String>,
}

/// Why it said nothing.
#[derive(Debug, thiserror::Error)]
pub enum FurtherError {
    /// The system did not start it, or lost it.
    #[error("{0}")]
    Failed(#[from] io::Error),
    /// It did not end in time.
    #[error("it did not end within {} s", .0.as_secs())]
    Late(Duration),
    /// It wrote more than is read.
    #[error("it wrote more than {} KiB", MOST >> 10)]
    Long,
    /// A signal ended it.
    #[error("it was ended by signal {0}")]
    Signal(i32),
}

/// What it is told.
#[derive(Serialize)]
struct Told<'a> {
    schema: &'static str,
    alias: &'a Alias,
    digest: &'a Digest,
    surface_digest: String,
    items: Vec<Written>,
}

impl Further {
    /// An argument vector as `settings.json` has it; `None` where its first word is no absolute path, or
    /// no program could be given a word of it.
    pub(crate) fn of(argv: Vec<String>) -> Option<Self> {
        let mut words = argv.into_iter();
        let program = words.next()?;
        let arguments: Vec<String> = words.collect();
        let whole = !program.contains('\0') && !arguments.iter().any(|word| word.contains('\0'));
        (whole && Path::new(&program).is_absolute()).then_some(Self { program, arguments })
    }

    /// The program.
    pub(crate) fn program(&self) -> &str {
        &self.program
    }

    /// Has it look at a surface. Processes that it leaves are the caller's to end.
    ///
    /// # Errors
    /// It said nothing.
    pub(crate) async fn ask(
        &self,
        alias: &Alias,
        digest: &Digest,
        surface: &Surface,
    ) -> Result<Word, FurtherError> {
        let told = Told {
            schema: "supervisor.surface.v1",
            alias,
            digest,
            surface_digest: surface.digest().to_string(),
            items: surface.iter().map(|item: &Item| item.into()).collect(),
        };
        let told = serde_json::to_vec(&told).map_err(io::Error::from)?;
        self.tell(&told, LIMIT).await
    }

    async fn tell(&self, told: &[u8], limit: Duration) -> Result<Word, FurtherError> {
        let passed = PASSED
            .iter()
            .filter_map(|name| Some((name, std::env::var_os(name)?)));
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            .envs(passed)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let said = tokio::time::timeout(limit, heard(&mut child, told)).await;
        let (status, out, err) = match said {
            Ok(Ok(said)) => said,
            Ok(Err(error)) => {
                child.kill().await?;
                return Err(error);
            }
            Err(_) => {
                child.kill().await?;
                return Err(FurtherError::Late(limit));
            }
        };
        let code = status.code();
        let lines = [out, err].into_iter().flat_map(|text| {
            let lines = text.lines().map(|line| line.trim_end().to_owned());
            lines.filter(|line| !line.is_empty()).collect::<Vec<_>>()
        });
        Ok(Word {
            program: self.program.clone(),
            code: code.ok_or_else(|| FurtherError::Signal(status.signal().unwrap_or_default()))?,
            lines: lines.collect(),
        })
    }
}

/// Writes to a child and reads what it says, to its end.
async fn heard(
    child: &mut Child,
    told: &[u8],
) -> Result<(ExitStatus, String, String), FurtherError> {
    let (stdin, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        let Some(mut stdin) = stdin else {
            return Ok(());
        };
        match stdin.write_all(told).await {
            // It need not read what it is told.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(FurtherError::from(error))
            }
            _ => Ok(()),
        }
    };
    let ((), out, err) = tokio::try_join!(write, read(out), read(err))?;
    Ok((child.wait().await?, out, err))
}

async fn read(from: Option<impl AsyncRead + Unpin>) -> Result<String, FurtherError> {
    let Some(from) = from else {
        return Ok(String::new());
    };
    let mut bytes = Vec::new();
    let count = from.take(MOST + 1).read_to_end(&mut bytes).await?;
    if u64::try_from(count).is_ok_and(|count| count <= MOST) {
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    Err(FurtherError::Long)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(argv: &[&str], limit: Duration) -> Result<Word, FurtherError> {
        let further = Further::of(argv.iter().map(|word| (*word).to_owned()).collect()).unwrap();
        let runtime = crate::launch::runtime().unwrap();
        runtime.block_on(further.tell(&vec![b'x'; 1 << 20], limit))
    }

    #[test]
    fn its_word_is_what_it_writes_and_its_code() {
        let word = told(&["/bin/sh", "-c", "wc -c; echo b >&2; exit 3"], LIMIT).unwrap();
        assert_eq!(
            (word.code, word.lines),
            (3, vec!["1048576".to_owned(), "b".to_owned()])
        );
        // It need not read.
        let word = told(&["/bin/sh", "-c", "exit 0"], LIMIT).unwrap();
        assert_eq!((word.code, word.lines.len()), (0, 0));
    }

    #[test]
    fn where_it_says_nothing_that_is_an_error() {
        for (argv, says) in [
            (&["/nonexistent"][..], "No such file"),
            (&["/bin/sh", "-c", "kill -9 $$"], "signal 9"),
            (
                &["/bin/sh", "-c", "head -c 70000 /dev/zero"],
                "more than 64 KiB",
            ),
        ] {
            let error = told(argv, LIMIT).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        let late = told(
            &["/bin/sh", "-c", "exec sleep 600"],
            Duration::from_millis(50),
        );
        assert!(matches!(late, Err(FurtherError::Late(_))), "{late:?}");
    }

    #[test]
    fn its_program_is_a_whole_path() {
        for bad in [
            &[][..],
            &["check"],
            &["./check"],
            &["/bin/a\0b"],
            &["/bin/a", "\0"],
        ] {
            let argv = bad.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(Further::of(argv), None, "{bad:?}");
        }
    }
}
