//! What a server lacks that shows in what it says, or in its script, rather than in what it was
//! refused: variables, programs, certificates, headers; and what brings each.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::attempt::Target;
use super::finding::{Finding, What};
use super::judge::Judge;
use super::paths;
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
const REQUESTS_CERTIFICATES: [&str; 2] = ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"];
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

fn given(judge: &Judge<'_>, name: &str) -> Option<bool> {
    let variables = &judge.explanation().plan.variables;
    let known = variables.iter().find(|known| known.name.as_str() == name)?;
    Some(known.source != Source::Unset)
}

/// Variables that it says it lacks, or that were named and not set.
pub(super) fn variables(judge: &Judge<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for name in judge.said.variables() {
        if given(judge, &name) != Some(true) {
            found.extend(variable(judge, &name).map(Finding::cause));
        }
    }
    for unset in &judge.explanation().plan.variables {
        let name = unset.name.as_str();
        if unset.source == Source::Unset && !found.iter().any(|known: &Finding| known.what == name)
        {
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
        (true, _) => (
            name.to_owned(),
            "it is set here, and the server does not get it unless it is named",
        ),
        (false, true) => (
            format!("{name}=-"),
            "the declaration passes it by name, and it is not set here; stored, it is the same whoever starts the server",
        ),
        (false, false) => (
            format!("{name}=-"),
            "the server does not get it; the value is asked for",
        ),
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

/// Variables that are set here and that it does not get: those its script reads, else those
/// whose names its program or its arguments hold.
pub(super) fn read_by_it(judge: &Judge<'_>) -> Vec<Finding> {
    let plan = &judge.explanation().plan;
    let files: Vec<PathBuf> = plan
        .argv
        .iter()
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .collect();
    let ungiven = |name: &EnvName| given(judge, name.as_str()).is_none();
    let here = facts::caller_names().into_iter().filter(ungiven);
    let here: BTreeSet<String> = here.map(|name| name.as_str().to_owned()).collect();
    let texts = files.iter().filter_map(|path| world::text(path));
    let mut names: Vec<String> = texts
        .flat_map(|text| super::script::variables(&text))
        .filter(|name| here.contains(name))
        .collect();
    if names.is_empty() {
        let settings = here.iter().filter(|name| super::script::is_setting(name));
        let mut contents: Vec<Vec<u8>> = plan.argv.iter().map(|word| word.clone().into()).collect();
        let programs = files.iter().chain([&plan.exec]);
        contents.extend(programs.filter_map(|path| world::bytes(path)));
        let holds = |name: &str| {
            contents.iter().any(|content| {
                let mut parts = content.windows(name.len());
                parts.any(|part| part == name.as_bytes())
            })
        };
        names = settings.filter(|name| holds(name)).cloned().collect();
    }
    let mut found: Vec<Finding> = Vec::new();
    for name in names {
        if !found.iter().any(|known| known.what == name) {
            found.extend(variable(judge, &name));
        }
    }
    if let [only] = found.as_mut_slice() {
        only.cause = true;
    }
    // What Rust says of any variable that is not set.
    if found.is_empty() && judge.said.has_word("NotPresent") {
        let note = "it wants a variable, and says not which: what is written about it does, and \
                    -e NAME grants it";
        let finding = Finding::new(What::Variable, "one that it does not name", note);
        found.push(finding.promise(Promise::E1).cause());
    }
    found
}

/// Programs that it did not find, where the person has them.
pub(super) fn commands(judge: &Judge<'_>) -> Vec<Finding> {
    let granted = judge.offer.search_path();
    let mut found = Vec::new();
    let without = given(judge, "PATH") != Some(true);
    if without && judge.said.parts() {
        found.extend(variable(judge, "PATH").map(Finding::cause));
    }
    for name in judge.said.commands() {
        let here = |directory: &PathBuf| {
            let path = directory.join(&name);
            (world::kind(&path) == Some(Kind::File)).then_some(path)
        };
        if granted.0.iter().find_map(here).is_some() {
            // It may execute it, and is not told where it is.
            if without && found.is_empty() {
                found.extend(variable(judge, "PATH").map(Finding::cause));
            }
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
                Finding::new(What::Program, name, note)
                    .outside_too()
                    .cause()
            }
        });
    }
    found
}

/// Certificates of authorities that it does not trust.
pub(super) fn certificates(judge: &Judge<'_>, found: &[Finding]) -> Option<Finding> {
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
    let node = ["_IN_CHAIN", "UNABLE_TO_", "DEPTH_ZERO", "npm "]
        .iter()
        .any(|text| said.has(text));
    let requests = said.has("requests");
    // Those with a list of authorities of their own; others go by the machine's in any case.
    let own_list = ["UnknownIssuer", "invalid peer certificate", "httpx"];
    let own_list = own_list.iter().any(|text| said.has(text));
    let (names, bundle): (&[&str], _) = match (node, requests) {
        (true, _) => (&NODE_CERTIFICATES, Some("NODE_EXTRA_CA_CERTS")),
        (_, true) => (&REQUESTS_CERTIFICATES, Some("REQUESTS_CA_BUNDLE")),
        _ => (&CERTIFICATES, own_list.then_some("SSL_CERT_FILE")),
    };
    let note = "it does not trust who signed a certificate";
    let mut finding = Finding::new(What::Certificates, "certificates", note).cause();
    let offers = names
        .iter()
        .filter(|name| given(judge, name).is_none())
        .filter_map(|name| {
            let file = facts::caller_value(&name.parse().ok()?)?;
            (world::kind(Path::new(&file)) == Some(Kind::File)).then(|| format!("{name}={file}"))
        })
        .chain(authorities(judge).filter(|_| node))
        .chain(
            said.has("UnknownIssuer")
                .then(|| "UV_SYSTEM_CERTS=1".to_owned()),
        )
        .chain(bundle.into_iter().flat_map(|name| {
            let fresh = given(judge, name).is_none();
            let there = |file: &&&str| fresh && world::kind(Path::new(file)).is_some();
            let file = BUNDLES.iter().find(there);
            file.map(|file| format!("{name}={file}"))
        }));
    let mut offers = offers.map(|word| vec!["-e".to_owned(), word]);
    match offers.find(|flags| judge.offer.refused(flags).is_none()) {
        Some(flags) => {
            finding.note = format!(
                "{note}; whom you trust, it is told by a variable that you have set, or by this machine's own list"
            );
            finding.flags = flags;
        }
        None => {
            finding.note = format!("{note}; no file of certificates is known here that would help")
        }
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
pub(super) fn build(judge: &Judge<'_>) -> Option<Finding> {
    let header = judge.said.header();
    if judge.said.gyp()
        && header
            .as_deref()
            .is_none_or(|name| name.starts_with("node"))
    {
        return Some(node_headers(judge));
    }
    let name = header?;
    let outside = judge
        .trace
        .attempts
        .iter()
        .any(|attempt| match &attempt.target {
            Target::Path(path, _) => {
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
