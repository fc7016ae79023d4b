//! The namespaces that a shim enters before there is a plan: what it is told, and what came of it.

use super::LaunchError;
use super::spawn::Shim;
use crate::confine::spec::{Begin, Begun, Ids, Place, Step};
use crate::declaration::{Network, Stdio};

/// A shim that is executed.
pub(super) fn executed(watched: bool) -> Result<Shim, LaunchError> {
    Shim::execute(Place::Inside, watched).map_err(LaunchError::Spawn)
}

/// What a shim is told before there is a plan.
pub(super) fn begin(declared: &Stdio, ids: Option<Ids>) -> Begin {
    Begin {
        network: declared.network == Network::None,
        ids,
    }
}

/// What a shim could enter, which was told this. One that was forked and cannot forget what its
/// caller's environment held has ended: another is executed in its place, which has nothing to forget.
pub(super) fn begun(
    shim: &mut Shim,
    (begin, told): (Begin, Result<(), LaunchError>),
    watched: bool,
) -> Result<Begun, LaunchError> {
    match told.and_then(|()| shim.begun()) {
        Err(LaunchError::Step { failed }) if failed.step == Step::Environment => {
            *shim = executed(watched)?;
            shim.begin(begin)?;
            shim.begun()
        }
        begun => begun,
    }
}

/// Why this machine refuses namespaces to a process of ours; `None` where it lets us have them.
/// Tried by entering them, as a start does.
///
/// # Errors
/// As [`Shim::begun`].
///
/// # Panics
/// Outside a Tokio runtime with I/O: it starts a process.
pub fn namespaces_refused() -> Result<Option<String>, LaunchError> {
    let mut shim = executed(false)?;
    shim.begin(Begin {
        network: true,
        ids: None,
    })?;
    Ok(shim.begun()?.refused)
}
