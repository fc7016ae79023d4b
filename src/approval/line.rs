//! One line of the list `approved`, both ways. Pure.

use crate::declaration::{Alias, Digest, SurfaceDigest};

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// `server <digest> <alias>`.
    Server(Digest, Alias),
    /// `surface <digest> <surface digest> <alias>`.
    Surface(Digest, SurfaceDigest, Alias),
}

impl Line {
    pub(super) fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        Some(match words.as_slice() {
            ["server", digest, alias] => Self::Server(digest.parse().ok()?, alias.parse().ok()?),
            ["surface", digest, surface, alias] => Self::Surface(
                digest.parse().ok()?,
                surface.parse().ok()?,
                alias.parse().ok()?,
            ),
            _ => return None,
        })
    }

    pub(super) fn to_text(&self) -> String {
        match self {
            Self::Server(digest, alias) => format!("server {digest} {alias}\n"),
            Self::Surface(digest, surface, alias) => {
                format!("surface {digest} {surface} {alias}\n")
            }
        }
    }

    pub(super) fn digest(&self) -> &Digest {
        match self {
            Self::Server(digest, _) | Self::Surface(digest, _, _) => digest,
        }
    }

    pub(super) fn alias(&self) -> &Alias {
        match self {
            Self::Server(_, alias) | Self::Surface(_, _, alias) => alias,
        }
    }

    pub(super) fn set_alias(&mut self, new: Alias) {
        match self {
            Self::Server(_, alias) | Self::Surface(_, _, alias) => *alias = new,
        }
    }
}
