//! The stable codes of errors and their JSON-RPC numbers: the table of `docs/exit-codes.md`.
//!
//! A number is never given to another code. Pure.

/// Every code and its number: an error to a host carries `-31000` less the number.
const NUMBERS: &[(&str, i64)] = &[
    // what is declared, and whether it may start
    ("unknown-alias", 1),
    ("program-not-found", 2),
    ("not-approved", 3),
    ("changed", 4),
    ("promise-unheld", 5),
    ("denied-by-policy", 6),
    ("disabled", 7),
    ("entry-unusable", 8),
    ("http-not-run", 9),
    ("digest-differs", 10),
    ("tool-pattern", 11),
    ("not-prepared", 12),
    // the program, what it reads, where it writes
    ("program-unusable", 20),
    ("program-writable", 21),
    ("read-missing", 22),
    ("read-refused", 23),
    ("home-granted", 29),
    ("dir-unusable", 24),
    ("dir-refused", 25),
    ("path-not-utf8", 26),
    ("cannot-look", 27),
    // the state directory
    ("no-home", 40),
    ("state-not-absolute", 41),
    ("state-link", 42),
    ("state-hard-link", 43),
    ("state-owner", 44),
    ("state-mode", 45),
    ("state-kind", 46),
    ("state-too-large", 47),
    ("state-not-utf8", 48),
    ("state-parent", 49),
    ("state-locked", 50),
    ("state-io", 51),
    ("declarations-unreadable", 52),
    ("declarations-newer", 53),
    ("declarations-unwritable", 54),
    ("approvals-unreadable", 55),
    ("approval-unwritable", 56),
    ("home-unusable", 57),
    ("home-foreign", 58),
    ("state-acl", 59),
    ("settings-unreadable", 60),
    ("record-unreadable", 62),
    ("record-unwritable", 63),
    ("audit-unwritable", 64),
    ("audit-head-unreadable", 65),
    ("audit-held", 66),
    ("audit-no-json", 67),
    ("audit-damaged", 68),
    // the administrator's policy
    ("policy-unreadable", 70),
    ("policy-owner", 72),
    ("policy-mode", 73),
    ("policy-link", 74),
    ("policy-kind", 75),
    ("policy-too-large", 76),
    ("policy-invalid", 77),
    ("policy-missing", 78),
    ("policy-foreign", 79),
    // confining and starting
    ("filters-do-not-build", 81),
    ("confinement-failed", 82),
    ("confinement-unconfirmed", 83),
    ("spawn-failed", 84),
    ("no-value", 85),
    ("receipt-unwritable", 86),
    ("log-unwritable", 87),
    // the words of a command and the person at the terminal: no host sees these
    ("alias-missing", 100),
    ("alias-invalid", 101),
    ("env-before-alias", 102),
    ("env-word", 103),
    ("env-twice", 104),
    ("needs-allow-loader-env", 105),
    ("unknown-flag", 106),
    ("flag-value-missing", 107),
    ("flag-value", 108),
    ("flag-twice", 109),
    ("url-refused", 110),
    ("url-missing", 111),
    ("url-and-program", 112),
    ("not-for-http", 113),
    ("only-for-http", 114),
    ("stray-word", 115),
    ("word-not-utf8", 116),
    ("program-missing", 117),
    ("dashes-missing", 118),
    ("container-engine", 119),
    ("nothing-to-set", 140),
    ("nothing-to-take-back", 141),
    ("alias-taken", 142),
    ("unknown-command", 143),
    ("no-such-rule", 144),
    ("last-category", 145),
    ("not-a-tool", 146),
    ("denied-alone", 147),
    // the relay's own answers
    ("server-ended", 120),
    ("message-too-long", 121),
    ("answer-unreadable", 122),
    ("too-many-requests", 123),
    ("limit-memory", 124),
    ("limit-processes", 125),
    ("limit-disk", 126),
    ("breaker-open", 127),
    ("call-timeout", 128),
    ("start-timeout", 129),
    ("surface-unapproved", 136),
    ("surface-withheld", 137),
    ("surface-unknown", 138),
    ("no-terminal", 130),
    ("answered-no", 131),
    ("terminal-failed", 132),
    ("surface-unread", 133),
    ("check-failed", 148),
    ("denied-by-rule", 134),
    ("request-refused", 135),
    // why a server did not come up
    ("missing-variable", 150),
    ("wants-home", 151),
    ("wants-socket", 152),
    ("fetch-failed", 153),
    ("tls-roots", 154),
    ("native-build", 155),
    ("exit-before-handshake", 156),
    ("content-length", 157),
    ("not-mcp", 158),
];

/// The number of a JSON-RPC error with this code; `-31000` for a code that has none, which a
/// test rules out.
#[must_use]
pub(crate) fn rpc_number(code: &str) -> i64 {
    let number = NUMBERS
        .iter()
        .find(|(known, _)| *known == code)
        .map_or(0, |(_, number)| *number);
    number.saturating_neg().saturating_sub(31_000)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests read and write files")]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// The strings of every `fn code(&self)` below a folder.
    fn codes(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                codes(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && !path.ends_with(file!())
            {
                let text = std::fs::read_to_string(&path).unwrap();
                for body in text.split("fn code(&self) -> &'static str {").skip(1) {
                    let body = body.split("\n    }\n").next().unwrap();
                    found.extend(body.split('"').skip(1).step_by(2).map(str::to_owned));
                }
            }
        }
    }

    #[test]
    fn every_code_has_a_number_of_its_own() {
        let mut found = BTreeSet::new();
        codes(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
            &mut found,
        );
        for (code, number) in crate::relay::answer::OWN {
            assert_eq!(rpc_number(code), number);
            found.insert(code.to_owned());
        }
        assert!(found.len() > 50);
        let named: BTreeSet<String> = NUMBERS.iter().map(|(code, _)| (*code).to_owned()).collect();
        assert_eq!(found, named);
        let numbers: BTreeSet<i64> = NUMBERS.iter().map(|(_, number)| *number).collect();
        assert_eq!((numbers.len(), named.len()), (NUMBERS.len(), NUMBERS.len()));
        assert_eq!(
            (rpc_number("unknown-alias"), rpc_number("?")),
            (-31_001, -31_000)
        );
    }

    #[test]
    fn the_table_of_the_docs_is_this_one() {
        let table: Vec<(&str, i64)> = include_str!("../docs/exit-codes.md")
            .lines()
            .filter_map(|line| {
                let mut cells = line.strip_prefix("| `")?.split(" | ");
                let code = cells.next()?.strip_suffix('`')?;
                let number: i64 = cells.next()?.parse().ok()?;
                Some((code, number.saturating_add(31_000).saturating_neg()))
            })
            .collect();
        assert_eq!(table, NUMBERS);
    }
}
