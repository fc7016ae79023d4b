//! The flags that would grant something, offered only where `supervisor set` takes them and the
//! server could then be started. Nothing is changed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::declaration::set_line::{self, Asked};
use crate::declaration::{Alias, Declaration, Server, digest};
use crate::error::Error;
use crate::launch::Explanation;
use crate::plan::places::Places;
use crate::plan::{Person, Source, facts, resolve};

/// Tries flags.
pub(crate) struct Offer<'a> {
    pub(crate) person: &'a Person,
    pub(crate) declaration: &'a Declaration,
    pub(crate) explanation: &'a Explanation,
    /// Where other declared servers may write.
    pub(crate) others: Vec<PathBuf>,
    pub(crate) places: Places,
}

impl Offer<'_> {
    /// Why these flags would not be taken, or the server not started with them.
    pub(crate) fn refused(&self, flags: &[String]) -> Option<String> {
        self.tried(flags).err().map(|error| error.message())
    }

    fn alias(&self) -> &Alias {
        &self.explanation.alias
    }

    fn tried(&self, flags: &[String]) -> Result<(), Error> {
        // A value that would be asked for stands for any.
        let word = |word: &String| match word.strip_suffix("=-") {
            Some(name) => OsString::from(format!("{name}=x")),
            None => OsString::from(word),
        };
        let mut words = vec![OsString::from(self.alias().as_str())];
        words.extend(flags.iter().map(word));
        let Asked::Set(edit) = set_line::parse(&words)? else {
            return Ok(());
        };
        let here = Path::new("/");
        let changed = edit.apply(self.declaration, self.person, here, &self.others)?;
        let Server::Stdio(stdio) = &changed.server else {
            return Ok(());
        };
        let path = self.search_path().map(|path| {
            let stored = stdio.env.contains_key(&crate::declaration::EnvName::path());
            if stored {
                facts::search_path_of(stdio)
            } else {
                path
            }
        });
        let path = path.unwrap_or_else(|| facts::search_path_of(stdio));
        let found = facts::gather(stdio, &path, self.person)?;
        resolve::resolve(
            stdio,
            &digest::launch(&changed.server),
            &found,
            &self.others,
        )?;
        Ok(())
    }

    /// The search path that the server gets.
    pub(crate) fn search_path(&self) -> Option<crate::plan::SearchPath> {
        let value = self
            .explanation
            .plan
            .variables
            .iter()
            .find(|variable| variable.name == crate::declaration::EnvName::path());
        match &value?.source {
            Source::Ours(text) => Some(crate::plan::SearchPath::parse(text.as_ref())),
            _ => None,
        }
    }

    /// Why no server may write in a directory, if it may not.
    pub(crate) fn unwritable(&self, directory: &Path) -> Option<String> {
        self.places.refuse_writing(directory)
    }
}
