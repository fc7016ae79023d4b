//! Variables: named, not named, in its script, its arguments, its program; certificates.

use super::*;

#[test]
fn a_variable_that_it_names() {
    let context = TestContext::ordinary();
    python(&context, &[], "os.environ['WEATHER_API_KEY']");
    granted(
        &context,
        "variable",
        "WEATHER_API_KEY",
        &["-e", "WEATHER_API_KEY=-"],
    );
    let context = TestContext::ordinary();
    let shell = "#!/bin/sh\nset -u\necho \"$TOKEN\" >/dev/null\nexec /usr/bin/python3 \"$1\"\n";
    context.make_directory("servers");
    let script = text(&context.make_file("servers/x.sh", shell));
    let server = text(&context.make_file("servers/x.py", &format!("{SERVE}\nserve()\n")));
    context.approved("x", &[], &["/bin/sh", &script, &server]);
    granted(&context, "variable", "TOKEN", &["-e", "TOKEN=-"]);
}

#[test]
fn a_variable_that_it_does_not_name() {
    let context = TestContext::ordinary();
    python(&context, &[], "os.environ.get('SECRET_KEY') or sys.exit(3)");
    let output = context
        .supervisor(&["why", "x", "--json"])
        .env("SECRET_KEY", "hunter2")
        .output()
        .unwrap();
    let said = stdout(&output);
    assert!(!said.contains("hunter2"));
    let report = schema::check(&said);
    let want = (
        "variable".to_owned(),
        "SECRET_KEY".to_owned(),
        vec!["-e".to_owned(), "SECRET_KEY".to_owned()],
    );
    assert_eq!(causes(&report), [want], "{report:#}");
}

/// Its name stands in the arguments alone, as it does in a program that is no script.
#[test]
fn a_variable_that_its_arguments_name() {
    let context = TestContext::ordinary();
    context.make_directory("servers");
    let script = format!("{SERVE}\nos.environ.get(sys.argv[1]) or sys.exit(3)\nserve()\n");
    let script = context.make_file("servers/x.py", &script);
    let argv = ["/usr/bin/python3", script.to_str().unwrap(), "WEATHER_KEY"];
    context.approved("x", &[], &argv);
    let mut why = context.supervisor(&["why", "x", "--json"]);
    let output = why.env("WEATHER_KEY", "hunter2").output().unwrap();
    let report = schema::check(&stdout(&output));
    let want = (
        "variable".to_owned(),
        "WEATHER_KEY".to_owned(),
        vec!["-e".to_owned(), "WEATHER_KEY".to_owned()],
    );
    assert_eq!(causes(&report), [want], "{report:#}");
}

/// What Rust says at a panic names a variable that nobody lacks.
#[test]
fn advice_on_a_panic_is_no_cause() {
    let context = TestContext::ordinary();
    let words = "called `Result::unwrap()` on an `Err` value: Os { code: 2, kind: NotFound }\\n\
                 note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace";
    let file = text(&context.make_file("outside/settings", "x"));
    let first = format!("try:\n  open('{file}')\nexcept OSError:\n  sys.exit('{words}')");
    python(&context, &[], &first);
    granted(&context, "path", &file, &["--read", &file]);
}

#[test]
fn certificates_in_a_file_of_the_persons() {
    let context = TestContext::ordinary();
    let file = text(&context.make_file("outside/roots.pem", "not read as such"));
    python(&context, &[], &format!("open('{file}')"));
    granted(&context, "path", &file, &["--read", &file]);
}

#[test]
fn certificates_that_a_variable_names() {
    let context = TestContext::ordinary();
    let file = text(&context.make_file("outside/roots.pem", "x"));
    let first = "try:\n    open(os.environ.get('SSL_CERT_FILE', '/nowhere'))\nexcept OSError:\n    \
                 sys.exit('ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed')";
    python(&context, &[], first);
    let output = context
        .supervisor(&["why", "x", "--json"])
        .env("SSL_CERT_FILE", &file)
        .output()
        .unwrap();
    let report = schema::check(&stdout(&output));
    let flags = vec!["-e".to_owned(), format!("SSL_CERT_FILE={file}")];
    let want = ("certificates".to_owned(), "certificates".to_owned(), flags);
    assert_eq!(causes(&report), [want], "{report:#}");
    give(&context, &report);
}

/// The server is a program of Rust that ends as such do: by `unwrap`, by `expect` with the name, by
/// printing the error. Its name stands in the program.
#[test]
fn a_variable_that_rust_does_not_find() {
    let program = TestContext::program("fixture-server");
    for how in ["unwrap", "expect", "display"] {
        let context = TestContext::ordinary();
        context.approved("x", &[], &[&program, "need", how]);
        assert!(!works(&context));
        let mut why = context.supervisor(&["why", "x", "--json"]);
        let output = why.env("FIXTURE_API_KEY", "hunter2").output().unwrap();
        assert!(!stdout(&output).contains("hunter2"));
        let report = schema::check(&stdout(&output));
        let want = (
            "variable".to_owned(),
            "FIXTURE_API_KEY".to_owned(),
            vec!["-e".to_owned(), "FIXTURE_API_KEY".to_owned()],
        );
        assert_eq!(causes(&report), [want], "{how} {report:#}");
    }
}

/// Where none that it holds the name of is set, only who wrote it knows; with the name, `-e` brings it.
#[test]
fn a_variable_that_rust_does_not_name() {
    let program = TestContext::program("fixture-server");
    for how in ["unwrap", "display"] {
        let context = TestContext::ordinary();
        context.approved("x", &[], &[&program, "need", how]);
        let report = refused(&context, "variable", "one that it does not name");
        assert_eq!(report["findings"][0]["promise"], "E1");
    }
    let context = TestContext::ordinary();
    context.approved("x", &[], &[&program, "need", "expect"]);
    let flags = ["-e", "FIXTURE_API_KEY=-"];
    granted(&context, "variable", "FIXTURE_API_KEY", &flags);
}

/// Rust has one word for a file that is not there and another for a variable.
#[test]
fn a_file_that_rust_does_not_find() {
    let context = TestContext::ordinary();
    let file = text(&context.make_file("outside/settings.toml", "x"));
    let words = "called `Result::unwrap()` on an `Err` value: Os { code: 2, kind: NotFound, message: \"No such file or directory\" }";
    let first = format!("try:\n  open('{file}')\nexcept OSError:\n  sys.exit('{words}')");
    python(&context, &[], &first);
    granted(&context, "path", &file, &["--read", &file]);
    // The file of variables that it looks for where it starts.
    let context = TestContext::ordinary();
    let words = "called `Result::unwrap()` on an `Err` value: Io(Custom { kind: NotFound, error: \"path not found\" })";
    let first = format!("os.path.exists('.env') or sys.exit('{words}')");
    python(&context, &[], &first);
    let report = refused(&context, "variable", "what a file .env would set");
    let note = report["findings"][0]["note"].as_str().unwrap();
    assert!(note.contains("-e NAME"), "{note}");
}

/// Settings read by a library that names the field, or the variable in a line of its own.
#[test]
fn a_variable_behind_a_field() {
    for words in [
        "Error: missing value for field weather_key",
        "ValidationError: 1 validation error for Settings\\nweather_key\\n  Field required [type=missing]",
        "ZodError: [{\\n  \"received\": \"undefined\",\\n  \"path\": [\\n    \"WEATHER_KEY\"\\n  ]\\n}]",
    ] {
        let context = TestContext::ordinary();
        let first = format!("os.environ.get('WEATHER_' + 'KEY') or sys.exit('{words}')");
        python(&context, &[], &first);
        let flags = ["-e", "WEATHER_KEY=-"];
        granted(&context, "variable", "WEATHER_KEY", &flags);
    }
}
