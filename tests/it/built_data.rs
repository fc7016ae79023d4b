//! Data that is wrong does not build: what the build script makes of `policy/`, and of its like.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

#[path = "../../src/build/tables.rs"]
mod tables;

/// A data file and what a wrong one would hold instead, with what is said of it.
fn wrong(file: &str, change: impl Fn(&mut Value), says: &str) {
    let table = tables::TABLES.into_iter().find(|table| table.file == file);
    let table = table.unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let mut data: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert!((table.make)(&data.to_string()).is_ok(), "{}", table.to);
    change(&mut data);
    let error = (table.make)(&data.to_string()).unwrap_err().to_string();
    assert!(error.contains(says), "{file}: {error}");
}

#[test]
fn unknown_members_and_words_do_not_build() {
    let unknown = |list: &'static str| move |data: &mut Value| data[list][0]["more"] = json!(1);
    for (file, list) in [
        ("policy/grants/linux.json", "grants"),
        ("policy/grants/runners.json", "runners"),
        ("policy/sensitive-directories.json", "places"),
        ("policy/sensitive-directories.json", "names"),
        ("policy/sensitive-directories.json", "system"),
        ("policy/sensitive-directories.json", "shared"),
        ("policy/obeyed-files.json", "entries"),
        ("policy/loader-variables.json", "variables"),
        ("policy/interpreter-variables.json", "variables"),
        ("policy/surface-check.json", "rules"),
    ] {
        wrong(file, unknown(list), "unknown field `more`");
    }
    for table in tables::TABLES {
        let more = |data: &mut Value| data["more"] = json!(1);
        wrong(table.file, more, "unknown field `more`");
    }
    let (grants, places) = (
        "policy/grants/linux.json",
        "policy/sensitive-directories.json",
    );
    for rights in ["write", "all", "Read", ""] {
        let set = |data: &mut Value| data["grants"][0]["rights"] = json!(rights);
        wrong(grants, set, "unknown variant");
    }
    let set = |data: &mut Value| data["places"][0]["holds"] = json!("keys");
    wrong(places, set, "unknown variant");
    let set = |data: &mut Value| data["runners"][0]["variables"][0]["when"] = json!("never");
    wrong("policy/grants/runners.json", set, "unknown variant");
}

#[test]
fn what_is_there_twice_or_has_no_reason_does_not_build() {
    for (file, list, key) in [
        ("policy/grants/linux.json", "grants", "path"),
        ("policy/sensitive-directories.json", "places", "path"),
        ("policy/sensitive-directories.json", "names", "name"),
        ("policy/sensitive-directories.json", "system", "path"),
        ("policy/sensitive-directories.json", "shared", "path"),
        ("policy/obeyed-files.json", "entries", "path"),
        ("policy/surface-check.json", "rules", "id"),
    ] {
        let twice = |data: &mut Value| {
            let first = data[list][0][key].clone();
            data[list][1][key] = first;
        };
        wrong(file, twice, "is there twice");
        let bare = |data: &mut Value| data[list][0]["reason"] = json!("");
        wrong(file, bare, "has no name or no reason");
    }
    let twice = |data: &mut Value| data["tokens"][1] = json!("<|");
    wrong("policy/template-tokens.json", twice, "is there twice");
    let twice = |data: &mut Value| data["runners"][1]["names"] = json!(["npx"]);
    wrong("policy/grants/runners.json", twice, "is there twice");
    let between = |data: &mut Value| data["system"][0] = data["shared"][0].clone();
    let places = "policy/sensitive-directories.json";
    wrong(places, between, "is there twice");
}

#[test]
fn what_would_not_be_found_as_it_is_meant_does_not_build() {
    let grants = "policy/grants/linux.json";
    for (path, says) in [
        ("usr", "is not absolute"),
        ("/usr/", "not spelled plainly"),
        ("/usr/../etc", "not spelled plainly"),
        ("/us*/lib", "a * elsewhere"),
        ("/us**", "a * elsewhere"),
        ("/dev/sda", "a device by its rights or by its place"),
    ] {
        let set = |data: &mut Value| data["grants"][0]["path"] = json!(path);
        wrong(grants, set, says);
    }
    for path in [
        "usr", "~", "~/", "~/a/", "~root/x", "~/../x", "/a//b", "/./a",
    ] {
        let set = |data: &mut Value| data["places"][0]["path"] = json!(path);
        wrong("policy/sensitive-directories.json", set, "plainly");
    }
    for (path, says) in [
        ("a/b/c", "one ASCII name or two"),
        ("/a", "one ASCII name or two"),
        ("na\u{ef}ve", "one ASCII name or two"),
        (".Github/x", "in other letters"),
    ] {
        let set = |data: &mut Value| data["entries"][0]["path"] = json!(path);
        wrong("policy/obeyed-files.json", set, says);
    }
    let loader = "policy/loader-variables.json";
    let name = |entry: Value| {
        move |data: &mut Value| {
            let mut entry = entry.clone();
            entry["reason"] = json!("r");
            data["variables"][1] = entry;
        }
    };
    wrong(loader, name(json!({"name": "LD_X"})), "listed too");
    wrong(loader, name(json!({"prefix": "LD_X"})), "listed too");
    wrong(loader, name(json!({"name": "A-B"})), "begins no name");
    wrong(loader, name(json!({})), "not one name or one prefix");
    let both = json!({"name": "A", "prefix": "B"});
    wrong(loader, name(both), "not one name or one prefix");
    let set = |data: &mut Value| data["tokens"][0] = json!("Human:");
    wrong("policy/template-tokens.json", set, "begins with a letter");
    let set = |data: &mut Value| data["rules"][0]["literals"][0] = json!("<SYSTEM");
    wrong("policy/surface-check.json", set, "small letters");
    let runners = "policy/grants/runners.json";
    for place in ["/tmp", "a/../b", ""] {
        let set = |data: &mut Value| data["runners"][0]["holds"] = json!([place]);
        wrong(runners, set, "below the private home");
    }
    let set = |data: &mut Value| data["runners"][0]["variables"][0]["name"] = json!("a=b");
    wrong(runners, set, "no name of a variable");
}
