//! What a server said of its own failure, read for what is known to be said: certificates
//! that are not trusted, headers and programs that are missing; variables in `unset`. Pure.

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
    " enotfound",
    "getaddrinfo",
    "name resolution",
    "network",
    "timed out",
    "unreachable",
];

/// What says that the name of a host was not found, in small letters.
const UNRESOLVED: [&str; 12] = [
    "could not resolve host",
    "eai_again",
    " enotfound",
    "failed to lookup address information",
    "name or service not known",
    "no address associated with hostname",
    "no such host",
    "nodename nor servname provided",
    "server misbehaving",
    "temporary failure in name resolution",
    "unable to resolve host",
    "unknownhostexception",
];

/// What stands before that name: of Node, curl and git, ssh, Python, wget, Go, Java.
const BEFORE_HOST: [&str; 9] = [
    "ENOTFOUND ",
    "EAI_AGAIN ",
    "ould not resolve host: ",
    "ould not resolve hostname ",
    "Failed to resolve ",
    "host=",
    "unable to resolve host address ",
    "lookup ",
    "UnknownHostException: ",
];

/// What names stand in.
const QUOTES: [char; 5] = ['\'', '"', '`', '\u{2018}', '\u{2019}'];

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

    /// The lines, in their order.
    pub(super) const fn lines(&self) -> &'a [String] {
        self.lines
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

    /// Whether it speaks of watching files.
    pub(super) fn watches(&self) -> bool {
        let text = self.lines.join("\n").to_lowercase();
        ["watch", "inotify"].iter().any(|word| text.contains(word))
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

    /// Whether a certificate was not trusted.
    pub(super) fn distrusts(&self) -> bool {
        UNTRUSTED.iter().any(|text| self.has(text))
    }

    /// Whether it did not find the address of a host.
    pub(super) fn unresolved(&self) -> bool {
        self.of_names().next().is_some()
    }

    /// The first host whose address it says it did not find.
    pub(super) fn unresolved_host(&self) -> Option<&'a str> {
        let named = |line: &'a String| {
            BEFORE_HOST.iter().find_map(|before| {
                let rest = line.split(before).nth(1)?.trim_start_matches(QUOTES);
                let end = |c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '.');
                let name = rest.split(end).next()?.trim_matches(['-', '.']);
                // `failed to lookup address information` has none.
                (!name.is_empty() && name != "address").then_some(name)
            })
        };
        self.of_names().find_map(named)
    }

    /// The lines on names of hosts that were looked up in vain.
    fn of_names(&self) -> impl Iterator<Item = &'a String> {
        self.lines.iter().filter(|line| {
            let lower = line.to_lowercase();
            UNRESOLVED.iter().any(|words| lower.contains(words))
        })
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
            let plain =
                |name: &&str| !name.is_empty() && !name.contains(|c: char| "/ .".contains(c));
            found.extend(
                named
                    .map(|name| name.trim_matches(QUOTES))
                    .filter(plain)
                    .map(str::to_owned),
            );
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_path_is_named_by_itself() {
        let said = lines("open '/a/b/c.py' failed\nat unix:///run/x.sock. Is it there?");
        let said = Said::new(&said);
        assert!(said.names(Path::new("/a/b/c.py")) && said.names(Path::new("/run/x.sock")));
        assert!(!said.names(Path::new("/a/b")) && !said.names(Path::new("/a/b/c")));
    }

    /// Its name has a code of the network in it.
    const FILE: &str = "FileNotFoundError: [Errno 2] No such file or directory: '/x'";

    #[test]
    fn hosts_that_are_not_found() {
        for (text, host) in [
            (
                "Error: getaddrinfo ENOTFOUND api.example.org",
                Some("api.example.org"),
            ),
            ("npm error errno EAI_AGAIN", None),
            ("Error: getaddrinfo EAI_AGAIN db", Some("db")),
            (
                "curl: (6) Could not resolve host: api.example.org",
                Some("api.example.org"),
            ),
            (
                "ssh: Could not resolve hostname box: Name or service not known",
                Some("box"),
            ),
            (
                "socket.gaierror: [Errno -2] Name or service not known",
                None,
            ),
            (
                "Failed to resolve 'api.example.org' ([Errno -2] Name or service not known)",
                Some("api.example.org"),
            ),
            (
                "dial tcp: lookup api.example.org on 10.0.0.2:53: no such host",
                Some("api.example.org"),
            ),
            (
                "dns error: failed to lookup address information: Name or service not known",
                None,
            ),
            (
                "java.net.UnknownHostException: api.example.org",
                Some("api.example.org"),
            ),
        ] {
            let lines = lines(text);
            let said = Said::new(&lines);
            assert!(said.unresolved(), "{text}");
            assert_eq!(said.unresolved_host(), host, "{text}");
        }
        for text in [
            "npm error ERESOLVE could not resolve",
            "Failed to resolve import \"x\"",
            FILE,
        ] {
            assert!(!Said::new(&lines(text)).unresolved(), "{text}");
        }
        assert!(!Said::new(&lines(FILE)).network());
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
