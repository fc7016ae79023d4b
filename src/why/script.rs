//! The variables that a script reads, by its text. Pure.

/// What stands before the name of a variable, in the languages that servers are written in.
const BEFORE: [&str; 9] = [
    "process.env.",
    "process.env[\"",
    "process.env['",
    "environ[\"",
    "environ['",
    "environ.get(\"",
    "environ.get('",
    "getenv(\"",
    "getenv('",
];

/// Every variable that is read by name, each once, in the order of the text.
pub(super) fn variables(text: &str) -> Vec<String> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let shell = ["${", "$"]
        .into_iter()
        .filter(|_| text.starts_with("#!") && !text.contains("import "));
    for before in BEFORE.into_iter().chain(shell) {
        for (at, _) in text.match_indices(before) {
            let rest = text
                .get(at.saturating_add(before.len())..)
                .unwrap_or_default();
            let end = rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .unwrap_or(rest.len());
            let name = rest.get(..end).unwrap_or_default();
            if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
                found.push((at, name.to_owned()));
            }
        }
    }
    found.sort();
    let mut once: Vec<String> = Vec::new();
    for (_, name) in found {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    once
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_language() {
        let js = "const k = process.env.API_KEY || process.env['OTHER'];";
        assert_eq!(variables(js), ["API_KEY", "OTHER"]);
        let python =
            "#!/usr/bin/python3\nimport os\nos.environ['A_KEY']\nos.getenv(\"B\")\nx = f'${C}'";
        assert_eq!(variables(python), ["A_KEY", "B"]);
        assert_eq!(variables("#!/bin/sh\ntest \"${TOKEN}\" = $1$2"), ["TOKEN"]);
    }
}
