//! Makes the tables that the program is built with out of the data in `policy/`.
//!
//! The files are for people: each entry says why it is there. The program wants their content at
//! every start, where the milliseconds count, so it reads none of them: [`tables`] turns each into
//! a Rust expression of constants, which goes to a file in `OUT_DIR`, and the module that owns the
//! table includes that. Wrong data does not build.

use std::env;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

#[path = "tables.rs"]
mod tables;

/// Writes all tables.
///
/// # Errors
/// What is wrong with a data file, and where.
pub(crate) fn write() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let to = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo::rerun-if-changed=src/build");
    for table in tables::TABLES {
        println!("cargo::rerun-if-changed={}", table.file);
        let wrong = |error: &dyn Error| format!("{}: {error}", table.file);
        let text = fs::read_to_string(root.join(table.file)).map_err(|error| wrong(&error))?;
        let expression = (table.make)(&text).map_err(|error| wrong(error.as_ref()))?;
        fs::write(to.join(table.to), expression)?;
    }
    Ok(())
}
