//! The values of the server's variables: read last, right before the start.

use secrecy::{ExposeSecret, SecretString};

use super::LaunchError;
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
