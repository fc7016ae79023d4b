//! The variables that a server says it lacks, by what it said. Pure.
//!
//! Most programs say it in one line with the name. Some say the name in another line than what is
//! wrong with it (anyhow, zod), some the name of a field that is read from the variable (envy,
//! pydantic), and Rust's own words have no name at all.

use super::said::Said;

/// Words beside which a name in capitals is a variable that is missing.
const MISSING: [&str; 17] = [
    "environment",
    "env var",
    "env.",
    "not set",
    "unset",
    "unbound",
    "undefined",
    "not defined",
    "not provided",
    "notpresent",
    "not found",
    "missing",
    "required",
    "must be",
    "please",
    "keyerror",
    "set ",
];

/// Words of advice on what is shown: a variable beside them is nothing that a program lacks.
const ADVICE: [&str; 5] = [
    "backtrace",
    "ignored due to",
    "silence",
    "stack trace",
    "suppress",
];

/// Names in capitals that are no variables: codes of errors.
const CODES: [&str; 14] = [
    "CERT_",
    "CERTIFICATE_",
    "DEPTH_ZERO_",
    "ERR_",
    "ERROR",
    "ERESOLVE",
    "HTTP_",
    "MODULE_NOT_FOUND",
    "NO_PUBKEY",
    "SELF_SIGNED_",
    "SSL_ERROR",
    "TLS_",
    "UNABLE_TO_",
    "WARNING",
];

/// What Rust says of a variable that is not there (`std::env::VarError`), in small letters.
const NAMELESS: [&str; 2] = ["environment variable not found", "notpresent"];
/// What is said of a file `.env` that is not there (dotenvy), to whom it was to be read from.
const NO_FILE: [&str; 2] = [
    "Custom { kind: NotFound, error: \"path not found\" }",
    "Error: path not found",
];
/// What stands before the name of a field that a variable should have filled (envy).
const FIELDS: [&str; 2] = ["missing value for field ", "MissingValue(\""];
/// So many lines around a name are about it.
const AROUND: usize = 4;

impl Said<'_> {
    /// Variables that it says it lacks, in the order in which it names them.
    pub(super) fn variables(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for (at, line) in self.lines().iter().enumerate() {
            let lower = line.to_lowercase();
            let of = |words: &[&str]| words.iter().any(|word| lower.contains(word));
            let about = if is_bare(line) {
                &MISSING[..]
            } else {
                &NAMELESS
            };
            let told = of(&MISSING) || self.around(at, about);
            let words = if told && !of(&ADVICE) {
                names(line, &lower)
            } else {
                Vec::new()
            };
            let fields = self.field(at).into_iter().map(str::to_ascii_uppercase);
            for word in words.into_iter().map(str::to_owned).chain(fields) {
                if !found.contains(&word) {
                    found.push(word);
                }
            }
        }
        found
    }

    /// Whether it says that it lacks a variable, named or not.
    pub(super) fn lacks_a_variable(&self) -> bool {
        self.lines().iter().any(|line| {
            let lower = line.to_lowercase();
            NAMELESS.iter().any(|words| lower.contains(words))
        })
    }

    /// Whether it says that it lacks the file of variables that is read where a program starts.
    pub(super) fn lacks_an_env_file(&self) -> bool {
        NO_FILE.iter().any(|text| self.has(text))
    }

    /// Whether one of these is said around a line.
    fn around(&self, at: usize, words: &[&str]) -> bool {
        let first = at.saturating_sub(AROUND);
        let around = self.lines().iter().skip(first);
        around.take(AROUND.saturating_mul(2)).any(|line| {
            let lower = line.to_lowercase();
            words.iter().any(|word| lower.contains(word))
        })
    }

    /// The field that a line says had no value.
    fn field(&self, at: usize) -> Option<&str> {
        let line = self.lines().get(at)?;
        let after = FIELDS.iter().find_map(|before| line.split(before).nth(1));
        if let Some(rest) = after {
            let end = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
            return rest.split(end).next().filter(|name| !name.is_empty());
        }
        // pydantic: the field on a line of its own, indented by nothing, what is wrong with it below.
        let below = self.lines().get(at.saturating_add(1))?;
        let settings = self.lines().iter().any(|line| {
            let lower = line.to_lowercase();
            let of = ["settings", "config", "env"];
            lower.contains("validation error") && of.iter().any(|word| lower.contains(word))
        });
        let is_field = !line.is_empty()
            && line.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && below.trim_start().starts_with("Field required");
        (settings && is_field).then_some(line.as_str())
    }
}

/// Whether a line is one name, in quotes or not, with what separates it from others.
fn is_bare(line: &str) -> bool {
    let name = line.trim().trim_matches(['"', '\'', ',', '[', ']', ' ']);
    name.contains('_') && is_variable(name, "")
}

/// The names of variables in a line: not what stands in a path, or in a name with hyphens.
fn names<'a>(line: &'a str, lower: &str) -> Vec<&'a str> {
    line.split_whitespace()
        .filter(|word| !word.contains('/'))
        .flat_map(|word| word.split(|c: char| !(c.is_ascii_alphanumeric() || "_-".contains(c))))
        .filter(|word| is_variable(word, lower))
        .collect()
}

/// Whether a word is the name of a variable: in capitals, and more than one part unless the line
/// speaks of variables.
fn is_variable(word: &str, lower: &str) -> bool {
    let capitals = word.len() >= 3
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && word
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    let plainly = [
        "environment",
        "env",
        "unbound",
        "keyerror",
        "not set",
        "unset",
    ];
    let errno = word.starts_with('E') && !word.contains('_') && word.len() > 4;
    let code = CODES.iter().any(|code| word.starts_with(code)) || errno;
    let parts = word.contains('_') || plainly.iter().any(|text| lower.contains(text));
    capitals && parts && !code && !matches!(word, "API" | "URL" | "JSON" | "MCP" | "HTTP")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn variables_that_are_missing() {
        for (text, names) in [
            ("KeyError: 'API_TOKEN'", &["API_TOKEN"][..]),
            ("x.sh: 2: BRAVE_KEY: parameter not set", &["BRAVE_KEY"]),
            ("./x: line 3: TOKEN: unbound variable", &["TOKEN"]),
            (
                "Error: GITHUB_TOKEN environment variable is required",
                &["GITHUB_TOKEN"],
            ),
            (
                "Missing required environment variables: A_KEY, B_KEY",
                &["A_KEY", "B_KEY"],
            ),
            ("Please set DATABASE_URL", &["DATABASE_URL"]),
            ("process.env.SLACK_TEAM is undefined", &["SLACK_TEAM"]),
            ("KeyError: 'HOSTNAME'", &["HOSTNAME"]),
            ("ENOENT: no such file, file not found", &[]),
            ("Error: UNABLE_TO_GET_ISSUER_CERT_LOCALLY not found", &[]),
            (
                "Cannot find module, code MODULE_NOT_FOUND, required by",
                &[],
            ),
            ("I AM READY", &[]),
            ("/tmp/x-D5QHV6/x.sh: TOKEN: parameter not set", &["TOKEN"]),
            (
                "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
                &[],
            ),
            (
                "set `export UV_LINK_MODE=copy` or use `--link-mode=copy` to suppress this warning.",
                &[],
            ),
            (
                "Warning: The 'NO_COLOR' env is ignored due to the 'FORCE_COLOR' env being set.",
                &[],
            ),
        ] {
            let lines = lines(text);
            assert_eq!(Said::new(&lines).variables(), names, "{text}");
        }
    }

    #[test]
    fn variables_that_are_named_beside_what_is_wrong_with_them() {
        for (text, names) in [
            (
                "thread 'main' panicked at src/main.rs:3:5:\nAPI_KEY: NotPresent",
                &["API_KEY"][..],
            ),
            (
                "called `Result::unwrap()` on an `Err` value: NotPresent",
                &[],
            ),
            (
                "Error: cannot read API_KEY\n\nCaused by:\n    environment variable not found",
                &["API_KEY"],
            ),
            ("Error: missing value for field api_key", &["API_KEY"]),
            ("Error: MissingValue(\"api_key\")", &["API_KEY"]),
            (
                "ZodError: [\n  {\n    \"expected\": \"string\",\n    \"received\": \"undefined\",\n    \"path\": [\n      \"API_KEY\"\n    ],\n    \"message\": \"Required\"\n  }\n]",
                &["API_KEY"],
            ),
            (
                "ValidationError: 1 validation error for Settings\napi_key\n  Field required [type=missing, input_value={}]",
                &["API_KEY"],
            ),
            (
                "ValidationError: 1 validation error for Arguments\nname\n  Field required [type=missing]",
                &[],
            ),
            ("MAX_RETRIES\n10", &[]),
        ] {
            let lines = lines(text);
            assert_eq!(Said::new(&lines).variables(), names, "{text}");
        }
    }

    #[test]
    fn what_has_no_name() {
        let lacks = |text: &str| Said::new(&lines(text)).lacks_a_variable();
        assert!(lacks(
            "called `Result::unwrap()` on an `Err` value: NotPresent"
        ));
        assert!(lacks("Error: environment variable not found"));
        let io = "called `Result::unwrap()` on an `Err` value: Os { code: 2, kind: NotFound, message: \"No such file or directory\" }";
        assert!(!lacks(io));
        let file = |text: &str| Said::new(&lines(text)).lacks_an_env_file();
        assert!(file(
            "Err` value: Io(Custom { kind: NotFound, error: \"path not found\" })"
        ));
        assert!(!file(io));
    }
}
