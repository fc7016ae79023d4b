//! What was seen and said, put together: the findings, which of them is likely the cause, and
//! the one line that grants what stands out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::finding::{Finding, What};
use super::judge::Judge;
use super::paths;
use super::said::Said;
use super::world::{self, Kind};
use crate::confine::Promise;
use crate::declaration::EnvName;
use crate::plan::{Source, facts};
use crate::text;

/// Variables that say where certificates are, by who reads them first.
const NODE_CERTIFICATES: [&str; 3] = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "npm_config_cafile"];
const CERTIFICATES: [&str; 5] = [
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "PIP_CERT",
    "NODE_EXTRA_CA_CERTS",
];
/// Where systems keep the certificates that everybody trusts.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
/// Variables that name sockets of the person's session: with their value nothing is reached.
const SOCKETS: [&str; 6] = [
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "DOCKER_HOST",
    "GPG_AGENT_INFO",
    "SSH_AUTH_SOCK",
    "WAYLAND_DISPLAY",
];

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The server came up.
    Works,
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
            finding.cause = decides(finding, said, end) || names(said, finding);
        }
        found.extend(over_memory(judge, &found));
        let told = [certificates(judge, &found), build(judge)];
        found.extend(told.into_iter().flatten());
        found.extend(commands(judge));
        found.extend(variables(judge));
        if !found.iter().any(|finding| finding.cause) {
            found.extend(read_by_script(judge));
        }
        last_resort(&mut found);
        // What fails outside too is told where it is the reason.
        let ours: BTreeSet<String> = found
            .iter()
            .filter(|finding| finding.ours)
            .map(|finding| finding.what.clone())
            .collect();
        found.retain(|finding| {
            finding.ours || (finding.cause && !ours.contains(&finding.what))
        });
    }
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
        What::Host => finding.ours && (end == End::Mute || said.network()),
        _ => false,
    }
}

/// Where nothing is named, what it was refused last stands out. Looking whether something is
/// there, and listing what is beside a script, is what every program does.
fn last_resort(found: &mut [Finding]) {
    if found.iter().any(|finding| finding.cause) {
        return;
    }
    let idle = |finding: &Finding| matches!(finding.right, Some("look" | "list" | "watch"));
    let stands_out = |finding: &&mut Finding| {
        let spoken = matches!(finding.kind, What::Socket | What::Host);
        !idle(finding) && (finding.ours || spoken)
    };
    let last = found.iter_mut().filter(stands_out);
    if let Some(last) = last.max_by_key(|finding| (finding.ours, finding.last)) {
        last.cause = true;
    }
}

/// Memory that it used up together, for which it was ended.
fn over_memory(judge: &Judge<'_>, found: &[Finding]) -> Option<Finding> {
    let known = found.iter().any(|finding| finding.kind == What::Limit);
    if known || !judge.said.over("of memory") {
        return None;
    }
    judge.bound(super::attempt::Bound::Memory, 0, 1).map(Finding::cause)
}

fn given(judge: &Judge<'_>, name: &str) -> Option<bool> {
    let variables = &judge.explanation().plan.variables;
    let known = variables.iter().find(|known| known.name.as_str() == name)?;
    Some(known.source != Source::Unset)
}

/// Variables that it says it lacks, or that were named and not set.
fn variables(judge: &Judge<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for name in judge.said.variables() {
        if given(judge, &name) != Some(true) {
            found.extend(variable(judge, &name).map(Finding::cause));
        }
    }
    for unset in &judge.explanation().plan.variables {
        let name = unset.name.as_str();
        if unset.source == Source::Unset && !found.iter().any(|known: &Finding| known.what == name) {
            found.extend(variable(judge, name));
        }
    }
    found
}

fn variable(judge: &Judge<'_>, name: &str) -> Option<Finding> {
    let known: EnvName = name.parse().ok()?;
    let here = facts::caller_value(&known).is_some();
    if SOCKETS.contains(&name) {
        let note = "it names a socket of your session, which the server does not reach, with the variable or without";
        return Some(Finding::new(What::Variable, name, note).promise(Promise::N2));
    }
    let named = given(judge, name).is_some();
    let (word, note) = match (here, named) {
        (true, _) => (name.to_owned(), "it is set here, and the server does not get it unless it is named"),
        (false, true) => (
            format!("{name}=-"),
            "the declaration passes it by name, and it is not set here; stored, it is the same whoever starts the server",
        ),
        (false, false) => (format!("{name}=-"), "the server does not get it; the value is asked for"),
    };
    let mut flags = vec!["-e".to_owned(), word];
    let mut finding = Finding::new(What::Variable, name, note).promise(Promise::E1);
    if let Some(why) = judge.offer.refused(&flags) {
        flags.extend(["--allow".to_owned(), "loader-env".to_owned()]);
        if judge.offer.refused(&flags).is_some() {
            finding.note = format!("nothing grants it: {why}");
            return Some(finding);
        }
    }
    finding.flags = flags;
    Some(finding)
}

/// Variables that the script it runs reads, that are set here and that it does not get.
fn read_by_script(judge: &Judge<'_>) -> Vec<Finding> {
    let plan = &judge.explanation().plan;
    let scripts = plan.argv.iter().map(PathBuf::from).filter(|path| path.is_absolute());
    let mut found: Vec<Finding> = Vec::new();
    for text in scripts.filter_map(|path| world::text(&path)) {
        for name in super::script::variables(&text) {
            let set = name.parse().ok().and_then(|name| facts::caller_value(&name)).is_some();
            let new = !found.iter().any(|known| known.what == name);
            if given(judge, &name).is_none() && set && new {
                found.extend(variable(judge, &name));
            }
        }
    }
    if let [only] = found.as_mut_slice() {
        only.cause = true;
    }
    found
}

/// Programs that it did not find, where the person has them.
fn commands(judge: &Judge<'_>) -> Vec<Finding> {
    let granted = judge.offer.search_path();
    let mut found = Vec::new();
    for name in judge.said.commands() {
        let here = |directory: &PathBuf| {
            let path = directory.join(&name);
            (world::kind(&path) == Some(Kind::File)).then_some(path)
        };
        if granted.0.iter().find_map(here).is_some() {
            continue;
        }
        found.push(match facts::search_path().0.iter().find_map(here) {
            Some(path) => {
                let note = "it is on your PATH, and was not when the server was approved";
                paths::program(judge, &path, note).cause()
            }
            None => {
                let note = "it is in no directory of the server's PATH and of yours; \
                            no flag brings it: it is to be installed";
                Finding::new(What::Program, name, note).outside_too().cause()
            }
        });
    }
    found
}

/// Certificates of authorities that it does not trust.
fn certificates(judge: &Judge<'_>, found: &[Finding]) -> Option<Finding> {
    if !judge.said.distrusts() {
        return None;
    }
    let looks = |finding: &Finding| {
        let ends = [".pem", ".crt", ".cer", "/certs"];
        finding.cause && ends.iter().any(|end| finding.what.ends_with(end))
    };
    if found.iter().any(looks) {
        return None;
    }
    let said = judge.said;
    let node = ["_IN_CHAIN", "UNABLE_TO_", "DEPTH_ZERO", "npm "].iter().any(|text| said.has(text));
    let uv = said.has("UnknownIssuer");
    let names: &[&str] = if node { &NODE_CERTIFICATES } else { &CERTIFICATES };
    let note = "it does not trust who signed a certificate";
    let mut finding = Finding::new(What::Certificates, "certificates", note).cause();
    let offers = names
        .iter()
        .filter(|name| given(judge, name).is_none())
        .filter_map(|name| {
            let file = facts::caller_value(&name.parse().ok()?)?;
            (world::kind(Path::new(&file)) == Some(Kind::File)).then(|| format!("{name}={file}"))
        })
        .chain(authorities(judge))
        .chain(uv.then(|| "UV_SYSTEM_CERTS=1".to_owned()))
        .chain(BUNDLES.iter().filter_map(|bundle| {
            let name = if node { "NODE_EXTRA_CA_CERTS" } else { "SSL_CERT_FILE" };
            let fresh = given(judge, name).is_none();
            (fresh && world::kind(Path::new(bundle)).is_some()).then(|| format!("{name}={bundle}"))
        }));
    let mut offers = offers.map(|word| vec!["-e".to_owned(), word]);
    match offers.find(|flags| judge.offer.refused(flags).is_none()) {
        Some(flags) => {
            finding.note = format!("{note}; whom you trust, it is told by a variable that you have set, or by this machine's own list");
            finding.flags = flags;
        }
        None => finding.note = format!("{note}; no file of certificates is known here that would help"),
    }
    Some(finding)
}

/// The file of certificates that npm is told of in the person's settings.
fn authorities(judge: &Judge<'_>) -> Option<String> {
    let of_person = judge.offer.person.home.join(".npmrc");
    [of_person, "/usr/etc/npmrc".into(), "/etc/npmrc".into()]
        .iter()
        .filter_map(|path| world::text(path))
        .find_map(|text| setting(&text, "cafile"))
        .filter(|file| world::kind(Path::new(file)) == Some(Kind::File))
        .map(|file| format!("npm_config_cafile={file}"))
}

/// A setting of an `npmrc`.
fn setting(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        let value = value.trim().trim_matches('"');
        (key.trim() == name && !value.is_empty()).then(|| value.to_owned())
    })
}

/// Headers that a build of native code wants.
fn build(judge: &Judge<'_>) -> Option<Finding> {
    let header = judge.said.header();
    if judge.said.gyp() && header.as_deref().is_none_or(|name| name.starts_with("node")) {
        return Some(node_headers(judge));
    }
    let name = header?;
    let outside = judge.trace.attempts.iter().any(|attempt| match &attempt.target {
        super::attempt::Target::Path(path, _) => {
            world::kind(&path.join(&name)).is_some()
                || (path.ends_with(&name) && world::kind(path).is_some())
        }
        _ => false,
    });
    // Then it is found where the compiler was refused it.
    if outside {
        return None;
    }
    let package = if name == "Python.h" {
        "that is the package python3-dev, python3-devel or the like"
    } else {
        "that is what a package named -dev or -devel brings"
    };
    let note = format!(
        "where the compiler looks there is none, confined or not; no flag brings it: install it ({package})"
    );
    let what = format!("the header {name}");
    Some(Finding::new(What::Build, what, note).outside_too().cause())
}

/// The headers of Node, which node-gyp fetches unless it is told where they are.
fn node_headers(judge: &Judge<'_>) -> Finding {
    let what = "the headers of Node";
    let told = world::text(&judge.offer.person.home.join(".npmrc"))
        .and_then(|text| setting(&text, "nodedir"))
        .map(PathBuf::from);
    let search = judge.offer.search_path();
    let around = search.0.iter().filter_map(|directory| {
        let node = world::resolved(&directory.join("node"))?;
        Some(node.parent()?.parent()?.to_owned())
    });
    let prefix = told
        .into_iter()
        .chain(around)
        .chain([PathBuf::from("/usr")])
        .find(|prefix| world::kind(&prefix.join("include/node/node_version.h")).is_some());
    if given(judge, "npm_config_nodedir").is_none()
        && let Some(prefix) = prefix
    {
        let mut flags = vec![
            "-e".to_owned(),
            format!("npm_config_nodedir={}", prefix.display()),
        ];
        let grants = &judge.explanation().plan.grants;
        if !grants.iter().any(|grant| prefix.starts_with(&grant.path)) {
            let headers = prefix.join("include/node");
            flags.extend(["--read".to_owned(), headers.to_string_lossy().into_owned()]);
        }
        if judge.offer.refused(&flags).is_none() {
            let note = format!(
                "node-gyp fetches them from nodejs.org unless it is told where they are: in {}",
                text::path(&prefix)
            );
            let mut finding = Finding::new(What::Build, what, note).cause();
            finding.flags = flags;
            return finding;
        }
    }
    let note = "node-gyp fetches them from nodejs.org, and they are nowhere on this machine; \
                no flag brings them: install them (libnode-dev, nodejs-devel), or a server without native code";
    Finding::new(What::Build, what, note).outside_too().cause()
}
