//! The variables that the dynamic loader and the C library act on, and those interpreters act
//! on: data in `policy/`, each with its reason. Pure.

use super::EnvName;

/// What is acted on, each with the reason. None is found by two.
struct List {
    /// Whole names, sorted.
    names: &'static [(&'static str, &'static str)],
    /// How others begin.
    prefixes: &'static [(&'static str, &'static str)],
}

/// `policy/loader-variables.json`.
static LOADER: List = include!(concat!(env!("OUT_DIR"), "/loader.rs"));
/// `policy/interpreter-variables.json`.
static INTERPRETERS: List = include!(concat!(env!("OUT_DIR"), "/interpreters.rs"));

impl List {
    fn reason(&self, name: &EnvName) -> Option<&'static str> {
        let name = name.as_str();
        let whole = self.names.binary_search_by_key(&name, |(known, _)| known);
        let found = whole.ok().and_then(|at| self.names.get(at));
        let begun = || {
            let mut prefixes = self.prefixes.iter();
            prefixes.find(|(prefix, _)| name.starts_with(prefix))
        };
        found.or_else(begun).map(|(_, reason)| *reason)
    }
}

/// Why the loader acts on a variable; `None` where it does not.
#[must_use]
pub(crate) fn loader(name: &EnvName) -> Option<&'static str> {
    LOADER.reason(name)
}

/// Which interpreter acts on a variable, and how; accepted, and named at the question.
#[must_use]
pub(crate) fn interpreter(name: &EnvName) -> Option<&'static str> {
    INTERPRETERS.reason(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_holds_what_it_must() {
        let name = |word: &str| word.parse::<EnvName>().unwrap();
        for (known, _) in LOADER.names.iter().chain(LOADER.prefixes) {
            assert!(loader(&name(known)).is_some(), "{known}");
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
