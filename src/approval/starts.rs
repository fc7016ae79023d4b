//! What a program starts, in words for the question: what a runner fetches, which script or module an
//! interpreter is given, or that the program is itself what runs. Pure.

use std::path::Path;

use super::question::Row;
use crate::declaration::Stdio;
use crate::plan::interpreter::{self, Given};
use crate::plan::program::Program;
use crate::plan::runner::Runner;
use crate::text;

/// The row of the program. What a runner starts has rows of its own.
pub(super) fn program(stdio: &Stdio, program: &Program, runner: Option<&Runner>) -> Row {
    let mut row = Row::named("runs", [text::path(&program.found)]);
    if runner.is_some() {
        return row;
    }
    if let Some(path) = row.0.last_mut() {
        path.push(',');
    }
    row.0.extend(described(stdio, program));
    row
}

/// What kind of program it is, and what it is given to run.
fn described(stdio: &Stdio, program: &Program) -> Vec<String> {
    let words = |text: &str| Row::text(text).0;
    let named = |text: &str, name: &str| Row::named(text, [text::word(name)]).0;
    match interpreter::given(&stdio.command, &stdio.args) {
        Some(Given::Script(script)) if Path::new(script).is_absolute() => {
            named("which runs the script", script)
        }
        Some(Given::Script(script)) => {
            let mut row = named("which runs the script", script);
            row.extend(words("of the directory it starts in"));
            row
        }
        Some(Given::Module(module)) => named("which runs the module", module),
        Some(Given::Commands) if interpreter::is_shell(&stdio.command) => {
            words("which runs the commands that it is given")
        }
        Some(Given::Commands) => words("which runs the code that it is given"),
        None => match program.prefix.split_last() {
            // The interpreter as the first line has it, its argument, the script.
            Some((_, interpreter)) if program.is_script() => {
                let interpreter = interpreter.iter().map(|word| text::word(word));
                let mut row = words("a script that is run by");
                row.extend(interpreter);
                row
            }
            _ => words("a native program"),
        },
    }
}

/// What a runner does before what it runs.
pub(super) fn by_runner(runner: &Runner, rows: &mut Vec<Row>) {
    let name = runner.name;
    let script = runner.script.as_deref();
    match (
        &runner.project,
        script.filter(|script| script.starts_with('/')),
    ) {
        (Some(project), _) => {
            let says = format!("{name} runs what a project says:");
            rows.push(Row::named(&says, [text::word(project)]));
        }
        (None, Some(script)) => {
            let runs = format!("{name} runs the script");
            rows.push(Row::named(&runs, [text::word(script)]));
        }
        (None, None) if runner.of_project => {
            let says = "runs what the project in the directory it starts in says";
            rows.push(Row::text(&format!("{name} {says}")));
        }
        (None, None) => {}
    }
    if !runner.fetches {
        return;
    }
    rows.push(Row::text(&format!(
        "{name} fetches what it runs when it starts"
    )));
    if runner.unknown_flag {
        rows.push(Row::text(UNKNOWN_FLAG));
    } else if !runner.pinned {
        rows.push(unpinned(&runner.packages));
    }
}

const UNKNOWN_FLAG: &str =
    "which package it runs is not known: a flag that is not known stands before it";

/// What a runner is given that names no exact version.
fn unpinned(packages: &[String]) -> Row {
    let shown = packages.iter().map(|package| text::word(package));
    match packages {
        [_] => {
            let mut row = Row(shown.collect());
            row.0.extend(
                Row::text("names no exact version, so it runs whatever is published under it").0,
            );
            row
        }
        [] => Row::text("no exact version is named, so it runs whatever is published"),
        _ => {
            let so = "no exact version for each, so it runs whatever is published under them:";
            Row::named(so, shown)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declaration::{Server, entry};
    use crate::plan::runner;

    fn stdio(line: &str) -> Stdio {
        let mut words = line.split(' ');
        let entry = serde_json::json!({"command": words.next(), "args": words.collect::<Vec<_>>()});
        match entry::parse(entry).unwrap().server {
            Server::Stdio(stdio) => stdio,
            Server::Http(_) => unreachable!(),
        }
    }

    fn row(line: &str, exec: &str) -> String {
        let stdio = stdio(line);
        let found = Program::fixed(&stdio.command, exec);
        let runner = runner::recognise(&stdio.argv());
        program(&stdio, &found, runner.as_ref()).0.join(" ")
    }

    #[test]
    fn a_program_is_described_by_what_it_is_given() {
        for (line, said) in [
            (
                "/v/bin/python -m pkg.server",
                "which runs the module pkg.server",
            ),
            (
                "/usr/bin/node /x/index.js /y",
                "which runs the script /x/index.js",
            ),
            (
                "/usr/bin/node dist/index.js",
                "which runs the script dist/index.js of the directory it starts in",
            ),
            (
                "/usr/bin/deno run -A /x/main.ts",
                "which runs the script /x/main.ts",
            ),
            ("/bin/bash /x/run.sh", "which runs the script /x/run.sh"),
            (
                "/bin/bash -lc exec",
                "which runs the commands that it is given",
            ),
            (
                "/usr/bin/node -e code",
                "which runs the code that it is given",
            ),
            ("/opt/server --stdio", "a native program"),
        ] {
            let program = line.split(' ').next().unwrap();
            assert_eq!(row(line, program), format!("runs {program}, {said}"));
        }
        let script = row("/v/bin/server", "/usr/bin/python3.13");
        // Such a one has no first line: the words before its own path are the interpreter's.
        assert!(
            script.starts_with("runs /v/bin/server, a script that is run by"),
            "{script}"
        );
        // A runner's package is told in rows of its own.
        assert_eq!(
            row("/usr/bin/npx -y pkg@1.0.0", "/usr/bin/node"),
            "runs /usr/bin/npx"
        );
    }

    #[test]
    fn a_runner_is_described_by_what_it_fetches_or_where_it_looks() {
        let rows = |line: &str| {
            let mut rows = Vec::new();
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            by_runner(&runner::recognise(&words).unwrap(), &mut rows);
            let rows: Vec<String> = rows.into_iter().map(|row| row.0.join(" ")).collect();
            rows.join("; ")
        };
        assert_eq!(
            rows("npx -y pkg@1.0.0"),
            "npx fetches what it runs when it starts"
        );
        assert_eq!(
            rows("npm run --prefix /p start"),
            "npm run runs what a project says: /p"
        );
        assert_eq!(
            rows("npm run start"),
            "npm run runs what the project in the directory it starts in says"
        );
        assert_eq!(
            rows("uv run --no-project --with mcp==1.0 /x/server.py"),
            "uv run runs the script /x/server.py; uv run fetches what it runs when it starts"
        );
    }
}
