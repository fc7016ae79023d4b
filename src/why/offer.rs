//! The flags that would grant something, offered only where `supervisor set` takes them and the
//! server could then be started. Nothing is changed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::declaration::set_line::{self, Asked};
use crate::declaration::{Alias, Declaration, EnvName, Server, digest};
use crate::error::Error;
use crate::launch::Explanation;
use crate::plan::places::Places;
use crate::plan::{Person, SearchPath, Source, facts, resolve, system};

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
        // A stored one may have been changed; the frozen one stays.
        let stored = stdio.env.contains_key(&EnvName::path());
        let path = if stored {
            facts::search_path_of(stdio)
        } else {
            self.search_path()
        };
        let found = facts::gather(stdio, &path, self.person, system::look_up().grants)?;
        let home = resolve::home(&digest::launch(&changed.server), &found);
        resolve::resolve(home, stdio, &found, &self.others)?;
        Ok(())
    }

    /// The search path that the server gets; without one, that which it would get.
    pub(crate) fn search_path(&self) -> SearchPath {
        let variables = &self.explanation.plan.variables;
        let path = variables
            .iter()
            .find(|variable| variable.name == EnvName::path());
        match path.map(|variable| &variable.source) {
            Some(Source::Ours(text)) => SearchPath::parse(text.as_ref()),
            _ => facts::search_path_of(&self.explanation.declared),
        }
    }

    /// Why no server may write in a directory, if it may not.
    pub(crate) fn unwritable(&self, directory: &Path) -> Option<String> {
        self.places.refuse_writing(directory)
    }
}
