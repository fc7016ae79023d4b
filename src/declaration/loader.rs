//! The variables that the dynamic loader and the C library act on, and those interpreters act
//! on: data in `policy/`, each with its reason. Pure.

use std::sync::LazyLock;

use serde::Deserialize;

use super::EnvName;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    variables: Vec<Variable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Variable {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    prefix: Option<String>,
    reason: String,
}

type List = LazyLock<Option<Data>>;

static LOADER: List = LazyLock::new(|| read(include_str!("../../policy/loader-variables.json")));
static INTERPRETERS: List =
    LazyLock::new(|| read(include_str!("../../policy/interpreter-variables.json")));

/// `None` for data that does not parse: a test excludes such a build.
fn read(data: &str) -> Option<Data> {
    serde_json::from_str(data).ok()
}

fn reason(list: &'static List, name: &EnvName) -> Option<&'static str> {
    let Some(data) = list.as_ref() else {
        return Some("the list of such variables does not parse");
    };
    data.variables
        .iter()
        .find(|variable| {
            variable.name.as_deref() == Some(name.as_str())
                || variable
                    .prefix
                    .as_deref()
                    .is_some_and(|prefix| name.as_str().starts_with(prefix))
        })
        .map(|variable| variable.reason.as_str())
}

/// Why the loader acts on a variable; `None` where it does not.
#[must_use]
pub(crate) fn loader(name: &EnvName) -> Option<&'static str> {
    reason(&LOADER, name)
}

/// Which interpreter acts on a variable, and how; accepted, and named at the question.
#[must_use]
pub(crate) fn interpreter(name: &EnvName) -> Option<&'static str> {
    reason(&INTERPRETERS, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_parses_and_holds_what_it_must() {
        let name = |word: &str| word.parse::<EnvName>().unwrap();
        assert!(LOADER.is_some() && INTERPRETERS.is_some());
        for data in [&LOADER, &INTERPRETERS] {
            for variable in &data.as_ref().unwrap().variables {
                assert!(
                    variable.name.is_some() != variable.prefix.is_some()
                        && !variable.reason.is_empty()
                );
            }
        }
        for word in [
            "LD_PRELOAD",
            "LD_ANYTHING",
            "DYLD_INSERT_LIBRARIES",
            "GCONV_PATH",
        ] {
            assert!(loader(&name(word)).is_some(), "{word}");
        }
        for word in [
            "NODE_OPTIONS",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "PERL5LIB",
            "RUBYOPT",
            "BASH_ENV",
        ] {
            assert!(
                loader(&name(word)).is_none() && interpreter(&name(word)).is_some(),
                "{word}"
            );
        }
        for word in [
            "PATH",
            "HOME",
            "API_KEY",
            "LANG",
            "XLD_PRELOAD",
            "SSL_CERT_FILE",
        ] {
            assert!(
                loader(&name(word)).is_none() && interpreter(&name(word)).is_none(),
                "{word}"
            );
        }
    }
}
