//! The values of the server's variables: read last, right before the start; and left out of what
//! is kept of its words (promise S4).

use std::path::Path;

use secrecy::{ExposeSecret, SecretString};

use super::{Explanation, LaunchError};
use crate::declaration::{EnvName, Stdio};
use crate::plan::{Plan, Source, facts};

/// Every variable of the plan with its value. One passed by name that the caller has no longer
/// is left out (the plan holds only those it had).
///
/// # Errors
/// [`LaunchError::NoValue`] for a stored variable that the declaration does not hold.
pub fn variables(
    plan: &Plan,
    declared: &Stdio,
) -> Result<Vec<(String, SecretString)>, LaunchError> {
    let mut values = Vec::with_capacity(plan.variables.len());
    for variable in &plan.variables {
        let name = variable.name.as_str();
        let value = match &variable.source {
            Source::Ours(value) => SecretString::from(value.clone()),
            Source::Unset => continue,
            // Relative and empty entries would lead into the directory the server works in.
            Source::Stored if variable.name == EnvName::path() => {
                SecretString::from(facts::search_path_of(declared).to_env())
            }
            Source::Passed => match facts::caller_value(&variable.name) {
                Some(value) => SecretString::from(value),
                None => continue,
            },
            Source::Stored => declared
                .env
                .get(&variable.name)
                .map(|value| SecretString::from(value.expose_secret()))
                .ok_or_else(|| LaunchError::NoValue(name.to_owned()))?,
        };
        values.push((name.to_owned(), value));
    }
    Ok(values)
}

/// A value shorter than this is no secret: it would be found in any text.
const SHORTEST: usize = 4;

/// The values that a server was given, to be left out of what is kept of its words.
#[derive(Debug)]
pub struct Hidden(Vec<(String, SecretString)>);

impl Hidden {
    /// Those stored and passed; paths are none, since they are shown in any case.
    #[must_use]
    pub fn of(explanation: &Explanation) -> Self {
        let plan = &explanation.plan;
        let ours = |name: &str| {
            let named = |variable: &&crate::plan::Variable| variable.name.as_str() == name;
            let source = plan.variables.iter().find(named);
            source.is_none_or(|variable| matches!(variable.source, Source::Ours(_)))
        };
        let mut values = variables(plan, &explanation.declared).unwrap_or_default();
        values.retain(|(name, value)| {
            let value = value.expose_secret();
            value.len() >= SHORTEST && !Path::new(value).is_absolute() && !ours(name)
        });
        // One that holds another goes first.
        values.sort_by_key(|(_, value)| std::cmp::Reverse(value.expose_secret().len()));
        Self(values)
    }

    /// A text with each value replaced by its name. What does not print is escaped in the text.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.0 {
            let shown = crate::text::printable(value.expose_secret());
            text = text.replace(&shown, &format!("[{name}]"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_replaced_by_its_name() {
        let value = |name: &str, text: &str| (name.to_owned(), SecretString::from(text));
        let hidden = Hidden(vec![value("LONG", "key-12345"), value("KEY", "key-1")]);
        assert_eq!(
            hidden.hide("used key-12345, then key-1."),
            "used [LONG], then [KEY]."
        );
    }
}
