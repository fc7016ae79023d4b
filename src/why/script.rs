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

/// Whether a name is one that only what needs it is given: a credential, an address, a setting of
/// one program's. The words of a session and of runtimes are none.
pub(super) fn is_setting(name: &str) -> bool {
    const PARTS: [&str; 20] = [
        "ACCOUNT",
        "API",
        "AUTH",
        "CLIENT",
        "CONFIG",
        "CREDENTIALS",
        "DATABASE",
        "DSN",
        "ENDPOINT",
        "HOST",
        "ID",
        "KEY",
        "PASSWORD",
        "PROFILE",
        "REGION",
        "SECRET",
        "SERVER",
        "TOKEN",
        "URI",
        "URL",
    ];
    const OTHERS: [&str; 5] = ["DBUS_", "GPG_", "SSH_", "SUPERVISOR_", "XDG_"];
    name.contains('_')
        && !OTHERS.iter().any(|other| name.starts_with(other))
        && name.split('_').any(|part| PARTS.contains(&part))
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
        assert!(is_setting("WEATHER_API_KEY") && is_setting("GRAFANA_URL"));
        assert!(!is_setting("XDG_CONFIG_HOME") && !is_setting("LC_ALL") && !is_setting("HOME"));
        assert_eq!(variables("#!/bin/sh\ntest \"${TOKEN}\" = $1$2"), ["TOKEN"]);
    }
}
