//! The list by which the linker places what a run uses (`src/order.txt`): that it reads as a list,
//! and that the program still has what it names.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// The functions of a program as the compiler names them, without their hashes.
fn functions(program: &[u8]) -> HashSet<&str> {
    let names = program.split(|byte| *byte == 0);
    let names = names.filter_map(|name| str::from_utf8(name).ok());
    let names = names.filter_map(|name| name.find("_ZN").map(|start| &name[start..]));
    names
        .filter_map(|name| Some(name.split_once("17h")?.0))
        .collect()
}

/// This build is another than the optimised one that the list was made on, and has most of its functions.
#[test]
fn the_list_of_what_a_run_uses_names_what_the_program_has() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/order.txt");
    let list = fs::read_to_string(file).unwrap();
    let names: Vec<&str> = list.lines().filter(|line| !line.starts_with('#')).collect();
    let allowed = |name: &&str| {
        name.chars()
            .all(|one| one.is_ascii_alphanumeric() || "_$.*:-".contains(one))
    };
    let wrong: Vec<&&str> = names
        .iter()
        .filter(|name| name.is_empty() || !allowed(name))
        .collect();
    assert!(wrong.is_empty(), "no names to a linker: {wrong:?}");

    let own = names
        .iter()
        .filter(|name| name.starts_with("_ZN10supervisor"));
    let own: Vec<&str> = own
        .filter_map(|name| Some(name.split_once("17h")?.0))
        .collect();
    assert!(
        own.len() > 100,
        "{} functions of ours are listed",
        own.len()
    );
    let program = fs::read(env!("CARGO_BIN_EXE_supervisor")).unwrap();
    let built = functions(&program);
    let gone: Vec<&&str> = own.iter().filter(|name| !built.contains(**name)).collect();
    assert!(
        gone.len() * 4 < own.len(),
        "{} of {} are no more: make the list again by `tests/bench/order target/release/supervisor`; {gone:?}",
        gone.len(),
        own.len()
    );
}
