//! What a server lacks that shows in what it says, or in its script, rather than in what it was
//! refused: variables, programs, certificates, headers; and what brings each.

use std::path::{Path, PathBuf};

use super::attempt::Target;
use super::finding::{Finding, What};
use super::judge::Judge;
use super::paths;
use super::variables::{given, variable};
use super::world::{self, Kind};
use crate::confine::Promise;
use crate::declaration::Network;
use crate::plan::facts;
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
/// By what names that end in `.local` are learnt.
const AVAHI: &str = "/run/avahi-daemon/socket";

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

/// The name of a host that was looked up in vain. What fails with the person's own network fails
/// for them too.
pub(super) fn unresolved(judge: &Judge<'_>, found: &[Finding]) -> Option<Finding> {
    let known = |finding: &Finding| {
        let else_where = matches!(finding.kind, What::Build | What::Certificates);
        let granted = finding.kind == What::Host && finding.ours;
        finding.cause && (else_where || granted)
    };
    if !judge.said.unresolved() || found.iter().any(known) {
        return None;
    }
    let host = judge.said.unresolved_host();
    if judge.explanation().plan.network == Network::None {
        let note = "it looks up hosts, and has no network";
        let finding = Finding::new(What::Host, "names of hosts (DNS)", note);
        return Some(
            finding
                .promise(Promise::N1)
                .flags(["--net", "full"])
                .cause(),
        );
    }
    let what = host.map_or_else(|| "names of hosts (DNS)".to_owned(), str::to_owned);
    let service = Path::new(AVAHI);
    if host.is_some_and(|host| host.ends_with(".local")) && world::kind(service).is_some() {
        let note = "names of this kind your machine learns by a local socket, which no server reaches: \
                    have it use the address";
        let finding = Finding::new(What::Host, what, note);
        return Some(finding.promise(Promise::N2).cause());
    }
    let shown = host.unwrap_or("HOST");
    let note = format!(
        "no address is found by that name, and the server looks where you do: no flag brings it; \
         compare: getent hosts {shown}"
    );
    Some(Finding::new(What::Host, what, note).outside_too().cause())
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
