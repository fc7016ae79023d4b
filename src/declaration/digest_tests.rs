use proptest::prelude::*;

use super::*;
use crate::declaration::entry;
use crate::declaration::hash::NotADigest;

#[derive(Deserialize)]
struct Vector {
    name: String,
    entry: Value,
    #[serde(default)]
    ours: BTreeSet<EnvName>,
    launch_json: String,
    launch: LaunchDigest,
    declaration_json: String,
    digest: Digest,
}

const VECTORS: &str = include_str!("../../fixtures/declarations/digest-vectors.json");

fn canonical_text(value: &Value) -> String {
    serde_json_canonicalizer::to_string(value).unwrap()
}

#[test]
fn vectors() {
    let vectors: Vec<Vector> = serde_json::from_str(VECTORS).unwrap();
    assert!(vectors.len() >= 10);
    for vector in vectors {
        let declaration = entry::parse(vector.entry).unwrap();
        let form = Canonical::of(&declaration, &vector.ours);
        let name = vector.name;
        assert_eq!(
            canonical_text(&form.launch.value()),
            vector.launch_json,
            "{name}"
        );
        assert_eq!(launch(&declaration.server), vector.launch, "{name}");
        let hashed = form.value(form.launch.digest().as_str().into());
        assert_eq!(canonical_text(&hashed), vector.declaration_json, "{name}");
        assert_eq!(form.digest(), vector.digest, "{name}");
        // Kept in an approval and read again, it is the same form.
        let kept = serde_json::to_string(&form).unwrap();
        assert_eq!(
            serde_json::from_str::<Canonical>(&kept).unwrap(),
            form,
            "{name}"
        );
    }
}

#[test]
fn a_digest_is_64_lower_case_digits() {
    let good = "0123456789abcdef".repeat(4);
    let launch: LaunchDigest = good.parse().unwrap();
    let digest: Digest = good.parse().unwrap();
    assert_eq!(
        (digest.short(), launch.home_name()),
        ("01234567", "0123456789abcdef")
    );
    for bad in [
        "",
        "0",
        &good.to_uppercase(),
        &format!("{good}0"),
        &good.replace('0', "g"),
        &good.replace("01", "é"),
    ] {
        assert_eq!(bad.parse::<Digest>(), Err(NotADigest), "{bad}");
    }
}

fn parsed(entry: Value) -> Declaration {
    entry::parse(entry).unwrap()
}

#[test]
fn what_only_narrows_does_not_count() {
    let plain = digest(&parsed(serde_json::json!({"command": "a"})));
    for same in [
        serde_json::json!({"command": "a", "tools": {"exclude": ["x"]}}),
        serde_json::json!({"command": "a", "timeouts": {"call_s": 1}, "audit_arguments": true, "enabled": false}),
        serde_json::json!({"command": "a", "limits": {"processes": 512, "files": 1}, "network": "full"}),
    ] {
        assert_eq!(digest(&parsed(same.clone())), plain, "{same}");
    }
    let stored = |value| {
        digest(&parsed(
            serde_json::json!({"command": "a", "env": {"K": value}}),
        ))
    };
    assert_eq!(stored("1"), stored("2"));
    assert_eq!(
        stored("1"),
        digest(&parsed(serde_json::json!({"command": "a", "pass": ["K"]})))
    );
}

#[test]
fn what_widens_counts_and_keeps_the_launch_digest() {
    let plain = parsed(serde_json::json!({"command": "a"}));
    for wider in [
        serde_json::json!({"command": "a", "reads": [{"path": "/x", "why": "flag"}]}),
        serde_json::json!({"command": "a", "limits": {"processes": 513}}),
        serde_json::json!({"command": "a", "allow": ["pty"]}),
        serde_json::json!({"command": "a", "without": ["P3"]}),
        serde_json::json!({"command": "a", "pin": ["program"]}),
        serde_json::json!({"command": "a", "network": "none"}),
    ] {
        let wider = parsed(wider);
        assert_ne!(digest(&wider), digest(&plain));
        assert_eq!(launch(&wider.server), launch(&plain.server));
    }
}

proptest! {
    /// The keys stand in canonical order already, whatever the words are.
    #[test]
    fn plain_json_is_canonical(argv in proptest::collection::vec(any::<String>(), 1..5)) {
        let launch = CanonicalLaunch {
            transport: Transport::Stdio, argv, url: None, variables: BTreeSet::new(), dir: None,
        };
        prop_assert_eq!(canonical_text(&launch.value()), launch.value().to_string());
    }

    #[test]
    fn different_words_differ(a in proptest::collection::vec(any::<String>(), 1..4),
                              b in proptest::collection::vec(any::<String>(), 1..4)) {
        let of = |argv: &[String]| CanonicalLaunch {
            transport: Transport::Stdio, argv: argv.to_vec(), url: None, variables: BTreeSet::new(), dir: None,
        }.digest();
        prop_assert_eq!(a == b, of(&a) == of(&b));
    }
}
