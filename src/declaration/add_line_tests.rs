use secrecy::ExposeSecret;

use super::*;

fn line(words: &str) -> Result<Asked, AddLineError> {
    parse(
        &words
            .split(' ')
            .filter(|word| !word.is_empty())
            .map(OsString::from)
            .collect::<Vec<_>>(),
    )
}

fn add(words: &str) -> AddLine {
    match line(words) {
        Ok(Asked::Add(line)) => *line,
        other => panic!("{words}: {other:?}"),
    }
}

fn stdio(words: &str) -> StdioLine {
    match add(words).target {
        Target::Stdio(stdio) => stdio,
        Target::Http(_) => panic!("{words}: http"),
    }
}

fn stored(line: &StdioLine) -> Vec<(&str, &str)> {
    line.env
        .iter()
        .filter_map(|(name, given)| match given {
            Given::Stored(value) => Some((name.as_str(), value.expose_secret())),
            Given::Ask | Given::Passed => None,
        })
        .collect()
}

#[test]
fn the_line_of_the_readme() {
    let line = add(
        "brave -e BRAVE_API_KEY=k=1 B= -e PATH --dir d --read a --read b --net none -- npx -y x --dir y -- z",
    );
    assert_eq!(
        (line.alias.as_str(), line.inspect, line.json, line.scope),
        ("brave", true, false, None)
    );
    let Target::Stdio(line) = line.target else {
        panic!()
    };
    assert_eq!(stored(&line), [("B", ""), ("BRAVE_API_KEY", "k=1")]);
    assert!(matches!(
        line.env.get(&EnvName::path()),
        Some(Given::Passed)
    ));
    assert_eq!(
        (line.command.as_str(), line.args.join(" ")),
        ("npx", "-y x --dir y -- z".to_owned())
    );
    assert_eq!(
        (line.dir.as_deref(), line.reads.join(" "), line.network),
        (Some("d"), "a b".to_owned(), Network::None)
    );
}

#[test]
fn attached_values_and_lists() {
    let line = stdio(
        "x -eA=1 --env=B=2 C=3 --dir=/d --limit files=64 --limit=memory=1GiB --without P3,R5 --allow pty --pin program -- a",
    );
    assert_eq!(stored(&line), [("A", "1"), ("B", "2"), ("C", "3")]);
    assert_eq!(
        (line.limits.files, line.limits.memory),
        (Some(64), Some(1 << 30))
    );
    assert_eq!(
        (line.without.len(), line.allow.len(), line.pin.len()),
        (2, 1, 1)
    );
    assert!(matches!(
        stdio("x -e A=- -- a").env.values().next(),
        Some(Given::Ask)
    ));
}

#[test]
fn lines_of_other_tools() {
    for words in [
        "-s user x -- a b",
        "x --scope project -t stdio -- a b",
        "--transport=stdio x --stdio -- a b",
    ] {
        assert_eq!(stdio(words).args, ["b"], "{words}");
    }
    for words in [
        "x --http https://e.example/m",
        "-t http x https://e.example/m",
        "x https://e.example/m --transport http",
    ] {
        let Target::Http(http) = add(words).target else {
            panic!("{words}")
        };
        assert_eq!(http.url, "https://e.example/m");
    }
    let line = add("x --http https://e.example -H X-Key=v --bearer-env TOKEN --no-inspect --json");
    assert!(!line.inspect && line.json);
}

#[test]
fn a_line_without_dashes_is_corrected_without_values() {
    for (words, corrected) in [
        (
            "x npx -y pkg --key=sk-1",
            "supervisor add x -- npx -y pkg --key=…",
        ),
        (
            "-s user x -e A=sk-1 --net none npx B=sk-2",
            "supervisor add -s user x -e A=… --net none -- npx B=…",
        ),
        (
            "x https://e.example/?key=sk-1",
            "supervisor add x --http 'https://e.example/?key=…'",
        ),
    ] {
        assert_eq!(
            line(words).unwrap_err(),
            AddLineError::NoDashes {
                corrected: corrected.to_owned()
            }
        );
    }
    let hint = line("x -e A=sk-1 npx -y pkg").unwrap_err().hint();
    assert!(hint.is_some_and(|hint| hint.contains("`--` ends the variables")));
}

/// Every refusal: its code, and that no word of the line with `sk-` is in it.
#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn refusals_repeat_no_key() {
    for (words, code) in [
        ("", "alias-missing"),
        ("-- a", "alias-missing"),
        ("x", "program-missing"),
        ("x --", "program-missing"),
        ("sk-/+= -- a", "alias-invalid"),
        ("x=sk-1 -- a", "alias-invalid"),
        ("K=sk-1 x -- a", "alias-invalid"),
        ("-e K=sk-1 x -- a", "env-before-alias"),
        ("--env sk-1 x -- a", "env-before-alias"),
        ("x -e -- a", "env-word"),
        ("x -e --net none -- a", "env-word"),
        ("x -e sk-1 -- a", "env-word"),
        ("x -e NAME sk-1 -- a", "env-word"),
        ("x -e NAME K=sk-1 -- a", "env-word"),
        ("x -e A=1 sk-1 -- a", "env-word"),
        ("x -e A=1 NAME -- a", "env-word"),
        ("x -e =sk-1 -- a", "env-word"),
        ("x -e 1A=sk-1 -- a", "env-word"),
        ("x -e A-B=sk-1 -- a", "env-word"),
        ("x -eA-B=sk-1 -- a", "env-word"),
        ("x -e KEY:sk-1 -- a", "env-word"),
        ("x -e A=sk-1 A=sk-2 -- a", "env-twice"),
        ("x -e A=sk-1 -e A -- a", "env-twice"),
        ("x -e LD_PRELOAD=sk-1 -- a", "needs-allow-loader-env"),
        ("x -e GCONV_PATH -- a", "needs-allow-loader-env"),
        ("x --token=sk-1 -- a", "unknown-flag"),
        ("x --token sk-1 -- a", "unknown-flag"),
        ("x -z -- a", "unknown-flag"),
        ("x --dir -- a", "flag-value-missing"),
        ("x --http", "flag-value-missing"),
        ("x --dir --net none -- a", "flag-value-missing"),
        ("x --dir K=sk-1 -- a", "flag-value"),
        ("x --dir=K=sk-1 -- a", "flag-value"),
        ("--dir K=sk-1 x -- a", "flag-value"),
        ("x --read K=sk-1 -- a", "flag-value"),
        ("x -s K=sk-1 -- a", "flag-value"),
        ("x -sk-1 -- a", "flag-value"),
        ("x --net sk-1 -- a", "flag-value"),
        ("x --limit memory=sk-1 -- a", "flag-value"),
        ("x --without P1 -- a", "flag-value"),
        ("x -t sse -- a", "flag-value"),
        ("x --no-inspect=sk-1 -- a", "flag-value"),
        ("x --http https://e.example --header sk-1", "flag-value"),
        (
            "x --http https://e.example --bearer-env sk-1!",
            "flag-value",
        ),
        ("x --http https://me:sk-1@e.example", "url-refused"),
        ("x --http sk-1", "url-refused"),
        ("-t http x sk-1", "url-refused"),
        ("x --dir a --dir b -- a", "flag-twice"),
        (
            "x --http https://a.example --http https://b.example",
            "flag-twice",
        ),
        (
            "x --http https://a.example -H A=sk-1 -H a=sk-2",
            "flag-twice",
        ),
        ("x --http https://a.example -e A=sk-1", "not-for-http"),
        ("x --dir . --http https://a.example", "not-for-http"),
        ("x --http https://a.example --stdio", "not-for-http"),
        ("x --http https://a.example -t stdio", "not-for-http"),
        ("x --header A=sk-1 -- a", "only-for-http"),
        ("x --http https://a.example -- a", "url-and-program"),
        ("-t http x", "url-missing"),
        ("x sk-1 -- a", "stray-word"),
        ("x --dir . K=sk-1 -- a", "stray-word"),
        ("x - -- a", "stray-word"),
        ("x -- docker run -i img", "container-engine"),
        (
            "x -- /usr/bin/podman --log-level debug container run img",
            "container-engine",
        ),
    ] {
        let error = line(words).map(|_| ()).expect_err(words);
        assert_eq!(error.code(), code, "{words}: {error}");
        assert_eq!(error.exit_code(), 2);
        let said = format!("{error} {error:?} {:?}", error.hint());
        assert!(!said.contains("sk-"), "{words}: {said}");
        assert!(
            error
                .hint()
                .is_some_and(|hint| hint.starts_with("supervisor add")),
            "{words}"
        );
    }
    assert!(matches!(line("x -- docker ps"), Ok(Asked::Add(_))));
}

#[test]
fn the_place_is_the_words_own() {
    assert_eq!(
        line("x -e A=1 B=2 sk-1 -- a").unwrap_err(),
        AddLineError::EnvWord {
            place: 5,
            alone: false,
            dashes: true
        }
    );
    let words: Vec<OsString> = vec![
        "x".into(),
        "--".into(),
        "a".into(),
        std::os::unix::ffi::OsStringExt::from_vec(vec![0xff]),
    ];
    assert_eq!(
        parse(&words).unwrap_err(),
        AddLineError::NotUtf8 { place: 4 }
    );
}

#[test]
fn help_before_the_dashes_only() {
    assert!(matches!(line("x --help"), Ok(Asked::Help)));
    assert!(matches!(line("-h"), Ok(Asked::Help)));
    assert_eq!(stdio("x -- a --help").args, ["--help"]);
}

#[test]
fn loader_variables_with_a_yes() {
    assert_eq!(
        stdio("x -e LD_PRELOAD=/a.so --allow loader-env -- a")
            .allow
            .len(),
        1
    );
    assert_eq!(
        stdio("x --allow-loader-env -e LD_PRELOAD=/a.so -- a")
            .allow
            .len(),
        1
    );
}

proptest::proptest! {
    /// Whatever the words are, all after the bare `--` is the server's, word for word.
    #[test]
    fn argv_is_never_read(args in proptest::collection::vec(proptest::prelude::any::<String>(), 0..6)) {
        let mut words: Vec<OsString> = ["x", "-e", "A=1", "--", "/bin/a"].map(OsString::from).to_vec();
        words.extend(args.iter().map(OsString::from));
        let Ok(Asked::Add(line)) = parse(&words) else { panic!() };
        let Target::Stdio(line) = line.target else { panic!() };
        proptest::prop_assert_eq!(line.args, args);
    }

    /// Whatever the words are, reading them ends, and an error holds none that may be a key.
    #[test]
    fn any_words(words in proptest::collection::vec("(-e|--dir|--|x|--http|-t|SECRET[=/@ ]{0,2}|A=SECRET|[a-z-]{0,4})", 0..8)) {
        let dashes = words.iter().any(|word| word == "--");
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        if let Err(error) = parse(&words) && dashes {
            let said = format!("{error}{:?}", error.hint());
            // A name given twice is a readable word.
            let twice = matches!(error, AddLineError::EnvTwice { .. });
            proptest::prop_assert!(twice || !said.contains("SECRET"));
        }
    }
}
