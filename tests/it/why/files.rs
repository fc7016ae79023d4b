//! What it reads and writes: caches, settings, homes, modules; what fails outside too.

use super::*;

#[test]
fn a_cache_directory_that_the_private_home_lacks() {
    let context = TestContext::ordinary();
    python(&context, &[], "os.mkdir(os.path.expanduser('~/.cache/x'))");
    assert!(!works(&context));
    let report = why(&context);
    let found = causes(&report);
    assert!(
        found.len() == 1 && found[0].1.ends_with("/.cache") && found[0].2.is_empty(),
        "{report:#}"
    );
    // Nothing is granted: the directory is made.
    let first = report["findings"][0]["first"].as_str().unwrap();
    let mut shell = context.command("/bin/sh");
    assert!(shell.args(["-c", first]).status().unwrap().success());
    assert!(works(&context));
}

#[test]
fn a_cache_directory_elsewhere() {
    let context = TestContext::ordinary();
    let cache = text(&context.make_directory("outside/cache"));
    python(
        &context,
        &[],
        &format!("open('{cache}/index', 'w').write('x')"),
    );
    let what = format!("{cache}/index");
    granted(&context, "path", &what, &["--dir", &cache]);
}

#[test]
fn a_cache_directory_elsewhere_that_is_missing() {
    let context = TestContext::ordinary();
    let cache = text(&context.path("outside/cache"));
    python(
        &context,
        &[],
        &format!("os.path.isdir('{cache}') or os.mkdir('{cache}')"),
    );
    assert!(!works(&context));
    let report = why(&context);
    assert_eq!(
        causes(&report),
        [(
            "path".to_owned(),
            cache.clone(),
            vec!["--dir".to_owned(), cache.clone()]
        )],
        "{report:#}"
    );
    give(&context, &report);
}

#[test]
fn a_file_of_its_configuration() {
    let context = TestContext::ordinary();
    let file = text(&context.make_file("outside/config.toml", "x"));
    context.make_file("outside/secret", "x");
    python(&context, &[], &format!("open('{file}')"));
    granted(&context, "path", &file, &["--read", &file]);
}

#[test]
fn a_configuration_in_the_real_home() {
    let context = TestContext::ordinary();
    context.make_directory("home/.config");
    let file = text(&context.make_file("home/.config/x.json", "{}"));
    python(
        &context,
        &[],
        "open(os.path.expanduser('~/.config/x.json'))",
    );
    let flags = ["-e", "HOME", "--read", &file];
    let report = granted(&context, "path", &file, &flags);
    let copy = report["findings"][0]["first"].as_str().unwrap();
    assert!(
        copy.starts_with("mkdir -p ") && copy.contains(&format!("cp {file} ")),
        "{copy}"
    );
}

#[test]
fn a_configuration_in_the_real_home_of_a_server_that_keeps_files() {
    let context = TestContext::ordinary();
    context.make_directory("home/.config");
    let file = text(&context.make_file("home/.config/x.json", "{}"));
    python(
        &context,
        &[],
        "os.makedirs(os.path.expanduser('~/.x'), exist_ok=True)\nopen(os.path.expanduser('~/.config/x.json'))",
    );
    let report = refused(&context, "path", &file);
    let copy = report["findings"][0]["first"].as_str().unwrap();
    let mut shell = context.command("/bin/sh");
    assert!(shell.args(["-c", copy]).status().unwrap().success());
    assert!(works(&context));
}

/// Nobody has it: where it is looked for is told, in whatever words the server names it.
#[test]
fn a_configuration_that_is_nowhere() {
    for named in [
        "path",
        "'no configuration at ~/.config/weather/config.json'",
    ] {
        let context = TestContext::ordinary();
        let first = format!(
            "path = os.path.expanduser('~/.config/weather/config.json')\n\
             try: open(path)\nexcept OSError: sys.exit({named})"
        );
        python(&context, &[], &first);
        assert!(!works(&context));
        let report = why(&context);
        let finding = &report["findings"][0];
        let inside = finding["what"].as_str().unwrap();
        assert!(
            inside.ends_with("/.config/weather/config.json"),
            "{report:#}"
        );
        assert_eq!(causes(&report).len(), 1, "{report:#}");
        assert_eq!(
            (&finding["ours"], &finding["flags"]),
            (&json!(false), &json!([])),
            "{report:#}"
        );
        // As it says: put there, it stays.
        let file = Path::new(inside);
        let private = context.path("home/.supervisor/home");
        let below = file.strip_prefix(&private).unwrap();
        context.make_directory(&format!(
            "home/.supervisor/home/{}",
            below.parent().unwrap().parent().unwrap().display()
        ));
        context.make_directory(&format!(
            "home/.supervisor/home/{}",
            below.parent().unwrap().display()
        ));
        context.make_file(&format!("home/.supervisor/home/{}", below.display()), "{}");
        assert!(works(&context), "{report:#}");
    }
}

#[test]
fn modules_beside_its_script() {
    let context = TestContext::ordinary();
    let servers = text(&context.make_directory("servers"));
    context.make_directory("servers/own");
    context.make_file("servers/own/__init__.py", "");
    python(&context, &[], "import own");
    granted(&context, "path", &servers, &["--read", &servers]);
}

#[test]
fn what_fails_outside_too_is_not_ours() {
    let context = TestContext::ordinary();
    python(&context, &[], "open('/nowhere/at/all')");
    let report = refused(&context, "path", "/nowhere/at/all");
    assert_eq!(report["findings"][0]["ours"], json!(false));
    let context = TestContext::ordinary();
    python(&context, &[], "open('/etc/shadow')");
    refused(&context, "path", "/etc/shadow");
    let context = TestContext::ordinary();
    let connect = "import socket\nsocket.socket(socket.AF_UNIX).connect('/run/nobody/at.sock')";
    python(&context, &[], connect);
    refused(&context, "socket", "/run/nobody/at.sock");
}
