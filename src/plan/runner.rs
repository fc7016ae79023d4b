//! Runners: commands that run something else, most of which fetch it first. Which package of
//! which version that is, in which project, and what a runner gets from us ([`given`]). Pure.
//!
//! Read as each runner reads its words: flags that take a value, flags that name a package, and
//! the first word that is none. A flag that is not known may take the next word or not, so that
//! which package runs is not known either.

pub(crate) mod given;
mod known;

use known::{Kind, Known, RUNNERS};

/// A command that runs something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Runner {
    /// Its name: `npx`, `uv tool run` …
    pub(crate) name: &'static str,
    /// Whether it may fetch what it runs (`--offline` and the like say that it may not).
    pub(crate) fetches: bool,
    /// Whether it runs what a project on disk says, not a package by its name.
    pub(crate) of_project: bool,
    /// The project that it runs in, as written, where its words name one.
    pub(crate) project: Option<String>,
    /// What of a project it runs, as written: a script, a file.
    pub(crate) script: Option<String>,
    /// The packages as written; none where [`Runner::unknown_flag`].
    pub(crate) packages: Vec<String>,
    /// Whether each of them is of one version for good.
    pub(crate) exact: bool,
    /// The same, where a project may come instead of them, whose lock file says the versions.
    pub(crate) pinned: bool,
    /// Whether a flag that is not known stands before the package. Then nothing is said of
    /// versions.
    pub(crate) unknown_flag: bool,
}

impl Runner {
    /// Whether what it runs is a program of Python.
    #[must_use]
    pub(crate) fn is_of_python(&self) -> bool {
        let python = [
            "uvx",
            "uv tool run",
            "uv run",
            "pipx run",
            "poetry run",
            "pdm run",
        ];
        python.contains(&self.name)
    }
}

/// The runner that a command line is, if it is one; by the program's name, wherever it lies.
#[must_use]
pub(crate) fn recognise(argv: &[String]) -> Option<Runner> {
    let (program, words) = argv.split_first()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    RUNNERS.iter().find_map(|known| {
        let (first, verbs) = known.words.split_first()?;
        if *first != program {
            return None;
        }
        let mut words = words.iter().map(String::as_str).collect::<Vec<_>>();
        let mut read = Read::default();
        for verb in verbs {
            let rest = read.flags(&words, known)?;
            let (word, rest) = rest.split_first()?;
            if word != verb {
                return None;
            }
            words = rest.to_vec();
        }
        known.runner(read, &words)
    })
}

/// Whether a list of words has this one.
fn has(list: &str, flag: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == flag)
}

/// What was read so far.
#[derive(Default)]
struct Read {
    packages: Vec<String>,
    further: Vec<String>,
    project: Option<String>,
    loose: bool,
    offline: bool,
    unknown: bool,
}

impl Read {
    /// Reads flags up to the first word that is none, and returns the words from there.
    /// Nothing where the words end with a flag's missing value.
    fn flags<'a, 'w>(&mut self, words: &'a [&'w str], known: &Known) -> Option<&'a [&'w str]> {
        let mut rest = words;
        while let Some((word, after)) = rest.split_first() {
            if *word == "--" {
                return Some(after);
            }
            if !word.starts_with('-') || *word == "-" {
                return Some(rest);
            }
            rest = after;
            let (flag, value) = match word.split_once('=') {
                Some((flag, value)) => (flag, Some(value)),
                None => (*word, None),
            };
            self.offline |= has(known.offline, flag) && value != Some("false");
            let takes = [
                known.package,
                known.further,
                known.loose,
                known.takes,
                known.project,
            ];
            if takes.iter().any(|list| has(list, flag)) {
                let value = match value {
                    Some(value) => value,
                    None => {
                        let (next, after) = rest.split_first()?;
                        rest = after;
                        next
                    }
                };
                self.value(flag, value, known);
            } else if !known.knows_alone(flag) {
                self.unknown = true;
            }
        }
        Some(rest)
    }

    /// Reads flags behind the package, up to `--`: `npm exec CMD --package=OTHER` runs another.
    fn on(&mut self, words: &[&str], known: &Known) {
        let mut rest = words.split(|word| *word == "--").next().unwrap_or_default();
        while let Some((_, after)) = rest.split_first() {
            rest = self.flags(after, known).unwrap_or_default();
        }
    }

    fn value(&mut self, flag: &str, value: &str, known: &Known) {
        self.loose |= has(known.loose, flag);
        if has(known.package, flag) {
            self.packages.push(value.to_owned());
        } else if has(known.further, flag) {
            self.further.extend(value.split(',').map(str::to_owned));
        } else if has(known.project, flag) {
            self.project = Some(value.to_owned());
        }
    }
}

impl Known {
    /// A flag that stands alone, or several of one letter in one word.
    fn knows_alone(&self, flag: &str) -> bool {
        let alone = |flag: &str| has(self.alone, flag) || has(self.offline, flag);
        let cluster = || {
            let letters = flag
                .strip_prefix('-')
                .filter(|letters| letters.len() > 1 && !letters.starts_with('-'));
            letters
                .is_some_and(|letters| letters.chars().all(|letter| alone(&format!("-{letter}"))))
        };
        // Every feature that is not settled yet has one of its own.
        alone(flag)
            || cluster()
            || matches!(self.kind, Kind::Deno) && flag.starts_with("--unstable")
    }

    fn runner(&self, mut read: Read, words: &[&str]) -> Option<Runner> {
        let Some(rest) = read.flags(words, self) else {
            return Some(self.unknown());
        };
        let first = rest.first().copied();
        let fetched = match self.kind {
            Kind::Go => first.is_some_and(|word| word.contains('@')),
            Kind::Deno => first.is_some_and(|word| {
                ["npm:", "jsr:", "http:", "https:"]
                    .iter()
                    .any(|scheme| word.starts_with(scheme))
            }),
            Kind::Npm | Kind::PyPi | Kind::Project { .. } => true,
        };
        if !fetched {
            return None;
        }
        if read.unknown {
            return Some(self.unknown());
        }
        if self.reads_on {
            read.on(rest, self);
        }
        let of_project = matches!(self.kind, Kind::Project { .. });
        let mut packages = read.packages;
        if packages.is_empty() && !of_project {
            packages.extend(first.map(str::to_owned));
        }
        packages.extend(read.further);
        let pinned = !read.loose && packages.iter().all(|package| self.kind.is_exact(package));
        Some(Runner {
            name: self.name,
            fetches: !read.offline && self.kind.fetches(),
            of_project,
            project: read.project,
            script: first.filter(|_| of_project).map(str::to_owned),
            exact: pinned && !packages.is_empty(),
            pinned: pinned && (of_project || !packages.is_empty()),
            packages,
            unknown_flag: false,
        })
    }

    fn unknown(&self) -> Runner {
        Runner {
            name: self.name,
            fetches: self.kind.fetches(),
            of_project: matches!(self.kind, Kind::Project { .. }),
            project: None,
            script: None,
            packages: Vec::new(),
            exact: false,
            pinned: false,
            unknown_flag: true,
        }
    }
}

impl Kind {
    const fn fetches(self) -> bool {
        !matches!(self, Self::Project { fetches: false })
    }

    /// Whether a package is written with one version for good.
    fn is_exact(self, package: &str) -> bool {
        match self {
            Self::Npm => npm_is_exact(package),
            Self::PyPi | Self::Project { .. } => pypi_is_exact(package),
            Self::Go => package.rsplit_once('@').is_some_and(|(_, version)| {
                version.strip_prefix('v').is_some_and(is_semantic_version)
            }),
            Self::Deno => {
                let name = package
                    .strip_prefix("npm:")
                    .or_else(|| package.strip_prefix("jsr:"));
                // `npm:@scope/name@1.2.3/bin`: what follows the version is no part of it.
                name.is_some_and(|name| {
                    let name = name.trim_start_matches('/');
                    let at = name.rfind('@').filter(|at| *at > 0).unwrap_or(name.len());
                    let end = name
                        .get(at..)
                        .and_then(|rest| rest.find('/'))
                        .map_or(name.len(), |slash| at.saturating_add(slash));
                    name.get(..end).is_some_and(npm_is_exact)
                })
            }
        }
    }
}

/// `name@1.2.3`, `@scope/name@1.2.3`, `alias@npm:name@1.2.3`; a git address with a full commit.
fn npm_is_exact(spec: &str) -> bool {
    if spec.contains(':') && !spec.contains("@npm:") {
        let commit = spec.rsplit_once('#').map(|(_, commit)| commit);
        return commit.is_some_and(|commit| {
            commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
    }
    let version = spec
        .rfind('@')
        .filter(|at| *at > 0)
        .and_then(|at| spec.get(at.saturating_add(1)..));
    version.is_some_and(|version| {
        is_semantic_version(version.strip_prefix(['v', '=']).unwrap_or(version))
    })
}

/// Three numbers, then what a pre-release and a build may add (semver.org).
fn is_semantic_version(version: &str) -> bool {
    let end = version.find(['-', '+']).unwrap_or(version.len());
    let (numbers, rest) = version.split_at_checked(end).unwrap_or((version, ""));
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let rest_is_sound = rest
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-+.".contains(&byte));
    numbers.split('.').filter(|part| number(part)).count() == 3
        && numbers.split('.').count() == 3
        && rest_is_sound
}

/// `name==1.2.3`, `name[extra]==1.2.3`, and `name@1.2.3` as `uvx` reads it. A version of PEP 440
/// is one version whatever its length; `==1.*` and several clauses are none.
fn pypi_is_exact(spec: &str) -> bool {
    let name_ends = spec
        .find(['=', '@', '<', '>', '~', '!', ';', ' ', ','])
        .unwrap_or(spec.len());
    let (_, rest) = spec.split_at_checked(name_ends).unwrap_or((spec, ""));
    let rest = rest.trim_start();
    let version = rest
        .strip_prefix("===")
        .or_else(|| rest.strip_prefix("=="))
        .or_else(|| rest.strip_prefix('@'));
    version.map(str::trim).is_some_and(|version| {
        let version = version.strip_prefix('v').unwrap_or(version);
        version.starts_with(|c: char| c.is_ascii_digit())
            && version
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b".+!-_".contains(&byte))
    })
}

#[cfg(test)]
#[path = "runner_tests.rs"]
mod tests;
