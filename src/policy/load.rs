//! Looks for the administrator's files.
#![expect(
    clippy::disallowed_methods,
    reason = "the one reader of the administrator's files"
)]

use std::io::ErrorKind;
use std::path::Path;

use super::{AdminPolicy, PolicyError};

/// Where an administrator's policy stands. No variable moves it.
const PLACES: [&str; 2] = ["/etc/supervisor/managed.json", "/etc/supervisor/managed.d"];

/// The policy in force.
///
/// # Errors
/// A file that is there, or of which it cannot be told: nothing may start then.
pub fn load() -> Result<AdminPolicy, PolicyError> {
    for file in PLACES {
        match Path::new(file).symlink_metadata() {
            Ok(_) => {
                return Err(PolicyError::NotObeyed {
                    file: file.to_owned(),
                });
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            Err(source) => {
                return Err(PolicyError::Look {
                    file: file.to_owned(),
                    source,
                });
            }
        }
    }
    Ok(AdminPolicy::Absent)
}
