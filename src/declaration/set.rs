//! From an edit and a declaration to the changed declaration: the words mean what they mean to
//! `add`, and all that a start would refuse is refused now.
//!
//! Looks at this machine through the room `plan` only.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::add_error::AddLineError;
use super::add_line::Given;
use super::change::ChangeError;
use super::set_line::{Edit, Limit};
use super::{
    AbsolutePath, Allow, Category, Declaration, Http, ReadReason, Server, Stdio, declare, loader,
};
use crate::approval::prompt;
use crate::error::Error;
use crate::plan::{Person, links, record};

impl Edit {
    /// Asks for the values of `NAME=-`.
    ///
    /// # Errors
    /// Nobody is there to type one.
    pub(crate) fn asked(mut self) -> Result<Self, Error> {
        for (name, given) in &mut self.give.env {
            if matches!(given, Given::Ask) {
                *given = Given::Stored(prompt::value(name)?);
            }
        }
        Ok(self)
    }

    /// The changed declaration; `cwd` is where the line was typed, `others` are the places that
    /// other declared servers may write.
    ///
    /// # Errors
    /// A flag for the other transport, something taken back that is not there; all that `add`
    /// refuses.
    pub(crate) fn apply(
        &self,
        declaration: &Declaration,
        person: &Person,
        cwd: &Path,
        others: &[PathBuf],
    ) -> Result<Declaration, Error> {
        let server = match &declaration.server {
            Server::Stdio(stdio) => {
                if self.give.url.is_some() || self.give.for_http.is_some() {
                    let flag = self.give.for_http.unwrap_or("--http");
                    return Err(ChangeError::from(AddLineError::OnlyForHttp { flag }).into());
                }
                let stdio = self.stdio(stdio.clone(), person, cwd)?;
                declare::check(&stdio, person, others)?;
                Server::Stdio(stdio)
            }
            Server::Http(http) => {
                if let Some(flag) = self.give.for_stdio {
                    return Err(ChangeError::from(AddLineError::NotForHttp { flag }).into());
                }
                Server::Http(self.http(http.clone())?)
            }
        };
        Ok(Declaration {
            server,
            enabled: self.enabled.unwrap_or(declaration.enabled),
        })
    }

    fn absent(&self, flag: &'static str) -> ChangeError {
        ChangeError::Absent {
            alias: self.alias.clone(),
            flag,
        }
    }

    /// Refuses what is taken back and not there.
    fn must(&self, there: bool, flag: &'static str) -> Result<(), ChangeError> {
        if there {
            Ok(())
        } else {
            Err(self.absent(flag))
        }
    }

    fn http(&self, mut http: Http) -> Result<Http, ChangeError> {
        let same = |a: &str, b: &str| a.eq_ignore_ascii_case(b);
        for name in &self.take.headers {
            let before = http.headers.len();
            http.headers.retain(|known, _| !same(known, name));
            self.must(http.headers.len() < before, "--no-header")?;
        }
        if self.take.bearer_env {
            self.must(http.bearer_env.take().is_some(), "--no-bearer-env")?;
        }
        for (name, value) in &self.give.headers {
            http.headers.retain(|known, _| !same(known, name));
            http.headers.insert(name.clone(), value.clone());
        }
        if let Some(url) = &self.give.url {
            http.url.clone_from(url);
        }
        if let Some(name) = &self.give.bearer_env {
            http.bearer_env = Some(name.clone());
        }
        Ok(http)
    }

    fn stdio(&self, mut stdio: Stdio, person: &Person, cwd: &Path) -> Result<Stdio, Error> {
        self.names(&mut stdio)?;
        self.variables(&mut stdio)?;
        self.bounds(&mut stdio)?;
        if self.take.dir {
            self.must(stdio.dir.take().is_some(), "--no-dir")?;
        }
        if let Some(dir) = &self.give.dir {
            stdio.dir = Some(declare::dir(&stdio, Path::new(dir), person, cwd)?);
        }
        self.reads(&mut stdio, person, cwd)?;
        Ok(stdio)
    }

    /// `--allow`, `--without`, `--pin`, `--net`.
    fn names(&self, stdio: &mut Stdio) -> Result<(), ChangeError> {
        fn change<T: Ord + Copy>(
            held: &mut BTreeSet<T>,
            take: &BTreeSet<T>,
            give: &BTreeSet<T>,
        ) -> bool {
            let there = take.iter().all(|one| held.remove(one));
            held.extend(give);
            there
        }
        let (give, take) = (&self.give, &self.take);
        self.must(
            change(&mut stdio.allow, &take.allow, &give.allow),
            "--no-allow",
        )?;
        self.must(
            change(&mut stdio.without, &take.without, &give.without),
            "--no-without",
        )?;
        self.must(change(&mut stdio.pin, &take.pin, &give.pin), "--no-pin")?;
        stdio.network = give.network.unwrap_or(stdio.network);
        self.categories(&mut stdio.tools.categories)
    }

    /// `--category`, `--no-category`. None left would be every one granted: that is asked for by its
    /// own word, and never what becomes of a grant that is narrowed.
    fn categories(&self, granted: &mut BTreeSet<Category>) -> Result<(), ChangeError> {
        let (give, take) = (&self.give.categories, &self.take.categories);
        if self.take.bound {
            self.must(!granted.is_empty(), "--no-category")?;
            granted.clear();
        }
        let there = take.iter().all(|one| granted.remove(one));
        self.must(there, "--no-category")?;
        granted.extend(give);
        if granted.is_empty() && !take.is_empty() {
            let alias = self.alias.clone();
            return Err(ChangeError::LastCategory { alias });
        }
        Ok(())
    }

    fn variables(&self, stdio: &mut Stdio) -> Result<(), ChangeError> {
        for name in &self.take.env {
            let there = stdio.env.remove(name).is_some() | stdio.pass.remove(name);
            self.must(there, "--no-env")?;
        }
        for (name, given) in &self.give.env {
            stdio.env.remove(name);
            stdio.pass.remove(name);
            match given {
                Given::Stored(value) => drop(stdio.env.insert(name.clone(), value.clone())),
                Given::Passed | Given::Ask => drop(stdio.pass.insert(name.clone())),
            }
        }
        declare::name_path(stdio);
        let loaded = |name| Some((loader::loader(&name)?.to_owned(), name));
        match stdio.variables().into_iter().find_map(loaded) {
            Some((reason, name)) if !stdio.allow.contains(&Allow::LoaderEnv) => {
                Err(AddLineError::Loader { name, reason }.into())
            }
            _ => Ok(()),
        }
    }

    fn bounds(&self, stdio: &mut Stdio) -> Result<(), ChangeError> {
        let limits = &mut stdio.limits;
        for limit in &self.take.limits {
            let slot = match limit {
                Limit::Memory => &mut limits.memory,
                Limit::Processes => &mut limits.processes,
                Limit::Files => &mut limits.files,
                Limit::FileSize => &mut limits.file_size,
            };
            self.must(slot.take().is_some(), "--no-limit")?;
        }
        let given = self.give.limits;
        limits.memory = given.memory.or(limits.memory);
        limits.processes = given.processes.or(limits.processes);
        limits.files = given.files.or(limits.files);
        limits.file_size = given.file_size.or(limits.file_size);
        Ok(())
    }

    /// `--read`, and what is recorded anew because a value or the directory is another. What was
    /// recorded of arguments stays as it was approved.
    fn reads(&self, stdio: &mut Stdio, person: &Person, cwd: &Path) -> Result<(), Error> {
        for path in &self.take.reads {
            let (named, led) = (cwd.join(path), links::settle(&cwd.join(path)));
            let before = stdio.reads.len();
            stdio.reads.retain(|read| {
                let known = read.path.as_path();
                known != named && known != led
            });
            self.must(stdio.reads.len() < before, "--no-read")?;
        }
        let dir = stdio.dir.clone();
        let dir = dir.as_ref().map(AbsolutePath::as_path);
        for path in &self.give.reads {
            stdio
                .reads
                .extend(record::flag(Path::new(path), cwd, dir, person)?);
        }
        let moved = self.take.dir || self.give.dir.is_some();
        if moved || !self.give.env.is_empty() || !self.take.env.is_empty() {
            let anew = |why| match why {
                ReadReason::Value => true,
                ReadReason::Argument | ReadReason::PackageRoot => moved,
                ReadReason::Flag => false,
            };
            stdio.reads.retain(|read| !anew(read.why));
            let found = record::recorded(stdio, person)?;
            for read in found.into_iter().filter(|read| anew(read.why)) {
                if stdio.reads.iter().all(|known| known.path != read.path) {
                    stdio.reads.push(read);
                }
            }
        }
        stdio
            .reads
            .retain(|read| dir.is_none_or(|dir| !read.path.as_path().starts_with(dir)));
        stdio.reads.sort();
        stdio.reads.dedup();
        Ok(())
    }
}
