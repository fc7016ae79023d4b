//! Links the program statically where this machine has what that takes, the GNU C library's
//! archive: `docs/performance.md` says what the dynamic loader would cost at each start, and
//! nothing of the caller's (`LD_PRELOAD`) acts on a program that needs no loader.
//!
//! The compiler's own switch for it (`target-feature=+crt-static`) can be set for all crates
//! only, and then no procedural macro builds. So the linker is told instead, for the program
//! alone: the names of the libraries that the compiler passes to it are found first in a
//! directory of ours, where they stand for the archives.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script asks the compiler and writes files"
)]

use std::env;
use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

#[path = "build/data.rs"]
mod data;

/// What the compiler links besides the C library. Since glibc 2.34 the C library holds these, and
/// what `libgcc_s` holds is in two archives of the C compiler's.
const INCLUDED: [&str; 6] = ["gcc_s", "util", "rt", "pthread", "m", "dl"];
/// An archive with nothing in it.
const EMPTY: &str = "!<arch>\n";

fn main() -> Result<(), Box<dyn Error>> {
    data::write()?;
    println!("cargo::rerun-if-changed=src/build.rs");
    println!("cargo::rustc-check-cfg=cfg(linked_static)");
    let says = |name: &str| env::var(name).unwrap_or_default();
    let native = says("TARGET") == says("HOST");
    if !native || says("CARGO_CFG_TARGET_OS") != "linux" || says("CARGO_CFG_TARGET_ENV") != "gnu" {
        return Ok(());
    }
    let archives = ["libc.a", "libm.a", "libgcc_eh.a", "libgcc.a"].map(archive);
    let archives: Option<Vec<String>> = archives.into_iter().collect();
    let Some(archives) = archives else {
        println!("cargo::warning=no archive of the C library: the program is linked dynamically");
        return Ok(());
    };
    let directory = PathBuf::from(env::var("OUT_DIR")?).join("archives");
    fs::create_dir_all(&directory)?;
    for name in INCLUDED {
        fs::write(directory.join(format!("lib{name}.a")), EMPTY)?;
    }
    let all = format!("GROUP ( {} )\n", archives.join(" "));
    fs::write(directory.join("libc.a"), all)?;
    // What the program may do at its very beginning depends on it.
    println!("cargo::rustc-cfg=linked_static");
    println!("cargo::rustc-link-arg-bins=-static-pie");
    println!("cargo::rustc-link-arg-bins=-L{}", directory.display());
    Ok(())
}

/// Where the C compiler finds an archive; `None` where it has none.
fn archive(name: &str) -> Option<String> {
    let asked = Command::new("cc")
        .arg(format!("-print-file-name={name}"))
        .output();
    let path = String::from_utf8(asked.ok()?.stdout).ok()?;
    let path = PathBuf::from(path.trim());
    // Where it has none it says the name alone.
    let found = path.is_absolute() && path.exists();
    found.then(|| path.to_str().map(str::to_owned)).flatten()
}
