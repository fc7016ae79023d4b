//! The mutants of `tests/mutants`, which are built apart: that each edit still has its place.

use std::fs;
use std::path::Path;

use serde_json::Value;

#[test]
fn what_a_mutant_replaces_stands_exactly_once() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("tests/mutants/mutants.json")).unwrap();
    let mutants: Value = serde_json::from_str(&text).unwrap();
    let edits = mutants.as_array().unwrap().iter().flat_map(|mutant| {
        let edits = mutant["edits"].as_array().unwrap();
        edits.iter().map(move |edit| (&mutant["name"], edit))
    });
    let (mut wrong, mut looked_at) = (Vec::new(), 0);
    for (name, edit) in edits {
        let file = edit["file"].as_str().unwrap();
        let source = fs::read_to_string(root.join(file)).unwrap();
        looked_at += 1;
        let count = source.matches(edit["find"].as_str().unwrap()).count();
        if count != 1 || edit["find"] == edit["replace"] {
            wrong.push(format!("{name}: {file}: {count} times"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(looked_at >= mutants.as_array().unwrap().len());
}
