//! What an interpreter is given to run, by its arguments. Pure.

use std::path::Path;

/// What runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given<'a> {
    /// A file, as written.
    Script(&'a str),
    /// A module that the interpreter looks for (`python -m`).
    Module(&'a str),
    /// What stands in the arguments themselves (`sh -c`, `node -e`).
    Commands,
}

/// What the flags of an interpreter mean.
struct Words {
    /// Words that stand before the script (`deno run`).
    verb: Option<&'static str>,
    /// Flags that take the next word.
    takes: &'static [&'static str],
    /// Flags after which a module is named.
    module: &'static [&'static str],
    /// Flags after which commands stand.
    commands: &'static [&'static str],
    /// Flags after which there is neither.
    ends: &'static [&'static str],
    /// Whether several flags of one letter may stand in one word (`sh -lc`).
    joined: bool,
}

const NODE: Words = Words {
    verb: None,
    takes: &[
        "-r",
        "--require",
        "--import",
        "--loader",
        "--experimental-loader",
        "-C",
        "--conditions",
        "--env-file",
        "--env-file-if-exists",
        "--input-type",
        "--icu-data-dir",
        "--openssl-config",
        "--title",
        "--stack-trace-limit",
        "--tsconfig",
        "-P",
        "--project",
    ],
    module: &[],
    commands: &["-e", "--eval", "-p", "--print", "-pe"],
    ends: &["--run", "-"],
    joined: false,
};
const PYTHON: Words = Words {
    verb: None,
    takes: &["-W", "-X", "--check-hash-based-pycs"],
    module: &["-m"],
    commands: &["-c"],
    ends: &["-"],
    joined: true,
};
const SHELL: Words = Words {
    verb: None,
    takes: &["-o", "+o", "-O", "+O", "--rcfile", "--init-file"],
    module: &[],
    commands: &["-c"],
    ends: &["-s", "-"],
    joined: true,
};
const RUBY: Words = Words {
    verb: None,
    takes: &["-r", "-I", "-C", "-E", "--encoding"],
    module: &[],
    commands: &["-e"],
    ends: &["-"],
    joined: false,
};
const PERL: Words = Words {
    verb: None,
    takes: &[],
    module: &[],
    commands: &["-e", "-E"],
    ends: &["-"],
    joined: false,
};
const PHP: Words = Words {
    verb: None,
    takes: &["-c", "-d", "-z"],
    module: &[],
    commands: &["-r", "-B", "-R"],
    ends: &["-S", "-"],
    joined: false,
};
const DENO: Words = Words {
    verb: Some("run"),
    takes: &[
        "-c",
        "--config",
        "--import-map",
        "--lock",
        "--cert",
        "--env-file",
        "-L",
        "--log-level",
        "--seed",
        "--location",
    ],
    module: &[],
    commands: &[],
    ends: &["-"],
    joined: false,
};
const BUN: Words = Words {
    verb: Some("run"),
    takes: &["-r", "--preload", "-c", "--config", "--cwd", "--env-file"],
    module: &[],
    commands: &["-e", "--eval"],
    ends: &["-"],
    joined: false,
};
const UV: Words = Words {
    verb: Some("run"),
    takes: &[
        "--directory",
        "--project",
        "--with",
        "--with-editable",
        "--with-requirements",
        "--python",
        "-p",
        "--extra",
        "--group",
        "--env-file",
        "--cache-dir",
        "--config-file",
        "--index",
        "--default-index",
        "--index-url",
        "--package",
        "-C",
    ],
    module: &["-m", "--module"],
    commands: &[],
    ends: &["-"],
    joined: false,
};
const JAVA: Words = Words {
    verb: None,
    takes: &["-cp", "-classpath", "--class-path", "-p", "--module-path"],
    module: &["-m", "--module"],
    commands: &[],
    ends: &[],
    joined: false,
};
const DOTNET: Words = Words {
    verb: None,
    takes: &[
        "--roll-forward",
        "--additionalprobingpath",
        "--depsfile",
        "--runtimeconfig",
    ],
    module: &[],
    commands: &[],
    ends: &["run"],
    joined: false,
};
const OTHER: Words = Words {
    verb: None,
    takes: &[],
    module: &[],
    commands: &["-e"],
    ends: &["-"],
    joined: false,
};

const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "ash"];

/// What is known of an interpreter, by the name of its program; versions are no matter.
fn words(program: &str) -> Option<&'static Words> {
    Some(match without_version(program) {
        shell if SHELLS.contains(&shell) => &SHELL,
        "node" | "nodejs" | "tsx" | "ts-node" => &NODE,
        "python" | "pypy" => &PYTHON,
        "ruby" => &RUBY,
        "perl" => &PERL,
        "php" => &PHP,
        "deno" => &DENO,
        "bun" => &BUN,
        "uv" => &UV,
        "java" => &JAVA,
        "dotnet" => &DOTNET,
        "lua" | "luajit" | "Rscript" | "julia" | "guile" | "tclsh" | "escript" | "fish"
        | "pwsh" => &OTHER,
        _ => return None,
    })
}

/// What a command gives an interpreter to run. Nothing where the program is no known interpreter, or
/// its arguments do not say.
#[must_use]
pub(crate) fn given<'a>(command: &str, args: &'a [String]) -> Option<Given<'a>> {
    let known = words(name(command)?)?;
    let mut args = args.iter().map(String::as_str);
    let mut verb = known.verb;
    while let Some(word) = args.next() {
        let is = |flags: &[&str]| flags.contains(&word) || (known.joined && ends_in(word, flags));
        if is(known.module) {
            return args.next().map(Given::Module);
        }
        if is(known.commands) {
            return args.next().map(|_| Given::Commands);
        }
        if known.ends.contains(&word) {
            return None;
        }
        if known.takes.contains(&word) {
            args.next();
        } else if verb.is_some_and(|verb| verb == word) {
            verb = None;
        } else if word == "-jar" {
            return args.next().map(Given::Script);
        } else if !word.starts_with('-') {
            return Some(Given::Script(word));
        }
    }
    None
}

/// Whether the last of several flags in one word is one of these; those before it stand alone.
fn ends_in(word: &str, flags: &[&str]) -> bool {
    let letters = word.strip_prefix('-').unwrap_or_default();
    let all = letters.bytes().all(|byte| byte.is_ascii_alphabetic());
    let last = |flag: &&str| {
        flag.strip_prefix('-')
            .is_some_and(|flag| letters.ends_with(flag))
    };
    all && letters.len() > 1 && flags.iter().any(last)
}

fn without_version(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

/// The name that a program goes by.
fn name(command: &str) -> Option<&str> {
    Path::new(command).file_name()?.to_str()
}

/// Whether what it is given are commands of a shell.
#[must_use]
pub(crate) fn is_shell(command: &str) -> bool {
    name(command).is_some_and(|name| SHELLS.contains(&without_version(name)))
}

/// The script that a command gives to an interpreter, where it is named by an absolute path.
#[must_use]
pub(crate) fn script<'a>(command: &str, args: &'a [String]) -> Option<&'a str> {
    match given(command, args) {
        Some(Given::Script(script)) if script.starts_with('/') => Some(script),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_interpreters() {
        for (line, expected) in [
            ("node /x/index.js --flag /y", Some("/x/index.js")),
            (
                "/usr/bin/node --require /x/hook.js --enable-source-maps /x/index.js",
                Some("/x/index.js"),
            ),
            ("node --env-file=/x/.env /y/index.js", Some("/y/index.js")),
            ("node --env-file /x/.env /y/index.js", Some("/y/index.js")),
            ("node -e /x", None),
            ("node index.js /x/y", None),
            ("python3.11 -u -W ignore /x/server.py", Some("/x/server.py")),
            ("python -m pkg /x/file", None),
            ("python3 -c pass /x/file", None),
            ("sh -c exec /x/file", None),
            ("bash /x/run.sh", Some("/x/run.sh")),
            (
                "deno run -A --config /c.json /x/main.ts",
                Some("/x/main.ts"),
            ),
            ("bun /x/main.ts", Some("/x/main.ts")),
            ("bun run /x/main.ts", Some("/x/main.ts")),
            ("uv --directory /d run /x/server.py", Some("/x/server.py")),
            ("uv run --with mcp server.py", None),
            ("java -jar /x/server.jar", Some("/x/server.jar")),
            ("java -cp /x Main", None),
            ("perl /x/s.pl", Some("/x/s.pl")),
            ("npx /x/s.js", None),
            ("node", None),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(script(&words[0], &words[1..]), expected, "{line}");
        }
    }

    #[test]
    fn what_interpreters_are_given() {
        for (line, expected) in [
            (
                "python3 -m pkg.server --x",
                Some(Given::Module("pkg.server")),
            ),
            ("/v/bin/python -um pkg", Some(Given::Module("pkg"))),
            (
                "python -X dev -I server.py",
                Some(Given::Script("server.py")),
            ),
            ("python -c pass", Some(Given::Commands)),
            ("python -m", None),
            ("python", None),
            ("sh -c exec", Some(Given::Commands)),
            ("bash -lc exec", Some(Given::Commands)),
            (
                "bash --noprofile -o pipefail -ec exec",
                Some(Given::Commands),
            ),
            ("bash --rcfile run.sh", None),
            ("bash run.sh", Some(Given::Script("run.sh"))),
            ("node --eval code", Some(Given::Commands)),
            ("node dist/index.js", Some(Given::Script("dist/index.js"))),
            ("node --run start", None),
            ("java -m a.b/Main", Some(Given::Module("a.b/Main"))),
            ("cat file", None),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(given(&words[0], &words[1..]), expected, "{line}");
        }
        assert!(is_shell("/bin/bash") && !is_shell("python3") && !is_shell("cat"));
    }
}
