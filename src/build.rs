//! Makes the tables of `policy/` ([`data`]), and says how the program is linked: statically, and with
//! what a run of a server uses in one place.
//!
//! Statically where this machine has what that takes, the GNU C library's archive:
//! `docs/performance.md` says what the dynamic loader would cost at each start, and nothing of the
//! caller's (`LD_PRELOAD`) acts on a program that needs no loader.
//!
//! The compiler's own switch for it (`target-feature=+crt-static`) can be set for all crates
//! only, and then no procedural macro builds. So the linker is told instead, for the program
//! alone: the names of the libraries that the compiler passes to it are found first in a
//! directory of ours, where they stand for the archives.
//!
//! In one place by a script for the linker, made of the list `src/order.txt`: the kernel maps
//! sixteen pages around each that is touched, and what a run uses lay strewn over all of the program.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script asks the compiler and writes files"
)]

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "build/data.rs"]
mod data;

/// What the compiler links besides the C library. Since glibc 2.34 the C library holds these, and
/// what `libgcc_s` holds is in two archives of the C compiler's.
const INCLUDED: [&str; 6] = ["gcc_s", "util", "rt", "pthread", "m", "dl"];
/// An archive with nothing in it.
const EMPTY: &str = "!<arch>\n";

/// What a run uses, a name a line; `tests/bench/order` makes it.
const ORDER: &str = "src/order.txt";
/// What every program enters at its start and its end, of a few bytes, which would stand alone.
const START: &str = "KEEP(*(SORT_NONE(.init)))\nKEEP(*(SORT_NONE(.fini)))\n";
/// What stands before the hash in a name that has one.
const HASH: &str = "17h";

/// What cargo says; nothing where it says nothing.
fn says(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

fn main() -> Result<(), Box<dyn Error>> {
    data::write()?;
    println!("cargo::rerun-if-changed=src/build.rs");
    println!("cargo::rustc-check-cfg=cfg(linked_static)");
    let native = says("TARGET") == says("HOST");
    if !native || says("CARGO_CFG_TARGET_OS") != "linux" || says("CARGO_CFG_TARGET_ENV") != "gnu" {
        return Ok(());
    }
    let out = PathBuf::from(env::var("OUT_DIR")?);
    place(&out)?;
    let archives = ["libc.a", "libm.a", "libgcc_eh.a", "libgcc.a"].map(archive);
    let archives: Option<Vec<String>> = archives.into_iter().collect();
    let Some(archives) = archives else {
        println!("cargo::warning=no archive of the C library: the program is linked dynamically");
        return Ok(());
    };
    let directory = out.join("archives");
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
    if unpacks() {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    Ok(())
}

/// Whether what the archive does at the very beginning knows packed relocations: the GNU C library's
/// does since 2.36. They are a tenth of the others' size, and read once.
fn unpacks() -> bool {
    let asked = Command::new("cc")
        .args([
            "-dM",
            "-E",
            "-include",
            "features.h",
            "-x",
            "c",
            "/dev/null",
        ])
        .output();
    let said = asked.map(|asked| String::from_utf8_lossy(&asked.stdout).into_owned());
    let said = said.unwrap_or_default();
    let number = |name: &str| {
        let value = said.lines().find_map(|line| line.strip_prefix(name))?;
        value.trim().parse::<u32>().ok()
    };
    let version = (
        number("#define __GLIBC__ "),
        number("#define __GLIBC_MINOR__ "),
    );
    version >= (Some(2), Some(36))
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

/// Has the linker place what the list names beside each other, in an optimised build for the
/// processor that the list was made on, where the linker takes such a script.
fn place(out: &Path) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={ORDER}");
    let wanted = says("PROFILE") == "release" && says("CARGO_CFG_TARGET_ARCH") == "x86_64";
    if !wanted || !takes_scripts() {
        return Ok(());
    }
    let list = fs::read_to_string(ORDER)?;
    let names = list.lines().filter(|line| !line.starts_with('#'));
    let [mut code, mut near, mut constants] = [const { String::new() }; 3];
    for name in names {
        if name.ends_with(".o") {
            writeln!(code, "*{name}(.text .text.*)")?;
            writeln!(constants, "*{name}(.rodata .rodata.*)")?;
        } else {
            writeln!(code, "*(.text.{name} .text.unlikely.{name})")?;
            writeln!(
                constants,
                "*(.rodata.{name} .rodata.unlikely.{name} .rodata..Lswitch.table.{name}*)"
            )?;
            if let Some((stem, _)) = name.split_once(HASH).filter(|(_, hash)| *hash != "*") {
                writeln!(near, "*(.text.{stem}{HASH}* .text.unlikely.{stem}{HASH}*)")?;
            }
        }
    }
    // What matches first counts. Near is what shares its name with what is listed with its hash: that
    // is among it where the hashes are others. Cold are the constants of the functions and of the C
    // library that are not listed; where a literal is used nothing in its name says.
    let script = format!(
        "SECTIONS {{ .text.run ALIGN(0x10000) : {{\n{START}{code}}} }} INSERT AFTER .text;\n\
         SECTIONS {{ .text.near : {{\n{near}}} }} INSERT BEFORE .text;\n\
         SECTIONS {{ .rodata.run : {{\n{constants}}} }} INSERT BEFORE .rodata;\n\
         SECTIONS {{ .rodata.cold : {{\n*libc.a:*(.rodata .rodata.*)\n\
         *(.rodata._* .rodata.unlikely.* .rodata..Lswitch.table.*)\n}} }} INSERT AFTER .rodata;\n"
    );
    let path = out.join("order.ld");
    fs::write(&path, script)?;
    println!("cargo::rustc-link-arg-bins=-T{}", path.display());
    Ok(())
}

/// Whether the linker is one that adds a script to its own: `lld`, or that of GNU. Not where another
/// was chosen, whose ways nobody knows here.
fn takes_scripts() -> bool {
    println!("cargo::rerun-if-env-changed=RUSTFLAGS");
    println!("cargo::rerun-if-env-changed=CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER");
    let flags = env::var_os("CARGO_ENCODED_RUSTFLAGS");
    // Flags that do not read may choose one.
    let chosen = flags.is_some_and(|flags| flags.to_str().is_none_or(|text| text.contains("link")));
    if chosen || env::var_os("RUSTC_LINKER").is_some() {
        return false;
    }
    let Ok(asked) = Command::new("cc").arg("-Wl,--version").output() else {
        return false;
    };
    // Others say that they are compatible with the one of GNU, and are not in this.
    let said = String::from_utf8_lossy(&asked.stdout).into_owned();
    said.starts_with("GNU ld") || said.contains("LLD ")
}
