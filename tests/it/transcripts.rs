//! The transcripts in `tests/cli`, run as they stand, each in an empty home of its own.

use std::fs;
use std::path::Path;

/// Shown in transcripts as they are, on every machine.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

#[test]
fn every_transcript_is_what_the_commands_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli");
    let mut found = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let home = tempfile::tempdir().unwrap();
        trycmd::TestCases::new()
            .case(entry.unwrap().path())
            .env("HOME", home.path().to_str().unwrap())
            .env("PATH", PATH)
            .env("NO_COLOR", "1")
            .env("COLUMNS", "80")
            .run();
        found += 1;
    }
    assert!(found >= 6, "{found} transcripts");
}
