//! Certificates of authorities that the settings of a runner name: `cafile` in npm's global
//! settings, `cert` in pip's. Where a machine's registry is behind such an authority, nothing is
//! fetched without them; they lie wherever an administrator put them.
//!
//! Only what is nothing but certificates counts: the settings are no part of a declaration, and
//! a line in them is not to open a key.
#![expect(
    clippy::disallowed_methods,
    reason = "asked by `facts`: reads settings of runners and what they name"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::installation::Ground;
use super::layout;
use super::links::follow;
use super::program::Program;
use super::runner::given::Settings;
use super::{Grant, Rights};

/// Settings, and bundles of certificates, are no larger.
const SETTINGS: u64 = 1 << 20;
const BUNDLE: u64 = 4 << 20;
/// How a certificate begins, and what no bundle of them holds (RFC 7468).
const CERTIFICATE: [&str; 2] = [
    "-----BEGIN CERTIFICATE-----",
    "-----BEGIN TRUSTED CERTIFICATE-----",
];
const KEY: &str = "PRIVATE KEY-----";

/// One file of certificates.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Certificates {
    /// As the settings spell it.
    pub(crate) named: PathBuf,
    /// Where that leads.
    pub(crate) file: PathBuf,
}

impl Certificates {
    /// What a server gets of them.
    pub(crate) fn grant(&self) -> Grant {
        Grant {
            path: self.file.clone(),
            rights: Rights::Read,
            reason: "certificates that the settings of its runner name".into(),
        }
    }
}

/// What the settings of a runner name, beside what every server reads. `program` is the runner:
/// some of its settings lie below the prefix of what it runs on.
pub(crate) fn named(
    settings: &Settings,
    program: &Program,
    ground: Ground<'_>,
) -> BTreeSet<Certificates> {
    let prefixes = program
        .files
        .iter()
        .chain(&program.links)
        .chain([&program.found])
        .filter_map(|file| layout::root_of_bin(file.parent()?))
        .collect::<BTreeSet<_>>();
    let files = settings.files.iter().flat_map(|file| {
        let below = file.strip_prefix("{prefix}/").map(|rest| {
            let below = prefixes.iter().map(|prefix| prefix.join(rest));
            below.collect::<Vec<_>>()
        });
        below.unwrap_or_else(|| vec![PathBuf::from(file)])
    });
    let files = files.collect::<BTreeSet<_>>();
    let texts = files.iter().filter_map(|file| text(file, SETTINGS));
    texts
        .flat_map(|text| values(&text, settings.certificates))
        .filter_map(|named| certificates(named, ground))
        .collect()
}

/// The values of a key in a file of lines `key = value`, whatever its section.
fn values(text: &str, key: &str) -> Vec<PathBuf> {
    let value = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        (name.trim() == key).then(|| PathBuf::from(value))
    };
    text.lines().filter_map(value).collect()
}

fn certificates(named: PathBuf, ground: Ground<'_>) -> Option<Certificates> {
    let file = Some(&named)
        .filter(|named| named.is_absolute() && named.to_str().is_some())
        .and_then(|named| follow(named).ok())?
        .resolved;
    let read = |grant: &Grant| grant.rights.cover(Rights::Read) && file.starts_with(&grant.path);
    let kept_back = ground.places.in_state(&file) || ground.places.secrets(&file).is_some();
    if file.to_str().is_none() || kept_back || ground.system.iter().any(read) {
        return None;
    }
    let text = text(&file, BUNDLE)?;
    let holds = CERTIFICATE.iter().any(|begin| text.contains(begin)) && !text.contains(KEY);
    holds.then_some(Certificates { named, file })
}

fn text(path: &Path, most: u64) -> Option<String> {
    let found = fs::metadata(path).ok()?;
    let small = found.is_file() && found.len() <= most;
    small.then(|| fs::read_to_string(path).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declaration::Stdio;
    use crate::plan::runner::{self, given};
    use crate::plan::{Person, SearchPath, facts, resolve, system};

    const BUNDLE: &str =
        "Corporate root\n-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

    /// A node of its own with these settings of npm, and a file that they name.
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new(npmrc: &str, file: &str, text: &str) -> Self {
            let machine = Self(tempfile::tempdir().unwrap());
            machine.file("node/bin/node", "");
            fs::copy("/bin/true", machine.at("node/bin/node")).unwrap();
            machine.file("node/bin/npx", "#!/usr/bin/env node\n");
            let npmrc = npmrc.replace("{}", machine.at("").to_str().unwrap());
            machine.file("node/etc/npmrc", &npmrc);
            machine.file(file, text);
            fs::create_dir_all(machine.at("home/.supervisor")).unwrap();
            machine
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(path)
        }

        fn file(&self, path: &str, text: &str) {
            use std::os::unix::fs::PermissionsExt;
            let path = self.at(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }

        /// The plan of what a command line runs.
        fn plan(&self, line: &str) -> crate::plan::Plan {
            let mut words = line.split(' ').map(str::to_owned);
            let stdio = Stdio::new(words.next().unwrap(), words.collect());
            let person = Person {
                home: self.at("home"),
                state: self.at("home/.supervisor"),
                uid: 1000,
            };
            let path = SearchPath(vec![self.at("node/bin"), "/usr/bin".into()]);
            let system = system::look_up().grants;
            let facts = facts::gather(&stdio, &path, &person, system).unwrap();
            resolve::resolve(self.at("home/.supervisor/home/x"), &stdio, &facts, &[]).unwrap()
        }

        fn reads(&self, line: &str, file: &str) -> bool {
            let (plan, file) = (self.plan(line), self.at(file));
            let read = |grant: &Grant| file.starts_with(&grant.path);
            plan.grants.iter().any(read)
        }
    }

    #[test]
    fn what_the_npmrc_of_the_node_that_runs_names_is_read() {
        for npmrc in [
            "cafile={}corp/ca.pem\n",
            "registry = https://r.example/\n; cafile=/x\n cafile = \"{}corp/ca.pem\"\n",
        ] {
            let machine = Machine::new(npmrc, "corp/ca.pem", BUNDLE);
            assert!(machine.reads("npx -y pkg@1.0.0", "corp/ca.pem"), "{npmrc}");
            let plan = machine.plan("npx -y pkg@1.0.0");
            // The path in the settings leads there for the server too.
            assert!(plan.names.contains(&machine.at("corp/ca.pem")));
            let grant = plan
                .grants
                .iter()
                .find(|grant| grant.path == machine.at("corp/ca.pem"));
            assert_eq!(grant.unwrap().rights, Rights::Read);
            // A server that fetches nothing has no use for it.
            assert!(!machine.reads("node -e 0", "corp/ca.pem"), "{npmrc}");
        }
        let machine = Machine::new("cafile={}corp/link.pem\n", "corp/real/ca.pem", BUNDLE);
        std::os::unix::fs::symlink("real/ca.pem", machine.at("corp/link.pem")).unwrap();
        assert!(machine.reads("npx -y pkg@1.0.0", "corp/real/ca.pem"));
        let plan = machine.plan("npx -y pkg@1.0.0");
        assert!(plan.names.contains(&machine.at("corp/link.pem")));
    }

    #[test]
    fn a_line_in_settings_opens_no_key_and_nothing_that_is_kept_back() {
        let key = format!("{BUNDLE}-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n");
        for (npmrc, file, text) in [
            ("cafile={}corp/ca.pem", "corp/ca.pem", key.as_str()),
            ("cafile={}corp/ca.pem", "corp/ca.pem", "not a certificate"),
            ("cafile={}home/.ssh/ca.pem", "home/.ssh/ca.pem", BUNDLE),
            (
                "cafile={}home/.supervisor/ca.pem",
                "home/.supervisor/ca.pem",
                BUNDLE,
            ),
            ("keyfile={}corp/ca.pem", "corp/ca.pem", BUNDLE),
            ("#cafile={}corp/ca.pem", "corp/ca.pem", BUNDLE),
            ("cafile=corp/ca.pem", "corp/ca.pem", BUNDLE),
        ] {
            let machine = Machine::new(npmrc, file, text);
            assert!(!machine.reads("npx -y pkg@1.0.0", file), "{npmrc} {text}");
        }
    }

    #[test]
    fn what_the_system_grants_is_not_granted_twice() {
        let machine = Machine::new("cafile=/etc/ssl/certs/ca-certificates.crt\n", "x", "");
        let plan = machine.plan("npx -y pkg@1.0.0");
        let named = |grant: &&Grant| grant.path.ends_with("ca-certificates.crt");
        assert_eq!(plan.grants.iter().find(named), None);
    }

    #[test]
    fn pip_names_them_by_another_word_in_a_section() {
        let machine = Machine::new("", "corp/ca.pem", BUNDLE);
        let runner = runner::recognise(&["pipx", "run", "pkg==1"].map(str::to_owned)).unwrap();
        let settings = given::of(&runner).unwrap().settings.as_ref().unwrap();
        assert!(settings.files.contains(&"/etc/pip.conf"));
        let text = format!("[global]\ncert = {}\n", machine.at("corp/ca.pem").display());
        assert_eq!(
            values(&text, settings.certificates),
            [machine.at("corp/ca.pem")]
        );
    }
}
