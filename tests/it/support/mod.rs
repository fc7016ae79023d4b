//! What every test needs: a home and a state of its own, the built programs where any user may
//! run them, a person at a terminal, a host at two pipes.

pub mod described;
pub mod directories;
pub mod fleet;
mod host;
pub mod page;
pub mod programs;
pub mod state;
mod terminal;

use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use tempfile::TempDir;

pub use host::Host;

/// An ordinary user id that no account is expected under.
pub const ORDINARY: u32 = 54_321;

/// Who runs the supervisor in a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Somebody without privilege: the caller, or another id where the caller is root.
    Ordinary,
    /// Root; only where the tests were started as root.
    Root,
}

/// Everybody the escape tests run as: always an ordinary user, root too when started so.
pub fn everybody() -> Vec<Who> {
    if is_root() {
        vec![Who::Ordinary, Who::Root]
    } else {
        vec![Who::Ordinary]
    }
}

/// Whether the tests were started as root.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// The built programs, copied once to where any user may execute them.
fn programs() -> &'static Path {
    static PROGRAMS: OnceLock<TempDir> = OnceLock::new();
    let made = PROGRAMS.get_or_init(|| {
        sweep();
        let directory = open_directory_named(&format!("{PREFIX}{}-", std::process::id()));
        let supervisor = Path::new(env!("CARGO_BIN_EXE_supervisor"));
        let built = supervisor.parent().unwrap();
        install(supervisor, &directory.path().join("supervisor"));
        for fixture in ["fixture-server", "fixture-probe"] {
            install(
                &built.join("examples").join(fixture),
                &directory.path().join(fixture),
            );
        }
        directory
    });
    made.path()
}

fn install(from: &Path, to: &Path) {
    fs::copy(from, to).unwrap_or_else(|error| {
        panic!(
            "{}: {error} (cargo build --examples builds the fixtures)",
            from.display()
        )
    });
    set_mode(to, 0o755);
}

/// What the directory of the programs is called, before the number of the process it is for: it
/// lives as long as that process, and nothing is left to remove it then.
const PREFIX: &str = "sv-test-programs-";

/// Removes the programs of test runs that have ended.
fn sweep() {
    for entry in fs::read_dir("/tmp").unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let number = name
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split('-').next());
        if number.is_some_and(|number| !Path::new("/proc").join(number).exists()) {
            // Another run may be quicker, or it may be another user's.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn open_directory() -> TempDir {
    open_directory_named("sv-test-")
}

fn open_directory_named(prefix: &str) -> TempDir {
    let directory = tempfile::Builder::new()
        .prefix(prefix)
        .tempdir_in("/tmp")
        .unwrap();
    set_mode(directory.path(), 0o755);
    directory
}

/// One person with a home, an empty state, and a folder to work in.
pub struct TestContext {
    who: Who,
    base: TempDir,
}

impl TestContext {
    /// Somebody new.
    pub fn new(who: Who) -> Self {
        let context = Self {
            who,
            base: open_directory(),
        };
        for directory in ["home", "work", "outside"] {
            context.make_directory(directory);
        }
        context
    }

    /// An ordinary user.
    pub fn ordinary() -> Self {
        Self::new(Who::Ordinary)
    }

    /// A path below this person's base.
    pub fn path(&self, name: &str) -> PathBuf {
        self.base.path().canonicalize().unwrap().join(name)
    }

    /// A directory of this person's, mode 0700.
    pub fn make_directory(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(&path).unwrap();
        set_mode(&path, 0o700);
        self.own(&path);
        path
    }

    /// A file of this person's, mode 0600.
    pub fn make_file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        set_mode(&path, 0o600);
        self.own(&path);
        path
    }

    /// Makes a path this person's own, the link itself where it is one.
    pub fn own(&self, path: &Path) {
        if let Some(id) = self.id() {
            lchown(path, Some(id), Some(id)).unwrap();
        }
    }

    /// The id to drop to, if any.
    fn id(&self) -> Option<u32> {
        (self.who == Who::Ordinary && is_root()).then_some(ORDINARY)
    }

    /// The path of a built program: `supervisor`, `fixture-server`, `fixture-probe`.
    pub fn program(name: &str) -> String {
        programs().join(name).to_str().unwrap().to_owned()
    }

    /// Any program, as the caller of the tests.
    fn as_caller(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("NO_COLOR", "1")
            .current_dir(self.path("work"));
        command
    }

    /// Any program, as this person, with nothing in its environment but a home and a path.
    pub fn command(&self, program: &str) -> Command {
        let mut command = self.as_caller(program);
        if let Some(id) = self.id() {
            command.uid(id).gid(id);
        }
        command
    }

    /// The supervisor with these words.
    pub fn supervisor(&self, words: &[&str]) -> Command {
        let mut command = self.command(&Self::program("supervisor"));
        command.args(words);
        command
    }

    /// The supervisor on a system that refuses namespaces.
    pub fn without_namespaces(&self, words: &[&str]) -> Command {
        let mut command = self.command(&Self::program("fixture-probe"));
        command
            .args(["without-namespaces", &Self::program("supervisor")])
            .args(words);
        command
    }

    /// The supervisor where another directory is `/etc`; the tests are started as root.
    pub fn with_etc(&self, etc: &Path, words: &[&str]) -> Command {
        let id = self.id().unwrap_or(0).to_string();
        let mut command = self.as_caller(&Self::program("fixture-probe"));
        command
            .args(["with-etc", etc.to_str().unwrap(), &id])
            .arg(Self::program("supervisor"))
            .args(words);
        command
    }

    /// A shell script in a mount namespace of its own, where `$0` is the supervisor; the tests are
    /// started as root.
    pub fn with_mounts(&self, script: &str) -> Command {
        let mut command = self.as_caller("unshare");
        command
            .args(["-m", "sh", "-c", script])
            .arg(Self::program("supervisor"));
        command
    }

    /// Runs the supervisor without a terminal.
    pub fn run(&self, words: &[&str]) -> Output {
        self.supervisor(words).output().unwrap()
    }

    /// Runs the supervisor at a terminal, answering each question; what the screen showed.
    pub fn at_terminal(&self, words: &[&str], answer: &str) -> (i32, String) {
        self.terminal(self.supervisor(words), answer)
    }

    /// Runs a command at a terminal, answering each question; what the screen showed.
    pub fn terminal(&self, command: Command, answer: &str) -> (i32, String) {
        terminal::run(command, answer)
    }

    /// Declares a server as a person does and says yes.
    pub fn approved(&self, alias: &str, flags: &[&str], argv: &[&str]) {
        let words = [&["add", alias], flags, &["--no-inspect", "--"], argv].concat();
        let (code, screen) = self.at_terminal(&words, "y");
        assert_eq!(code, 0, "{screen}");
    }

    /// The same, and says yes to what the server offers.
    pub fn offered(&self, alias: &str, flags: &[&str], argv: &[&str]) {
        let words = [&["add", alias], flags, &["--"], argv].concat();
        let (code, screen) = self.at_terminal(&words, "y");
        assert_eq!(code, 0, "{screen}");
    }

    /// Starts a declared server as a host does.
    pub fn host(&self, alias: &str) -> Host {
        Host::start(self.supervisor(&["run", alias]))
    }
}

/// What a program said on its standard error.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What a program said on its standard output.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A text, its line breaks undone: a line may be wrapped anywhere between words.
pub fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The mode of a path, of the link itself where it is one.
pub fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

pub fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
