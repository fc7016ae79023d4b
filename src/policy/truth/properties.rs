//! What holds of every policy: one more denied, or a raised floor, starts nothing more.

use super::*;

fn word() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("x"), Just("y")]
}

fn command() -> impl Strategy<Value = Value> {
    let program = prop_oneof![Just("/a"), Just("/b"), Just("/usr/bin/npx")];
    (
        program,
        proptest::collection::vec(word(), 0..3),
        any::<bool>(),
    )
        .prop_map(|(program, words, any)| {
            let mut all = vec![program];
            all.extend(words);
            all.extend(any.then_some("…"));
            json!(all)
        })
}

fn hash() -> impl Strategy<Value = String> {
    prop_oneof![Just("0".repeat(64)), Just("1".repeat(64))]
}

fn host() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("example.com"),
        Just("*.example.com"),
        Just("*.com"),
        Just("xn--bcher-kva.example"),
    ]
}

fn names() -> impl Strategy<Value = Vec<&'static str>> {
    proptest::sample::subsequence(vec!["KEY", "LD_PRELOAD", "PATH"], 0..=3)
}

fn deny_entry() -> impl Strategy<Value = Value> {
    prop_oneof![
        command().prop_map(|command| json!({"command": command})),
        hash().prop_map(|hash| json!({"sha256": hash})),
        (command(), hash()).prop_map(|(command, hash)| json!({"command": command, "sha256": hash})),
        host().prop_map(|host| json!({"host": host})),
    ]
}

fn allow_entry() -> impl Strategy<Value = Value> {
    let bounds = (
        proptest::option::of(names()),
        proptest::option::of(any::<bool>()),
    );
    (deny_entry(), bounds).prop_map(|(mut entry, (env, dir))| {
        if entry.get("host").is_none() {
            if let Some(env) = env {
                entry["env"] = json!(env);
            }
            if let Some(dir) = dir {
                entry["dir"] = json!(dir);
            }
        }
        entry
    })
}

fn floor() -> impl Strategy<Value = Value> {
    let one = prop_oneof![
        Just(json!({"network": "none"})),
        Just(json!({"network": "full"})),
        any::<bool>().prop_map(|pinned| json!({"pinned": pinned})),
        any::<bool>().prop_map(|runners| json!({"runners": runners})),
        (0u32..9).prop_map(|abi| json!({"landlock_abi": abi})),
        Just(json!({"promises": "all"})),
        proptest::sample::subsequence(vec!["P3", "R5"], 0..=2)
            .prop_map(|these| json!({"promises": these})),
    ];
    proptest::collection::vec(one, 0..3).prop_map(|floors| {
        let mut all = serde_json::Map::new();
        for floor in floors {
            all.extend(floor.as_object().unwrap().clone());
        }
        Value::from(all)
    })
}

fn file() -> impl Strategy<Value = Value> {
    let allow = proptest::option::of(proptest::collection::vec(allow_entry(), 0..4));
    let deny = proptest::collection::vec(deny_entry(), 0..3);
    (allow, deny, floor()).prop_map(|(allow, deny, floor)| {
        let mut mcp = json!({"deny": deny, "floor": floor});
        if let Some(allow) = allow {
            mcp["allow"] = json!(allow);
        }
        json!({"mcp": mcp})
    })
}

fn files() -> impl Strategy<Value = Vec<Value>> {
    proptest::collection::vec(file(), 1..4)
}

fn program() -> impl Strategy<Value = Subject> {
    let names = names().prop_map(|names| names.iter().map(|name| name.parse().unwrap()).collect());
    let without = proptest::sample::subsequence(vec![Promise::P3, Promise::R5], 0..=2)
        .prop_map(|without| without.into_iter().collect());
    let runner = proptest::option::of(any::<bool>().prop_map(|exact| RunnerSubject {
        name: "npx".to_owned(),
        exact,
    }));
    let line = (command(), command(), proptest::option::of(hash()));
    let rest = (any::<[bool; 4]>(), 0u32..9);
    (line, (names, without, runner), rest).prop_map(
        |((found, further, sha256), (variables, without, runner), (flags, abi))| {
            let line = |words: Value| {
                let words: Vec<String> = serde_json::from_value(words).unwrap();
                let (program, arguments) = words.split_first().unwrap();
                CommandLine {
                    programs: [program.into()].into(),
                    arguments: arguments.to_vec(),
                }
            };
            let [dir, none, pinned, open] = flags;
            Subject::Program(Box::new(ProgramSubject {
                found: line(found),
                further: vec![line(further)],
                sha256,
                variables,
                open_path: open.then(|| "/home/me/bin".into()),
                dir,
                network: if none { Network::None } else { Network::Full },
                without,
                pinned,
                runner,
                landlock_abi: Some(abi),
            }))
        },
    )
}

fn subject() -> impl Strategy<Value = Subject> {
    let url = prop_oneof![
        Just("https://example.com/mcp"),
        Just("https://a.example.com/"),
        Just("https://a.example.com./"),
        Just("https://xn--bcher-kva.example/"),
        Just("https://me@example.com/"),
        Just("https://example.org/"),
    ];
    prop_oneof![3 => program(), 1 => url.prop_map(|url| Subject::Url(url.to_owned()))]
}

/// Every rule of the files, one file each; a list that is there stays there.
fn split(files: &[Value]) -> Vec<Value> {
    let mut parts = Vec::new();
    for file in files {
        let mcp = &file["mcp"];
        for list in ["allow", "deny"] {
            let Some(entries) = mcp.get(list).and_then(Value::as_array) else {
                continue;
            };
            parts.extend(entries.iter().map(|entry| json!({"mcp": {list: [entry]}})));
            if entries.is_empty() {
                parts.push(json!({"mcp": {list: []}}));
            }
        }
        for (key, floor) in mcp["floor"].as_object().unwrap() {
            parts.push(json!({"mcp": {"floor": {key: floor}}}));
        }
    }
    parts.push(json!({"mcp": {}}));
    parts
}

/// Where every object of a file stands.
fn objects(file: &Value) -> Vec<String> {
    let mut found: Vec<String> = ["", "/mcp", "/mcp/floor"].map(str::to_owned).into();
    for list in ["allow", "deny"] {
        let entries = file["mcp"].get(list).and_then(Value::as_array);
        let count = entries.map_or(0, Vec::len);
        found.extend((0..count).map(|index| format!("/mcp/{list}/{index}")));
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn one_more_denied_starts_nothing(files in files(), entry in deny_entry(), subject in subject()) {
        let mut more = files.clone();
        more.push(json!({"mcp": {"deny": [entry]}}));
        prop_assert!(!allowed(&more, &subject) || allowed(&files, &subject));
    }

    #[test]
    fn one_allowed_less_starts_nothing(mut files in files(), at in any::<prop::sample::Index>(), subject in subject()) {
        let before = allowed(&files, &subject);
        let mut lists: Vec<&mut Vec<Value>> = files
            .iter_mut()
            .filter_map(|file| file["mcp"].get_mut("allow")?.as_array_mut())
            .filter(|list| !list.is_empty())
            .collect();
        if !lists.is_empty() {
            let list = at.get_mut(&mut lists);
            list.remove(at.index(list.len()));
        }
        prop_assert!(!allowed(&files, &subject) || before);
    }

    #[test]
    fn an_allow_list_where_there_was_none_starts_nothing(mut files in files(), entries in proptest::collection::vec(allow_entry(), 0..3), subject in subject()) {
        for file in &mut files {
            file["mcp"].as_object_mut().unwrap().remove("allow");
        }
        // A hash in an entry is a pin, and satisfies the floor that asks for one.
        let pins = files.iter().any(|file| file.pointer("/mcp/floor/pinned") == Some(&json!(true)));
        prop_assume!(!pins || entries.iter().all(|entry| entry.get("sha256").is_none()));
        let mut more = files.clone();
        more.push(json!({"mcp": {"allow": entries}}));
        prop_assert!(!allowed(&more, &subject) || allowed(&files, &subject));
    }

    #[test]
    fn a_tighter_bound_starts_nothing(files in files(), subject in subject()) {
        let mut tighter = files.clone();
        for file in &mut tighter {
            for entry in file["mcp"].get_mut("allow").and_then(Value::as_array_mut).into_iter().flatten() {
                if entry.get("host").is_none() {
                    entry["env"] = json!([]);
                    entry["dir"] = json!(false);
                }
            }
        }
        prop_assert!(!allowed(&tighter, &subject) || allowed(&files, &subject));
    }

    #[test]
    fn a_raised_floor_starts_nothing(files in files(), more in floor(), subject in subject()) {
        let before = allowed(&files, &subject);
        let mut added = files.clone();
        added.push(json!({"mcp": {"floor": more}}));
        prop_assert!(!allowed(&added, &subject) || before);
        let mut raised = files;
        for file in &mut raised {
            let floor = &mut file["mcp"]["floor"];
            floor["network"] = json!("none");
            floor["pinned"] = json!(true);
            floor["runners"] = json!(false);
            floor["promises"] = json!("all");
            floor["landlock_abi"] = json!(floor["landlock_abi"].as_u64().unwrap_or(0) + 1);
        }
        prop_assert!(!allowed(&raised, &subject) || before);
    }

    #[test]
    fn order_and_split_do_not_matter(files in files(), subject in subject(), seed in any::<u64>()) {
        let before = allowed(&files, &subject);
        let mut parts = split(&files);
        prop_assert_eq!(allowed(&parts, &subject), before);
        let length = parts.len();
        parts.sort_by_key(|part| part.to_string().bytes().fold(seed, |hash, byte| hash.rotate_left(5) ^ u64::from(byte)));
        prop_assert_eq!(parts.len(), length);
        prop_assert_eq!(allowed(&parts, &subject), before);
        let reversed: Vec<Value> = files.into_iter().rev().collect();
        prop_assert_eq!(allowed(&reversed, &subject), before);
    }

    #[test]
    fn an_unknown_key_never_passes(file in file(), key in "[a-z$_]{1,12}", at in any::<prop::sample::Index>()) {
        let known = ["allow", "deny", "floor", "mcp", "host", "command", "sha256", "env", "dir", "network",
            "pinned", "runners", "promises", "$comment", "$schema"];
        prop_assume!(!known.contains(&key.as_str()));
        let places = objects(&file);
        let mut file = file;
        file.pointer_mut(&places[at.index(places.len())]).unwrap()[&key] = json!(1);
        prop_assert!(parse(&file.to_string(), Path::new("f"), None).is_err(), "{}", file);
    }

    #[test]
    fn half_a_file_never_passes(file in file(), at in any::<prop::sample::Index>()) {
        let text = file.to_string();
        let end = at.index(text.len());
        if let Some(half) = text.get(..end) {
            prop_assert!(parse(half, Path::new("f"), None).is_err(), "{}", half);
        }
    }
}
