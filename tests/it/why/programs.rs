//! Programs that it starts or builds: version managers, PATH, compilers and their headers.

use super::*;

/// gcc looks for its parts from where its PATH found it.
#[test]
fn a_native_build_without_a_path() {
    let context = TestContext::ordinary();
    let build = "import subprocess\nopen('x.c', 'w').write('int x;')\n\
                 subprocess.run(['gcc', '-c', 'x.c'], check=True)";
    python(&context, &[], build);
    granted(&context, "variable", "PATH", &["-e", "PATH"]);
}

#[test]
fn a_native_build_without_headers() {
    let context = TestContext::ordinary();
    let build = "import subprocess\nopen(os.environ['TMPDIR'] + '/x.c', 'w').write('#include <nowhere_at_all.h>')\n\
                 subprocess.run(['gcc', '-c', os.environ['TMPDIR'] + '/x.c'], check=True)";
    python(&context, &["-e", "PATH"], build);
    refused(&context, "build", "the header nowhere_at_all.h");
}

#[test]
fn headers_that_lie_elsewhere() {
    let context = TestContext::ordinary();
    let include = context.make_directory("outside/include");
    context.make_file("outside/include/here.h", "int x;\n");
    let include = text(&include);
    let build = format!(
        "import subprocess\nos.chdir(os.environ['TMPDIR'])\nopen('x.c', 'w').write('#include <here.h>')\n\
         subprocess.run(['gcc', '-c', '-I{include}', 'x.c'], check=True)"
    );
    python(&context, &["-e", "PATH"], &build);
    granted(&context, "path", &include, &["--read", &include]);
}

#[test]
fn headers_of_node() {
    let context = TestContext::ordinary();
    let build = "if os.environ.get('npm_config_nodedir') != '/usr':\n    \
                 sys.exit('gyp ERR! stack Error: getaddrinfo EAI_AGAIN nodejs.org')";
    python(&context, &["-e", "PATH"], build);
    if Path::new("/usr/include/node/node_version.h").exists() {
        let flags = ["-e", "npm_config_nodedir=/usr"];
        granted(&context, "build", "the headers of Node", &flags);
    } else {
        refused(&context, "build", "the headers of Node");
    }
}

#[test]
fn a_shim_of_a_version_manager() {
    let context = TestContext::ordinary();
    for directory in [
        "home/.asdf",
        "home/.asdf/shims",
        "home/.asdf/installs",
        "home/.asdf/bin",
    ] {
        context.make_directory(directory);
    }
    // As asdf does it: which version is in a file of the home.
    let shim = "#!/bin/sh\nversion=$(cat \"$HOME/.tool-versions\" 2>/dev/null)\n\
                [ -n \"$version\" ] || { echo 'No version is set for command tool' >&2; exit 126; }\n\
                exec /usr/bin/python3 \"$@\"\n";
    let program = context.make_file("home/.asdf/shims/tool", shim);
    executable(&program);
    let versions = text(&context.make_file("home/.tool-versions", "tool 1\n"));
    context.make_directory("servers");
    let server = text(&context.make_file("servers/x.py", &format!("{SERVE}\nserve()\n")));
    let wrapper = text(&context.make_file("servers/x.sh", &format!("exec tool {server}\n")));
    let path = format!(
        "PATH={}:/usr/bin:/bin",
        context.path("home/.asdf/shims").display()
    );
    context.approved("x", &["-e", &path], &["/bin/sh", &wrapper, &server]);
    // It may read that file where it is; it looks for it in its own HOME.
    granted(&context, "path", &versions, &["-e", "HOME"]);
}

#[test]
fn a_program_that_is_not_on_its_path() {
    let context = TestContext::ordinary();
    context.make_directory("outside/bin");
    let tool = context.make_file("outside/bin/frobnicate", "#!/bin/sh\nexit 0\n");
    executable(&tool);
    let tool = text(&tool);
    python(
        &context,
        &["-e", "PATH=/usr/bin:/bin"],
        &format!("import subprocess\nsubprocess.run(['{tool}'], check=True)"),
    );
    let path = format!(
        "PATH=/usr/bin:/bin:{}",
        context.path("outside/bin").display()
    );
    granted(&context, "program", &tool, &["-e", &path]);
}

/// rustup's kind of shim looks for a file, and says nothing of where.
#[test]
fn a_shim_that_only_looks() {
    let context = TestContext::ordinary();
    context.make_directory("home/.tool");
    let file = text(&context.make_file("home/.tool/settings.toml", "x"));
    python(
        &context,
        &[],
        "os.path.exists(os.path.expanduser('~/.tool/settings.toml')) or sys.exit('no version is chosen')",
    );
    granted(&context, "path", &file, &["-e", "HOME", "--read", &file]);
}

/// A package in an environment that makes its own program executable at its first start.
#[test]
fn a_program_that_may_not_be_executed_yet_is_named_with_what_mends_it() {
    let context = TestContext::ordinary();
    for directory in [
        "servers",
        "servers/venv",
        "servers/venv/bin",
        "servers/venv/lib",
    ] {
        context.make_directory(directory);
    }
    context.make_file("servers/venv/pyvenv.cfg", "home = /usr/bin\n");
    let python = context.path("servers/venv/bin/python");
    std::os::unix::fs::symlink("/usr/bin/python3", &python).unwrap();
    let tool = context.make_file("servers/venv/lib/tool", "#!/bin/sh\n");
    let tool = tool.to_str().unwrap();
    let script = format!(
        "{SERVE}\nif not os.access('{tool}', os.X_OK): os.chmod('{tool}', 0o755)\nserve()\n"
    );
    let script = context.make_file("servers/venv/lib/x.py", &script);
    let argv = [python.to_str().unwrap(), script.to_str().unwrap()];
    context.approved("x", &[], &argv);
    let report = why(&context);
    let findings = report["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["what"] == tool);
    let first = format!("chmod +x {tool}");
    assert_eq!(found.unwrap()["first"], first.as_str(), "{report}");
    assert!(!works(&context));
    let mended = context
        .command("/bin/sh")
        .args(["-c", &first])
        .status()
        .unwrap();
    assert!(mended.success());
    assert!(works(&context));
}

/// As Go says it of a program that it looks for by its name: on the person's PATH, then on nobody's.
#[test]
fn a_program_that_go_does_not_find() {
    let context = TestContext::ordinary();
    context.make_directory("outside/bin");
    let tool = context.make_file("outside/bin/frobnicate", "#!/bin/sh\nexit 0\n");
    executable(&tool);
    let first = "import shutil\nshutil.which('frobnicate') or \
                 sys.exit('exec: \"frobnicate\": executable file not found in $PATH')";
    python(&context, &["-e", "PATH=/usr/bin:/bin"], first);
    assert!(!works(&context));
    let bin = text(&context.path("outside/bin"));
    let mut why = context.supervisor(&["why", "x", "--json"]);
    let output = why.env("PATH", format!("/usr/bin:/bin:{bin}")).output();
    let report = schema::check(&stdout(&output.unwrap()));
    let flags = vec!["-e".to_owned(), format!("PATH=/usr/bin:/bin:{bin}")];
    let want = ("program".to_owned(), text(&tool), flags);
    assert_eq!(causes(&report), [want], "{report:#}");
    give(&context, &report);
    let context = TestContext::ordinary();
    python(&context, &["-e", "PATH=/usr/bin:/bin"], first);
    let report = refused(&context, "program", "frobnicate");
    assert_eq!(report["findings"][0]["ours"], json!(false));
}
