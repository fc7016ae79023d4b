//! The word of a version manager on what one of its stand-ins stands for, where its files do not
//! say ([`super::shim`]): a plugin's choice, `lts`, the system's own.
//!
//! Asked when a person is, and never by a run: what it says then stands in the frozen `PATH`. The
//! manager is the one that the stand-in itself would start, run as that would run it: `which
//! NAME` from the home, with little of the environment, for a moment, and ended with all it began.
#![expect(
    clippy::disallowed_methods,
    reason = "asked by `facts` where a person waits: starts a version manager"
)]

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::links::follow;
use super::{SearchPath, program, shim};

/// How long it may take; asdf's takes half a second.
const LIMIT: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(10);
/// A stand-in, and an answer, are no longer.
const SCRIPT: u64 = 16 * 1024;
const ANSWER: u64 = 4_096;

/// The managers that are asked, and the variable by which each knows its root.
const MANAGERS: [(&str, &str); 9] = [
    ("pyenv", "PYENV_ROOT"),
    ("rbenv", "RBENV_ROOT"),
    ("nodenv", "NODENV_ROOT"),
    ("goenv", "GOENV_ROOT"),
    ("jenv", "JENV_ROOT"),
    ("plenv", "PLENV_ROOT"),
    ("asdf", "ASDF_DATA_DIR"),
    ("mise", "MISE_DATA_DIR"),
    ("volta", "VOLTA_HOME"),
];

/// The search path with the directory of the real program before that of a stand-in for it; in front of
/// all else for a stand-in that is declared by its path, so that [`answered`] knows it again.
#[must_use]
pub(crate) fn resolved(path: SearchPath, command: &str, home: &Path) -> SearchPath {
    within(path, command, home, LIMIT)
}

fn within(path: SearchPath, command: &str, home: &Path, limit: Duration) -> SearchPath {
    let by_path = command.contains('/');
    let found = program::locate(command, &path).ok();
    let real = found.as_ref().and_then(|found| {
        let asked = shim::is_stand_in(found) && shim::real(found, home).is_none();
        asked.then(|| which(found, &path, home, limit)).flatten()
    });
    let (Some(found), Some(real)) = (found, real) else {
        return path;
    };
    let (before, dir) = (found.parent(), real.parent());
    if by_path {
        let first = dir.into_iter().chain(before).map(Path::to_owned);
        return SearchPath::once(first.chain(path.0).collect());
    }
    let entries = path.0.into_iter().flat_map(|entry| {
        let first = dir.filter(|_| Some(entry.as_path()) == before);
        first.map(Path::to_owned).into_iter().chain([entry])
    });
    SearchPath::once(entries.collect())
}

/// What stands for a stand-in that is found by its path: the program of its name in the directory
/// that the search path begins with, where the stand-in's own follows.
#[must_use]
pub(super) fn answered(found: &Path, path: &SearchPath) -> Option<PathBuf> {
    let [first, second, ..] = path.0.as_slice() else {
        return None;
    };
    let own = found.parent().is_some_and(|dir| dir == second);
    let real = first.join(found.file_name()?);
    (own && shim::is_stand_in(found) && real.is_file()).then_some(real)
}

/// What the manager of a stand-in answers, where that is another program of the name.
fn which(found: &Path, path: &SearchPath, home: &Path, limit: Duration) -> Option<PathBuf> {
    let (dir, name) = (found.parent()?, found.file_name()?);
    let (manager, variable) = manager(found, path)?;
    let mut command = Command::new(manager);
    command
        .arg("which")
        .arg(name)
        .current_dir(home)
        .env_clear()
        .env("HOME", home)
        .env("PATH", path.to_env())
        .env(variable, dir.parent()?)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0);
    let said = answer(command.spawn().ok()?, limit)?;
    let real = PathBuf::from(said.lines().next()?.trim());
    let other = real.is_absolute() && real.file_name() == Some(name) && real.parent() != Some(dir);
    (other && real.is_file()).then_some(real)
}

/// The manager that a stand-in starts: where its link leads, or the first word of the line
/// `exec MANAGER exec …` in it.
fn manager(found: &Path, path: &SearchPath) -> Option<(PathBuf, &'static str)> {
    let known = |program: &Path| {
        let name = program.file_name()?.to_str()?;
        let (_, variable) = MANAGERS.iter().find(|(known, _)| *known == name)?;
        Some(*variable)
    };
    let leads = follow(found).ok()?.resolved;
    if leads != found {
        let beside = leads.with_file_name("volta");
        let of_volta = leads.file_name().is_some_and(|name| name == "volta-shim");
        let program = if of_volta { beside } else { leads };
        return known(&program).map(|variable| (program, variable));
    }
    let small = fs::metadata(found).is_ok_and(|found| found.len() <= SCRIPT);
    let text = small.then(|| fs::read_to_string(found).ok()).flatten()?;
    let named = text.lines().find_map(|line| {
        let mut words = line.trim().strip_prefix("exec ")?.split_whitespace();
        let program = words.next()?.trim_matches(['"', '\'']);
        (words.next() == Some("exec")).then_some(program)
    })?;
    let program = match named.starts_with('/') {
        true => PathBuf::from(named),
        false => program::locate(named, path).ok()?,
    };
    known(&program).map(|variable| (program, variable))
}

/// What a child says that ends well within the limit; what is left of its group is ended.
fn answer(mut child: Child, limit: Duration) -> Option<String> {
    let begun = Instant::now();
    let ended = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status.success(),
            Ok(None) if begun.elapsed() < limit => std::thread::sleep(LOOK),
            Ok(None) | Err(_) => break false,
        }
    };
    if let Ok(group) = i32::try_from(child.id()) {
        // Nothing may be left of it.
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
    let _ = child.wait();
    let out = child.stdout.filter(|_| ended)?;
    // One that left its group may hold the pipe open: what is there is all there is.
    fcntl(&out, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).ok()?;
    let mut said = Vec::new();
    let _ = out.take(ANSWER).read_to_end(&mut said);
    String::from_utf8(said).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    struct Home(tempfile::TempDir);

    impl Home {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(path)
        }

        /// A program; `{}` in it stands for the home.
        fn file(&self, path: &str, text: &str) {
            let file = self.at(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            let text = text.replace("{}", self.at("").to_str().unwrap());
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }

        fn path(&self, dirs: &[&str]) -> SearchPath {
            let own = dirs.iter().map(|dir| self.at(dir));
            SearchPath(own.chain(["/usr/bin".into(), "/bin".into()]).collect())
        }

        /// What a command is found as, along the path that comes of these directories.
        fn found(&self, command: &str, dirs: &[&str]) -> PathBuf {
            let limit = Duration::from_secs(60);
            let path = within(self.path(dirs), command, &self.at(""), limit);
            let found = program::locate(command, &path).unwrap();
            answered(&found, &path).unwrap_or(found)
        }
    }

    /// Two versions, of which no file says which one counts.
    fn asdf(shim: &str, manager: &str) -> Home {
        let home = Home::new();
        home.file(".asdf/shims/node", shim);
        home.file(".asdf/installs/nodejs/20.1.0/bin/node", "");
        home.file(".asdf/installs/nodejs/22.1.0/bin/node", "");
        home.file(".asdf/bin/asdf", manager);
        home
    }

    const SHIM: &str =
        "#!/bin/sh\n# asdf-plugin: nodejs 20.1.0\nexec {}.asdf/bin/asdf exec \"node\" \"$@\"\n";
    // The home of these tests ends in a slash.
    const ANSWERS: &str = "#!/bin/sh\n[ \"$1\" = which ] && [ \"$ASDF_DATA_DIR\" = \"$HOME.asdf\" ] \
        && [ \"$PWD/\" = \"$HOME\" ] && echo \"$HOME.asdf/installs/nodejs/20.1.0/bin/$2\"\n";

    #[test]
    fn a_manager_whose_files_do_not_say_is_asked() {
        let home = asdf(SHIM, ANSWERS);
        let real = home.at(".asdf/installs/nodejs/20.1.0/bin/node");
        assert_eq!(home.found("node", &[".asdf/shims"]), real);
        // By its path, whether its directory is searched or not, and last or first.
        let by_path = home.at(".asdf/shims/node");
        for dirs in [&[][..], &[".asdf/shims"], &["bin", ".asdf/shims"]] {
            assert_eq!(home.found(by_path.to_str().unwrap(), dirs), real);
        }
        // The later ones name no path: they are looked for.
        let home = asdf("#!/bin/sh\nexec asdf exec \"node\" \"$@\"\n", ANSWERS);
        let real = home.at(".asdf/installs/nodejs/20.1.0/bin/node");
        assert_eq!(home.found("node", &[".asdf/shims", ".asdf/bin"]), real);
    }

    #[test]
    fn pyenvs_system_and_a_link_to_mise() {
        let home = Home::new();
        let shim = "#!/usr/bin/env bash\nexport PYENV_ROOT=\"{}.pyenv\"\nexec \"{}.pyenv/libexec/pyenv\" exec \"$program\" \"$@\"\n";
        home.file(".pyenv/shims/env", shim);
        home.file(".pyenv/version", "system\n");
        home.file(".pyenv/versions/3.12.1/bin/env", "");
        home.file(".pyenv/libexec/pyenv", "#!/bin/sh\necho /usr/bin/$2\n");
        assert_eq!(
            home.found("env", &[".pyenv/shims"]),
            Path::new("/usr/bin/env")
        );

        let home = Home::new();
        home.file(
            "bin/mise",
            "#!/bin/sh\necho \"$MISE_DATA_DIR/installs/node/22/bin/$2\"\n",
        );
        home.file("mise/installs/node/20/bin/node", "");
        home.file("mise/installs/node/22/bin/node", "");
        fs::create_dir_all(home.at("mise/shims")).unwrap();
        symlink(home.at("bin/mise"), home.at("mise/shims/node")).unwrap();
        let real = home.at("mise/installs/node/22/bin/node");
        assert_eq!(home.found("node", &["mise/shims"]), real);
    }

    #[test]
    fn what_answers_badly_leaves_the_stand_in() {
        for manager in [
            "#!/bin/sh\nexit 1\n",
            "#!/bin/sh\necho installs/nodejs/20.1.0/bin/node\n",
            "#!/bin/sh\necho {}.asdf/shims/node\n",
            "#!/bin/sh\necho {}.asdf/installs/nodejs/9/bin/node\n",
            "#!/bin/sh\necho {}.asdf/bin/asdf\n",
            "#!/bin/sh\necho {}.asdf/installs/nodejs/20.1.0/bin/node; exit 3\n",
        ] {
            let home = asdf(SHIM, manager);
            let stand_in = home.at(".asdf/shims/node");
            assert_eq!(home.found("node", &[".asdf/shims"]), stand_in, "{manager}");
            assert_eq!(home.found(stand_in.to_str().unwrap(), &["bin"]), stand_in);
        }
        // Nothing is waited for without end, and nothing is left of it.
        let home = asdf(SHIM, "#!/bin/sh\necho $$ > {}pid\nexec sleep 1000\n");
        let path = home.path(&[".asdf/shims"]);
        let limit = Duration::from_millis(500);
        assert_eq!(within(path.clone(), "node", &home.at(""), limit), path);
        if let Ok(pid) = fs::read_to_string(home.at("pid")) {
            assert!(!Path::new("/proc").join(pid.trim()).exists());
        }
    }

    #[test]
    fn nothing_else_is_started() {
        let touch = "#!/bin/sh\ntouch {}ran\n";
        // Its files say; it is no manager that is known; it is no directory of stand-ins.
        let said = asdf(SHIM, touch);
        said.file(".tool-versions", "nodejs 22.1.0\n");
        let other = asdf("#!/bin/sh\nexec {}.asdf/bin/other exec node\n", "");
        other.file(".asdf/bin/other", touch);
        let elsewhere = Home::new();
        elsewhere.file("bin/node", SHIM);
        elsewhere.file(".asdf/bin/asdf", touch);
        for (home, dir) in [
            (said, ".asdf/shims"),
            (other, ".asdf/shims"),
            (elsewhere, "bin"),
        ] {
            home.found("node", &[dir]);
            assert!(!home.at("ran").exists(), "{dir}");
        }
    }
}
