//! An administrator's files that are handed to `policy`: what reads, what the schema says of the
//! same, the example and the examples of the guide.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::judge::{done, printable, refused};
use crate::schema;
use crate::support::{TestContext, stderr, stdout};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn fixtures(folder: &str) -> Vec<PathBuf> {
    let folder = root().join("fixtures/policies").join(folder);
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Copied to where the person reads it.
fn check(context: &TestContext, text: &str) -> std::process::Output {
    let file = context.make_file("work/managed.json", text);
    context.run(&["policy", "check", file.to_str().unwrap()])
}

#[test]
fn what_reads_is_what_the_schema_says() {
    let context = TestContext::ordinary();
    let valid = fixtures("valid");
    assert!(valid.len() >= 4);
    for path in valid {
        let text = fs::read_to_string(&path).unwrap();
        done(&check(&context, &text));
        let file = serde_json::from_str(&text).unwrap();
        assert_eq!(schema::managed(&file), Ok(()), "{}", path.display());
    }
    // What a schema cannot say: the grammar of words, keys that stand twice.
    let beyond = [
        "any-inside",
        "command-relative",
        "env-name",
        "half",
        "host-url",
        "key-twice",
        "sha256-short",
    ];
    let invalid = fixtures("invalid");
    assert!(invalid.len() >= 25);
    for path in invalid {
        let text = fs::read_to_string(&path).unwrap();
        let output = check(&context, &text);
        refused(&output, 1, "policy-invalid");
        assert!(
            stderr(&output).replace("\n ", "").contains(", line "),
            "{}",
            stderr(&output)
        );
        let name = path.file_stem().unwrap().to_str().unwrap();
        if let Ok(file) = serde_json::from_str(&text) {
            let by_schema = schema::managed(&file).is_err();
            assert_eq!(by_schema, !beyond.contains(&name), "{name}");
        }
    }
}

#[test]
fn the_schema_is_the_one_that_is_shipped() {
    let context = TestContext::ordinary();
    let output = context.run(&["policy", "schema"]);
    done(&output);
    assert_eq!(
        stdout(&output),
        include_str!("../../policy/schema/managed.json")
    );
}

/// The fleet in force and those in the comment of the example.
#[test]
fn every_fleet_of_the_example_reads() {
    let text = include_str!("../../policy/managed.example.json");
    let file: Value = serde_json::from_str(text).unwrap();
    let context = TestContext::ordinary();
    done(&check(&context, text));
    assert_eq!(schema::managed(&file), Ok(()));
    for (fleet, url, exit) in [
        ("open", "https://mcp.example.com/mcp", 0),
        ("open", "https://a.paste.example/", 126),
        ("closed", "https://mcp.example.com/mcp", 126),
    ] {
        let fleet = serde_json::json!({"mcp": file["$comment"][fleet]["mcp"]});
        done(&check(&context, &fleet.to_string()));
        let tested = context.run(&["policy", "test", "managed.json", "--url", url]);
        assert_eq!(tested.status.code(), Some(exit), "{}", stdout(&tested));
    }
}

/// Every policy that `docs/policy.md` shows reads: alone, or inside what ships it.
#[test]
fn every_policy_of_the_guide_reads() {
    let guide = include_str!("../../docs/policy.md");
    let context = TestContext::ordinary();
    let mut found = 0;
    for block in guide.split("\n```").skip(1).step_by(2) {
        let Some((_, block)) = block.split_once('\n') else {
            continue;
        };
        let Some(start) = block
            .find("{\"mcp\"")
            .or_else(|| block.find("{\n  \"mcp\""))
            .or_else(|| {
                let inside = block.find("\"mcp\"")?;
                block[..inside].rfind('{')
            })
        else {
            continue;
        };
        let mut values = serde_json::Deserializer::from_str(&block[start..]).into_iter::<Value>();
        let value = values
            .next()
            .unwrap()
            .unwrap_or_else(|error| panic!("{error}: {block}"));
        done(&check(&context, &value.to_string()));
        found += 1;
    }
    assert_eq!(found, 3, "policies in the guide");
}

#[test]
fn a_directory_is_read_as_the_installed_one_is() {
    let context = TestContext::ordinary();
    let output = context.run(&["policy", "check", "."]);
    refused(&output, 2, "policy-missing");
    context.make_directory("work/managed.d");
    context.make_file(
        "work/managed.json",
        r#"{"mcp": {"deny": [{"host": "a.example"}]}}"#,
    );
    context.make_file(
        "work/managed.d/10-b.json",
        r#"{"mcp": {"deny": [{"host": "b.example"}]}}"#,
    );
    context.make_file(
        "work/managed.d/20-c.json",
        r#"{"mcp": {"floor": {"network": "none"}}}"#,
    );
    for other in ["README", ".hidden.json", "x.json.bak"] {
        context.make_file(&format!("work/managed.d/{other}"), "not read");
    }
    for folder in [".", "../work", context.path("work").to_str().unwrap()] {
        let output = context.run(&["policy", "check", folder, "--json"]);
        done(&output);
        let object = schema::check(&stdout(&output));
        assert_eq!(object["files"].as_array().unwrap().len(), 3);
        assert_eq!(
            (object["deny"].as_u64(), object["allow"].as_u64()),
            (Some(2), None)
        );
        for (url, exit) in [("https://b.example/", 126), ("https://c.example/", 0)] {
            let tested = context.run(&["policy", "test", folder, "--url", url]);
            assert_eq!(tested.status.code(), Some(exit));
            printable(&tested);
        }
    }
    context.make_file("work/managed.d/30-d.json", "{");
    refused(&context.run(&["policy", "check", "."]), 1, "policy-invalid");
}

#[test]
fn what_is_not_roots_alone_is_not_as_installed() {
    let context = TestContext::ordinary();
    let file = context.make_file("work/managed.json", r#"{"mcp": {}}"#);
    done(&context.run(&["policy", "check", file.to_str().unwrap()]));
    let output = context.run(&["policy", "check", "--installed", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    // A directory of everybody's lies above it.
    assert!(
        stderr(&output).contains("(policy-mode)"),
        "{}",
        stderr(&output)
    );
}

/// Each host's lists, imported, read as a policy and say what they said.
#[test]
fn what_is_imported_reads() {
    let context = TestContext::ordinary();
    for (host, file) in [
        ("claude", "claude.json"),
        ("vscode", "vscode.json"),
        ("codex", "codex.toml"),
        ("windsurf", "windsurf.json"),
    ] {
        let text = fs::read_to_string(root().join("fixtures/policies/hosts").join(file)).unwrap();
        context.make_file("work/theirs", &text);
        let output = context.run(&["policy", "import", "--from", host, "theirs"]);
        printable(&output);
        let lost = stderr(&output).contains("not expressed");
        assert_eq!(
            output.status.code(),
            Some(i32::from(lost)),
            "{host}: {}",
            stderr(&output)
        );
        assert_eq!(
            lost,
            host == "claude" || host == "windsurf" || host == "vscode",
            "{host}"
        );
        done(&check(&context, &stdout(&output)));
        for (to, url) in [("claude", true), ("codex", false)] {
            let output = context.run(&["policy", "export", "--to", to, "managed.json"]);
            printable(&output);
            assert_eq!(
                stdout(&output).contains("mcp.example.com"),
                url && host != "windsurf" && host != "vscode"
            );
        }
        // Another host's file is not taken for it.
        let other = if host == "codex" { "claude" } else { "codex" };
        let output = context.run(&["policy", "import", "--from", other, "theirs"]);
        refused(&output, 1, "policy-foreign");
    }
}
