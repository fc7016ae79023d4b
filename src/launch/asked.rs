//! What the state directory says of a request.

use std::path::PathBuf;

use super::LaunchError;
use crate::approval::Approvals;
use crate::declaration::store::State;
use crate::declaration::{Declaration, Digest, LaunchDigest, Server, Stdio, digest};
use crate::error::Error;
use crate::plan::{Person, RunRequest};
use crate::prepared::Record;

/// What the state directory says of a request.
pub(super) struct Asked {
    pub(super) state: State,
    pub(super) declaration: Declaration,
    pub(super) declared: Stdio,
    pub(super) digest: Digest,
    pub(super) launch_digest: LaunchDigest,
    pub(super) approvals: Approvals,
    /// What a prepare left.
    pub(super) prepared: Option<Record>,
    /// Where other declared servers may write.
    pub(super) others: Vec<PathBuf>,
}

impl Asked {
    /// Reads it.
    ///
    /// # Errors
    /// An alias nobody declared, or that is reached over HTTP; another digest than was asked for;
    /// a state that cannot be trusted.
    pub(super) fn read(person: &Person, request: &RunRequest) -> Result<Self, Error> {
        let state = State::open(person)?;
        let declarations = state.read()?;
        let alias = request.alias.clone();
        let declaration = declarations.get(&alias)?.clone();
        let declared = match &declaration.server {
            Server::Stdio(stdio) => stdio.clone(),
            Server::Http(_) => return Err(LaunchError::HttpLater { alias }.into()),
        };
        let digest = digest::digest(&declaration);
        if let Some(asked) = request
            .digest
            .clone()
            .filter(|asked| !asked.begins(&digest))
        {
            return Err(LaunchError::OtherDigest {
                alias,
                asked,
                digest,
            }
            .into());
        }
        let approvals = Approvals::of(&state, &alias, &digest)?;
        Ok(Self {
            prepared: Record::read(&state, &digest)?,
            launch_digest: digest::launch(&declaration.server),
            others: declarations.writable_but_by(&alias),
            declaration,
            declared,
            digest,
            approvals,
            state,
        })
    }
}
