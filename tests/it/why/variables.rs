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
