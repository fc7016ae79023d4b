//! What a directory is, from the names in it: how programs are laid out on disk. Pure.
//!
//! An installation is what surrounds a `bin` directory. Where it is known for what it is, all
//! that belongs to it is granted; where it is not, no more than programs and libraries.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Names of directories that hold programs, right below an installation.
const BIN: [&str; 4] = ["bin", "sbin", "shims", "Scripts"];
/// All that is granted of a root that many things share (`~/.local`, the home).
pub(crate) const SHARED_PARTS: [&str; 3] = ["bin", "lib", "libexec"];
/// What is granted around a program that a link leads to, where nothing says what it is.
pub(crate) const LINKED_PARTS: [&str; 5] = ["bin", "lib", "lib64", "libexec", "share"];
/// Files by which a version manager's shim chooses a version, looked for from the working
/// directory upward, and so in the home.
pub(crate) const VERSION_FILES: [&str; 6] = [
    ".tool-versions",
    ".python-version",
    ".node-version",
    ".nvmrc",
    ".ruby-version",
    ".java-version",
];
/// Marks of a version control system.
pub(crate) const CHECKOUT: [&str; 9] = [
    ".git",
    ".hg",
    ".svn",
    ".jj",
    ".bzr",
    "_darcs",
    ".fslckout",
    ".pijul",
    "CVS",
];

/// What the surroundings of a `bin` directory are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One installation and nothing else.
    Whole(&'static str),
    /// A virtual environment of Python: whole, and its base interpreter besides.
    Venv,
    /// A version manager or package manager: these of its children, and no others.
    Manager(Vec<String>),
    /// Somebody's working copy, whose other files are nobody's business.
    Checkout,
    /// Nothing says.
    Unknown,
}

/// The directory that a program's own directory belongs to, if that is a `bin`.
#[must_use]
pub(crate) fn root_of_bin(dir: &Path) -> Option<&Path> {
    let name = dir.file_name()?;
    dir.parent().filter(|_| BIN.iter().any(|bin| name == *bin))
}

/// The outermost `node_modules` at or above a path: packages in it use those beside them.
#[must_use]
pub(crate) fn node_modules(path: &Path) -> Option<PathBuf> {
    let found = path
        .ancestors()
        .filter(|above| above.file_name().is_some_and(|name| name == "node_modules"));
    found.last().map(Path::to_owned)
}

/// What a directory with these names in it, and these in its `lib`, is.
#[must_use]
pub(crate) fn shape(names: &BTreeSet<String>, lib: &BTreeSet<String>) -> Shape {
    let checkout = || CHECKOUT.iter().any(|mark| names.contains(*mark));
    if names.contains("pyvenv.cfg") {
        Shape::Venv
    } else if names.contains("conda-meta") {
        Shape::Whole("Conda environment")
    } else if let Some(known) = manager(names) {
        let parts = names.iter().filter(|name| known.has(name));
        Shape::Manager(parts.cloned().collect())
    } else if checkout() {
        Shape::Checkout
    } else {
        language(names, lib).map_or(Shape::Unknown, Shape::Whole)
    }
}

/// Which children of a manager's root are its programs and what they need: by name, by how the
/// name begins, by how it ends.
struct Parts {
    names: &'static str,
    begin: Option<&'static str>,
    end: Option<&'static str>,
}

impl Parts {
    fn has(&self, name: &str) -> bool {
        self.names
            .split_ascii_whitespace()
            .any(|known| known == name)
            || self.begin.is_some_and(|begin| name.starts_with(begin))
            || self.end.is_some_and(|end| name.ends_with(end))
    }
}

fn manager(names: &BTreeSet<String>) -> Option<Parts> {
    let has = |name: &str| names.contains(name);
    let named = |names| Parts {
        names,
        begin: None,
        end: None,
    };
    if has("shims") && has("versions") {
        // pyenv, rbenv, nodenv, goenv, jenv, plenv: `pyenv.d` and the like hold hooks.
        let names = "bin libexec lib shims versions version plugins completions";
        Some(Parts {
            end: Some(".d"),
            ..named(names)
        })
    } else if has("shims") && has("installs") {
        // asdf and mise.
        Some(named(
            "bin libexec lib internal shims installs plugins defaults version.txt VERSION asdf.sh \
             help.txt",
        ))
    } else if has("tools") && names.iter().any(|name| name.starts_with(VOLTA)) {
        Some(Parts {
            begin: Some(VOLTA),
            ..named("bin tools hooks.json")
        })
    } else if has("Cellar") {
        // Homebrew; `var` holds the data of services.
        Some(named("bin sbin lib libexec share include opt etc Cellar"))
    } else {
        None
    }
}

/// How the name of the file begins by which Volta knows its own layout.
const VOLTA: &str = "layout.v";

/// The installation of one language and nothing else.
fn language(names: &BTreeSet<String>, lib: &BTreeSet<String>) -> Option<&'static str> {
    let has = |name: &str| names.contains(name);
    let python = |name: &String| name.starts_with("python") || name.starts_with("pypy");
    if lib.iter().any(python) {
        Some("Python installation")
    } else if lib.contains("node_modules") {
        Some("Node installation")
    } else if lib.contains("ruby") {
        Some("Ruby installation")
    } else if has("release") && has("lib") && (has("conf") || has("jre")) {
        Some("Java installation")
    } else if has("VERSION") && has("pkg") && has("src") {
        Some("Go installation")
    } else if has("autoload.php") && has("composer") {
        Some("Composer packages")
    } else {
        None
    }
}

/// The directory of the interpreter that a virtual environment was made from, out of the text
/// of its `pyvenv.cfg` (PEP 405: `home = /usr/bin`).
#[must_use]
pub(crate) fn venv_home(text: &str) -> Option<PathBuf> {
    let home = text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        key.trim()
            .eq_ignore_ascii_case("home")
            .then(|| value.trim())
    });
    home.map(PathBuf::from).filter(|home| home.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &str) -> BTreeSet<String> {
        list.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn roots_of_bin_directories() {
        assert_eq!(
            root_of_bin(Path::new("/h/.local/bin")),
            Some(Path::new("/h/.local"))
        );
        assert_eq!(
            root_of_bin(Path::new("/h/.pyenv/shims")),
            Some(Path::new("/h/.pyenv"))
        );
        assert_eq!(root_of_bin(Path::new("/h/app")), None);
        assert_eq!(root_of_bin(Path::new("/")), None);
    }

    #[test]
    fn the_outermost_node_modules() {
        let of = |path: &str| {
            node_modules(Path::new(path)).map(|found| found.to_str().unwrap().to_owned())
        };
        assert_eq!(
            of("/p/node_modules/a/node_modules/b/dist").as_deref(),
            Some("/p/node_modules")
        );
        assert_eq!(
            of("/p/node_modules/.bin").as_deref(),
            Some("/p/node_modules")
        );
        assert_eq!(of("/p/node_modules").as_deref(), Some("/p/node_modules"));
        assert_eq!(of("/p/my_node_modules/x"), None);
    }

    #[test]
    fn shapes() {
        let of = |top: &str, lib: &str| shape(&names(top), &names(lib));
        let parts = |list: &str| Shape::Manager(names(list).into_iter().collect());
        assert_eq!(of("bin lib pyvenv.cfg", "python3.11"), Shape::Venv);
        assert_eq!(
            of("bin conda-meta envs", ""),
            Shape::Whole("Conda environment")
        );
        assert_eq!(
            of(
                ".git bin libexec shims versions version plugins pyenv.d README.md test",
                ""
            ),
            parts("bin libexec shims versions version plugins pyenv.d")
        );
        assert_eq!(
            of("installs shims plugins downloads", ""),
            parts("installs shims plugins")
        );
        assert_eq!(
            of("bin tools tmp log layout.v4 hooks.json", ""),
            parts("bin tools layout.v4 hooks.json")
        );
        assert_eq!(of("Cellar bin var etc", ""), parts("Cellar bin etc"));
        assert_eq!(of("bin lib .git", "python3.11"), Shape::Checkout);
        assert_eq!(
            of("bin lib include share", "node_modules"),
            Shape::Whole("Node installation")
        );
        assert_eq!(
            of("bin lib", "python3.12 libpython3.12.so"),
            Shape::Whole("Python installation")
        );
        assert_eq!(of("bin lib secrets.txt", "x.so"), Shape::Unknown);
    }

    #[test]
    fn the_base_of_an_environment() {
        assert_eq!(
            venv_home("home = /usr/bin\nversion = 3.11\n"),
            Some("/usr/bin".into())
        );
        assert_eq!(
            venv_home("version=3\nHOME=/opt/py/bin\r\n"),
            Some("/opt/py/bin".into())
        );
        assert_eq!(venv_home("home = relative\n"), None);
        assert_eq!(venv_home("homely = /x\n"), None);
    }
}
