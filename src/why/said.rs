//! What a server said of its own failure, read for what is known to be said: the names of
//! variables, certificates that are not trusted, headers that are missing. Pure.

use std::collections::BTreeSet;
use std::path::Path;

/// The label of lines that came from standard output.
pub(super) const STDOUT: &str = "(stdout) ";

/// The last lines that a server said.
pub(super) struct Said<'a> {
    lines: &'a [String],
}

/// What stands between words.
const BETWEEN: [char; 19] = [
    ' ', '\t', '\'', '"', '`', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', ':', '=', '|',
    '\u{2019}',
];

/// Words of who could not reach a host.
const NETWORK: [&str; 12] = [
    "could not resolve",
    "connection refused",
    "dns",
    "eai_again",
    "econnrefused",
    "enetunreach",
    "enotfound",
    "getaddrinfo",
    "name resolution",
    "network",
    "timed out",
    "unreachable",
];

/// Words beside which a name in capitals is a variable that is missing.
const MISSING: [&str; 16] = [
    "environment",
    "env var",
    "env.",
    "not set",
    "unset",
    "unbound",
    "undefined",
    "not defined",
    "not provided",
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

/// What says that a certificate is not trusted.
const UNTRUSTED: [&str; 13] = [
    "CERTIFICATE_VERIFY_FAILED",
    "CERT_UNTRUSTED",
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "SELF_SIGNED_CERT_IN_CHAIN",
    "UNABLE_TO_GET_ISSUER_CERT",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "UnknownIssuer",
    "certificate signed by unknown authority",
    "certificate verify failed",
    "invalid peer certificate",
    "self signed certificate",
    "self-signed certificate",
    "unable to get local issuer certificate",
];

impl<'a> Said<'a> {
    pub(super) const fn new(lines: &'a [String]) -> Self {
        Self { lines }
    }

    /// Whether a text occurs.
    pub(super) fn has(&self, text: &str) -> bool {
        !text.is_empty() && self.lines.iter().any(|line| line.contains(text))
    }

    /// Whether a text occurs as a word of its own.
    pub(super) fn has_word(&self, word: &str) -> bool {
        self.words().any(|known| known == word)
    }

    /// Whether a path is named, not merely one below it.
    pub(super) fn names(&self, path: &Path) -> bool {
        let path = path.to_string_lossy();
        if path.contains(BETWEEN) {
            return self.has(&path);
        }
        // `unix:///run/x` names it too.
        let bare = path.trim_start_matches('/');
        self.words().any(|word| {
            word.starts_with('/') && word.trim_start_matches('/').trim_end_matches('/') == bare
        })
    }

    /// Whether it speaks of the network.
    pub(super) fn network(&self) -> bool {
        let text = self.lines.join("\n").to_lowercase();
        NETWORK.iter().any(|word| text.contains(word))
    }

    /// A bound that we ended it for: what was said of that.
    pub(super) fn over(&self, what: &str) -> bool {
        let ours = [
            "supervisor ended it, since it ",
            "the kernel ended it, since it ",
        ];
        let said =
            |line: &String| ours.iter().any(|begin| line.contains(begin)) && line.contains(what);
        self.lines.iter().any(said)
    }

    /// What stands between spaces, quotes and brackets.
    pub(super) fn words(&self) -> impl Iterator<Item = &'a str> {
        self.lines
            .iter()
            .flat_map(|line| line.split(BETWEEN))
            .map(|word| word.trim_end_matches(['.', '!', '?']))
            .filter(|word| !word.is_empty())
    }

    /// Lines of standard output that were no messages.
    pub(super) fn junk(&self) -> usize {
        let junk = |line: &&String| line.starts_with(STDOUT);
        self.lines.iter().filter(junk).count()
    }

    /// Variables that it says it lacks, in the order in which it names them.
    pub(super) fn variables(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for line in self.lines {
            let lower = line.to_lowercase();
            let of = |words: &[&str]| words.iter().any(|word| lower.contains(word));
            if !of(&MISSING) || of(&ADVICE) {
                continue;
            }
            // Not what stands in a path, or in a name with hyphens.
            let words = line
                .split_whitespace()
                .filter(|word| !word.contains('/'))
                .flat_map(|word| {
                    word.split(|c: char| !(c.is_ascii_alphanumeric() || "_-".contains(c)))
                });
            for word in words.filter(|word| is_variable(word, &lower)) {
                if !found.iter().any(|known| known == word) {
                    found.push(word.to_owned());
                }
            }
        }
        found
    }

    /// Whether a certificate was not trusted.
    pub(super) fn distrusts(&self) -> bool {
        UNTRUSTED.iter().any(|text| self.has(text))
    }

    /// A header that a compiler did not find.
    pub(super) fn header(&self) -> Option<String> {
        self.lines.iter().find_map(|line| {
            let rest = line.split("fatal error:").nth(1)?;
            let name = rest.trim_start().trim_start_matches(['\'', '"', '<']);
            let (name, after) =
                name.split_at_checked(name.find(|c: char| "'\">: ".contains(c))?)?;
            let missing = ["No such file", "file not found", "not found"];
            let after = after.trim_start_matches(['\'', '"', '>', ':', ' ']);
            let missing = missing.iter().any(|said| after.starts_with(said));
            missing.then(|| name.to_owned())
        })
    }

    /// Whether a compiler did not find its own parts, which it looks for from where it was found.
    pub(super) fn parts(&self) -> bool {
        self.has("fatal error: cannot execute")
    }

    /// Modules of its own that an interpreter did not find: their first parts.
    pub(super) fn modules(&self) -> impl Iterator<Item = &'a str> {
        self.lines.iter().filter_map(|line| {
            let (_, rest) = line.split_once("No module named ")?;
            let name = rest.trim_matches(['\'', '"']);
            name.split(['.', '\'', '"', ';']).next()
        })
    }

    /// Whether node-gyp failed.
    pub(super) fn gyp(&self) -> bool {
        self.has("gyp ERR!") || self.has("node-gyp")
    }

    /// Commands that a shell or a runtime did not find.
    pub(super) fn commands(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for line in self.lines {
            // `sh: 1: foo: not found`, `bash: line 1: foo: command not found`.
            let shell = line
                .strip_suffix(": not found")
                .or_else(|| line.strip_suffix(": command not found"));
            // `env: 'foo': No such file or directory`, `/usr/bin/env: …`.
            let env = line
                .strip_suffix(": No such file or directory")
                .filter(|rest| rest.contains("env: "));
            let spawned = line.replace("spawnSync ", "spawn ");
            let spawned = spawned.split("spawn ").nth(1).and_then(|rest| {
                let (name, after) = rest.split_once(' ')?;
                after.starts_with("ENOENT").then_some(name)
            });
            let go = line.split("exec: \"").nth(1).and_then(|rest| {
                let (name, after) = rest.split_once('"')?;
                after
                    .starts_with(": executable file not found")
                    .then_some(name)
            });
            let python = line
                .split("FileNotFoundError: [Errno 2] No such file or directory: ")
                .nth(1);
            let named = [shell, env]
                .into_iter()
                .flatten()
                .filter_map(|rest| rest.rsplit(' ').next())
                .chain(spawned)
                .chain(go)
                .chain(python);
            let quotes = ['\'', '"', '`', '\u{2018}', '\u{2019}'];
            let plain =
                |name: &&str| !name.is_empty() && !name.contains(|c: char| "/ .".contains(c));
            found.extend(
                named
                    .map(|name| name.trim_matches(quotes))
                    .filter(plain)
                    .map(str::to_owned),
            );
        }
        found
    }
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
    fn a_path_is_named_by_itself() {
        let said = lines("open '/a/b/c.py' failed\nat unix:///run/x.sock. Is it there?");
        let said = Said::new(&said);
        assert!(said.names(Path::new("/a/b/c.py")) && said.names(Path::new("/run/x.sock")));
        assert!(!said.names(Path::new("/a/b")) && !said.names(Path::new("/a/b/c")));
    }

    #[test]
    fn commands_and_headers() {
        for (text, name) in [
            ("sh: 1: jq: not found", "jq"),
            ("bash: line 1: jq: command not found", "jq"),
            (
                "/usr/bin/env: \u{2018}jq\u{2019}: No such file or directory",
                "jq",
            ),
            ("Error: spawn jq ENOENT", "jq"),
            ("Error: spawnSync jq ENOENT", "jq"),
            (
                "FileNotFoundError: [Errno 2] No such file or directory: 'jq'",
                "jq",
            ),
            ("exec: \"jq\": executable file not found in $PATH", "jq"),
        ] {
            let lines = lines(text);
            let found: Vec<String> = Said::new(&lines).commands().into_iter().collect();
            assert_eq!(found, [name], "{text}");
        }
        let none = lines("open /etc/x: No such file or directory");
        assert!(Said::new(&none).commands().is_empty());
        let gcc = lines("x.c:1:10: fatal error: sqlite3.h: No such file or directory");
        assert_eq!(Said::new(&gcc).header().as_deref(), Some("sqlite3.h"));
        let parts = "gcc: fatal error: cannot execute 'cc1': execvp: No such file or directory";
        let parts = lines(parts);
        let said = Said::new(&parts);
        assert!(said.header().is_none() && said.parts());
        let python = lines("ModuleNotFoundError: No module named 'pkg.part'");
        assert!(Said::new(&python).modules().eq(["pkg"]));
        let clang = lines("x.c:1:10: fatal error: 'node/api.h' file not found");
        assert_eq!(Said::new(&clang).header().as_deref(), Some("node/api.h"));
    }
}
