#![expect(clippy::disallowed_methods, reason = "tests read and write files")]

use std::path::Path;

use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;

use super::*;
use crate::declaration::ReadReason;

fn fixtures(kind: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/declarations")
        .join(kind);
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .map(|path| {
            (
                path.file_stem().unwrap().to_str().unwrap().to_owned(),
                std::fs::read_to_string(path).unwrap(),
            )
        })
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

#[test]
fn valid_fixtures() {
    for (name, content) in fixtures("valid") {
        let declaration = parse(serde_json::from_str(&content).unwrap());
        let declaration = declaration.unwrap_or_else(|error| panic!("{name}: {error}"));
        // A fixture says nothing that is a default, so it is what is written for it.
        let written: Value = serde_json::from_str(&text(&declaration).unwrap()).unwrap();
        assert_eq!(
            written,
            serde_json::from_str::<Value>(&content).unwrap(),
            "{name}"
        );
    }
}

/// Each fixture: the entry, and the whole message.
#[test]
fn invalid_fixtures() {
    for (name, content) in fixtures("invalid") {
        let mut fixture: Map<String, Value> = serde_json::from_str(&content).unwrap();
        let error = parse(fixture.remove("entry").unwrap())
            .err()
            .unwrap_or_else(|| panic!("{name} is accepted"));
        assert_eq!(
            error.to_string(),
            fixture["error"].as_str().unwrap(),
            "{name}"
        );
        assert!(!error.to_string().contains("sk-"), "{name} repeats a value");
    }
}

#[test]
fn no_debug_text_shows_a_stored_value() {
    let entry = serde_json::json!({"command": "/bin/a", "env": {"KEY": "sk-key"}});
    assert!(!format!("{:?}", parse(entry).unwrap()).contains("sk-key"));
}

fn name() -> impl Strategy<Value = EnvName> {
    "[A-Z_][A-Z0-9_]{0,6}".prop_filter_map("a loader variable", |word| {
        word.parse::<EnvName>()
            .ok()
            .filter(|name| loader::loader(name).is_none())
    })
}

fn bound() -> impl Strategy<Value = Option<u64>> {
    proptest::option::of(1..=LARGEST)
}

prop_compose! {
    fn any_stdio()(
        command in "[a-z]{1,8}|/[a-z/]{0,12}x", args in vec(any::<String>(), 0..4),
        env in btree_map(name(), any::<String>(), 0..4), pass in btree_set(name(), 0..4),
        dir in proptest::option::of("(/[a-z \"é]{1,5}){1,3}"), reads in vec("(/[a-z]{1,5}){1,3}", 0..3),
        none in any::<bool>(), limits in (bound(), bound(), bound(), bound()),
        globs in vec(any::<String>(), 0..3), seconds in proptest::option::of(any::<u64>()),
        flags in any::<[bool; 4]>(),
    ) -> Stdio {
        let clean = |word: String| word.replace('\0', "");
        let mut stdio = Stdio::new(command, args.into_iter().map(clean).collect());
        stdio.pass = pass.into_iter().filter(|name| !env.contains_key(name)).collect();
        stdio.env = env.into_iter().map(|(name, value)| (name, SecretString::from(clean(value)))).collect();
        stdio.dir = dir.map(|path| path.parse().unwrap());
        let read = |path: String| Read { path: path.parse().unwrap(), why: ReadReason::Flag };
        stdio.reads = reads.into_iter().map(read).collect();
        stdio.network = if none { Network::None } else { Network::Full };
        stdio.limits = Limits { memory: limits.0, processes: limits.1, files: limits.2, file_size: limits.3 };
        if flags[0] { stdio.allow.insert(Allow::LoaderEnv); }
        if flags[1] { stdio.without.insert(Promise::R5); }
        if flags[2] { stdio.pin.insert(Pin::Program); }
        stdio.audit_arguments = flags[3];
        stdio.tools.include = globs;
        stdio.timeouts.call_s = seconds.and_then(std::num::NonZeroU64::new);
        stdio
    }
}

proptest! {
    /// Written and read again, nothing is lost: the text of both is the same, values too.
    #[test]
    fn round_trip(stdio in any_stdio(), enabled in any::<bool>()) {
        let declaration = Declaration { server: Server::Stdio(stdio), enabled };
        let written = text(&declaration).unwrap();
        let read = parse(serde_json::from_str(&written).unwrap());
        prop_assert!(read.is_ok(), "{:?} {written}", read.err());
        let read = read.unwrap();
        prop_assert_eq!(text(&read).unwrap(), written);
        let digest = super::super::digest::digest;
        prop_assert_eq!(digest(&read), digest(&declaration));
    }

    /// Whatever stands in an entry, reading it ends without a panic, and says nothing of it.
    #[test]
    fn any_value_is_read_or_refused(key in "[a-z_]{1,9}|args|env|reads|limits|pass", value in any_json()) {
        let mut entry = serde_json::json!({"command": "/bin/a"});
        entry[key] = value;
        if let Err(error) = parse(entry) {
            prop_assert!(!error.to_string().contains("SECRET"));
        }
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(Value::from("SECRET")),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map("[a-z]{1,4}", inner, 0..4)
                .prop_map(|map| map.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}
