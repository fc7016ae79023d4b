//! A writable directory looked through: repositories, what the person's programs obey, links.
//!
//! Promises G1, G2 and G3 rest on it. At a start it says whether the directory may be written at
//! all and what stood in it before; after a run the same walk says what stands there now, and
//! [`super::left`] compares. A server may have made the tree, and another may be changing it: no
//! link is followed, every directory is opened below the one held, and the walk ends at a bound,
//! which is told. The nearest directories are looked at first.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::git;
use super::held::{Held, Kind, Led, Opened, kind};
use super::identity::Stat;
use super::obeyed::{self, Entry};
use crate::text;

/// So many directories deep a writable directory is looked through.
pub(crate) const DEPTH: usize = 32;
/// So many entries of a writable directory are looked at.
pub(crate) const ENTRIES: usize = 100_000;
/// So often within one directory the clock is looked at: every so many entries.
const TICK: usize = 256;

/// What to look for, and how far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    /// What programs obey, and links; else repositories only.
    pub(crate) obeyed: bool,
    /// The first repository, or the first thing that could not be looked at, ends the walk.
    pub(crate) first: bool,
    /// So many entries at most are looked at.
    pub(crate) entries: usize,
    /// Nothing is begun after this.
    pub(crate) until: Option<Instant>,
}

/// What stands in a directory. Paths are below it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Picture {
    /// Repositories; what lies in one is not looked at.
    pub(crate) repositories: Vec<Repository>,
    /// What programs obey.
    pub(crate) obeyed: BTreeMap<PathBuf, Seen>,
    /// Every link.
    pub(crate) links: BTreeMap<PathBuf, Stat>,
    /// What was not looked at, the first of it.
    pub(crate) missed: Option<Missed>,
}

/// A git repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Repository {
    /// By this mark, `.git`.
    Marked(PathBuf),
    /// This directory itself.
    Bare(PathBuf),
}

/// Something that programs obey, as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// What it is known again by.
    pub(crate) stat: Stat,
    /// A directory is another one only by its number: what lies in it is seen for itself.
    pub(crate) directory: bool,
    /// What a link under that name leads to, where it lies in the directory.
    pub(crate) behind: Option<Stat>,
    /// Why it counts.
    pub(crate) reason: &'static str,
}

/// What keeps a directory from being looked at whole.
#[derive(Clone, Debug)]
pub(crate) enum Missed {
    /// This directory in it cannot be read.
    Unreadable(PathBuf, Arc<io::Error>),
    /// There are more entries than so many.
    Entries(usize),
    /// It is deeper than [`DEPTH`].
    Depth,
    /// It took too long.
    Time,
}

impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, error) => {
                write!(f, "{} in it cannot be listed: {error}", text::path(path))
            }
            Self::Entries(most) => write!(f, "it holds more than {most} entries"),
            Self::Depth => write!(f, "it is more than {DEPTH} directories deep"),
            Self::Time => write!(f, "there was no time for more"),
        }
    }
}

/// Looks through the directory held, which lies at `place`.
pub(crate) fn look(held: &Held, place: &Path, task: Task) -> Picture {
    let mut walk = Walk {
        held,
        place,
        task,
        left: task.entries,
        waiting: VecDeque::new(),
        trees: BTreeMap::new(),
        picture: Picture::default(),
    };
    let mut next = Some((PathBuf::new(), 0, None));
    while let Some((at, depth, tree)) = next.take() {
        if walk.is_late() {
            walk.miss(Missed::Time);
            break;
        }
        if let Err(error) = walk.directory(&at, depth, tree) {
            walk.miss(Missed::Unreadable(at, Arc::new(error)));
        }
        if walk.is_over() {
            break;
        }
        next = walk.next();
    }
    walk.picture
}

/// A directory that is yet to be looked at. Its parent's path is shared by all its siblings:
/// names may be long, deep and many.
struct Waiting {
    parent: Arc<Path>,
    name: OsString,
    depth: usize,
    tree: Option<&'static str>,
}

struct Walk<'a> {
    held: &'a Held,
    place: &'a Path,
    task: Task,
    left: usize,
    waiting: VecDeque<Waiting>,
    /// Directories all in which counts, in lower case, with the reason.
    trees: BTreeMap<OsString, &'static str>,
    picture: Picture,
}

impl Walk<'_> {
    fn next(&mut self) -> Option<(PathBuf, usize, Option<&'static str>)> {
        let waiting = self.waiting.pop_front()?;
        let at = waiting.parent.join(&waiting.name);
        let tree = waiting.tree.or_else(|| {
            self.trees
                .get(&at.as_os_str().to_ascii_lowercase())
                .copied()
        });
        Some((at, waiting.depth, tree))
    }

    fn is_late(&self) -> bool {
        self.task.until.is_some_and(|until| Instant::now() > until)
    }

    /// Nothing more is to be found, or to be looked at.
    fn is_over(&self) -> bool {
        let found = !self.picture.repositories.is_empty() || self.picture.missed.is_some();
        (self.task.first && found)
            || matches!(self.picture.missed, Some(Missed::Time | Missed::Entries(_)))
    }

    /// A bound that ends the walk counts more than one that does not.
    fn miss(&mut self, missed: Missed) {
        if self.picture.missed.is_none() || matches!(missed, Missed::Time | Missed::Entries(_)) {
            self.picture.missed = Some(missed);
        }
    }

    fn directory(&mut self, at: &Path, depth: usize, tree: Option<&'static str>) -> io::Result<()> {
        let Some(open) = self.held.open_inside(at)? else {
            return Ok(());
        };
        let repository = git::repository(&open, at)?;
        let bare = matches!(repository, Some(Repository::Bare(_)));
        let marked = repository.is_some();
        self.picture.repositories.extend(repository);
        if bare || (marked && self.task.first) {
            return Ok(());
        }
        let parent: Arc<Path> = at.into();
        let mut candidates = Vec::new();
        for entry in open.entries()? {
            let entry = entry?;
            let (name, kind) = (entry.name(), entry.kind);
            self.left = match self.left.checked_sub(1) {
                Some(left) => left,
                None => {
                    self.miss(Missed::Entries(self.task.entries));
                    return Ok(());
                }
            };
            if self.left.is_multiple_of(TICK) && self.is_late() {
                self.miss(Missed::Time);
                return Ok(());
            }
            if self.task.obeyed {
                let entries = obeyed::beginning(name);
                candidates.extend(entries.iter().map(|entry| (entry, name.to_owned())));
                if let Some(reason) = tree {
                    self.see(&open, at, Path::new(name), reason);
                }
                if kind == Kind::Link
                    && let Ok(Some(stat)) = open.stat(name)
                {
                    self.picture.links.insert(at.join(name), Stat::of(&stat));
                }
            }
            if kind == Kind::Directory && !(marked && name.eq_ignore_ascii_case(".git")) {
                self.enter(&parent, name.to_owned(), depth, tree);
            }
        }
        for (entry, name) in &candidates {
            self.weigh(&open, at, entry, name);
        }
        Ok(())
    }

    fn enter(
        &mut self,
        parent: &Arc<Path>,
        name: OsString,
        depth: usize,
        tree: Option<&'static str>,
    ) {
        if depth >= DEPTH {
            self.miss(Missed::Depth);
            return;
        }
        self.waiting.push_back(Waiting {
            parent: Arc::clone(parent),
            name,
            depth: depth.saturating_add(1),
            tree,
        });
    }

    /// Takes down an entry of the list where it stands in a directory. A file system that takes
    /// the name there for the one in the list says so itself: it is asked by the latter.
    fn weigh(&mut self, open: &Opened, at: &Path, entry: &'static Entry, name: &OsStr) {
        let path = Path::new(entry.path);
        if !entry.counts_in(at) || !self.see(open, at, path, entry.reason) || !entry.tree {
            return;
        }
        let rest: PathBuf = path.iter().skip(1).collect();
        for spelled in [path.to_owned(), Path::new(name).join(rest)] {
            let path = at.join(spelled).into_os_string();
            self.trees.insert(path.to_ascii_lowercase(), entry.reason);
        }
    }

    /// Takes down something that is obeyed, where it is there.
    fn see(&mut self, open: &Opened, at: &Path, path: &Path, reason: &'static str) -> bool {
        let stat = if path.iter().count() == 1 {
            open.stat(path.as_os_str()).ok().flatten()
        } else {
            open.stat_below(path)
        };
        let Some(stat) = stat else { return false };
        let whole = at.join(path);
        let behind = match kind(&stat) {
            Kind::Link => match self.held.led(self.place, &whole) {
                Led::Inside(stat) => Some(stat),
                Led::Nowhere | Led::Out => None,
            },
            _ => None,
        };
        let seen = Seen {
            stat: Stat::of(&stat),
            directory: kind(&stat) == Kind::Directory,
            behind,
            reason,
        };
        // The nearest reason stands: `.vscode/mcp.json` is seen as a part of `.vscode` and by name.
        self.picture.obeyed.entry(whole).or_insert(seen);
        true
    }
}
