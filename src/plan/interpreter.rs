//! Which argument of an interpreter is the script it runs. Pure.

use std::path::Path;

/// Flags that take the next word, by interpreter, and flags after which there is no script.
struct Words {
    /// Words that stand before the script (`deno run`).
    verb: Option<&'static str>,
    takes: &'static [&'static str],
    ends: &'static [&'static str],
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
    ends: &["-e", "--eval", "-p", "--print", "-pe", "--run", "-"],
};
const PYTHON: Words = Words {
    verb: None,
    takes: &["-W", "-X", "--check-hash-based-pycs"],
    ends: &["-c", "-m", "-"],
};
const SHELL: Words = Words {
    verb: None,
    takes: &["-o", "+o", "-O", "+O", "--rcfile", "--init-file"],
    ends: &["-c", "-s", "-"],
};
const RUBY: Words = Words {
    verb: None,
    takes: &["-r", "-I", "-C", "-E", "--encoding"],
    ends: &["-e", "-"],
};
const PERL: Words = Words {
    verb: None,
    takes: &[],
    ends: &["-e", "-E", "-"],
};
const PHP: Words = Words {
    verb: None,
    takes: &["-c", "-d", "-z"],
    ends: &["-r", "-B", "-R", "-S", "-"],
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
    ends: &["-"],
};
const BUN: Words = Words {
    verb: Some("run"),
    takes: &["-r", "--preload", "-c", "--config", "--cwd", "--env-file"],
    ends: &["-e", "--eval", "-"],
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
    ends: &["-m", "--module", "-"],
};
const JAVA: Words = Words {
    verb: None,
    takes: &["-cp", "-classpath", "--class-path", "-p", "--module-path"],
    ends: &[],
};
const DOTNET: Words = Words {
    verb: None,
    takes: &[
        "--roll-forward",
        "--additionalprobingpath",
        "--depsfile",
        "--runtimeconfig",
    ],
    ends: &["run"],
};
const OTHER: Words = Words {
    verb: None,
    takes: &[],
    ends: &["-e", "-"],
};

/// What is known of an interpreter, by the name of its program; versions are no matter.
fn words(program: &str) -> Option<&'static Words> {
    let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    Some(match name {
        "node" | "nodejs" | "tsx" | "ts-node" => &NODE,
        "python" | "pypy" => &PYTHON,
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" => &SHELL,
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

/// The script that a command gives to an interpreter, where it is named by an absolute path.
/// Nothing where the program is no known interpreter, or a flag says that none follows.
#[must_use]
pub(crate) fn script<'a>(command: &str, args: &'a [String]) -> Option<&'a str> {
    let known = words(Path::new(command).file_name()?.to_str()?)?;
    let mut args = args.iter().map(String::as_str);
    let mut verb = known.verb;
    while let Some(word) = args.next() {
        if known.ends.contains(&word) {
            return None;
        }
        if known.takes.contains(&word) {
            args.next();
        } else if verb.is_some_and(|verb| verb == word) {
            verb = None;
        } else if word == "-jar" {
            return args.next().filter(|jar| jar.starts_with('/'));
        } else if !word.starts_with('-') {
            return Some(word).filter(|word| word.starts_with('/'));
        }
    }
    None
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
}
