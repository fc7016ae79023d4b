//! What a declaration grants of a server's tools and what the person says of them, for the commands
//! that show it.

use std::collections::BTreeSet;

use crate::declaration::store::State;
use crate::declaration::{Alias, Category, Declaration, Server};
use crate::error::Error;
use crate::relay::Words;
use crate::settings::Settings;
use crate::surface::Surface;
use crate::surface::categories::Categories;

/// By what the tools of a server are held.
pub(super) struct Scope {
    alias: Alias,
    words: Words,
    granted: BTreeSet<Category>,
}

impl Scope {
    /// Of a declared server.
    ///
    /// # Errors
    /// `settings.json` cannot be read: what the person says is not known then.
    pub(super) fn read(
        state: &State,
        alias: &Alias,
        declaration: &Declaration,
    ) -> Result<Self, Error> {
        Ok(Self {
            alias: alias.clone(),
            words: Settings::read(state)?.rules.words,
            granted: match &declaration.server {
                Server::Stdio(stdio) => stdio.tools.categories.clone(),
                Server::Http(_) => BTreeSet::new(),
            },
        })
    }

    /// What the tools of a surface of it are of.
    pub(super) fn of(&self, surface: &Surface) -> Categories {
        let word = |tool: &str| self.words.on(self.alias.as_str(), tool);
        Categories::of(surface, word, &self.granted)
    }
}
