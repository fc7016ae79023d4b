//! What was seen and said, put together: the findings, which of them is likely the cause, and
//! the one line that grants what stands out.

use std::collections::BTreeSet;
use std::path::Path;

use super::finding::{Finding, What};
use super::judge::Judge;
use super::paths::TERMINAL;
use super::said::Said;
use super::variables;
use super::world::{self, Kind};
use super::{least, missing};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The server came up.
    Works,
    /// It came up now, and its last run failed.
    Before,
    /// It ended, or answered with nothing that can be read.
    Failed,
    /// It gave no answer.
    Mute,
}

/// Every finding, the likely causes first.
pub(super) fn findings(judge: &Judge<'_>, end: End) -> Vec<Finding> {
    let mut found = judge.findings();
    let said = judge.said;
    if end == End::Works {
        found.retain(|finding| finding.ours);
    } else {
        for finding in &mut found {
            finding.cause |= decides(finding, said, end) || names(said, finding);
        }
        found.extend(over_memory(judge, &found));
        let told = [missing::certificates(judge, &found), missing::build(judge)];
        found.extend(told.into_iter().flatten());
        if let Some(unresolved) = missing::unresolved(judge, &found) {
            // What was asked in vain says no more than that.
            found.retain(|finding| !(finding.kind == What::Host && finding.what.ends_with(":53")));
            found.push(unresolved);
        }
        found.extend(missing::commands(judge));
        found.extend(variables::named(judge));
        if !found.iter().any(|finding| finding.cause) {
            found.extend(variables::read_by_it(judge));
        }
        if end != End::Before {
            last_resort(&mut found);
        }
        // What fails outside too is told where it is the reason.
        let ours: BTreeSet<String> = found
            .iter()
            .filter(|finding| finding.ours)
            .map(|finding| finding.what.clone())
            .collect();
        found.retain(|finding| finding.ours || (finding.cause && !ours.contains(&finding.what)));
    }
    least::keep(&mut found);
    let junk = said.junk();
    if junk > 0 {
        let note = "a server speaks the protocol there and nothing else; the relay keeps it from the host, nothing grants it";
        let what = format!("{junk} lines on standard output that are no messages");
        let mut finding = Finding::new(What::Output, what, note).outside_too();
        finding.cause = end != End::Works && !found.iter().any(|finding| finding.cause);
        found.push(finding);
    }
    found.sort_by_key(|finding| (!finding.cause, std::cmp::Reverse(finding.last)));
    found
}

/// Whether the server names what it was refused.
fn names(said: &Said<'_>, finding: &Finding) -> bool {
    let Some(seen) = &finding.seen else {
        return said.has_word(&finding.what);
    };
    if said.names(seen) || said.names(Path::new(&finding.what)) {
        return true;
    }
    if !finding.ours {
        return false;
    }
    let name = seen
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let long = |name: &String| name.len() > 4 && finding.right != Some("list");
    if name.is_some_and(|name| long(&name) && said.has_word(&name)) {
        return true;
    }
    // A file that it names would be found below the directory it was refused.
    let directory = world::kind(seen) == Some(Kind::Directory);
    let module = |name: &str| {
        world::kind(&seen.join(name)) == Some(Kind::Directory)
            || world::kind(&seen.join(format!("{name}.py"))).is_some()
    };
    if directory && said.modules().any(module) {
        return true;
    }
    directory
        && finding.right == Some("look")
        && said.words().any(|word| {
            let relative = word.contains('.') && !word.contains("..") && !word.starts_with('/');
            relative && world::kind(&seen.join(word)) == Some(Kind::File)
        })
}

/// Refusals that hardly any server shrugs off.
fn decides(finding: &Finding, said: &Said<'_>, end: End) -> bool {
    match finding.kind {
        What::Port | What::Limit | What::Namespace => true,
        What::Host => said.network() || (finding.ours && end == End::Mute),
        // Most do without, but for those that say it.
        What::Path => finding.right == Some("watch") && said.watches(),
        _ => false,
    }
}

/// Where nothing is named, what it was refused last stands out, a terminal after all else. Looking
/// for directories, listing what is beside a script, asking for a cache of names and, of shells,
/// for a terminal is what every program does.
fn last_resort(found: &mut [Finding]) {
    if found.iter().any(|finding| finding.cause) {
        return;
    }
    let terminal = |finding: &Finding| finding.what == TERMINAL;
    let idle = |finding: &Finding| {
        let by_shell = finding.by.last().is_some_and(|by| is_shell(by));
        let usual = finding.what.ends_with("/nscd/socket") || (terminal(finding) && by_shell);
        usual || !finding.firm || matches!(finding.right, Some("list" | "watch"))
    };
    let stands_out = |finding: &&mut Finding| {
        let spoken = matches!(finding.kind, What::Socket | What::Host);
        !idle(finding) && (finding.ours || spoken)
    };
    let last = found.iter_mut().filter(stands_out);
    if let Some(last) = last.max_by_key(|finding| (finding.ours, !terminal(finding), finding.last))
    {
        last.cause = true;
    }
}

/// Whether a program, as it is shown, is a shell.
fn is_shell(by: &str) -> bool {
    let program = by.split(' ').next().unwrap_or_default();
    ["ash", "bash", "dash", "ksh", "sh", "zsh"].contains(&program.trim_start_matches('-'))
}

/// Memory that it used up together, for which it was ended.
fn over_memory(judge: &Judge<'_>, found: &[Finding]) -> Option<Finding> {
    let known = found.iter().any(|finding| finding.kind == What::Limit);
    if known || !judge.said.over("of memory") {
        return None;
    }
    judge
        .bound(super::attempt::Bound::Memory, 0, 1)
        .map(Finding::cause)
}
