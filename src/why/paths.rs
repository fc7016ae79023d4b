//! Which of the paths that a server wanted were refused by us, and the least that grants them.

use std::path::Path;

use nix::errno::Errno;
use nix::unistd::AccessFlags;

use super::attempt::Intent;
use super::finding::{Finding, What};
use super::judge::Judge;
use super::world::{self, Kind};
use crate::confine::Promise;
use crate::plan::{Rights, facts};
use crate::text;

/// Files of the person's home that a program finds by a variable too: where, by which, whose.
const NAMED: [(&str, &str, &str); 7] = [
    (".npmrc", "npm_config_userconfig", "np"),
    (".gitconfig", "GIT_CONFIG_GLOBAL", "git"),
    (".config/git/config", "GIT_CONFIG_GLOBAL", "git"),
    (".kube/config", "KUBECONFIG", "kubectl"),
    (".config/pip/pip.conf", "PIP_CONFIG_FILE", "pip"),
    (".pip/pip.conf", "PIP_CONFIG_FILE", "pip"),
    (".config/uv/uv.toml", "UV_CONFIG_FILE", "uv"),
];

/// The terminal of whoever asks.
pub(super) const TERMINAL: &str = "/dev/tty";

/// A path that was wanted in vain.
pub(super) fn judge(
    judge: &Judge<'_>,
    path: &Path,
    intent: Intent,
    errno: Errno,
) -> Option<Finding> {
    let plan = &judge.explanation().plan;
    let within = |tree: &str| path.starts_with(tree);
    if within("/proc") || within("/sys") {
        let told = judge.said.has(&path.to_string_lossy());
        return (told && errno != Errno::ENOENT).then(|| {
            let note = "it belongs to the kernel or to other processes; nothing grants it";
            wanted(path, intent, note).promise(Promise::R1)
        });
    }
    if within("/dev") && !within("/dev/shm") {
        return device(judge, path, intent);
    }
    if let Ok(inside) = path.strip_prefix(&plan.home) {
        return in_home(judge, path, inside, intent, errno);
    }
    if intent == Intent::Execute {
        return executed(judge, path);
    }
    if intent.writes() {
        return written(judge, path, intent);
    }
    read(judge, path, intent)
}

/// A finding about a path.
fn wanted(path: &Path, intent: Intent, note: impl Into<String>) -> Finding {
    let kind = if intent == Intent::Execute {
        What::Program
    } else {
        What::Path
    };
    let mut finding = Finding::new(kind, text::path(path), note);
    finding.right = Some(intent.as_str());
    finding.seen = Some(path.to_owned());
    finding.firm = intent != Intent::Look;
    finding.promise = Some(match intent {
        Intent::Execute => Promise::P4,
        Intent::Change => Promise::P3,
        Intent::Watch => Promise::P6,
        intent if intent.writes() => Promise::P2,
        _ => Promise::P1,
    });
    finding
}

fn device(judge: &Judge<'_>, path: &Path, intent: Intent) -> Option<Finding> {
    world::kind(path)?;
    if path == Path::new(TERMINAL) {
        let note = "it asks a person at a terminal; a server has none, and no flag gives it one: \
                    what it asks for is to be told by a variable, an argument or a file";
        return Some(wanted(path, intent, note).promise(Promise::E3));
    }
    let terminal = ["/dev/ptmx", "/dev/pts"]
        .iter()
        .any(|tree| path.starts_with(tree));
    let finding = wanted(path, intent, "a device; nothing grants one").promise(Promise::P5);
    let flags = ["--allow", "pty"];
    if terminal && judge.offer.refused(&flags.map(str::to_owned)).is_none() {
        return Some(Finding {
            note: "terminals of its own, for the programs that it drives".to_owned(),
            ..finding.flags(flags)
        });
    }
    Some(finding)
}

/// Whether the plan grants enough at a path already.
fn covered(judge: &Judge<'_>, path: &Path, enough: &[Rights]) -> bool {
    let grants = &judge.explanation().plan.grants;
    grants
        .iter()
        .any(|grant| path.starts_with(&grant.path) && enough.contains(&grant.rights))
}

const READ: [Rights; 3] = [Rights::Read, Rights::ReadExecute, Rights::Write];

/// A path in the private home: ours where the same stands in the person's own.
fn in_home(
    judge: &Judge<'_>,
    path: &Path,
    inside: &Path,
    intent: Intent,
    errno: Errno,
) -> Option<Finding> {
    if errno != Errno::ENOENT && errno != Errno::ENOTDIR {
        return None;
    }
    if intent.writes() {
        return unmade(judge, path, intent);
    }
    let counterpart = judge.offer.person.home.join(inside);
    if inside.as_os_str().is_empty() || inside.starts_with("tmp") {
        return None;
    }
    let Some(kind) = world::kind(&counterpart) else {
        return in_neither(judge, path, inside, intent);
    };
    let there = world::resolved(&counterpart)?;
    if !matches!(kind, Kind::File | Kind::Directory) || !world::may(&there, AccessFlags::R_OK) {
        return None;
    }
    let note = format!(
        "its HOME is a private one; {} is in yours",
        text::path(&counterpart)
    );
    let mut finding = wanted(path, intent, note);
    finding.what = text::path(&counterpart);
    finding.firm |= kind == Kind::File;
    let plain =
        kind == Kind::File && intent != Intent::Execute && !world::may(&there, AccessFlags::X_OK);
    finding.first = plain.then(|| {
        let copy = format!("cp {} {}", text::path(&there), text::path(path));
        match path.parent().filter(|parent| world::kind(parent).is_none()) {
            Some(parent) => format!("mkdir -p {} && {copy}", text::path(parent)),
            None => copy,
        }
    });
    finding.flags = home_flags(judge, inside, &there, intent);
    if !finding.flags.is_empty() {
        let secrets = judge.offer.places.secrets(&there).map(str::to_owned);
        if let Some(secrets) = secrets {
            finding.note.push_str(&format!("; it holds {secrets}"));
        }
    }
    Some(finding)
}

/// A file of its home that the person does not have either, where the server itself names it.
fn in_neither(judge: &Judge<'_>, path: &Path, inside: &Path, intent: Intent) -> Option<Finding> {
    let short = format!("~/{}", inside.display());
    if !judge.said.names(path) && !judge.said.has_word(&short) {
        return None;
    }
    let note = "its HOME is a private one, and neither that nor yours has it; no flag brings it: \
                put it there, it stays";
    Some(wanted(path, intent, note).outside_too().cause())
}

/// The flags that let a server find a file of the person's home.
fn home_flags(judge: &Judge<'_>, inside: &Path, there: &Path, intent: Intent) -> Vec<String> {
    // A read is no right to execute.
    if intent == Intent::Execute && !covered(judge, there, &[Rights::ReadExecute, Rights::Write]) {
        return Vec::new();
    }
    let owned =
        |flags: &[&str]| -> Vec<String> { flags.iter().map(|flag| (*flag).to_owned()).collect() };
    let shown = there.to_string_lossy();
    let mut offers: Vec<Vec<String>> = Vec::new();
    for (file, variable, program) in NAMED {
        let reader = |by: &String| by.starts_with(program);
        let attempts = judge.trace.attempts.iter();
        let known = attempts
            .filter(|attempt| attempt.by.last().is_some_and(reader))
            .count();
        if inside == Path::new(file) && known > 0 {
            offers.push(owned(&["-e", &format!("{variable}={shown}")]));
        }
    }
    // A server that keeps files in its home could not keep them in the person's.
    if !world::keeps_files(&judge.explanation().plan.home) {
        let home = &judge.offer.person.home;
        let home_word = match "HOME"
            .parse()
            .ok()
            .and_then(|name| facts::caller_value(&name))
        {
            Some(value) if Path::new(&value) == home => "HOME".to_owned(),
            _ => format!("HOME={}", home.display()),
        };
        let mut flags = owned(&["-e", &home_word]);
        if !covered(judge, there, &READ) {
            flags.extend(owned(&["--read", &shown]));
        }
        offers.push(flags);
    }
    let taken = |flags: &Vec<String>| judge.offer.refused(flags).is_none();
    offers.into_iter().find(taken).unwrap_or_default()
}

/// Something that cannot be made in the private home, since what it lies in is not there.
fn unmade(judge: &Judge<'_>, path: &Path, intent: Intent) -> Option<Finding> {
    let parent = path.parent()?;
    if world::kind(parent).is_some() || parent.starts_with(&judge.explanation().plan.tmp) {
        return None;
    }
    let note = "its HOME is a private one, which begins empty, and it does not make this directory itself; \
                no flag is needed: make it once, it stays";
    let mut finding = wanted(path, intent, note);
    finding.what = text::path(parent);
    finding.promise = None;
    Some(finding.first(format!("mkdir -p {}", text::path(parent))))
}

fn read(judge: &Judge<'_>, path: &Path, intent: Intent) -> Option<Finding> {
    let (Some(kind), Some(there)) = (world::kind(path), world::resolved(path)) else {
        return nowhere(path, intent);
    };
    if kind == Kind::Socket {
        // What counts is whether it is spoken to.
        return None;
    }
    if kind == Kind::Special {
        let note = "neither a file nor a directory; nothing grants it";
        return Some(wanted(path, intent, note).promise(Promise::P7));
    }
    if covered(judge, path, &READ) && covered(judge, &there, &READ) {
        return None;
    }
    let how = if kind == Kind::Directory {
        AccessFlags::R_OK | AccessFlags::X_OK
    } else {
        AccessFlags::R_OK
    };
    if !world::may(&there, how) {
        return closed(path, intent);
    }
    // A directory above what it gets is there, with nothing in it but that.
    let above = |grant: &crate::plan::Grant| grant.path.starts_with(&there);
    let looked = intent == Intent::Look;
    if looked && kind == Kind::Directory && judge.explanation().plan.grants.iter().any(above) {
        return None;
    }
    let flags = ["--read".to_owned(), there.to_string_lossy().into_owned()];
    Some(match judge.offer.refused(&flags) {
        Some(why) => wanted(path, intent, format!("nothing grants it: {why}")),
        None => {
            let mut note = String::new();
            if there != path {
                note = format!(
                    "{} leads there by a link, which the server does not see: have it use {}",
                    text::path(path),
                    text::path(&there)
                );
            }
            let secrets = judge.offer.places.secrets(&there);
            if let Some(secrets) = secrets {
                note = [note, format!("it holds {secrets}")]
                    .into_iter()
                    .filter(|part| !part.is_empty())
                    .collect::<Vec<_>>()
                    .join("; ");
            }
            Finding {
                flags: flags.to_vec(),
                firm: intent != Intent::Look || kind == Kind::File,
                ..wanted(path, intent, note)
            }
        }
    })
}

fn executed(judge: &Judge<'_>, path: &Path) -> Option<Finding> {
    let Some(there) = world::resolved(path) else {
        return nowhere(path, Intent::Execute);
    };
    if world::kind(&there) != Some(Kind::File) || !world::may(&there, AccessFlags::X_OK) {
        return None;
    }
    let enough = [Rights::ReadExecute, Rights::Write];
    if covered(judge, path, &enough) && covered(judge, &there, &enough) {
        return None;
    }
    Some(program(
        judge,
        path,
        "programs are executed from the directories of its PATH",
    ))
}

/// A program outside, that a longer `PATH` would bring along.
pub(super) fn program(judge: &Judge<'_>, path: &Path, note: &str) -> Finding {
    let mut finding = wanted(path, Intent::Execute, note);
    let search = judge.offer.search_path().to_env();
    if let Some(directory) = path.parent() {
        let flags = vec![
            "-e".to_owned(),
            format!("PATH={search}:{}", directory.display()),
        ];
        match judge.offer.refused(&flags) {
            None => finding.flags = flags,
            Some(why) => finding.note = format!("nothing grants it: {why}"),
        }
    }
    finding
}

fn written(judge: &Judge<'_>, path: &Path, intent: Intent) -> Option<Finding> {
    let plan = &judge.explanation().plan;
    // In its own file systems in memory only what stands there outside is missed.
    let own = super::in_memory(judge.explanation());
    let missed = path.parent().is_some_and(|parent| {
        let place = own.iter().find(|place| path.starts_with(place));
        place.is_none_or(|place| place != parent && world::kind(parent).is_some())
    });
    if covered(judge, path, &[Rights::Write]) || !missed {
        return None;
    }
    let nearest = world::nearest(path)?;
    if !world::may(nearest, AccessFlags::W_OK) {
        // Refused outside too; a file of the person's own in a closed directory is not.
        if world::kind(path).is_none() || !world::may(path, AccessFlags::W_OK) {
            return closed(path, intent);
        }
    }
    let itself = intent == Intent::MakeDirectory || world::kind(path) == Some(Kind::Directory);
    let directory = if itself {
        path.to_owned()
    } else {
        path.parent()?.to_owned()
    };
    let refused = |why: String| Some(wanted(path, intent, format!("nothing grants it: {why}")));
    if let Some(dir) = &plan.dir {
        return refused(format!(
            "it may write one directory, and that is {}; have it write there, by a setting of its own",
            text::path(dir)
        ));
    }
    let missing = world::kind(&directory).is_none();
    let directory = world::resolved(&directory).unwrap_or(directory);
    let flags = vec!["--dir".to_owned(), directory.to_string_lossy().into_owned()];
    let why = if missing {
        judge.offer.unwritable(&directory)
    } else {
        judge.offer.refused(&flags)
    };
    if let Some(why) = why {
        // A package that makes its own program executable at its first start.
        let runs = intent == Intent::Change && world::is_closed_program(path);
        return refused(why).map(|finding| match runs {
            true => finding.first(format!("chmod +x {}", text::path(path))),
            false => finding,
        });
    }
    let mut finding = wanted(
        path,
        intent,
        "the directory that it may write, and starts in",
    );
    finding.flags = flags;
    Some(if missing {
        finding.first(format!("mkdir -p {}", text::path(&directory)))
    } else {
        finding
    })
}

/// What is refused outside too.
fn closed(path: &Path, intent: Intent) -> Option<Finding> {
    let note = "you may not do that either, confined or not; no flag grants it";
    Some(wanted(path, intent, note).outside_too())
}

/// What is nowhere.
fn nowhere(path: &Path, intent: Intent) -> Option<Finding> {
    let note = "it is nowhere on this machine, for you neither; no flag brings it";
    Some(wanted(path, intent, note).outside_too())
}
