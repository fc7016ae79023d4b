//! The namespaces that a shim enters before there is a plan: what it is told, and what came of it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;

use super::LaunchError;
use super::spawn::Shim;
use crate::confine::linux::{links, namespace};
use crate::confine::spec::{Begin, Begun, Common, Found, Ids, Inode, Place, Step};
use crate::declaration::{Network, Stdio};
use crate::plan::{Grant, System};

/// What every server gets of this system, as a shim is told it.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) found: Common,
    /// In the order of its places.
    pub(super) held: Vec<File>,
}

impl Ground {
    /// Of what was looked up: what is mounted of it, and the links on the way. The grants are handed
    /// back.
    ///
    /// # Errors
    /// A link that is gone; `/` cannot be listed.
    pub(super) fn of(system: System) -> Result<(Vec<Grant>, Self), LaunchError> {
        let System {
            grants,
            held,
            links,
        } = system;
        let prepared = namespace::prepared(&grants);
        let prepared: BTreeSet<&OsStr> = prepared.iter().map(|path| path.as_os_str()).collect();
        let mounted = grants.iter().zip(held);
        let mounted = mounted.filter(|(grant, _)| prepared.contains(grant.path.as_os_str()));
        let (places, held) = mounted
            .map(|(grant, (file, metadata))| (found(grant, &metadata), file))
            .unzip();
        let mut links = links::in_root_and(&links).map_err(LaunchError::Spawn)?;
        // No declaration can name another, and none of the system's places does.
        links.retain(|link| link.path.to_str().and(link.target.to_str()).is_some());
        let found = Common { places, links };
        Ok((grants, Self { found, held }))
    }
}

fn found(grant: &Grant, metadata: &Metadata) -> Found {
    Found {
        path: grant.path.clone(),
        directory: metadata.is_dir(),
        inode: Inode {
            dev: metadata.dev(),
            ino: metadata.ino(),
        },
    }
}

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
    (begin, ground, told): (Begin, &Ground, Result<(), LaunchError>),
    watched: bool,
) -> Result<Begun, LaunchError> {
    match told.and_then(|()| shim.begun()) {
        Err(LaunchError::Step { failed }) if failed.step == Step::Environment => {
            *shim = executed(watched)?;
            shim.begin(begin)?;
            shim.ground(ground)?;
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
pub fn namespaces_refused() -> Result<Option<String>, LaunchError> {
    let mut shim = executed(false)?;
    shim.begin(Begin {
        network: true,
        ids: None,
    })?;
    Ok(shim.begun()?.refused)
}
